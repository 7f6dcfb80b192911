"""results.tsv in all its variants (and CSV): read with quotes as plain characters, by what the rows hold where the header lies.

A row is a line with as many cells as the table has columns, or one that begins as the others do.
Lines that continue a description, repeat the header or comment are no runs.
"""

import csv
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from kb.formats.columns import ABSENT, STATUS, LogColumn, is_setting, key_of
from kb.formats.layout import Record, RecordTable, looks_like_header
from kb.formats.readers.jsonl import opens_json
from kb.formats.reading import (
    SAMPLE,
    Ask,
    LogLine,
    Remark,
    is_conflict_mark,
    lines_of,
    moment,
    quantity_of,
)
from kb.formats.registry import Event, LogFormat
from kb.formats.table import directive, events_of
from kb.run.direction import direction_from
from kb.run.status import is_status

# No table is wider; what is, is one long line, and its end is one cell.
_WIDEST = 1000
# A table may stand behind what a tool says of the machine.
_PREAMBLE = 30
_NO_NAMES = "columns are named by position and the metric is not said"


Row = tuple[LogLine, list[str]]


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
    delimiter = delimiter_of(head)
    wide = sum(h.count(delimiter) >= 2 and not h.lstrip().startswith("|") for h in head)
    return not opens_json(head) and wide * 2 > len(head) and wide > 1


def read(path: Path, ask: Ask) -> Iterator[Event]:
    """Segments, runs and remarks, in file order; a different header further down opens a segment."""
    lines = list(lines_of(path))
    remarks = [x for x in lines if isinstance(x, Remark)]
    texts = [x for x in lines if isinstance(x, LogLine) and any(map(str.isalnum, x.text))]
    delimiter = delimiter_of([x.text for x in texts[:SAMPLE]])
    stated: dict[str, str] = {}
    rows: list[Row] = []
    for line in texts:
        cells, remark = _cells(line.text, delimiter, stated, first=not rows)
        rows += [(line, cells)] if cells else []
        remarks += [Remark(remark, line.number)] if remark else []
    metric_ask = Ask(direction_from(stated.get("direction")), stated.get("metric", ""))
    tables = [(_table(part, metric_ask, remarks), None) for part in _parts(rows, remarks)]
    yield from events_of(tables, ask, file=path.name, kind="tsv")
    yield from remarks


def _cells(
    text: str, delimiter: str, stated: dict[str, str], *, first: bool
) -> tuple[list[str], str]:
    """The cells of a line that may be a row, or why it is none; comments are read for a header or for what they state of the metric."""
    if is_conflict_mark(text):
        return [], "a merge left its marks; both sides are read"
    if not text.startswith("#") or text[1:2].isdigit():
        return _split(text, delimiter), ""
    cells = _split(text if text.startswith(f"#{delimiter}") else text.lstrip("# "), delimiter)
    if (first or len(cells) > 2) and looks_like_header(cells):
        return cells, ""
    name, value = directive(text)
    stated |= {name: value} if name else {}
    return [], "" if name else "a comment line; skipped"


def _parts(rows: Sequence[Row], remarks: list[Remark]) -> list[list[Row]]:
    """Rows of each table: one begins at every header that differs from the one before; what other lines stand above the first are none."""
    heads = (n for n, (_, x) in enumerate(rows[:_PREAMBLE]) if len(x) > 2 and looks_like_header(x))
    top = next(heads, 0)
    top = 0 if any(len(x) == len(rows[top][1]) for _, x in rows[:top]) else top
    remarks += [Remark("a line above the table; skipped", x.number) for x, _ in rows[:top]]
    parts: list[list[Row]] = []
    header: list[str] = []
    for line, cells in rows[top:]:
        keys = [*map(key_of, cells)] if len(cells) > 1 and looks_like_header(cells) else []
        if keys and keys == header:
            remarks.append(Remark("the header again; skipped", line.number))
            continue
        if keys or not parts:
            header = keys
            parts.append([])
        parts[-1].append((line, cells))
    return parts


