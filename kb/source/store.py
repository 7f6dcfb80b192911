"""The folder of a source: `sources/<id>/meta.json` beside its text and files. Reads what stands
there; `capture` writes it.
"""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

from kb import KbError
from kb.source.marks import Mark
from kb.store import Layout, bytes_of, is_inner, json_of, row_of, value_of


@dataclass(frozen=True, slots=True)
class SourceFile:
    """One captured file: its name in the folder, sha256 of its bytes, their number. `kept` is false
    where only the digest is shipped.
    """

    name: str
    sha256: str
    size: int
    media_type: str
    kept: bool = True


@dataclass(frozen=True, slots=True)
class Source:
    """What `meta.json` states. `text` names the file that quotes are taken from, "" where none is
    kept; `sections` are (title, offset).
    """

    id: str
    origin: str
    kind: str
    title: str
    authors: str
    retrieved: str
    version: str
    licence: str
    tool: str
    files: tuple[SourceFile, ...]
    text: str = ""
    sections: tuple[tuple[str, int], ...] = ()
    marks: tuple[Mark, ...] = ()
    references: tuple[str, ...] = ()
    previous: str = ""
    note: str = ""


# Fields of a source that are plain text, as meta.json names them.
PLAIN = (
    "origin",
    "kind",
    "title",
    "authors",
    "retrieved",
    "version",
    "licence",
    "tool",
    "text",
    "previous",
    "note",
)


class ImportReceipt(KbError):
    """What stands below `sources/` is the receipt of an import: its log, not a source that somebody captured."""


def sources(layout: Layout, *, beginning: str = "") -> Iterator[Source]:
    """Captured sources, by id; all, or those whose id begins so. A folder without `meta.json` is a capture that was cut off, and one
    whose `meta.json` does not read is for `damaged_sources` to name: neither is listed.
    """
    for name in _captured(layout, beginning):
        with suppress(KbError):
            yield source_at(layout, name)


def damaged_sources(layout: Layout) -> Iterator[str]:
    """What is wrong with each source that does not read, and what to do."""
    for name in _captured(layout, ""):
        try:
            source_at(layout, name)
        except ImportReceipt:
            continue
        except KbError as error:
            yield str(error)


def _captured(layout: Layout, beginning: str) -> list[str]:
    return sorted(meta.parent.name for meta in layout.sources.glob(f"{beginning}*/meta.json"))


def source_at(layout: Layout, id: str) -> Source:
    """One source by its id. Raises KbError where there is none, or where its meta.json does not
    read.
    """
    file = layout.sources / id / "meta.json"
    if not file.is_file() or file.parent.parent != layout.sources or file.is_symlink():
        raise KbError(f"no source '{id}'; `kb research status` lists them")
    try:
        meta = json_of(bytes_of(file))
        if meta.get("kind") == "import":
            raise ImportReceipt(f"sources/{id}: the receipt of `kb import`, no capture")
        return _source(id, meta)
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise KbError(
            f"sources/{id}/meta.json: does not read: {error}; a capture is never mended by hand, remove the folder and capture it again"
        ) from error


def _source(id: str, meta: dict) -> Source:
    files = tuple(
        SourceFile(f["name"], f["sha256"], f["bytes"], f["media_type"], f.get("kept", True))
        for f in meta.get("files", ())
    )
    if not files and "sha256" in meta:
        # Written by hand before there were captures: the digest of a text that is not shipped.
        size, kind = meta.get("bytes", 0), meta.get("media_type", "")
        files = (SourceFile("text", meta["sha256"], size, kind, bool(meta.get("text_included"))),)
    if not all(is_inner(file.name) for file in files):
        raise ValueError("it names a file that is not in its folder")
    source = Source(
        id=id,
        files=files,
        marks=tuple(Mark(**mark) for mark in meta.get("marks", ())),
        sections=tuple((s["title"], s["start"]) for s in meta.get("sections", ())),
        references=tuple(meta.get("references", ())),
        **{key: str(meta.get(key, "")) for key in PLAIN},
    )
    # Back from a row every field is of its type.
    return value_of(row_of(source), Source)


def text_of_source(layout: Layout, source: Source) -> str:
    """The text that offsets count in. Raises KbError where none is kept, or where it is not what
    was captured.
    """
    import hashlib

    kept = {file.name: file for file in source.files if file.kept}
    if source.text not in kept:
        raise KbError(
            f"sources/{source.id}: keeps no text (licence: {source.licence or 'not stated'}); capture it again from its origin to quote it"
        )
    raw = bytes_of(layout.sources / source.id / source.text)
    if hashlib.sha256(raw).hexdigest() != kept[source.text].sha256:
        raise KbError(
            f"sources/{source.id}/{source.text}: was changed after its capture; bring back the captured file, offsets count in it"
        )
    return raw.decode("utf-8")
