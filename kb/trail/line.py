"""One statement of a state and the page that it stands on; whether a statement repeats others."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

_WORD = re.compile(r"[\w.=]+")
_LEVEL = re.compile(r"[a-z][a-z0-9_]{2,}|\d{3,}")


@dataclass(frozen=True, slots=True)
class Line:
    """One statement of a state: its text, and the page that says it."""

    text: str
    path: str


def repeats(text: str, before: Sequence[str]) -> bool:
    """Whether more than two thirds of a text's words stand in one of the texts before it."""
    words = set(_WORD.findall(text.lower()))
    return any(len(words & set(_WORD.findall(t.lower()))) > 0.67 * len(words) for t in before)


def words_of(text: str) -> set[str]:
    """Words of a text that may tell a lever from another."""
    return set(_LEVEL.findall(text.lower().replace("-", " ")))
