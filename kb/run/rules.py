"""The verdict rules, readable from top to bottom: the first rule that speaks decides. Refuses to report a gain for an invalid or crashed run.

`RULES` is the documentation: a name, the verdict it gives, when it speaks, and the function that says why. `ruling_of` asks them in order.
Every comparison is made with a whole interval; where one straddles, `ruling_of` says how many more samples would decide.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from statistics import NormalDist

from kb.run.criterion import GAIN, holds, to_text
from kb.run.evidence import Evidence
from kb.run.interval import Interval, level_of
from kb.run.noise import LEAST_REPEATS, Spread
from kb.run.quantity import number_text
from kb.run.record import Falsification
from kb.schema import Verdict


@dataclass(frozen=True, slots=True)
class Ruling:
    """A verdict, the rule that spoke, and its reason in one sentence. `gain` is None where none may be reported.

    `more` is how many further samples of each side would decide, None where no number of them would or nothing is open.
    """

    verdict: Verdict
    rule: str
    reason: str
    gain: float | None = None
    more: int | None = None


@dataclass(frozen=True, slots=True)
class VerdictRule:
    """`speaks` gives the reason in words, or an empty text where the rule has nothing to say. `open`: more samples may turn it."""

    name: str
    verdict: Verdict
    when: str
    speaks: Callable[[Evidence], str]
    open: bool = False


def ruling_of(evidence: Evidence) -> Ruling:
    """What the first rule that speaks says of the evidence."""
    rule, reason = _first(evidence)
    withheld = rule.verdict in (Verdict.INVALID, Verdict.CRASH)
    gain = None if withheld or evidence.main is None else evidence.main.gain
    return Ruling(rule.verdict, rule.name, reason, gain, _more(evidence) if rule.open else None)


def _first(evidence: Evidence) -> tuple[VerdictRule, str]:
    for rule in RULES:
        reason = rule.speaks(evidence)
        if reason:
            return rule, reason
    raise AssertionError("the last rule always speaks")


# Growing by a quarter is as fine as an estimate from a few samples deserves; the estimate may have moved by sixteenfold.
_GROWTH, _STEPS = 1.25, 13
# So likely an effect of twice the least shall be seen with the samples that are asked for.
_POWER = 0.9
# Arms this much shorter than the least effect say that the gain lies on a line, as nearly as matters.
_ON_THE_LINE = 10


def _more(e: Evidence) -> int | None:
    """Samples of each side that would decide: if the estimates stood as they are (arms shrink with the root of the count, and the next
    look is held to a stricter level), or to see an effect of twice the least. None where the gain lies on the line itself, or readings are too coarse.
    """
    count = e.main.change.n or 0 if e.main else 0
    if not e.main or not e.main.interval:
        return LEAST_REPEATS - count if count < LEAST_REPEATS else None
    width = e.main.interval.high - e.main.interval.low
    if _ON_THE_LINE * width < e.main.least or _first(_narrowed(e, 0.0))[0].open:
        return None
    now, then = _quantile(e.look), _quantile(e.look + 1)
    steps = (
        s
        for s in range(1, _STEPS)
        if not _first(_narrowed(e, then / now / math.sqrt(_GROWTH**s)))[0].open
    )
    standing = _GROWTH ** next(steps, _STEPS)
    seeing = (
        (width / 2 / now * (then + NormalDist().inv_cdf(_POWER)) / e.main.least) ** 2
        if e.main.least
        else standing
    )
    return math.ceil(
        count * ((min(standing, seeing) if seeing > _GROWTH else min(standing, 2.0)) - 1)
    )


def _narrowed(e: Evidence, factor: float) -> Evidence:
    shorter = (
        replace(
            m,
            interval=m.interval and m.interval.narrowed(factor),
            place=m.place and m.place.narrowed(factor),
        )
        for m in e.measured
    )
    return replace(e, measured=tuple(shorter))


def _quantile(look: int) -> float:
    return NormalDist().inv_cdf(1 - level_of(look) / 2)


def percent(share: float) -> str:
    """`+2.5 %`, with as many digits as a small one needs; `+43 times` where percent would mislead."""
    if abs(share) >= 10:
        return f"{share:+.0f} times"
    return f"{100 * share:+.3g} %" if abs(share) < 0.01 else f"{100 * share:+.1f} %"


def span_of(interval: Interval) -> str:
    """`+3.1 to +4.2 %`: both ends, or `exactly` where every sample was equal."""
    if interval.how == "equal":
        return "exactly, for the repeats do not differ"
    ends = f"{percent(interval.low)} to {percent(interval.high)}"
    if interval.how == "coarse":
        return f"somewhere from {ends}, for the readings are no finer"
    return f"95 % interval {ends}"


def figures(spread: Spread, unit: str = "") -> str:
    """`91.2 ± 0.3 ms (n 5)`."""
    text = (
        number_text(spread.mean, digits=5)
        + ("" if spread.stddev is None else f" ± {number_text(spread.stddev, digits=2)}")
        + (f" {unit}" if unit else "")
    )
    return text + (f" (n {spread.n})" if spread.n and spread.n > 1 else "")


def _compared(e: Evidence) -> str:
    """The sentence that every verdict on the gain begins with."""
    assert e.main and e.main.parent and e.main.interval
    sides = f"{figures(e.main.change, e.main.unit)} against {figures(e.main.parent, e.main.unit)}"
    return f"{e.primary} is {sides}: {percent(e.main.interval.middle)}, {span_of(e.main.interval)}"


def _touched(e: Evidence) -> str:
    return (
        f"protected files were changed: {', '.join(e.touched[:5])}; what was measured is not the benchmark"
        if e.touched
        else ""
    )


def _strayed(e: Evidence) -> str:
    return (
        f"files outside the allowed paths were changed: {', '.join(e.strayed[:5])}"
        if e.strayed
        else ""
    )


def _forged(e: Evidence) -> str:
    return (
        f"{'; '.join(e.forged[:3])}: what was printed is not the benchmark's alone"
        if e.forged
        else ""
    )


def _crashed(e: Evidence) -> str:
    if e.crash:
        return f"the change did not measure: {e.crash}"
    return (
        ""
        if e.main or e.parent_crash or e.firing == "no-op"
        else f"no value of {e.primary or 'the primary metric'} was measured"
    )


def _checks_failed(e: Evidence) -> str:
    return (
        f"the checks did not pass: {e.checks}" if e.checks not in ("", "passed", "skipped") else ""
    )


def _parity_broken(e: Evidence) -> str:
    for bound in e.bounds if e.main else ():
        reading = e.of(bound.metric)
        if reading is None:
            return (
                f"the bound `{to_text(bound)}` cannot be tested: the run reports no {bound.metric}"
            )
        if not holds(bound, reading.change.mean):
            value = number_text(reading.change.mean, digits=5)
            return f"the result is not the same: {bound.metric} is {value}, and `{to_text(bound)}` must hold"
    return ""


def _baseline(e: Evidence) -> str:
    return (
        f"the first measurement: {e.primary} {figures(e.main.change, e.main.unit)}"
        if not e.has_parent and e.main
        else ""
    )


def _no_op(e: Evidence) -> str:
    return (
        "the change is a no-op: what was built is the parent's, byte for byte"
        if e.firing == "no-op"
        else ""
    )


def _parent_unmeasured(e: Evidence) -> str:
    if e.parent_crash:
        return f"the parent did not measure: {e.parent_crash}"
    return (
        f"no value of {e.primary} was measured for the parent"
        if e.main and e.main.parent is None
        else ""
    )


def _no_direction(e: Evidence) -> str:
    unsaid = e.main and e.main.direction is None
    return (
        f"whether lower or higher {e.primary} is better is not said on the target page"
        if unsaid
        else ""
    )


def _noise_unknown(e: Evidence) -> str:
    if e.main is None or e.main.interval:
        return ""
    if e.main.parent and not e.main.parent.mean:
        return "the parent's value is 0, over which there is no relative gain; a criterion on the metric itself would decide"
    return f"without {LEAST_REPEATS} repeats of each side nobody knows the noise: {figures(e.main.change, e.main.unit)}"


def _noise_wide(e: Evidence) -> str:
    for side, spread in (
        (("the change", e.main.change), ("the parent", e.main.parent))
        if e.main and e.noise_limit
        else ()
    ):
        relative = spread.relative if spread else None
        if relative is not None and relative >= e.noise_limit:
            return f"the repeats of {side} vary by {100 * relative:.3g} % of their mean, and the target's noise_limit is {100 * e.noise_limit:.3g} %"
    return ""


def _reading(e: Evidence, criterion: Falsification) -> bool | None:
    """Whether a criterion is met (True) or not (False) by the whole interval; None where it straddles or there is none."""
    reading = e.interval(criterion.metric)
    if reading is None:
        return None
    ends = {holds(criterion, reading.low), holds(criterion, reading.high)}
    if criterion.comparison == "==" and reading.low < criterion.threshold < reading.high:
        return None
    return ends.pop() if len(ends) == 1 else None


def _spoken(e: Evidence, criterion: Falsification) -> str:
    reading = e.interval(criterion.metric)
    assert reading
    sign = " %" if criterion.metric == GAIN else ""
    how = "somewhere from" if reading.how == "coarse" else "95 % interval"
    span = f", {how} {number_text(reading.low, digits=4)} to {number_text(reading.high, digits=4)}{sign}"
    ends = "" if reading.how == "equal" else span
    return f"{criterion.metric} is {number_text(reading.middle, digits=5)}{sign}{ends}"


def _falsified(e: Evidence) -> str:
    met = next((c for c in e.falsification if _reading(e, c)), None)
    return f"the falsification criterion `{to_text(met)}` is met: {_spoken(e, met)}" if met else ""


def _criterion_open(e: Evidence) -> str:
    for criterion in e.falsification:
        if _reading(e, criterion) is None and e.interval(criterion.metric):
            return f"whether `{to_text(criterion)}` is met is open: {_spoken(e, criterion)}"
    return ""


def _regression(e: Evidence) -> str:
    reading = e.main.interval if e.main else None
    if not e.main or not reading or reading.high >= 0 or reading.low >= -e.main.least:
        return ""
    return f"{_compared(e)}: worse"


def _tie(e: Evidence) -> str:
    reading = e.main.interval if e.main else None
    if not e.main or not reading or not reading.within(-e.main.least, e.main.least):
        return ""
    return f"a tie: {_compared(e)}, within ± the least effect of {percent(e.main.least)[1:]}"


def _straddles(e: Evidence) -> str:
    if not e.main or not e.main.interval or e.main.interval.low > e.main.least:
        return ""
    return f"{_compared(e)}, which leaves open whether it is beyond the least effect of {percent(e.main.least)[1:]}"


def _criterion_unmeasured(e: Evidence) -> str:
    lacking = [
        c
        for c in e.falsification
        if c.metric != GAIN and (not e.of(c.metric) or not e.interval(c.metric))
    ]
    return (
        f"the criterion `{to_text(lacking[0])}` cannot be tested: {lacking[0].metric} was not measured three times"
        if lacking
        else ""
    )


def _tracked_regression(e: Evidence) -> str:
    for name in e.tracked:
        reading = e.of(name)
        if (
            reading
            and name != e.primary
            and reading.interval
            and reading.interval.high < -reading.least
        ):
            return f"{name}, which is tracked, is worse: {percent(reading.interval.middle)}, {span_of(reading.interval)}"
    return ""


def _not_fired(e: Evidence) -> str:
    if e.firing == "partial":
        return "the audit saw only part of what the mechanism predicts, so the gain may be something else's doing"
    return (
        "the audit saw nothing of the mechanism, so the gain is not its doing"
        if e.firing == "none"
        else ""
    )


def _unaudited(e: Evidence) -> str:
    return (
        ""
        if e.firing
        else "nothing shows that the mechanism fired: the page does not say what an audit should look for"
    )


def _supported(e: Evidence) -> str:
    assert e.main
    checks = {
        "passed": "checks passed",
        "skipped": "checks were skipped",
        "": "the target has no checks",
    }[e.checks]
    return f"{_compared(e)}, beyond the least effect of {percent(e.main.least)[1:]}; {checks}; mechanism {e.firing}"


RULES = (
    VerdictRule(
        "protected-file",
        Verdict.INVALID,
        "a protected file differs from the parent's (a baseline's from the base's), in the commit or "
        "at any turn of the run, or the parent's tree was written to",
        _touched,
    ),
    VerdictRule(
        "outside-allowed",
        Verdict.INVALID,
        "the change edits files outside the target's allowed paths",
        _strayed,
    ),
    VerdictRule(
        "forged-metric",
        Verdict.INVALID,
        "a METRIC line is printed more often by the change than by the parent",
        _forged,
    ),
    VerdictRule(
        "checks-failed",
        Verdict.INVALID,
        "the checks command fails or hangs on the change",
        _checks_failed,
    ),
    VerdictRule(
        "crash",
        Verdict.CRASH,
        "the change exits non-zero, hangs, prints no finite value of the primary metric, or falls over in its checks",
        _crashed,
    ),
    VerdictRule(
        "parity-broken",
        Verdict.INVALID,
        "a bound of the target page does not hold: the semantics changed",
        _parity_broken,
    ),
    VerdictRule("baseline", Verdict.BASELINE, "the experiment has no parent", _baseline),
    VerdictRule(
        "no-op",
        Verdict.INCONCLUSIVE,
        "the artifacts' digests equal the parent's although the change is not empty",
        _no_op,
    ),
    VerdictRule(
        "parent-unmeasured",
        Verdict.INCONCLUSIVE,
        "the parent has no value to compare with",
        _parent_unmeasured,
    ),
    VerdictRule(
        "no-direction",
        Verdict.INCONCLUSIVE,
        "nobody said whether lower or higher is better",
        _no_direction,
    ),
    VerdictRule(
        "noise-wide",
        Verdict.INCONCLUSIVE,
        "the repeats spread by the target's `noise_limit` or more, where it states one",
        _noise_wide,
    ),
    VerdictRule(
        "falsified",
        Verdict.REFUTED,
        "a falsification criterion is met by the whole interval",
        _falsified,
    ),
    VerdictRule(
        "noise-unknown",
        Verdict.INCONCLUSIVE,
        "there is no interval: no three repeats of each side, no stated stddev",
        _noise_unknown,
        open=True,
    ),
    VerdictRule(
        "regression",
        Verdict.REFUTED,
        "the whole interval of the gain is on the wrong side, and no tie",
        _regression,
    ),
    VerdictRule(
        "tie",
        Verdict.INCONCLUSIVE,
        "the whole interval lies within ± the least effect: decided",
        _tie,
    ),
    VerdictRule(
        "criterion-open",
        Verdict.INCONCLUSIVE,
        "the interval straddles a falsification criterion",
        _criterion_open,
        open=True,
    ),
    VerdictRule(
        "undecided",
        Verdict.INCONCLUSIVE,
        "the interval straddles the least effect",
        _straddles,
        open=True,
    ),
    VerdictRule(
        "criterion-unmeasured",
        Verdict.INCONCLUSIVE,
        "a falsification criterion names a metric that was not measured",
        _criterion_unmeasured,
    ),
    VerdictRule(
        "tracked-regression",
        Verdict.INCONCLUSIVE,
        "a tracked metric is worse by its whole interval, beyond its least effect",
        _tracked_regression,
    ),
    VerdictRule(
        "not-fired",
        Verdict.INCONCLUSIVE,
        "the audit saw nothing of the mechanism, or only a part of it",
        _not_fired,
    ),
    VerdictRule(
        "no-audit",
        Verdict.INCONCLUSIVE,
        "nothing says what an audit should look for; `close` asks instead of sealing this",
        _unaudited,
    ),
    VerdictRule(
        "supported",
        Verdict.SUPPORTED,
        "the whole interval is beyond the least effect, and none of the rules above speaks",
        _supported,
    ),
)
