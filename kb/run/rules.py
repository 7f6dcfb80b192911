"""The verdict rules, readable from top to bottom: the first rule that speaks decides. Refuses to report a gain for an invalid or crashed run.

`RULES` is the documentation: a name, the verdict it gives, when it speaks, and the function that says why. `ruling_of` asks them in order.
"""

from collections.abc import Callable
from dataclasses import dataclass

from kb.run.criterion import GAIN, holds, to_text
from kb.run.direction import Direction
from kb.run.noise import LEAST_CONFIDENCE, LEAST_REPEATS, SMALLEST_GAIN, UNFIT, WIDE, Spread, band_of, gain_of
from kb.run.quantity import number_text
from kb.run.record import Falsification
from kb.schema import Verdict


@dataclass(frozen=True, slots=True)
class Measured:
    """One metric of the change beside the parent's."""

    name: str
    change: Spread
    parent: Spread | None = None
    unit: str = ""
    direction: Direction | None = None

    @property
    def gain(self) -> float | None:
        """Relative gain over the parent, positive when better."""
        if self.parent is None or self.direction is None:
            return None
        return gain_of(self.change.mean, self.parent.mean, direction=self.direction)

    @property
    def difference(self) -> float | None:
        return None if self.parent is None else abs(self.change.mean - self.parent.mean)


@dataclass(frozen=True, slots=True)
class Evidence:
    """All that the rules look at. Texts are empty where there is nothing to say.

    `crash`, `parent_crash`: why a side did not measure. `checks`: passed, skipped, or how they failed; empty: the target has none.
    `bounds` must hold for the change (parity); `falsification` are alternatives. `firing`: confirmed, partial, no-op, none; empty: not audited.
    `confidence`: pi's, where there are no repeats. `least_band`: the target's own noise band in the metric's unit.
    """

    primary: str
    measured: tuple[Measured, ...] = ()
    has_parent: bool = True
    crash: str = ""
    parent_crash: str = ""
    touched: tuple[str, ...] = ()
    strayed: tuple[str, ...] = ()
    checks: str = ""
    bounds: tuple[Falsification, ...] = ()
    falsification: tuple[Falsification, ...] = ()
    firing: str = ""
    profiled: bool = False
    confidence: float | None = None
    least_band: float = 0.0
    tracked: tuple[str, ...] = ()

    def of(self, name: str) -> Measured | None:
        return next((m for m in self.measured if m.name == name), None)

    @property
    def main(self) -> Measured | None:
        """The primary metric."""
        return self.of(self.primary)


@dataclass(frozen=True, slots=True)
class Ruling:
    """A verdict, the rule that spoke, and its reason in one sentence. `gain` is None where none may be reported."""

    verdict: Verdict
    rule: str
    reason: str
    gain: float | None = None


@dataclass(frozen=True, slots=True)
class Rule:
    """`speaks` gives the reason in words, or an empty text where the rule has nothing to say."""

    name: str
    verdict: Verdict
    when: str
    speaks: Callable[[Evidence], str]


def ruling_of(evidence: Evidence) -> Ruling:
    """What the first rule that speaks says of the evidence."""
    for rule in RULES:
        reason = rule.speaks(evidence)
        if reason:
            withheld = rule.verdict in (Verdict.INVALID, Verdict.CRASH)
            return Ruling(rule.verdict, rule.name, reason, None if withheld or evidence.main is None else evidence.main.gain)
    raise AssertionError("the last rule always speaks")


# In noise that breaks the 2 % rule a loss must be this many bands wide: a few repeats understate such a spread by half now and then.
_CLEAR = 2


def _percent(share: float) -> str:
    return f"{100 * share:+.1f} %" if abs(share) < 10 else f"{share:+.0f} times"


def figures(spread: Spread, unit: str = "") -> str:
    """`91.2 ± 0.3 ms (n 5)`."""
    text = (
        number_text(spread.mean, digits=5)
        + ("" if spread.stddev is None else f" ± {number_text(spread.stddev, digits=2)}")
        + (f" {unit}" if unit else "")
    )
    return text + (f" (n {spread.n})" if spread.n and spread.n > 1 else "")


def _touched(e: Evidence) -> str:
    return (
        f"protected files were changed: {', '.join(e.touched[:5])}; what was measured is not the benchmark" if e.touched else ""
    )


def _strayed(e: Evidence) -> str:
    return f"files outside the allowed paths were changed: {', '.join(e.strayed[:5])}" if e.strayed else ""


def _crashed(e: Evidence) -> str:
    if e.crash:
        return f"the change did not measure: {e.crash}"
    return "" if e.main or e.parent_crash else f"no value of {e.primary or 'the primary metric'} was measured"


def _checks_failed(e: Evidence) -> str:
    return f"the checks did not pass: {e.checks}" if e.checks not in ("", "passed", "skipped") else ""


