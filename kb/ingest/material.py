"""Captured text for packets: which text a source holds, and how it is cut to a budget. Refuses to change a byte of it."""

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from kb import KbError, readable, source, store
from kb.text import command_of

# One token is rarely more than this many characters of technical English; the real count must not be larger.
CHARS_PER_TOKEN = 3.2
_BREAK = re.compile(r"\n(?=#{1,6} )|\n\s*\n")


@dataclass(frozen=True, slots=True)
class Excerpt:
    """Characters `start` to `end` of the text of `origin` (a source, or a page), as a packet quotes them."""

    origin: str
    title: str
    start: int
    end: int
    text: str


def text_of(layout: store.Layout, name: str, *, file: Path | None = None) -> tuple[str, str, str]:
    """Path below the root, title and text of a source by its id. `file` holds the text where the capture keeps none.

    Raises KbError where there is no such source, no text of it, or another text than was captured.
    """
    captured = source.source_at(layout, name.removeprefix("sources/").strip("/"))
    if file is None and not captured.text:
        again = f"capture it anew (`{command_of('research web', captured.origin)}`), or give it with --text FILE"
        raise KbError(f"sources/{captured.id}: the captured text is not included here; {again}")
    text = _supplied(file, captured) if file else source.text_of_source(layout, captured)
    return f"sources/{captured.id}", captured.title or captured.id, text


def _supplied(file: Path, captured: source.Source) -> str:
    with readable(file):
        data = store.bytes_of(file, declared=True)
    known = {f.sha256 for f in captured.files}
    if known and hashlib.sha256(data).hexdigest() not in known:
        raise KbError(
            f"{file}: is not the text that sources/{captured.id} was captured from (its sha256 differs)"
        )
    return data.decode("utf-8", "replace")


def pieces(origin: str, title: str, text: str, *, tokens: int) -> Iterator[Excerpt]:
    """A text cut into pieces of at most `tokens`, at headings where it can, else between paragraphs, else at a blank."""
    most = max(200, int(tokens * CHARS_PER_TOKEN))
    start = 0
    while start < len(text):
        end = len(text) if len(text) - start <= most else _cut(text, start, start + most)
        if text[start:end].strip():
            yield Excerpt(origin, title, start, end, text[start:end])
        start = end


def _cut(text: str, start: int, limit: int) -> int:
    """Where a piece ends: a heading in its last half is worth a shorter one; so is, less, a paragraph."""
    breaks = list(_BREAK.finditer(text, start + 1, limit))
    headings = [m.end() for m in breaks if m[0] == "\n"]
    if headings and headings[-1] > start + (limit - start) // 2:
        return headings[-1]
    blank = text.rfind(" ", start + 1, limit) + 1
    return breaks[-1].end() if breaks else blank if blank > start + 1 else limit
