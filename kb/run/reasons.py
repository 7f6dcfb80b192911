"""Why a rule speaks, in one sentence each; an empty text where it has nothing to say. Every comparison is made with a whole interval."""

import math

from kb.run.criterion import GAIN, holds, to_text
from kb.run.evidence import Evidence, Measured
from kb.run.interval import Interval
from kb.run.noise import LEAST_REPEATS, Spread
from kb.run.quantity import number_text
from kb.run.record import Falsification
from kb.schema import UNMEASURED
from kb.text import cut, numbers_in


def percent(share: float) -> str:
    """`+2.5 %`, with as many digits as a small one needs, or one that leaves little of a cost; `+43 times` where percent would mislead."""
    if abs(share) >= 10:
        return f"{share:+.0f} times"
    digits = -1 - math.floor(math.log10(1 - share)) if 0.9 < share < 1 else 1
    return f"{100 * share:+.3g} %" if abs(share) < 0.01 else f"{100 * share:+.{max(1, digits)}f} %"


def share_in(text: str) -> float | None:
    """The share that the first number of a text as `percent` writes it is; None where there is none."""
    number = next(numbers_in(text), None)
    return number and number.value / (1 if text[number.end :].startswith(" times") else 100)


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
        number_text(spread.middle, digits=5)
        + ("" if spread.stddev is None else f" ± {number_text(spread.stddev, digits=2)}")
        + (f" {unit}" if unit else "")
    )
    return text + (f" (n {spread.n})" if spread.n and spread.n > 1 else "")


def _compared(e: Evidence) -> str:
    """The sentence that every verdict on the gain begins with."""
    assert e.main and e.main.parent and e.main.interval
    sides = f"{figures(e.main.change, e.main.unit)} against {figures(e.main.parent, e.main.unit)}"
    return f"{e.primary} is {sides}: {percent(e.main.interval.middle)}, {span_of(e.main.interval)}"


def compared_in(text: str) -> tuple[str, float, float] | None:
    """Metric, its value and the gain of a sentence that `_compared` begins; None of any other."""
    metric, _, change = text.partition(" against ")[0].rpartition(": ")[2].partition(" is ")
    value = next(numbers_in(change), None)
    gain = share_in(text.partition(" against ")[2].partition(": ")[2])
    return (metric, value.value, gain) if value and gain is not None else None


def touched(e: Evidence) -> str:
    return (
        f"protected files were changed: {', '.join(e.touched[:5])}; what was measured is not the benchmark"
        if e.touched
        else ""
    )


def strayed(e: Evidence) -> str:
    return (
        f"files outside the allowed paths were changed: {', '.join(e.strayed[:5])}"
        if e.strayed
        else ""
    )


def forged(e: Evidence) -> str:
    return (
        f"{'; '.join(e.forged[:3])}: what was printed is not the benchmark's alone"
        if e.forged
        else ""
    )


def crashed(e: Evidence) -> str:
    if e.crash:
        then = "; mend it, or what the target page says of it, and measure with `run --again`"
        return (
            f"{UNMEASURED}{e.crash}"
            if e.has_parent
            else f"the benchmark did not measure: {e.crash}{then}"
        )
    return (
        ""
        if e.main or e.parent_crash or e.firing == "no-op"
        else f"no value of {e.primary or 'the primary metric'} was measured"
    )


def checks_failed(e: Evidence) -> str:
    return (
        f"the checks did not pass: {e.checks}" if e.checks not in ("", "passed", "skipped") else ""
    )


def parity_broken(e: Evidence) -> str:
    for bound in e.bounds if e.main else ():
        reading = e.of(bound.metric)
        if reading is None:
            return (
                f"the bound `{to_text(bound)}` cannot be tested: the run reports no {bound.metric}"
            )
        if not holds(bound, reading.change.middle):
            value = number_text(reading.change.middle, digits=5)
            return f"the result is not the same: {bound.metric} is {value}, and `{to_text(bound)}` must hold"
    return ""


def baseline(e: Evidence) -> str:
    return (
        f"the first measurement: {e.primary} {figures(e.main.change, e.main.unit)}"
        if not e.has_parent and e.main
        else ""
    )


def no_op(e: Evidence) -> str:
    return (
        "the change is a no-op: what was built is the parent's, byte for byte"
        if e.firing == "no-op"
        else ""
    )


def parent_unmeasured(e: Evidence) -> str:
    if e.parent_crash:
        return f"the parent did not measure: {e.parent_crash}"
    return (
        f"no value of {e.primary} was measured for the parent"
        if e.main and e.main.parent is None
        else ""
    )


