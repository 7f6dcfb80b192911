"""results.tsv in all its variants (and CSV): read with quotes as plain characters, by what the rows hold where the header lies.

A row is a line with as many cells as the table has columns, or one that begins as the others do.
Lines that continue a description, repeat the header or comment are no runs.
"""

import csv
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, takewhile
from operator import attrgetter
from pathlib import Path

from kb.formats.columns import ABSENT, STATUS, ColumnRole, LogColumn, is_setting, key_of
from kb.formats.layout import RecordLayout, layout_of, looks_like_header
from kb.formats.measuring import moment, quantity_of
from kb.formats.objects import opens_json
from kb.formats.reading import (
    Ask,
    LogLine,
    Remark,
    Segment,
    is_conflict_mark,
    lines_of,
    split_sample,
)
from kb.formats.registry import Event, LogFormat
from kb.formats.table import Record, directive, runs_of
from kb.run.direction import direction_from
from kb.run.record import Outcome
from kb.run.status import is_status, outcome_of

# No table is wider; what is, is one long line, and its end is one cell.
_WIDEST = 1000


@dataclass(frozen=True, slots=True)
class TableRow:
    """One line of a table, split; `table` counts the tables of the file."""

    line: LogLine
    cells: list[str]
    table: int = 0


# A table may stand behind what a tool says of the machine.
_PREAMBLE = 30


def delimiter_of(head: Sequence[str]) -> str:
    """TAB where any line has two of them or the first has one; else the comma, semicolon or bar of a header line."""
    lines = [h for h in head if not h.startswith("#")][:50] or ["".join(head[:1])]
    if "\t" in lines[0] or sum(h.count("\t") >= 2 for h in lines) * 2 > len(lines):
        return "\t"
    meant = "\\t" in lines[0] and not any("\t" in h for h in lines)
    ruled = any("-|-" in h.replace(" ", "") for h in lines)
    for line in [] if meant or ruled else lines[:_PREAMBLE]:
        for delimiter in (",", ";", "|"):
            if delimiter in line and looks_like_header(_split(line, delimiter)):
                return delimiter
    # Bars between blanks part the cells of a log that has no header.
    bars = {h.count(" | ") for h in lines if not h.lstrip().startswith("|")}
    return "|" if len(bars) == 1 and min(bars) >= 3 else "\t"


def _split(text: str, delimiter: str) -> list[str]:
    if delimiter == "\t":
        # A loop that prints `\\t` where a TAB was meant means one.
        text = text if "\t" in text else text.replace("\\t", "\t")
        return [c.strip() for c in text.split("\t", _WIDEST)]
    try:
        rows = csv.reader([text], delimiter=delimiter, skipinitialspace=True)
        return [c.strip() for c in next(rows, [])[:_WIDEST]]
    except csv.Error:
        return [c.strip() for c in text.split(delimiter, _WIDEST)]


def recognise(path: Path, head: Sequence[str]) -> bool:
    """Whether most lines of a file have the cells of a table."""
    if path.suffix.lower() in (".tsv", ".csv"):
        return True
    if opens_json(head):
        return False
    delimiter = delimiter_of(head)
    wide = sum(h.count(delimiter) >= 2 and not h.lstrip().startswith("|") for h in head)
    return wide * 2 > len(head) and wide > 1


def read(path: Path, ask: Ask) -> Iterator[Event]:
    """Segments, runs and remarks, in file order; a different header further down opens a segment."""
    sample, lines = split_sample(lines_of(path))
    delimiter = delimiter_of([x.text for x in sample if isinstance(x, LogLine) and x.text.strip()])
    stated: dict[str, str] = {}
    remarks: list[Remark] = []
    tables = groupby(
        _tables(_rows(lines, delimiter, remarks, stated), remarks), key=attrgetter("table")
    )
    empty = True
    for index, rows in tables:
        empty = False
        yield from _table(rows, index, path.name, ask, stated, remarks)
    if empty:
        yield Segment(0, 1, judged=False)
        yield Remark("the file is empty")
    yield from remarks


