"""The frontier of a target: the best run that its loop built upon, at the size of work where the loop is. Everybody asks here."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from kb.page import Page
from kb.run.direction import Direction, is_resource
from kb.run.noise import Spread, gain_of, least_effect_of
from kb.run.record import Metric
from kb.schema import Verdict
from kb.trail.facts import Facts
from kb.trail.handles import label_of
from kb.trail.levers import key_of

# Kept runs that tell where a loop works at present.
_RECENT = 4
# Runs that say at what size they worked, and so at what size a run after them did that does not say.
_HABIT = 6
# A kept run that is worse than the best by more than this was measured under other conditions.
_ANEW = 0.02


@dataclass(frozen=True, slots=True)
class Step:
    """One kept run on the way to the frontier; `gain` is relative to the best before it (0.01 is 1 %), None for the first. `is_small`: it did
    not move the frontier by what matters.
    """

    path: str
    value: float
    gain: float | None
    is_small: bool = False


@dataclass(frozen=True, slots=True)
class Frontier:
    """The best kept run at one size of work and since the loop counts anew, `point` (empty where the pages tell none), with its metric.

    `metric` is None where too few runs report one; then `run` is the last kept one. `steps` are the kept runs with the metric, `moved`
    the last of them whose gain is not small, `band` the noise of the frontier's own repeats, relative; None where nobody measured it.
    """

    run: Facts
    point: str
    metric: Metric | None
    steps: tuple[Step, ...]
    moved: str
    band: float | None


def kept(e: Facts) -> bool:
    """Whether a loop built upon a run: it decided to keep it, or, where it did not say, the run was supported or is a baseline."""
    return (
        e.decision == "keep"
        if e.decision
        else e.verdict.canonical in (Verdict.SUPPORTED, Verdict.BASELINE)
    )


def metric_named(page: Page) -> str:
    """The metric that a target's page names; empty where it names none."""
    stated = page.front.get("metric")
    return str(stated.get("name", "")) if isinstance(stated, dict) else page.field("metric")


def metric_of(experiments: Sequence[Facts], stated: str = "") -> Metric | None:
    """The metric a target is judged by: the stated one, else the one most runs call primary, else the one most of them measure.

    Of the last kind only metrics with a known direction count, and no resource or loss.
    """
    called = Counter(e.primary for e in experiments if e.primary)
    stated = stated or (min(called, key=lambda name: (-called[name], name)) if called else "")
    if stated:
        named = [m for e in experiments for m in e.metrics if key_of(m.name) == key_of(stated)]
        return named[0] if named else None
    counts: Counter[str] = Counter()
    first: dict[str, Metric] = {}
    for e in experiments:
        for m in e.metrics:
            if (
                m.value is not None
                and m.direction
                and not is_resource(m.name)
                and "loss" not in m.name
            ):
                counts[m.name] += 1
                first.setdefault(m.name, m)
    if not counts:
        return None
    # A rate or a share compares runs of different shapes; the time of a step does not.
    most = max(counts.values())
    return first[
        min(
            (n for n in counts if 2 * counts[n] >= most),
            key=lambda n: (first[n].direction != "higher", -counts[n], n),
        )
    ]


def steps_of(experiments: Sequence[Facts], metric: str, direction: Direction) -> tuple[Step, ...]:
    """Kept runs in trail order with the gain of each over the best before it."""
    steps: list[Step] = []
    best, usual = None, least_effect_of(metric)
    for e in experiments:
        measured = e.metric(metric)
        if measured is None or measured.value is None or not kept(e):
            continue
        value = measured.value
        gain = None if best is None else gain_of(value, best, direction=direction)
        # What kb ruled to be a win is one by the least effect that its target states.
        least = 0.0 if e.rule and e.verdict.canonical is Verdict.SUPPORTED else usual
        steps.append(Step(e.path, value, gain, gain is not None and not 0.0 < gain >= least))
        if best is None or (value > best) == (direction == "higher"):
            best = value
    return tuple(steps)


def parents_of(experiments: Sequence[Facts]) -> dict[str, str]:
    """The run that each run builds on, by path, where it tells: the declared one, else the latest kept one before it that its page links."""
    by_path = {e.path: e for e in experiments}
    parents = {}
    for e in experiments:
        linked = [
            by_path[p] for p in (e.parent, *e.cites) if p in by_path and by_path[p].order < e.order
        ]
        declared = [r for r in linked if r.path == e.parent]
        if base := declared or sorted((r for r in linked if kept(r)), key=lambda r: r.order)[-1:]:
            parents[e.path] = base[0].path
    return parents


