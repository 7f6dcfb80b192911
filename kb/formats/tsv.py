"""results.tsv in all its variants (and CSV): read with quotes as plain characters, by what the rows hold where the header lies.

A row is a line with as many cells as the table has columns. Lines that continue a description, repeat the header or comment are no runs.
"""

import csv
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import groupby
from operator import itemgetter
from pathlib import Path

from kb.formats.columns import share_of_statuses
from kb.formats.reading import Ask, Line, Remark, Segment, is_conflict_mark, lines_of, moment, split_sample
from kb.formats.table import Layout, fits_header, is_divider, key_of, layout_of, looks_like_header, modal_width, run_of
from kb.run.quantity import to_quantity
from kb.run.record import Run, is_status


@dataclass(frozen=True, slots=True)
class Cells:
    """One line of a table, split."""

    line: Line
    cells: list[str]


def delimiter_of(head: list[str]) -> str:
    """TAB where any line has two of them or the first has one; else the comma, semicolon or bar of a header line."""
    said = [h for h in head if h.strip() and not h.startswith("#")][:50]
    if said and ("\t" in said[0] or sum(h.count("\t") >= 2 for h in said) * 2 > len(said)):
        return "\t"
    if said and "\\t" in said[0] and not any("\t" in h for h in said):
        return "\t"
    for delimiter in (",", ";", "|"):
        if said and delimiter in said[0] and looks_like_header(_split(said[0], delimiter)):
            return delimiter
    # Bars between blanks part the cells of a log that has no header.
    bars = [h.count(" | ") for h in said if not h.lstrip().startswith("|")]
    return "|" if bars and min(bars) >= 3 and len(set(bars)) == 1 else "\t"


def _split(text: str, delimiter: str) -> list[str]:
    if delimiter == "\t":
        return [c.strip() for c in text.split("\t")]
    try:
        return [c.strip() for c in next(csv.reader([text], delimiter=delimiter), [])]
    except csv.Error:
        return [c.strip() for c in text.split(delimiter)]


def read(path: Path, ask: Ask) -> Iterator[Segment | Run | Remark]:
    """Segments, runs and remarks, in file order; a different header further down opens a segment."""
    sample, lines = split_sample(lines_of(path))
    delimiter = delimiter_of([x.text for x in sample if isinstance(x, Line)])
    blocks = groupby(_in_blocks(_rows(lines, delimiter)), key=itemgetter(0))
    empty = True
    for index, block in blocks:
        empty = False
        yield from _read_block((row for _, row in block), index, path=path, ask=ask, delimiter=delimiter)
    if empty:
        yield Segment(0, 1, judged=False)
        yield Remark("the file is empty")


def _rows(lines: Iterator[Line | Remark], delimiter: str) -> Iterator[Cells | Remark]:
    first = True
    for line in lines:
        if isinstance(line, Remark):
            yield line
        elif not line.text.strip():
            continue
        elif is_conflict_mark(line.text):
            yield Remark("a merge left its marks; both sides are read", line.number)
        elif line.text.startswith("#") and not re.match(r"#\d", line.text):
            cells = _split(line.text.lstrip("# "), delimiter)
            if (
                (first or len(cells) > 2)
                and len(cells) > 1
                and looks_like_header(["#", *cells[1:]] if line.text.startswith("#" + delimiter) else cells)
            ):
                yield Cells(line, _split(line.text, delimiter) if line.text.startswith("#" + delimiter) else cells)
            else:
                yield Remark("a comment line; skipped", line.number)
            first = False
        else:
            yield Cells(line, _split(line.text, delimiter))
            first = False


def _in_blocks(rows: Iterator[Cells | Remark]) -> Iterator[tuple[int, Cells | Remark]]:
    """Each row with the number of the table it belongs to: one begins at every header that differs from the one before."""
    index, header, begun = 0, None, False
    for row in rows:
        if isinstance(row, Cells) and len(row.cells) > 1 and looks_like_header(row.cells):
            keys = [key_of(c) for c in row.cells]
            if keys == header:
                yield index, Remark("the header again; skipped", row.line.number)
                continue
            header = keys
            index += begun
        begun = begun or isinstance(row, Cells)
        yield index, row


def _layout(header: Cells | None, sample: list[Cells], *, ask: Ask) -> tuple[Layout, list[Remark]]:
    """Layout of one table, and what is wrong with its header."""
    rows = [r.cells for r in sample]
    width = modal_width(rows)
    if header is None:
        fitting = [r for r in rows if len(r) == width]
        return layout_of(None, fitting, ask=ask), [
            Remark("no header line; columns are named by position and the metric is not said", 1)
        ] if rows else []
    names = header.cells
    fitting = [r for r in rows if len(r) == len(names)]
    if (3 * len(fitting) >= sum(len(r) == width for r in rows) or not width) and fits_header(names, fitting):
        return layout_of(names, fitting, ask=ask), []
    fitting = [r for r in rows if len(r) == width]
    # A column that was added without a name stands at the end, or before columns that keep their places from the right.
    shifted = [names[0], "col2", *names[1:]]
    stated = [i for i, n in enumerate(shifted) if key_of(n) == "status"]
    if width == len(shifted) and stated and share_of_statuses([r[stated[0]] for r in fitting]) >= 0.5:
        return layout_of(shifted, fitting, ask=ask), [
            Remark(f"the header names {len(names)} columns, the rows have {width}; read from the right", header.line.number)
        ]
    cut = [*names[:width], *(f"col{i + 1}" for i in range(len(names), width))]
    if len(names) != width and any(key_of(n) == "status" for n in cut) and fits_header(cut, fitting):
        return layout_of(cut, fitting, ask=ask), [
            Remark(f"the header names {len(names)} columns, the rows have {width}; read from the left", header.line.number)
        ]
    said = (
        f"the header names {len(names)} columns, the rows have {width}"
        if len(names) != width
        else "the header does not fit the rows"
    )
    return layout_of(None, fitting, ask=ask), [
        Remark(
            f"{said} (its status column holds no statuses); columns are named by position and the metric is not said",
            header.line.number,
        )
    ]


