"""Numbers and names of a claim: they stand in its quote, with their units and bounds."""

import math
import re
from collections.abc import Iterator

from kb.claims.captured import GROUPED, REFERS
from kb.claims.case import ClaimCase, meant
from kb.claims.names import names_in
from kb.text import STOP, Number, fold, numbers_in, stem, unit_of, words_of

_SPELT = {w: float(n) for n, w in enumerate(
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen".split()
)} | {w: 10.0 * n for n, w in enumerate("twenty thirty forty fifty sixty seventy eighty ninety".split(), 2)} | {
    "hundred": 100.0, "thousand": 1000.0,
    "half": 0.5, "twice": 2.0, "double": 2.0, "doubled": 2.0, "doubles": 2.0, "halved": 0.5, "halves": 0.5, "triple": 3.0, "dozen": 12.0, "once": 1.0,
}  # fmt: skip
# Behind these "3 to 5" is a range; behind most other words it is a move.
_WITHIN = (" in", " of", " takes", " costs", " needs", " within", " about")
# Words that stand for no number as often as for one.
_IDLE = ("zero", "one", "once", "half")


def numbers(case: ClaimCase) -> str:
    """Every number of the claim stands in its quote, with its unit and its bound."""
    stated = [tuple(_readings(n, case.quote, case.columns)) for n in numbers_of(case.quote)]
    return next(
        (reason for n in numbers_of(case.claim) if (reason := _number(case, n, stated))), ""
    )


def _number(case: ClaimCase, number: Number, stated: list[tuple[Number, ...]]) -> str:
    written = case.claim[number.start : number.end].strip()
    if written.lower() in _IDLE or _titled(written, case.about):
        return ""
    mine = tuple(_readings(number, case.claim))
    same = [s for s in stated if any(_same_value(m, r) for m in mine for r in s)]
    fitting = [s for s in same if _agree(mine, s, case)]
    if not same:
        spelt = not any(c.isdigit() for c in written)
        if _told_before(case, number) or spelt and written.lower() in words_of(case.quote):
            return ""
        return f"{f'“{written}”' if spelt else f'the number {written}'} does not stand in the quote"
    if not fitting:
        units = " or ".join(sorted({s[-1].unit or "no unit" for s in same}))
        return f"{written}: the quote gives this number with {units}"
    reasons = [_bound(case, number, s[0]) for s in fitting]
    return reasons[0] if all(reasons) else ""


def _titled(written: str, about: str) -> bool:
    """Whether a number stands in the headings above the quote as it is written: the version that a release note is about."""
    return (
        re.search(rf"(?<![\w.]){re.escape(written)}(?![\w.]*\d)", about, re.IGNORECASE) is not None
    )


def _told_before(case: ClaimCase, number: Number) -> bool:
    """Whether a number of the claim stands in what the quote refers to, before the same word."""
    follower = following(case.claim, number)
    return bool(follower) and any(
        _same_value(number, n) and following(case.before, n) == follower
        for n in numbers_of(case.before)
    )


def _agree(mine: tuple[Number, ...], stated: tuple[Number, ...], case: ClaimCase) -> bool:
    """Whether one reading of a claimed number is one of a stated number; where both say per what, that must be the same."""
    if "/" in mine[-1].unit and "/" in stated[-1].unit:
        mine, stated = mine[-1:], stated[-1:]
    return any(_same_value(m, s) and _same_unit(m, s, case) for m in mine for s in stated)


_BEHIND = re.compile(r"\s+(per\s+)?([a-zµ%]+)\b")
# The unit in a header: `Step (ms)`, `latency [us]`, `time, s`.
_HEADED = re.compile(r"[(\[]([^()\[\]]+)[)\]]\s*$|,\s*(\S+)\s*$")


def _readings(
    number: Number, text: str, columns: tuple[tuple[str, str, str], ...] = ()
) -> Iterator[Number]:
    """A number as written, then with what the words behind it or the header of its column add to its unit."""
    yield number
    behind = _BEHIND.match(text, number.end)
    if behind and unit_of(behind[2]) and bool(behind[1]) == bool(number.unit):
        yield number._replace(
            unit=f"{number.unit}/{behind[2]}" if number.unit else behind[2],
        )
    for cell, header, _ in columns if not number.unit else ():
        headed = _HEADED.search(header)
        unit = headed and (headed[1] or headed[2])
        if unit and unit_of(unit) and any(n.value == number.value for n in numbers_of(cell)):
            yield number._replace(unit=unit)


