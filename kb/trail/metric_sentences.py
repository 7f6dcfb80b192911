"""Measures that sentences and list items of an experiment page state of its run. Refuses ranges, changes and figures of other runs."""

import re
from collections.abc import Iterable

from kb.run.direction import is_resource, word_set
from kb.text import Number, numbers_in, unit_of
from kb.trail.metric_names import (
    COMPARED,
    HOW,
    Caller,
    Reading,
    calls,
    fits,
    is_another,
    is_quantity,
    metric,
    names_itself,
)

# A longer line is data, not a sentence; what a figure is about stands close before it.
_LONGEST, _NEAR, _CLOSE = 4000, 120, 30
_CAPACITIES = ("compute", "work/time", "size/time")
_ARROWS = ("→", "->")
# What gives the figure behind it to something else.
_FOREIGN = word_set("""vs vs. versus than from above below over against exceeds exceed exceeded beats beat baseline frontier with to: expected
    predicted target toward goal best parent reference prior previous previously match matches matching before baseline: expected:
    predicted: target: goal: parent: reference: prior: previous: before:""") - {"with"}
_ARTICLES = word_set("the of a at")
# What gives the figure before it to something else, or makes it a difference.
_OF_ANOTHER = re.compile(
    r"\s*\(?(?:before|previously|earlier|originally|(?:(?:at|for|in|on|as|the) )*(?:baseline|parent|reference|master|main|upstream))\b"
    r"(?!\s*[:=]?\s*\d)"
)
_CHANGE = re.compile(
    r"\s+(?:(?!(?:is|was|are|and|at|of|which|but)\b)[\w/%\-]+\s+)?(?:improvements?|gains?|gap|difference|reduction|regression|increase|"
    r"decrease|drop|faster|slower|better|worse|higher|lower|more|less|fewer|saved|savings?)\b",
    re.IGNORECASE,
)
_CLAUSE = re.compile(r"[.;,]\s")
_COMPARISON = re.compile(
    r"compared|versus|vs\b|delta|relative|against|best valid|expected|predicted", re.IGNORECASE
)
# What may stand between a name and its figure, and after the word that says what is measured.
_LINKS = word_set("""is was are of at reached reaches hit hits about around near approximately roughly stays stayed remains remained falls fell
    drops dropped rises rose jumps jumped climbs climbed lands landed averages averaged improves improved goes went becomes collapses
    collapsed stabilized stabilised measured moves moved down up to only just""")
_USED = word_set("peak usage use used consumption rate ratio score") | HOW
# Words before a name that are none of it.
_PLAIN_WORDS = word_set("""a an the and or but with that this our its their to of in on at for as by if so than then while where which when
    now still also only both all from per is was are be has had it we not no best same only effective""")


def sentence_readings(text: str, run: Caller) -> Iterable[Reading]:
    """Measures in a run of text: a rate names itself; a share, a time or a plain number needs the name of what it measures."""
    text = text[:_LONGEST]
    if _COMPARISON.match(text):
        text = text.partition(". ")[2]
    last: Number | None = None
    for figure in numbers_in(text):
        between = text[last.end : figure.start].strip() if last else "-"
        came = between in (*_ARROWS, "to")
        before = text[max(0, figure.start - _NEAR) : last.start if came and last else figure.start]
        before = before.rstrip().removesuffix("from") if came else before
        whole = between == "of" or between == "/" and last is not None and last.unit == figure.unit
        last = figure
        is_change = figure.signed or text[figure.start] == "±" or figure.unit in ("pp", "×", "x")
        if whole or is_change or figure.high is not None:
            continue
        if not came and (figure.bound or figure.about):
            continue
        after = text[figure.end :]
        if (
            after.lstrip().startswith(_ARROWS)
            or _CHANGE.match(after)
            or not run.baseline
            and _OF_ANOTHER.match(after)
        ):
            continue
        name = (
            figure.unit
            if figure.unit and names_itself(figure.unit)
            else _name_of(figure, before, after, text, came=came)
        )
        if (
            not name
            or _is_foreign(before.rstrip(" (") if came else before, run)
            or _aside(after)
            and is_another(_aside(after), run)
        ):
            continue
        if (
            "peak" in before[-_CLOSE:].lower()
            and (known := unit_of(figure.unit))
            and known.dimension in _CAPACITIES
        ):
            continue  # What hardware could do: `peak bf16 918 TFLOP/s`.
        named = before.rfind(name)
        if COMPARED.match(name) or named > 0 and _is_foreign(before[:named], run):
            continue
        digits = "".join(
            c
            for c in text[figure.start : figure.end].partition(figure.unit or "\0")[0]
            if c.isdigit()
        ).lstrip("0")
        yield Reading(metric(name, figure, figure.unit), error=0.5000001 / int(digits[:15] or 1))


