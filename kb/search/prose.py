"""What a page says in its own words: sentences without markup, and the few that stand for the whole. Refuses to look at a question."""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import islice

from kb.search.chunks import Chunk
from kb.text.words import without_links

# A gist carries at least this many characters, so that it can be acted on without opening the page.
SHORTEST = 244

_FENCE = re.compile(r"^[ \t]*(?:```|~~~).*$", re.MULTILINE)
_NOISE = re.compile(
    r"\*\*|__(?=\w)|(?<=\w)__|^[ \t]*(?:>[ \t]?)+(?:\[![\w-]+\][+-]?)?|<!--.*?-->|^[ \t]*\|?(?:\s*:?-{2,}:?\s*\|)+\s*(?::?-{2,}:?)?[ \t]*$",
    re.MULTILINE,
)
# Begins with the blank and looks back at the mark: found three times as fast.
_SENTENCE = re.compile(r"\s(?:(?<=[.!?;:]\s)\s*(?=[A-Z0-9`(\"'\[*])|(?<=\n)\n*)")
_DEAR = str.maketrans("", "", "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ ,.")

# Sections that list where else to look; they hold many words and say nothing.
REFERENCES = re.compile(
    r"(?:^|> )(?:see also|sources?|references?|related|links|further reading|bibliography|connections)\b[^>]*$",
    re.IGNORECASE,
)

# No chunk is longer but a list of names, whose head is as good as the whole.
_LONGEST = 2000

# Chunks looked at for a gist: a page says what it is near its head.
_FIRST = 6


def clean(text: str) -> str:
    """Markdown without addresses, bold marks, code marks, quote marks and table rules: what costs tokens and says nothing."""
    text = without_links(text)
    if "```" in text or "~~~" in text:
        text = _FENCE.sub("", text)
    text = text.replace("`", "")
    # Bold marks are most of the noise, and all of it where none of the other marks stands.
    return (
        _NOISE.sub("", text)
        if ">" in text or "__" in text or "--" in text
        else text.replace("**", "")
    )


def sentences_of(text: str) -> list[str]:
    """Sentences, list items and table rows of a stretch of markdown, each on one line."""
    return list(_sentences(text))


@lru_cache(maxsize=1 << 11)
def _sentences(text: str) -> tuple[str, ...]:
    return tuple(
        piece for piece in (" ".join(s.split()) for s in _SENTENCE.split(clean(text))) if piece
    )


def runs(pieces: Sequence[str], size: int) -> Iterator[tuple[int, int]]:
    """Every run of whole pieces that just reaches `size` characters, in order; all of them, if they are shorter but say something."""
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


def plainness(text: str) -> float:
    """Share of letters and blanks in a text, 0 to 1: prose costs a third fewer tokens a character than figures, names and table rows."""
    return 1.0 - len(text.translate(_DEAR)) / max(1, len(text))


def cut(text: str, size: int) -> str:
    """A text cut behind the first word that ends at or after `size` characters."""
    end = text.find(" ", size) if len(text) > size else -1
    return text if end < 0 else text[:end]


def pieces_from(chunks: Sequence[Chunk], first: int, *, size: int = SHORTEST) -> list[str]:
    """Sentences of chunk `first`; where they do not reach `size` characters the page's next sections follow, each with its title."""
    pieces = sentences_of(chunks[first].text[:_LONGEST])
    for chunk in chunks[first + 1 :]:
        if sum(map(len, pieces)) + len(pieces) > size:
            break
        title = chunk.title.rpartition(" > ")[2]
        pieces += [f"{title}:", *sentences_of(chunk.text)] if title else sentences_of(chunk.text)
    return pieces


def gist_of(chunks: Sequence[Chunk], *, size: int = SHORTEST) -> tuple[str, str]:
    """(anchor, text) of the plainest prose near the head of a page, `size` characters or a little more; shorter only if the page is."""
    best = (-1.0, "", "")
    for order, chunk in enumerate(chunks[:_FIRST]):
        if 1.0 - 0.05 * order <= best[0]:
            break  # Not even a perfect stretch so far down would win.
        pieces = pieces_from(chunks, order, size=size)
        for start, end in islice(runs(pieces, size), 4):
            text = cut(" ".join(pieces[start:end]), size)
            score = (
                plainness(text) - 0.05 * order - 0.02 * start - (0.5 if len(text) < size else 0.0)
            )
            score -= 0.3 if REFERENCES.search(chunk.title) else 0.0
            if score > best[0]:
                best = (score, chunk.anchor, text)
    return best[1], best[2]
