"""kb packet list [bring]: list the packets that are open, and who holds them."""

import time
from dataclasses import dataclass

from kb.ingest.queue import answers_to, lease_of, queued
from kb.verbs import Caller, Result, option


@dataclass(frozen=True, slots=True, kw_only=True)
class ListPackets:
    """Which packets."""

    task: str = option("only packets of this task", metavar="TASK")


def run(request: ListPackets, caller: Caller) -> Result:
    rows = []
    for packet in queued(caller.layout, task=request.task):
        lease, answers = lease_of(caller.layout, packet.id), answers_to(caller.layout, packet.id)
        held = lease is not None and lease.until > time.time()
        state = "leased" if held else answers.state if answers else "open"
        rows.append(
            {
                "id": packet.id,
                "task": packet.task,
                "subject": packet.subject,
                "tokens": packet.tokens,
                "state": state,
                "holder": lease.holder if lease and held else "",
            }
        )
    lines = (
        f"{r['id']}  {r['state']:<8}  {r['tokens']:>6} tokens  {r['subject']}  {r['holder']}".rstrip()
        for r in rows
    )
    return Result(rows, "\n".join(lines) or "no packet is open; `kb ingest` makes them")