def numbers_of(text: str) -> list[Number]:
    """Numbers of a text in order, in digits and in words; one without a unit shares that of the next behind "and", "to", "or" or a comma
    (`from 67 to 65 t/s`), and what stands "between" two is a range.
    """
    text = GROUPED.sub(lambda m: re.sub(r"[ \u00a0]", "\u2009", m[0]), text)
    found = list(numbers_in(text))
    for at in range(len(found) - 2, -1, -1):
        this, following = found[at], found[at + 1]
        joint = re.fullmatch(r"\s*(and|to|or|,|→|->)\s*", text[this.end : following.start])
        shared = joint is not None and not this.unit
        if shared and following.unit:
            this = found[at] = this._replace(unit=following.unit)
        before = text[: this.start].rstrip()
        spans = joint and (
            joint[1] == "and"
            and before.endswith("between")
            or joint[1] == "to"
            and shared
            and before.endswith(_WITHIN)
        )
        if spans and this.value < following.value:
            found[at : at + 2] = [this._replace(high=following.value, end=following.end)]
    return sorted([*found, *_spelt(text)], key=lambda n: n.start)


def _spelt(text: str) -> Iterator[Number]:
    """Numbers in words, as wholes: `two hundred`, `twenty-five`."""
    last: Number | None = None
    # A number that a hyphen ties to a word is a part of its name: the two-pass form.
    for word in re.finditer(rf"[a-z]+(?!-(?!(?:{'|'.join(_SPELT)})\b)[a-z])", text.lower()):
        value = _SPELT.get(word[0])
        joined = last is not None and not text[last.end : word.start()].strip(" -\n")
        if value is not None and last and joined and (value >= 100 or last.value >= 20 > value):
            whole = last.value * value if value >= 100 else last.value + value
            last = last._replace(value=whole, end=word.end())
            continue
        if last:
            yield last
        last = None if value is None else Number(value, "", word.start(), word.end())
    if last:
        yield last


def _values(number: Number) -> Iterator[float]:
    yield number.value
    if number.high is not None:
        yield number.high


def _same_value(claimed: Number, stated: Number) -> bool:
    """Whether two numbers are one, as written or in another unit of the same kind; a sign may be told in words, and left out."""
    factor = _factor(claimed, stated)
    if claimed.signed and stated.signed and claimed.value * stated.value < 0:
        return False
    if claimed.spread is not None and (
        stated.spread is None or not _close(claimed.spread * factor, stated.spread)
    ):
        return False
    have = [abs(v) for v in _values(stated)]
    return all(any(_close(abs(v) * factor, h) for h in have) for v in _values(claimed))


def _close(a: float, b: float) -> bool:
    return math.isclose(a, b, rel_tol=1e-9)


def _factor(claimed: Number, stated: Number) -> float:
    mine, theirs = unit_of(claimed.unit), unit_of(stated.unit)
    return (
        mine.factor / theirs.factor
        if mine and theirs and mine.dimension == theirs.dimension
        else 1.0
    )


def _same_unit(claimed: Number, stated: Number, case: ClaimCase) -> bool:
    if not claimed.unit:
        # A number may leave a unit to its words; a rate or share that turns into a count is another statement.
        return (
            not stated.unit or stated.unit in words_of(case.claim) or unit_of(stated.unit) is None
        )
    mine, theirs = unit_of(claimed.unit), unit_of(stated.unit)
    if mine and theirs:
        # A share is no difference of shares.
        return mine.dimension == theirs.dimension and (
            mine.dimension != "share" or mine.name == theirs.name
        )
    if claimed.unit == stated.unit:
        return True
    # A unit that only one side writes beside its number must stand in the quote as a word ("Latency (ms): 12").
    spelt = [
        unit_of(w)
        for w in re.findall(
            r"[A-Za-zµμ%×]+(?:/[A-Za-z]+)*", f"{case.quote} {case.before} {case.heading}"
        )
    ]
    return not stated.unit and mine is not None and any(u and u.name == mine.name for u in spelt)


