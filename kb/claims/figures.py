"""Numbers of a claim: they stand in its quote, with their units and bounds, exact or rounded where the claim says so.

A number that stands nowhere in the quote, or with another unit, is certain; what only depends on how it is read is not.
"""

import math
import re
from collections.abc import Iterator
from itertools import combinations

from kb.claims.case import REFERS, ClaimCase
from kb.source.quotation import GROUPED
from kb.text import STOP, Number, numbers_in, numbers_in_words, unit_of, words_of
from kb.text.spelt import SCALE, SPELT

# Behind these "3 to 5" is a range; behind most other words it is a move.
_WITHIN = (" in", " of", " takes", " costs", " needs", " within", " about", " by")
# Words that stand for no number as often as for one.
IDLE = ("zero", "one", "once")
# How far a claim that says "about" may be off, in parts of the number that the quote gives: so far at all, and so far to the next
# number of as many digits as the claim writes (`about 40` for 37).
_OFF, _ROUNDED = 0.05, 0.1
# Symbols that name units behind a number alone.
_BARE = {"m": "metre", "g": "gram", "l": "litre", "V": "volt", "A": "ampere"}
_BEHIND = re.compile(r"(?:\s+|-)(per\s+|an?\s+)?([a-zA-Zµ%]+)\b")
_WORD_BEFORE = re.compile(r"\b[^\W\d_]{3,}[\s-]$")
_WORD_BEHIND = re.compile(r"[\s-][^\W\d_]{3,}")
_UNITS = re.compile(r"(?<!\w)[A-Za-zµμ×]+(?:/[A-Za-z]+)*(?!\w)|%")
# Words that bound a number, before it and behind it, by the sign that they stand for.
_BOUNDS_BEFORE = re.compile(
    r"\b(?:(?P<nearly>(?:a (?:little|bit)|just|slightly|somewhat) (?:under|over|above|below|more than|less than)|close to|in the region of)"
    r"|(?P<not>(?:no|not|n['’]t)\s(?:\w+\s){0,2}?(?:(?:more|\w+er) than|above|over|beyond|exceed\w*))"
    r"|(?P<less>up to(?: an? (?:\w+ ){1,3}of)?|at most|at or below|(?:less|fewer|smaller|shorter|lower|narrower|cooler|older|earlier) than|under|below|before|prior to|maximum|within|as much as)"
    r"|(?P<more>at least|at or above|(?:more|(?!rather|other)\w+er) than|no less than|(?<!mean )over|above|exceed\w*|minimum|beyond)"
    r"|(?P<about>about|around|roughly|approximately|nearly|almost|circa|some|o[nf] the order of))[\s`*_]*$",
    re.IGNORECASE,
)
_BOUNDS_BEHIND = re.compile(
    r"\s*(?:(?P<less>at most|(?:or|and) (?:less|fewer|lower|below|older|earlier))|(?P<about>or so|or thereabouts)|(?P<more>at least|(?:or|and) (?:more|higher|above|newer|later|up|warmer)))\b"
)
_SIGNS = {"nearly": "≈", "not": "<", "less": "<", "more": ">", "about": "~"}
# What is the most or the least of something bounds it, wherever that word stands.
_LIMITS = {
    "<": re.compile(
        r"\b(?:max(?:im\w+)?|limit\w*|highest|longest|largest|capped|peak\w*)\b", re.IGNORECASE
    ),
    ">": re.compile(
        r"\b(?:min(?:im\w+)?|larger|longer|lowest|shortest|smallest|earliest|required?)\b",
        re.IGNORECASE,
    ),
}
_SHOWN = {
    "": "as exact",
    "<": "as an upper bound",
    ">": "as a lower bound",
    "~": "as approximate",
    "≈": "as approximate",
}


def numbers(case: ClaimCase) -> str:
    """Every number of the claim stands in its quote, and has no other unit there."""
    return next((reason for reason, certain in _objections(case) if certain), "")


def number_readings(case: ClaimCase) -> str:
    """Each has its unit and its bound there, and none is in words, or worked out, that the quote does not give."""
    return next((reason for reason, certain in _objections(case) if not certain), "")


def _objections(case: ClaimCase) -> Iterator[tuple[str, bool]]:
    stated = [tuple(_readings(n, case.quote, case)) for n in numbers_of(case.quote)]
    for number in numbers_of(case.claim):
        written = case.claim[number.start : number.end].strip()
        if written.lower() not in IDLE and not _is_named(case, number):
            yield from _objection(case, number, stated)


