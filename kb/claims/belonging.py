"""What belongs to what in a claim: each number keeps the names and words that it has in the quote, and what is compared keeps its sides."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby

from kb.claims.captured import Cell
from kb.claims.case import (
    BRACKETED,
    REFERS,
    ClaimCase,
    all_words,
    clauses_of,
    telling,
    turned_round,
    weight_of,
)
from kb.claims.cues import contrary
from kb.claims.figures import IDLE, numbers_of, stated_value
from kb.claims.names import forms_of
from kb.text import STOP, numbers_in_words, stem, unit_of, words_of
from kb.text.spelt import SPELT


def place(case: ClaimCase) -> str:
    """A number of the claim stands where the claim's words point to: no other row, column or clause of the source fits them better."""
    stated = () if case.table else _segments(case)
    before = ""
    for clause in clauses_of(case.claim):
        # "The old one" counts nothing, "one pass" does.
        numbers = [
            n
            for n in numbers_of(clause)
            if clause[n.start : n.end].lower() not in IDLE or clause[n.end :].strip()[:1].isalpha()
        ]
        for number in numbers:
            value = stated_value(number, case)
            if case.table:
                reason = _cell_reason(case, clause, value)
            else:
                named = _NAMED.search(clause[: number.start])
                reason = "" if named else _segment_reason(case, clause, before, value, stated)
            if reason:
                return f"{number.value:g} {reason}"
        before += f" {clause}" if numbers else ""
    return ""


# A number behind a capital is a part of a name: ISO 220.
_NAMED = re.compile(r"\b[A-Z]\w*[\s-]$")


def _cell_reason(case: ClaimCase, clause: str, value: float) -> str:
    claimed = {stated_value(n, case) for n in numbers_of(case.claim)}
    at = [c for c in case.table if c.quoted and value in _values(c.text)]
    # A cell that the claim states as well has its words in the claim too.
    others = [
        c for c in case.table if not (values := _values(c.text)) & claimed and value not in values
    ]
    if not at or any(value in _values(c.label) for c in at):
        return ""
    words = all_words(case.spelt_out(_in_digits(case.claim)))
    if _fit(others, words, "label") > _fit(at, words, "label"):
        return f"stands in the row “{at[0].label}”"
    row = [c for c in others if c.quoted]
    leads = (
        _fit(row, mine, "header") - _fit(at, mine, "header") for mine in (all_words(clause), words)
    )
    return f"stands in the column “{at[0].header}”" if next(filter(None, leads), 0) > 0 else ""


def _in_digits(text: str) -> str:
    """A text with its numbers in words beside it in digits."""
    return " ".join([text, *(f"{n.value:g}" for n in numbers_in_words(text))])


def _fit(cells: Iterable[Cell], words: set[str], part: str) -> float:
    """How well the words of a claim fit the best of some headers or labels: those it takes up, less a share of what it leaves out."""
    missing = 0.5 if part == "label" else 0.1
    # What stands in brackets behind a label may be left out.
    own = [
        all_words(BRACKETED.sub("", cell.label) if part == "label" else cell.header)
        for cell in cells
    ]
    return max(
        (weight_of(w & words) - missing * weight_of(w - words) for w in own if w & words), default=0
    )


def _values(text: str) -> set[float]:
    return {abs(n.value) for n in numbers_of(text)}


@dataclass(frozen=True, slots=True)
class Clause:
    """A clause of the source that states numbers: all its words, those it is about (`subject`), what opens it, and the names that own its
    numbers.
    """

    start: int
    text: str
    values: frozenset[float]
    words: frozenset[str]
    subject: frozenset[str]
    head: frozenset[str]
    names: frozenset[str]


# A clause that begins so goes on with what opened the clause before it.
_GOES_ON = re.compile(
    r"\W*(?:at|by|to|from|in|on|with|for|of|if|when|so|hence|thus|therefore|which|\d|up|about|roughly|only|(?:one|two|three|four|five|six|seven|eight|nine|ten|none)\b(?!-))",
    re.IGNORECASE,
)
# The verb that states a number, with what stands between them: it says nothing of whose the number is.
_STATING = re.compile(
    r"\b\w+\b(?=(?:\s+(?:at|to|by|of|in|from|about|up|only))*\s*[~≈<>≤≥]?\s*[-−+$]?\d)"
)


