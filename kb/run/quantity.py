"""One number of a log with its spread and unit: `**67.04 ± 0.19 t/s**`, `−6.0`, `1,234.5`. Refuses ranges, roundings (`~49`) and sentinels."""

import math

from kb.run.direction import Direction
from kb.run.record import Outcome
from kb.text.numbers import Number, bare, number_of, number_text

__all__ = [
    "bare",
    "is_sentinel",
    "number_text",
    "to_float",
    "to_quantity",
    "unit_beside",
]


def to_quantity(text: str) -> Number | None:
    """The number that a cell states with its spread and unit, or None where it is no plain finite one."""
    number = number_of(text) if len(text) < 400 else None
    plain = number and not (number.about or number.bound or number.high is not None)
    return number if plain else None


def to_float(value: object) -> float | None:
    """A finite number of a JSON value; numbers in strings are read too, booleans are none."""
    if isinstance(value, str):
        quantity = to_quantity(value)
        return quantity.value if quantity else None
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return float(value) if abs(value) < 1e300 and math.isfinite(value) else None


def unit_beside(name: str, unit: str) -> str:
    """A unit as it stands behind a value; empty where the metric's name says it already (`time_ms`, `tok/s/chip`)."""
    named = name == unit or name.endswith((*(f"{mark}{unit}" for mark in "_- ("), f"({unit})"))
    return "" if named else unit


_NINES = frozenset(float("9" * n) for n in range(3, 13))


def is_sentinel(
    value: float, *, outcome: Outcome | None, direction: Direction | None, counted: bool
) -> bool:
    """Whether a number stands for "not measured".

    On a crashed row 0 and ±999… are; on any row that was not kept −999… is, and 0 is unless the
    metric counts something (`counted`), because no time, loss or rate of a finished run is exactly 0.
    On a kept row only an impossible 0 is.
    """
    nines = abs(value) in _NINES
    if outcome is Outcome.CRASHED:
        return value == 0 or nines
    if outcome is not Outcome.KEPT and nines and value < 0:
        return True
    return value == 0 and direction is not None and not counted
