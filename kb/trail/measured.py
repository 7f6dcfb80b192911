"""Metrics of an experiment page: from front matter, result tables, or sentences.

Refuses ranges, deltas and figures of other runs.
"""

import math
import re
from collections.abc import Iterable

from kb.page import Page, plain_text
from kb.page.text import cells_of
from kb.run.direction import direction_from, direction_of, words_of
from kb.run.quantity import to_float
from kb.run.record import Metric

_NUMBER = r"[+\-−]?(?:\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?|\.\d+)(?:[eE][+\-]?\d+)?"
_RATE = r"[A-Za-zµ][\w.]{0,14}\s?/\s?(?:s|sec|second|min|step|iter|chip|gpu|device|core|token|tok|call|op|req|request)\b(?:\s?/\s?[A-Za-z]\w{0,11})?|TPS\b"
_SIZE = (
    r"(?:[KMGTP]i?B|bytes|GFLOPs?|TFLOPs?(?:/s)?|GB/s|[nµmu]?s|secs?|seconds?|minutes?|min|hours?|h|cycles|[kKM]|pp|dB|bpb|W|J)\b"
)
_UNIT = rf"(?:%|{_RATE}|{_SIZE})"
_CELL = re.compile(rf"^\W{{0,3}}(?P<value>{_NUMBER})(?:\s*(?:±|\+/-)\s*(?P<spread>{_NUMBER}))?\s*(?P<unit>{_UNIT})?")
_RATED = re.compile(_RATE)
_OTHER_RATE = re.compile(rf"(?<![\w.,])({_NUMBER})\s*({_RATE})")
_UNIT_BRACKETED = re.compile(rf"[(\[]\s*({_UNIT})[^)\]]*[)\]]")
_UNIT_LAST = re.compile(rf"(?:^|[\s_])({_UNIT})\s*$")
_PER = re.compile(rf"(?P<value>{_NUMBER})\s*/\s*(?P<per>[a-z]+)\b")
_RULER = re.compile(r"^\s*\|?[\s:|\-]*-[\s:|\-]*\|?\s*$")
_SPACES = re.compile(r"\s+")

# Words that say how a value was taken, not what was measured.
_HOW = frozenset(
    [
        "steady",
        "state",
        "mean",
        "avg",
        "average",
        "averaged",
        "reported",
        "measured",
        "total",
        "aggregate",
        "aggregated",
        "global",
        "overall",
        "per",
        "median",
        "nominal",
        "trainer",
        "estimate",
        "est",
        "approx",
        "approximate",
        "typical",
        "best",
        "final",
        "value",
        "observed",
        "result",
        "actual",
        "raw",
        "our",
        "this",
        "run",
        "the",
        "of",
        "in",
        "worker",
        "summary",
        "profiled",
        "wall-clock",
    ]
)
_OTHERS = re.compile(
    r"^(?:Δ|delta|diff|change|vs\b|vs\.|gain|speed-?up|ratio|notes?|comment|comments|remarks?|status|verdict|reference|ref|"
    r"unit|units|target|goal|"
    r"expected|predicted|baseline|base|before|parent|prior|previous|old|control|loss descent)\b",
    re.IGNORECASE,
)
_OWN = re.compile(
    r"^(?:this (?:run|exp\w*|page)|ours?|new|result|results|value|measured|after|candidate|treatment|now|patched|optimi[sz]ed)\b",
    re.IGNORECASE,
)
_FOREIGN = re.compile(
    r"(?:\b(?:vs\.?|versus|than|from|above|below|over|against|exceeds?|exceeded|beats?|beat|baseline|frontier|"
    r"compared (?:with|to)|expected|predicted|"
    r"target|toward|best|parent|reference|of the|was)|[\w]'s|[≤≥<>~→(])\s*(?:the\s+|of\s+|a\s+|at\s+)?$",
    re.IGNORECASE,
)