def _segments(case: ClaimCase) -> tuple[Clause, ...]:
    segments: list[Clause] = []
    lead, names = "", frozenset()
    for clause in clauses_of(case.sentence if case.quote in case.sentence else case.quote):
        stated = numbers_of(clause)
        opening = clause[: stated[0].start] if stated else clause
        goes_on = bool(_GOES_ON.match(clause))
        lead = lead if goes_on else opening
        names = frozenset(_keys(case, clause)) or names
        subject = _STATING.sub(" ", f"{lead} 0 {opening if goes_on else ''} 0")
        if stated:
            segments.append(
                Clause(
                    len(segments),
                    clause,
                    frozenset(_values(clause)),
                    frozenset(_plain(f"{lead} {clause}")),
                    frozenset(_plain(subject)),
                    _first(clause) & set(map(stem, words_of(clause)[:1])),
                    names,
                )
            )
    return tuple(segments)


def _plain(text: str) -> set[str]:
    return {w for w in telling(text) if not w[0].isdigit()}


def _keys(case: ClaimCase, text: str) -> set[str]:
    return set(forms_of(text))


def _segment_reason(
    case: ClaimCase, clause: str, before: str, value: float, stated: tuple[Clause, ...]
) -> str:
    here = [s for s in stated if value in s.values]
    there = [s for s in stated if value not in s.values]
    if not here or not there:
        return ""
    strayed = _words_of_others(clause, before, here, there) | _names_of_others(
        case, clause, here, there
    )
    about = " ".join(here[0].text.split())[:60]
    return (
        f"is told of “{about}” in the quote, not of {', '.join(sorted(strayed)[:3])}"
        if strayed
        else ""
    )


def _words_of_others(
    clause: str, before: str, here: list[Clause], there: list[Clause]
) -> frozenset[str]:
    """Words of a claim that belong to other clauses of its source than those that state its number, where it leaves out what that is of."""
    words = frozenset(telling(clause))
    mine = words | telling(before)
    own, other = (_union(s.words for s in group) for group in (here, there))
    subject = _union(s.subject for s in here) - telling(" ".join(s.text for s in there))
    later = _union(s.subject for s in there if s.start > here[-1].start)
    opening = _union(s.head for s in there)
    # What the number is told of, what no other clause says, what opens its clause: where the claim leaves it out, these are another's.
    others = (
        (bool(subject - mine), later),
        (bool(subject) and not subject & mine, _first(clause) & other),
        (bool(own - other) and not (own - other) & mine, other),
        (bool(here[0].head - mine), opening),
    )
    return words & _union(theirs for left_out, theirs in others if left_out) - own


def _names_of_others(
    case: ClaimCase, clause: str, here: list[Clause], there: list[Clause]
) -> frozenset[str]:
    """Names in a claim that own other numbers than its own; what opens a sentence is of whatever follows."""
    named, rest = (_union(s.names for s in group) for group in (here, there))
    claimed = _keys(case, case.spelt_out(clause)) | (named | rest) & set(words_of(clause))
    # A few words with a number and no name go on with the name before them.
    alone = not named and not claimed <= rest or not named and len(here[0].text.split()) <= 5
    return frozenset() if named & claimed or alone else claimed & rest


def _first(clause: str) -> frozenset[str]:
    """The first telling word of a clause, alone."""
    words = telling(clause)
    return frozenset([stem(w) for w in words_of(clause) if stem(w) in words][:1])


def _union(groups: Iterable[frozenset[str]]) -> frozenset[str]:
    return frozenset().union(*groups)


# Before these words stands no verb: what follows one of them is a thing, or what it is like.
_LEADS = frozenset("the a an with of in on by for from at to without into per".split())
# Spans of time that are no units.
_TIMES = frozenset("week month quarter year night cycle".split())


