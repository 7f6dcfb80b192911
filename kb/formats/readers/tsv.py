"""results.tsv in all its variants (and CSV): read with quotes as plain characters, by what the rows hold where the header lies.

A row is a line with as many cells as the table has columns, or one that begins as the others do.
Lines that continue a description, repeat the header or comment are no runs.
"""

import csv
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, groupby, pairwise
from operator import attrgetter
from pathlib import Path

from kb.formats.columns import STATUS, ColumnRole, LogColumn, is_setting, key_of
from kb.formats.layout import RecordLayout, layout_of, looks_like_header
from kb.formats.measuring import moment, quantity_of
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
from kb.run.status import is_status

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
    lines = [h for h in head if not h.startswith("#")][:50] or head[:1]
    if lines and ("\t" in lines[0] or sum(h.count("\t") >= 2 for h in lines) * 2 > len(lines)):
        return "\t"
    meant = lines and "\\t" in lines[0] and not any("\t" in h for h in lines)
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
        return [c.strip() for c in text.split("\t", _WIDEST)]
    try:
        return [c.strip() for c in next(csv.reader([text], delimiter=delimiter), [])[:_WIDEST]]
    except csv.Error:
        return [c.strip() for c in text.split(delimiter, _WIDEST)]


def recognise(path: Path, head: Sequence[str]) -> bool:
    """Whether most lines of a file have the cells of a table."""
    if path.suffix.lower() in (".tsv", ".csv"):
        return True
    if head and head[0].lstrip().startswith(("{", "[")):
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
        yield from _table(rows, index, path.name, ask, stated, delimiter, remarks)
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
        if not text.strip(" \t,;|"):
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
    index, header, begun = 0, None, False
    first, rows = split_sample(rows)
    places = [
        n
        for n, r in enumerate(first[:_PREAMBLE])
        if len(r.cells) > 2 and looks_like_header(r.cells)
    ][:1]
    alone = all(len(r.cells) != len(first[n].cells) for n in places for r in first[:n])
    for at, row in enumerate(rows):
        if places and alone and at < places[0]:
            remarks.append(Remark("a line above the table; skipped", row.line.number))
            continue
        if len(row.cells) > 1 and looks_like_header(row.cells):
            keys = [key_of(c) for c in row.cells]
            if keys == header:
                remarks.append(Remark("the header again; skipped", row.line.number))
                continue
            header = keys
            index += begun
        begun = True
        yield TableRow(row.line, row.cells, index)


def _table(
    rows: Iterator[TableRow],
    index: int,
    file: str,
    ask: Ask,
    stated: dict[str, str],
    delimiter: str,
    remarks: list[Remark],
) -> Iterator[Event]:
    sample, every = split_sample(rows)
    header = sample[0] if looks_like_header(sample[0].cells) else None
    body = [_mended(r, delimiter) for r in sample[1 if header else 0 :]]
    names, fitting, doubt = _named(header, body)
    declared = Ask(direction_from(stated.get("direction")), stated.get("metric", ""))
    records = [dict(zip(names, cells, strict=True)) for cells in fitting]
    layout = layout_of(
        names,
        records,
        ask=ask,
        stated=declared,
        headed=bool(header) and not doubt.endswith("not said"),
    )
    segment = layout.segment(index, sample[0].line.number)
    if not header and not any(len(r.cells) > 1 for r in sample):
        yield segment
        yield Remark("no line with several columns; no runs")
        return
    if doubt:
        remarks.append(Remark(doubt, header.line.number if header else 1))
    if header and ask.metric and not layout.aim:
        remarks.append(
            Remark(f"no column '{ask.metric}'; the header names {', '.join(header.cells)}", 1)
        )
    if header:
        next(every)
    none = True
    for event in runs_of(
        _records(every, names, layout, fitting, delimiter), layout, segment, file=file, kind="tsv"
    ):
        none = none and isinstance(event, Segment | Remark)
        yield event
    if none:
        remarks.append(Remark("no rows below the header: 0 runs", sample[0].line.number))


def _mended(row: TableRow, delimiter: str) -> list[str]:
    """Cells of a line; a literal backslash-t where a TAB was meant parts them."""
    if delimiter == "\t" and "\\t" in row.line.text and len(row.cells) == 1:
        return _split(row.line.text.replace("\\t", "\t"), delimiter)
    return row.cells


def _named(
    header: TableRow | None, rows: list[list[str]]
) -> tuple[list[str], list[list[str]], str]:
    """Names of the columns, the rows as wide as they are, and what is wrong with the header."""
    widths = Counter(len(r) for r in rows if len(r) > 1)
    width = max(widths, key=lambda w: (widths[w], w), default=0)
    modal = [r for r in rows if len(r) == width]
    by_place = [f"col{i + 1}" for i in range(width)]
    unsaid = "columns are named by position and the metric is not said"
    if header is None:
        return by_place, modal, f"no header line; {unsaid}" if rows else ""
    names = [n.strip("*`") or f"col{i + 1}" for i, n in enumerate(header.cells)]
    fitting = [r for r in rows if len(r) == len(names)]
    if (3 * len(fitting) >= len(modal) or not width) and _fits(names, fitting):
        return names, fitting, ""
    message = f"the header names {len(names)} columns, the rows have {width}"
    # A column that was added without a name stands at the end, or before columns that keep their places from the right.
    shifted = [names[0], "col2", *names[1:]]
    stated = [i for i, n in enumerate(shifted) if key_of(n) == "status" and i < width]
    statuses = LogColumn("status", [r[i] for i in stated[:1] for r in modal])
    if width == len(shifted) and statuses.status_share >= 0.5:
        return shifted, modal, f"{message}; read from the right"
    cut = [*names[:width], *by_place[len(names) :]]
    if len(names) != width and "status" in map(key_of, cut) and _fits(cut, modal):
        return cut, modal, f"{message}; read from the left"
    message = message if len(names) != width else "the header does not fit the rows"
    return by_place, modal, f"{message} (its status column holds no statuses); {unsaid}"