def metrics_of(page: Page, lines: list[str], stretches: list[tuple[int, int]]) -> tuple[Metric, ...]:
    """Metrics that a page reports for its own run: those its front matter states, as they stand there, else those that its
    text shows.

    In text the first reading of a name counts. `stretches` are the line ranges of results and verdict; a page without them is
    read whole.
    """
    stated = tuple(_front(page))
    if stated:
        return stated
    found: dict[str, Metric] = {}
    own = _own_label(page)
    fenced = {line for a, b in page.fences for line in range(a, b)}
    readings: list[list[Metric]] = []
    for start, end in stretches or [(page.body_line, len(lines) + 1)]:
        body = [(n, lines[n - 1]) for n in range(start, min(end, len(lines) + 1)) if n not in fenced]
        tables, rest = _split(body)
        readings.extend(list(_table(rows, own)) for rows in tables)
        readings.append(list(_sentences(rest)))
    if not any(readings):
        first = next((s.start for s in page.sections if s.level > 1), len(lines) + 1)
        readings.append(list(_sentences(_split(list(enumerate(lines[page.body_line - 1 : first - 1])))[1])))
    tokens = any("tok" in line.lower() for line in lines)
    for metric in (m for reading in readings for m in reading):
        named = _renamed(metric, tokens=tokens)
        if named.name and named.name not in found:
            found[named.name] = named
    return tuple(found.values())


def _front(page: Page) -> Iterable[Metric]:
    stated = page.front.get("metrics")
    for name, value in stated.items() if isinstance(stated, dict) else ():
        said = value if isinstance(value, dict) else {"value": value}
        number, unit = said.get("value"), str(said.get("unit") or "")
        if isinstance(number, str):
            m = _CELL.match(number)
            number, unit = (_float(m["value"]), unit or m["unit"] or "") if m else (None, unit)
        n = said.get("n")
        if (value := to_float(number)) is not None:
            yield Metric(
                name,
                value,
                unit,
                direction_from(said.get("direction")) or direction_of(f"{name} {unit}"),
                n if isinstance(n, int) else None,
                to_float(said.get("stddev")),
            )


# How a table calls a run: `v021`, `v21`, `exp 40`, `#40`, `exp13b`.
_RUN_LABEL = re.compile(
    r"(?<![\w.])(?:v|exp\.?|experiment|run|trial|iter(?:ation)?|#)\s?[-_]?0*(\d++[a-z]*+)(?![\w.]*\d)", re.IGNORECASE
)
_LETTERED = re.compile(r"(\d+)([a-z]{1,2})(?=[-_.]|$)")


def _own_label(page: Page) -> str:
    """The number of this page's own run, with the letter of `exp13b` where the name has one; empty without a number."""
    if not page.number:
        return ""
    number = str(page.number)
    return number + next((m[2] for m in _LETTERED.finditer(page.stem) if m[1].endswith(number)), "")


def _calls(text: str, own: str) -> bool:
    """Whether a text calls the run of this label."""
    return own != "" and any(m[1].lower() == own for m in _RUN_LABEL.finditer(text))


def _split(body: list[tuple[int, str]]) -> tuple[list[list[str]], list[str]]:
    """Pipe tables of some lines, and the other lines."""
    tables: list[list[str]] = []
    rest: list[str] = []
    last = -2
    for number, line in body:
        if line.lstrip().startswith("|"):
            if number != last + 1:
                tables.append([])
            tables[-1].append(line)
            last = number
        else:
            rest.append(line)
    return tables, rest


# A log of one run step by step: its rows are no measures of the run.
_SERIES = re.compile(r"(?:train(?:ing)? )?(?:step|iter\w*|epoch)\b", re.IGNORECASE)


def _table(rows: list[str], own: str) -> Iterable[Metric]:
    if len(rows) < 3 or not _RULER.match(rows[1]):
        return ()
    header, body = cells_of(rows[0]), [cells_of(r) for r in rows[2:] if not _RULER.match(r)]
    if _SERIES.match(plain_text(header[0])) and sum(c[0].strip("*` ").isdigit() for c in body if c) > 2:
        return ()
    names_across = sum(_names_metric(plain_text(c)) for c in header[1:])
    names_down = sum(_names_metric(plain_text(r[0])) for r in body if r)
    if names_down and names_down * max(1, len(header) - 1) >= names_across * max(1, len(body)):
        column = _own_column(header, body, own)
        return (m for r in body if 0 < column < len(r) for m in _measures(plain_text(r[0]), r[column]))
    row = _own_row(body, own) if names_across else None
    return (m for name, cell in zip(header[1:], row[1:], strict=False) for m in _measures(plain_text(name), cell)) if row else ()


def _names_metric(text: str) -> bool:
    return bool(text) and not _OTHERS.match(text) and (direction_of(text) is not None or bool(_RATED.search(text)))


