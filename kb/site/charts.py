"""The climb of a target as SVG: a dot a run, the frontier, the noise. Refuses scripts: hover and click
are the SVG's own titles and links.
"""

from collections.abc import Mapping, Sequence

from markupsafe import Markup

from kb.run.quantity import number_text
from kb.site.runs import RunRow, figure
from kb.text import counted
from kb.trail.progress import Progress

WIDE, HIGH, LEFT, _BELOW = 640, 200, 58, 24


def climb_of(
    progress: Progress, runs: Sequence[RunRow], *, scale: tuple[float, float] | None = None
) -> Mapping[str, object] | None:
    """Climb of one lane as its macro draws it: dots (x, y, run, whether its value lies outside), the frontier
    as a step line, the noise band, the ticks of the value axis; None where fewer than two of its runs
    have the metric. `scale` lays several charts on one axis.
    """
    shown = measured(progress, runs)
    if len(shown) < 2:
        return None
    low, high = scale or scale_of(progress, shown)
    across = (WIDE - LEFT - 14) / (len(shown) - 1)
    column = {r.facts.path: round(LEFT + 4 + n * across, 1) for n, r in enumerate(shown)}

    def height(value: float) -> float:
        share = (min(max(value, low), high) - low) / (high - low)
        return round(8 + (HIGH - _BELOW - 16) * (1 - share), 1)

    best, band, label = (
        progress.frontier,
        None,
        f"{progress.metric} of {counted(len(shown), 'runs')}",
    )
    if best:
        width = abs(best.value) * (progress.band or 0)
        band = (height(best.value + width), height(best.value - width)) if width else None
        label += f", best {figure(progress.metric, best.value, progress.unit)}"
    # The best value so far, a step at each kept run that improved on it.
    line, top = "", None
    for step in progress.steps:
        if step.path in column and top is None:
            line, top = f"M{column[step.path]} {height(step.value)}", step.value
        elif step.path in column and (step.value > top) == (progress.direction == "higher"):
            line, top = f"{line}H{column[step.path]}V{height(step.value)}", step.value
    return {
        "label": label,
        "dots": [
            (column[r.facts.path], height(r.metric.value), r, not low <= r.metric.value <= high)
            for r in shown
        ],
        "line": f"{line}H{WIDE - 8}" if line else "",
        "band": band,
        "ticks": [(height(v), number_text(v, digits=4)) for v in (low, (low + high) / 2, high)],
    }


def measured(progress: Progress, runs: Sequence[RunRow]) -> list[RunRow]:
    """The runs that have the metric of a lane."""
    return [r for r in runs if r.metric and r.metric.name == progress.metric]


def scale_of(progress: Progress, runs: Sequence[RunRow]) -> tuple[float, float]:
    """Value axis of a chart: all kept runs, and others as far as they do not squeeze those."""
    kept = [s.value for s in progress.steps]
    values = [r.metric.value for r in measured(progress, runs)]
    core = kept if len(set(kept)) > 1 else values
    low, high = min(core), max(core)
    room = (high - low) or abs(high) or 1.0
    near = [v for v in values if low - room / 2 <= v <= high + room / 2]
    low, high = min(low, *near), max(high, *near)
    margin = (high - low) * 0.06 or abs(high) * 0.05 or 1.0
    return low - margin, high + margin


def spark(progress: Progress) -> Markup:
    """The kept runs of a lane as a small drawing."""
    values = [s.value for s in progress.steps]
    if len(values) < 3:
        return Markup("")
    low, high = min(values), max(values)
    across, tall = 92 / (len(values) - 1), 18 / ((high - low) or 1)
    points = " ".join(
        f"{2 + across * n:.1f},{22 - tall * (v - low):.1f}" for n, v in enumerate(values)
    )
    label = f"{len(values)} kept runs from {number_text(values[0])} to {number_text(values[-1])}"
    svg = '<svg class="kb-spark" viewBox="0 0 96 24" role="img" aria-label="{}"><polyline points="{}"/></svg>'
    return Markup(svg).format(label, points)
