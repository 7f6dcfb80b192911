"""A page's words, cut to what a question needs. Refuses to invent: all but the leading verdict stands on the page."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache

from kb.search import Chunk
from kb.search.gist import REFERENCES, SHORTEST, cut, pieces_from, plainness, runs

_WORD = re.compile(r"[^\W_]+")

# Chunks of a page that are looked at sentence by sentence; the others hold fewer words of the question.
_CLOSELY = 3

# Chunks of a page that are looked at: what stands behind the first 60,000 characters of a page is found by `kb search`.
_LOOKED_AT = 40


def excerpt_of(
    chunks: Sequence[Chunk],
    weights: Mapping[str, float],
    *,
    masked: Callable[[Chunk], Chunk | None],
    size: int,
    lead: str,
) -> tuple[str, str]:
    """(anchor, text) of the run of sentences of a page that says most of what is asked for, `size` characters or a little more; empty if the page says nothing.

    `weights` are the words asked for; `masked` takes out of a chunk what may not be seen. Between runs that say as much the plainer and then
    the earlier one wins.
    """
    whole = sum(weights.values()) or 1.0
    room = size - len(lead)
    best = (float("-inf"), "", "")
    for order, seen in _closest(chunks, weights, masked):
        pieces = pieces_from(seen, 0, size=size)
        words = [weights.keys() & _words(piece) for piece in pieces]
        aside = 0.3 if REFERENCES.search(seen[0].title) else 0.0
        for start, end in runs(pieces, room):
            text = cut(" ".join(pieces[start:end]), room)
            hits = set().union(*words[start:end])
            score = sum(map(weights.__getitem__, hits)) / whole + 0.5 * plainness(text)
            score -= 0.002 * (order + start) + (0.5 if len(text) < room else 0.0) + aside
            if score > best[0] + 1e-9:
                best = (score, seen[0].anchor, lead + text)
    _, anchor, text = best
    if len(text) < size:
        # What may be seen of a section is too little: the page's own order says more.
        seen = [c for c in map(masked, chunks[:_LOOKED_AT]) if c]
        whole_text = lead + cut(" ".join(pieces_from(seen, 0, size=room)), room) if seen else ""
        if len(whole_text) > (len(text) or len(lead)):
            return seen[0].anchor, whole_text
    return anchor, text


@lru_cache(maxsize=1 << 13)
def _words(text: str) -> frozenset[str]:
    """Words of a text; the next question of a batch looks at many of the same pages."""
    return frozenset(_WORD.findall(text.lower()))


def _closest(
    chunks: Sequence[Chunk],
    weights: Mapping[str, float],
    masked: Callable[[Chunk], Chunk | None],
) -> Iterator[tuple[int, list[Chunk]]]:
    """The chunks that hold most of the words, each with those that follow it, as far as they may be seen."""

    def weight(chunk: Chunk) -> float:
        aside = 0.2 if REFERENCES.search(chunk.title) else 1.0
        return aside * sum(map(weights.__getitem__, weights.keys() & _words(chunk.text)))

    said = list(map(weight, chunks[:_LOOKED_AT]))
    found = 0
    for order in sorted(range(len(said)), key=lambda i: (-said[i], i)):
        if (first := masked(chunks[order])) is None:
            continue
        short = len(first.text) < 2 * SHORTEST
        rest = filter(None, map(masked, chunks[order + 1 : order + 4])) if short else ()
        yield order, [first, *rest]
        found += 1
        if found == _CLOSELY:
            return
