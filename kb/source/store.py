"""The folder of a source: `sources/<id>/meta.json` beside its text and files. Reads what stands
there; `capture` writes it.
"""

from collections.abc import Iterator
from contextlib import suppress

import msgspec

from kb import KbError
from kb.source.marks import Mark
from kb.store import Layout, bytes_of, is_inner, json_of


class SourceFile(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One captured file: its name in the folder, sha256 of its bytes, their number. `kept` is false
    where only the digest is shipped.
    """

    name: str
    sha256: str
    size: int = msgspec.field(name="bytes")
    media_type: str
    kept: bool = True


class Provenance(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What is said of a source as it is brought in; `sections` are (title, offset in the text)."""

    origin: str = ""
    kind: str = ""
    title: str = ""
    authors: str = ""
    version: str = ""
    licence: str = ""
    tool: str = ""
    note: str = ""
    sections: tuple[tuple[str, int], ...] = ()
    references: tuple[str, ...] = ()

    def stated(self) -> dict[str, object]:
        """These fields by name, for another value that holds them."""
        return {name: getattr(self, name) for name in Provenance.__struct_fields__}


# What is said of a source, with other values in some of its fields.
varied = msgspec.structs.replace


class Source(Provenance, frozen=True, kw_only=True, omit_defaults=True):
    """What `meta.json` states. `text` names the file that quotes are taken from, "" where none is kept."""

    id: str = ""
    retrieved: str = ""
    files: tuple[SourceFile, ...] = ()
    text: str = ""
    marks: tuple[Mark, ...] = ()
    previous: str = ""


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
        if "sha256" in meta and not meta.get("files"):
            # Written by hand before there were captures: the digest of a text that is not shipped.
            digest = {"name": "text", "bytes": 0, "media_type": "", "kept": False}
            meta["files"] = [
                digest | {key: meta[key] for key in meta if key in (*digest, "sha256")}
            ]
        sections = [(s["title"], s["start"]) for s in meta.get("sections", ())]
        source = msgspec.convert({**meta, "id": id, "sections": sections}, Source)
        if not all(is_inner(file.name) for file in source.files):
            raise ValueError("it names a file that is not in its folder")
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise KbError(
            f"sources/{id}/meta.json: does not read: {error}; a capture is never mended by hand, remove the folder and capture it again"
        ) from error
    return source


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