def _own_point(e: Facts) -> str:
    """Where a run says that it was measured: a variant that kb measured is a point of its own, whatever the page says beside."""
    return e.rule and e.variant or e.point


def points_of(experiments: Sequence[Facts], metric: Metric | None = None) -> dict[str, str]:
    """Where each run was measured, by path: its size of work, and the run since which the loop counts anew, if it does.

    A size that a page does not say is its parent's, else that of a run it names, else that of most of the runs before it that say one. A loop counts anew where it
    keeps a run that is clearly worse than the best before it: what was measured there was measured under other conditions.
    """
    parents = parents_of(experiments)
    sizes: dict[str, str] = {}
    known: dict[str, str] = {}
    points: dict[str, str] = {}
    best: dict[str, float] = {}
    since: dict[str, str] = {}
    stated: list[str] = []
    for e in experiments:
        usual = max(reversed(stated[-_HABIT:]), key=stated[-_HABIT:].count, default="")
        parent = parents.get(e.path, "")
        # A size that was handed on goes before one that was guessed.
        size = _own_point(e) or next((s for p in (parent, *e.cites) if (s := known.get(p))), "")
        known[e.path] = size
        size = sizes[e.path] = size or sizes.get(parent) or usual
        stated += [e.point] if e.point else []
        own = e.metric(metric.name) if metric and metric.direction else None
        if own and own.value is not None and kept(e):
            gain = (
                gain_of(own.value, best[size], direction=metric.direction) if size in best else None
            )
            if gain is not None and gain < -_ANEW and e.decision == "keep":
                since[size] = label_of(e.path)
                best[size] = own.value
            elif gain is None or gain > 0:
                best[size] = own.value
        points[e.path] = f"{size} since {since[size]}".strip() if size in since else size
    return points


def frontiers_of(experiments: Sequence[Facts], *, stated: str = "") -> tuple[Frontier, ...]:
    """The frontier of every size of work that one target's runs (in trail order) were kept at, the present one first.

    The present size is that of most of the last runs: those that were kept and are no baseline count beside all of them.
    """
    metric = metric_of([e for e in experiments if kept(e)], stated) or metric_of(
        experiments, stated
    )
    points = points_of(experiments, metric)
    at = lambda e: points[e.path]  # noqa: E731
    changes = [e for e in experiments if kept(e) and e.verdict.canonical is not Verdict.BASELINE]
    last = [at(e) for e in (*experiments[-_HABIT:], *changes[-_RECENT:])]
    order = sorted(dict.fromkeys(map(at, reversed(changes))), key=lambda p: -last.count(p))
    order += [at(e) for e in reversed(experiments) if kept(e)]
    runs_at = {p: [*own] for p, own in groupby(sorted(experiments, key=at), key=at)}
    own = (_frontier(runs_at[point], point, metric) for point in dict.fromkeys(order))
    return tuple(f for f in own if f)


def frontier_of(
    experiments: Sequence[Facts], *, stated: str = "", variant: str = ""
) -> Frontier | None:
    """The frontier where the loop works at present, of a variant where that has runs; None where nothing was kept."""
    of_variant = [e for e in experiments if e.variant == variant] if variant else []
    trails = (frontiers_of(runs, stated=stated) for runs in (of_variant, experiments))
    return next((frontiers[0] for frontiers in trails if frontiers), None)


def _frontier(experiments: Sequence[Facts], point: str, metric: Metric | None) -> Frontier | None:
    runs = [e for e in experiments if kept(e)]
    steps = steps_of(runs, metric.name, metric.direction) if metric and metric.direction else ()
    if not runs:
        return None
    # Where few kept runs report the metric, the best of them says less than the last one, which stands on all before it.
    if not metric or not steps or 3 * len(steps) < len(runs):
        return Frontier(runs[-1], point, None, (), runs[-1].path, None)
    best = (max if metric.direction == "higher" else min)(steps, key=lambda s: s.value)
    run = next(e for e in runs if e.path == best.path)
    value = run.metric(metric.name)
    band = (
        Spread(value.value or 0.0, value.stddev, value.n).relative
        if value and value.stddev is not None
        else None
    )
    moved = [s.path for s in steps if not s.is_small]
    return Frontier(run, point, value, steps, moved[-1], band)