def _rows(
    lines: Iterator[LogLine | Remark], delimiter: str, remarks: list[Remark], stated: dict[str, str]
) -> Iterator[TableRow]:
    """Lines that may be rows; comments are read for a header or for what they state of the metric."""
    first = True
    for line in lines:
        if isinstance(line, Remark):
            remarks.append(line)
            continue
        text = line.text
        if not any(map(str.isalnum, text)):
            continue
        if is_conflict_mark(text):
            remarks.append(Remark("a merge left its marks; both sides are read", line.number))
            continue
        if text.startswith("#") and not text[1:2].isdigit():
            numbered = text.startswith(f"#{delimiter}")
            cells = _split(text if numbered else text.lstrip("# "), delimiter)
            if (first or len(cells) > 2) and looks_like_header(cells):
                yield TableRow(line, cells)
            elif directive(text)[0]:
                stated.update([directive(text)])
                continue
            else:
                remarks.append(Remark("a comment line; skipped", line.number))
        else:
            yield TableRow(line, _split(text, delimiter))
        first = False


def _tables(rows: Iterator[TableRow], remarks: list[Remark]) -> Iterator[TableRow]:
    """Rows with the number of their table: one begins at every header that differs from the one before."""
    index, header, begun = -1, None, False
    first, rows = split_sample(rows)
    heads = (r for r in first[:_PREAMBLE] if len(r.cells) > 2 and looks_like_header(r.cells))
    top = next(heads, first[0] if first else None)
    above = {len(r.cells) for r in takewhile(lambda r: r is not top, first)}
    for row in rows:
        begun = begun or row is top or len(top.cells) in above
        if not begun:
            remarks.append(Remark("a line above the table; skipped", row.line.number))
            continue
        if len(row.cells) > 1 and looks_like_header(row.cells):
            keys = [key_of(c) for c in row.cells]
            if keys == header:
                remarks.append(Remark("the header again; skipped", row.line.number))
                continue
            header, index = keys, index + 1
        index = max(index, 0)
        yield TableRow(row.line, row.cells, index)


def _table(
    rows: Iterator[TableRow],
    index: int,
    file: str,
    ask: Ask,
    stated: dict[str, str],
    remarks: list[Remark],
) -> Iterator[Event]:
    sample, every = split_sample(rows)
    header = next(every) if looks_like_header(sample[0].cells) else None
    named = header.cells if header else []
    body = [r.cells for r in sample[bool(header) :]]
    names, doubt = _names(named, body)
    fitting = [cells for cells in body if len(cells) == len(names)]
    layout = layout_of(
        names,
        [dict(zip(names, cells, strict=True)) for cells in fitting],
        ask=ask,
        stated=Ask(direction_from(stated.get("direction")), stated.get("metric", "")),
        headed=not doubt.endswith("not said"),
    )
    if doubt:
        remarks.append(Remark(doubt, sample[0].line.number))
    if ask.metric and not layout.aim:
        remarks.append(Remark(f"no column '{ask.metric}'; the header names {', '.join(named)}", 1))
    if not fitting:
        remarks.append(Remark("no rows below the header: 0 runs", sample[0].line.number))
    segment = layout.segment(index, sample[0].line.number)
    records = _records(every, names, layout, {_shape(cells[0]) for cells in fitting})
    yield from runs_of(records, layout, segment, file=file, kind="tsv")


def _names(header: list[str], rows: list[list[str]]) -> tuple[list[str], str]:
    """Names of the columns, and what is wrong with the header that stands above them."""
    widths = Counter(len(r) for r in rows if len(r) > 1)
    width = max(widths, key=lambda w: (widths[w], w), default=len(header))
    by_place = [f"col{i + 1}" for i in range(width)]
    unsaid = "columns are named by position and the metric is not said"
    if not header:
        return by_place, f"no header line; {unsaid}"
    names = [n.strip("*`") or f"col{i + 1}" for i, n in enumerate(header)]
    fitting = [r for r in rows if len(r) == len(names)]
    if 3 * len(fitting) >= widths[width] and _fits(names, fitting):
        return names, ""
    message = f"the header names {len(names)} columns, the rows have {width}"
    # A column that was added without a name stands behind the first, before columns that keep their places from the right, or at the end.
    modal = [r for r in rows if len(r) == width]
    sides = {
        "right": [names[0], "col2", *names[1:]],
        "left": names[:width] + by_place[len(names) :],
    }
    for side, guess in sides.items():
        if (
            len(names) != width == len(guess)
            and "status" in map(key_of, guess)
            and _fits(guess, modal)
        ):
            return guess, f"{message}; read from the {side}"
    message = message if len(names) != width else "the header does not fit the rows"
    return by_place, f"{message} (its status column holds no statuses); {unsaid}"


