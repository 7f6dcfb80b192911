"""kb packet answer [bring]: put a reply before the gate and file what enters."""

import time
from contextlib import closing
from dataclasses import dataclass

from kb import store
from kb.ingest import queue
from kb.ingest.settling import Settlement, ruling_of, settle_answer
from kb.text import counted
from kb.verbs import CLOSED, FINE, Caller, Result, argument, flag, option

_NEXT = {
    "returned": ("Mend what is returned and answer once more; then a person decides.",),
    "review": (
        "A person decides now: `kb review ID` shows it, `kb review ID --again` asks it anew.",
    ),
    "undecided": ("Rules only doubt it: `kb packet next --task verify`, or `kb review`, decides.",),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerPacket:
    """The packet, and the file that holds the reply."""

    id: str = argument("id of the packet")
    file: str = argument("file with the reply, or - for stdin", metavar="FILE")
    by: str = option("a name for whoever answers", default="agent", metavar="NAME")
    dry_run: bool = flag("say what the gate would say; keep and file nothing")


def run(request: AnswerPacket, caller: Caller) -> Result:
    packet = queue.packet_at(caller.layout, request.id)
    queue.claimed(caller.layout, packet.id, holder=request.by, now=time.time())
    text = caller.text(request.file)
    caller.build()
    with closing(store.state(caller.layout)) as db:
        if request.dry_run:
            ruling = ruling_of(caller.layout, db, packet, text)
            ruling = ruling.without(ruling.doubts)
            done = Settlement(packet.id, "dry run", ruling.claims, ruling.rejected, ())
        else:
            done = settle_answer(
                caller.layout,
                db,
                packet,
                queue.ReplyAttempt(by=request.by, text=text),
                today=caller.today,
            )
    if done.pages:
        caller.build()
    shown = {
        "admitted": ("claim", "page", "source", "start", "end"),
        "rejected": ("claim", "page", "reason", "undecided"),
    }
    rows = {
        key: [{name: getattr(row, name) for name in names} for row in getattr(done, key)]
        for key, names in shown.items()
    }
    value = {"packet": done.packet, "state": done.state, **rows, "pages": done.pages}
    counts = f"{counted(len(done.admitted), 'claims')} entered, {len(done.rejected)} did not"
    if not done.admitted and not done.rejected:
        counts = "all of it entered"
    lines = [f"{done.packet}: {done.state}; {counts}", *(f"wrote {page}" for page in done.pages)]
    lines += [
        f"{'undecided' if r.undecided else 'returned'}: {r.claim or r.page or 'the reply'}\n    {r.reason}"
        for r in done.rejected
    ]
    lines += _NEXT.get(done.state, ())
    return Result(value, "\n".join(lines), CLOSED if done.rejected else FINE)
