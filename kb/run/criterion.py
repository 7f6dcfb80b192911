"""A falsification criterion or a bound in words -> metric, comparison, threshold. Refuses what names no metric or no number, with an example."""

import operator
import re
from collections.abc import Sequence
from itertools import pairwise

from kb import KbError
from kb.run.direction import spoken, unit_in, words_of
from kb.run.quantity import to_float
from kb.run.record import Falsification
from kb.text.units import unit_of

# The metric that every pair of runs has: relative gain over the parent in percent, positive when better.
GAIN = "gain"
EXAMPLE = "such as `time_ms >= 95`, `throughput_tps at or below 57757`, or `gain < 2%` (gain over the parent)"

_COMPARISONS = (
    (
        r"(?:does|do|did|is|are|will|can)\s?n[o']t\s+(?:reach|exceed\s+or\s+equal)|fails?\s+to\s+reach|falls?\s+short\s+of",
        "<",
    ),
    (
        r"(?:does|do|did|will|can)\s?n[o']t\s+(?:exceed|(?:rise|climb|go|get|improve|increase)\s+(?:above|over|beyond))|fails?\s+to\s+exceed|not\s+(?:above|over)",
        "<=",
    ),
    (
        r"(?:does|do|did|will|can)\s?n[o']t\s+(?:drop|fall|go|get|come|improve|decrease)\s+(?:below|under|to\s+below)|not\s+(?:below|under)",
        ">=",
    ),
    (
        r"<=|=<|≤|(?:at|equal\s+to)\s+or\s+(?:below|under|less\s+than)|(?:no|not)\s+(?:more|higher|greater|larger|better)\s+than|at\s+most|at/below",
        "<=",
    ),
    (
        r">=|=>|≥|(?:at|equal\s+to)\s+or\s+(?:above|over|more\s+than|higher\s+than)|(?:no|not)\s+(?:less|lower|smaller|fewer)\s+than|at\s+least|at/above",
        ">=",
    ),
    (r"==|=|equals?|equal\s+to|exactly", "=="),
    (r"<|below|under|less\s+than|lower\s+than|smaller\s+than|fewer\s+than", "<"),
    (r">|above|over|more\s+than|higher\s+than|greater\s+than|larger\s+than|exceed(?:s|ing)?", ">"),
)
_FILLER = (
    r"(?P<filler>(?:\s+(?:is|are|was|be|being|stays?|remains?|falls?|drops?|rises?|goes|gets|comes?|ends?(?:\s+up)?|improves?|improved|increases?|decreases?|"
    r"regress(?:es)?|changes?|by|to|out|still|only|mean|average|median|value|of))*)"
)
_WORDY = re.compile(
    r"(?P<metric>`[^`\n]{1,60}`|[A-Za-zµ_][\w.µ/%@-]*)"
    + _FILLER
    + r"\s*(?P<how>"
    + "|".join(pattern for pattern, _ in _COMPARISONS)
    + r")\s*(?P<value>[+\-−]?(?:\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?|\.\d+)(?:[eE][+\-]?\d+)?)\s*(?P<unit>%|[x×](?![A-Za-z])|(?!(?:and|or)\b)[A-Za-zµ]*)",
    re.IGNORECASE,
)
_GAINS = {"gain", "gains", "speedup", "speed-up", "improvement", "improvements", "win"}
_LOSSES = {"loss%", "regression", "regressions", "slowdown", "regresses"}
_NO_GAIN = re.compile(
    r"\b(?:no|without|zero)\s+(?:\w+\s+)?(?:gain|speed-?up|improvement|win)\b|\bnot?\s+faster\b|\b(?:slower|worse)\s+than\s+(?:the\s+)?(?:parent|base(?:line)?)\b",
    re.IGNORECASE,
)
# Words before a comparison that name no metric. What must or should hold is what would make it right: such a criterion is refused.
_NO_METRIC = re.compile(
    r"(?:a|an|the|it|this|that|these|if|when|unless|is|are|was|be|by|of|or|and|not|no|than|falsified|refuted|rejected|wrong|results?|runs?|"
    r"change|value|number|mean|average|median|measured|any|either|all|more|less|least|most|must|should|shall|needs?|has|have|to)",
    re.IGNORECASE,
)


def criteria_of(text: str, *, metrics: Sequence[str] = ()) -> tuple[Falsification, ...]:
    """Every comparison that a text states, to be read as "any of these". `metrics` are names that the target is known to report.

    Raises KbError where there is none, or where two are joined by "and".
    """
    read = ((_criterion(match, metrics), match) for match in _WORDY.finditer(text))
    stated = [(criterion, match) for criterion, match in read if criterion]
    criteria = [criterion for criterion, _ in stated]
    for (_, one), (_, other) in pairwise(stated):
        between = text[one.end() : other.start()]
        if re.fullmatch(r"[^.;]*\band\b[^.;]*", between, re.IGNORECASE):
            raise KbError(
                f"falsification criterion '{text.strip()[:120]}' joins comparisons with 'and'; state one, or several joined with 'or'"
            )
    # "No gain beyond noise, where a spread under 2 % counts": what follows explains, the gain is what is meant.
    if _NO_GAIN.search(text) and not any(c.metric == GAIN or c.metric in metrics for c in criteria):
        criteria = [Falsification(GAIN, "<=", 0.0)]
    if not criteria:
        shown = f"'{text.strip()[:120]}'" if text.strip() else "is missing: it"
        raise KbError(
            f"falsification criterion {shown} states no metric, comparison and threshold; write one {EXAMPLE}"
        )
    return tuple(dict.fromkeys(criteria))


def _criterion(match: re.Match[str], metrics: Sequence[str]) -> Falsification | None:
    value = to_float(match["value"])
    name = match["metric"].strip("`").rstrip(".:,")
    if value is None or not name:
        return None
    how = next(
        sign for pattern, sign in _COMPARISONS if re.fullmatch(pattern, match["how"], re.IGNORECASE)
    )
    if re.match(
        r"\s*(?:of|×|x|\*)\s+(?:the\s+)?(?:parent|base)", match.string[match.end() :], re.IGNORECASE
    ):
        return None  # A share of the parent's value is a gain or a loss only once the direction is known: `gain` says it plainly.
    if (
        re.search(r"\bby\b", match["filler"], re.IGNORECASE)
        and name.lower() not in _GAINS | _LOSSES
    ):
        return _turned(match, how, value)
    meant = _meant(name, match["unit"], metrics)
    if meant:
        return Falsification(meant, how, value * (_factor(match["unit"], meant) or 1.0))
    factor = match["unit"].lower() in ("x", "×")
    if name.lower() in _GAINS:
        return Falsification(GAIN, how, round((value - 1) * 100, 9) if factor else value)
    if name.lower() in _LOSSES:
        return Falsification(GAIN, _TURNED[how], -value)
    if _NO_METRIC.fullmatch(name) or not re.search(r"[A-Za-z]", name):
        return None
    return Falsification(name, how, value)


def _turned(match: re.Match[str], how: str, value: float) -> Falsification | None:
    """Of `improves by less than 2 %` the gain that is meant; a metric that moves by so much of its unit says none."""
    turned = re.search(r"\b(improve|regress)", match["filler"], re.IGNORECASE)
    if not turned or match["unit"] != "%":
        return None
    if turned[1].lower() == "improve":
        return Falsification(GAIN, how, value)
    return Falsification(GAIN, _TURNED[how], -value)


_TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "=="}


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
