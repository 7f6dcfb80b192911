"""Measures that sentences and list items of an experiment page state of its run. Refuses ranges, deltas and figures of other runs."""

import re
from collections.abc import Iterable

from kb.page import plain_text
from kb.run.direction import is_resource, word_set
from kb.trail.figures import (
    FIGURE,
    GOES_ON,
    HOW,
    NUMBER,
    OTHERS,
    Reading,
    Run,
    calls,
    fits,
    is_another,
    is_quantity,
    metric,
    names_itself,
    to_number,
)

# What gives the figure behind it to something else.
FOREIGN = re.compile(
    r"(?:\b(?:vs\.?|versus|than|from|above|below|over|against|exceeds?|exceeded|beats?|beat|baseline|frontier|"
    r"compared (?:with|to)|expected|predicted|"
    r"target|toward|goal|best|parent|reference|prior|previous|previously|of the|match(?:es|ing)?)|[\w]'s|[≤≥<>~→(]|"
    r"\b(?:before|baseline|expected|predicted|target|goal|parent|reference|prior|previous|previously):|"
    r"(?:[(,;]\s*|\b(?:it|which|that) )was)"
    r"\s*(?:the\s+|of\s+|a\s+|at\s+)?$",
    re.IGNORECASE,
)
# A longer line is data, not a sentence; what a figure is about stands close before it.
_LONGEST, _NEAR, _CLOSE = 4000, 120, 40
# The first of two figures, of which the second counts: `355 →`, `from 9.1 ms to`.
_CAME_FROM = re.compile(rf"(?:\bfrom\s+)?{NUMBER}\s?[%A-Za-zµμ/.]{{0,16}}\s*(?:→|->|(?<=[\w%]) to)\s*$")
_COMES = ("→", "->", "to")
# What gives the figure before it to something else, or makes it a difference.
_OF_BEFORE = re.compile(
    r"\s*\(?(?:before|previously|earlier|originally|(?:(?:at|for|in|on|as|the) )*(?:baseline|parent|reference|master|main|upstream))\b(?!\s*[:=]?\s*\d)"
)
_IS_CHANGE = re.compile(
    r"\s+(?:(?!(?:is|was|are|and|at|of|which|but)\b)[\w/%\-]+\s+)?(?:improvements?|gains?|gap|difference|reduction|regression|increase|decrease|"
    r"drop|faster|slower|better|worse|higher|lower|more|less|fewer|saved|savings?)\b",
    re.IGNORECASE,
)
# What hardware could do: `peak bf16 918 TFLOP/s`, `3.35 TB/s peak`.
_CAPABLE = re.compile(r"(?:peak|theoretical|roofline|ceiling|spec|nominal|hardware)[\w =:~]{0,24}$", re.IGNORECASE)
_OF_HARDWARE = re.compile(r"FLOP|[KMGT]i?B/s", re.IGNORECASE)
_BEHIND = re.compile(r"\s*\(([^()]{1,16})\)")
_COUNTED = re.compile(r"\s?[x%]")
# Before the second figure of a range or of a share of something.
_RANGE = re.compile(r"\d[\w.%]*(?: ?[KMG]i?B)?\s*(?:[–-]|\bto|\bof|(?<=B) /)\s*$")
_CLAUSE = re.compile(r"[.;,]\s")
_ITEM = re.compile(r"(?:[-*+]|\d+[.)])\s+")
_COMPARISON = re.compile(r"compared|versus|vs\b|delta|relative|against|best valid|expected|predicted", re.IGNORECASE)
_WORD = re.compile(r"[A-Za-z][\w\-/]*")
_DIGIT = re.compile(r"\d")
_DIGITS = re.compile(r"[0-9.][0-9,.]*")
_ASIDE = re.compile(r"\([^()]*\)$")
_AFTER = re.compile(r"\s+([A-Za-z][\w\-]*)(?![\w\-/])(?:\s+([A-Za-z][\w\-]*)(?![\w\-/]))?(?:\s+([A-Za-z][\w\-]*)(?![\w\-/]))?")
# What may stand between a name and its figure, and after the word that says what is measured.
_LINKS = word_set("""is was are of at reached reaches hit hits about around near approximately roughly stays stayed remains remained falls fell
    drops dropped rises rose jumps jumped climbs climbed lands landed averages averaged improves improved goes went becomes collapses
    collapsed stabilized stabilised measured moves moved down up to only just""")
