"""Clauses of running text: the status and the figures that one says, and the part of a run that a label names. Refuses whole sentences."""

import re
from collections.abc import Sequence

from kb.formats.measuring import quantity_of, with_points
from kb.run.direction import word_set
from kb.run.record import Outcome
from kb.run.status import is_status, outcome_of
from kb.schema import FIELD_NAMES
from kb.text.numbers import numbers_in

# Parts of running text: what stands between marks, dashes and brackets.
CLAUSES = re.compile(
    r"(?<=[.;!?])\s+|(?<=[。；])|,\s+|\s+(?:—|–|--?)\s+|\s*(?:->|=>|→)\s*(?=[^\W\d])|[()]|，"
)
# What the parts of an entry are called, as a line `Insight: …` or as a heading below the run's.
_FIELDS = {
    "hypothesis": "hypothesis, goal",
    "change": "change, changes, what changed, what ran, what, implementation, approach, config",
    "mechanism": "mechanism, rationale, idea, motivation, why",
    "result": "result, results, outcome, measured, impact",
    "reason": "insight, reading, why it failed, analysis, learnings, lesson, lessons, learned, notes, note, "
    "conclusion, takeaway, root cause analysis, key insight, notes for next iteration, verdict, decision, status",
    "next": "next, next step, next steps, follow up",
    "when": "timestamp, date, time",
}
# `cycles now 1529`, `loss from 2.1`: what joins a figure to its name.
_LINKS = re.compile(r"(?: (?:from|now|still|remains?|unchanged|at))+$")
_NAMED = {name: key for key, names in _FIELDS.items() for name in names.split(", ")}
# Forms that tell a run what to do rather than what was done with it: believed where they stand alone.
_ORDERS = word_set(
    "keep accept adopt merge promote retain ship land win discard revert reject kill drop abandon undo fail close crash"
)
# Enough of a part to say what was learned; the journal itself holds the rest.
LONGEST = 1500
DECIDED = (Outcome.KEPT, Outcome.DISCARDED)


def status_in(text: str) -> str:
    """The status word that a part of a heading begins with; empty where it is other text."""
    begun = re.match(
        r"\W*([^\W\d_][\w-]*)\s*(?=[,;:!?*★⭐✅❌✓✗().\]/\d]|first\b|$)|\W*([A-Z][A-Z_-]{2,})\b",
        text,
    )
    word = (begun[1] or begun[2]) if begun else ""
    if is_status(word):
        return word
    failed = len(text.split()) == 2 and outcome_of(text) is Outcome.CHECKS_FAILED
    return text.strip() if failed else ""


def closing(texts: Sequence[str]) -> str:
    """The clause of the last sentence that says what was done: `Kept.`, `reverting this one`, `abgestürzt`."""
    for text in reversed(texts):
        sentences = re.split(r"(?<=[.!?。])\s+", text[:LONGEST])
        for sentence in reversed(sentences):
            clauses = [c.strip(" *_`.!?;\"'") for c in CLAUSES.split(sentence)]
            # `linker crashed`
            ends = [c.split()[-1] for c in clauses if 1 < len(c.split()) < 4 and not _decides(c)]
            ends = [
                w for w in ends if outcome_of(w) is Outcome.CRASHED and not sentence[0].isdigit()
            ]
            if decided := [*filter(_decides, clauses)] or ends:
                return decided[-1]
    return ""


def _decides(clause: str) -> bool:
    """Whether a clause says what was done, in few words: an order (`drop the cast`) is a title where more follows."""
    words = clause.lower().split()
    if (
        not words
        or len(words) > 5
        or any(map(str.isdigit, clause))
        or words[0] in _ORDERS
        and len(words) > 2
    ):
        return False
    return outcome_of(clause) is not Outcome.OTHER


def spoken_in(text: str) -> list[tuple[str, str, str]]:
    """Figures of running text as name, value and unit: `Val loss 2.871`, `9.31 → 8.70 ms`, `from 1.1 to 1.3 GB/s`. A name may be empty."""
    metrics = []
    # `61.2 -> 74.9` is no range.
    text = text[:LONGEST].replace("->", "→").replace("=>", "→")
    for clause in CLAUSES.split(with_points(text)):
        numbers = [n for n in numbers_in(clause[:200]) if not (n.about or n.bound or n.high)]
        if not numbers:
            # `9m40s`: times of several parts.
            value = clause.strip(" .")
            metrics += [("", value, q.unit)] if (q := quantity_of(value)) else []
            continue
        first, *rest = numbers
        last = first
        for number in rest:
            between = clause[last.end : number.start].strip(" *")
            if between not in ("→", "to", "auf", "à", "a"):
                break
            last = number
        name = clause[: first.start].strip(" :=*`-+")
        # `this raised quality_mrr to 81.3`: a name of one word with a sign in it is the metric's own.
        own = name.removesuffix(" to").rpartition(" ")[2].strip("`")
        name = own if "_" in own else name
        name = _LINKS.sub("", name)
        named = len(name.split()) <= 3 and not any(c in name for c in "<>[]")
        # `930 kops/s`: a rate of one's own.
        unit = last.unit or next((w for w in clause[last.end :].split()[:1] if "/s" in w), "")
        if named or unit:
            value = clause[last.start : last.end].strip()
            metrics.append((name if named else "", value, unit))
    return metrics


def part_of(label: str) -> str:
    """The part of a run that a label names in any language: `Insight`, `Ergebnis`."""
    label = label.partition(":")[0].strip(" *").lower()
    return _NAMED.get(FIELD_NAMES.get(label, label), "")
