"""A quote found again in captured text, up to white space, hyphenation, Unicode forms, markup and counted lines, with its place.

Refuses stitched quotes, quotes that begin or end inside a word or a number, and guesses: a quote stands there whole or it does not.
"""

import re
import unicodedata
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from kb.text.words import UNSPACED

_QUOTES = str.maketrans("‘’‚‛“”„‟′″«»", '\'\'\'\'""""\'"""')
_DASHES = "‐‑‒–—―−"
_HIDDEN = ("Cf", "Mn")
# A link shows its text; its address is no part of what is read.
_ADDRESS = re.compile(r"(?<=\])\([^()\s]*(?:\s\"[^\"\n]*\")?\)")
# Thousands set apart by blanks or commas.
GROUPED = re.compile(r"(?<![\w.,])\d{1,3}(?:[ ,\u00a0\u2009\u202f]\d{3})+(?![\w.,]*\d)")
# A number that opens a line and may count it.
_COUNTED = re.compile(r"^[ \t]*(\d{1,5})(?=[ \t]|$)", re.MULTILINE)
# Fewer counted lines may be a list.
_FEWEST_COUNTED = 12
# No part of the plain form: hyphens inside words (with the line break behind them), blanks before % and ×, stars of emphasis, second blanks.
_SECOND = re.compile(r"(?<= ) ")
_DROPPED = re.compile(
    r"(?<=[^\W\d_])-(?=[^\W\d_])|(?<=[^\W\d_])- (?=[a-zß-öø-ÿ])|(?<=\d) (?=%|x(?![^\W\d_]))|(?<!\w)\*|\*(?!\w)|(?<= )\*? "
)


@dataclass(frozen=True, slots=True)
class Span:
    """Where a quote stands: characters `start` to `end` (excluded) of the captured text."""

    start: int
    end: int


class Quotes:
    """A text made ready for finding quotes in it."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._shown = _plain(text, frozenset())

    @cached_property
    def _uncounted(self) -> tuple[str, list[int]] | None:
        """The plain form without the numbers that count the lines of a printed page."""
        counts = list(_COUNTED.finditer(self.text))
        follow = [b for a, b in pairwise(counts) if int(b[1]) == int(a[1]) + 1]
        if len(follow) < _FEWEST_COUNTED:
            return None
        return _plain(self.text, {at for count in follow for at in range(*count.span())})

    def find(self, quote: str) -> Span | None:
        """The first place where the whole quote stands by itself, or None."""
        span = _place(quote, *self._shown)
        return span or (_place(quote, *self._uncounted) if self._uncounted else None)


def _place(quote: str, plain: str, places: list[int]) -> Span | None:
    wanted = _plain(quote, frozenset())[0].strip()
    at = plain.find(wanted) if wanted else -1
    while at >= 0:
        end = at + len(wanted)
        if not _cut_into(plain, at, end):
            return Span(places[at], places[end - 1] + 1)
        at = plain.find(wanted, at + 1)
    return None


def _plain(text: str, left_out: set[int] | frozenset[int]) -> tuple[str, list[int]]:
    """The plain form of a text without some of its characters, and where each of the others stands in it."""
    hidden = {n for m in _ADDRESS.finditer(text) for n in range(*m.span())} | left_out
    hidden |= {n for m in GROUPED.finditer(text) for n in range(*m.span()) if not text[n].isdigit()}
    signs = [
        (form, at) for at, sign in enumerate(text) if at not in hidden for form in _forms(sign)
    ]
    for pattern in (_SECOND, _DROPPED, _SECOND):
        plain = "".join(form for form, _ in signs)
        dropped = {at for match in pattern.finditer(plain) for at in range(*match.span())}
        signs = [sign for at, sign in enumerate(signs) if at not in dropped]
    return "".join(form for form, _ in signs), [at for _, at in signs]


def _forms(sign: str) -> str:
    """What a character is in the plain form."""
    if sign.isascii():
        return " " if sign.isspace() or sign in "|\0" else "" if sign in "`[]" else sign
    if sign in _DASHES:
        return "-"
    if sign == "×":
        return "x"
    if unicodedata.category(sign) in _HIDDEN:
        return ""
    if sign.isspace():
        return " "
    # A superscript is no digit of the number before it; ligatures and full-width forms are the letters they show, and an accent that
    # stands apart is the one of the letter before it.
    form = sign if unicodedata.category(sign)[0] == "N" else unicodedata.normalize("NFKD", sign)
    return "".join(c for c in form if unicodedata.category(c) not in _HIDDEN).translate(_QUOTES)


# Two characters between which no quote begins or ends: of one word, of one number, or a number and its sign.
_WITHIN = re.compile(r"[^\W_]{2}|_\w|\w_|[-+±~<>≤≥≈]\d")


def _cut_into(plain: str, start: int, end: int) -> bool:
    """Whether a quote begins or ends inside a word or a number, or leaves the sign of its first number behind."""
    first, last = plain[max(0, start - 1) : start + 1], plain[end - 1 : end + 1]
    points = (plain[max(0, start - 2) : start + 1], plain[end - 1 : end + 2])
    # Where a script sets no blanks between words, none tells where one begins.
    return (
        bool(_WITHIN.fullmatch(first) and not UNSPACED.search(first))
        or bool(re.fullmatch(r"[^\W_]{2}|_\w|\w_", last) and not UNSPACED.search(last))
        or any(re.fullmatch(r"\d[.,]\d", at) for at in points)
    )
