"""One statement of a state and the page that it stands on; whether a statement repeats others."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from kb import regex
from kb.text import cut
from kb.trail.facts import Facts, Note
from kb.trail.handles import handle

_WORD = regex(r"[\w.=]+")
_LEVEL = regex(r"[a-z][a-z0-9_]{2,}|\d{3,}")


@dataclass(frozen=True, slots=True)
class Line:
    """One statement of a state: its text, the page that says it, and the `head` of the text that goes without saying below another of the same."""

    text: str
    path: str
    head: str = ""


def quoted(
    e: Facts, notes: Iterable[Note], before: list[str], *, most: int = 420
) -> Iterable[Line]:
    """Notes of a run that say something beside those quoted before."""
    for note in notes:
        if not repeats(note.text, before):
            before.append(note.text)
            name = f"{handle(e.path)}: "
            yield Line(f"{name}{cut(note.text, most)}", e.path, name)


def repeats(text: str, before: Sequence[str]) -> bool:
    """Whether more than two thirds of a text's words stand in one of the texts before it."""
    words = _all_words(text)
    return any(len(words & _all_words(t)) > 0.67 * len(words) for t in before)


@lru_cache(maxsize=1 << 13)
def _all_words(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(text.lower()))


@lru_cache(maxsize=1 << 13)
def words_of(text: str) -> frozenset[str]:
    """Words of a text that may tell a lever from another."""
    return frozenset(_LEVEL.findall(text.lower().replace("-", " ")))
