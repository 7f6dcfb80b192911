"""kb packet list [bring]: list the packets that are open, and who holds them."""

import time
from dataclasses import dataclass

from kb.verbs import Caller, Result, option


@dataclass(frozen=True, slots=True, kw_only=True)
class ListPackets:
    """Which packets."""

    task: str = option("only packets of this task", metavar="TASK")


@dataclass(frozen=True, slots=True)
class Packets(Result):
    """Open packets, by id."""

    packets: tuple[dict, ...]

    def to_json(self) -> object:
        return list(self.packets)

    def to_text(self) -> str:
        rows = [
            f"{p['id']}  {p['state']:<8}  {p['tokens']:>6} tokens  {p['subject']}"
            for p in self.packets
        ]
        return "\n".join(rows) or "no packet is open; `kb ingest` makes them"


def run(request: ListPackets, caller: Caller) -> Packets:
    from kb.ingest.queue import answers_to, lease_of, queued

    layout = caller.layout()
    now = time.time()
    rows = []
    for packet in queued(layout):
        if request.task and packet.task != request.task:
            continue
        lease, answers = lease_of(layout, packet.id), answers_to(layout, packet.id)
        held = lease is not None and lease.until > now
        state = "leased" if held else answers.state if answers else "open"
        row = {
            "id": packet.id,
            "task": packet.task,
            "subject": packet.subject,
            "tokens": packet.tokens,
            "state": state,
        }
        rows.append({**row, "holder": lease.holder if lease and held else ""})
    return Packets(tuple(rows))