def _table(part: list[Row], stated: Ask, remarks: list[Remark]) -> RecordTable:
    """A part of a file as records: lines that continue the text of one join it, and a row of another width is read where its kinds fit."""
    line, top = part[0]
    header = [n.strip("*`") or f"col{i + 1}" for i, n in enumerate(top)]
    header = header if looks_like_header(top) else []
    body = part[bool(header) :]
    sample = [cells for _, cells in body[:SAMPLE]]
    names, doubt = _names(header, sample)
    remarks += [Remark(doubt, line.number)] if doubt else []
    fitting = [cells for cells in sample if len(cells) == len(names)]
    kinds = [Counter(kind_of(row[i]) for row in fitting) for i in range(len(names))]
    texts = [count["text"] for count in kinds]
    text = names[texts.index(max(texts))] if any(texts) else names[-1]
    records: list[Record] = []
    for number, cells in body:
        row, remark = _as_row(cells, kinds)
        if row:
            records.append(Record(number, dict(zip(names, row, strict=True))))
        elif records and len(cells) < 3:
            # Only what is no row of another writer continues a text.
            before = records[-1].cells[text]
            joined = f"{before} {' '.join(cells)}".strip() if len(before) < 4000 else before
            records[-1] = Record(records[-1].line, {**records[-1].cells, text: joined})
            remark = "a line that continues the description above; joined to that run"
        remarks += [Remark(remark, number.number)] if remark else []
    return RecordTable(names, records, line.number, stated=stated, headed=_NO_NAMES not in doubt)


def _names(header: list[str], rows: list[list[str]]) -> tuple[list[str], str]:
    """Names of the columns, and what is wrong with the header that stands above them."""
    widths = Counter(len(r) for r in rows if len(r) > 1)
    width = max(widths, key=lambda w: (widths[w], w), default=len(header) or 1)
    by_place = [f"col{i + 1}" for i in range(width)]
    if not header:
        return by_place, f"no header line; {_NO_NAMES}"
    if 3 * widths[len(header)] >= widths[width] and _fits(header, rows):
        return header, ""
    message = f"the header names {len(header)} columns, the rows have {width}"
    if len(header) == width:
        message = "the header does not fit the rows"
    # A column that was added without a name stands behind the first, before columns that keep their places from the right, or at the end.
    right, left = ([header[0], "col2", *header[1:]], header[:width] + by_place[len(header) :])
    for side, guess in {"right": right, "left": left}.items() if len(header) != width else ():
        if len(guess) == width and "status" in map(key_of, guess) and _fits(guess, rows):
            return guess, f"{message}; read from the {side}"
    return by_place, f"{message} (its status column holds no statuses); {_NO_NAMES}"


def _fits(names: list[str], rows: list[list[str]]) -> bool:
    """Whether a header belongs to these rows: statuses stand where it names them."""
    whole = [r for r in rows if len(r) == len(names)]
    columns = [LogColumn(n, [r[i] for r in whole]) for i, n in enumerate(names)]
    named = [c for c in columns if c.key == "status"][:1]
    elsewhere = [c for c in columns if c not in named and c.status_share >= 0.8 and c.decides]
    if named and whole:
        return named[0].status_share >= 0.3 or not elsewhere
    return not any(c.key not in STATUS and is_setting(c.name) for c in elsewhere)


def kind_of(cell: str) -> str:
    """What kind of word a cell is; empty where it says nothing."""
    if cell.lower() in ABSENT:
        return ""
    if is_status(cell):
        return "status"
    if quantity_of(cell):
        return "figure"
    if moment(cell):
        return "time"
    return "text" if " " in cell or len(cell) > 60 else "label"


def _as_row(cells: list[str], kinds: Sequence[Counter[str]]) -> tuple[list[str], str]:
    """The cells of a line if it is a row of the table, and what had to be mended."""
    width = len(kinds)
    if len(cells) == width:
        return cells, ""
    of_status = [k.total() < 2 * k["status"] for k in kinds]
    decided = any(holds and is_status(c) for c, holds in zip(cells, of_status, strict=False))
    begins = kinds[0][kind_of(cells[0])] and not kinds[0]["text"]
    if len(cells) < 2 or not (decided or begins):
        return [], "a line that is no row; skipped"
    if len(cells) > width:
        last = " ".join(filter(None, cells[width - 1 :]))
        return [*cells[: width - 1], last], "more cells than columns; joined to the last one"
    gap = [""] * (width - len(cells))

    def agreement(at: int) -> int:
        row = zip([*cells[:at], *gap, *cells[at:]], kinds, strict=True)
        return sum(2 * count[kind_of(c)] >= count.total() for c, count in row if c)

    # Cells are missing at the end, unless more of them are of their column's kind around a gap.
    at = max(range(len(cells), 0, -1), key=agreement)
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
