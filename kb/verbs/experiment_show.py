"""kb experiment show [experiment]: print what one experiment page says."""

from dataclasses import dataclass

from kb import KbError, trail
from kb.run.quantity import unit_beside
from kb.text import number_text
from kb.trail import Facts
from kb.verbs import Caller, Result
from kb.verbs.experiment import NamesExperiment, page_of


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowExperiment(NamesExperiment):
    """One experiment."""


def run(request: ShowExperiment, caller: Caller) -> Result[Facts]:
    path = page_of(caller, request.page, target=request.target)
    e = trail.experiment(caller.tables(), path)
    if not e:
        raise KbError(
            f"no experiment '{path}' is built; `kb build` reads pages that were added, `kb experiment list` prints them all"
        )
    labels = (f"{name + ':':<14}{value}" for name, value in _labels(e) if value)
    return Result(e, "\n".join([e.path, e.title, "", *labels]))


def _labels(e: Facts):
    figures = (
        f"{m.name} {number_text(m.value)} {unit_beside(m.name, m.unit)}".strip()
        for m in e.metrics
        if m.value is not None
    )
    return (
        ("target", e.target),
        ("variant", e.variant),
        ("date", e.date),
        (
            "verdict",
            f"{e.verdict.canonical or '-'} ('{e.verdict.raw}', read from {e.verdict.source or 'nowhere'})",
        ),
        ("decision", e.decision),
        ("levers", ", ".join(v.text for v in e.levers)),
        ("metrics", ", ".join(figures)),
        ("hypothesis", e.hypothesis),
        ("mechanism", e.mechanism),
        ("predicted", e.predicted_signal),
        ("falsified if", e.falsification),
        ("because", e.because),
    )
