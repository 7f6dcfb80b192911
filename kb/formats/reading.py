"""What every reader of a loop's log yields, and the lines they read. Refuses to hold a log in memory: everything streams."""

import codecs
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import TypeVar

from kb import KbError
from kb.run.direction import Direction, direction_of
from kb.store import digest_of

# Enough rows to see what a column holds; the rest of the log is read by what these said.
SAMPLE = 400

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Ask:
    """What is said of the primary metric, by the person who imports or by the log's own configuration: direction and name.

    `prose` is the text above the runs, which may name either.
    """

    direction: Direction | None = None
    metric: str = ""
    prose: str = ""

    def way(
        self, name: str, *, unit: str = "", stated: Direction | None = None
    ) -> tuple[Direction | None, str]:
        """Which way a metric is better, and where that was read: asked, config, name, or nowhere."""
        if self.direction or stated:
            return (self.direction, "asked") if self.direction else (stated, "config")
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


def lines_of(path: Path) -> Iterator[LogLine | Remark]:
    """Lines of a log as text, streamed; a BOM, CRLF and UTF-16 are read over, bytes that are no UTF-8 become U+FFFD and a remark."""
    try:
        with open(path, "rb") as file:
            wide = file.read(2) in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
        if wide:
            yield Remark("the file is UTF-16; read as such")
            with open(path, encoding="utf-16", errors="replace", newline="\n") as text:
                yield from (LogLine(n, line.rstrip("\r\n")) for n, line in enumerate(text, 1))
            return
        with open(path, "rb") as file:
            for number, raw in enumerate(file, 1):
                text = raw.decode("utf-8", "replace").rstrip("\r\n")
                if "\ufffd" in text and b"\xef\xbf\xbd" not in raw:
                    yield Remark("bytes that are no UTF-8; shown as U+FFFD", number)
                yield LogLine(number, text.removeprefix("\ufeff") if number == 1 else text)
    except OSError as error:
        raise KbError(f"{path}: cannot be read: {error.strerror or error}") from error


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


def split_sample(rows: Iterator[T]) -> tuple[list[T], Iterator[T]]:
    """The first rows, and an iterator over all of them, the first ones included."""
    sample = list(islice(rows, SAMPLE))
    return sample, chain(sample, rows)
