"""A path to a profile: opens, unpacks, tells the format by content. Refuses binary reports, naming the export to make.

A folder is read as one profile in several files (ranks of a job, tables of one report): those that are profiles count, the
rest do not.
"""

import gzip
import io
import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TextIO

from kb import KbError, store
from kb.profiles.jsonstream import pieces
from kb.profiles.registry import Format, format_named, format_names, formats
from kb.profiles.table import Profile, Reading, merge, profile_from

HEAD = 1 << 16
FILES_AT_MOST = 4096
_NSYS = "an nsys report; write `nsys stats --format csv FILE` to a file"
_NCU = "an ncu report; write `ncu --import FILE --csv --page raw` to a file"
# How a binary report begins, or the end of its name where it has no mark, and the export that can be read.
BINARIES = {
    "PERFILE2": "a perf recording; write `perf report --stdio -i FILE` to a file",
    "SQLite format 3": "an SQLite export; write `nsys stats --format csv FILE` to a file",
    "NVR\x00": _NCU,
    "PK\x03\x04": "a zip archive; unpack it",
    ".nsys-rep": _NSYS,
    ".qdrep": _NSYS,
    ".ncu-rep": _NCU,
    ".pb": "an XSpace; export hlo_stats or op_profile as JSON from xprof, or use the trace.json.gz beside it",
}


@contextmanager
def _opened(path: Path, *, encoding: str = "utf-8-sig") -> Iterator[TextIO]:
    """The file's text, unpacked if it is gzip; a reading error of the disk or of the packing becomes a KbError."""
    try:
        # A trace is streamed, so that its size costs time alone.
        with store.opened(path, most=64 << 30, declared=True) as raw:
            packed = raw.read(2) == b"\x1f\x8b"
            raw.seek(0)
            unpacked = gzip.GzipFile(fileobj=raw) if packed else raw
            newline = "" if encoding == "latin-1" else None
            with io.TextIOWrapper(unpacked, encoding, "replace", newline) as text:
                yield text
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise KbError(
            f"{path}: the gzip data is broken or cut off ({error}); copy the file again"
        ) from error
    except OSError as error:
        raise KbError(f"{path}: cannot be read ({error.strerror or error})") from error


def _text_kind(start: str) -> Format | None:
    """The format of a text, by the first line that only one tool writes, else by all lines."""
    lines = [line.rstrip() for line in start.split("\n")[:-1] or [start] if line.strip()]
    by_line = (f for line in lines for f in formats() if f.line and f.line(line))
    by_text = (f for f in formats() if lines and f.text and f.text(lines))
    return next(by_line, None) or next(by_text, None)


def _json_kind(path: Path) -> Format | None:
    """The format of a JSON file, by the first key that tells."""
    with _opened(path) as stream:
        for key, value in pieces(stream, label=str(path)):
            names = [key] if key else [*value] if isinstance(value, dict) else []
            chosen = next((f for f in formats() if not f.keys.isdisjoint(names)), None)
            if chosen or not key:
                return chosen
    return None


def kind_of(path: Path) -> Format | None:
    """The format of a file by its content, None if it is none known. KbError for a binary report, broken gzip or JSON."""
    with _opened(path, encoding="latin-1") as stream:
        data = stream.read(HEAD)
    if kind := next((f for f in formats() if f.data and f.data(data.encode("latin-1"))), None):
        return kind
    with _opened(path) as stream:
        start = stream.read(HEAD)
    if not start.strip():
        raise KbError(f"{path}: the file is empty")
    marked = next((what for mark, what in BINARIES.items() if data.startswith(mark)), None)
    if marked or start.count("\x00") + start.count("\ufffd") > len(start) // 100:
        other = "a binary file; export it as text (CSV, JSON or folded stacks)"
        raise KbError(f"{path}: is {marked or BINARIES.get(path.suffix, other)}")
    return _json_kind(path) if start.lstrip()[0] in "{[" else _text_kind(start)


def _read_file(path: Path, kind: str) -> Reading:
    chosen = format_named(kind) if kind != "auto" else kind_of(path)
    if chosen is None:
        names = ", ".join(format_names())
        raise KbError(
            f"{path}: no profile format known ({names}); name it with --kind, or export one of these"
        )
    with _opened(path, encoding="latin-1" if chosen.data else "utf-8-sig") as stream:
        return chosen.read(stream, str(path))


def _files(folder: Path, kind: str) -> tuple[list[Path], list[Path]]:
    """Files of a folder that are profiles (of the kind, if one is named), and those passed over: no profile, binary, broken."""
    files = sorted(p for p in folder.rglob("*") if p.is_file() and not p.is_symlink())
    if len(files) > FILES_AT_MOST:
        raise KbError(
            f"{folder}: holds more than {FILES_AT_MOST} files; name the profile's own folder"
        )
    chosen = []
    for path in files:
        with suppress(KbError):
            chosen += [path] if (f := kind_of(path)) and kind in ("auto", f.name) else []
    if not chosen:
        raise KbError(f"{folder}: no profile in this folder ({', '.join(format_names())})")
    return chosen, [path for path in files if path not in chosen]


def read(path: Path, *, kind: str = "auto") -> Profile:
    """The bucket table of a file or folder. Raises KbError where it is missing, no profile, broken, or holds no time."""
    if kind != "auto":
        format_named(kind)
    paths, passed = _files(path, kind) if os.path.isdir(path) else ([path], [])
    merged = merge([_read_file(p, kind) for p in paths], source=str(path))
    if passed:
        names = ", ".join(p.relative_to(path).as_posix() for p in passed[:3])
        more = ", …" if len(passed) > 3 else ""
        warning = f"{len(passed)} file(s) of the folder are no such profile: {names}{more}"
        merged = replace(merged, warnings=(*merged.warnings, warning))
    way_out = next((f.way_out for f in formats() if f.name == merged.kind), "is it whole?")
    return profile_from(merged, source=path.resolve().name, way_out=way_out)


def profile_or_text(path: Path) -> Profile | str:
    """The profile at a path, or the file's text where it is one that no profiler writes (notes about a profile, a page)."""
    if not os.path.isdir(path) and kind_of(path) is None:
        with _opened(path) as stream:
            return stream.read(HEAD)
    return read(path)
