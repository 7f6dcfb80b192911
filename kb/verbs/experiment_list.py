"""kb experiment list [experiment]: list experiments in trail order."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kb.verbs import Caller, Result, option

if TYPE_CHECKING:
    from kb.trail import Experiment


@dataclass(frozen=True, slots=True, kw_only=True)
class ListExperiments:
    """Which experiments."""

    target: str = option("of this target only")
    verdict: str = option("with this canonical verdict only")
    before: str = option("strictly earlier than this page", metavar="PAGE")
    as_of: str = option("up to this day", metavar="DATE")


@dataclass(frozen=True, slots=True)
class ExperimentList(Result):
    """Experiments in trail order; as JSON in the form of DESIGN §7."""

    experiments: "tuple[Experiment, ...]"

    def to_json(self) -> object:
        return [_record(e) for e in self.experiments]

    def to_text(self) -> str:
        return "\n".join(map(_line, self.experiments))


def run(request: ListExperiments, caller: Caller) -> ExperimentList:
    from kb import trail

    layout = caller.layout()
    db = caller.tables(layout)
    before = request.before and caller.page(layout, request.before)
    moment = trail.moment(db, before=before or None, as_of=request.as_of or None)
    listed = trail.experiments(db, target=request.target or None, before=moment)
    return ExperimentList(
        tuple(
            e
            for e in listed
            if not request.verdict or (e.verdict.canonical or "") == request.verdict
        )
    )


def _line(e: "Experiment") -> str:
    from kb.run.quantity import number_text, unit_beside

    figures = (
        f"{m.name}={number_text(m.value)}{unit_beside(m.name, m.unit)}"
        for m in e.metrics[:2]
        if m.value is not None
    )
    return (
        f"{e.date or '----------'}  {e.verdict.canonical or '-':<12} {e.path}  {' '.join(figures)}"
    )


def _record(e: "Experiment") -> dict[str, object]:
    return {
        "path": e.path,
        "target": e.target,
        "variant": e.variant,
        "date": e.date,
        "title": e.title,
        "verdict": {
            "canonical": e.verdict.canonical,
            "raw": e.verdict.raw,
            "source": e.verdict.source,
        },
        "decision": e.decision,
        "levers": [{"name": v.name, "value": v.value} for v in e.levers],
        "metrics": {
            m.name: {"value": m.value, "unit": m.unit, "direction": m.direction} for m in e.metrics
        },
        "parent": e.parent,
    }