def reversed_sides(case: ClaimCase) -> str:
    """Cause and effect, and what holds and what does not, stand in the claim as in the quote."""
    for relation in _RELATIONS:
        ends = [_ends(text, relation) for text in (case.claim, case.quote)]
        if not all(ends):
            continue
        if turned_round(*ends[0], *ends[1]) == (False, True):
            return "the claim turns round what the quote says of the one and the other"
    return ""


# What stands before and behind these; behind the group `back` they have changed places.
_RELATIONS = (
    re.compile(
        r"\b(?:because(?: of)?|since|due to|owing to|thanks to|depends? on|stems? from|caused by)\b"
        r"|(?P<back>\b(?:therefore|hence|thus|so that|leads? to|led to|causes?|caused)\b)"
    ),
    re.compile(r"(?:,|\band) (?:not|never)\b|\b(?:instead of|rather than)\b"),
)


def _ends(text: str, relation: re.Pattern[str]) -> tuple[set[str], ...]:
    match = relation.search(text)
    if not match:
        return ()
    ends = all_words(text[: match.start()]), all_words(text[match.end() :])
    return ends[::-1] if match.lastgroup else ends


def frame(case: ClaimCase) -> str:
    """No word of the claim stands in the place of another of the quote: behind a word that leads a thing in (or the same number in words), and
    before the same word (or, behind the same one, at the end).
    """
    if case.table:
        return ""
    claimed, stated = (
        set(map(stem, words_of(case.spelt_out(t)))) for t in (case.claim, case.quote)
    )
    shown = BRACKETED.sub(" ", case.quote)
    held = [(place, word) for place, word in _frames(shown) if stem(word) not in claimed]
    for place, word in _frames(case.claim):
        other = next((w for p, w in held if p == place), "")
        if other and stem(word) not in stated:
            return f"the claim says “{word}” where the quote says “{other}”"
    return ""


def _frames(text: str) -> Iterator[tuple[tuple[str, str], str]]:
    """Words that are led in, each with its place: the word behind it, or at the end the one before it."""
    words = words_of(text)
    for before, word, behind in zip(words, words[1:], [*words[2:], ""], strict=False):
        counted, unit = before in SPELT, unit_of(word)
        measure = unit and unit.dimension != "time"
        if word in STOP or word[0].isdigit() or measure or not (counted or before in _LEADS):
            continue
        if before in ("a", "per", "each") and (unit or word in _TIMES):
            yield ("per", ""), word
        elif not behind or behind not in STOP and behind not in _LEADS and not behind[0].isdigit():
            yield ("" if behind and not counted else before, stem(behind)), word


_YARDSTICK = re.compile(
    r"\b(?P<sign>half as \w+|twice as \w+|as \w+|more|less|fewer|worse|better|(?<!\ba )(?<!\bthe )(?!(?:ov|und|aft|oth|rath)er)\w{2,}er)\b(?P<left>[^.;]{0,60}?)\b(?:than|as)\s(?P<right>(?:[^,;.]|\.(?=\d))*)"
    r"|\b(?:compared (?:with|to)|versus|vs\.?|against)\s(?P<set>(?:[^,;.]|\.(?=\d))*)",
    re.IGNORECASE,
)
_GOES_OTHERWISE = re.compile(r"\b(?:yet|but|and|while|whereas)\b")


def comparison(case: ClaimCase) -> str:
    """What is compared keeps its sides: they are changed only together with the word that compares, and none is put in from elsewhere."""
    mine, theirs = _YARDSTICK.search(case.claim), _YARDSTICK.search(case.quote)
    if not mine:
        return ""
    left, right = _sides(case.claim, mine)
    ahead = case.claim[: mine.start()]
    measured = any(not ahead[n.end :].strip() for n in numbers_of(ahead))
    has_base = bool(measured or theirs and theirs["right"])
    weighed = "" if has_base else _weighed(case, left - right, right - left, mine["sign"] or "")
    return weighed or (_compared_in(case, mine, theirs, measured=measured) if theirs else "")


