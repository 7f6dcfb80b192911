"""kb packet next [bring]: lease the next open packet and print it."""

import time
from dataclasses import dataclass

from kb.ingest.queue import answers_to, lease_of, queued, take
from kb.verbs import CLOSED, Caller, Result, option


@dataclass(frozen=True, slots=True, kw_only=True)
class NextPacket:
    """Who takes it, and of which task."""

    by: str = option(
        "a name for whoever answers, which gets its unanswered packet again; without one each call gives another packet",
        metavar="NAME",
    )
    task: str = option("only packets of this task", metavar="TASK")


def run(request: NextPacket, caller: Caller) -> Result:
    packet = take(caller.layout, holder=request.by, now=time.time(), task=request.task)
    if packet is None:
        nothing = {"id": "", "task": "", "subject": "", "tokens": 0, "text": ""}
        leased = sum(
            lease_of(caller.layout, p.id) is not None
            for p in queued(caller.layout, task=request.task)
        )
        why = f"{leased} are leased, for 15 minutes at most" if leased else "`kb ingest` makes them"
        return Result(nothing, f"no packet is open; {why}", CLOSED)
    before = answers_to(caller.layout, packet.id)
    returned = before.attempts[-1].reasons if before and before.attempts else ()
    text = packet.to_markdown(returned=returned)
    value = {name: getattr(packet, name) for name in ("id", "task", "subject", "tokens")}
    return Result({**value, "text": text}, text)