def _own_column(header: list[str], body: list[list[str]], own: str) -> int:
    """Column of this run's values: labelled with its number, called so, bold, or the last that is no comparison; 0 if
    there is none.
    """
    numeric = [c for c in range(1, len(header)) if any(c < len(r) and _CELL.match(plain_text(r[c])) for r in body)]
    labels = {c: plain_text(header[c]) for c in numeric}
    for fits in (
        lambda c: _calls(labels[c], own) and not re.match(r"Δ|delta|vs\b", labels[c], re.IGNORECASE),
        lambda c: _OWN.match(labels[c]),
        lambda c: header[c].startswith("**"),
    ):
        chosen = [c for c in numeric if fits(c)]
        if chosen:
            return chosen[0]
    plain = [c for c in numeric if not _OTHERS.match(labels[c]) and not re.search(r"[Δ%]|\bvs\b", labels[c])]
    workers = [c for c in plain if re.match(r"(?:worker|rank|host|node|gpu|chip)\s*0\b", labels[c], re.IGNORECASE)]
    return (workers or plain[-1:] or [0])[0]


def _own_row(body: list[list[str]], own: str) -> list[str] | None:
    """Row of this run: labelled with its number, called so, the bold one, or the only one."""
    for fits in (
        lambda r: _calls(plain_text(r[0]), own),
        lambda r: _OWN.match(plain_text(r[0])),
        lambda r: r[0].startswith("**"),
        lambda r: any(c.startswith("**") for c in r[1:]),
        lambda r: re.match(r"(?:worker|rank|host|node)\s*0\b", plain_text(r[0]), re.IGNORECASE),
    ):
        chosen = [r for r in body if r and fits(r)]
        if chosen:
            return chosen[-1] if len(chosen) < len(body) or len(body) == 1 else chosen[0]
    return body[0] if len(body) == 1 else None


def _measures(name: str, cell: str) -> Iterable[Metric]:
    """Measures of one named cell: its first number, and `(6,299/chip)` beside a rate."""
    text = plain_text(cell[:_LONGEST])
    m = _CELL.match(text)
    if not m or not _names_metric(name) or re.match(r"\s*(?:→|->|–\s*\d|-\s?\d|\.\.)", text[m.end() :]) or text[0] in "≤≥<>":
        return
    unit = m["unit"] or _unit_in(name)
    if unit == "pp" or unit == "%" and text.lstrip("*~ ")[:1] in "+−-":
        return
    yield _metric(name, _float(m["value"]), unit, _float(m["spread"]) if m["spread"] else None)
    rest = text[m.end() :]
    per = _PER.search(rest)
    if per and "/" in unit:
        yield _metric(f"{unit}/{per['per']}", _float(per["value"]), f"{unit}/{per['per']}")
    for other in _OTHER_RATE.finditer(rest):
        if not _FOREIGN.search(rest[: other.start()].replace("(", "")):
            yield _metric(other[2], _float(other[1]), other[2])


def _unit_in(name: str) -> str:
    return (_UNIT_BRACKETED.search(name) or _UNIT_LAST.search(name) or [None, ""])[1]


_QUANTITY = re.compile(
    rf"(?<![\w.,/\-])(?P<value>{_NUMBER})(?:\s*(?:±|"
    rf"\+/-)\s*(?P<spread>{_NUMBER}))?\s*(?P<unit>{_UNIT})(?P<after>\s+[A-Za-z][\w\-]*)?"
)
_NAMED = re.compile(
    rf"(?:^|(?<=[\s(;,]))(?P<name>[A-Za-z][\w\-/]*(?: [a-z][\w\-]*)?)(?P<sign>\s*[:=]\s*|"
    rf"\s+)(?:{_NUMBER}\s*{_UNIT}?\s*(?:→|->)\s*)?(?P<value>{_NUMBER})\s*(?P<unit>{_UNIT})?(?![\w.×x])"
)
_BEFORE = re.compile(
    r"(?:^|[\s(*`])((?:[A-Za-z][\w\-]*\s){0,2}[A-Za-z][\w\-]*)\s*(?:\([^)]*\))?\s*(?:[:=]|is|was|of|at|"
    r"stabili[sz]ed (?:around|at|near))?\s*[~≈*`]*$"
)


# A longer line is data, not a sentence; what a figure is about stands close before it.
_LONGEST, _NEAR = 4000, 120


_DIGIT = re.compile(r"\d")
_COMPARISON = re.compile(r"compared|versus|vs\b|delta|relative|against|best valid|expected|predicted", re.IGNORECASE)


