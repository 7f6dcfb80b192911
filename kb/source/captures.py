"""Capture: what came from outside becomes a folder below `sources/`, once for its origin, version
and digest. Never writes over a capture.
"""

import hashlib
import json
import re
import shutil
import unicodedata
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import PurePosixPath

from kb import KbError, store
from kb.source.marks import Mark, marks_of, masked
from kb.source.quotes import normal_text
from kb.source.store import PLAIN, Source, SourceFile, source_at, sources
from kb.store import Layout

_MOST_BYTES = 64 << 20
_MOST_FILES = 500
_ENDS = re.compile(r"[a-z0-9]{1,8}")


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceMaterial:
    """What a client brings in: provenance, text for quoting and files as they came. `name` is the
    wish for an id, `family` the part of it that all versions of one origin share; `keep` false
    keeps digests alone.
    """

    origin: str
    kind: str
    name: str
    text: str
    family: str = ""
    title: str = ""
    authors: str = ""
    version: str = ""
    licence: str = ""
    tool: str = "kb research"
    text_name: str = "text.md"
    media_type: str = "text/markdown"
    files: Mapping[str, tuple[bytes, str]] = field(default_factory=dict)
    sections: tuple[tuple[str, int], ...] = ()
    hidden: tuple[tuple[int, int], ...] = ()
    references: tuple[str, ...] = ()
    note: str = ""
    keep: bool = True


def capture(layout: Layout, material: SourceMaterial, *, retrieved: str) -> tuple[Source, bool]:
    """The source of this material, and whether it is new. Later content of one origin is a source
    of its own that names the one before.
    """
    plain = normal_text(material.text)
    text = masked(plain)
    raw = text.encode("utf-8")
    files = _files_of(material, raw)
    digest = hashlib.sha256(raw).hexdigest()
    with store.lock(layout, "sources"):
        family = _plain_id(material.family or material.name) or material.kind
        earlier = [s for s in sources(layout, beginning=family) if s.origin == material.origin]
        known = (material.version, [digest])
        same = (s for s in earlier if (s.version, [f.sha256 for f in s.files[:1]]) == known)
        if standing := next(same, None):
            return standing, False
        source = Source(
            id=_id(layout, material, digest),
            **{
                name: getattr(material, name)
                for name in (
                    "origin",
                    "kind",
                    "title",
                    "authors",
                    "version",
                    "tool",
                    "references",
                    "note",
                )
            },
            retrieved=retrieved,
            licence=material.licence or "not stated",
            files=tuple(
                SourceFile(name, hashlib.sha256(data).hexdigest(), len(data), kind, material.keep)
                for name, (data, kind) in files.items()
            ),
            text=material.text_name if material.keep else "",
            sections=material.sections if text == plain else _sections(text, material.sections),
            marks=_marks(text, material),
            previous=max(earlier, key=lambda s: s.retrieved).id if earlier else "",
        )
        _file(layout, source, files if material.keep else {})
    return source, True


def _files_of(material: SourceMaterial, raw: bytes) -> dict[str, tuple[bytes, str]]:
    """The text and the files by safe names, without secrets. Raises KbError where they are too many or too large."""
    files = {material.text_name: (raw, material.media_type)} | {
        _safe_name(n): _without_secrets(data, kind) for n, (data, kind) in material.files.items()
    }
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
    store.create(
        folder / "meta.json", json.dumps(to_meta(source), ensure_ascii=False, indent=2) + "\n"
    )


def to_meta(source: Source) -> dict[str, object]:
    """A source as its meta.json has it: empty values left out."""
    plain = {name: getattr(source, name) for name in PLAIN}
    listed = {
        "files": [
            {
                "name": f.name,
                "sha256": f.sha256,
                "bytes": f.size,
                "media_type": f.media_type,
                **({} if f.kept else {"kept": False}),
            }
            for f in source.files
        ],
        "sections": [{"title": title, "start": start} for title, start in source.sections],
        "marks": [asdict(mark) for mark in source.marks],
        "references": list(source.references),
    }
    return {key: value for key, value in (plain | listed).items() if value}


def _id(layout: Layout, material: SourceMaterial, digest: str) -> str:
    """A free id: the wish in plain letters, with the digest behind it where another capture has the
    name.
    """
    wish = _plain_id(material.name) or material.kind
    for name in (wish, f"{wish}-{digest[:8]}", f"{wish}-{digest[:16]}"):
        if not (layout.sources / name / "meta.json").exists():
            return name
        if (
            source_at(layout, name).origin == material.origin
            and source_at(layout, name).files[0].sha256 == digest
        ):
            break
    return f"{wish}-{hashlib.sha256((material.origin + material.version + digest).encode()).hexdigest()[:12]}"


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


def _without_secrets(data: bytes, kind: str) -> tuple[bytes, str]:
    if not kind.startswith("text/") and kind != "application/json":
        return data, kind
    return masked(data.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape"), kind


def _sections(text: str, sections: tuple[tuple[str, int], ...]) -> tuple[tuple[str, int], ...]:
    """Offsets of the same titles in a text from which secrets were taken out."""
    placed, at = [], 0
    for title, _ in sections:
        place = text.find(title, at)
        at = place if place >= 0 else at
        placed.append((title, at))
    return tuple(placed)
