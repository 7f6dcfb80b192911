"""Numbers and names of a claim: they stand in its quote, with their units and bounds, and belong to each other as there."""

import math
import re
from collections.abc import Iterator

from kb.claims.case import Case
from kb.claims.names import names_in
from kb.text import Number, numbers_in, unit_of, words_of

_SPELT = {w: float(n) for n, w in enumerate("zero one two three four five six seven eight nine ten eleven twelve".split())} | {
    "half": 0.5, "twice": 2.0, "double": 2.0, "doubled": 2.0, "doubles": 2.0, "halved": 0.5, "halves": 0.5, "triple": 3.0, "dozen": 12.0, "once": 1.0,
}  # fmt: skip


def numbers(case: Case) -> str:
    """Every number of the claim stands in its quote, with its unit and its bound."""
    stated = _numbers(case.quote)
    spelt = {_SPELT[w] for w in words_of(case.quote) if w in _SPELT}
    for number in _numbers(case.claim):
        written = case.claim[number.start : number.end].strip()
        same = [n for n in stated if _same_value(number, n)]
        if not same and not (number.value in spelt and not number.unit):
            return f"the number {written} does not stand in the quote"
        if same and not any(_same_unit(number, n, case) for n in same):
            units = " or ".join(sorted({n.unit or "no unit" for n in same}))
            return f"{written}: the quote gives this number with {units}"
        if same and (reason := _bound(case, number, same[0])):
            return reason
    for word in words_of(case.claim):
        value = _SPELT.get(word)
        if (
            value is not None
            and word not in ("zero", "one", "once", "half")
            and value not in spelt
            and all(n.value != value for n in stated)
        ):
            return f"“{word}” does not stand in the quote"
    return ""


def _numbers(text: str) -> list[Number]:
    """Numbers of a text; one without a unit shares that of the next behind "and", "to", "or" or a comma (`from 67 to 65 t/s`)."""
    found = list(numbers_in(text))
    for at in range(len(found) - 2, -1, -1):
        this, following = found[at], found[at + 1]
        if (
            not this.unit
            and following.unit
            and re.fullmatch(r"\s*(?:and|to|or|,|→|->)\s*", text[this.end : following.start])
        ):
            found[at] = this._replace(unit=following.unit)
    return found


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


def _same_unit(claimed: Number, stated: Number, case: Case) -> bool:
    if not claimed.unit:
        # A number may leave a unit to its words; a rate or share that turns into a count is another statement.
        return (
            not stated.unit or stated.unit in words_of(case.claim) or unit_of(stated.unit) is None
        )
    mine, theirs = unit_of(claimed.unit), unit_of(stated.unit)
    if mine and theirs:
        return mine.dimension == theirs.dimension
    if claimed.unit == stated.unit:
        return True
    # A unit that only one side writes beside its number must stand in the quote as a word ("Latency (ms): 12").
    spelt = [unit_of(w) for w in re.findall(r"[A-Za-zµμ%×]+(?:/[A-Za-z]+)*", case.quote)]
    return not stated.unit and mine is not None and any(u and u.name == mine.name for u in spelt)


_UPPER = re.compile(
    r"\b(?:up to|at most|no more than|less than|fewer than|under|below|maximum|within|not more than|as much as)\s*$",
    re.IGNORECASE,
)
_LOWER = re.compile(
    r"\b(?:at least|more than|no less than|over|above|exceeds?|minimum|beyond)\s*$", re.IGNORECASE
)
_BETWEEN = 24


def _bound(case: Case, claimed: Number, stated: Number) -> str:
    mine, theirs = _bound_of(case.claim, claimed), _bound_of(case.quote, stated)
    if mine == theirs:
        return ""
    shown = {"": "as exact", "<": "as an upper bound", ">": "as a lower bound"}
    return f"the quote gives {case.quote[stated.start : stated.end].strip()} {shown[theirs]}, the claim {shown[mine]}"


def _bound_of(text: str, number: Number) -> str:
    before = text[max(0, number.start - _BETWEEN) : number.start]
    if number.bound:
        return number.bound[0]
    return "<" if _UPPER.search(before) else ">" if _LOWER.search(before) else ""


def names(case: Case) -> str:
    """Names and symbols of the claim stand in the quote, or in the heading that the quote stands under."""
    have = {n.key for n in names_in(case.quote)} | {n.key for n in names_in(case.about)}
    plain = f"{case.quote} {case.about}".casefold()
    for name in names_in(case.claim, known=case.known):
        if name.key not in have and name.text.casefold() not in plain:
            return f"“{name.text}” does not stand in the quote"
    return ""


def subjects(case: Case) -> str:
    """A number keeps the name that it belongs to: of several names in a quote the one of its own clause, in a table that of its column."""
    keys = {n.key for n in names_in(case.quote, known=case.known)} | {
        n.key for n in names_in(case.about)
    }
    stated = _owners(case.quote, case.known)
    columns = {
        abs(n.value): {m.key for m in names_in(header)}
        for cell, header in case.columns
        for n in numbers_in(cell)
    }
    headers = {n.key for _, header in case.columns for n in names_in(header)}
    for value, owners in _owners(case.claim, case.known).items():
        mine, theirs = owners & keys, stated.get(value, set())
        if value in columns:
            # The label of a row names its cells too; which of them it is, the header says.
            mine, theirs = owners & headers, columns[value]
        if mine and theirs and not mine & theirs:
            return f"in the quote {value:g} belongs to {', '.join(sorted(theirs))}, not to {', '.join(sorted(mine))}"
    return ""


_CLAUSE = re.compile(
    r";\s|:\s(?!\W*\d)|,\s|\s[-–—]\s|\b(?:while|whereas|but|and|versus|vs\.?|against|compared|than|over)\b|[.!?]\s|\||\n"
)


def clauses_of(text: str) -> Iterator[str]:
    """Clauses of a text; what stands in brackets belongs to the clause before them."""
    start = 0
    for mark in _CLAUSE.finditer(text):
        if text.count("(", start, mark.start()) <= text.count(")", start, mark.start()):
            yield text[start : mark.start()]
            start = mark.end()
    yield text[start:]


# What stands in brackets without a number explains, and owns nothing.
_ASIDE = re.compile(r"\([^()\d]*\)")


def _owners(text: str, known: frozenset[str]) -> dict[float, set[str]]:
    """For each number of a text the names of its clause; where that has none, those of the clause before."""
    owners: dict[float, set[str]] = {}
    last: set[str] = set()
    for clause in clauses_of(text):
        present = {n.key for n in names_in(_ASIDE.sub(" ", clause), known=known) if not n.counted}
        last = present or last
        for number in numbers_in(clause):
            if last:
                owners.setdefault(abs(number.value), set()).update(last)
    return owners
