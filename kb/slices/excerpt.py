"""A page's words, cut to what a question needs. Refuses to invent: all but the leading verdict stands on the page."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from kb.search import Chunk
from kb.search.gist import REFERENCES, SHORTEST, cut, pieces_from, plainness, runs

_WORD = re.compile(r"[^\W_]+")

# Chunks of a page that are looked at sentence by sentence; the others hold fewer words of the question.
_CLOSELY = 3

# Chunks of a page that are looked at: what stands behind the first 60,000 characters of a page is found by `kb search`.
_LOOKED_AT = 40


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A stretch of a page and the heading it stands under."""

    anchor: str
    text: str


def excerpt_of(
    chunks: Sequence[Chunk],
    weights: Mapping[str, float],
    *,
    masked: Callable[[Chunk], Chunk | None],
    size: int = SHORTEST,
    lead: str = "",
) -> Excerpt | None:
    """The run of sentences of a page that says most of what is asked for, `size` characters or a little more; None if the page says nothing.

    `weights` are the words asked for; `masked` takes out of a chunk what may not be seen. Between runs that say as much the plainer and then
    the earlier one wins.
    """
    whole = sum(weights.values()) or 1.0
    room = size - len(lead)
    best: tuple[float, Excerpt] | None = None
    for order, seen in _closest(chunks, weights, masked):
        pieces = pieces_from(seen, 0, size=size)
        words = [weights.keys() & _words(piece) for piece in pieces]
        for start, end in runs(pieces, room):
            text = cut(" ".join(pieces[start:end]), room)
            said = set().union(*words[start:end])
            score = (
                sum(map(weights.__getitem__, said)) / whole
                + 0.5 * plainness(text)
                - 0.002 * (order + start)
                - (0.5 if len(text) < room else 0.0)
            )
            score -= 0.3 if REFERENCES.search(seen[0].title) else 0.0
            if best is None or score > best[0] + 1e-9:
                best = (score, Excerpt(seen[0].anchor, lead + text))
    if best is None or len(best[1].text) < size:
        # What may be seen of a section is too little: the page's own order says more.
        seen = [c for c in map(masked, chunks[:_LOOKED_AT]) if c]
        text = lead + cut(" ".join(pieces_from(seen, 0, size=room)), room) if seen else ""
        if len(text) > (len(best[1].text) if best else len(lead)):
            return Excerpt(seen[0].anchor, text)
    return best[1] if best else None


@lru_cache(maxsize=1 << 14)
def _words(text: str) -> frozenset[str]:
    """Words of a text; the next question of a batch looks at many of the same pages."""
    return frozenset(_WORD.findall(text.lower()))


def _closest(
    chunks: Sequence[Chunk], weights: Mapping[str, float], masked: Callable[[Chunk], Chunk | None]
) -> Iterator[tuple[int, list[Chunk]]]:
    """The chunks that hold most of the words, each with those that follow it, as far as they may be seen."""
    said = [
        sum(map(weights.__getitem__, weights.keys() & _words(c.text)))
        * (0.2 if REFERENCES.search(c.title) else 1.0)
        for c in chunks[:_LOOKED_AT]
    ]
    found = 0
    for order in sorted(range(len(said)), key=lambda i: (-said[i], i)):
        first = masked(chunks[order])
        if first is None:
            continue
        rest = filter(None, map(masked, chunks[order + 1 : order + 4])) if len(first.text) < 2 * SHORTEST else ()
        yield order, [first, *rest]
        found += 1
        if found == _CLOSELY:
            return
