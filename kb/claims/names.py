"""Names and symbols in a sentence: code, identifiers, versions, abbreviations, and words in capitals that are not there for the grammar."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from kb.claims.case import ClaimCase, meant
from kb.text import fold, numbers_in, unit_of

_WORD = re.compile(
    r"`([^`]+)`|\d{1,3}(?:,\d{3})+[\w\-]*|[A-Za-zÀ-ÖØ-öø-ɏΑ-ωА-я0-9][\w.+\-/#]*[\w+#]|[A-Za-zÀ-ÖØ-öø-ɏΑ-ωА-я]"
)


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


_OPENING = re.compile(r"[.!?:][^\w,;]*$|\n")
_LETTERED = re.compile(r"\b[A-Za-z][a-z]{3,} $")
_COUNTING = re.compile(r"\d[\d.,]*-[a-z]{3,}")


def _measures(word: str, text: str, start: int, read: set[int]) -> bool:
    """Whether a word is a number, what it counts (64-byte), or a unit."""
    rate = "/" in word and text[max(0, start - 2) : start].strip()[-1:].isdigit()
    degrees = text[:start].endswith("degrees ")
    number = read.issuperset(range(start, start + len(word)))
    return bool(unit_of(word) or rate or degrees or number or _COUNTING.fullmatch(word))


def _shaped(word: str) -> bool:
    """Whether a word shows by its form that it names something: digits beside letters, inner capitals, underscores, all capitals."""
    letters = [c for c in word if c.isalpha()]
    if not letters:
        return any(c.isdigit() for c in word)
    return (
        any(c.isdigit() for c in word)
        or "_" in word
        or any(c.isupper() for c in word[1:])
        or word.startswith("--")
    )


def _key(word: str) -> str:
    """The form in which two spellings of a name are one: small letters and digits alone, a plural's s dropped from an abbreviation."""
    bare = word[:-1] if len(word) > 2 and word[-1] == "s" and word[:-1].isupper() else word
    return "".join(c for c in fold(bare) if c.isalnum())


def _form(word: str) -> str:
    """Which kind of name a word is: code, a label of one letter or with digits, all capitals, or a plain word."""
    if any(c in "_.=" for c in word) or word.startswith("-"):
        return "code"
    labels = len(word) == 1 or any(map(str.isdigit, word))
    return "label" if labels else "capitals" if word.isupper() else "word"


def names(case: ClaimCase) -> str:
    """Names and symbols of the claim stand in the quote or somewhere in its source, and no name of the same form that the claim leaves
    out stands nearer: in the quote, above it, in the part of the sentence around it, before it in its paragraph, or in the one before.
    """
    part = meant(case)
    near = (case.quote, case.about, part, case.lead, case.before)
    levels = [(_apart(text), forms_of(text)) for text in (*map(case.spelt_out, near), case.whole)]
    quoted = forms_of(case.quote)
    claimed = forms_of(case.spelt_out(case.claim))
    claimed = {*claimed, *("".join(filter(str.isalnum, w)) for w in fold(case.claim).split())}
    for name in names_in(case.claim):
        written = _apart(name.text)
        stands = (n for n, (t, keys) in enumerate(levels) if name.key in keys or written in t)
        distance = next(stands, len(levels))
        nearer = _nearer(distance, quoted, [keys for _, keys in levels])
        alike = [key for key, form in nearer.items() if form == name.form]
        rivals = sorted(k for k in alike if k not in claimed)
        # Of several plain words with capitals one may be what the headings are about: it stands in no other's place.
        titled = distance == 1 and name.form == "word" and len(rivals) < len(alike)
        if distance == len(levels) or rivals and not titled:
            instead = f", which speaks of {', '.join(rivals)}" if rivals else ""
            return (
                f"“{name.text}” does not stand in the quote{instead}: quote the words that name it"
            )
    return ""


@lru_cache(1 << 10)
def _apart(text: str) -> str:
    """Letters and digits of a text, with one blank around each run of them."""
    words = "".join(c if c.isalnum() else " " for c in text.casefold()).split()
    return f" {' '.join(words)} "


def _nearer(distance: int, quoted: dict[str, str], levels: list[dict[str, str]]) -> dict[str, str]:
    """Names that stand nearer to a quote than those of a level, with their forms: 0 in it, 1 above, 2 around, 3 and 4 before it, 5 anywhere."""
    _, headed, around, lead, before, _ = levels
    if distance in (1, 2):
        return {k: f for k, f in around.items() if k in quoted or k not in headed and distance == 2}
    # A plain word with a capital is a person as often as a thing.
    coded = {k: f for k, f in {**headed, **lead, **before}.items() if f != "word"}
    further = ({}, {}, {}, {}, lead, coded)[min(distance, 5)]
    return {**quoted, **around, **further} if distance else {}
