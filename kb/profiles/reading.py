"""A path to a profile: opens, unpacks, tells the format by content. Refuses binary reports, naming the export to make.

A folder is read as one profile in several files (ranks of a job, tables of one report): those that are profiles count, the
rest do not.
"""

import gzip
import io
import os
import re
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TextIO

from kb import KbError
from kb.profiles.chrome import reading as chrome_trace
from kb.profiles.jsonstream import Cursor
from kb.profiles.ncu import is_header as is_ncu_header
from kb.profiles.ncu import reading as ncu
from kb.profiles.nsys import is_header as is_nsys_header
from kb.profiles.nsys import reading as nsys
from kb.profiles.perf import BARE as PERF_ROW
from kb.profiles.perf import reading as perf_report
from kb.profiles.stacks import FOLDED, SAMPLE, folded, perf_script, speedscope
from kb.profiles.table import Profile, Reading, merge, profile_from
from kb.profiles.xprof import is_header as is_xprof_header
from kb.profiles.xprof import reading_csv, reading_json

HEAD = 1 << 16
# Operation tables and trees are read whole; traces and stacks are not.
WHOLE_AT_MOST = 1 << 27
FILES_AT_MOST = 4096
# How a binary report begins (bytes, or the end of its name where it has no mark), and the export that can be read.
BINARIES = (
    (b"PERFILE2", "a perf recording; write `perf report --stdio -i FILE` or `perf script -i FILE` to a file"),
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
Reader = Callable[[TextIO, str], Reading]
READERS: dict[str, Reader] = {
    "chrome-trace": lambda stream, label: chrome_trace(Cursor(stream, label=label)),
    "nsys": lambda stream, label: nsys(stream, label=label),
    "ncu": lambda stream, label: ncu(stream, label=label),
    "perf-report": lambda stream, label: perf_report(stream, label=label),
    "perf-script": lambda stream, label: perf_script(stream, label=label),
    "folded": lambda stream, label: folded(stream, label=label),
    "speedscope": lambda stream, label: speedscope(Cursor(stream, label=label)),
    "xprof": lambda stream, label: _xprof(stream, label),
}
KINDS = tuple(READERS)


def _xprof(stream: TextIO, label: str) -> Reading:
    start = stream.read(HEAD)
    if not _looks_like_json(start):
        stream.seek(0)
        return reading_csv(stream, label=label)
    text = start + stream.read(WHOLE_AT_MOST)
    if len(text) > WHOLE_AT_MOST:
        raise KbError(f"{label}: an xprof table of more than {WHOLE_AT_MOST >> 20} MB; export it as CSV, or fewer operations")
    return reading_json(text, label=label)


def _looks_like_json(start: str) -> bool:
    return start.lstrip().startswith(("{", "["))


@contextmanager
def _opened(path: Path, label: str) -> Iterator[TextIO]:
    """The file's text, unpacked if it is gzip; a reading error of the disk or of the packing becomes a KbError."""
    try:
        with path.open("rb") as raw:
            packed = raw.read(2) == b"\x1f\x8b"
            raw.seek(0)
            unpacked = gzip.GzipFile(fileobj=raw) if packed else raw
            with io.TextIOWrapper(unpacked, encoding="utf-8-sig", errors="replace") as text:
                yield text
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise KbError(f"{label}: the gzip data is broken or cut off ({error}); copy the file again") from error
    except OSError as error:
        raise KbError(f"{label}: cannot be read ({error.strerror or error})") from error


def _binary(path: Path, start: str) -> str | None:
    """What a file is that is no text, and what to do; None if it is text."""
    for mark, what in BINARIES:
        if start.startswith(mark.decode("latin-1")) or start.encode("utf-8", "replace").startswith(mark):
            return what
    if start.count("\x00") + start.count("\ufffd") > len(start) // 100:
        return BINARY_NAMES.get(path.suffix, "a binary file; export it as text (CSV, JSON or folded stacks)")
    return None


def _json_kind(stream: TextIO, label: str) -> str | None:
    """The kind of a JSON file, by the first key that tells."""
    cursor = Cursor(stream, label=label)
    if cursor.peek() == "[":
        for _ in cursor.elements(may_stay_open=True):
            first = cursor.value()
            keys = set(first) if isinstance(first, dict) else set()
            return "chrome-trace" if "ph" in keys else "xprof" if "cols" in keys else None
        return None
    for key in cursor.members():
        if key == "traceEvents":
            return "chrome-trace"
        if key in ("shared", "profiles"):
            return "speedscope"
        if key in (
            "byProgram",
            "byCategory",
            "by_program",
            "by_category",
            "byProgramExcludeIdle",
            "byCategoryExcludeIdle",
            "cols",
        ):
            return "xprof"
    return None


def _text_kind(start: str) -> str | None:
    """The kind of a text, by the first lines that only one tool writes."""
    lines = [line for line in start.split("\n")[:-1] or [start] if line.strip()]
    for line in lines:
        if "," in line:
            cells = [c.strip().strip('"') for c in line.split('","' if line.startswith('"') else ",")]
            for kind, is_header in (("ncu", is_ncu_header), ("xprof", is_xprof_header), ("nsys", is_nsys_header)):
                if is_header(cells):
                    return kind
        elif re.match(r"^\s*Time ?\(%\)\s{2,}Total Time", line) or re.match(r"^\s*Start \(\w+\)\s{2,}Duration \(\w+\)", line):
            return "nsys"
        if line.startswith("#") and ("Overhead" in line or re.search(r"Samples:.*of event", line)) or PERF_ROW.match(line):
            return "perf-report"
        if SAMPLE.match(line.rstrip()):
            return "perf-script"
    ends = sum(bool(FOLDED.match(line.rstrip("\r"))) for line in lines)
    return "folded" if lines and ends >= 0.9 * len(lines) and any(";" in line for line in lines) else None


def kind_of(path: Path, *, label: str) -> str | None:
    """The kind of a file by its content, None if it is none known. KbError for a binary report, broken gzip or JSON."""
    with _opened(path, label) as stream:
        start = stream.read(HEAD)
        if not start.strip():
            raise KbError(f"{label}: the file is empty")
        binary = _binary(path, start)
        if binary:
            raise KbError(f"{label}: is {binary}")
    if _looks_like_json(start):
        with _opened(path, label) as stream:
            return _json_kind(stream, label)
    return _text_kind(start)


def _read_file(path: Path, *, kind: str, label: str) -> Reading:
    chosen = kind if kind != "auto" else kind_of(path, label=label)
    if chosen is None:
        raise KbError(f"{label}: no profile format known ({', '.join(KINDS)}); name it with --kind, or export one of these")
    with _opened(path, label) as stream:
        return READERS[chosen](stream, label)


def _files(folder: Path, *, kind: str, label: str) -> tuple[list[Path], list[Path]]:
    """Files of a folder that are profiles (of the kind, if one is named), and those passed over: no profile, binary, broken."""
    found = sorted(p for p in folder.rglob("*") if p.is_file() and not p.is_symlink())
    if len(found) > FILES_AT_MOST:
        raise KbError(f"{label}: holds more than {FILES_AT_MOST} files; name the profile's own folder")
    chosen, passed = [], []
    for path in found:
        try:
            its_kind = kind_of(path, label=str(path))
        except KbError:
            its_kind = None
        (chosen if its_kind is not None and kind in ("auto", its_kind) else passed).append(path)
    if not chosen:
        raise KbError(f"{label}: no profile in this folder ({', '.join(KINDS)})")
    return chosen, passed


def read(path: Path, *, kind: str = "auto") -> Profile:
    """The bucket table of a file or folder. Raises KbError where it is missing, no profile, broken, or holds no time."""
    label = str(path)
    if kind != "auto" and kind not in READERS:
        raise KbError(f"no kind of profile '{kind}'; there are auto, {', '.join(KINDS)}")
    paths, passed = _files(path, kind=kind, label=label) if os.path.isdir(path) else ([path], [])
    merged = merge([_read_file(p, kind=kind, label=str(p)) for p in paths], source=label)
    if passed:
        names = ", ".join(p.relative_to(path).as_posix() for p in passed[:3]) + (", …" if len(passed) > 3 else "")
        merged = replace(merged, warnings=(*merged.warnings, f"{len(passed)} file(s) of the folder are no such profile: {names}"))
    return profile_from(merged, source=path.resolve().name)


def profile_or_text(path: Path) -> Profile | str:
    """The profile at a path, or the file's text where it is one that no profiler writes (notes about a profile, a page)."""
    if not os.path.isdir(path) and kind_of(path, label=str(path)) is None:
        with _opened(path, str(path)) as stream:
            return stream.read(HEAD)
    return read(path)