_UPPER = re.compile(
    r"\b(?:up to|at most|no more than|no \w+er than|(?:less|fewer|smaller|shorter|lower) than|under|below|maximum|within|not more than|as much as)\s*$",
    re.IGNORECASE,
)
_LOWER = re.compile(
    r"\b(?:at least|(?:more|larger|greater|longer|higher) than|no less than|(?<!mean )over|above|exceeds?|minimum|beyond)\s*$",
    re.IGNORECASE,
)
_ABOUT = re.compile(
    r"\b(?:about|around|roughly|approximately|nearly|almost|circa|some)\s*$", re.IGNORECASE
)
_UPPER_BEHIND = re.compile(r"\s*(?:at most|(?:or|and) (?:less|fewer|lower|below|older|earlier))\b")
_LOWER_BEHIND = re.compile(r"\s*(?:at least|(?:or|and) (?:more|higher|above|newer|later|up))\b")
_BETWEEN = 24
_SHOWN = {"": "as exact", "<": "as an upper bound", ">": "as a lower bound", "~": "as approximate"}


def _bound(case: ClaimCase, claimed: Number, stated: Number) -> str:
    mine = _bound_of(case.claim, claimed.start, claimed)
    # What bounds a number may stand before the quote.
    at = max(case.sentence.find(case.quote), 0)
    whole = case.sentence if case.quote in case.sentence else case.quote
    theirs = _bound_of(whole, at + stated.start, stated)
    shown = case.quote[stated.start : stated.end].strip()
    if stated.high is not None and claimed.high is None:
        ends = {stated.value, stated.high}
        if (
            mine == ">"
            and _close(claimed.value, stated.value)
            or mine == "<"
            and _close(claimed.value, stated.high)
        ):
            return ""
        if ends <= {n.value for n in numbers_of(case.claim)}:
            return ""
        return f"the quote gives the range {shown}, the claim one end of it"
    if mine == theirs or (theirs, mine) == ("", "~"):
        return ""
    return f"the quote gives {shown} {_SHOWN[theirs]}, the claim {_SHOWN[mine]}"


def _bound_of(text: str, start: int, number: Number) -> str:
    before, behind = text[max(0, start - _BETWEEN) : start], start + number.end - number.start
    if number.bound:
        return number.bound[0]
    if _UPPER.search(before) or _UPPER_BEHIND.match(text, behind):
        return "<"
    if _LOWER.search(before) or _LOWER_BEHIND.match(text, behind):
        return ">"
    return "~" if number.about or _ABOUT.search(before) else ""


def names(case: ClaimCase) -> str:
    """Names and symbols of the claim stand in the quote. One may come from the headings above it, from the sentence before or around it,
    where the claim leaves out none that stands there instead.
    """
    part = meant(case)
    if REFERS.match(part):
        part = case.sentence
    texts = (case.claim, case.quote, case.about, part, case.before)
    claimed, have, headed, around, before = (
        {n.key for n in names_in(text, known=case.known) if not n.counted or text is not part}
        for text in texts
    )
    for name in names_in(case.claim, known=case.known):
        written = name.text.casefold()
        if name.key in have or written in case.quote.casefold():
            continue
        above = name.key in headed or written in case.about.casefold()
        # What stands nearer in its place goes before it.
        rivals = (
            around - headed if name.key in around else have & around if above else around
        ) - claimed
        if (
            not above
            and name.key not in around | before
            and written not in case.before.casefold()
            or rivals
        ):
            instead = f", which speaks of {', '.join(sorted(rivals))}" if rivals else ""
            return f"“{name.text}” does not stand in the quote{instead}"
    return ""


def following(text: str, number: Number) -> str:
    """Stem of the word that a number counts: the next one behind it, further numbers of a list or a range passed over."""
    behind = re.match(
        r"(?:[\s,]|and\b|to\b|or\b|→|->|[\d.,]+(?=\s))*([^\W\d_]{3,})", text[number.end :]
    )
    return stem(fold(behind[1])) if behind and fold(behind[1]) not in STOP else ""