def _is_foreign(before: str, run: Caller) -> bool:
    """Whether what stands before a figure gives it to something else: a comparison, or another run, before or around it."""
    opened = before.rfind("(")
    outside = before[:opened] if opened > before.rfind(")") else before
    return any(
        _compares(part, run) or calls(_CLAUSE.split(part[-60:])[-1], run) is False
        for part in {before, outside}
    )


def _compares(before: str, run: Caller) -> bool:
    if before.rstrip().endswith(("(", "→", "~")):
        return True
    words = before.lower().rsplit(None, 4)[-4:]
    while words and words[-1] in _ARTICLES:
        del words[-1]
    word = words[-1].lstrip("(*`") if words else ""
    if word == "was":
        return (
            len(words) > 1
            and (words[-2] in ("it", "which", "that") or words[-2].endswith((",", "(")))
            or words[-1] == "(was"
        )
    return (word in _FOREIGN or word.endswith("'s")) and not (run.baseline and "baseline" in word)


def _aside(after: str) -> str:
    """What stands in the bracket right behind a figure."""
    behind = after.lstrip()
    return behind[1:].partition(")")[0] if behind.startswith("(") else ""


def _name_of(figure: Number, before: str, after: str, text: str, *, came: bool) -> str:
    decimal = "." in text[figure.start : figure.end]
    exact = bool(figure.unit) or decimal and figure.end - figure.start > 4
    return (
        exact
        and _name_after(after, figure.unit)
        or _name_before(before, figure, decimal=decimal, came=came)
    )


def _name_after(after: str, unit: str) -> str:
    """`41.4 % MFU`, `3.2 s compile time`, `36 % reported MFU`, `0.9871 val_bpb`: what a figure is followed by."""
    words: list[str] = []
    for word in after.split(None, 3)[:3] if after[:1].isspace() else ():
        bare = word.rstrip(".,;:)")
        if not bare.replace("_", "").replace("-", "").isalnum() or not bare[0].isalpha():
            break
        words.append(bare)
        if bare != word:
            break
    while words and words[0].lower() in HOW:
        del words[0]
    for count in (1, 2):
        name = words[:count]
        if (
            name
            and name[0].lower() not in _PLAIN_WORDS
            and is_quantity(name[-1])
            and fits(" ".join(name), unit)
        ):
            return " ".join(words[: count + (words[count : count + 1] in (["rate"], ["ratio"]))])
    return ""


def _name_before(before: str, figure: Number, *, decimal: bool, came: bool) -> str:
    """`p99 latency: 12 ms`, `MFU falls to 30 %`, `val_bpb 0.9979`: what a figure is said of; empty where that is open.

    Without a unit the name must be a label of it, an acronym, or stand right before a decimal number.
    """
    tail = before.rstrip(" ~≈")
    sign = tail[-1:] if tail[-1:] in (":", "=", ",", "(") else ""
    if sign in (",", "(") and not came:
        return ""
    words, whole = _words_at_end(tail[: len(tail) - len(sign)])
    while len(words) > 1 and words[-1].lower() in _LINKS:
        if words[-1].lower() == "to" and not came and words[-2].lower() not in _LINKS:
            return ""
        del words[-1]
    at = next(
        (i for i in range(len(words) - 1, max(-1, len(words) - 4), -1) if is_quantity(words[i])), -1
    )
    if at < 0 or any(w.lower() not in _USED for w in words[at + 1 :]):
        return ""
    if not figure.unit and not came and not (sign in (":", "=") or decimal or words[at].isupper()):
        return ""
    if sign == "=" and is_resource(words[at]) and "_" in words[at]:
        return ""
    start = (
        0
        if sign in (":", "=") and whole and at < 4
        else at - 1
        if at and not _is_filler(words[at - 1])
        else at
    )
    name = " ".join(words[start : at + 1 + (words[at + 1 : at + 2] in (["rate"], ["ratio"]))])
    return name if fits(name, figure.unit) else words[at] if fits(words[at], figure.unit) else ""


def _words_at_end(text: str) -> tuple[list[str], bool]:
    """The last words of a text, a bracket behind them left out, and whether they are all of it."""
    text = text.rstrip()
    if text.endswith(")"):
        text = text.rpartition("(")[0].rstrip()
    tokens = text.rsplit(None, 7)
    words: list[str] = []
    for token in reversed(tokens):
        word = token.lstrip("(")
        if not word[:1].isalpha() or not all(c.isalnum() or c in "_-/" for c in word):
            return words[::-1], False
        words.append(word)
        if word != token:
            return words[::-1], False
    return words[::-1][-7:], len(tokens) < 8


def _is_filler(word: str) -> bool:
    """Whether a word before a name is none of it: a function word or a verb, by its form."""
    low = word.lower()
    return (
        low in _PLAIN_WORDS
        or low in _LINKS
        or low in HOW
        or low.endswith(("ed", "ing", "ly", "s"))
        and not low.endswith("ss")
    )
