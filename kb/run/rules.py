"""The verdict rules, readable from top to bottom: the first rule that speaks decides. Refuses to report a gain for an invalid or crashed run.

`RULES` is the documentation: a name, the verdict it gives, when it speaks, and the function that says why. `ruling_of` asks them in order.
Every comparison is made with a whole interval; where one straddles, `ruling_of` says how many more samples would decide.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from statistics import NormalDist

from kb.run import reasons
from kb.run.evidence import Evidence
from kb.run.interval import level_of
from kb.run.noise import LEAST_REPEATS
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
    """`speaks` gives the reason in words, or an empty text where the rule has nothing to say. `open`: more samples may turn it;
    `settles`: what else is missing where it leaves a run undecided, and what would settle it."""

    name: str
    verdict: Verdict
    when: str
    speaks: Callable[[Evidence], str]
    open: bool = False
    settles: str = ""


def ruling_of(evidence: Evidence) -> Ruling:
    """What the first rule that speaks says of the evidence."""
    rule, reason = _first(evidence)
    withheld = rule.verdict in (Verdict.INVALID, Verdict.CRASH)
    gain = None if withheld or evidence.main is None else evidence.main.gain
    return Ruling(rule.verdict, rule.name, reason, gain, _more(evidence) if rule.open else None)


def _first(evidence: Evidence) -> tuple[VerdictRule, str]:
    # The last rule always speaks.
    return next((r, reason) for r in RULES if (reason := r.speaks(evidence)))


# Growing by a quarter is as fine as an estimate from a few samples deserves; the estimate may have moved by sixteenfold.
_GROWTH, _STEPS = 1.25, 13
# So likely an effect of twice the least shall be seen with the samples that are asked for: four in five are promised, and the spread
# that it is reckoned from is an estimate itself.
_POWER = 0.9
# An interval of a tenth of what matters that still straddles says that the gain lies on the line: nothing that matters is open.
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


RULES = (
    VerdictRule(
        "protected-file",
        Verdict.INVALID,
        "a protected file differs from the parent's (a baseline's from the base's), in the commit or "
        "at any turn of the run, or the parent's tree was written to",
        reasons.touched,
    ),
    VerdictRule(
        "outside-allowed",
        Verdict.INVALID,
        "the change edits files outside the target's allowed paths",
        reasons.strayed,
    ),
    VerdictRule(
        "forged-metric",
        Verdict.INVALID,
        "a METRIC line is printed more often by the change than by the parent, stands more often in what it built, or a line that the change adds names METRIC",
        reasons.forged,
    ),
    VerdictRule(
        "checks-failed",
        Verdict.INVALID,
        "the checks command fails or hangs on the change",
        reasons.checks_failed,
    ),
    VerdictRule(
        "crash",
        Verdict.CRASH,
        "the change exits non-zero, hangs, prints no finite value of the primary metric, or falls over in its checks",
        reasons.crashed,
    ),
    VerdictRule(
        "parity-broken",
        Verdict.INVALID,
        "a bound of the target page does not hold: the semantics changed",
        reasons.parity_broken,
    ),
    VerdictRule("baseline", Verdict.BASELINE, "the experiment has no parent", reasons.baseline),
    VerdictRule(
        "no-op",
        Verdict.INCONCLUSIVE,
        "the artifacts' digests equal the parent's although the change is not empty",
        reasons.no_op,
    ),
    VerdictRule(
        "parent-unmeasured",
        Verdict.INCONCLUSIVE,
        "the parent has no value to compare with",
        reasons.parent_unmeasured,
        settles="its parent was not measured: measure both anew, in a new experiment",
    ),
    VerdictRule(
        "no-direction",
        Verdict.INCONCLUSIVE,
        "nobody said whether lower or higher is better",
        reasons.no_direction,
        settles="nobody said which way is better: `direction:` of the target's metric does",
    ),
    VerdictRule(
        "noise-wide",
        Verdict.INCONCLUSIVE,
        "the repeats spread by the target's `noise_limit` or more, where it states one",
        reasons.noise_wide,
        settles="its repeats vary by more than `noise_limit` of the target: a quieter machine, or more work a run",
    ),
    VerdictRule(
        "falsified",
        Verdict.REFUTED,
        "a falsification criterion is met by the whole interval",
        reasons.falsified,
    ),
    VerdictRule(
        "noise-unknown",
        Verdict.INCONCLUSIVE,
        "there is no interval: no three repeats of each side, no stated stddev",
        reasons.noise_unknown,
        open=True,
        settles="fewer than three runs of each side: `kb experiment run PAGE --more 5`",
    ),
    VerdictRule(
        "regression",
        Verdict.REFUTED,
        "the whole interval of the gain is on the wrong side, and no tie",
        reasons.regression,
    ),
    VerdictRule(
        "tie",
        Verdict.INCONCLUSIVE,
        "the whole interval lies within ± the least effect: decided",
        reasons.tie,
    ),
    VerdictRule(
        "criterion-open",
        Verdict.INCONCLUSIVE,
        "the interval straddles a falsification criterion",
        reasons.criterion_open,
        open=True,
        settles="its criterion lies within the noise: finer readings, or more work a run",
    ),
    VerdictRule(
        "undecided",
        Verdict.INCONCLUSIVE,
        "the interval straddles the least effect",
        reasons.straddles,
        open=True,
        settles="its gain lies on the least effect: finer readings, or more work a run",
    ),
    VerdictRule(
        "criterion-unmeasured",
        Verdict.INCONCLUSIVE,
        "a falsification criterion names a metric that was not measured",
        reasons.criterion_unmeasured,
        settles="its criterion's metric was not printed: let the benchmark print it, in a new experiment",
    ),
    VerdictRule(
        "tracked-regression",
        Verdict.INCONCLUSIVE,
        "a tracked metric is worse by its whole interval, beyond its least effect",
        reasons.tracked_regression,
        settles="a gain, and a tracked metric is worse: a change that spares it",
    ),
    VerdictRule(
        "not-fired",
        Verdict.INCONCLUSIVE,
        "the audit saw nothing of the mechanism, or only a part of it",
        reasons.not_fired,
        settles="a gain, and its mechanism was not seen: `kb experiment close PAGE --expect PATTERN` with what shows it",
    ),
    VerdictRule(
        "no-audit",
        Verdict.INCONCLUSIVE,
        "nothing says what an audit should look for; `close` asks instead of sealing this",
        reasons.unaudited,
        settles="a gain, and nothing said how its mechanism shows: `kb experiment close PAGE --expect PATTERN`",
    ),
    VerdictRule(
        "supported",
        Verdict.SUPPORTED,
        "the whole interval is beyond the least effect, and none of the rules above speaks",
        reasons.supported,
    ),
)

# Names of those that more samples may turn.
OPEN_RULES = tuple(rule.name for rule in RULES if rule.open)
