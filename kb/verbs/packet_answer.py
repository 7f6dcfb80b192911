"""kb packet answer [bring]: put a reply before the gate and file what enters."""

import time
from contextlib import closing
from dataclasses import dataclass

from kb import store
from kb.verbs import CLOSED, FINE, Caller, Result, argument, flag, option


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerPacket:
    """The packet, and the file that holds the reply."""

    id: str = argument("id of the packet")
    file: str = argument("file with the reply, or - for stdin", metavar="FILE")
    by: str = option("a name for whoever answers", default="agent", metavar="NAME")
    dry_run: bool = flag("say what the gate would say; keep and file nothing")


@dataclass(frozen=True, slots=True)
class Answered(Result):
    """What the gate let in and what it returned, claim by claim."""

    packet: str
    state: str
    admitted: tuple[dict, ...]
    rejected: tuple[dict, ...]
    pages: tuple[str, ...]

    @property
    def code(self) -> int:
        return CLOSED if self.rejected else FINE

    def to_text(self) -> str:
        lines = [
            f"{self.packet}: {self.state}; {len(self.admitted)} claims entered, {len(self.rejected)} returned"
        ]
        lines += [f"wrote {page}" for page in self.pages]
        lines += [
            f"returned: {r['claim'] or r['page'] or 'the reply'}\n    {r['reason']}"
            for r in self.rejected
        ]
        if self.state == "returned":
            lines.append("Mend what is returned and answer once more; then a person decides.")
        return "\n".join(lines)


def run(request: AnswerPacket, caller: Caller) -> Answered:
    from kb.ingest import queue
    from kb.ingest.settling import Settlement, preview, settle

    layout = caller.layout()
    packet = queue.packet_at(layout, request.id)
    queue.claimed(layout, packet.id, holder=request.by, now=time.time())
    text = caller.text(request.file)
    caller.build(layout)
    with closing(store.state(layout)) as db:
        if request.dry_run:
            ruling = preview(layout, db, packet, text)
            done = Settlement(packet.id, "dry run", ruling.claims, ruling.rejected, ())
        else:
            attempt = queue.ReplyAttempt(by=request.by, text=text)
            done = settle(layout, db, packet, attempt, today=caller.today)
    if done.pages:
        caller.build(layout)
    admitted = tuple(
        {"claim": c.claim, "page": c.page, "source": c.source, "start": c.start, "end": c.end}
        for c in done.admitted
    )
    rejected = tuple({"claim": r.claim, "page": r.page, "reason": r.reason} for r in done.rejected)
    return Answered(done.packet, done.state, admitted, rejected, done.pages)
