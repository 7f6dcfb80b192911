"""Figures of a record as metrics, and times as days. Refuses to take a sentinel for a measurement."""

import math
import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from functools import lru_cache

from kb.formats.reading import Segment
from kb.run.direction import Direction, direction_of, words_of
from kb.run.quantity import Quantity, bare, is_sentinel, to_float, to_quantity
from kb.run.record import Metric, Outcome

# Counts, where 0 is a result one can reach ("failures 0"), unlike a time or a loss.
_COUNTED = (
    *(
        "fail",
        "error",
        "crash",
        "violation",
        "mismatch",
        "miss",
        "stall",
        "spill",
        "conflict",
        "retr",
    ),
    *(
        "timeout",
        "alloc",
        "warning",
        "bug",
        "regress",
        "diff",
        "leak",
        "drop",
        "unmet",
        "issue",
        "todo",
    ),
    *("gap", "remaining"),
)
_SPREAD = ("_stddev", "_std", "_sd", "_stdev")
# A remark that takes the figure before it back.
_TAKEN_BACK = ("estimat", "approx", "theor", "extrapol", "project", "expected", "target", "goal")
_TAKEN_BACK += ("broken", "invalid", "wrong", "garbage", "bogus", "leak", "~")
_PARTS_OF_TIME = {"h": 60.0, "m": 1.0, "s": 1 / 60}
_CLOCK = re.compile(r"(\d+)\s*([hms])[a-z]*\s*")
# `9.31 → 8.70 ms`: what it was and what it came to.
_TURNED = re.compile(r".*\d[^\d→]*?\s*(?:→|->|=>)\s*(?=[\d.+\-−])")
# A comma before other than three digits parts no thousands, and one behind a lone 0 neither.
_DECIMAL_COMMA = re.compile(
    r"(?<![\d.,])(\d{1,3}(?:\.\d{3})*|\d+),(\d{1,2}|\d{4,})(?![\d,]|\.\d)|(?<![\d.,])(0),(\d+)(?![\d,]|\.\d)"
)
_ANY_COMMA = re.compile(r"(?<![\d.,])(\d{1,3}(?:\.\d{3})*|\d+),(\d+)(?![\d,]|\.\d)()()")
_BLANK_THOUSANDS = re.compile(r"(?<=\d)[ \u00a0](?=\d{3}(?!\d))")


def has_decimal_comma(cell: str) -> bool:
    """Whether a comma of a cell can only part the whole from its decimals."""
    return bool(_DECIMAL_COMMA.search(cell[:80]))


def with_points(text: str, *, commas: bool = False) -> str:
    """A text whose numbers have decimal points, where its own form shows that they have commas; `commas`: their column shows it."""
    if "," not in text:
        return text
    pattern = _ANY_COMMA if commas else _DECIMAL_COMMA
    return pattern.sub(lambda m: f"{(m[1] or m[3]).replace('.', '')}.{m[2] or m[4]}", text)


def quantity_of(cell: str, *, commas: bool = False) -> Quantity | None:
    """The quantity of a cell, without a remark or interval in brackets after it, the last one of `a → b`; None where it states no plain number."""
    text = bare(cell)
    if not text or len(text) > 400 or not any(map(str.isdigit, text[:40])):
        return None
    # `35.2s (small) / 760.9s (full)`, `175/+21`: what stands first is the figure.
    text = text.partition(" / ")[0].partition("/+")[0].rstrip("*†")
    if text[-1:] in (")", "]"):
        figure, _, remark = text[:-1].rpartition("(" if text[-1] == ")" else "[")
        if not any(word in remark.lower() for word in _TAKEN_BACK):
            text = figure
    parts = _CLOCK.findall(text[:30])
    if len(parts) > 1 and not _CLOCK.sub("", text):
        return Quantity(sum(int(n) * _PARTS_OF_TIME[unit] for n, unit in parts), None, "min")
    text = _BLANK_THOUSANDS.sub("", _TURNED.sub("", text, count=1))
    return to_quantity(with_points(text, commas=commas))


@lru_cache(4096)
def is_count(name: str) -> bool:
    """Whether a metric counts something that may be none."""
    return any(word in "_".join(words_of(name)) for word in _COUNTED)


def measured(
    name: str,
    quantity: Quantity | None,
    *,
    raw: str,
    outcome: Outcome | None,
    direction: Direction | None,
    unit: str = "",
    primary: bool = False,
) -> Metric:
    """A metric of a row; a sentinel becomes a metric without value that keeps what the log shows."""
    value, spread, unit = (
        (quantity.value, quantity.stddev, quantity.unit or unit) if quantity else (None, None, unit)
    )
    counted = not primary or is_count(name)
    lacks = value is None or math.isnan(value)
    if lacks or is_sentinel(value, outcome=outcome, direction=direction, counted=counted):
        return Metric(name, None, unit, direction, raw=raw)
    return Metric(name, value, unit, direction, stddev=spread)


def metrics_of(
    figures: Mapping[str, object], segment: Segment, *, outcome: Outcome | None
) -> tuple[Metric, ...]:
    """Metrics of a record; `x_stddev` beside `x` is its spread, and what is no number is left out unless it is the primary metric."""
    values = {n: q for n, raw in figures.items() if (q := _figure(raw)) or n == segment.metric}
    spreads = {n: s for n in values for end in _SPREAD if (s := values.get(f"{n}{end}"))}
    values |= {
        n: replace(q, stddev=s.value)
        for n, s in spreads.items()
        if (q := values[n]) and q.stddev is None
    }
    return tuple(
        measured(
            name,
            quantity,
            raw="" if figures[name] is None else str(figures[name]),
            outcome=outcome,
            direction=name == segment.metric and segment.direction or direction_of(name),
            unit=segment.unit if name == segment.metric else "",
            primary=name == segment.metric,
        )
        for name, quantity in values.items()
        if not name.endswith(_SPREAD) or name.rpartition("_")[0] not in spreads
    )


def _figure(raw: object) -> Quantity | None:
    if isinstance(raw, str):
        return quantity_of(raw)
    number = to_float(raw)
    return None if number is None else Quantity(number)


def moment(value: object) -> str:
    """ISO time (UTC where the zone is known) of an epoch in seconds or milliseconds, or of an ISO text; empty where it is neither."""
    if isinstance(value, str):
        text = value.strip()
        whole = text.partition(".")[0]
        if text.replace(".", "", 1).isascii() and text.replace(".", "", 1).isdigit():
            return moment(float(text)) if 9 <= len(whole) <= 13 else ""
        if text[4:5] != "-" or text[7:8] != "-":
            return ""
        try:
            datetime.fromisoformat(text)
        except ValueError:
            return ""
        return text.replace(" ", "T")
    # A number that no clock shows, or a small counter, is no time: 1990 to 2100 is.
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not value < 1e13:
        return ""
    seconds = value / 1000 if value > 1e11 else value
    if not 631_152_000 <= seconds <= 4_102_444_800:
        return ""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
