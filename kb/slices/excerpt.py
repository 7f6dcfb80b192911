"""A page's words, cut to what a question needs. Refuses to invent: all but the leading verdict stands on the page."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import islice
from math import fsum

from kb.search import Chunk
from kb.search.prose import REFERENCES, SHORTEST, clean, cut, pieces_from, plainness, runs
from kb.text import sentences_of

_WORD = re.compile(r"[^\W_]+")

# Where a sentence or a row ends, and what closes a text.
_END, _CLOSED = re.compile(r"[.!?|](?= )"), (".", "!", "?", "|", ")")

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
    lead: str = "",
) -> tuple[str, str]:
    """(anchor, text) of the run of sentences of a page that says most of what is asked for, `size` characters or a little more; empty if the page says nothing.

    `weights` are the words asked for; `masked` takes out of a chunk what may not be seen. Between runs that say as much the plainer and then
    the earlier one wins.
    """
    whole = sum(weights.values()) or 1.0
    room = size - len(lead)
    best = (float("-inf"), "", "")
    chunk_weights = [weight_of(chunk, weights) for chunk in chunks[:_LOOKED_AT]]
    order = sorted(range(len(chunk_weights)), key=lambda i: (-chunk_weights[i], i))
    nearest = ((i, visible) for i in order if (visible := masked(chunks[i])))
    for place, first in islice(nearest, _CLOSELY):
        rest = chunks[place + 1 : place + 4] if len(first.text) < 2 * SHORTEST else ()
        pieces = pieces_from([first, *filter(None, map(masked, rest))], 0, size=size)
        words = [weights.keys() & _words(piece) for piece in pieces]
        aside = 0.3 if REFERENCES.search(first.title) else 0.0
        for start, end in runs(pieces, room):
            hits = set().union(*words[start:end])
            shared = fsum(map(weights.__getitem__, hits)) / whole
            behind = 0.002 * (place + start) + aside
            if shared + 0.5 - behind <= best[0]:
                continue  # Not even the plainest words would win.
            text = cut(" ".join(pieces[start:end]), room)
            score = shared + 0.5 * plainness(text)
            score -= behind + (0.5 if len(text) < room else 0.0)
            if score > best[0] + 1e-9:
                best = (score, first.anchor, lead + text)
    _, anchor, text = best
    if len(text) < size:
        # What may be seen of a section is too little: the page's own order says more.
        visible = [c for c in map(masked, chunks[:_LOOKED_AT]) if c]
        whole_text = (
            lead + cut(" ".join(pieces_from(visible, 0, size=room)), room) if visible else ""
        )
        if len(whole_text) > (len(text) or len(lead)):
            anchor, text = visible[0].anchor, whole_text
    return anchor, _ended(text)


def statements_of(text: str) -> Iterator[str]:
    """Sentences of a section, and the rows of its tables with each cell under its head."""
    heads: list[str] = []
    for line in text.split("\n"):
        cells = [
            clean(c).strip() for c in line.rstrip().removeprefix("|").removesuffix("|").split("|")
        ] * line.startswith("|")
        if not cells:
            yield from sentences_of(clean(line))
        if len(cells) != len(heads):
            heads = cells
        elif any(c.strip("-: ") for c in cells):
            rest = zip(heads[1:], cells[1:], strict=True)
            yield f"{cells[0]}: {'; '.join(f'{head} {cell}' for head, cell in rest if cell)}."


def _ended(text: str) -> str:
    """A text without a sentence that was cut short, as far as enough is left."""
    last = max((m.start() + 1 for m in _END.finditer(text)), default=0)
    return text[:last] if last >= SHORTEST and not text.endswith(_CLOSED) else text


def weight_of(chunk: Chunk, weights: Mapping[str, float]) -> float:
    """How much of what is asked for a chunk says, less for a list of references."""
    # Words come in no order, so that a plain sum would differ from one process to the next.
    shared = fsum(map(weights.__getitem__, weights.keys() & _words(chunk.text)))
    return 0.2 * shared if REFERENCES.search(chunk.title) else shared


@lru_cache(maxsize=1 << 13)
def _words(text: str) -> frozenset[str]:
    """Words of a text; the next question of a batch looks at many of the same pages."""
    return frozenset(_WORD.findall(text.lower()))
