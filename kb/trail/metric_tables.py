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
    from kb.page.document import Row

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
    bold = [
        tuple(
            bool(c.spans) and c.spans[0].kind == "strong" and not c.spans[0].at
            for c in row.cells[:width]
        )
        for row in rows
    ]
    header, body = cells[0], cells[1:]
    if not body or _SERIES.match(header[0]) and sum(r[0].isdigit() for r in body) > 2:
        return
    across = [
        c for c in range(1, width) if is_measured(header[c]) and not _names_run(header[c], run)
    ]
    down = [r for r in range(1, len(cells)) if is_measured(cells[r][0])]
    if not across and not down:
        down = [r for r in range(1, len(cells)) if len(body) == 1 or _OVERALL.match(cells[r][0])][
            :1
        ]
        down = down if any(_names_run(h, run) and unit_in(h) for h in header[1:]) else []
    if down and len(down) * (width - 1) >= len(across) * len(body):
        names = [cells[r][0] for r in down]
        lines = [
            _Line(
                (header[c],),
                tuple(cells[r][c] for r in down),
                (bold[0][c], *(bold[r][c] for r in down)),
            )
            for c in range(1, width)
        ]
    elif across:
        names = [header[c] for c in across]
        lines = [
            _Line(row[: across[0]], tuple(row[c] for c in across), b)
            for row, b in zip(body, bold[1:], strict=True)
        ]
    else:
        return
    line, sure = _own([x for x in lines if any(map(_figure, x.cells))], run, cited)
    unit = unit_in(line.labels[0]) if line and not across and line.labels else ""
    for name, cell in zip(names, line.cells if line else (), strict=False):
        if unit and not is_measured(name):
            name = f"{'' if _OVERALL.match(name) else name} ({unit})"
        yield from _measures(name, cell, sure=sure, unit=unit)


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
    if len(lines) == 1 and not any(
        COMPARED.match(c) or calls(c, run) is False for c in lines[0].labels
    ):
        return lines[0], True
    plain = [
        x
        for x in lines
        if not any(c.startswith(("Δ", "delta", "vs")) for c in map(str.lower, x.labels))
    ]
    for named in (
        lambda label: calls(label, run) or calls(f"#{label}", run),
        lambda label: _OWN.match(label) or "this run" in label.lower(),
        lambda label: run.baseline and "baseline" in label.lower(),
    ):
        if chosen := [x for x in plain if any(map(named, x.labels))]:
            return _set_off(chosen, cited) or chosen[-1], True
    rest = [
        x for x in plain if not any(COMPARED.search(c) or calls(c, run) is False for c in x.labels)
    ]
    if len(rest) == 1:
        return rest[0], True
    return _set_off(rest, cited), False


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
