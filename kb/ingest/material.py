"""Captured text for packets: which text a source holds, and how it is cut to a budget. Refuses to change a byte of it."""

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path

from kb import KbError, source, store

# One token is rarely more than this many characters of technical English; the real count must not be larger.
CHARS_PER_TOKEN = 3.2


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
    if file is None and captured.text:
        text = source.text_of_source(layout, captured)
    elif file is None:
        again = (
            f"capture it anew (`kb research web {captured.origin}`), or give it with --text FILE"
        )
        raise KbError(f"sources/{captured.id}: the captured text is not included here; {again}")
    else:
        text = _supplied(file, captured)
    return f"sources/{captured.id}", captured.title or captured.id, text


def _supplied(file: Path, captured: source.Source) -> str:
    try:
        data = store.bytes_of(file, declared=True)
    except OSError as error:
        raise KbError(f"{file}: cannot be read: {error.strerror or error}") from error
    known = {f.sha256 for f in captured.files}
    if known and hashlib.sha256(data).hexdigest() not in known:
        raise KbError(
            f"{file}: is not the text that sources/{captured.id} was captured from (its sha256 differs)"
        )
    return data.decode("utf-8", "replace")


_BREAK = re.compile(r"\n(?=#{1,6} )|\n\s*\n")


def pieces(origin: str, title: str, text: str, *, tokens: int) -> tuple[Excerpt, ...]:
    """A text cut into pieces of at most `tokens`, at headings where it can, else between paragraphs, else at a blank."""
    most = max(200, int(tokens * CHARS_PER_TOKEN))
    excerpts: list[Excerpt] = []
    start = 0
    while start < len(text):
        end = len(text) if len(text) - start <= most else _cut(text, start, start + most)
        if text[start:end].strip():
            excerpts.append(Excerpt(origin, title, start, end, text[start:end]))
        start = end
    return tuple(excerpts)


def _cut(text: str, start: int, limit: int) -> int:
    breaks = [m for m in _BREAK.finditer(text, start + 1, limit)]
    headings = [m.start() + 1 for m in breaks if m[0] == "\n"]
    # A heading in the last half is worth a shorter piece; so is, less, a paragraph.
    if headings and headings[-1] > start + (limit - start) // 2:
        return headings[-1]
    if breaks:
        return breaks[-1].end()
    blank = text.rfind(" ", start + 1, limit)
    return blank + 1 if blank > start else limit
