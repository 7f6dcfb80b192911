"""Numbers as people write them, with unit, sign, spread, range and bound: `**67.04 ± 0.19 t/s**`, `−6.0 %`, `1,234.5`, `3–5 ms`, `~49`, `<= 2x`.

Refuses what only looks like a number: parts of names and versions (`v5e`, `2.7.1`), dates, `47.x`.
"""

import math
import re
from collections.abc import Iterator
from typing import NamedTuple

from kb import regex
from kb.text.units import AMBIGUOUS, unit_of


class Number(NamedTuple):
    """One number of a text. `start` and `end` are its place, unit included; `high` is the upper end of a range; `digits` how many stand behind the point.

    `unit` is as written; k and M before no unit are multiplied into the value. `bound` is one of < <= > >= or empty; `about` marks ~ and ≈.
    """

    value: float
    unit: str
    start: int
    end: int
    spread: float | None = None
    high: float | None = None
    bound: str = ""
    signed: bool = False
    about: bool = False
    digits: int = 0


_DIGITS = r"(?:\d{1,3}(?:[,\u202f\u2009_]\d{3})+(?!\d)(?:\.\d+)?|\d+(?:\.\d+)?|\.\d+)(?:[eE][+\-−]?\d{1,3}(?![\w.]))?"
_UNIT = r"%{1,2}|[×$]|[A-Za-zµμΩ²]{1,12}(?:-hours?)?(?:\s?/\s?[A-Za-zµμ]{1,10}){0,3}"
_NUMBER = regex(
    rf"(?P<mark>~|≈|<=|>=|≤|≥|<|>)?\s?(?P<money>\$)?(?P<sign>[+\-−±])?(?P<value>{_DIGITS})"
    rf"(?:(?P<scale>[kKM])(?![A-Za-zµ]))?"
    rf"(?:\s?(?:–|—|\.\.|-)\s?(?P<high>{_DIGITS})(?![\d.]*[-–])(?:(?P<scale2>[kKM])(?![A-Za-zµ]))?)?"
    rf"(?:\s*(?:±|\+/-|\+-)\s*(?P<spread>{_DIGITS}))?"
    rf"(?P<gap>[ \u00a0\u202f\u2009]?)(?P<unit>{_UNIT})?"
)
_BOUNDS = {"≤": "<=", "≥": ">=", "<": "<", ">": ">", "<=": "<=", ">=": ">="}
_SCALES = {"k": 1e3, "K": 1e3, "M": 1e6, "": 1.0}
_WRAPPED = regex(r"(\*{1,3}|_{1,2}|`{1,3}|~~)(.+?)\1", re.DOTALL)
# A digit is found fast; before that of a number stand a bound, a blank, a currency, a sign and a point at most.
_DIGIT, _BEFORE = regex(r"\d"), 6
_NAME = regex(r"[\w.]*")
_DATE = regex(r"\d{4}-\d{2}-\d{2}")


def numbers_in(text: str) -> Iterator[Number]:
    """Every number of a text, in order. A word behind a blank is its unit only where it is a known one or a rate (`12 layers` has none)."""
    at = 0
    while (digit := _DIGIT.search(text, at)) and (
        match := _NUMBER.search(text, max(at, digit.start() - _BEFORE))
    ):
        first = match.start("value")
        if text[first + 4 : first + 5] == "-" and (date := _DATE.match(text, first)):
            at = date.end()
            continue
        if number := _number(text, match) if _begins(text, match) else None:
            yield number
        # A name with digits in it is passed over whole.
        at = number.end if number else _NAME.match(text, match.end("value")).end()


def number_of(text: str) -> Number | None:
    """The number that a cell or a value states and nothing beside it, markdown emphasis apart; any word behind it counts as its unit."""
    shown = bare(text)
    match = _NUMBER.match(shown)
    if not match or not _begins(shown, match):
        return None
    number = _number(shown, match, any_unit=True)
    return number if number and not shown[number.end :].strip() else None


def bare(text: str) -> str:
    """A cell without the markdown emphasis around all of it."""
    text = text.strip()
    while (
        text[:1] in ("*", "_", "`", "~")
        and (match := _WRAPPED.fullmatch(text))
        and match[1] not in match[2]
    ):
        text = match[2].strip()
    return text


def _begins(text: str, match: re.Match[str]) -> bool:
    """Whether a number begins here, not in the middle of a name, a version or another number."""
    start = match.start("sign") if match["sign"] else match.start("value")
    before = text[start - 1] if start else ""
    if (
        before.isalnum()
        or before in ("_", ".", "/", "\\", "#", "@", ":")
        and start > 1
        and text[start - 2].isalnum()
    ):
        return False
    return not (match["sign"] == "-" and before and before in ")]}'\"")


def _number(text: str, match: re.Match[str], *, any_unit: bool = False) -> Number | None:
    unit, end = _unit_in(match, any_unit=any_unit)
    after = text[end : end + 1]
    if after.isalnum() or after == "_" or after == "." and text[end + 1 : end + 2].isalnum():
        return None  # The head of a name or a version: 4b_v2, 2.7.1, 47.x.
    mark, money, sign, digits, scale, upper, scale2, beside, *_ = match.groups("")
    factor = _SCALES[scale or scale2]
    value = _float(digits) * factor
    high = _float(upper) * _SCALES[scale2] if upper else None
    spread = _float(beside) * factor if beside else None
    if math.inf in (value, high, spread):
        return None
    plain = digits.partition("e")[0].partition("E")[0]
    return Number(
        -value if sign in _MINUS else value,
        "$" if money and not unit else unit.replace("%%", "%"),
        match.start("mark" if mark else "money" if money else "sign" if sign else "value"),
        end,
        spread,
        high,
        _BOUNDS.get(mark, ""),
        sign in _SIGNS,
        mark in ("~", "≈"),
        len(plain.partition(".")[2]),
    )


_MINUS = ("-", "−")
_SIGNS = ("+", *_MINUS)


def _unit_in(match: re.Match[str], *, any_unit: bool) -> tuple[str, int]:
    """The unit behind a number, empty for another word, and where the number ends with it."""
    unit = match["unit"] or ""
    # Behind a blank a letter, and a word of other meanings, is no unit.
    vague = match["gap"] and (unit in AMBIGUOUS or len(unit) == 1 and unit not in "%×shBWJ")
    if unit and (any_unit or not vague and unit_of("".join(unit.split()))):
        return unit, match.end("unit")
    return "", match.start("gap")


def _float(digits: str) -> float:
    return float(digits if digits.isdecimal() else digits.translate(_GROUPING))


_GROUPING = str.maketrans({",": None, "_": None, "\u202f": None, "\u2009": None, "−": "-"})


def number_text(value: float, *, digits: int = 6) -> str:
    """A number to read: whole numbers with every digit, others with that many significant ones, and never fewer than stand before the point."""
    if abs(value) < 1e15 and (value == int(value) or abs(value) >= 10 ** (digits - 1)):
        return f"{value:.0f}"
    return f"{value:.{digits}g}"
