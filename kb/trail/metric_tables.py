"""Result tables of an experiment page: the row or column of its own run. Refuses to choose where the page does not."""

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from kb import regex
from kb.run.record import Metric
from kb.text import Number, numbers_in, one_line
from kb.trail.metric_names import (
    COMPARED,
    RunLabel,
    calls,
    fits,
    is_measured,
    names_itself,
    unit_in,
)

if TYPE_CHECKING:
    from kb.page.document import Row, TableCell

# A row of a table, or a column of one whose rows are metrics: its cells behind those that say what it is called.
_Line = tuple[Sequence["TableCell"], Sequence["TableCell"]]

_LONGEST_CELL = 400
_OWN = regex(
    r"(?:this\b|ours?\b|new\b|pr\b|results?\b|value|measured|after|candidate|treatment|now\b|patched|optimi[sz]ed)",
    re.IGNORECASE,
)
_FIRST_WORKER = regex(r"(?:worker|rank|host|node|gpu|chip)\s*0\b", re.IGNORECASE)
# `57,730 tok/s (6,299/chip)`: the same of one of several.
_PER = regex(r"/([a-z]+)\b")


def table_metrics(rows: "tuple[Row, ...]", run: RunLabel) -> tuple[list[Metric], bool]:
    """Metrics of a table, and whether it says that they are this run's: of its column where rows are named after metrics, of its row
    where columns are.
    """
    names, lines = _lines_of(rows, run)
    own, is_sure = _own([line for line in lines if any(map(_figure, line[1]))], run)
    cells = zip(names, own[1] if own else (), strict=False)
    return [m for name, cell in cells for m in _measures(name, cell)], is_sure


def _lines_of(rows: "tuple[Row, ...]", run: RunLabel) -> tuple[list[str], list[_Line]]:
    """What a table measures, by its heads or by its rows, and the lines that hold it; nothing where it measures nothing."""
    width = len(rows[0].cells)
    header, *body = (row.cells[:width] for row in rows)
    names = [cell.plain for cell in header]
    across = [c for c in range(1, width) if is_measured(names[c])]
    across = [c for c in across if not _names_another([header[c]], run)]
    down = [row for row in body if is_measured(row[0].plain)]
    if down and len(down) * (width - 1) >= len(across) * len(body):
        lines = [([header[c]], [row[c] for row in down]) for c in range(1, width)]
        return [row[0].plain for row in down], lines
    lines = [(row[: across[0]], [row[c] for c in across]) for row in body if across]
    return [names[c] for c in across], lines


def _own(lines: list[_Line], run: RunLabel) -> tuple[_Line | None, bool]:
    """The line of this run and whether the page says so: labelled with its number, called so, a baseline where the run is one, or the
    only one that nothing else is called by; of several the one in bold type, the first worker's, or the second of two columns.
    """
    if len(lines) == 1 and not _names_another(lines[0][0], run):
        return lines[0], True
    for named in (
        lambda label: calls(label, run) or calls(f"#{label}", run),
        lambda label: _OWN.match(label) or "this run" in label.lower(),
        lambda label: run.baseline and "baseline" in label.lower(),
    ):
        if chosen := [x for x in lines if any(named(c.plain) for c in x[0])]:
            return _set_off(chosen) or chosen[-1], True
    rest = [x for x in lines if not _names_another(x[0], run)]
    return (rest[0], True) if len(rest) == 1 else (_set_off(rest), False)


def _names_another(cells: Iterable["TableCell"], run: RunLabel) -> bool:
    """Whether cells name another run, or what runs are compared with."""
    return any(COMPARED.search(c.plain) or calls(c.plain, run) is False for c in cells)


def _set_off(lines: list[_Line]) -> _Line | None:
    """The one line that a page sets off from its like by bold type, or the first worker's."""
    for bold in (
        [x for x in lines if _is_bold(x[0][0])],
        [x for x in lines if any(map(_is_bold, (*x[0], *x[1])))],
    ):
        if len(bold) == 1:
            return bold[0]
    return next((x for x in lines if any(_FIRST_WORKER.match(c.plain) for c in x[0])), None)


def _is_bold(cell: "TableCell") -> bool:
    """Whether a cell begins in bold type."""
    return bool(cell.spans) and cell.spans[0].kind == "strong" and not cell.spans[0].at


def _figure(cell: "TableCell") -> Number | None:
    """The figure that a cell starts with, after signs such as `~` and `🏆`."""
    text = cell.plain[:_LONGEST_CELL]
    first = next(numbers_in(text), None)
    return first if first and not any(c.isalnum() for c in text[: first.start]) else None


def _measures(name: str, cell: "TableCell") -> Iterable[Metric]:
    """Measures of one named cell: its first number, and other rates beside it."""
    figure = _figure(cell)
    rest = cell.plain[figure.end : _LONGEST_CELL] if figure else ""
    if (
        not figure
        or figure.bound
        or figure.high is not None
        or rest.lstrip().startswith(("→", "->"))
    ):
        return
    unit = figure.unit or unit_in(name)
    if unit in ("pp", "x", "×") or unit == "%" and (figure.signed or not fits(name, unit)):
        return
    yield Metric(one_line(name), figure.value, unit, stddev=figure.spread)
    for other in numbers_in(rest):
        per = _PER.match(rest, other.end)
        beside = f"{unit}/{per[1]}" if per and "/" in unit else other.unit
        if "/" in beside and names_itself(beside) and not other.bound:
            yield Metric(one_line(beside), other.value, beside, stddev=other.spread)
