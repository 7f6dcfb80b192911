"""What every reader of a loop's log yields, and the lines they read. Refuses to hold a log in memory: everything streams."""

import codecs
import math
import re
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

from kb import KbError
from kb.run.direction import Direction
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
    """A stretch of a log under one metric and baseline. `judged`: the log says what was kept; `source` is where the direction was read."""

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
    """One irregularity of a log. Remarks of one `kind` are told together, with the lines where they stand."""

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
            start = file.read(4)
            file.seek(0)
            if start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
                yield Remark("the file is UTF-16; read as such")
                yield from _wide_lines(path)
                return
            for number, raw in enumerate(file, 1):
                raw = raw.removeprefix(codecs.BOM_UTF8) if number == 1 else raw
                raw = raw.rstrip(b"\r\n")
                try:
                    yield Line(number, raw.decode("utf-8"))
                except UnicodeDecodeError:
                    yield Remark("bytes that are no UTF-8; shown as U+FFFD", number)
                    yield Line(number, raw.decode("utf-8", "replace"))
    except OSError as error:
        raise KbError(f"{path}: cannot be read: {error.strerror or error}") from error


def is_conflict_mark(text: str) -> bool:
    """Whether a line is what a merge left behind: `<<<<<<< HEAD`, `=======`, `>>>>>>> branch`."""
    return bool(re.match(r"(<{7}|>{7}|\|{7})( |$)|={7}$", text))


def _wide_lines(path: Path) -> Iterator[Line]:
    with open(path, encoding="utf-16", errors="replace", newline="\n") as file:
        for number, text in enumerate(file, 1):
            yield Line(number, text.rstrip("\r\n"))


def head_of(path: Path, *, size: int = 200_000) -> list[str]:
    """The first lines of a log, for telling its format."""
    found: list[str] = []
    for line in lines_of(path):
        if isinstance(line, Line):
            found.append(line.text[:20_000])
            size -= len(line.text)
        if size < 0 or len(found) >= SAMPLE:
            break
    return found


def split_sample(rows: Iterator[T]) -> tuple[list[T], Iterator[T]]:
    """The first rows, and an iterator over all of them, the first ones included."""
    sample: deque[T] = deque()
    for row in rows:
        sample.append(row)
        if len(sample) >= SAMPLE:
            break

    def every() -> Iterator[T]:
        while sample_left:
            yield sample_left.popleft()
        yield from rows

    sample_left = deque(sample)
    return list(sample), every()


# Counts, where 0 is a result one can reach ("failures 0"), unlike a time or a loss.
_COUNTED = re.compile(
    r"fail|error|crash|violation|mismatch|miss|stall|spill|conflict|retr|timeout|alloc|warning|bug|regress|diff|leak|drop|unmet|issue|todo|gap|remaining",
    re.IGNORECASE,
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
    counted = not primary or bool(_COUNTED.search(name))
    if is_sentinel(value, outcome=outcome, direction=direction, counted=counted):
        return Metric(name, None, unit, direction, raw=raw)
    return Metric(name, value, unit, direction, stddev=stddev)


def moment(value: object) -> str:
    """ISO time (UTC where the zone is known) of an epoch in seconds or milliseconds, or of an ISO text; empty where it is neither."""
    if isinstance(value, str):
        text = value.strip()
        if re.fullmatch(r"\d{9,13}(\.\d+)?", text):
            return moment(float(text))
        match = re.match(r"\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:?\d{2})?)?$", text)
        return text.replace(" ", "T") if match and _is_date(text[:10]) else ""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return ""
    if not value < 1e13:  # A number that no clock shows, or none at all.
        return ""
    seconds = value / 1000 if value > 1e11 else value
    if not 631_152_000 <= seconds <= 4_102_444_800:  # 1990 to 2100: a small counter is no time
        return ""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _is_date(text: str) -> bool:
    try:
        datetime.strptime(text, "%Y-%m-%d")
    except ValueError:
        return False
    return True
