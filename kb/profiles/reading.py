"""A path to a profile: opens, unpacks, tells the format by content. Refuses binary reports, naming the export to make.

A folder is read as one profile in several files (ranks of a job, tables of one report): those that are profiles count, the
rest do not.
"""

import gzip
import io
import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TextIO

from kb import KbError, store
from kb.profiles.jsonstream import Cursor
from kb.profiles.registry import Format, format_named, format_names, formats
from kb.profiles.table import Profile, Reading, merge, profile_from

HEAD = 1 << 16
FILES_AT_MOST = 4096
# How a binary report begins (bytes, or the end of its name where it has no mark), and the export that can be read.
BINARIES = (
    (
        b"PERFILE2",
        "a perf recording; write `perf report --stdio -i FILE` to a file",
    ),
    (b"SQLite format 3", "an SQLite export; write `nsys stats --format csv FILE` to a file"),
    (b"NVR\x00", "an ncu report; write `ncu --import FILE --csv --page raw` to a file"),
    (b"PK\x03\x04", "a zip archive; unpack it"),
    (b"\x89PNG", "a picture"),
)
BINARY_NAMES = {
    ".nsys-rep": "an nsys report; write `nsys stats --format csv FILE` to a file",
    ".qdrep": "an nsys report; write `nsys stats --format csv FILE` to a file",
    ".ncu-rep": "an ncu report; write `ncu --import FILE --csv --page raw` to a file",
    ".pb": "an XSpace; export hlo_stats or op_profile as JSON from xprof, or use the trace.json.gz beside it",
}


@contextmanager
def _opened(path: Path, label: str, *, encoding: str = "utf-8-sig") -> Iterator[TextIO]:
    """The file's text, unpacked if it is gzip; a reading error of the disk or of the packing becomes a KbError."""
    try:
        # A trace is streamed, so that its size costs time alone.
        with store.opened(path, most=64 << 30, declared=True) as raw:
            packed = raw.read(2) == b"\x1f\x8b"
            raw.seek(0)
            unpacked = gzip.GzipFile(fileobj=raw) if packed else raw
            with io.TextIOWrapper(
                unpacked,
                encoding=encoding,
                errors="replace",
                newline="" if encoding == "latin-1" else None,
            ) as text:
                yield text
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise KbError(
            f"{label}: the gzip data is broken or cut off ({error}); copy the file again"
        ) from error
    except OSError as error:
        raise KbError(f"{label}: cannot be read ({error.strerror or error})") from error


def _binary(path: Path, start: str) -> str | None:
    """What a file is that is no text, and what to do; None if it is text."""
    for mark, what in BINARIES:
        if start.startswith(mark.decode("latin-1")) or start.encode("utf-8", "replace").startswith(
            mark
        ):
            return what
    if start.count("\x00") + start.count("\ufffd") > len(start) // 100:
        return BINARY_NAMES.get(
            path.suffix, "a binary file; export it as text (CSV, JSON or folded stacks)"
        )
    return None


def _json_kind(stream: TextIO, label: str) -> Format | None:
    """The format of a JSON file, by the first key that tells."""
    cursor = Cursor(stream, label=label)
    if cursor.peek() == "[":
        for _ in cursor.elements(may_stay_open=True):
            first = cursor.value()
            return next(
                (
                    f
                    for f in formats()
                    if isinstance(first, dict) and not first.keys().isdisjoint(f.item_keys)
                ),
                None,
            )
        return None
    kinds = {key: f for f in reversed(formats()) for key in f.keys}
    return next((kinds[key] for key in cursor.members() if key in kinds), None)


def _text_kind(start: str) -> Format | None:
    """The format of a text, by the first lines that only one tool writes."""
    lines = [line.rstrip() for line in start.split("\n")[:-1] or [start] if line.strip()]
    for line in lines:
        cells = (
            [c.strip().strip('"') for c in line.split('","' if line.startswith('"') else ",")]
            if "," in line
            else []
        )
        for format_ in formats():
            if cells and format_.row and format_.row(cells) or format_.line and format_.line(line):
                return format_
    return next((f for f in formats() if lines and f.text and f.text(lines)), None)


def kind_of(path: Path, *, label: str) -> Format | None:
    """The format of a file by its content, None if it is none known. KbError for a binary report, broken gzip or JSON."""
    with _opened(path, label, encoding="latin-1") as stream:
        data = stream.read(HEAD).encode("latin-1")
        if kind := next((f for f in formats() if f.data and f.data(data)), None):
            return kind
    with _opened(path, label) as stream:
        start = stream.read(HEAD)
        if not start.strip():
            raise KbError(f"{label}: the file is empty")
        binary = _binary(path, start)
        if binary:
            raise KbError(f"{label}: is {binary}")
    if start.lstrip().startswith(("{", "[")):
        with _opened(path, label) as stream:
            return _json_kind(stream, label)
    return _text_kind(start)


def _read_file(path: Path, *, kind: str, label: str) -> Reading:
    chosen = format_named(kind) if kind != "auto" else kind_of(path, label=label)
    if chosen is None:
        names = ", ".join(format_names())
        raise KbError(
            f"{label}: no profile format known ({names}); name it with --kind, or export one of these"
        )
    with _opened(path, label, encoding="latin-1" if chosen.data else "utf-8-sig") as stream:
        return chosen.read(stream, label)


def _files(folder: Path, *, kind: str, label: str) -> tuple[list[Path], list[Path]]:
    """Files of a folder that are profiles (of the kind, if one is named), and those passed over: no profile, binary, broken."""
    files = sorted(p for p in folder.rglob("*") if p.is_file() and not p.is_symlink())
    if len(files) > FILES_AT_MOST:
        raise KbError(
            f"{label}: holds more than {FILES_AT_MOST} files; name the profile's own folder"
        )
    chosen, passed = [], []
    for path in files:
        try:
            kind_there = kind_of(path, label=str(path))
        except KbError:
            kind_there = None
        (chosen if kind_there and kind in ("auto", kind_there.name) else passed).append(path)
    if not chosen:
        raise KbError(f"{label}: no profile in this folder ({', '.join(format_names())})")
    return chosen, passed


def read(path: Path, *, kind: str = "auto") -> Profile:
    """The bucket table of a file or folder. Raises KbError where it is missing, no profile, broken, or holds no time."""
    label = str(path)
    if kind != "auto":
        format_named(kind)
    paths, passed = _files(path, kind=kind, label=label) if os.path.isdir(path) else ([path], [])
    merged = merge([_read_file(p, kind=kind, label=str(p)) for p in paths], source=label)
    if passed:
        names = ", ".join(p.relative_to(path).as_posix() for p in passed[:3]) + (
            ", …" if len(passed) > 3 else ""
        )
        merged = replace(
            merged,
            warnings=(
                *merged.warnings,
                f"{len(passed)} file(s) of the folder are no such profile: {names}",
            ),
        )
    return profile_from(merged, source=path.resolve().name)


def profile_or_text(path: Path) -> Profile | str:
    """The profile at a path, or the file's text where it is one that no profiler writes (notes about a profile, a page)."""
    if not os.path.isdir(path) and kind_of(path, label=str(path)) is None:
        with _opened(path, str(path)) as stream:
            return stream.read(HEAD)
    return read(path)
