"""Tables of runs whose columns are held apart by blanks alone, as programs print them (`number    state   val_acc`, a data frame).

Refuses cells of several words: nothing tells where they end. Rows are as wide as the line that names them, or have a number more in front.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise, takewhile
from pathlib import Path

from kb.formats.layout import Record, RecordTable
from kb.formats.readers.text import tables_of_runs
from kb.formats.reading import Ask, LogLine, text_lines
from kb.formats.registry import Event, LogFormat
from kb.formats.table import events_of
from kb.run.quantity import to_quantity

# Fewer cells or rows stand alike in any text.
_LEAST = 3


def tables_of(lines: Sequence[LogLine]) -> Iterator[RecordTable]:
    """Tables of a text: a line of distinct names, and right below it rows of as many cells, some column of which holds figures alone."""
    cells = [line.text.split() for line in lines]
    for at, header in enumerate(cells):
        if len({*header}) < max(len(header), _LEAST) or any(map(to_quantity, header)):
            continue
        widths = len(header), len(header) + 1
        rows = next((r for w in widths if len(r := _rows(cells, at + 1, w)) >= _LEAST), [])
        names = ["#"] * (len(rows[0]) > len(header)) + header if rows else []
        if any(all(map(to_quantity, column)) for column in zip(*rows, strict=True)):
            records = [
                Record(lines[n], dict(zip(names, row, strict=True)))
                for n, row in enumerate(rows, at + 1)
            ]
            yield RecordTable(records, names, lines[at].number)


def _rows(cells: Sequence[list[str]], first: int, width: int) -> list[list[str]]:
    """Rows of so many cells from the first on; one without a figure ends them, as it may name others."""
    below = map(cells.__getitem__, range(first, len(cells)))
    return [*takewhile(lambda row: len(row) == width and any(map(to_quantity, row)), below)]


def read(path: Path, ask: Ask) -> Iterator[Event]:
    """Segments, runs and remarks of the tables of runs."""
    tables = tables_of([*text_lines(path)])
    yield from events_of(tables_of_runs([*tables], ask), ask, file=path.name, kind="aligned")


def recognise(path: Path, head: Sequence[str]) -> bool:
    """Whether two lines that stand together have as many cells, held apart by blanks."""
    if path.suffix.lower() not in (".txt", ".log", ".out", ""):
        return False
    widths = [len(line.split()) for line in head if "  " in line]
    return any(a == b >= _LEAST for a, b in pairwise(widths))


FORMATS = (LogFormat("aligned", recognise, read, order=34),)
