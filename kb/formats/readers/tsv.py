"""results.tsv in all its variants (and CSV): read with quotes as plain characters, by what the rows hold where the header lies.

A row is a line with as many cells as the table has columns, or one that begins as the others do.
Lines that continue a description, repeat the header or comment are no runs.
"""

import csv
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain, groupby
from operator import itemgetter
from pathlib import Path

from kb.formats.columns import ABSENT, NAMING, ask_in, key_of, looks_like_header
from kb.formats.layout import Record, RecordTable
from kb.formats.readers.jsonl import opens_json
from kb.formats.reading import (
    Ask,
    LogLine,
    Remark,
    is_conflict_mark,
    lines_of,
    moment,
    quantity_of,
    split_sample,
)
from kb.formats.registry import Event, LogFormat
from kb.formats.table import events_of
from kb.run.direction import direction_from, word_set
from kb.run.status import is_status

# Comments that say which way is better.
_WAYS = word_set("direction metric_direction best_direction optimize goal")
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
    sample, lines = split_sample(
        x for x in lines_of(path) if isinstance(x, Remark) or any(map(str.isalnum, x.text))
    )
    delimiter = delimiter_of([x.text for x in sample if isinstance(x, LogLine)])
    stated: dict[str, str] = {}
    parts = groupby(_numbered(_rows(lines, delimiter, stated)), key=itemgetter(0))
    tables = (_table((x for _, x in part), stated) for number, part in parts)
    yield from events_of(tables, ask, file=path.name, kind="tsv")


def _rows(
    lines: Iterator[LogLine | Remark], delimiter: str, stated: dict[str, str]
) -> Iterator[Row | Remark]:
    """Lines as rows of cells; what comments state of the metric is noted, and a comment may be a header."""
    begun = False
    for line in lines:
        text = "" if isinstance(line, Remark) else line.text
        if isinstance(line, Remark):
            yield line
        elif is_conflict_mark(text):
            yield Remark("a merge left its marks; both sides are read", line.number)
        elif not text.startswith("#") or text[1:2].isdigit():
            begun = True
            yield line, _split(text, delimiter)
        else:
            whole = text.startswith(f"#{delimiter}")
            cells = _split(text if whole else text.lstrip("# "), delimiter)
            if (not begun or len(cells) > 2) and looks_like_header(cells):
                begun = True
                yield line, cells
                continue
            setting = directive(text)
            if not setting:
                yield Remark("a comment line; skipped", line.number)
            stated |= setting


def directive(text: str) -> dict[str, str]:
    """What a comment line states in one word: `# metric_direction: higher_is_better`, `# goal: minimize loss`; empty where it states nothing."""
    name, _, value = text.lstrip("#/ ").partition(":")
    key, value = key_of(name[:40]), value.strip()
    words = value.lower().replace("_", " ").removesuffix(" is better").split()
    # An order names what it is about.
    order = "".join(words[:1])[2:5] in ("nim", "xim")
    words = words[:1] if order and len(value.split()) == 2 else words
    if key in _WAYS:
        return {key: value} if len(words) == 1 and direction_from(value) else {}
    return {key: value} if key in NAMING and len(value.split()) == 1 else {}


def _numbered(rows: Iterator[Row | Remark]) -> Iterator[tuple[int, Row | Remark]]:
    """Rows with the number of their table: one begins at every header that differs from the one before."""
    number, header, begun = 0, [], False
    for row in rows:
        cells = [] if isinstance(row, Remark) else row[1]
        keys = [*map(key_of, cells)] if len(cells) > 1 and looks_like_header(cells) else []
        if keys and keys == header:
            yield number, Remark("the header again; skipped", row[0].number)
            continue
        number, header = (number + begun, keys) if keys else (number, header)
        begun = begun or bool(cells)
        yield number, row


def _table(part: Iterator[Row | Remark], stated: dict[str, str]) -> RecordTable:
    """A part of a file as records."""
    begun, rows = split_sample(part)
    sample = [x for x in begun if not isinstance(x, Remark)]
    line, top = sample[0] if sample else (LogLine(1, ""), [])
    header = [n.strip("*`") or f"col{i + 1}" for i, n in enumerate(top)]
    header = header if looks_like_header(top) else []
    names, doubt = _names(header, [cells for _, cells in sample[bool(header) :]])
    fitting = [cells for _, cells in sample[bool(header) :] if len(cells) == len(names)]
    kinds = [Counter(kind_of(row[i]) for row in fitting) for i in range(len(names))]
    body = (x for x in rows if isinstance(x, Remark) or not header or x[0] is not line)
    remarks = [Remark(doubt, line.number)] if doubt else []
    headed = _NO_NAMES not in doubt
    records = chain(remarks, _records(body, names, kinds))
    return RecordTable(records, names, line.number, stated=ask_in(stated), headed=headed)


def _records(
    rows: Iterator[Row | Remark], names: Sequence[str], kinds: Sequence[Counter[str]]
) -> Iterator[Record | Remark]:
    """Rows as records: lines that continue the text of one join it, and a row of another width is read where its kinds fit."""
    texts = [count["text"] for count in kinds]
    text = names[texts.index(max(texts))] if any(texts) else names[-1]
    record: Record | None = None
    for item in rows:
        if isinstance(item, Remark):
            yield item
            continue
        line, cells = item
        row, remark = _as_row(cells, kinds)
        if row:
            yield from [record] if record else []
            record = Record(line, dict(zip(names, row, strict=True)))
        elif record and len(cells) < 3 and any(texts):
            # Only what is no row of another writer continues a text, and no figure has one.
            before = record.cells[text]
            joined = f"{before} {' '.join(cells)}".strip() if len(before) < 4000 else before
            record = Record(record.line, {**record.cells, text: joined})
            remark = "a line that continues the description above; joined to that run"
        if remark:
            yield Remark(remark, line.number)
    yield from [record] if record else []


def _names(header: list[str], rows: list[list[str]]) -> tuple[list[str], str]:
    """Names of the columns, and what is wrong with the header that stands above them."""
    widths = Counter(len(r) for r in rows if len(r) > 1)
    width = max(widths, key=lambda w: (widths[w], w), default=len(header) or 1)
    by_place = [f"col{i + 1}" for i in range(width)]
    if not header:
        return by_place, f"no header line; {_NO_NAMES}"
    if 3 * widths[len(header)] >= widths[width] and _fits(header, rows):
        return header, ""
    wide = f"the header names {len(header)} columns, the rows have {width}"
    message = wide if len(header) != width else "the header does not fit the rows"
    return by_place, f"{message} (its status column holds no statuses); {_NO_NAMES}"


def _fits(names: list[str], rows: list[list[str]]) -> bool:
    """Whether a header belongs to these rows: statuses stand where it names them."""
    named = [i for i, n in enumerate(names) if key_of(n) == "status"][:1]
    whole = [r for r in rows if len(r) == len(names)]
    return not named or not whole or any(is_status(r[named[0]]) for r in whole)


_KINDS = {
    "": lambda cell: cell.lower() in ABSENT,
    **{"status": is_status, "figure": quantity_of, "time": moment},
    "text": lambda cell: " " in cell or len(cell) > 60,
}


def kind_of(cell: str) -> str:
    """What kind of word a cell is; empty where it says nothing."""
    return next((kind for kind, holds in _KINDS.items() if holds(cell)), "label")


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
