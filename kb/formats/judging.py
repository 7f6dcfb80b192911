"""What an imported log says of its runs, in kb's words: verdict, decision and the run it started from. Refuses to crown a keep.

A loop keeps by its own gate; kb calls a kept run supported only where its gain over the best kept before it is beyond 1 % and beyond noise.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from kb.formats.reading import Segment
from kb.run.noise import LEAST_CONFIDENCE, SMALLEST_GAIN, Spread, band_of, confidence_of, gain_of
from kb.run.quantity import number_text
from kb.run.record import Metric, Outcome, Run
from kb.schema import Verdict, canonical_decision, canonical_verdict

_BASELINE = re.compile(
    r"^\W*(?:(?:the|initial|clean|stock|first|fresh|original|untouched|unmodified|pure|current)\s+){0,3}(?:baseline|reference)\b",
    re.IGNORECASE,
)
_AGAINST_BASE = re.compile(r"(?:vs|Δ|delta|over|relative).*base|base.*(?:delta|Δ|diff)", re.IGNORECASE)
# What a loop's own further words may mean; a word of support is not enough for `supported`.
_TAKEN_OVER = frozenset({Verdict.INVALID, Verdict.CRASH, Verdict.REFUTED, Verdict.INCONCLUSIVE, Verdict.BASELINE})


# The name of a column in a table that names none.
_BY_PLACE = re.compile(r"col\d+")
UNTOLD = "nothing says that its lines are runs: no status, and no value under a name; name the columns in a first line, or say a status with every run"


def tells(run: Run) -> bool:
    """Whether a line says of itself that it is a run: by a status, or by a value under a name. Any table has lines with numbers in them."""
    return bool(run.outcome is not None or run.status) or any(
        m.value is not None and not _BY_PLACE.fullmatch(m.name) for m in run.metrics
    )


def told(runs: Sequence[Run]) -> list[Run]:
    """The runs of those segments in which some line tells that it is one: in a log of runs one may well tell nothing."""
    segments = {run.segment for run in runs if tells(run)}
    return [run for run in runs if run.segment in segments]


@dataclass(frozen=True, slots=True)
class Judged:
    """A run with its verdict (empty: the log says none) and decision, why, and the place of its parent among the runs (-1: none is known)."""

    run: Run
    why: str
    parent: int = -1


def judged(segments: Sequence[Segment], runs: Sequence[Run]) -> list[Judged]:
    """All runs of one log, in file order, judged in the light of the runs before them in their segment."""
    told = {s.index: s for s in segments}
    values: dict[int, list[float]] = {}
    for run in runs:
        if run.value is not None and run.outcome not in (Outcome.CRASHED, Outcome.CHECKS_FAILED):
            values.setdefault(run.segment, []).append(run.value)
    by_label = {run.label: i for i, run in enumerate(runs)}
    kept: dict[int, int] = {}
    base: dict[int, int] = {}
    best: dict[int, Run] = {}
    found: list[Judged] = []
    for i, run in enumerate(runs):
        segment = told.get(run.segment) or _segment_of(run)
        baseline = _is_baseline(run)
        parent = by_label.get(run.parent, -1) if run.parent else -1
        if parent < 0 and segment.judged:
            parent = kept.get(run.segment, -1)
        if parent < 0 and not segment.judged and not baseline and any(_AGAINST_BASE.search(name[:200]) for name, _ in run.notes):
            parent = base.get(run.segment, -1)
        before = runs[parent] if 0 <= parent < i else None
        # A loop may keep a probe that is worse; going back from it is no gain. So a kept run is held against the best kept before it.
        against = best.get(run.segment) if run.outcome is Outcome.KEPT else before
        verdict, why = _verdict(run, against, segment, values.get(run.segment, ()), baseline=baseline)
        decision = (
            "keep"
            if run.outcome is Outcome.KEPT
            else canonical_decision(run.status) or ("revert" if run.outcome is Outcome.DISCARDED else "")
        )
        found.append(
            Judged(replace(run, verdict=run.verdict or verdict, decision=run.decision or decision), why, parent if before else -1)
        )
        if run.outcome is Outcome.KEPT:
            kept[run.segment] = i
            best[run.segment] = _better(run, best.get(run.segment), segment)
        if baseline:
            base.setdefault(run.segment, i)
    return found


def _segment_of(run: Run) -> Segment:
    """The segment of a record that was restored from an export: it counts by the log that it came from."""
    metric = run.metric(run.primary)
    return Segment(run.segment, run.origin.line, metric=run.primary, direction=metric.direction if metric else None)


def _better(run: Run, best: Run | None, segment: Segment) -> Run:
    if best is None or best.value is None or segment.direction is None:
        return run
    if run.value is None:
        return best
    return run if (run.value < best.value) == (segment.direction == "lower") else best


def _is_baseline(run: Run) -> bool:
    return (
        canonical_verdict(run.status) is Verdict.BASELINE
        or bool(_BASELINE.match(run.description))
        or run.label.lower() == "baseline"
    )


def _verdict(run: Run, before: Run | None, segment: Segment, values: Sequence[float], *, baseline: bool) -> tuple[str, str]:
    """Verdict and the sentence that says why; both empty where the log gives none."""
    moved = _moved(run, before, segment)
    said = f"the loop's own status is '{run.status}'" if run.status else "the log"
    match run.outcome:
        case Outcome.CRASHED:
            return Verdict.CRASH, f"Crash: {said}."
        case Outcome.CHECKS_FAILED:
            return Verdict.INVALID, f"Invalid: its checks failed ({said}), so no figure of it counts."
        case Outcome.DISCARDED:
            return Verdict.REFUTED, f"Refuted: the loop discarded it ({said}){moved}."
        case Outcome.KEPT if not baseline:
            return _of_kept(run, before, segment, values, moved)
    if baseline and run.outcome in (None, Outcome.KEPT, Outcome.OTHER):
        return Verdict.BASELINE, "Baseline: what later runs are held against."
    canonical = canonical_verdict(run.status) if run.outcome is Outcome.OTHER else None
    if canonical in _TAKEN_OVER:
        return canonical, f"{canonical.capitalize()}: {said}{moved}."
    if canonical is Verdict.SUPPORTED:
        return Verdict.INCONCLUSIVE, f"Inconclusive: {said}, which kb did not measure{moved}."
    if run.outcome is None and before is not None and run.value is not None and before.value is not None and segment.direction:
        gain = gain_of(run.value, before.value, direction=segment.direction)
        if gain is not None and gain <= SMALLEST_GAIN:
            return Verdict.REFUTED, f"Refuted: no gain beyond {SMALLEST_GAIN:.0%} over the baseline{moved}."
        return Verdict.INCONCLUSIVE, f"Inconclusive: a gain over the baseline whose noise is not known{moved}."
    return "", ""


def _of_kept(run: Run, before: Run | None, segment: Segment, values: Sequence[float], moved: str) -> tuple[str, str]:
    if run.value is None or before is None or before.value is None or segment.direction is None:
        missing = (
            "it has no measurement"
            if run.value is None
            else "which side is better is not said"
            if segment.direction is None
            else "there is no run before it to compare with"
        )
        return Verdict.INCONCLUSIVE, f"Inconclusive: kept by the loop, but {missing}."
    gain = gain_of(run.value, before.value, direction=segment.direction)
    if gain is None or gain <= SMALLEST_GAIN:
        return Verdict.INCONCLUSIVE, f"Inconclusive: kept by the loop without a gain beyond {SMALLEST_GAIN:.0%}{moved}."
    band = _band(run.metric(run.primary), before.metric(before.primary))
    difference = abs(run.value - before.value)
    if band is not None:
        beyond = difference > band
        noise = f"the spread of both runs is {number_text(band)}"
    else:
        confidence = confidence_of(difference, values)
        beyond = confidence is not None and confidence >= LEAST_CONFIDENCE
        noise = "the noise is not known" if confidence is None else f"the gain is {confidence:.1f} times the MAD of the segment"
    if beyond:
        return Verdict.SUPPORTED, f"Supported: kept by the loop, and {noise}{moved}."
    return Verdict.INCONCLUSIVE, f"Inconclusive: kept by the loop, but {noise}{moved}."


def _band(change: Metric | None, parent: Metric | None) -> float | None:
    if change is None or parent is None or change.value is None or parent.value is None:
        return None
    return band_of(Spread(change.value, change.stddev, change.n), Spread(parent.value, parent.stddev, parent.n))


def _moved(run: Run, before: Run | None, segment: Segment) -> str:
    """`; val_bpb 1.005 after 0.9979 (0.71 % worse)`; empty where either side is not measured."""
    if before is None or run.value is None or before.value is None:
        return ""
    gain = gain_of(run.value, before.value, direction=segment.direction) if segment.direction else None
    way = "" if gain is None else " (equal)" if gain == 0 else f" ({abs(gain):.2%} {'better' if gain > 0 else 'worse'})"
    return f"; {run.primary} {number_text(run.value)} after {number_text(before.value)}{way}"
