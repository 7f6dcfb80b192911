"""What an imported log says of its runs, in kb's words: verdict, decision and the run it started from.

The loop's own decision is the verdict where the log gives no samples, with that rule named: kb does
not judge again what it did not measure. Where both runs state their spread, the spread decides.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from msgspec.structs import replace

from kb.formats.columns import key_words
from kb.formats.reading import Segment
from kb.run.direction import word_set, words_of
from kb.run.noise import LEAST_REPEATS, Spread, band_of, gain_of, least_effect_of
from kb.run.quantity import number_text, to_float
from kb.run.record import Metric, Outcome, Run
from kb.schema import Verdict, canonical_decision, canonical_verdict

_BASELINES = word_set("baseline reference")
_BEFORE_BASELINE = word_set(
    "the initial clean stock first fresh original untouched unmodified pure current"
)
_AGAINST = word_set("vs delta over relative diff δ")
# pi-autoresearch: a confidence below 1 is noise.
_LEAST_CONFIDENCE = 1.0


@dataclass(frozen=True, slots=True)
class Judged:
    """A run with its verdict (empty: the log says none) and decision, why, and the place of its parent among the runs (-1: none is known)."""

    run: Run
    why: str
    parent: int = -1


@dataclass(slots=True)
class _Stretch:
    """What the runs of a segment have come to: the last kept run and the baseline by place, the best kept, residuals."""

    kept: int = -1
    base: int = -1
    best: Run | None = None
    residuals: tuple[float, ...] = ()


def judged(segments: Sequence[Segment], runs: Sequence[Run]) -> list[Judged]:
    """All runs of one log, in file order, judged in the light of the runs before them in their segment."""
    stated = {s.index: s for s in segments}
    by_label = {run.label: i for i, run in enumerate(runs)}
    stretches: dict[int, _Stretch] = {}
    verdicts: list[Judged] = []
    for i, run in enumerate(runs):
        segment = stated.get(run.segment) or _segment_of(run)
        stretch = stretches.setdefault(run.segment, _Stretch())
        baseline = _is_baseline(run)
        parent = by_label.get(run.parent, -1) if run.parent else -1
        if parent < 0:
            against_base = any(
                {"base", "baseline"} & key_words(n) and _AGAINST & key_words(n)
                for n, _ in run.notes
            )
            parent = (
                stretch.kept
                if segment.judged
                else stretch.base
                if against_base and not baseline
                else -1
            )
        before = runs[parent] if 0 <= parent < i else None
        verdict, why = _verdict(
            run, stretch.best or before, before, segment, stretch.residuals, baseline=baseline
        )
        # By the outcome: a status that names its column (`kept?: no`) begins with another word.
        reverted = run.outcome is Outcome.DISCARDED or canonical_decision(run.status) == "revert"
        decision = "keep" if run.outcome is Outcome.KEPT else "revert" if reverted else ""
        rated = replace(run, verdict=run.verdict or verdict, decision=run.decision or decision)
        verdicts.append(Judged(rated, why, parent if before else -1))
        _count(stretch, run, i, segment, baseline=baseline)
    return verdicts


def _count(stretch: _Stretch, run: Run, place: int, segment: Segment, *, baseline: bool) -> None:
    """Take a run into what its segment has come to."""
    best = stretch.best.value if stretch.best else None
    if run.outcome is Outcome.KEPT:
        stretch.kept = place
        if best is None or run.value is not None and _gain(run.value, best, segment) > 0:
            stretch.best = run
    elif run.value is not None and best is not None and run.outcome is Outcome.DISCARDED:
        # What did not move the frontier shows the noise around it; kept runs show the way it took.
        stretch.residuals = (*stretch.residuals[-200:], run.value - best)
    if baseline and stretch.base < 0:
        stretch.base = place


def _segment_of(run: Run) -> Segment:
    """The segment of a record that was restored from an export: it counts by the log that it came from."""
    metric = run.metric(run.primary)
    return Segment(
        run.segment,
        run.origin.line,
        metric=run.primary,
        direction=metric.direction if metric else None,
    )


def _gain(value: float, before: float, segment: Segment) -> float:
    return (
        (gain_of(value, before, direction=segment.direction) or 0.0) if segment.direction else 0.0
    )


def _is_baseline(run: Run) -> bool:
    words = words_of(run.description[:100])
    opening = next((w for w in words[:4] if w not in _BEFORE_BASELINE), "")
    named = opening in _BASELINES or run.label.lower() == "baseline"
    return canonical_verdict(run.status) is Verdict.BASELINE or named


def _verdict(
    run: Run,
    best: Run | None,
    before: Run | None,
    segment: Segment,
    residuals: Sequence[float],
    *,
    baseline: bool,
) -> tuple[str, str]:
    """Verdict and the sentence that says why; both empty where the log gives none."""
    own = f"its status is '{run.status}'" if run.status else "by the log"
    match run.outcome:
        case Outcome.CRASHED:
            return Verdict.CRASH, f"Crash: {own}."
        case Outcome.CHECKS_FAILED:
            return (
                Verdict.INVALID,
                f"Invalid: its checks failed ({own}), so no figure of it counts.",
            )
        case Outcome.DISCARDED:
            return (
                Verdict.REFUTED,
                f"Refuted: discarded by its loop ({own}){_move_text(run, before, segment)}.",
            )
        case Outcome.KEPT if not baseline:
            return _of_kept(run, best, segment, residuals, own)
    if baseline:
        return Verdict.BASELINE, "Baseline: what later runs are held against."
    canonical = canonical_verdict(run.status) if run.outcome is Outcome.OTHER else None
    if canonical not in (None, Verdict.OTHER):
        message = f"{canonical.capitalize()}: the verdict of its loop ({own}){_move_text(run, before, segment)}."
        return canonical, message
    measured = before and run.value is not None and before.value is not None and segment.direction
    if run.outcome is not None or not measured:
        return "", ""
    least, moved = least_effect_of(segment.metric), _move_text(run, before, segment)
    if _gain(run.value, before.value, segment) <= least:
        return Verdict.REFUTED, f"Refuted: no gain beyond {least:.2%} over the baseline{moved}."
    return (
        Verdict.INCONCLUSIVE,
        f"Inconclusive: a gain over the baseline whose noise is not known{moved}.",
    )


def _of_kept(
    run: Run, best: Run | None, segment: Segment, residuals: Sequence[float], own: str
) -> tuple[str, str]:
    """Verdict of a kept run: by the spread that both runs state, else by the loop's own confidence, else by its decision."""
    moved = _move_text(run, best, segment)
    band = _band(run.metric(run.primary), best.metric(best.primary)) if best else None
    if band is not None and run.value is not None and best and best.value is not None:
        gain, message = (
            _gain(run.value, best.value, segment),
            f"the spread of both runs is {number_text(band)}",
        )
        if abs(run.value - best.value) <= band or gain <= 0:
            return Verdict.INCONCLUSIVE, f"Inconclusive: kept by its loop, but {message}{moved}."
        return Verdict.SUPPORTED, f"Supported: kept by its loop, and {message}{moved}."
    confidence = to_float(dict(run.notes).get("confidence"))
    if confidence is not None and confidence < _LEAST_CONFIDENCE:
        message = f"its own confidence is {confidence:g}, and below 1 is noise"
        return Verdict.INCONCLUSIVE, f"Inconclusive: kept by its loop, but {message}{moved}."
    sure = (
        f" at a confidence of {confidence:g}"
        if confidence is not None
        else _beside(run, best, residuals)
    )
    return Verdict.SUPPORTED, f"Supported: kept by its loop ({own}){sure}{moved}."


