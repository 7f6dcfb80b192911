"""A falsification criterion or a bound in words -> metric, comparison, threshold. Refuses what names no metric or no number, with an example."""

import operator
import re
from collections.abc import Sequence

from kb import KbError
from kb.run.direction import spoken, unit_in, words_of
from kb.run.quantity import to_float
from kb.run.record import Falsification
from kb.text.units import unit_of

# The metric that every pair of runs has: relative gain over the parent in percent, positive when better.
GAIN = "gain"
EXAMPLE = "such as `time_ms >= 95`, `throughput_tps at or below 57757`, or `gain < 2%` (gain over the parent)"

# The signs as people write them; what is longer stands first.
_SIGNS = {
    "<=": r"=<|≤|at\s+or\s+(?:below|under)|at\s+most|no\s+(?:more|higher|greater|larger|better)\s+than",
    ">=": r"=>|≥|at\s+or\s+(?:above|over)|at\s+least|no\s+(?:less|lower|smaller|fewer)\s+than",
    "==": r"equals?|equal\s+to|exactly",
    "<": r"below|under|(?:less|lower|smaller|fewer)\s+than",
    ">": r"above|over|exceeds|(?:more|higher|greater|larger)\s+than",
}
# One comparison from the beginning of a clause. Words that are not here, such as `not` or `must`, turn it into something else: it is none then.
_CLAUSE = re.compile(
    r"\W*(?:(?:falsified|refuted|rejected|wrong)\s+)?(?:(?:if|when)\s+)?(?:(?:the|its)\s+)?"
    r"(?P<metric>`[^`\n]{1,60}`|[A-Za-zµ_][\w.µ/%@-]*)\s+(?:(?:is|are|stays?|remains?|falls?|drops?|rises?)\s+)?"
    r"(?P<how><=|>=|==|<|>)\s*(?P<value>[+\-−]?(?:\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?|\.\d+)(?:[eE][+\-]?\d+)?)"
    r"\s*(?P<unit>%|[x×](?![A-Za-z])|(?!(?:and|of)\b)[A-Za-zµ]*)(?P<rest>.*)",
    re.IGNORECASE | re.DOTALL,
)
_NO_GAIN = re.compile(r"\bno\s+(?:gain|improvement|speed-?up)\b", re.IGNORECASE)
_GAINS = {"gain", "gains", "speedup", "speed-up", "improvement", "win"}
_LOSSES = {"regression", "slowdown"}
_NO_METRIC = {"it", "this", "that", "result", "results", "run", "change", "value", "number", "mean"}
_NO_METRIC |= {"average", "median", "any", "either", "all"}


def criteria_of(text: str, *, metrics: Sequence[str] = ()) -> tuple[Falsification, ...]:
    """Every comparison that a text states, to be read as "any of these". `metrics` are names that the target is known to report.

    Raises KbError where there is none, or where two are joined by "and".
    """
    plain = re.sub(r"[<>]=|=[<>=]|[<>]", r" \g<0> ", text)
    for sign, words in _SIGNS.items():
        plain = re.sub(rf"(?<![\w-])(?:{words})(?![\w-])", f" {sign} ", plain, flags=re.IGNORECASE)
    clauses = map(_CLAUSE.match, re.split(r"\bor\b|[;,(]\s*(?!\d)|\.\s", plain))
    read = (_criterion(match, metrics) for match in clauses if match)
    criteria = tuple(dict.fromkeys(criterion for criterion in read if criterion))
    if not criteria and _NO_GAIN.search(text):
        return (Falsification(GAIN, "<=", 0.0),)
    if not criteria:
        shown = f"'{text.strip()[:120]}'" if text.strip() else "is missing: it"
        raise KbError(
            f"falsification criterion {shown} states no metric, comparison and threshold; write one {EXAMPLE}"
        )
    return criteria


def _criterion(match: re.Match[str], metrics: Sequence[str]) -> Falsification | None:
    value, unit, rest = to_float(match["value"]), match["unit"], match["rest"].split()
    name, how = match["metric"].strip("`").rstrip(".:,"), match["how"]
    if "and" in rest and {*"<>="} & {*match["rest"]}:
        raise KbError(
            f"falsification criterion '{match[0].strip()[:120]}' joins comparisons with 'and'; state one, or several joined with 'or'"
        )
    # A share of the parent's value is a gain or a loss only once the direction is known: `gain` says it plainly.
    if value is None or name.lower() in _NO_METRIC or rest[:1] in (["of"], ["×"], ["*"]):
        return None
    meant = _meant(name, unit, metrics)
    if meant:
        return Falsification(meant, how, value * (_factor(unit, meant) or 1.0))
    if name.lower() in _GAINS:
        percent = round((value - 1) * 100, 9) if unit.lower() in ("x", "×") else value
        return Falsification(GAIN, how, percent)
    if name.lower() in _LOSSES:
        return Falsification(GAIN, how.translate(_TURNED), -value)
    return Falsification(name, how, value)


_TURNED = str.maketrans("<>", "><")


def _meant(name: str, unit: str, metrics: Sequence[str]) -> str:
    """The metric that a criterion names: by its whole name whatever the unit, without its unit where the threshold's is of that kind."""
    known = [m for m in metrics if words_of(name) in spoken(m)]
    whole = (m for m in known if words_of(m) == words_of(name))
    return next(whole, "") or next((m for m in known if _factor(unit, m)), "")


def _factor(unit: str, metric: str) -> float:
    """By how much a threshold stated in a unit is multiplied to be in that of the metric's name: 0.09 s of `time_ms` are 90.

    0 where they measure different things, as 2 % and 500 MB do; 5 tok of `decode_tps` are left as they are.
    """
    one, other = unit_of(unit), unit_in(metric)
    if one and other and one.dimension != other.dimension:
        return float(one.dimension.partition("/")[0] == other.dimension.partition("/")[0])
    return one.factor / other.factor if one and other else 1.0


_HOLDS = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "==": operator.eq
}  # fmt: skip


def holds(criterion: Falsification, value: float) -> bool:
    """Whether the comparison is true of a value."""
    return _HOLDS[criterion.comparison](value, criterion.threshold)


def to_text(criterion: Falsification) -> str:
    """`time_ms >= 95`, which `criteria_of` reads again."""
    return f"{criterion.metric} {criterion.comparison} {criterion.threshold:.12g}{'%' if criterion.metric == GAIN else ''}"