def _sentences(lines: list[str]) -> Iterable[Metric]:
    """Measures in prose and bullets: a rate names itself; a share or a time needs the name of what it measures beside it."""
    for line in lines:
        text = plain_text(line.strip().lstrip("#->*+ ")[:_LONGEST])
        if not _DIGIT.search(text) or _COMPARISON.match(text):
            continue
        for m in _NAMED.finditer(text):
            name, before = m["name"], text[max(0, m.start() - _NEAR) : m.start()]
            # `scoped_limit=96` is a setting; a measure that is spelled so has its own line or colon.
            strong = name.isupper() or m["sign"].strip() and not ("_" in name and "=" in m["sign"])
            if (
                strong
                and direction_of(name)
                and text[m.start("value")] not in "+−-"
                and not _FOREIGN.search(before)
                and (m["unit"] or "/" not in name)
            ):
                yield _metric(name, _float(m["value"]), m["unit"] or "")
        for m in _QUANTITY.finditer(text):
            before = text[max(0, m.start() - _NEAR) : m.start()]
            if _FOREIGN.search(before) or text[m.start()] in "+−" or re.match(r"\s*(?:→|->)", text[m.end("unit") :]):
                continue
            unit = _SPACES.sub("", m["unit"])
            after, beside = (m["after"] or "").strip(), _BEFORE.search(before)
            if _RATED.fullmatch(unit):
                name = unit
            elif unit == "%" and after and direction_of(after):
                name = after
            elif beside and direction_of(beside[1]):
                name = beside[1]
            elif unit == "%" and re.match(r"\s+(?:nominal|reported|estimated)\s+(\w+)", text[m.end("unit") :]):
                name = text[m.end("unit") :].split()[1]
            else:
                continue
            yield _metric(name, _float(m["value"]), unit, _float(m["spread"]) if m["spread"] else None)


def _metric(name: str, value: float, unit: str = "", spread: float | None = None) -> Metric:
    scale = _SCALES.get(unit, 1.0)
    return Metric(
        name, value * scale if math.isfinite(value) else None, "" if unit in _SCALES else unit, stddev=spread and spread * scale
    )


_SCALES = {"k": 1e3, "K": 1e3, "M": 1e6}
_SECONDS = {"s": 1e3, "sec": 1e3, "secs": 1e3, "second": 1e3, "seconds": 1e3, "ms": 1.0, "us": 1e-3, "µs": 1e-3, "ns": 1e-6}


def _renamed(metric: Metric, *, tokens: bool) -> Metric:
    """A metric under the name that pages of one wiki share: rates by their unit, shares by their word, times in ms and
    without how they were taken.
    """
    unit = re.sub(r"\b(?:sec|second)\b", "s", _SPACES.sub("", metric.unit))
    name = re.sub(r"\([^)]*\)|\[[^\]]*\]", " ", metric.name)
    value, spread = metric.value, metric.stddev
    words = [w for w in words_of(name.replace("%", " ")) if w not in _HOW]
    rate = _RATED.search(f"{unit} {metric.name}")
    if tokens and "tps" in (words[-1:] + [unit.lower()]):
        label = unit = "tok/s/chip" if {"chip", "device"} & set(words) else "tok/s"
    elif rate and (_RATED.fullmatch(unit) or not unit) and direction_of(name) != "lower":
        label = unit = (
            re.sub(r"\b(?:sec|second)\b", "s", _SPACES.sub("", rate[0].lower()))
            .replace("tokens/", "tok/")
            .replace("token/", "tok/")
        )
        if "/s" in unit and unit.count("/") == 1 and re.search(r"(?:/|\bper)[ -]?(chip|gpu|device|core)\b", name):
            label = unit = f"{unit}/{re.search(r'(?:/|per)[ -]?(chip|gpu|device|core)', name)[1]}"
        elif unit.count("/") == 1 and (found := re.search(r"\bper[- ](chip|gpu|device|core)\b", metric.name, re.IGNORECASE)):
            label = unit = f"{unit}/{found[1].lower()}"
    else:
        label = " ".join(w for w in words if w not in _SECONDS or len(words) == 1)
        in_name = next((w for w in reversed(words) if w in _SECONDS), "")
        unit = unit or in_name
        if unit in _SECONDS:
            value = None if value is None else round(value * _SECONDS[unit], 9)
            spread = None if spread is None else round(spread * _SECONDS[unit], 9)
            unit = "ms"
            label = label if direction_of(label) else f"{label} time".strip()
    return Metric(label, value, unit, direction_of(unit if "/" in unit else label) or direction_of(label), stddev=spread)


def _float(text: str) -> float:
    return float(text.replace(",", "").replace("−", "-"))
