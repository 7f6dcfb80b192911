"""kb packet next [bring]: lease the next open packet and print it."""

import time
from dataclasses import dataclass

from kb.ingest.queue import answers_to, take
from kb.verbs import CLOSED, Caller, Result, option


@dataclass(frozen=True, slots=True, kw_only=True)
class NextPacket:
    """Who takes it, and of which task."""

    by: str = option(
        "a name for whoever answers; the same name gets its unanswered packet again",
        default="agent",
        metavar="NAME",
    )
    task: str = option("only packets of this task", metavar="TASK")


def run(request: NextPacket, caller: Caller) -> Result:
    layout = caller.layout()
    packet = take(layout, holder=request.by, now=time.time(), task=request.task)
    if packet is None:
        nothing = {"id": "", "task": "", "subject": "", "tokens": 0, "text": ""}
        return Result(nothing, "no packet is open; `kb ingest` makes them", CLOSED)
    before = answers_to(layout, packet.id)
    returned = before.attempts[-1].reasons if before and before.attempts else ()
    text = packet.to_markdown(returned=returned)
    value = {name: getattr(packet, name) for name in ("id", "task", "subject", "tokens")}
    return Result({**value, "text": text}, text)
