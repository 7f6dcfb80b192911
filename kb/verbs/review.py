"""kb review [bring]: show what a person must decide: replies that rules doubt or that were returned twice, and proposals to merge or to doubt."""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass

from kb import KbError, store
from kb.ingest.queue import WAITS, Answers, all_answers, answers_to, forget, packet_at
from kb.ingest.settling import settle
from kb.ingest.tasks import Comparison, Duplicate, form_of, read_reply
from kb.text import counted
from kb.verbs import FINDINGS, FINE, Caller, Result, argument, flag

_DECIDE = "`kb review ID --again` asks a packet anew, `--admit` lets in what rules only doubt"


@dataclass(frozen=True, slots=True, kw_only=True)
class Review:
    """One packet of the list, and what becomes of it."""

    id: str = argument("a packet of the list", default="", metavar="ID")
    again: bool = flag("ask that packet anew: its replies are dropped")
    admit: bool = flag("let in what rules only doubt of that packet: you have read its claims")


def run(request: Review, caller: Caller) -> Result:
    if request.again or request.admit:
        if not request.id:
            raise KbError("--again and --admit are for one packet; name it")
        done = (_asked_again if request.again else _admitted)(request.id, caller)
        return Result({"waiting": [], "done": done}, done)
    rows = [
        {"packet": answers.packet, "subject": answers.subject, "what": what, "reasons": reasons}
        for answers in all_answers(caller.layout)
        if answers.packet == request.id or not request.id
        for what, reasons in _waiting(answers)
    ]
    lines = (
        "\n    ".join((f"{row['packet']}  {row['what']}  {row['subject']}", *row["reasons"]))
        for row in rows
    )
    text = "\n".join([*lines, *([_DECIDE] if rows else [])]) or "nothing waits for a person"
    return Result({"waiting": rows, "done": ""}, text, FINDINGS if rows else FINE)


def _waiting(answers: Answers) -> Iterator[tuple[str, tuple[str, ...]]]:
    """What of a packet waits for a person, and why."""
    if answers.state in WAITS and answers.task != "verify":
        state = "undecided" if answers.state == "undecided" else "returned"
        yield state, answers.attempts[-1].reasons
    elif answers.entered and answers.task in ("merge", "compare"):
        match read_reply(answers.attempts[-1].text, form_of(answers.task)):
            case Duplicate(same=True) as reply:
                yield f"one thing, keep {reply.keep}", (reply.because,)
            case Comparison(relation="conflict") as reply:
                yield "conflict", (reply.because,)


def _asked_again(name: str, caller: Caller) -> str:
    forget(caller.layout, name)
    return f"{name} is open again; `kb ingest` asks it"


def _admitted(name: str, caller: Caller) -> str:
    """Let in what rules only doubt of a packet."""
    answers = answers_to(caller.layout, name)
    if answers is None or answers.state != "undecided":
        raise KbError(f"{name}: nothing of it is undecided; `kb review` lists what waits")
    caller.build()
    with closing(store.state(caller.layout)) as db:
        kept, packet = answers.attempts[-1], packet_at(caller.layout, name)
        done = settle(caller.layout, db, packet, kept, today=caller.today, decided=True)
    caller.build()
    wrote = "".join(f"; wrote {page}" for page in done.pages)
    return f"{name}: {counted(len(done.admitted), 'claims')} entered{wrote}"
