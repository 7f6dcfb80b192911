"""kb packet next [bring]: lease the next open packet and print it."""

import time
from dataclasses import dataclass

from kb.verbs import CLOSED, FINE, Caller, Result, option


@dataclass(frozen=True, slots=True, kw_only=True)
class NextPacket:
    """Who takes it, and of which task."""

    by: str = option(
        "a name for whoever answers; the same name gets its unanswered packet again",
        default="agent",
        metavar="NAME",
    )
    task: str = option("only packets of this task", metavar="TASK")


@dataclass(frozen=True, slots=True)
class LeasedPacket(Result):
    """One packet; empty where nothing is open that nobody works on."""

    id: str
    task: str
    subject: str
    tokens: int
    text: str

    @property
    def code(self) -> int:
        return FINE if self.id else CLOSED

    def to_text(self) -> str:
        return self.text or "no packet is open; `kb ingest` makes them"


def run(request: NextPacket, caller: Caller) -> LeasedPacket:
    from kb.ingest.queue import answers_to, take

    layout = caller.layout()
    packet = take(layout, holder=request.by, now=time.time(), task=request.task)
    if packet is None:
        return LeasedPacket("", "", "", 0, "")
    before = answers_to(layout, packet.id)
    returned = before.attempts[-1].reasons if before and before.attempts else ()
    return LeasedPacket(
        packet.id, packet.task, packet.subject, packet.tokens, packet.to_markdown(returned=returned)
    )
