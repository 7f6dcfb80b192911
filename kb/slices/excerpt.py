"""A page's own words, cut to what a question needs. Refuses to invent: all but the leading verdict stands on the page."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from kb.search import Chunk, without_links

# An excerpt carries at least this much, so that it can be acted on without opening the page.
SHORTEST = 244

_FENCE = re.compile(r"^[ \t]*(?:```|~~~).*$", re.MULTILINE)
_NOISE = re.compile(r"\*\*|__(?=\w)|(?<=\w)__|^[ \t]*>[ \t]?(?:\[![\w-]+\][+-]?)?|<!--.*?-->|^[ \t]*\|?(?:\s*:?-{2,}:?\s*\|)+\s*(?::?-{2,}:?)?[ \t]*$", re.MULTILINE)
_SENTENCE = re.compile(r"(?<=[.!?;:])\s+(?=[A-Z0-9`(\"'\[*])|\n+")
_WORD = re.compile(r"[^\W_]+")


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A stretch of a page and the heading it stands under."""

    anchor: str
    text: str


def clean(text: str) -> str:
    """Markdown without addresses, bold marks, quote marks and table rules: what costs tokens and says nothing."""
    return _NOISE.sub("", _FENCE.sub("", without_links(text)))


def excerpt_of(chunks: list[Chunk], weights: Mapping[str, float], *, size: int = SHORTEST, lead: str = "") -> Excerpt | None:
    """The sentences of a page that say most of what is asked for, `size` characters or a little more; None if the page is shorter.

    `weights` are the words asked for; between equals what comes first wins, and a section's start is better than its middle.
    """
    best: tuple[float, int, Excerpt] | None = None
    for chunk in chunks:
        pieces = [p for p in (" ".join(s.split()) for s in _SENTENCE.split(clean(chunk.text))) if p]
        for start, end in _windows(pieces, size - len(lead)):
            text = " ".join(pieces[start:end])
            words = {w.lower() for w in _WORD.findall(text)}
            score = sum(weights.get(w, 0.0) for w in words) + (0.5 if start == 0 else 0.0)
            score /= 1.0 + max(0, len(text) + len(lead) - size) / size
            if best is None or score > best[0] + 1e-9:
                best = (score, len(text), Excerpt(chunk.anchor, lead + text))
    return None if best is None else Excerpt(best[2].anchor, cut(best[2].text, size))


def _windows(pieces: list[str], size: int):
    for start in range(len(pieces)):
        total = 0
        for end in range(start, len(pieces)):
            total += len(pieces[end]) + 1
            if total > size:
                yield start, end + 1
                break
        else:
            if start == 0 and total > 80:
                yield 0, len(pieces)
            return


def cut(text: str, size: int) -> str:
    """A text cut behind the first word that ends at or after `size` characters."""
    if len(text) <= size:
        return text
    end = text.find(" ", size)
    return text if end < 0 else text[:end]