def _compared_in(
    case: ClaimCase, mine: re.Match[str], theirs: re.Match[str], *, measured: bool
) -> str:
    left, right = _sides(case.claim, mine)
    apart = _values(theirs["set"] or "") - _values(case.claim)
    if apart and measured:
        return f"the quote gives {min(apart):g} for “{theirs['set'].strip()[:60]}”, and not how much “{mine['sign']}” the one is than the other"
    first, second = _sides(case.quote, theirs)
    contraries = contrary(mine["sign"] or "", theirs["sign"] or "")
    straight, swapped = turned_round(left, right, first, second)
    if swapped and not contraries:
        return "the claim turns round what the quote compares"
    if straight and not swapped and contraries:
        return f"the claim says “{mine['sign']}” where the quote says “{theirs['sign']}”"
    return ""


def _weighed(case: ClaimCase, left: set[str], right: set[str], sign: str) -> str:
    """Whether the numbers of a quote say the contrary of a claim that only compares them."""
    # What is faster takes less, and does more.
    units = map(unit_of, words_of(f"{case.sentence} {case.about}"))
    timed = "cycles" in case.context or any(u and u.dimension == "time" for u in units)
    speeds = ("faster", "slower")[:: 1 if timed else -1]
    more, fewer = (
        any(contrary(sign, word) for word in words)
        for words in zip(("fewer", "more"), speeds, strict=True)
    )
    stated = _stated(case)
    second = [(words, values) for words, values in stated if words & right]
    elsewhere = _union(frozenset(words) for words, _ in second)
    first = [values for words, values in stated if words & (left - elsewhere)]
    if not first or not second or not more and not fewer:
        return ""
    one, other = max(first[0]), max(second[0][1])
    if one > other if more else one < other:
        return ""
    return f"the quote gives {one:g} against {other:g}, the claim says “{sign}”"


def _stated(case: ClaimCase) -> list[tuple[set[str], set[float]]]:
    """Numbers of the quote that the claim does not give, cell by cell or clause by clause, with the words that they are told of."""
    pieces = [(f"{c.header} {c.label}", c.text) for c in case.table if c.quoted]
    pieces = pieces or [(s.text, s.text) for s in _segments(case)]
    own = _values(case.claim)
    return [(all_words(of), values) for of, text in pieces if (values := _values(text) - own)]


def _sides(text: str, comparison: re.Match[str]) -> tuple[set[str], set[str]]:
    """What a sentence compares, and with what."""
    # What opens the sentence with its yardstick says behind it what is compared.
    before = all_words(f"{text[: comparison.start()]} {comparison['left'] or ''}")
    return before or all_words(text[comparison.end() :]), all_words(
        _GOES_OTHERWISE.split(comparison["right"] or comparison["set"] or "")[0]
    )


def support(case: ClaimCase) -> str:
    """A claim is about what its quote is about: most of its telling words stand there or around it, or are words that the source has
    nowhere, and no three that follow each other are those of another passage.
    """
    have = {stem(w) for w in words_of(f"{case.context} {case.after}")}
    # Another form of a word that stands there is no other word (`compress` and `compression`).
    have |= {w[:5] for w in have if len(w) > 4}
    words = [w for w in words_of(case.claim) if len(w) > 3 and not w.isdigit() and w not in STOP]
    strange = [w for w in words if {stem(w), w[:5]}.isdisjoint(have)]
    foreign = [w for w in strange if stem(w) not in case.known]
    # Numbers and names were looked at one by one.
    known = len(words) - len(strange) + len(numbers_of(case.claim)) + len(_keys(case, case.claim))
    # What “it” stands for is named before it: there a word that stands nowhere is none of it either.
    elsewhere = set(strange) - (set() if REFERS.match(case.quote) else set(foreign))
    moved = groupby(words, elsewhere.__contains__)
    longest = max((len(list(run)) for away, run in moved if away), default=0)
    if strange and (longest > 2 or len(foreign) > known or not known):
        return f"the quote does not speak of {', '.join((foreign or strange)[:4])}: quote the words that do"
    return ""
