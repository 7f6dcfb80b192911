"""Results tables in markdown: a simple loop's log.md, leaderboards, experiment summaries. Prose around them is not read.

A table of runs has a status column, or numbers its rows and states a quantity or a delta. Any other table is none.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from kb.formats.reading import Ask, Line, Remark, Segment, lines_of
from kb.formats.table import Layout, Role, key_of, layout_of, run_of
from kb.run.record import Run

_RULE = re.compile(r":?-+:?")


@dataclass(frozen=True, slots=True)
class Table:
    """One table of a page: the heading above it, its header, its rows with their lines."""

    heading: str
    line: int
    header: list[str]
    rows: list[tuple[Line, list[str]]]


def cells_of(text: str) -> list[str]:
    """Cells of a table line; `\\|` is no border."""
    text = re.sub(r"(?<!\\)\|\s*$", "", text.strip())
    return [c.replace("\\|", "|").strip() for c in re.split(r"(?<!\\)\|", text.removeprefix("|"))]


def tables_of(lines: Iterator[Line | Remark]) -> Iterator[Table | Remark]:
    """Tables outside of fences, in order."""
    heading, fence, above = "", "", None
    table: Table | None = None
    for line in lines:
        if isinstance(line, Remark):
            yield line
            continue
        text = line.text.strip()
        mark = re.match(r"(`{3,}|~{3,})", text)
        if mark and (not fence or mark[1].startswith(fence)):
            fence = "" if fence else mark[1]
        if fence or mark:
            above = None
            continue
        if table is not None and "|" in text:
            table.rows.append((line, cells_of(line.text)))
            continue
        if table is not None:
            yield table
            table = None
        if above is not None and "|" in above.text and text[:1] in ("|", ":", "-"):
            header, rules = cells_of(above.text), cells_of(text)
            if len(rules) == len(header) and all(map(_RULE.fullmatch, rules)):
                table = Table(heading, above.number, header, [])
        if text.startswith("#"):
            heading = text.lstrip("#").strip()
        above = line
    if table is not None:
        yield table


def layout_of_runs(table: Table, *, ask: Ask, loose: bool = False) -> Layout | None:
    """Layout of a table of runs; None where it is some other table. `loose` accepts rows without numbers where a delta stands."""
    rows = [_fitted(cells, len(table.header)) for _, cells in table.rows if any(cells)]
    if not rows or len(table.header) < 2:
        return None
    layout = layout_of(table.header, rows, ask=ask)
    roles = {c.role for c in layout.columns}
    numbered = Role.ID in roles or Role.RANK in roles
    quantity, delta = layout.primary >= 0, Role.DELTA in roles
    if layout.status >= 0 and (quantity or delta or numbered or layout.text >= 0):
        return layout
    if numbered and (layout.direction or delta or quantity and Role.RANK in roles) and layout.text >= 0:
        return layout
    return layout if loose and layout.text >= 0 and quantity and delta else None


def _fitted(cells: list[str], width: int) -> list[str]:
    return [*cells, *[""] * (width - len(cells))][:width]


def _in_order(table: Table, layout: Layout) -> list[tuple[Line, list[str]]]:
    """Rows of a table; those of a leaderboard, which stand by rank, by the number of their experiment, as they were run."""
    at = next((i for i, c in enumerate(layout.columns) if c.role is Role.ID), -1)
    numbers = ["".join(cells[at : at + 1]) for _, cells in table.rows if any(cells)] if layout.ranked and at >= 0 else []
    if not numbers or not all(re.fullmatch(r"\d{1,15}", n) for n in numbers):
        return table.rows
    return sorted(table.rows, key=lambda row: int(row[1][at]) if any(row[1]) else 0)


def holds_runs(path: Path) -> int:
    """How many runs the tables of a page tell."""
    tables = [t for t in tables_of(lines_of(path)) if isinstance(t, Table)]
    return sum(any(cells) for t in tables if layout_of_runs(t, ask=Ask()) for _, cells in t.rows)


def read(path: Path, ask: Ask) -> Iterator[Segment | Run | Remark]:
    """Segments, runs and remarks; tables of one header are one segment, another metric opens the next."""
    tables = [t for t in tables_of(lines_of(path)) if isinstance(t, Table)]
    found = [(t, layout) for t in tables if (layout := layout_of_runs(t, ask=ask))]
    if not found:
        found = [(t, layout) for t in tables if (layout := layout_of_runs(t, ask=ask, loose=True))]
    if not found:
        yield Segment(0, 1, judged=False)
        yield Remark("no table of runs (one with a status column, or numbered rows with a quantity); read as text")
        return
    index, before = -1, None
    for table, layout in found:
        keys = (layout.primary_name, tuple(key_of(h) for h in table.header) if not layout.primary_name else ())
        if keys != before:
            index, before = index + 1, keys
            yield layout.segment(index, table.line, table.heading)
            if layout.doubt:
                yield Remark(layout.doubt, table.line)
        else:
            yield Remark("a further table of the same metric; read as one segment with the one above", table.line)
        for line, cells in _in_order(table, layout):
            if not any(cells):
                continue
            if len(cells) != len(table.header):
                yield Remark("a row with more or fewer cells than the header; cut or filled as markdown does", line.number)
            run = run_of(_fitted(cells, len(table.header)), layout, line=line, file=path.name, kind="logmd", segment=index)
            if run.primary and run.value is None:
                yield Remark(f"no measurement under '{run.primary}' (no plain number); left out of best", line.number)
            yield run