def _objection(
    case: ClaimCase, number: Number, stated: list[tuple[Number, ...]]
) -> Iterator[tuple[str, bool]]:
    """What speaks against one number, and whether it is certain."""
    mine = tuple(_readings(number, case.claim))
    loose = bound_of(case.claim, number.start, number) != ""
    same = [s for s in stated if any(_same_value(m, r, loose=loose) for m in mine for r in s)]
    if not same and number.high is not None:
        # Two numbers that the quote gives as a move, or apart, are the ends of a range as well.
        for value in (number.value, number.high):
            yield from _objection(case, number._replace(value=value, high=None), stated)
    elif not same:
        yield from _missing(case, number, stated, loose=loose)
    elif not (fitting := [s for s in same if _agree(mine, s, case, loose=loose)]):
        units = {s[-1].unit for s in same}
        shown = " or ".join(sorted(unit or "no unit" for unit in units))
        certain = all(map(unit_of, (*units, number.unit)))
        written = case.claim[number.start : number.end].strip()
        yield f"{written}: the quote gives this number with {shown}", certain
    elif all(reasons := [_bound_reason(case, number, s[0]) for s in fitting]):
        yield reasons[0], False


def _missing(
    case: ClaimCase, number: Number, stated: list[tuple[Number, ...]], *, loose: bool
) -> Iterator[tuple[str, bool]]:
    """What to do about a number that does not stand in the quote."""
    written = case.claim[number.start : number.end].strip()
    rounded = [s[0] for s in stated if any(_same_value(number, r, loose=True) for r in s)]
    pairs = _worked_out(number, [s[0] for s in stated], loose=loose)
    # What stands there in a name (v6) may be told as a number.
    named = re.search(rf"[^\W\d_]{re.escape(written)}\b", case.quote)
    if rounded:
        exact = case.quote[rounded[0].start : rounded[0].end].strip()
        yield f"the quote says {exact}: write that, or “about {written}”", not named
    elif pairs > 1:
        yield f"“{written}” is worked out from some of the numbers of the quote", False
    elif not pairs:
        reason = f"“{written}” does not stand in the quote: quote the words that give it"
        yield reason, any(map(str.isdigit, written)) and not named


def _worked_out(number: Number, stated: list[Number], *, loose: bool) -> int:
    """If a number lies between two of one unit in a quote (difference, ratio, share or change in percent): how many such pairs there are."""
    mine = unit_of(number.unit)
    pairs = [
        (a, b)
        for a, b in combinations(stated, 2)
        if a.unit == b.unit
        and a.value
        and b.value
        # A ratio is a share or none, a difference has the unit of both.
        and (not mine or mine.dimension in ("share", "ratio") or unit_of(a.unit) in (None, mine))
    ]
    for a, b in pairs:
        ratios = (a.value / b.value, b.value / a.value)
        results = [abs(a.value - b.value), *ratios, *(abs(r - 1) for r in ratios)]
        results += [100 * r for r in results[1:] if mine and mine.dimension == "share"]
        for result in results:
            digits = f"{result:.{number.digits}f}"
            if _close(float(digits), abs(number.value)) or loose and _rounds(number.value, result):
                return sum(pair[0].unit == a.unit for pair in pairs)
    return 0


def _is_named(case: ClaimCase, number: Number) -> bool:
    """Whether a number is a part of a name: as it is written in a heading above the quote (the version that a release note is about),
    or beside the same word in or before the quote (`Osprey 2.3`, `512-bit`).
    """
    written = case.claim[number.start : number.end].strip()
    before = _WORD_BEFORE.search(case.claim[: number.start])
    behind = _WORD_BEHIND.match(case.claim, number.end)
    shown = [(written, case.about)]
    if before and (before[0][0].isupper() or not number.unit):
        shown.append((f"{before[0]}{written}", f"{case.before} {case.lead} {case.sentence}"))
    if behind and REFERS.match(case.sentence):
        shown.append((f"{written}{behind[0]}", case.lead))
    return any(
        re.search(rf"(?<![\w.]){re.escape(words)}(?!\w|,\d)", text, re.IGNORECASE)
        for words, text in shown
    )


