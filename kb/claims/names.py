"""Names and symbols in a sentence: code, identifiers, versions, abbreviations, and words in capitals that are not there for the grammar."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from kb.claims.case import ClaimCase
from kb.text import fold, numbers_in, unit_of

_WORD = re.compile(
    r"`([^`]+)`|\d{1,3}(?:,\d{3})+[\w\-]*|[A-Za-zÀ-ÖØ-öø-ɏΑ-ωА-я0-9][\w.+\-/#]*[\w+#]|[A-Za-zÀ-ÖØ-öø-ɏΑ-ωА-я]"
)
_OPENING = re.compile(r"[.!?:][^\w,;]*$|\n")
_LETTERED = re.compile(r"\b[A-Za-z][a-z]{3,} $")
_COUNTING = re.compile(r"\d[\d.,]*-[a-z]{3,}")


@dataclass(frozen=True, slots=True)
class Name:
    """One name as written; `key` is its spelling for comparison, `form` tells which names may stand in each other's place."""

    text: str
    key: str
    form: str


def names_in(text: str) -> Iterator[Name]:
    """Names of a text in order: by its form, or by a capital inside a sentence. Digits that are read as no number (2.7.1, 512³, a day) are one."""
    end = 0
    read = {at for n in numbers_in(text) for at in range(n.start, n.end)}
    for match in _WORD.finditer(text):
        first = not end or _OPENING.search(text[end : match.start()]) is not None
        word, end = match[1] or match[0], match.end()
        # A single capital names the thing before it: device A, chip B.
        lettered = word.isupper() and len(word) == 1 and _LETTERED.search(text[: match.start()])
        if match[1] is None and not lettered and _measures(word, text, match.start(), read):
            continue
        capital = word[0].isupper() and len(word) > 1 and not first
        if match[1] is not None or _shaped(word) or lettered or capital:
            yield Name(word, _key(word), _form(word))


@lru_cache(1 << 10)
def forms_of(text: str) -> dict[str, str]:
    """Keys of the names of a text with their forms. Kept: the same sentences stand around many claims."""
    return {name.key: name.form for name in names_in(text)}


def _measures(word: str, text: str, start: int, read: set[int]) -> bool:
    """Whether a word is a number, what it counts (64-byte), or a unit."""
    return bool(
        unit_of(word)
        or _COUNTING.fullmatch(word)
        or read.issuperset(range(start, start + len(word)))
        or text[:start].endswith("degrees ")
        or ("/" in word and text[max(0, start - 2) : start].strip()[-1:].isdigit())
    )


def _shaped(word: str) -> bool:
    """Whether a word shows by its form that it names something: digits beside letters, inner capitals, underscores, all capitals."""
    marked = any(c.isupper() or c.isdigit() for c in word[1:])
    return marked or "_" in word or word[0].isdigit() or word.startswith("--")


def _key(word: str) -> str:
    """The form in which two spellings of a name are one: small letters and digits alone, a plural's s dropped from an abbreviation."""
    bare = word[:-1] if len(word) > 2 and word[-1] == "s" and word[:-1].isupper() else word
    return "".join(c for c in fold(bare) if c.isalnum())


def _form(word: str) -> str:
    """Which kind of name a word is: code, a label of one letter or with digits, all capitals, or a plain word."""
    if any(c in "_.=" for c in word) or word.startswith("-"):
        return "code"
    if len(word) == 1 or any(map(str.isdigit, word)):
        return "label"
    return "capitals" if word.isupper() else "word"


def names(case: ClaimCase) -> str:
    """Names and symbols of the claim stand somewhere in its source."""
    return _strange(case, "code", "label", "word")


def _strange(case: ClaimCase, *forms: str) -> str:
    """What says of a name of some forms that it does not stand in the source."""
    written = _apart(case.whole)
    strange = (
        f"“{n.text}” does not stand in the source"
        for n in names_in(case.claim)
        if n.form in forms
        and n.key not in forms_of(case.whole)
        and _apart(n.text) not in written
        and n.key not in forms_of(case.context)
    )
    return next(strange, "")


def nearest_names(case: ClaimCase) -> str:
    """No name of the same form that the claim leaves out stands nearer: in the quote, or, where the claim's comes from anywhere in the
    source, around the quote. There a plain word with a capital is a person as often as a thing. Capitals alone may be short for what the
    source spells: RAM.
    """
    if short := _strange(case, "capitals"):
        return short
    quoted = forms_of(case.spelt_out(case.quote))
    around = " · ".join(case.spelt_out(t) for t in (case.about, case.meant, case.lead))
    over = forms_of(case.heading)
    coded = {key: form for key, form in forms_of(around).items() if form != "word"}
    words = ("".join(filter(str.isalnum, word)) for word in fold(case.claim).split())
    claimed = {*forms_of(case.spelt_out(case.claim)), *words}
    for name in names_in(case.claim):
        if name.key in quoted or _apart(name.text) in _apart(case.quote):
            continue
        nearer = quoted if _apart(name.text) in _apart(around) else quoted | coded
        # What the heading names alone is what all below it is about.
        nearer = {k: form for k, form in nearer.items() if k in over or name.key not in over}
        rivals = sorted(k for k, form in nearer.items() if form == name.form and k not in claimed)
        if rivals:
            return f"“{name.text}” does not stand in the quote, which speaks of {', '.join(rivals[:4])}"
    return ""


@lru_cache(1 << 10)
def _apart(text: str) -> str:
    """Letters and digits of a text, with one blank around each run of them."""
    words = "".join(c if c.isalnum() else " " for c in text.casefold()).split()
    return f" {' '.join(words)} "
