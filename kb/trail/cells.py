"""Result tables of an experiment page: the column or row of its own run. Refuses to choose where the page does not."""

import math
import re
from collections.abc import Callable, Iterable
from functools import lru_cache

from kb.page import plain_text
from kb.page.text import cells_of
from kb.run.direction import direction_of
from kb.run.record import Metric
from kb.trail.figures import (
    FIGURE,
    GOES_ON,
    NUMBER,
    OTHERS,
    RATED,
    UNIT,
    Reading,
    Run,
    calls,
    figure_at_start,
    fits,
    metric,
    names_itself,
    to_number,
)
from kb.trail.sentences import FOREIGN

# The figures that a page's text repeats, as written.
Cited = Callable[[], frozenset[str]]

_OWN = re.compile(
    r"^(?:this (?:run|exp\w*|page|pr|change)|ours?|new|pr|result|results|value|measured|after|candidate|treatment|now|patched|"
    r"optimi[sz]ed)\b",
    re.IGNORECASE,
)
_BESIDE_RATE = re.compile(rf"(?P<value>{NUMBER})\s*/\s*(?P<per>[a-z]+)\b")
_IN_BRACKETS = re.compile(r"[(\[]\s*([^)\]]*)[)\]]")
_RULER = re.compile(r"[\s:|]*-[\s:|\-]*$")
_CITED = re.compile(r"(?<![\w.,])\d[\d,]*(?:\.\d+)?")
# A log of one run step by step: its rows are no measures of the run.
_SERIES = re.compile(r"(?:train(?:ing)? )?(?:step|iter\w*|epoch)\b", re.IGNORECASE)
_IS_BASELINE = re.compile(r"\b(?:baseline|reference|control|parent|upstream|published|before|unpatched|stock)\b", re.IGNORECASE)
_WORKER = re.compile(r"(?:worker|rank|host|node|gpu|chip)\s*0\b", re.IGNORECASE)
_NUMBERED = re.compile(r"\b(?:run|exp\w*|iter\w*|trial|version|variant|id)\b|#", re.IGNORECASE)
_ALL_OF = re.compile(r"(?:total|overall|geo-?mean|end[- ]to[- ]end|e2e|sum|average|mean)(?![\w-])", re.IGNORECASE)


def table(rows: list[str], run: Run, cited: Cited) -> Iterable[Reading]:
    """Readings of a pipe table: of this run's column where rows are named after metrics, of its row where columns are.

    Where columns are runs and only their heads have a unit (`| kernel | master (ms) | this (ms) |`), the row over all counts, or
    the only one.
    """
    if len(rows) < 3 or not _RULER.match(rows[1]):
        return
    raw, body = cells_of(rows[0]), [cells_of(r) for r in rows[2:] if not _RULER.match(r)]
    header = [_plain(c) for c in raw]
    if _SERIES.match(header[0]) and sum(c[0].strip("*` ").isdigit() for c in body if c) > 2:
        return
    units = {c: _unit_in(h) or (RATED.match(h) or [""])[0] for c, h in enumerate(header) if c and _names_run(h, run)}
    across = [c for c in range(1, len(header)) if c not in units and _names_metric(header[c])]
    down = [r for r in body if r and _names_metric(_plain(r[0]))]
    if down and len(down) * max(1, len(header) - 1) >= len(across) * max(1, len(body)):
        column, sure = _own_column(raw, body, run, cited)
        for r in down:
            if 0 < column < len(r):
                yield from _measures(_plain(r[0]), r[column], sure=sure, unit=units.get(column, ""))
    elif across:
        row, sure = _own_row(header, body, across, run, cited)
        for c in across:
            if c < len(row):
                yield from _measures(header[c], row[c], sure=sure)
    elif any(units.values()):
        column, sure = _own_column(raw, body, run, cited)
        row = next((r for r in body if r and (len(body) == 1 or _ALL_OF.match(_plain(r[0])))), [])
        if 0 < column < len(row) and (unit := units.get(column, "")):
            label = "" if _ALL_OF.match(_plain(row[0])) else _plain(row[0])
            yield from _measures(f"{label} ({unit})", row[column], sure=sure, unit=unit)


_LONGEST = 400
_MARKED = re.compile(r"[\[<\\&_!~]")


def _plain(cell: str) -> str:
    """What a reader sees of a cell; of a long one, its head: names and figures stand there."""
    cell = cell[:_LONGEST]
    if _MARKED.search(cell):
        return plain_text(cell)
    return cell.replace("*", "").replace("`", "").strip()


@lru_cache(4096)
def _names_metric(text: str) -> bool:
    if not text or OTHERS.match(text):
        return False
    rate = RATED.search(text)
    return direction_of(text) is not None or bool(rate) and direction_of(rate[0]) is not None


def _names_run(head: str, run: Run) -> bool:
    """Whether a column's head is a run with a unit, not a metric: `Exp 5 (ms)`, `t/s master`."""
    rest = _IN_BRACKETS.sub("", head).strip()
    if rest == head.strip() and (rate := RATED.match(head)):
        rest = head[rate.end() :].strip()
    return bool(rest) and (calls(rest, run) is not None or bool(_OWN.fullmatch(rest) or OTHERS.fullmatch(rest)))