_USED = word_set("peak usage use used consumption rate ratio score") | HOW
# Words before a name that are none of it.
_PLAIN_WORDS = word_set("""a an the and or but with that this our its their to of in on at for as by if so than then while where which when
    now still also only both all from per is was are be has had it we not no best same only effective""")


def sentences(lines: list[str], run: Run) -> Iterable[Reading]:
    """Measures in prose and bullets, a paragraph or an item at a time."""
    parts: list[list[str]] = [[]]
    for line in lines:
        bare = line.strip().lstrip("> ")
        if not bare or bare.startswith("#") or _ITEM.match(bare):
            parts.append([])
        if bare:
            parts[-1].append(bare.lstrip("#"))
    for part in parts:
        text = " ".join(part)[:_LONGEST]
        if _DIGIT.search(text):
            item = _ITEM.match(text)
            yield from sentence(plain_text(text[item.end() :] if item else text), run)


def sentence(text: str, run: Run) -> Iterable[Reading]:
    """Measures in a run of text: a rate names itself; a share, a time or a plain number needs the name of what it measures."""
    if _COMPARISON.match(text):
        text = text.partition(". ")[2]
    for m in _figures_in(text):
        unit, start, end = m["unit"] or "", m.start(), m.end()
        if unit == "pp" or GOES_ON.match(text, end) or not unit and _COUNTED.match(text, end):
            continue
        before = text[max(0, start - _NEAR) : start]
        came = _CAME_FROM.search(before, max(0, len(before) - _CLOSE)) if before.rstrip().endswith(_COMES) else None
        if came:
            before = before[: came.start()]
        if unit and names_itself(unit):
            name = unit
        else:
            exact = unit or len(m["value"]) > 4 and "." in m["value"]
            name = exact and _name_after(text, end, unit) or _name_before(before, m, came=bool(came))
        if not name or not came and _RANGE.search(before, max(0, len(before) - _CLOSE)):
            continue
        if _is_foreign(before.rstrip(" (") if came else before, run) or not came and _is_of_another(text, end, run):
            continue
        if _OF_HARDWARE.search(unit) and (_CAPABLE.search(before) or text.startswith((" peak", " roof"), end)):
            continue
        named = before.rfind(name)
        if OTHERS.match(name) or named > 0 and _is_foreign(before[:named], run):
            continue
        value = abs(to_number(m["value"]))
        digits = len(m["value"].partition(".")[2])
        yield Reading(metric(name, m, unit), error=0.5000001 * 10**-digits / value if value else 0.0)


def _figures_in(text: str) -> Iterable[re.Match[str]]:
    """Figures of a text but signed ones, which are changes. Looks for digits first: a pattern that starts with them is many times faster."""
    done = 0
    for digits in _DIGITS.finditer(text):
        start = digits.start()
        if start >= done and (m := FIGURE.match(text, start)):
            done = m.end()
            if not start or text[start - 1] not in "+−":
                yield m


def _is_foreign(before: str, run: Run) -> bool:
    """Whether what stands before a figure gives it to something else: a comparison, or another run, before or around it."""
    found = FOREIGN.search(before, max(0, len(before) - _CLOSE))
    if found and not (run.baseline and "baseline" in found[0].lower()):
        return True
    opened = before.rfind("(")
    outside = before[:opened] if opened > before.rfind(")") else before
    if outside != before and FOREIGN.search(outside, max(0, len(outside) - _CLOSE)):
        return True
    return any(calls(_CLAUSE.split(part[-60:])[-1], run) is False for part in {before, outside})


