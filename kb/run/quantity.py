"""Numbers as people write them in logs: `**67.04 ± 0.19 t/s**`, `−6.0`, `1,234.5`, `84.50%`. Refuses ranges, roundings (`~49`) and `47.x`."""

import math
import re
from dataclasses import dataclass

from kb.text.numbers import bare, number_text

__all__ = ["Quantity", "bare", "number_text", "to_float", "to_quantity", "unit_beside"]

_NUMBER = r"[+\-−]?(?:\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?|\.\d+)(?:[eE][+\-]?\d+)?"
_QUANTITY = re.compile(
    rf"({_NUMBER})(?:\s*(?:±|\+/-|\+-)\s*({_NUMBER}))?\s*(%{{1,2}}|(?!x\d)[A-Za-zµμ][\w/µμ·²]{{0,15}}(?:\s?/\s?[a-z]+)?)?$"
)
_SCALES = {"k": 1e3, "K": 1e3, "M": 1e6}


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number with the spread and unit that were written beside it."""

    value: float
    stddev: float | None = None
    unit: str = ""


def to_quantity(text: str) -> Quantity | None:
    """The quantity that a cell states, or None where it is no plain finite number."""
    match = _QUANTITY.match(bare(text))
    if not match:
        return None
    unit = (match[3] or "").replace("%%", "%").strip()
    scale = _SCALES.get(unit, 1.0)
    value = _float(match[1]) * scale
    spread = _float(match[2]) * scale if match[2] else None
    if not math.isfinite(value) or spread is not None and not math.isfinite(spread):
        return None
    return Quantity(value, spread, "" if unit in _SCALES else unit)


def to_float(value: object) -> float | None:
    """A finite number of a JSON value; numbers in strings are read too, booleans are none."""
    if isinstance(value, bool):
        return None
    if isinstance(value, (int, float)):
        return float(value) if abs(value) < 1e300 and math.isfinite(value) else None
    if isinstance(value, str):
        quantity = to_quantity(value)
        return quantity.value if quantity else None
    return None


def unit_beside(name: str, unit: str) -> str:
    """A unit as it stands behind a value; empty where the metric's name says it already (`time_ms`, `tok/s/chip`)."""
    return "" if name == unit or name.endswith(tuple(f"{mark}{unit}" for mark in "_- (")) or name.endswith(f"({unit})") else unit


def _float(text: str) -> float:
    return float(text.replace(",", "").replace("−", "-"))