def _own_column(raw: list[str], body: list[list[str]], run: Run, cited: Cited) -> tuple[int, bool]:
    """Column of this run's values and whether the page says so: labelled with its number, called so, bold, the only one that
    is no comparison, the one whose figures the text repeats, or the second of two; 0 if there is none.
    """
    heads = [_plain(c) for c in raw]
    numeric = [c for c in range(1, len(heads)) if any(c < len(r) and figure_at_start(_plain(r[c])) for r in body)]
    for named in (
        lambda c: calls(heads[c], run) and not re.match(r"Δ|delta|vs\b", heads[c], re.IGNORECASE),
        lambda c: _OWN.match(heads[c]),
        lambda c: raw[c].startswith("**"),
        lambda c: run.baseline and "baseline" in heads[c].lower(),
    ):
        if chosen := [c for c in numeric if named(c)]:
            return chosen[0], True
    plain = [c for c in numeric if not OTHERS.match(heads[c]) and not re.search(r"[Δ%]|\bvs\b", heads[c])]
    plain = [c for c in plain if calls(heads[c], run) is None] or plain[-1:]
    if len(plain) == 1:
        return plain[0], True
    best = _most([sum(_repeated(r[c], cited) for r in body if c < len(r)) for c in plain])
    if best is not None:
        return plain[best], False
    return next((c for c in plain if _WORKER.match(heads[c])), plain[-1] if len(plain) == 2 else 0), False


def _own_row(header: list[str], body: list[list[str]], across: list[int], run: Run, cited: Cited) -> tuple[list[str], bool]:
    """Row of this run and whether the page says so: labelled with its number, called so, a baseline where the run is one, or
    the only one that no other run is called by; of several the bold one, the one whose figures the text repeats, or the first
    worker's. Empty where that leaves a choice.

    `across` are the columns that are metrics: what stands left of them is the label.
    """
    numbered = bool(_NUMBERED.search(header[0]))
    rows = [(r, [_plain(c) for c in r[: across[0]]]) for r in body if r]
    if len(rows) == 1:
        return rows[0][0], True
    for named in (
        lambda label: any(calls(c, run) for c in label) or numbered and bool(calls(f"#{label[0]}", run)),
        lambda label: any(_OWN.match(c) or "this run" in c.lower() for c in label),
        lambda label: run.baseline and any("baseline" in c.lower() for c in label),
    ):
        if chosen := [r for r, label in rows if named(label)]:
            return _best_of(chosen, across, cited) or chosen[-1], True
    rest = [r for r, label in rows if not any(OTHERS.match(c) or _IS_BASELINE.search(c) or calls(c, run) is False for c in label)]
    return (rest[0], True) if len(rest) == 1 else (_best_of(rest, across, cited) or [], False)


def _best_of(rows: list[list[str]], across: list[int], cited: Cited) -> list[str] | None:
    """The one row that a page sets off from its like, by bold type, by repeating its figures, or as the first worker's."""
    if len(rows) == 1:
        return rows[0]
    for marked in (
        [r for r in rows if r[0].startswith("**")],
        [r for r in rows if any(c.startswith("**") for c in r)],
    ):
        if len(marked) == 1:
            return marked[0]
    best = _most([sum(_repeated(r[c], cited) for c in across if c < len(r)) for r in rows])
    return rows[best] if best is not None else next((r for r in rows if _WORKER.match(_plain(r[0]))), None)


def _most(counts: list[int]) -> int | None:
    """Position of the count that is above every other, or None."""
    most = max(counts, default=0)
    return counts.index(most) if most and counts.count(most) == 1 else None


def _repeated(cell: str, cited: Cited) -> bool:
    found = _CITED.search(cell)
    return bool(found) and found[0] in cited()


def _measures(name: str, cell: str, *, sure: bool, unit: str = "") -> Iterable[Reading]:
    """Measures of one named cell: its first number, and `(6,299/chip)` beside a rate."""
    text = _plain(cell)
    m = figure_at_start(text)
    if not m or not (unit or _names_metric(name)) or GOES_ON.match(text, m.end()) or text[0] in "≤≥<>":
        return
    unit = m["unit"] or unit or _unit_in(name)
    if unit == "pp" or unit == "%" and (text.lstrip("*~ ")[:1] in "+−-" or not fits(name, unit)):
        return
    yield Reading(metric(name, m, unit), sure)
    rest = text[m.end() :]
    per = _BESIDE_RATE.search(rest)
    if per and "/" in unit and math.isfinite(value := to_number(per["value"])):
        yield Reading(Metric(f"{unit}/{per['per']}", value, f"{unit}/{per['per']}"), sure)
    for other in FIGURE.finditer(rest):
        beside = other["unit"] or ""
        if "/" in beside and names_itself(beside) and not FOREIGN.search(rest[: other.start()].replace("(", "")):
            yield Reading(metric(beside, other, beside), sure)


@lru_cache(4096)
def _unit_in(name: str) -> str:
    """The unit that a name states: `latency (ms)`, `tokens/s [mean]`, `step ms`."""
    for inside in _IN_BRACKETS.findall(name):
        if unit := UNIT.match(inside):
            return unit[0]
    words = re.split(r"[\s_]", name.strip())
    return next((last for n in (3, 1) if UNIT.fullmatch(last := " ".join(words[-n:]))), "")
