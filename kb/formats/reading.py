"""What every reader of a loop's log yields, and the lines they read. Refuses to hold a log in memory: everything streams."""

import codecs
import math
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import chain, islice
from pathlib import Path
from typing import TypeVar

from kb import KbError
from kb.run.direction import Direction, words_of
from kb.run.record import Metric, Outcome, is_sentinel
from kb.store import digest_of

# Enough rows to see what a column holds; the rest of the log is read by what these said.
SAMPLE = 400

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Ask:
    """What the person who imports said: the direction and name of the primary metric, where the log leaves them open."""

    direction: Direction | None = None
    metric: str = ""


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
class Line:
    """One line of a log: its number from 1, its text without the line end, and the digest of that text."""

    number: int
    text: str

    @property
    def digest(self) -> str:
        return digest_of(self.text)


def lines_of(path: Path) -> Iterator[Line | Remark]:
    """Lines of a log as text, streamed; a BOM, CRLF and UTF-16 are read over, bytes that are no UTF-8 become U+FFFD and a remark."""
    try:
        with open(path, "rb") as file:
            wide = file.read(2) in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
        if wide:
            yield Remark("the file is UTF-16; read as such")
            with open(path, encoding="utf-16", errors="replace", newline="\n") as text:
                yield from (Line(n, line.rstrip("\r\n")) for n, line in enumerate(text, 1))
            return
        with open(path, "rb") as file:
            for number, raw in enumerate(file, 1):
                text = raw.decode("utf-8", "replace").rstrip("\r\n")
                if "\ufffd" in text and b"\xef\xbf\xbd" not in raw:
                    yield Remark("bytes that are no UTF-8; shown as U+FFFD", number)
                yield Line(number, text.removeprefix("\ufeff") if number == 1 else text)
    except OSError as error:
        raise KbError(f"{path}: cannot be read: {error.strerror or error}") from error


def text_lines(path: Path) -> Iterator[Line]:
    """The lines alone."""
    return (x for x in lines_of(path) if isinstance(x, Line))


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


def split_sample(rows: Iterator[T]) -> tuple[list[T], Iterator[T]]:
    """The first rows, and an iterator over all of them, the first ones included."""
    sample = list(islice(rows, SAMPLE))
    return sample, chain(sample, rows)


# Counts, where 0 is a result one can reach ("failures 0"), unlike a time or a loss.
_COUNTED = (
    *("fail", "error", "crash", "violation", "mismatch", "miss", "stall", "spill", "conflict", "retr"),
    *("timeout", "alloc", "warning", "bug", "regress", "diff", "leak", "drop", "unmet", "issue", "todo"),
    *("gap", "remaining"),
)


def measured(
    name: str,
    value: float | None,
    *,
    raw: str,
    outcome: Outcome | None,
    direction: Direction | None,
    unit: str = "",
    stddev: float | None = None,
    primary: bool = False,
) -> Metric:
    """A metric of a row; a sentinel becomes a metric without value that keeps what the log shows."""
    if value is None or math.isnan(value):
        return Metric(name, None, unit, direction, raw=raw)
    counted = not primary or any(word in "_".join(words_of(name)) for word in _COUNTED)
    if is_sentinel(value, outcome=outcome, direction=direction, counted=counted):
        return Metric(name, None, unit, direction, raw=raw)
    return Metric(name, value, unit, direction, stddev=stddev)


def moment(value: object) -> str:
    """ISO time (UTC where the zone is known) of an epoch in seconds or milliseconds, or of an ISO text; empty where it is neither."""
    if isinstance(value, str):
        text = value.strip()
        if text.replace(".", "", 1).isascii() and text.replace(".", "", 1).isdigit():
            return moment(float(text)) if 9 <= len(text.partition(".")[0]) <= 13 else ""
        if text[4:5] != "-" or text[7:8] != "-":
            return ""
        try:
            datetime.fromisoformat(text)
        except ValueError:
            return ""
        return text.replace(" ", "T")
    # A number that no clock shows, or a small counter, is no time: 1990 to 2100 is.
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not value < 1e13:
        return ""
    seconds = value / 1000 if value > 1e11 else value
    if not 631_152_000 <= seconds <= 4_102_444_800:
        return ""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