def _fits(names: list[str], rows: list[list[str]]) -> bool:
    """Whether a header belongs to these rows: statuses stand where it names them."""
    columns = [LogColumn(n, [r[i] for r in rows]) for i, n in enumerate(names)]
    named = [c for c in columns if c.key == "status"][:1]
    elsewhere = [c for c in columns if c not in named and c.status_share >= 0.8 and c.decides]
    if named and rows:
        return named[0].status_share >= 0.3 or not elsewhere
    return not any(c.key not in STATUS and is_setting(c.name) for c in elsewhere)


def _shape(cell: str) -> str:
    """What kind of word a row begins with: a row of another width is one where it begins as the others do."""
    if moment(cell):
        return "time"
    if cell.isdigit() or len(cell) >= 7 and not cell.strip("0123456789abcdef"):
        return "mark"
    return "text" if " " in cell or len(cell) > 60 else "label"


def _records(
    rows: Iterator[TableRow], names: list[str], layout: RecordLayout, shapes: set[str]
) -> Iterator[Record | Remark]:
    """Records of one table. Each is held back until the next one begins, so that lines that continue its text can join it."""
    held: Record | None = None
    for row in rows:
        cells, remark = _as_row(row.cells, names, layout, shapes)
        if cells:
            yield from filter(None, (held,))
            held = Record(row.line, dict(zip(names, cells, strict=True)))
        elif held and layout.text and len(row.cells) < 3:
            # Only what is no row of another writer continues a text.
            before = held.cells[layout.text]
            joined = f"{before} {' '.join(row.cells)}".strip() if len(before) < 4000 else before
            held = Record(held.line, {**held.cells, layout.text: joined})
            remark = "a line that continues the description above; joined to that run"
        if remark:
            yield Remark(remark, row.line.number)
    yield from filter(None, (held,))


def _as_row(
    cells: list[str], names: list[str], layout: RecordLayout, shapes: set[str]
) -> tuple[list[str], str]:
    """The cells of a line if it is a row of the table, and what had to be mended."""
    width = len(names)
    if len(cells) == width:
        return cells, ""
    at = names.index(layout.statuses[0]) if layout.statuses else width
    decided = at < len(cells) and is_status(cells[at])
    if len(cells) < 2 or not decided and (_shape(cells[0]) not in shapes or "text" in shapes):
        return [], "a line that is no row; skipped"
    if len(cells) > width:
        last = " ".join(filter(None, cells[width - 1 :]))
        return [*cells[: width - 1], last], "more cells than columns; joined to the last one"
    gap = [""] * (width - len(cells))

    def fit(at: int) -> tuple[int, int]:
        row = dict(zip(names, [*cells[:at], *gap, *cells[at:]], strict=True))
        figures = [row[n] for n in layout.names(ColumnRole.METRIC) if row[n].lower() not in ABSENT]
        known = sum(bool(quantity_of(c)) for c in figures)
        status = any(outcome_of(row[n]) is not Outcome.OTHER for n in layout.statuses[:1])
        words = sum(c[:1].isalpha() and not (quantity_of(c) or is_status(c)) for c in figures)
        return status - words, status + known

    # Cells are missing at the end, unless words stand among figures there, or no status, and fewer around a gap.
    end = fit(len(cells))
    around = [n for n in range(len(cells) - 1, 0, -1) if fit(n)[0] > end[0] and fit(n)[1] >= end[1]]
    at = max(around, key=fit, default=len(cells))
    place = "at the end" if at == len(cells) else "in the middle"
    return [*cells[:at], *gap, *cells[at:]], f"columns missing {place} of the line; read as empty"


FORMATS = (
    LogFormat(
        "tsv",
        recognise,
        read,
        order=20,
        aliases=("autoresearch", "autoresearch-tsv", "karpathy", "csv", "table", "results"),
    ),
)
