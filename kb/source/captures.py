"""Capture: what came from outside becomes a folder below `sources/`, once for its origin, version
and digest. Never writes over a capture.
"""

import hashlib
import re
import shutil
import unicodedata
from collections.abc import Mapping
from pathlib import PurePosixPath

import msgspec

from kb import KbError, store
from kb.source.marks import Mark, marks_of, masked
from kb.source.quotes import normal_text
from kb.source.store import Provenance, Source, SourceFile, source_at, sources, varied
from kb.store import Layout

_MOST_BYTES = 64 << 20
_MOST_FILES = 500
_ENDS = re.compile(r"[a-z0-9]{1,8}")
_TEXT = "text.md"


class SourceMaterial(Provenance, frozen=True, kw_only=True):
    """What a client brings in: provenance, text for quoting and files as they came. `name` is the
    wish for an id, `family` the part of it that all versions of one origin share; `keep` false
    keeps digests alone.
    """

    name: str
    text: str
    family: str = ""
    files: Mapping[str, tuple[bytes, str]] = {}
    hidden: tuple[tuple[int, int], ...] = ()
    keep: bool = True


def capture(layout: Layout, material: SourceMaterial, *, retrieved: str) -> tuple[Source, bool]:
    """The source of this material, and whether it is new. Later content of one origin is a source
    of its own that names the one before.
    """
    plain = normal_text(material.text)
    text = masked(plain)
    files = _files_of(material, text.encode("utf-8"))
    digests = [
        SourceFile(
            name=n, sha256=_sha256(data), size=len(data), media_type=kind, kept=material.keep
        )
        for n, (data, kind) in files.items()
    ]
    with store.lock(layout, "sources"):
        family = _plain_id(material.family or material.name) or material.kind
        earlier = [s for s in sources(layout, beginning=family) if s.origin == material.origin]
        known = (material.version, digests[0].sha256)
        same = (s for s in earlier if s.files and (s.version, s.files[0].sha256) == known)
        if standing := next(same, None):
            return standing, False
        about = material.stated() | {"licence": material.licence or "not stated"}
        if text != plain:
            about["sections"] = _sections(text, material.sections)
        source = Source(
            **about,
            id=_id(layout, material, digests[0].sha256),
            retrieved=retrieved,
            files=tuple(digests),
            text=_TEXT if material.keep else "",
            marks=_marks(text, material),
            previous=max(earlier, key=lambda s: s.retrieved).id if earlier else "",
        )
        _file(layout, source, files if material.keep else {})
    return source, True


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _files_of(material: SourceMaterial, text: bytes) -> dict[str, tuple[bytes, str]]:
    """The text and the files by safe names, without secrets. Raises KbError where they are too many or too large."""
    files = {_TEXT: (text, "text/markdown")}
    for name, (data, kind) in material.files.items():
        if kind.startswith("text/") or kind == "application/json":
            plain = masked(data.decode("utf-8", "surrogateescape"))
            data = plain.encode("utf-8", "surrogateescape")
        files[_safe_name(name)] = data, kind
    size = sum(len(data) for data, _ in files.values())
    if len(files) > _MOST_FILES or size > _MOST_BYTES:
        raise KbError(
            f"{material.origin}: {len(files)} files of {size >> 20} MB; a source has at most {_MOST_FILES} and {_MOST_BYTES >> 20} MB"
        )
    return files


def _marks(text: str, material: SourceMaterial) -> tuple[Mark, ...]:
    hidden = (Mark("hidden", a, b, "not shown where it came from") for a, b in material.hidden)
    return tuple(sorted([*marks_of(text), *hidden], key=lambda m: (m.start, m.end)))


def _file(layout: Layout, source: Source, files: Mapping[str, tuple[bytes, str]]) -> None:
    """Files first, meta.json last: a folder without it was cut off, and is begun anew."""
    folder = layout.sources / source.id
    inside = layout.holds(folder / "meta.json") and not layout.sources.is_symlink()
    if not inside or folder.resolve().parent != layout.sources.resolve():
        raise KbError(f"sources/{source.id}: leads out of sources/; nothing was written")
    if folder.exists():
        shutil.rmtree(folder)
    for name, (data, _) in files.items():
        store.create(folder / name, data)
    meta = msgspec.to_builtins(varied(source, id=""))
    meta["sections"] = [{"title": title, "start": start} for title, start in source.sections]
    store.create(folder / "meta.json", store.to_json(meta, order=None))


def _id(layout: Layout, material: SourceMaterial, digest: str) -> str:
    """A free id: the wish in plain letters, with the digest behind it where another capture has the
    name.
    """
    wish = _plain_id(material.name) or material.kind
    for name in (wish, f"{wish}-{digest[:8]}", f"{wish}-{digest[:16]}"):
        if not (layout.sources / name / "meta.json").exists():
            return name
        there = source_at(layout, name)
        if there.origin == material.origin and there.files[0].sha256 == digest:
            break
    unique = f"{material.origin}{material.version}{digest}".encode()
    return f"{wish}-{_sha256(unique)[:12]}"


def _plain_id(name: str) -> str:
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
    return re.sub(r"[^a-z0-9.]+", "-", plain).strip("-.")[:80]


def _safe_name(name: str) -> str:
    """The last part of a name from outside, in plain letters: no folder, no dot in front, nothing
    that a shell or a disk reads.
    """
    last = PurePosixPath(name.replace("\\", "/")).name
    stem, _, end = last.rpartition(".")
    plain = re.sub(r"[^A-Za-z0-9_-]+", "-", stem or last).strip("-")[:80] or "file"
    plain = f"{plain}.{end.lower()}" if stem and _ENDS.fullmatch(end.lower()) else plain
    return f"captured-{plain}" if plain == "meta.json" else plain


def _sections(text: str, sections: tuple[tuple[str, int], ...]) -> tuple[tuple[str, int], ...]:
    """Offsets of the same titles in a text from which secrets were taken out."""
    placed, at = [], 0
    for title, _ in sections:
        place = text.find(title, at)
        at = place if place >= 0 else at
        placed.append((title, at))
    return tuple(placed)
