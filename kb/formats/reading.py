"""What every reader of a loop's log yields, and the lines they read, one at a time. Refuses to say what a row means: readers of tables hold all rows for that."""

import codecs
import io
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import TypeVar

from kb import KbError, readable
from kb.run.direction import Direction, direction_of
from kb.run.quantity import bare, to_quantity
from kb.store import digest_of, opened
from kb.text import Number

# Enough rows to see what a column holds; the rest of the log is read by what these said.
SAMPLE = 400

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Ask:
    """What is said of the primary metric, by the person who imports or by the log's own configuration: direction, name and unit.

    `prose` is the text above the runs, which may name either; `source` is where the direction was read.
    """

    direction: Direction | None = None
    metric: str = ""
    prose: str = ""
    unit: str = ""
    source: str = "config"

    def way(self, name: str, *, unit: str, stated: "Ask") -> tuple[Direction | None, str]:
        """Which way a metric is better, and where that was read: asked, config, format, name, or nowhere."""
        if self.direction or stated.direction:
            return (
                (self.direction, "asked") if self.direction else (stated.direction, stated.source)
            )
        # "Result" in ms: the unit names the quantity where the name does not.
        named = name and unit not in ("", "%", "s")
        way = direction_of(name) or (direction_of(f"value {unit}") if named else None)
        return way, "name" if way else ""


@dataclass(frozen=True, slots=True)
class Segment:
    """A stretch of a log under one metric and baseline.

    `judged`: the log says what was kept; `search`: it tries settings and keeps none; `source` is
    where the direction was read: asked, config, name or format.
    """

    index: int
    line: int
    name: str = ""
    metric: str = ""
    unit: str = ""
    direction: Direction | None = None
    source: str = ""
    judged: bool = True
    search: bool = False


@dataclass(frozen=True, slots=True)
class Remark:
    """One irregularity of a log. Remarks of one `kind` are told together, with their lines."""

    kind: str
    line: int = 0


@dataclass(frozen=True, slots=True)
class LogLine:
    """One line of a log: its number from 1, its text without the line end, and the digest of that text."""

    number: int
    text: str

    @property
    def digest(self) -> str:
        return digest_of(self.text)


# A log may be larger than a page, and one line of it a whole JSON; beyond that it is a device or holes.
_LARGEST, _LONGEST = 4 << 30, 256 << 20


