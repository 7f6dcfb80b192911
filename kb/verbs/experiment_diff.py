"""kb experiment diff [experiment]: show what differs between two experiments."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kb.verbs import Caller, Result, argument, option
from kb.verbs.experiment import PAGE_HELP, TARGET_HELP, page_of, target_of

if TYPE_CHECKING:
    from kb.experiments.comparing import Row


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
    rows: "tuple[Row, ...]"
    patch: str

    def to_text(self) -> str:
        return "\n".join(
            [
                self.one,
                self.other,
                "",
                *map(_line, self.rows),
                *([self.patch] if self.patch else []),
            ]
        )


def run(request: DiffExperiments, caller: Caller) -> ExperimentDifference:
    from kb.experiments.comparing import difference_of

    layout = caller.layout()
    one, other = (
        page_of(layout, caller, p, target=request.target) for p in (request.one, request.other)
    )
    _, target = target_of(layout, other)
    found = difference_of(layout, one, other, target)
    return ExperimentDifference(found.one, found.other, found.rows, found.code)


def _line(row: "Row") -> str:
    gain = "" if row.gain is None else f"  ({100 * row.gain:+.2f} %)"
    return f"{row.name + ':':<14}{row.one or '—'}  →  {row.other or '—'}{gain}"
