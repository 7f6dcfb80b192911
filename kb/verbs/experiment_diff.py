"""kb experiment diff [experiment]: show what differs between two experiments."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kb.verbs import Caller, Result, argument, option
from kb.verbs.experiment import PAGE_HELP, TARGET_HELP, page_of

if TYPE_CHECKING:
    from kb.experiments.comparing import Difference


@dataclass(frozen=True, slots=True, kw_only=True)
class DiffExperiments:
    """Two pages; the second is read as what came of the first."""

    one: str = argument(PAGE_HELP, metavar="A")
    other: str = argument(PAGE_HELP, metavar="B")
    target: str = option(TARGET_HELP)


@dataclass(frozen=True, slots=True)
class ExperimentDifference(Result):
    """What differs, a line a thing, and git's summary of the code."""

    one: str
    other: str
    rows: "tuple[Difference, ...]"
    patch: str

    def to_text(self) -> str:
        from kb.run.reasons import percent

        lines = [self.one, self.other, ""]
        for row in self.rows:
            gain = "" if row.gain is None else f"  ({percent(row.gain)})"
            lines.append(f"{row.name + ':':<14}{row.one or '—'}  →  {row.other or '—'}{gain}")
        return "\n".join([*lines, *([self.patch] if self.patch else [])])


def run(request: DiffExperiments, caller: Caller) -> ExperimentDifference:
    from kb.experiments.comparing import differences_of
    from kb.experiments.stub import stub_at
    from kb.experiments.targets import target_named

    layout, target = caller.layout(), request.target
    one, other = (page_of(layout, caller, p, target=target) for p in (request.one, request.other))
    of = target_named(layout, stub_at(layout, other).facts.target)
    return ExperimentDifference(one, other, *differences_of(layout, one, other, of))
