"""Captured text for packets: which text a source holds, and how it is cut to a budget. Refuses to change a byte of it."""

import hashlib
import json
import re
from dataclasses import dataclass
from pathlib import Path

from kb import KbError, store

# One token is rarely more than this many characters of technical English; the real count must not be larger.
CHARS_PER_TOKEN = 3.2
_TEXTS = ("text.md", "text.txt", "source.md", "source.txt")


@dataclass(frozen=True, slots=True)
class Source:
    """A captured source: its folder below sources/, title, and text; `digest` is the sha256 of the text."""

    path: str
    title: str
    text: str
    digest: str

    @property
    def id(self) -> str:
        return self.path.removeprefix("sources/")


@dataclass(frozen=True, slots=True)
class Material:
    """Characters `start` to `end` of the text of `origin` (a source, or a page), as a packet quotes them."""

    origin: str
    title: str
    start: int
    end: int
    text: str


def sources_in(layout: store.Layout) -> tuple[str, ...]:
    """Ids of the captured sources, sorted."""
    folder = layout.sources
    return (
        tuple(sorted(f.parent.name for f in folder.glob("*/meta.json"))) if folder.is_dir() else ()
    )


def source_at(layout: store.Layout, name: str, *, file: Path | None = None) -> Source:
    """A source by its id. `file` holds its text where the capture does not, and must be what was captured.

    Raises KbError where there is no such source, no text of it, or another text than was captured.
    """
    name = name.removeprefix("sources/").strip("/")
    folder = layout.sources / name
    if not name or "/" in name or name.startswith("."):
        raise KbError(f"sources/{name}: no source; `kb research status` lists them")
    try:
        meta = json.loads((folder / "meta.json").read_bytes())
    except FileNotFoundError as error:
        known = ", ".join(sources_in(layout)) or "none"
        raise KbError(f"sources/{name}: no such source; captured are: {known}") from error
    except (OSError, ValueError) as error:
        raise KbError(f"sources/{name}/meta.json: cannot be read: {error}") from error
    if not isinstance(meta, dict):
        raise KbError(f"sources/{name}/meta.json: holds no table")
    title = str(meta.get("title") or name)
    data = _captured(folder, meta) if file is None else _supplied(file, meta, name)
    if data is None:
        where = f": capture it anew (`kb research web {meta.get('origin', 'ADDRESS')}`), or give it with --text FILE"
        raise KbError(f"sources/{name}: the captured text is not included here{where}")
    return Source(
        f"sources/{name}", title, data.decode("utf-8", "replace"), hashlib.sha256(data).hexdigest()
    )


def _captured(folder: Path, meta: dict) -> bytes | None:
    named = meta.get("text")
    names = (
        [named] if isinstance(named, str) and "/" not in named and not named.startswith(".") else []
    )
    for name in (*names, *_TEXTS):
        if (folder / name).is_file() and not (folder / name).is_symlink():
            return (folder / name).read_bytes()
    return None


def _supplied(file: Path, meta: dict, name: str) -> bytes:
    try:
        data = file.read_bytes()
    except OSError as error:
        raise KbError(f"{file}: cannot be read: {error.strerror or error}") from error
    if meta.get("sha256") and hashlib.sha256(data).hexdigest() != meta["sha256"]:
        raise KbError(
            f"{file}: is not the text that sources/{name} was captured from (its sha256 differs)"
        )
    return data


_BREAK = re.compile(r"\n(?=#{1,6} )|\n\s*\n")


def pieces(origin: str, title: str, text: str, *, tokens: int) -> tuple[Material, ...]:
    """A text cut into pieces of at most `tokens`, at headings where it can, else between paragraphs, else at a blank."""
    most = max(200, int(tokens * CHARS_PER_TOKEN))
    found: list[Material] = []
    start = 0
    while start < len(text):
        end = len(text) if len(text) - start <= most else _cut(text, start, start + most)
        if text[start:end].strip():
            found.append(Material(origin, title, start, end, text[start:end]))
        start = end
    return tuple(found)


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
