"""Names and symbols in a sentence: code, identifiers, versions, abbreviations, and words in capitals that are not there for the grammar."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from kb.text import STOP, fold, numbers_in, stem, unit_of
from kb.text.spelt import SPELT

_WORD = re.compile(
    r"`([^`]+)`|\d{1,3}(?:,\d{3})+[\w\-]*|[A-Za-zÀ-ÖØ-öø-ɏΑ-ωА-я0-9][\w.+\-/#]*[\w+#]|[A-Za-zÀ-ÖØ-öø-ɏΑ-ωА-я]"
)


@dataclass(frozen=True, slots=True)
class Name:
    """One name as written; `key` is its spelling for comparison, `form` tells which names may stand in each other's place."""

    text: str
    key: str
    form: str


def names_in(text: str, *, known: frozenset[str] | None = None) -> Iterator[Name]:
    """Names of a text in order. The first word of a sentence is one only where `known` (stems of a source) lacks it in small letters,
    or where its form alone shows it. Digits that are read as no number (2.7.1, 512³, a day) are one; without `known` a capital there shows nothing.
    """
    end = 0
    read = {at for n in numbers_in(text) for at in range(n.start, n.end)}
    for match in _WORD.finditer(text):
        first = not end or _OPENING.search(text[end : match.start()]) is not None
        word, end = match[1] or match[0], match.end()
        # A single capital names the thing before it: device A, chip B.
        lettered = word.isupper() and len(word) == 1 and _LETTERED.search(text[: match.start()])
        if match[1] is None and not lettered and _measures(word, text, match.start(), read):
            continue
        capital = word[0].isupper() and len(word) > 1 and (not first or _opens(word, known))
        if match[1] is not None or _shaped(word) or lettered or capital:
            yield Name(word, _key(word), _form(word))


@lru_cache(1 << 10)
def forms_of(text: str, known: frozenset[str]) -> dict[str, str]:
    """Keys of the names of a text with their forms. Kept: the same sentences stand around many claims."""
    return {name.key: name.form for name in names_in(text, known=known)}


_OPENING = re.compile(r"[.!?:][^\w,;]*$|\n")
_LETTERED = re.compile(r"\b[A-Za-z][a-z]{3,} $")
_NUMERIC = re.compile(
    r"[\d.,:/+\-]+(?:[a-zA-Zµ%×]{1,4}(?:/[a-z]+)?)?|(?P<counting>\d[\d.,]*-[a-z]{3,})"
)


def _measures(word: str, text: str, start: int, read: set[int]) -> bool:
    """Whether a word is a number, what it counts (64-byte), or a unit."""
    number = _NUMERIC.fullmatch(word)
    rate = "/" in word and text[max(0, start - 2) : start].strip()[-1:].isdigit()
    degrees = text[:start].endswith("degrees ")
    return bool(
        unit_of(word) or rate or degrees or number and (number["counting"] or start in read)
    )


def _opens(word: str, known: frozenset[str] | None) -> bool:
    """Whether the first word of a sentence names something: its source never writes it small, and it is no word of grammar."""
    return (
        known is not None
        and fold(word).partition("-")[0] not in SPELT
        and stem(fold(word)) not in known
        and not _GRAMMAR.fullmatch(word)
        and fold(word) not in STOP
    )


# Words that open a sentence and name nothing.
_GRAMMAR = re.compile(
    r"(?:A|An|The|Relative|Compared|Contrary|According|Thanks|Due|This|That|These|Those|Its?|Their|They|We|There|Here|Such|Other|Another|Several|Many|Most|Few|Some|All|Each|Every|Both|Either|"
    r"Neither|None|No|Not|Only|Even|Also|More|Less|Fewer|Much|One|Two|Three|In|On|At|For|With|Without|Within|By|Of|To|From|Into|Onto|Under|Over|Above|"
    r"Below|Between|Among|Across|During|Through|Per|As|Than|Beside|Besides|Despite|Although|Though|Because|Since|Until|Unless|Once|Then|Thus|So|"
    r"When|Where|While|Whereas|If|After|Before|How|What|Which|Who|Why|And|Or|But|Yet)|[A-Z][a-z]+(?:ing|ed|er|est|ly|[st]ion|ity|ness|ment|s)"
)


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
