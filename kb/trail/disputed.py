"""Statements of one target that disagree: a figure that a repeat did not confirm, a setting that won once and lost once. Refuses to say who is right."""

from collections.abc import Iterable

from kb import grouped
from kb.run.noise import SMALLEST_GAIN, gain_of
from kb.run.quantity import number_text
from kb.schema import Verdict
from kb.text import cut
from kb.trail.frontier import kept, parents_of, points_of
from kb.trail.handles import handle
from kb.trail.levers import is_common, key_of, levers_in
from kb.trail.line import Line
from kb.trail.outcomes import Outcomes, is_repeat, subject_of


def disputed_lines(outcomes: Outcomes) -> Iterable[Line]:
    """One line a dispute, newest first."""
    lines = [*_unconfirmed(outcomes), *_both_ways(outcomes)]
    yield from (line for _, line in sorted(lines, key=lambda x: x[0], reverse=True))


def _unconfirmed(outcomes: Outcomes) -> Iterable[tuple[tuple[str, int, str], Line]]:
    """Runs whose metric a repeat missed by 1 % or more of it, or by half of the gain that it had brought."""
    if not outcomes.metric or not outcomes.metric.direction:
        return
    by_path, parents = {e.path: e for e in outcomes.runs}, parents_of(outcomes.runs)
    for e in outcomes.runs:
        first = by_path.get(parents.get(e.path, "")) if is_repeat(e) else None
        one, two = (x.metric(outcomes.metric.name) if x else None for x in (first, e))
        if not (first and one and two and one.value and two.value is not None):
            continue
        gain = gain_of(two.value, one.value, direction=outcomes.metric.direction) or 0.0
        if abs(gain) >= min(SMALLEST_GAIN, max(0.002, outcomes.gains.get(first.path, 1.0) / 2)):
            text = f"{outcomes.metric.name}: {handle(first.path)} {number_text(one.value)}, its repeat {handle(e.path)} {number_text(two.value)} ({100 * gain:+.1f} %)"
            yield e.order, Line(text, e.path)


def _both_ways(outcomes: Outcomes) -> Iterable[tuple[tuple[str, int, str], Line]]:
    """Settings that one run's verdict supports and another's refutes at the same size of work."""
    points = points_of(outcomes.runs)
    tries = grouped(
        ((f"{v.name}={v.value}", key_of(v.name), points[e.path]), e)
        for e in outcomes.runs
        if e.verdict.canonical in (Verdict.SUPPORTED, Verdict.REFUTED)
        for v in levers_in(e.title)
        if v.value and not is_common(v.name) and len(key_of(v.name)) > 2
    )
    for (name, _, _), runs in tries.items():
        won, lost = [e for e in runs if kept(e)], [e for e in runs if not kept(e)]
        if won and lost and len(runs) <= 4:
            sides = (
                f"{handle(e.path)} {e.verdict.canonical} ({outcomes.result(e) or cut(subject_of(e), 60)})"
                for e in (won[-1], lost[-1])
            )
            yield max(e.order for e in runs), Line(f"{name}: {', but '.join(sides)}", lost[-1].path)