def _is_of_another(text: str, end: int, run: Run) -> bool:
    """Whether what stands behind a figure gives it to something else: `12.1 ms before`, `12.1 ms (v011)`, `12.1 ms faster`."""
    behind = _BEHIND.match(text, end)
    return bool(
        _IS_CHANGE.match(text, end) or not run.baseline and _OF_BEFORE.match(text, end) or behind and is_another(behind[1], run)
    )


def _name_after(text: str, end: int, unit: str) -> str:
    """`41.4 % MFU`, `3.2 s compile time`, `36 % reported MFU`, `0.9871 val_bpb`: what a figure is followed by."""
    m = _AFTER.match(text, end)
    words = [w for w in m.groups() if w] if m else []
    while words and words[0].lower() in HOW:
        del words[0]
    for name in (words[:1], words[:2]):
        if name and name[0].lower() not in _PLAIN_WORDS and is_quantity(name[-1]) and fits(" ".join(name), unit):
            return " ".join(words[: len(name) + 1] if words[len(name) : len(name) + 1] in (["rate"], ["ratio"]) else name)
    return ""


def _name_before(before: str, figure: re.Match[str], *, came: bool) -> str:
    """`p99 latency: 12 ms`, `MFU falls to 30 %`, `val_bpb 0.9979`: what a figure is said of; empty where that is open.

    Without a unit the name must be a label of it, an acronym, or stand right before a decimal number.
    """
    unit, tail = figure["unit"] or "", before.rstrip(" ~≈")
    sign = tail[-1:] if tail[-1:] in (":", "=", ",", "(") else ""
    if sign in (",", "(") and not came:
        return ""
    if not unit and not came and sign not in (":", "=") and "." not in figure["value"] and not tail[-1:].isupper():
        return ""
    words, whole = _words_at_end(tail[: len(tail) - len(sign)])
    if not words:
        return ""
    while len(words) > 1 and words[-1].lower() in _LINKS:
        if words[-1].lower() == "to" and not came and words[-2].lower() not in _LINKS:
            return ""
        del words[-1]
    at = next((i for i in range(len(words) - 1, max(-1, len(words) - 4), -1) if is_quantity(words[i])), -1)
    if at < 0 or any(w.lower() not in _USED for w in words[at + 1 :]):
        return ""
    label = sign in (":", "=") and whole and at < 4
    start = 0 if label else at
    if not label and at and not _is_filler(words[at - 1]):
        start = at - 1
    name = " ".join(words[start : at + (2 if words[at + 1 : at + 2] in (["rate"], ["ratio"]) else 1)])
    if not unit and not came and not sign and not words[at].isupper() and "." not in figure["value"]:
        return ""
    if sign == "=" and is_resource(words[at]) and "_" in words[at]:
        return ""
    return name if fits(name, unit) else words[at] if fits(words[at], unit) else ""


def _words_at_end(text: str) -> tuple[list[str], bool]:
    """The last words of a text, a bracket behind them left out, and whether they are all of it."""
    text = text.rstrip()
    if text.endswith(")"):
        text = _ASIDE.sub("", text).rstrip()
    tokens = text.rsplit(None, 7)
    words: list[str] = []
    for token in reversed(tokens):
        word = token.lstrip("(")
        if not _WORD.fullmatch(word):
            return words[::-1], False
        words.append(word)
        if word != token:
            return words[::-1], False
    return words[::-1][-7:], len(tokens) < 8


def _is_filler(word: str) -> bool:
    """Whether a word before a name is none of it: a function word or a verb, by its form."""
    low = word.lower()
    return low in _PLAIN_WORDS or low in _LINKS or low in HOW or low.endswith(("ed", "ing", "ly", "s")) and not low.endswith("ss")
