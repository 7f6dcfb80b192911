"""Runs as rows: what a run measured against its parent and its baseline, and the columns that the tables show of it.

A column is one entry of COLUMNS. Refuses to judge: verdicts and metrics are the trail's.
"""

import csv
import io
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from markupsafe import Markup, escape

from kb.run.direction import Direction
from kb.run.quantity import number_text, unit_beside
from kb.run.record import Metric
from kb.schema import Verdict
from kb.site.raw_html import anchor_of
from kb.site.survey import Survey
from kb.trail import Facts
from kb.trail.progress import Progress

# Front-matter fields in which loops write what a run cost.
_COSTS = ("cost", "tokens", "duration", "wall_time", "gpu_hours")


@dataclass(frozen=True, slots=True)
class FigureChange:
    """A relative change (0.01 is 1 %) and whether it is for the better; None where nobody knows the direction."""

    ratio: float
    better: bool | None

    @property
    def text(self) -> str:
        return (
            f"{self.ratio:+.2%}"
            if abs(self.ratio) < 0.1
            else f"{self.ratio:+.1%}"
            if abs(self.ratio) < 10
            else f"×{1 + self.ratio:.3g}"
        )

    @property
    def css(self) -> str:
        return "" if self.better is None else "kb-better" if self.better else "kb-worse"


@dataclass(frozen=True, slots=True)
class RunRow:
    """One row: an experiment with its own metric, and that metric's change against parent and baseline."""

    facts: Facts
    metric: Metric | None
    from_parent: FigureChange | None
    from_baseline: FigureChange | None
    cost: str

    @property
    def verdict(self) -> str:
        return self.facts.verdict.canonical or "no verdict"

    @property
    def value(self) -> str:
        return figure(self.metric.name, self.metric.value, self.metric.unit) if self.metric else ""

    @property
    def spread(self) -> str:
        return _spread(self.metric)

    def measured(self, name: str) -> Metric | None:
        return next((m for m in self.facts.metrics if m.name == name and m.value is not None), None)


def _spread(metric: Metric | None) -> str:
    known = metric is not None and metric.stddev is not None
    return f" ± {number_text(metric.stddev)}" if known else ""


def figure(name: str, value: float | None, unit: str) -> str:
    """A value with its unit, without the metric's name."""
    return (
        ""
        if value is None
        else f"{number_text(value)} {unit if unit == name else unit_beside(name, unit)}".rstrip()
    )


def change_of(
    value: float | None, base: float | None, direction: Direction | None
) -> FigureChange | None:
    """Change of a value against a base; None where either is missing or the base is zero."""
    if value is None or not base:
        return None
    ratio = value / base - 1 if base > 0 else (value - base) / abs(base)
    return FigureChange(
        ratio, None if not direction or not ratio else (ratio > 0) == (direction == "higher")
    )


@lru_cache(maxsize=256)
def runs_of(survey: Survey, target: str) -> tuple[RunRow, ...]:
    """The runs of a target in trail order."""
    standing = survey.standings.get(target)
    by_variant = {p.variant: p for p in standing.progress} if standing else {}
    return tuple(_run(survey, e, by_variant.get(e.variant)) for e in survey.trails[target])


def run_at(survey: Survey, path: str) -> RunRow | None:
    """The run that a page tells of; None for a page that is no experiment."""
    facts = survey.facts.get(path)
    runs = runs_of(survey, facts.target) if facts else ()
    return next((r for r in runs if r.facts.path == path), None)


def _run(survey: Survey, e: Facts, progress: Progress | None) -> RunRow:
    page = survey.pages[e.path]
    cost = next((page.field(name) for name in _COSTS if page.field(name)), "")
    metric = e.metric(progress.metric) if progress and progress.metric else None
    if progress is None or metric is None or metric.value is None:
        return RunRow(e, None, None, None, cost)
    parent = survey.facts.get(e.parent)
    before = parent.metric(metric.name) if parent else None
    against = change_of(metric.value, before.value if before else None, metric.direction)
    if e.gain is not None and page.field("measured"):
        # Measured by turns with its parent; the figure on the parent's page is of another day.
        ratio = e.gain if metric.direction == "higher" else -e.gain
        is_open = e.verdict.canonical == Verdict.INCONCLUSIVE or not ratio
        against = FigureChange(ratio, None if is_open else e.gain > 0)
    base = progress.baseline
    return RunRow(
        e,
        metric,
        against,
        change_of(metric.value, base.value, metric.direction)
        if base and base.path != e.path
        else None,
        cost,
    )


@dataclass(frozen=True, slots=True)
class RunColumn:
    """One column of a run table: `kind` is text, number, date or facet (a text chosen from a menu); `value` sorts and filters, `html` shows."""

    name: str
    kind: str
    value: Callable[[RunRow], str]
    html: Callable[[RunRow], str]
    shown: bool = True


def _badge(run: RunRow) -> Markup:
    kind = anchor_of(run.verdict.replace(" ", "-"))
    return Markup('<span class="kb-badge kb-{}">{}</span>').format(kind, run.verdict)


def _changed(change: FigureChange | None) -> str:
    return Markup('<span class="{}">{}</span>').format(change.css, change.text) if change else ""


