"""A page's words, cut to what a question needs. Refuses to invent: all but the leading verdict stands on the page."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from kb.search import Chunk
from kb.search.gist import SHORTEST, cut, pieces_from, plainness, windows

_WORD = re.compile(r"[^\W_]+")

# Chunks of a page that are looked at sentence by sentence; the others hold fewer words of the question.
_CLOSELY = 3


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A stretch of a page and the heading it stands under."""

    anchor: str
    text: str


def excerpt_of(chunks: list[Chunk], weights: Mapping[str, float], *, size: int = SHORTEST, lead: str = "") -> Excerpt | None:
    """The run of sentences of a page that says most of what is asked for, `size` characters or a little more; None if the page says nothing.

    `weights` are the words asked for. Between runs that say as much the plainer and then the earlier one wins.
    """
    whole = sum(weights.values()) or 1.0
    best: tuple[float, Excerpt] | None = None
    for _, order, chunk in sorted((-_said(c.text, weights), i, c) for i, c in enumerate(chunks))[:_CLOSELY]:
        for place, text in enumerate(windows(pieces_from(chunks, order, size=size), size - len(lead))):
            text = cut(text, size - len(lead))
            score = _said(text, weights) / whole + 0.5 * plainness(text) - 0.002 * (order + place) - (0.5 if len(text) + len(lead) < size else 0.0)
            if best is None or score > best[0] + 1e-9:
                best = (score, Excerpt(chunk.anchor, lead + text))
    return best[1] if best else None


def _said(text: str, weights: Mapping[str, float]) -> float:
    return sum(weights.get(w, 0.0) for w in set(_WORD.findall(text.lower())))
