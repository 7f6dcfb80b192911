"""Metrics of an experiment page: from front matter, result tables, or sentences.

Of a table the row or column of the page's own run. Refuses a choice between configurations that the page does not make; in sentences ranges,
changes, and figures of what it compares with.
"""

import re
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import TYPE_CHECKING

from kb import regex
from kb.page import Page
from kb.run.direction import direction_from, direction_of
from kb.run.quantity import to_float
from kb.run.record import Metric
from kb.text import Number, numbers_in, one_line
from kb.trail.metric_names import (
    COMPARED,
    RunLabel,
    calls,
    fits,
    is_measured,
    names_itself,
    renamed,
    run_label_of,
    unit_in,
)
from kb.trail.outline import Passage

if TYPE_CHECKING:
    from kb.page.document import Row, TableCell
from kb.run.direction import word_set
from kb.text import STOP
from kb.trail.metric_names import HOW, is_quantity

# A longer line is data, not a sentence; what a figure is about stands close before it.
_LONGEST, _NEAR = 4000, 120
_ARROWS = ("→", "->")
# What gives the figure behind it to something else, and what gives the one before it, or makes it a difference.
_FOREIGN = regex(
    r"(?<!\w)(?:vs|versus|than|from|above|below|over|against|exceed\w*|beats?|baseline|frontier|expected|predicted|target|toward|goal|best|"
    r"parent|reference|prior|previous(?:ly)?|match\w*|before|relative to|compared to|(?<=it )was|(?<=\()was)\W*(?:(?:the|of|a|at|best)\W+)?$",
    re.IGNORECASE,
)
_ANOTHER = regex(
    r"\s*\(?(?:before|previously|earlier|originally|(?:(?:at|for|in|on|as|the) )*(?:baseline|parent|reference|master|main|upstream))\b"
    r"(?!\s*[:=]?\s*\d)"
)
_CHANGE = regex(
    r"\s+(?:(?!(?:is|was|are|and|at|of|which|but)\b)[\w/%\-]+\s+)?(?:improve\w*|gains?|gap|difference|reduction|regression|increase|decrease|"
    r"drop|faster|slower|better|worse|higher|lower|more|less|fewer|saved|savings?)\b",
    re.IGNORECASE,
)
_CLAUSE = regex(r"[.;,]\s")
# What may stand between a name and its figure.
_LINKS = HOW | word_set(
    "is was are of at reaches hit hits about around near stays remains falls fell drops rises rose jumps climbs "
    "lands averages went goes moves moved improves becomes collapses down up to only just so now and"
)
# What ends a name without being what is measured.
_RATES = ("rate", "ratio", "usage", "used")
_BEHIND = regex(
    r"\s(?:(?:reported|overall|mean|nominal) )?([A-Za-z][\w-]*(?: (?:time|rate|ratio)\b)?)"
)


def sentence_metrics(text: str, run: RunLabel) -> Iterable[Metric]:
    """Measures in a run of text: a rate names itself, any other figure needs the name of what it measures."""
    last: Number | None = None
    for figure in numbers_in(text[:_LONGEST]):
        between = text[last.end : figure.start].strip() if last else ""
        came = between in ("to", *_ARROWS)
        share = between == "of" or between == "/" and last.unit == figure.unit
        start = last.start if came else figure.start
        last = figure
        if share or _is_change(figure, text, came=came):
            continue
        before = text[max(0, start - _NEAR) : start].rstrip()
        before = before.removesuffix("from").rstrip(" (") if came else before
        after = text[figure.end : figure.end + _NEAR]
        name = _name_of(figure, before, after, text, came=came)
        # What stands before the name may give the figure to something else as well: "goal: latency 5 ms".
        parts = before, before[: max(0, before.rfind(name))]
        if name and not any(_is_foreign(p, run) for p in parts) and not _is_anothers(after, run):
            yield Metric(one_line(name), figure.value, figure.unit, stddev=figure.spread)


def _is_change(figure: Number, text: str, *, came: bool) -> bool:
    """Whether a figure is a difference, a range, a bound, or what something came from."""
    change = figure.signed or text[figure.start] == "±" or figure.unit in ("pp", "×", "x")
    open_ended = figure.high is not None or not came and bool(figure.bound or figure.about)
    return change or open_ended or text[figure.end :][:4].lstrip().startswith(_ARROWS)