def _agree(
    mine: tuple[Number, ...], stated: tuple[Number, ...], case: ClaimCase, *, loose: bool
) -> bool:
    """Whether one reading of a claimed number is one of a stated number; where both say per what, that must be the same."""
    if "/" in mine[-1].unit and "/" in stated[-1].unit:
        mine, stated = mine[-1:], stated[-1:]
    # What has a unit in words has no other one from elsewhere.
    stated = tuple(s for s in stated if s.unit) or stated
    return any(
        _same_value(m, s, loose=loose) and _same_unit(m, s, case) for m in mine for s in stated
    )


def _readings(number: Number, text: str, case: ClaimCase | None = None) -> Iterator[Number]:
    """A number as written, then with what the words behind it or the header of its column add to its unit."""
    yield number
    if number.value < 1 and not number.unit:
        yield number._replace(value=100 * number.value, unit="%")
    above = words_of(f"{case.before} {case.lead} {case.about}") if case and case.table else ()
    for scale in {"thousand", "million", "billion"} & {word.removesuffix("s") for word in above}:
        yield number._replace(value=number.value * SPELT[scale])
    behind = _BEHIND.match(text, number.end)
    unit = behind and _BARE.get(behind[2], behind[2])
    if behind and behind[2] not in STOP and unit_of(unit) and bool(behind[1]) == bool(number.unit):
        yield number._replace(unit=f"{number.unit}/{unit}" if number.unit else unit)


def numbers_of(text: str) -> list[Number]:
    """Numbers of a text in order, in digits and in words; one without a unit shares that of the next behind "and", "to", "or" or a comma
    (`from 67 to 65 t/s`), and what stands "between" two is a range.
    """
    text = GROUPED.sub(lambda m: re.sub(r"[ \u00a0]", "\u2009", m[0]), text)
    numbers = [_scaled(number, text) for number in numbers_in(text)]
    for at in range(len(numbers) - 2, -1, -1):
        this, following = numbers[at], numbers[at + 1]
        joint = re.fullmatch(r"\s*(and|to|or|,|→|->)\s*", text[this.end : following.start])
        shared = joint is not None and not this.unit
        if shared and following.unit:
            this = numbers[at] = this._replace(unit=following.unit)
        before = text[max(0, this.start - 32) : this.start].rstrip()
        spans = joint and (
            joint[1] == "and"
            and before.endswith("between")
            or joint[1] == "to"
            and shared
            and before.endswith(_WITHIN)
            and " from " not in before
        )
        if spans and this.value < following.value:
            numbers[at : at + 2] = [this._replace(high=following.value, end=following.end)]
    return sorted([*numbers, *numbers_in_words(text)], key=lambda n: n.start)


def values_of(text: str) -> set[float]:
    """Values of the numbers of a text, without their signs."""
    return {abs(n.value) for n in numbers_of(text)}


def _scaled(number: Number, text: str) -> Number:
    """A number with the word behind it that multiplies it: 2.6 million."""
    scale = SCALE.match(text, number.end)
    if not scale or number.unit:
        return number
    factor = SPELT[scale[1]]
    high = number.high and number.high * factor
    return number._replace(value=number.value * factor, high=high, end=scale.end())


def _same_value(claimed: Number, stated: Number, *, loose: bool = False) -> bool:
    """Whether two numbers are one, as written or in another unit of the same kind; a sign may be told in words, and left out."""
    mine, theirs = unit_of(claimed.unit), unit_of(stated.unit)
    alike = mine and theirs and mine.dimension == theirs.dimension
    factor = mine.factor / theirs.factor if alike else 1.0
    # 512 kB are half a megabyte: a prefix may stand for 1,024.
    binary = (
        factor * 1.024 ** round(math.log10(factor) / 3)
        if alike and mine.dimension == "size"
        else factor
    )
    if claimed.signed and stated.signed and claimed.value * stated.value < 0:
        return False
    have, wanted = ([abs(v) for v in (n.value, n.high) if v is not None] for n in (stated, claimed))
    return all(
        any(
            _close(v * factor, h) or _close(v * binary, h) or loose and _rounds(v * factor, h)
            for h in have
        )
        for v in wanted
    )


def stated_value(claimed: Number, case: ClaimCase) -> float:
    """The number of the quote that a claimed one stands for: equal to it, in another unit, or rounded."""
    stated = numbers_of(case.quote)
    same = (
        n
        for loose in (False, True)
        for n in stated
        if any(_same_value(claimed, r, loose=loose) for r in _readings(n, case.quote, case))
    )
    return abs(next(same, claimed).value)