def lines_of(path: Path) -> Iterator[LogLine | Remark]:
    """Lines of a log as text, streamed; a BOM, CRLF, CR alone and UTF-16 are read over, bytes that are no UTF-8 become U+FFFD and a remark."""
    with readable(path), opened(path, most=_LARGEST, declared=True) as file:
        head = file.read(1 << 16)
        wide = head[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
        file.seek(0)
        # Old spreadsheets end a line with CR alone.
        if wide or b"\r" in head[:-1] and b"\n" not in head:
            yield Remark(
                "the file is UTF-16; read as such" if wide else "its lines end with CR alone"
            )
            text = io.TextIOWrapper(
                file,
                "utf-16" if wide else "utf-8-sig",
                "replace",
                newline="\n" if wide else "\r",
            )
            yield from (LogLine(n, line.rstrip("\r\n")) for n, line in enumerate(text, 1))
            return
        for number, raw in enumerate(iter(partial(file.readline, _LONGEST), b""), 1):
            if len(raw) == _LONGEST:
                raise KbError(f"{path}:{number}: a line of {_LONGEST >> 20} MB; this is no log")
            text = raw.decode("utf-8", "replace").rstrip("\r\n")
            if "\ufffd" in text and b"\xef\xbf\xbd" not in raw:
                yield Remark("bytes that are no UTF-8; shown as U+FFFD", number)
            yield LogLine(number, text.removeprefix("\ufeff") if number == 1 else text)


def text_lines(path: Path) -> Iterator[LogLine]:
    """The lines alone."""
    return (x for x in lines_of(path) if isinstance(x, LogLine))


def is_conflict_mark(text: str) -> bool:
    """Whether a line is what a merge left behind: `<<<<<<< HEAD`, `=======`, `>>>>>>> branch`."""
    mark = text[:7]
    return mark in ("<" * 7, ">" * 7, "|" * 7) and text[7:8] in ("", " ") or text == "=" * 7


def head_of(path: Path, *, size: int = 200_000) -> list[str]:
    """The first lines of a log that say something, for telling its format."""
    head: list[str] = []
    for line in text_lines(path):
        if line.text.strip():
            head.append(line.text[:20_000])
        size -= len(line.text)
        if size < 0 or len(head) >= SAMPLE:
            break
    return head


def is_binary(head: Sequence[str]) -> bool:
    """Whether the first lines of a file are no text; a hole that a crash left in a log is one line of many."""
    holed = sum("\0" in line for line in head)
    return 5 * holed > len(head) or any("\0" in line for line in head[:5])


def split_sample(rows: Iterator[T]) -> tuple[list[T], Iterator[T]]:
    """The first rows, and an iterator over all of them, the first ones included."""
    sample = list(islice(rows, SAMPLE))
    return sample, chain(sample, rows)


# A remark that takes the figure before it back.
_TAKEN_BACK = ("estimat", "approx", "theor", "extrapol", "project", "expected", "target", "goal")
_TAKEN_BACK += ("broken", "invalid", "wrong", "garbage", "bogus", "leak", "~")
_PARTS_OF_TIME = {"h": 60.0, "m": 1.0, "s": 1 / 60}
_CLOCK = re.compile(r"(\d+)\s*([hms])[a-z]*\s*")
# `9.31 → 8.70 ms`: what it was and what it came to.
_TURNED = re.compile(r".*\d[^\d→]*?\s*(?:→|->|=>)\s*(?=[\d.+\-−])")
# A comma before other than three digits parts no thousands, and one behind a lone 0 neither.
_DECIMAL_COMMA = re.compile(
    r"(?<![\d.,])(\d{1,3}(?:\.\d{3})*|\d+),(\d{1,2}|\d{4,})(?![\d,]|\.\d)|(?<![\d.,])(0),(\d+)(?![\d,]|\.\d)"
)
_BLANK_THOUSANDS = re.compile(r"(?<=\d)[ \u00a0](?=\d{3}(?!\d))")


def with_points(text: str) -> str:
    """A text whose numbers have decimal points, where its own form shows that they have commas."""
    if "," not in text:
        return text
    return _DECIMAL_COMMA.sub(lambda m: f"{(m[1] or m[3]).replace('.', '')}.{m[2] or m[4]}", text)


def quantity_of(cell: str) -> Number | None:
    """The quantity of a cell, without a remark or interval in brackets after it, the last one of `a → b`; None where it states no plain number."""
    text = bare(cell)
    if not text or len(text) > 400 or not any(map(str.isdigit, text[:40])):
        return None
    # `35.2s (small) / 760.9s (full)`, `175/+21`: what stands first is the figure.
    text = text.partition(" / ")[0].partition("/+")[0].rstrip("*†")
    if text[-1:] in (")", "]"):
        figure, _, remark = text[:-1].rpartition("(" if text[-1] == ")" else "[")
        if not any(word in remark.lower() for word in _TAKEN_BACK):
            text = figure
    parts = _CLOCK.findall(text[:30])
    if len(parts) > 1 and not _CLOCK.sub("", text):
        return Number(sum(int(n) * _PARTS_OF_TIME[u] for n, u in parts), "min", 0, len(text))
    text = _BLANK_THOUSANDS.sub("", _TURNED.sub("", text, count=1))
    return to_quantity(with_points(text))


def moment(value: object) -> str:
    """ISO time (UTC where the zone is known) of an epoch in seconds or milliseconds, or of an ISO text; empty where it is neither."""
    if isinstance(value, str):
        text = value.strip()
        whole = text.partition(".")[0]
        if text.replace(".", "", 1).isascii() and text.replace(".", "", 1).isdigit():
            return moment(float(text)) if 9 <= len(whole) <= 13 else ""
        with suppress(ValueError):
            datetime.fromisoformat(text)
            return text.replace(" ", "T")
        return ""
    # A number that no clock shows, or a small counter, is no time: 1990 to 2100 is.
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not value < 1e13:
        return ""
    seconds = value / 1000 if value > 1e11 else value
    known = 631_152_000 <= seconds <= 4_102_444_800
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%SZ}" if known else ""