def _parity_broken(e: Evidence) -> str:
    for bound in e.bounds:
        found = e.of(bound.metric)
        if found is None:
            return f"the bound `{to_text(bound)}` cannot be tested: the run reports no {bound.metric}"
        if not holds(bound, found.change.mean):
            return f"the result is not the same: {bound.metric} is {number_text(found.change.mean, digits=5)}, and `{to_text(bound)}` must hold"
    return ""


def _baseline(e: Evidence) -> str:
    return f"the first measurement: {e.primary} {figures(e.main.change, e.main.unit)}" if not e.has_parent and e.main else ""


def _parent_unmeasured(e: Evidence) -> str:
    if e.parent_crash:
        return f"the parent did not measure: {e.parent_crash}"
    return f"no value of {e.primary} was measured for the parent" if e.main and e.main.parent is None else ""


def _no_direction(e: Evidence) -> str:
    return (
        f"whether lower or higher {e.primary} is better is not said on the target page"
        if e.main and e.main.direction is None
        else ""
    )


def _no_op(e: Evidence) -> str:
    return (
        "the change is a no-op: what was built is the parent's, byte for byte, so any difference is noise"
        if e.firing == "no-op"
        else ""
    )


def _value_of(e: Evidence, metric: str) -> float | None:
    if metric == GAIN and e.main:
        return None if e.main.gain is None else 100 * e.main.gain
    found = e.of(metric)
    return found.change.mean if found else None


def _met(e: Evidence) -> Falsification | None:
    """The first falsification criterion that the measured means meet."""
    return next((c for c in e.falsification if (v := _value_of(e, c.metric)) is not None and holds(c, v)), None)


def _band(e: Evidence, metric: str) -> float | None:
    """Width of noise in the terms of a criterion on `metric`: in percent for the gain."""
    found = e.main if metric == GAIN else e.of(metric)
    if found is None or found.parent is None:
        return None
    band = band_of(found.change, found.parent)
    if band is None:
        return None
    if found is e.main:
        band = max(band, e.least_band)
    return 100 * band / abs(found.parent.mean) if metric == GAIN and found.parent.mean else band


def _is_wide(e: Evidence) -> bool:
    return e.main is not None and (e.main.change.wide or e.main.parent is not None and e.main.parent.wide)


def _falsified_in_doubt(e: Evidence) -> str:
    met = _met(e)
    if not met or not _is_wide(e):
        return ""
    value, band = _value_of(e, met.metric), _band(e, met.metric)
    if value is None or band is None or abs(value - met.threshold) > _CLEAR * band:
        return ""
    return f"`{to_text(met)}` is met by the mean ({number_text(value, digits=5)}), but not clear of the noise of {number_text(band, digits=3)}: {_wide(e)}"


def _falsified(e: Evidence) -> str:
    met = _met(e)
    value = _value_of(e, met.metric) if met else None
    if met is None or value is None:
        return ""
    return f"the falsification criterion `{to_text(met)}` is met: {met.metric} is {number_text(value, digits=5)}{' %' if met.metric == GAIN else ''}"


def _regression(e: Evidence) -> str:
    if e.main is None or e.main.gain is None or e.main.gain > -SMALLEST_GAIN:
        return ""
    band, difference = _band(e, e.primary), e.main.difference
    if band is None or difference is None or difference <= (_CLEAR * band if _is_wide(e) else band):
        return ""
    return f"{e.primary} is worse by {_percent(-e.main.gain)[1:]}, beyond the noise of {number_text(band, digits=3)}"


def _unknown_noise(e: Evidence) -> str:
    if e.main is None or e.main.parent is None or e.main.change.known and e.main.parent.known:
        return ""
    if e.confidence is None:
        return f"noise is unknown: fewer than {LEAST_REPEATS} repeats of each side and too few runs before to compare with; unknown noise cannot support"
    if e.confidence < LEAST_CONFIDENCE:
        return f"the gain is {e.confidence:.1f} times the median deviation of the runs so far; without repeats it must be {LEAST_CONFIDENCE:g} times"
    return ""


def _wide(e: Evidence) -> str:
    for side, spread in (("change", e.main and e.main.change), ("parent", e.main and e.main.parent)):
        if spread and spread.wide and spread.relative is not None:
            unfit = "; over 5 %, measure on another host" if spread.relative > UNFIT else ""
            return f"the {side}'s stddev {number_text(spread.stddev, digits=3)} is {100 * spread.relative:.1f} % of its mean {number_text(spread.mean, digits=5)}; it must be under {100 * WIDE:g} %{unfit}"
    return ""


def _within_noise(e: Evidence) -> str:
    if e.main is None or e.main.difference is None:
        return ""
    band = _band(e, e.primary)
    band = e.least_band if band is None else band
    return (
        f"{e.primary} differs by {number_text(e.main.difference, digits=3)} from the parent, within the noise of {number_text(band, digits=3)}: a tie"
        if e.main.difference <= band
        else ""
    )