def _is_foreign(before: str, run: RunLabel) -> bool:
    """Whether what stands before a figure, or around its bracket, gives it to something else: a comparison, or another run."""
    opened = before.rfind("(")
    outside = before[:opened] if opened > before.rfind(")") else before
    for part in {before, outside}:
        clause = _CLAUSE.split(part[-60:])[-1]
        word = _FOREIGN.search(clause)
        if word and not (run.baseline and "baseline" in word[0].lower()):
            return True
        if part.endswith(("(", "→", "~")) or calls(clause, run) is False:
            return True
    return False


def _is_anothers(after: str, run: RunLabel) -> bool:
    """Whether what stands behind a figure gives it to something else, or makes it a difference."""
    return bool(_CHANGE.match(after) or not run.baseline and _ANOTHER.match(after))


def _name_of(figure: Number, before: str, after: str, text: str, *, came: bool) -> str:
    """`12 tok/s`; `41.4 % MFU`; `val_bpb 0.9979`, `MFU falls to 30 %`, `p99 latency: 12 ms`. Without a unit a label, an acronym or a decimal
    number tells.
    """
    unit, decimal = figure.unit, "." in text[figure.start : figure.end]
    if unit and names_itself(unit):
        return unit
    behind = _BEHIND.match(after) if unit or decimal else None
    if behind and is_quantity(behind[1].split()[0]) and fits(behind[1], unit):
        return behind[1]
    tail = before.rstrip(" ~≈")
    labelled = tail[-1:] in (":", "=")
    name = _quantity_at_end(_CLAUSE.split(tail.rstrip(":= ,("))[-1], unit)
    return name if unit or labelled or decimal or came or name.isupper() else ""


def _quantity_at_end(clause: str, unit: str) -> str:
    """What the end of a clause names that is measured in a unit: the last quantity, with the word before it where that is part of its name."""
    words = [word.lstrip("(*`") for word in clause.split()]
    while len(words) > 1 and (words[-1].lower() in _LINKS or words[-1].endswith("ed")):
        del words[-1]
    rate = [words.pop()] if len(words) > 1 and words[-1] in _RATES else []
    if not words or not is_quantity(words[-1]):
        return ""
    first = words[-2] if len(words) > 1 else ""
    filler = first.lower() in STOP | _LINKS or first.lower().endswith(("ed", "ing", "ly", "s"))
    pair = words[-2:] if first.isalnum() and not first.isdigit() and not filler else words[-1:]
    named = (" ".join([*parts, *rate]) for parts in (pair, words[-1:]))
    return next((name for name in named if fits(name, unit)), "")


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


def metrics_of(
    page: Page, parts: Sequence[Sequence[Passage]], *, tokens: bool
) -> tuple[Metric, ...]:
    """Metrics that a page reports for its own run: those its front matter states, as they stand there, else those that `parts` of it
    show; `tokens` where it speaks of any. In text the first reading of a name counts, in tables that are surely of this run before all.
    """
    if declared := tuple(_front_metrics(page)):
        return declared
    run = run_label_of(page)
    sure: list[Metric] = []
    others = [*sentence_metrics(page.title, run)]
    for passage in chain.from_iterable(parts):
        if passage.rows:
            own, is_sure = table_metrics(passage.rows, run)
            (sure if is_sure else others).extend(own)
        elif passage.kind in ("paragraph", "heading"):
            others.extend(sentence_metrics(passage.text, run))
    by_name: dict[str, Metric] = {}
    for named in (renamed(m, tokens=tokens) for m in (*sure, *others)):
        by_name.setdefault(named.name, named)
    by_name.pop("", None)
    return tuple(by_name.values())


def _front_metrics(page: Page) -> Iterable[Metric]:
    stated = page.front.get("metrics")
    for name, value in stated.items() if isinstance(stated, dict) else ():
        fields = value if isinstance(value, dict) else {"value": value}
        number, unit = fields.get("value"), str(fields.get("unit") or "")
        if isinstance(number, str):
            first = next(numbers_in(number), None)
            starts = first is not None and not any(c.isalnum() for c in number[: first.start])
            number, unit = (first.value, unit or first.unit) if starts else (None, unit)
        if (measured := to_float(number)) is not None:
            n = fields.get("n")
            yield Metric(
                one_line(str(name)),
                measured,
                unit,
                direction_from(fields.get("direction")) or direction_of(f"{name} {unit}"),
                n if isinstance(n, int) else None,
                to_float(fields.get("stddev")),
            )
