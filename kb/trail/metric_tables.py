"""Result tables of an experiment page: the row or column of its own run. Refuses to choose where the page does not."""

import re
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, NamedTuple

from kb import regex
from kb.text import Number, numbers_in
from kb.trail.metric_names import (
    COMPARED,
    MetricReading,
    RunLabel,
    calls,
    fits,
    is_measured,
    metric,
    names_itself,
    unit_in,
)

if TYPE_CHECKING:
    from kb.page.document import Cell, Row

_Cells = list[tuple[str, ...]]
_Bold = list[tuple[bool, ...]]
# The figures that a page's text repeats.
Cited = Callable[[], frozenset[float]]

_LONGEST_CELL = 400
_OWN = regex(
    r"(?:this\b|ours?\b|new\b|pr\b|results?\b|value|measured|after|candidate|treatment|now\b|patched|optimi[sz]ed)",
    re.IGNORECASE,
)
# A log of one run step by step: its rows are no measures of the run.
_SERIES = regex(r"(?:train(?:ing)? )?(?:step|iter\w*|epoch)\b", re.IGNORECASE)
_FIRST_WORKER = regex(r"(?:worker|rank|host|node|gpu|chip)\s*0\b", re.IGNORECASE)
_OVERALL = regex(
    r"(?:total|overall|geo-?mean|end[- ]to[- ]end|e2e|sum|average|mean)(?![\w-])", re.IGNORECASE
)

# `57,730 tok/s (6,299/chip)`: the same of one of several.
_PER = regex(r"/([a-z]+)\b")


class _Line(NamedTuple):
    """A row of a table, or a column of one whose rows are metrics: what it is called, its cells, which of them are bold."""

    labels: tuple[str, ...]
    cells: tuple[str, ...]
    bold: tuple[bool, ...]


def table_readings(rows: "tuple[Row, ...]", run: RunLabel, cited: Cited) -> Iterable[MetricReading]:
    """Readings of a table: of this run's column where rows are named after metrics, of its row where columns are.

    Where columns are runs and only their heads have a unit (`| kernel | master (ms) | this (ms) |`), the row over all counts, or the
    only one.
    """
    width = len(rows[0].cells)
    cells = [tuple(c.plain[:_LONGEST_CELL] for c in row.cells[:width]) for row in rows]
    bold = [tuple(map(_is_bold, row.cells[:width])) for row in rows]
    header, body = cells[0], cells[1:]
    if not body or _SERIES.match(header[0]) and sum(r[0].isdigit() for r in body) > 2:
        return
    across, down = _measured(cells, run)
    if down and len(down) * (width - 1) >= len(across) * len(body):
        names, lines = [cells[r][0] for r in down], _columns(cells, bold, down)
    else:
        names, lines = [header[c] for c in across], _rows(cells, bold, across)
    line, sure = _own([x for x in lines if any(map(_figure, x.cells))], run, cited)
    unit = unit_in(line.labels[0]) if line and not across and line.labels else ""
    for name, cell in zip(names, line.cells if line else (), strict=False):
        if unit and not is_measured(name):
            name = f"{'' if _OVERALL.match(name) else name} ({unit})"
        yield from _measures(name, cell, sure=sure, unit=unit)


def _measured(cells: _Cells, run: RunLabel) -> tuple[list[int], list[int]]:
    """The columns behind the first and the rows below the head that are named after something measured; the one row over all where only columns of runs are."""
    header, body = cells[0], cells[1:]
    across = [
        c for c, head in enumerate(header) if c and is_measured(head) and not _names_run(head, run)
    ]
    down = [r for r, row in enumerate(cells) if r and is_measured(row[0])]
    if not across and not down and any(_names_run(h, run) and unit_in(h) for h in header[1:]):
        overall = (r for r, row in enumerate(body, 1) if len(body) == 1 or _OVERALL.match(row[0]))
        down = [*overall][:1]
    return across, down


def _columns(cells: _Cells, bold: _Bold, down: list[int]) -> list[_Line]:
    """The columns behind the first, each with its cells of some rows."""
    return [
        _Line((head,), tuple(cells[r][c] for r in down), tuple(bold[r][c] for r in (0, *down)))
        for c, head in enumerate(cells[0][1:], 1)
    ]


