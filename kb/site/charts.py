"""Drawings of the site as SVG: the climb of a target, the neighbourhood of a page, the whole wiki. Refuses scripts: hover and click are
the SVG's own titles and links.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from kb.run.quantity import number_text
from kb.site.runs import Run, figure
from kb.site.survey import Survey
from kb.trail.progress import Progress

_WIDE, _HIGH, _LEFT, _BELOW = 640, 200, 58, 24


@dataclass(frozen=True, slots=True)
class Dot:
    """A run in a climb chart. `edge` is set where its value lies outside of the picture and the dot stands at the edge."""

    x: float
    y: float
    verdict: str
    path: str
    label: str
    edge: bool


@dataclass(frozen=True, slots=True)
class Climb:
    """A climb chart in the units of its picture: runs, the frontier as a step line, the noise band, and the ticks of the value axis."""

    name: str
    label: str
    dots: tuple[Dot, ...]
    line: str
    band: tuple[float, float] | None
    ticks: tuple[tuple[float, str], ...]
    first: str
    last: str
    size: tuple[int, int] = (_WIDE, _HIGH)


def climb_of(progress: Progress, runs: Sequence[Run], *, scale: tuple[float, float] | None = None) -> Climb | None:
    """Climb of one variant; None where fewer than two of its runs have the metric. `scale` lays several charts on one axis."""
    shown = [r for r in runs if r.metric and r.metric.value is not None and r.metric.name == progress.metric]
    if len(shown) < 2:
        return None
    low, high = scale or scale_of(progress, shown)
    across = (_WIDE - _LEFT - 14) / max(1, len(shown) - 1)
    column = {r.facts.path: _LEFT + 4 + n * across for n, r in enumerate(shown)}

    def height(value: float) -> float:
        return round(8 + (_HIGH - _BELOW - 16) * (1 - (min(max(value, low), high) - low) / (high - low)), 1)

    dots = tuple(
        Dot(round(column[r.facts.path], 1), height(r.metric.value), r.verdict, r.facts.path, _label(r), not low <= r.metric.value <= high)
        for r in shown
        if r.metric and r.metric.value is not None
    )
    best = progress.frontier
    band = None
    if best and progress.band:
        width = abs(best.value) * progress.band
        band = height(best.value + width), height(best.value - width)
    ticks = tuple((height(v), number_text(v, digits=4)) for v in (low, (low + high) / 2, high))
    label = f"{progress.metric} of {len(shown)} runs"
    label += f", best {figure(progress.metric, best.value, progress.unit)}" if best else ""
    return Climb(progress.variant, label, dots, _frontier(progress, column, height), band, ticks, shown[0].facts.date, shown[-1].facts.date)


def scale_of(progress: Progress, runs: Sequence[Run]) -> tuple[float, float]:
    """Value axis of a chart: all kept runs, and others as far as they do not squeeze those."""
    kept = [s.value for s in progress.steps]
    values = [r.metric.value for r in runs if r.metric and r.metric.value is not None]
    core = kept if len(kept) > 1 and max(kept) > min(kept) else values
    low, high = min(core), max(core)
    room = (high - low) or abs(high) or 1.0
    near = [v for v in values if low - room / 2 <= v <= high + room / 2] or core
    low, high = min(low, *near), max(high, *near)
    margin = (high - low) * 0.06 or abs(high) * 0.05 or 1.0
    return low - margin, high + margin


def _frontier(progress: Progress, column: Mapping[str, float], height) -> str:
    """Path of the best value so far, a step at each kept run that improved on it."""
    points: list[str] = []
    best: float | None = None
    for step in progress.steps:
        if step.path not in column:
            continue
        if best is None:
            points.append(f"M{column[step.path]:.1f} {height(step.value)}")
        elif (step.value > best) == (progress.direction == "higher"):
            points.append(f"H{column[step.path]:.1f}V{height(step.value)}")
        else:
            continue
        best = step.value
    return "".join([*points, f"H{_WIDE - 8}"]) if points else ""


def _label(run: Run) -> str:
    change = f", {run.from_baseline.text} from the baseline" if run.from_baseline else ""
    return f"{run.facts.title}: {run.value}{change} ({run.verdict}, {run.facts.date})"


def spark(progress: Progress) -> Markup:
    """The kept runs of a variant as a small drawing."""
    values = [s.value for s in progress.steps]
    if len(values) < 3:
        return Markup("")
    low, high = min(values), max(values)
    points = " ".join(f"{2 + 92 * n / (len(values) - 1):.1f},{22 - 18 * (v - low) / ((high - low) or 1):.1f}" for n, v in enumerate(values))
    label = f"{len(values)} kept runs from {number_text(values[0])} to {number_text(values[-1])}"
    return Markup('<svg class="kb-spark" viewBox="0 0 96 24" role="img" aria-label="{}"><polyline points="{}"/></svg>').format(label, points)


@dataclass(frozen=True, slots=True)
class Star:
    """A page in a drawing of the graph."""

    path: str
    title: str
    type: str
    x: float
    y: float
    size: float = 4.0


@dataclass(frozen=True, slots=True)
class Sky:
    """Pages and the links between them, laid out; `names` are the labels of groups with their places."""

    stars: tuple[Star, ...]
    lines: tuple[tuple[float, float, float, float], ...]
    names: tuple[tuple[str, float, float], ...]
    wide: int
    high: int


_NEAR = 9


def neighbourhood(survey: Survey, path: str) -> Sky | None:
    """A page with what cites it on the left and what it cites on the right, the most cited first."""
    rank = survey.wiki.rank
    sides = [
        sorted((p for p in paths if p in survey.wiki.pages), key=lambda p: (-rank[p], p))[:_NEAR]
        for paths in (survey.wiki.backlinks.get(path, ()), survey.wiki.outlinks.get(path, ()))
    ]
    if not any(sides):
        return None
    high = 26 * max(3, *map(len, sides)) + 20
    stars = [Star(path, survey.pages[path].title, survey.pages[path].type, 360, high / 2, 7)]
    for side, x in zip(sides, (250, 470), strict=True):
        top = high / 2 - 13 * (len(side) - 1)
        stars += [Star(p, survey.pages[p].title, survey.pages[p].type, x, round(top + 26 * n, 1)) for n, p in enumerate(side)]
    lines = tuple((360.0, high / 2, s.x, s.y) for s in stars[1:])
    return Sky(tuple(stars), lines, (), 720, high)


_MOST_STARS, _MOST_LINES = 360, 700


def whole_sky(survey: Survey) -> Sky:
    """The most cited pages of the wiki, a disc for each page type, placed by the golden angle: the same picture for the same wiki."""
    rank = survey.wiki.rank
    central = sorted((p for p in survey.wiki.pages if survey.pages[p].type not in ("index", "log", "catalog")), key=lambda p: (-rank[p], p))
    groups: dict[str, list[str]] = {}
    for path in central[:_MOST_STARS]:
        groups.setdefault(survey.pages[path].type, []).append(path)
    order = sorted(groups, key=lambda t: (-len(groups[t]), t))
    stars: list[Star] = []
    names = []
    for n, name in enumerate(order):
        reach = 12 * math.sqrt(len(groups[name])) + 10
        around = 0.0 if len(order) == 1 else 2 * math.pi * n / len(order)
        middle = (480 + 300 * math.cos(around), 330 + 215 * math.sin(around))
        names.append((name, round(middle[0]), round(max(14.0, middle[1] - reach - 4))))
        for k, path in enumerate(groups[name]):
            far, turn = 11.5 * math.sqrt(k), k * 2.399963
            size = round(2.5 + 5 * math.sqrt(rank[path] / (rank[central[0]] or 1)), 1)
            place = round(middle[0] + far * math.cos(turn), 1), round(middle[1] + far * math.sin(turn), 1)
            stars.append(Star(path, survey.pages[path].title, name, *place, size))
    at = {s.path: s for s in stars}
    pairs = [(s, at[t]) for s in stars for t in survey.wiki.outlinks.get(s.path, ()) if t in at and t != s.path][:_MOST_LINES]
    return Sky(tuple(stars), tuple((a.x, a.y, b.x, b.y) for a, b in pairs), tuple(names), 960, 660)
