"""kb experiment diff [experiment]: show what differs between two experiments."""

from dataclasses import dataclass

from kb.experiments.comparing import differences_of
from kb.run.reasons import percent
from kb.verbs import Caller, Result, argument, option
from kb.verbs.experiment import PAGE_HELP, TARGET_HELP, page_of


@dataclass(frozen=True, slots=True, kw_only=True)
class DiffExperiments:
    """Two pages; the second is read as what came of the first."""

    one: str = argument(PAGE_HELP, metavar="A")
    other: str = argument(PAGE_HELP, metavar="B")
    target: str = option(TARGET_HELP)


def run(request: DiffExperiments, caller: Caller) -> Result:
    layout, target = caller.layout, request.target
    one, other = (page_of(caller, p, target=target) for p in (request.one, request.other))
    rows = differences_of(layout, one, other)
    lines = [one, other, ""]
    for row in rows:
        gain = "" if row.gain is None else f"  ({percent(row.gain)})"
        lines.append(f"{row.name + ':':<14}{row.one or '—'}  →  {row.other or '—'}{gain}")
    return Result({"one": one, "other": other, "rows": rows}, "\n".join(lines))