def _fits(names: list[str], rows: list[list[str]]) -> bool:
    """Whether a header belongs to these rows: statuses stand where it names them."""
    if not rows:
        return True
    named = [i for i, n in enumerate(names) if key_of(n) == "status"]
    columns = [LogColumn(n, [r[i] for r in rows]) for i, n in enumerate(names)]
    elsewhere = [
        c for i, c in enumerate(columns) if i not in named and c.status_share >= 0.8 and c.decides
    ]
    if named:
        return columns[named[0]].status_share >= 0.3 or not elsewhere
    return not any(c.key not in STATUS and is_setting(c.name) for c in elsewhere)


def _shape(cell: str) -> str:
    """What kind of word a row begins with: a row of another width is one where it begins as the others do."""
    if cell.isascii() and cell.isdigit():
        return "number"
    if moment(cell):
        return "time"
    hexadecimal = len(cell) >= 7 and all(c in "0123456789abcdef" for c in cell)
    return "hash" if hexadecimal else "text" if " " in cell or len(cell) > 60 else "label"


def _records(
    rows: Iterator[TableRow],
    names: list[str],
    layout: RecordLayout,
    fitting: list[list[str]],
    delimiter: str,
) -> Iterator[Record | Remark]:
    """Records of one table. Each is held back until the next one begins, so that lines that continue its text can join it."""
    shapes = {_shape(r[0]) for r in fitting}
    held: Record | None = None
    digests: set[int] = set()
    broken = False
    for row, after in pairwise(chain(rows, [None])):
        cells, remark = _as_row(row, names, layout, shapes, delimiter)
        joined = _split(f"{row.line.text} {after.line.text if after else ''}", delimiter)
        if broken:
            broken = False
            continue
        if len(row.cells) > 1 and len(joined) == len(names) and after and len(after.cells) > 1:
            cells, remark, broken = joined, "a row broken over lines; joined", True
        if cells is None:
            held, remark = _continued(held, row, layout)
        else:
            record = Record(row.line, dict(zip(names, cells, strict=True)))
            if _parts_table(record, layout):
                remark = "a line that parts the table; skipped"
            else:
                if hash(row.line.text) in digests:
                    remark = "a line that is identical to an earlier one; kept as a run of its own"
                digests.add(hash(row.line.text))
                yield from filter(None, (held,))
                held = record
        if remark:
            yield Remark(remark, row.line.number)
    yield from filter(None, (held,))


def _as_row(
    row: TableRow, names: list[str], layout: RecordLayout, shapes: set[str], delimiter: str
) -> tuple[list[str] | None, str]:
    """The cells of a line if it is a row of the table, and what had to be mended."""
    width, cells = len(names), row.cells
    if len(cells) == width:
        return cells, ""
    mended = ""
    if "\\t" in row.line.text and delimiter == "\t":
        cells = _split(row.line.text.replace("\\t", "\t"), delimiter)
        mended = "a literal backslash-t instead of a TAB; read as a TAB"
        if len(cells) == width:
            return cells, mended
    at = names.index(layout.statuses[0]) if layout.statuses else width
    decided = at < len(cells) and is_status(cells[at])
    if len(cells) < 2 or not decided and (_shape(cells[0]) not in shapes or "text" in shapes):
        return None, ""
    if len(cells) > width:
        more = " ".join(c for c in cells[width - 1 :] if c)
        return [
            *cells[: width - 1],
            more,
        ], mended or "more cells than columns; joined to the last one"
    filled = [*cells, *[""] * (width - len(cells))]
    if at < width and not decided:
        # A row that ends where it failed says so in its last cell.
        last = next((i for i in reversed(range(1, len(cells))) if is_status(cells[i])), at)
        filled[at], filled[last] = filled[last], filled[at]
    return filled, mended or "columns missing at the end of the line; read as empty"


def _continued(
    held: Record | None, row: TableRow, layout: RecordLayout
) -> tuple[Record | None, str]:
    if held is None:
        return None, "a line that is no row; skipped"
    # Another writer left it.
    figures = [c for c in row.cells if quantity_of(c) or moment(c)]
    if len(row.cells) > 2 and 2 * len(figures) > sum(map(bool, row.cells)):
        return held, "a row of figures that is none of this table; skipped"
    before = held.cells.get(layout.text, "")
    if layout.text and len(before) < 4000:
        cells = {**held.cells, layout.text: f"{before} {' '.join(filter(None, row.cells))}".strip()}
        held = Record(held.line, cells, held.status)
    return held, "a line that continues the description above; joined to that run"


def _parts_table(record: Record, layout: RecordLayout) -> bool:
    """Whether a row only parts the table: dashes where the run's id stands, and no figure."""
    marks = [record.cells[n] for r in (ColumnRole.ID, ColumnRole.CODE) for n in layout.names(r)][:1]
    figures = any(quantity_of(record.cells[n]) for n in layout.names(ColumnRole.METRIC))
    return bool(marks) and len(marks[0]) > 2 and not marks[0].strip("-=*_") and not figures


FORMATS = (
    LogFormat(
        "tsv",
        recognise,
        read,
        order=20,
        aliases=("autoresearch", "autoresearch-tsv", "karpathy", "csv", "table", "results"),
    ),
)
