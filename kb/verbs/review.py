"""kb review [bring]: show what a person must decide: replies that were returned twice, and proposals to merge or to doubt."""

from dataclasses import dataclass

from kb import KbError
from kb.ingest.queue import all_answers, forget
from kb.ingest.replies import Comparison, Duplicate, read_reply
from kb.ingest.tasks import task_named
from kb.verbs import FINDINGS, FINE, Caller, Result, argument, flag


@dataclass(frozen=True, slots=True, kw_only=True)
class Review:
    """One packet of the list, and what becomes of it."""

    id: str = argument("a packet of the list", default="", metavar="ID")
    again: bool = flag("ask that packet anew: its replies are dropped")


def run(request: Review, caller: Caller) -> Result:
    layout = caller.layout()
    if request.again:
        if not request.id:
            raise KbError("--again asks one packet anew; name it")
        forget(layout, request.id)
        done = f"{request.id} is open again; `kb ingest` asks it"
        return Result({"waiting": [], "done": done}, done)
    rows = []
    for answers in all_answers(layout):
        if request.id and answers.packet != request.id or answers.task == "verify":
            continue
        row = {"packet": answers.packet, "subject": answers.subject}
        if answers.state == "review":
            rows.append({**row, "what": "returned", "reasons": answers.attempts[-1].reasons})
        elif answers.entered and answers.task in ("merge", "compare"):
            reply = read_reply(answers.attempts[-1].text, task_named(answers.task).form)
            if isinstance(reply, Duplicate) and reply.same:
                rows.append(
                    {**row, "what": f"one thing, keep {reply.keep}", "reasons": (reply.because,)}
                )
            elif isinstance(reply, Comparison) and reply.relation == "conflict":
                rows.append({**row, "what": "conflict", "reasons": (reply.because,)})
    lines = (
        "\n    ".join((f"{row['packet']}  {row['what']}  {row['subject']}", *row["reasons"]))
        for row in rows
    )
    text = "\n".join(lines) or "nothing waits for a person"
    return Result({"waiting": rows, "done": ""}, text, FINDINGS if rows else FINE)