def _read_block(
    rows: Iterator[Cells | Remark], index: int, *, path: Path, ask: Ask, delimiter: str
) -> Iterator[Segment | Run | Remark]:
    sample, every = split_sample(rows)
    told = [r for r in sample if isinstance(r, Cells)]
    header = told[0] if told and looks_like_header(told[0].cells) else None
    mended = [Cells(r.line, _mended(r, told, delimiter)) for r in told[1 if header else 0 :]]
    layout, remarks = _layout(header, mended, ask=ask)
    yield layout.segment(index, told[0].line.number if told else 1)
    yield from remarks
    if layout.doubt:
        yield Remark(layout.doubt)
    if header and ask.metric and layout.primary < 0:
        yield Remark(f"no column '{ask.metric}'; the header names {', '.join(header.cells)}", header.line.number)
    if not header and not any(len(r.cells) > 1 for r in told):
        yield Remark("no line with several columns; no runs")
        return
    yield from _runs(every, layout, header=header, path=path, index=index, delimiter=delimiter)


def _mended(row: Cells, rows: list[Cells], delimiter: str) -> list[str]:
    """Cells of a line that holds a literal backslash-t where a TAB was meant."""
    if delimiter == "\t" and "\\t" in row.line.text and len(row.cells) < modal_width([r.cells for r in rows[:50]]):
        return _split(row.line.text.replace("\\t", "\t"), delimiter)
    return row.cells


def _runs(
    rows: Iterator[Cells | Remark], layout: Layout, *, header: Cells | None, path: Path, index: int, delimiter: str
) -> Iterator[Run | Remark]:
    """Runs of one table. A run is held back until the next one begins, so that lines that continue its description can join it."""
    held: Run | None = None
    short: Cells | None = None
    seen: set[int] = set()
    none = True
    for row in rows:
        if isinstance(row, Remark):
            yield row
            continue
        if header and row.line.number == header.line.number:
            continue
        cells, remark = _as_row(row, layout, delimiter)
        if cells is None and short is not None:
            joined = Line(short.line.number, f"{short.line.text} {row.line.text}")
            cells, remark = _as_row(Cells(joined, _split(joined.text, delimiter)), layout, delimiter)
            row = Cells(joined, row.cells) if cells else row
            remark = remark or "a row broken over lines; joined"
        if cells is None:
            if len(row.cells) > 1 and short is None:
                short = row
                continue
            held, said = _continued(held, row)
            yield said
            continue
        if short is not None and row.line.number != short.line.number:
            yield Remark("a line with too few columns; skipped", short.line.number)
        short = None
        if is_divider(cells, layout):
            yield Remark("a line that parts the table; skipped", row.line.number)
            continue
        if remark:
            yield Remark(remark, row.line.number)
        if hash(row.line.text) in seen:
            yield Remark("a line that is identical to an earlier one; kept as a run of its own", row.line.number)
        seen.add(hash(row.line.text))
        if held:
            yield held
        held = run_of(cells, layout, line=row.line, file=path.name, kind="tsv", segment=index)
        none = False
        if held.primary and held.value is None:
            yield Remark(f"no measurement under '{held.primary}' (a sentinel or no number); left out of best", row.line.number)
    if short is not None:
        yield Remark("a line with too few columns; skipped", short.line.number)
    if held:
        yield held
    if none:
        yield Remark("no rows below the header: 0 runs", header.line.number if header else 0)


def _as_row(row: Cells, layout: Layout, delimiter: str) -> tuple[list[str] | None, str]:
    """The cells of a line if it is a row of the table, and what had to be mended."""
    width, cells = len(layout.columns), row.cells
    if len(cells) == width:
        return cells, ""
    if "\\t" in row.line.text and delimiter == "\t":
        split = _split(row.line.text.replace("\\t", "\t"), delimiter)
        if len(split) == width:
            return split, "a literal backslash-t instead of a TAB; read as a TAB"
    decided = 0 <= layout.status < len(cells) and is_status(cells[layout.status])
    if len(cells) > width:
        if not any(cells[width:]):
            return cells[:width], ""
        if layout.text == width - 1 and (decided or layout.status < 0):
            return [*cells[: width - 1], " ".join(cells[width - 1 :])], "a TAB inside the description; joined"
    elif decided and len(cells) > 1:
        return [*cells, *[""] * (width - len(cells))], "columns missing at the end of the line; read as empty"
    return None, ""


def _continued(held: Run | None, row: Cells) -> tuple[Run | None, Remark]:
    if held is None:
        return None, Remark("a line that is no row; skipped", row.line.number)
    figures = [c for c in row.cells if to_quantity(c) or moment(c)]
    if len(row.cells) > 2 and 2 * len(figures) > sum(map(bool, row.cells)):
        return held, Remark("a row of figures that is none of this table; skipped", row.line.number)
    if len(held.description) < 4000:
        held = replace(held, description=f"{held.description} {row.line.text.strip()}".strip())
    return held, Remark("a line that continues the description above; joined to that run", row.line.number)