def _too_small(e: Evidence) -> str:
    if e.main is None or e.main.gain is None:
        return "there is no gain to judge: the parent's value is 0"
    return (
        f"the gain is {_percent(e.main.gain)}; {100 * SMALLEST_GAIN:g} % or less is no gain"
        if e.main.gain <= SMALLEST_GAIN
        else ""
    )


def _criterion_unmeasured(e: Evidence) -> str:
    lost = [c for c in e.falsification if _value_of(e, c.metric) is None]
    return (
        f"the falsification criterion `{to_text(lost[0])}` cannot be tested: the run reports no {lost[0].metric}" if lost else ""
    )


def _tracked_regression(e: Evidence) -> str:
    for name in e.tracked:
        found = e.of(name)
        if found is None or name == e.primary or found.gain is None or found.gain > -SMALLEST_GAIN:
            continue
        band = _band(e, name)
        if band is None or found.difference is not None and found.difference > band:
            return f"{name}, which is tracked, is worse by {_percent(-found.gain)[1:]}"
    return ""


def _unprofiled(e: Evidence) -> str:
    return "" if e.profiled else "there is no profile to explain the gain"


def _unaudited(e: Evidence) -> str:
    return "" if e.firing else "nothing shows that the mechanism fired: no audit with evidence"


def _not_fired(e: Evidence) -> str:
    return "the audit saw nothing of the mechanism, so the gain is not its doing" if e.firing == "none" else ""


def _supported(e: Evidence) -> str:
    assert e.main and e.main.parent and e.main.gain is not None
    said = [
        f"{e.primary} is {figures(e.main.change, e.main.unit)} against {figures(e.main.parent, e.main.unit)}: {_percent(e.main.gain)}, beyond noise and 1 %"
    ]
    if e.confidence is not None and not (e.main.change.known and e.main.parent.known):
        said.append(f"{e.confidence:.1f} times the median deviation of the runs so far")
    said.append({"passed": "checks passed", "skipped": "checks were skipped", "": "the target has no checks"}[e.checks])
    said.append(f"mechanism {e.firing}")
    return "; ".join(said)


RULES = (
    Rule(
        "protected-file",
        Verdict.INVALID,
        "a protected file differs from the parent's (a baseline's from that of the last valid run, else of the base), in the commit or after the run",
        _touched,
    ),
    Rule("outside-allowed", Verdict.INVALID, "the change edits files outside the target's allowed paths", _strayed),
    Rule("crash", Verdict.CRASH, "the change exits non-zero, hangs, or prints no finite value of the primary metric", _crashed),
    Rule("checks-failed", Verdict.INVALID, "the checks command fails or hangs on the change", _checks_failed),
    Rule("parity-broken", Verdict.INVALID, "a bound of the target page does not hold: the semantics changed", _parity_broken),
    Rule("baseline", Verdict.BASELINE, "the experiment has no parent", _baseline),
    Rule("parent-unmeasured", Verdict.INCONCLUSIVE, "the parent has no value to compare with", _parent_unmeasured),
    Rule("no-op", Verdict.INCONCLUSIVE, "the artifacts' digests equal the parent's although the change is not empty", _no_op),
    Rule(
        "falsified-in-doubt",
        Verdict.INCONCLUSIVE,
        "noise breaks the 2 % rule, and a criterion is met by less than twice that noise",
        _falsified_in_doubt,
    ),
    Rule("falsified", Verdict.REFUTED, "a falsification criterion is met", _falsified),
    Rule("no-direction", Verdict.INCONCLUSIVE, "nobody said whether lower or higher is better", _no_direction),
    Rule(
        "regression",
        Verdict.REFUTED,
        "the primary metric is worse by more than 1 % and more than noise, twice the noise where it breaks the 2 % rule",
        _regression,
    ),
    Rule(
        "noise-unknown",
        Verdict.INCONCLUSIVE,
        "no three repeats of each side, and pi's confidence is under 2 or cannot be had",
        _unknown_noise,
    ),
    Rule("noise-wide", Verdict.INCONCLUSIVE, "the stddev of the repeats is 2 % of their mean or more", _wide),
    Rule("tie", Verdict.INCONCLUSIVE, "the difference is within noise", _within_noise),
    Rule("under-one-percent", Verdict.INCONCLUSIVE, "the gain is 1 % or less", _too_small),
    Rule(
        "criterion-unmeasured",
        Verdict.INCONCLUSIVE,
        "a falsification criterion names a metric that was not measured",
        _criterion_unmeasured,
    ),
    Rule(
        "tracked-regression", Verdict.INCONCLUSIVE, "a tracked metric is worse beyond noise and beyond 1 %", _tracked_regression
    ),
    Rule("no-profile", Verdict.INCONCLUSIVE, "no profile is on file", _unprofiled),
    Rule("no-audit", Verdict.INCONCLUSIVE, "no audit with evidence is on file", _unaudited),
    Rule("not-fired", Verdict.INCONCLUSIVE, "the audit saw nothing of the mechanism", _not_fired),
    Rule("supported", Verdict.SUPPORTED, "none of the rules above speaks", _supported),
)