def no_direction(e: Evidence) -> str:
    unsaid = e.main and e.main.direction is None
    return (
        f"whether lower or higher {e.primary} is better is not said on the target page"
        if unsaid
        else ""
    )


def noise_unknown(e: Evidence) -> str:
    if e.main is None or e.main.interval:
        return ""
    if e.main.parent and not e.main.parent.middle:
        return "the parent's value is 0, over which there is no relative gain; a criterion on the metric itself would decide"
    return f"without {LEAST_REPEATS} repeats of each side nobody knows the noise: {figures(e.main.change, e.main.unit)}"


def noise_wide(e: Evidence) -> str:
    for side, spread in (
        (("the change", e.main.change), ("the parent", e.main.parent))
        if e.main and e.noise_limit
        else ()
    ):
        relative = spread.relative if spread else None
        if relative is not None and relative >= e.noise_limit:
            return f"the repeats of {side} vary by {100 * relative:.3g} %, and the target's noise_limit is {100 * e.noise_limit:.3g} %"
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


def _reading_text(e: Evidence, criterion: Falsification) -> str:
    reading = e.interval(criterion.metric)
    assert reading
    sign = " %" if criterion.metric == GAIN else ""
    how = "somewhere from" if reading.how == "coarse" else "95 % interval"
    span = f", {how} {number_text(reading.low, digits=4)} to {number_text(reading.high, digits=4)}{sign}"
    ends = "" if reading.how == "equal" else span
    return f"{criterion.metric} is {number_text(reading.middle, digits=5)}{sign}{ends}"


def falsified(e: Evidence) -> str:
    met = next((c for c in e.falsification if _reading(e, c)), None)
    return (
        f"the falsification criterion `{to_text(met)}` is met: {_reading_text(e, met)}"
        if met
        else ""
    )


def criterion_open(e: Evidence) -> str:
    for criterion in e.falsification:
        if _reading(e, criterion) is None and e.interval(criterion.metric):
            return f"whether `{to_text(criterion)}` is met is open: {_reading_text(e, criterion)}"
    return ""


def regression(e: Evidence) -> str:
    reading = e.main.interval if e.main else None
    if not e.main or not reading or reading.high >= 0 or reading.low >= -e.main.least:
        return ""
    return f"{_compared(e)}: worse"


def tie(e: Evidence) -> str:
    reading = e.main.interval if e.main else None
    if not e.main or not reading or not reading.within(-e.main.least, e.main.least):
        return ""
    return f"a tie: {_compared(e)}, within ± the least effect of {percent(e.main.least)[1:]}"


def straddles(e: Evidence) -> str:
    if not e.main or not e.main.interval or e.main.interval.low > e.main.least:
        return ""
    return f"{_compared(e)}, which leaves open whether it is beyond the least effect of {percent(e.main.least)[1:]}"


def criterion_unmeasured(e: Evidence) -> str:
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


def _guards(e: Evidence) -> list[tuple[str, Measured | None]]:
    return [(name, e.of(name)) for name in e.tracked if name != e.primary]


def tracked_regression(e: Evidence) -> str:
    for name, reading in _guards(e):
        if reading and reading.interval and reading.interval.high < -reading.least:
            return f"{name}, which is tracked, is worse: {percent(reading.interval.middle)}, {span_of(reading.interval)}"
    return ""


def _unsettled(e: Evidence) -> str:
    """Of what is tracked, all that a win may still have made worse."""
    shown = []
    for name, reading in _guards(e):
        if not reading or not reading.interval:
            shown.append(f"{name} was not measured")
        elif reading.interval.low < -reading.least:
            shown.append(f"{name} may be worse ({span_of(reading.interval)})")
    return f"; of what is tracked, {', '.join(shown)}" if shown else ""


def not_fired(e: Evidence) -> str:
    halves = {
        "partial": "the audit saw only part of what the mechanism predicts, so the gain may be something else's doing",
        "none": "the audit saw nothing of the mechanism, so the gain is not its doing",
    }
    return f"{halves[e.firing]}: {cut(e.unseen, 200)}".rstrip(": ") if e.firing in halves else ""


def unaudited(e: Evidence) -> str:
    return (
        ""
        if e.firing
        else "nothing shows that the mechanism fired: the page does not say what an audit should look for"
    )


def supported(e: Evidence) -> str:
    assert e.main
    checks = {
        "passed": "checks passed",
        "skipped": "checks were skipped",
        "": "the target has no checks",
    }[e.checks]
    mechanism = (
        f"mechanism not tested, for nothing was predicted but {e.primary} itself"
        if e.firing == "not tested"
        else f"mechanism {e.firing}"
    )
    return f"{_compared(e)}, beyond the least effect of {percent(e.main.least)[1:]}; {checks}; {mechanism}{_unsettled(e)}"
