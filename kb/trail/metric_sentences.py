"""Measures that a run of text states of its own run. Refuses ranges, changes, and figures of what it compares with."""

import re
from collections.abc import Iterable

from kb import regex
from kb.run.direction import word_set
from kb.run.record import Metric
from kb.text import STOP, Number, numbers_in, one_line
from kb.trail.metric_names import HOW, RunLabel, calls, fits, is_quantity, names_itself

# A longer line is data, not a sentence; what a figure is about stands close before it.
_LONGEST, _NEAR = 4000, 120
_ARROWS = ("→", "->")
# What gives the figure behind it to something else, and what gives the one before it, or makes it a difference.
_FOREIGN = regex(
    r"(?<!\w)(?:vs|versus|than|from|above|below|over|against|exceed\w*|beats?|baseline|frontier|expected|predicted|target|toward|goal|best|"
    r"parent|reference|prior|previous(?:ly)?|match\w*|before|relative to|compared to|(?<=it )was|(?<=\()was)\W*(?:(?:the|of|a|at|best)\W+)?$",
    re.IGNORECASE,
)
_ANOTHER = regex(
    r"\s*\(?(?:before|previously|earlier|originally|(?:(?:at|for|in|on|as|the) )*(?:baseline|parent|reference|master|main|upstream))\b"
    r"(?!\s*[:=]?\s*\d)"
)
_CHANGE = regex(
    r"\s+(?:(?!(?:is|was|are|and|at|of|which|but)\b)[\w/%\-]+\s+)?(?:improve\w*|gains?|gap|difference|reduction|regression|increase|decrease|"
    r"drop|faster|slower|better|worse|higher|lower|more|less|fewer|saved|savings?)\b",
    re.IGNORECASE,
)
_CLAUSE = regex(r"[.;,]\s")
# What may stand between a name and its figure.
_LINKS = HOW | word_set(
    "is was are of at reaches hit hits about around near stays remains falls fell drops rises rose jumps climbs "
    "lands averages went goes moves moved improves becomes collapses down up to only just so now and"
)
# What ends a name without being what is measured.
_RATES = ("rate", "ratio", "usage", "used")
_BEHIND = regex(
    r"\s(?:(?:reported|overall|mean|nominal) )?([A-Za-z][\w-]*(?: (?:time|rate|ratio)\b)?)"
)


def sentence_metrics(text: str, run: RunLabel) -> Iterable[Metric]:
    """Measures in a run of text: a rate names itself, any other figure needs the name of what it measures."""
    last: Number | None = None
    for figure in numbers_in(text[:_LONGEST]):
        between = text[last.end : figure.start].strip() if last else ""
        came = between in ("to", *_ARROWS)
        share = between == "of" or between == "/" and last.unit == figure.unit
        start = last.start if came else figure.start
        last = figure
        if share or _is_change(figure, text, came=came):
            continue
        before = text[max(0, start - _NEAR) : start].rstrip()
        before = before.removesuffix("from").rstrip(" (") if came else before
        after = text[figure.end : figure.end + _NEAR]
        name = _name_of(figure, before, after, text, came=came)
        # What stands before the name may give the figure to something else as well: "goal: latency 5 ms".
        parts = before, before[: max(0, before.rfind(name))]
        if name and not any(_is_foreign(p, run) for p in parts) and not _is_anothers(after, run):
            yield Metric(one_line(name), figure.value, figure.unit, stddev=figure.spread)


def _is_change(figure: Number, text: str, *, came: bool) -> bool:
    """Whether a figure is a difference, a range, a bound, or what something came from."""
    change = figure.signed or text[figure.start] == "±" or figure.unit in ("pp", "×", "x")
    open_ended = figure.high is not None or not came and bool(figure.bound or figure.about)
    return change or open_ended or text[figure.end :][:4].lstrip().startswith(_ARROWS)


def _is_foreign(before: str, run: RunLabel) -> bool:
    """Whether what stands before a figure, or around its bracket, gives it to something else: a comparison, or another run."""
    opened = before.rfind("(")
    outside = before[:opened] if opened > before.rfind(")") else before
    for part in {before, outside}:
        clause = _CLAUSE.split(part[-60:])[-1]
        word = _FOREIGN.search(clause)
        if word and not (run.baseline and "baseline" in word[0].lower()):
            return True
        if part.endswith(("(", "→", "~")) or calls(clause, run) is False:
            return True
    return False


def _is_anothers(after: str, run: RunLabel) -> bool:
    """Whether what stands behind a figure gives it to something else, or makes it a difference."""
    return bool(_CHANGE.match(after) or not run.baseline and _ANOTHER.match(after))


def _name_of(figure: Number, before: str, after: str, text: str, *, came: bool) -> str:
    """`12 tok/s`; `41.4 % MFU`; `val_bpb 0.9979`, `MFU falls to 30 %`, `p99 latency: 12 ms`. Without a unit a label, an acronym or a decimal
    number tells.
    """
    unit, decimal = figure.unit, "." in text[figure.start : figure.end]
    if unit and names_itself(unit):
        return unit
    behind = _BEHIND.match(after) if unit or decimal else None
    if behind and is_quantity(behind[1].split()[0]) and fits(behind[1], unit):
        return behind[1]
    tail = before.rstrip(" ~≈")
    labelled = tail[-1:] in (":", "=")
    if tail[-1:] in (",", "(") and not came:
        return ""
    name = _quantity_at_end(_CLAUSE.split(tail.rstrip(":= ,("))[-1], unit)
    return name if unit or labelled or decimal or came or name.isupper() else ""


def _quantity_at_end(clause: str, unit: str) -> str:
    """What the end of a clause names that is measured in a unit: the last quantity, with the word before it where that is part of its name."""
    words = [word.lstrip("(*`") for word in clause.split()]
    while len(words) > 1 and (words[-1].lower() in _LINKS or words[-1].endswith("ed")):
        del words[-1]
    rate = [words.pop()] if len(words) > 1 and words[-1] in _RATES else []
    if not words or not is_quantity(words[-1]):
        return ""
    first = words[-2] if len(words) > 1 else ""
    filler = first.lower() in STOP | _LINKS or first.lower().endswith(("ed", "ing", "ly", "s"))
    pair = words[-2:] if first.isalnum() and not first.isdigit() and not filler else words[-1:]
    named = (" ".join([*parts, *rate]) for parts in (pair, words[-1:]))
    return next((name for name in named if fits(name, unit)), "")