def _ratio(change: FigureChange | None) -> str:
    return repr(change.ratio) if change else ""


def _levers(run: RunRow) -> str:
    named = [v.text for v in run.facts.levers]
    rest = Markup(' <span title="{}">+{}</span>').format(", ".join(named[3:]), len(named) - 3)
    shown = Markup(" ").join(
        Markup('<code title="{}">{}</code>').format(
            name, name if len(name) <= 34 else name[:33] + "…"
        )
        for name in named[:3]
    )
    return shown + rest if len(named) > 3 else shown


COLUMNS = (
    RunColumn(
        "Value", "number", lambda r: repr(r.metric.value) if r.metric else "", lambda r: r.value
    ),
    RunColumn("Verdict", "facet", lambda r: r.verdict, _badge),
    RunColumn(
        "vs parent", "number", lambda r: _ratio(r.from_parent), lambda r: _changed(r.from_parent)
    ),
    RunColumn(
        "vs baseline",
        "number",
        lambda r: _ratio(r.from_baseline),
        lambda r: _changed(r.from_baseline),
    ),
    RunColumn("Levers", "text", lambda r: " ".join(v.text for v in r.facts.levers), _levers),
    RunColumn(
        "Date", "date", lambda r: f"{r.facts.date}#{r.facts.number:05d}", lambda r: r.facts.date
    ),
    RunColumn(
        "No.", "number", lambda r: str(r.facts.number or ""), lambda r: str(r.facts.number or "")
    ),
    RunColumn(
        "Decision",
        "facet",
        lambda r: r.facts.decision,
        lambda r: escape(r.facts.decision),
        shown=False,
    ),
    RunColumn("Cost", "text", lambda r: r.cost, lambda r: escape(r.cost), shown=False),
    RunColumn("Target", "facet", lambda r: r.facts.target, lambda r: escape(r.facts.target)),
    RunColumn("Variant", "facet", lambda r: r.facts.variant, lambda r: escape(r.facts.variant)),
)
# Metrics beside the target's own that get a column.
_MORE_METRICS = 4


def table_of(runs: Sequence[RunRow]) -> dict[str, Sequence[object]]:
    """Table of some runs, newest first, with columns that any of them fills: a column that says nothing, or the same everywhere, is left out."""
    own = Counter(r.metric.name for r in runs if r.metric)
    counted = Counter(m.name for r in runs for m in r.facts.metrics if m.value is not None)
    named = [
        n
        for n, count in counted.most_common()
        if (len(own) > 1 or n not in own) and (count > 1 or len(runs) < 4)
    ][:_MORE_METRICS]
    fixed = [
        c
        for c in COLUMNS
        if c.name not in ("Target", "Variant") or len({c.value(r) for r in runs}) > 1
    ]
    columns = [*fixed, *map(_metric_column, named)]
    return {
        "runs": runs[::-1],
        "columns": [c for c in columns if any(c.value(r) for r in runs)],
    }


def _metric_column(name: str) -> RunColumn:
    def value(run: RunRow) -> str:
        metric = run.measured(name)
        return repr(metric.value) if metric else ""

    def shown(run: RunRow) -> str:
        metric = run.measured(name)
        return escape(figure(name, metric.value, metric.unit)) if metric else ""

    return RunColumn(name, "number", value, shown)


def compared(run: RunRow) -> dict[str, dict[str, object]]:
    """Settings and metrics of a run for the comparison of ticked rows."""
    settings = {v.name: v.value or "yes" for v in run.facts.levers}
    settings["variant"] = run.facts.variant
    settings["parent"] = run.facts.parent.rsplit("/", 1)[-1]
    metrics = [m for m in run.facts.metrics if m.value is not None]
    return {
        "settings": {name: value for name, value in settings.items() if value},
        "metrics": {m.name: figure(m.name, m.value, m.unit) + _spread(m) for m in metrics},
        "numbers": {m.name: m.value for m in metrics},
    }


def csv_of(runs: Sequence[RunRow]) -> str:
    """The runs as CSV. A text that a spreadsheet would take for a formula is quoted."""
    names = sorted({m.name for r in runs for m in r.facts.metrics if m.value is not None})
    out = io.StringIO()
    rows = csv.writer(out, lineterminator="\n")
    head = [
        "path",
        "target",
        "variant",
        "date",
        "verdict",
        "decision",
        "levers",
        "from_parent",
        "from_baseline",
        *names,
    ]
    rows.writerow([_cell(h) for h in head])
    for r in runs:
        e = r.facts
        levers = "; ".join(v.text for v in e.levers)
        changes = [c.ratio if c else "" for c in (r.from_parent, r.from_baseline)]
        values = [m.value if (m := r.measured(n)) else "" for n in names]
        rows.writerow(
            [
                *map(_cell, (e.path, e.target, e.variant, e.date, r.verdict, e.decision, levers)),
                *changes,
                *values,
            ]
        )
    return out.getvalue()


def _cell(text: str) -> str:
    return f"'{text}" if text.startswith(("=", "+", "-", "@", "\t", "\r")) else text


VERDICT_ORDER = tuple(v.value for v in Verdict)