def _rows(cells: _Cells, bold: _Bold, across: list[int]) -> list[_Line]:
    """The rows below the head, each with its cells of some columns."""
    return [
        _Line(row[: across[0]], tuple(row[c] for c in across), is_bold)
        for row, is_bold in zip(cells[1:], bold[1:], strict=True)
        if across
    ]


def _is_bold(cell: "Cell") -> bool:
    """Whether a cell begins in bold type."""
    return bool(cell.spans) and cell.spans[0].kind == "strong" and not cell.spans[0].at


def _names_run(head: str, run: RunLabel) -> bool:
    """Whether a column's head is a run with a unit, not a metric: `Exp 5 (ms)`, `t/s master`."""
    rest = head.replace(unit_in(head), "").replace("()", "").strip() if unit_in(head) else ""
    return bool(rest) and (
        calls(rest, run) is not None or bool(_OWN.match(rest) or COMPARED.match(rest))
    )


def _own(lines: list[_Line], run: RunLabel, cited: Cited) -> tuple[_Line | None, bool]:
    """The line of this run and whether the page says so: labelled with its number, called so, a baseline where the run is one, or the
    only one that nothing else is called by; of several the bold one, the one whose figures the text repeats, the first worker's, or the
    second of two columns.
    """
    if len(lines) == 1 and not _is_of_another(lines[0], run, COMPARED.match):
        return lines[0], True
    plain = [
        x for x in lines if not any(c.lower().startswith(("Δ", "delta", "vs")) for c in x.labels)
    ]
    for named in (
        lambda label: calls(label, run) or calls(f"#{label}", run),
        lambda label: _OWN.match(label) or "this run" in label.lower(),
        lambda label: run.baseline and "baseline" in label.lower(),
    ):
        if chosen := [x for x in plain if any(map(named, x.labels))]:
            return _set_off(chosen, cited) or chosen[-1], True
    rest = [x for x in plain if not _is_of_another(x, run, COMPARED.search)]
    if len(rest) == 1:
        return rest[0], True
    return _set_off(rest, cited), False


def _is_of_another(line: _Line, run: RunLabel, compared: Callable[[str], object]) -> bool:
    """Whether what a line is called is another run, or what runs are compared with."""
    return any(compared(c) or calls(c, run) is False for c in line.labels)


def _set_off(lines: list[_Line], cited: Cited) -> _Line | None:
    """The one line that a page sets off from its like, by bold type, by repeating its figures, or as the first worker's."""
    for count in (
        lambda x: x.bold[0],
        lambda x: any(x.bold),
        lambda x: sum(_repeats(c, cited) for c in x.cells),
    ):
        counts = [count(x) for x in lines]
        most = max(counts, default=0)
        if most and counts.count(most) == 1:
            return lines[counts.index(most)]
    return next((x for x in lines if any(map(_FIRST_WORKER.match, x.labels))), None)


def _repeats(cell: str, cited: Cited) -> bool:
    figure = _figure(cell)
    return bool(figure) and figure.value in cited()


def _figure(cell: str) -> Number | None:
    """The figure that a cell starts with, after signs such as `~` and `🏆`."""
    first = next(numbers_in(cell), None)
    return first if first and not any(c.isalnum() for c in cell[: first.start]) else None


def _measures(name: str, cell: str, *, sure: bool, unit: str = "") -> Iterable[MetricReading]:
    """Measures of one named cell: its first number, and other rates beside it."""
    figure = _figure(cell)
    if (
        figure is None
        or figure.bound
        or figure.high is not None
        or cell[figure.end :].lstrip().startswith(("→", "->"))
    ):
        return
    unit = figure.unit or unit or unit_in(name)
    if unit in ("pp", "x", "×") or unit == "%" and (figure.signed or not fits(name, unit)):
        return
    yield MetricReading(metric(name, figure, unit), sure)
    rest = cell[figure.end :]
    for other in numbers_in(rest):
        per = _PER.match(rest, other.end)
        beside = f"{unit}/{per[1]}" if per and "/" in unit else other.unit
        if "/" in beside and names_itself(beside) and not other.bound:
            yield MetricReading(metric(beside, other, beside), sure)