def _close(a: float, b: float) -> bool:
    return math.isclose(a, b, rel_tol=1e-9)


def _rounds(claimed: float, stated: float) -> bool:
    """Whether a claimed number is a stated one with fewer digits."""
    digits = len(f"{claimed:.6g}".replace(".", "").strip("0"))
    if digits >= len(f"{stated:.6g}".replace(".", "").strip("0")):
        return False
    nearest = _close(float(f"{stated:.{max(digits, 1)}g}"), claimed)
    return math.isclose(claimed, stated, rel_tol=_ROUNDED if nearest else _OFF)


def _same_unit(claimed: Number, stated: Number, case: ClaimCase) -> bool:
    if not claimed.unit:
        # A number may leave a unit to its words, or abbreviate it as the quote does (`41 LMH`); a rate or share that turns into a count
        # is another statement.
        behind = _BEHIND.match(case.claim, claimed.end)
        short = behind and behind[2].isupper() and not unit_of(behind[2])
        worded = (
            stated.unit in words_of(case.claim)
            or unit_of(stated.unit) is None
            or any(_unit_name(n.unit) == _unit_name(stated.unit) for n in numbers_of(case.claim))
        )
        return bool(not stated.unit or worded or short and behind[2] in case.quote)
    mine, theirs = unit_of(claimed.unit), unit_of(stated.unit)
    if mine and theirs:
        # Gb are no GB, and a share is no difference of shares.
        bits = claimed.unit != stated.unit == claimed.unit.replace("b", "B")
        return (
            mine.dimension == theirs.dimension
            and (mine.dimension != "share" or mine.name == theirs.name)
            and not bits
        )
    # A unit that only one side writes beside its number must stand in the quote as a word ("Latency (ms): 12").
    worded = not stated.unit and mine is not None and mine.name in _units_around(stated, case)
    return claimed.unit == stated.unit or worded


def _units_around(stated: Number, case: ClaimCase) -> set[str]:
    """Names of the units that a number without one may have: those in a cell of its row that holds no more, in the header of its column, else those of the words around it."""
    quoted = [c for c in case.table if c.quoted]
    rows = " ".join(c.text for c in quoted if unit_of(c.text))
    columns = " ".join(c.header for c in quoted if abs(stated.value) in values_of(c.text))
    around = f"{case.quote} {case.sentence} {case.lead} {case.before} {case.heading}"
    texts = (set(map(_unit_name, _UNITS.findall(text))) - {""} for text in (rows, columns, around))
    return next(filter(None, texts), set())


def _unit_name(spelling: str) -> str:
    # What is counted per run or per epoch has the unit that it is counted in.
    whole, _, per = spelling.partition("/")
    unit = unit_of(spelling if unit_of(per) else whole)
    return unit.name if unit else ""


def bound_of(text: str, start: int, number: Number) -> str:
    """The sign of the bound that a text gives a number of it at `start`: < > ~ ≈ or nothing."""
    if number.bound:
        return number.bound[0]
    match = _BOUNDS_BEFORE.search(text[max(0, start - 36) : start]) or _BOUNDS_BEHIND.match(
        text, start + number.end - number.start
    )
    return _SIGNS[match.lastgroup or ""] if match else "~" if number.about else ""


def _bound_reason(case: ClaimCase, claimed: Number, stated: Number) -> str:
    mine = bound_of(case.claim, claimed.start, claimed)
    # What bounds a number may stand before the quote.
    at = max(case.sentence.find(case.quote), 0)
    whole = case.sentence if case.quote in case.sentence else case.quote
    theirs = bound_of(whole, at + stated.start, stated)
    shown = case.quote[stated.start : stated.end].strip()
    if stated.high is not None and claimed.high is None:
        both = {stated.value, stated.high} <= values_of(case.claim)
        end = {">": stated.value, "<": stated.high}.get(mine, math.inf)
        if both or _close(claimed.value, end):
            return ""
        return f"the quote gives the range {shown}, the claim one end of it"
    # "A little under forty" is about forty, and less.
    if mine == theirs or (theirs, mine) == ("", "~") or mine and "≈" in (mine, theirs):
        return ""
    limit = _LIMITS.get(mine or theirs) if "" in (mine, theirs) else None
    if limit and limit.search(case.claim if theirs else f"{whole} {case.about}"):
        return ""
    return f"the quote gives {shown} {_SHOWN[theirs]}, the claim {_SHOWN[mine]}"