def _beside(run: Run, best: Run | None, residuals: Sequence[float]) -> str:
    """How the move compares with the deviation of the runs that were not kept; empty where too few were measured."""
    if best is None or run.value is None or best.value is None or len(residuals) < LEAST_REPEATS:
        return ""
    middle = median(residuals)
    deviation = median(abs(r - middle) for r in residuals)
    times = abs(run.value - best.value) / deviation if deviation else 0
    return (
        f"; it moved {times:.1f} times the median deviation of the runs that were not kept"
        if times
        else ""
    )


def _band(change: Metric | None, parent: Metric | None) -> float | None:
    if change is None or parent is None or change.value is None or parent.value is None:
        return None
    return band_of(
        Spread(change.value, change.stddev, change.n), Spread(parent.value, parent.stddev, parent.n)
    )


def _move_text(run: Run, before: Run | None, segment: Segment) -> str:
    """`; val_bpb 1.005 after 0.9979 (0.71 % worse)`; empty where either side is not measured."""
    if before is None or run.value is None or before.value is None:
        return ""
    gain = (
        gain_of(run.value, before.value, direction=segment.direction) if segment.direction else None
    )
    way = (
        ""
        if gain is None
        else " (equal)"
        if gain == 0
        else f" ({abs(gain):.2%} {'better' if gain > 0 else 'worse'})"
    )
    return f"; {run.primary} {number_text(run.value)} after {number_text(before.value)}{way}"
