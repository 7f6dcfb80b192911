"""What a run changed, in figures that its own page or its parent's states, and how large that is. Refuses to show a figure that it computed."""

import re
from dataclasses import dataclass

from kb.run.noise import gain_of
from kb.run.quantity import number_text
from kb.run.record import Metric
from kb.schema import Verdict
from kb.trail import Facts

_SIGNED = re.compile(r"(?<![\w.])([+\-−–])\s?~?(\d+(?:\.\d+)?)\s?(%|pp|×|x\b)")


@dataclass(frozen=True, slots=True)
class Change:
    """`text` as pages state it; `size` to compare by, relative and positive where better (0.05 is 5 %), None where nobody can tell."""

    text: str = ""
    size: float | None = None


def change_of(e: Facts, parent: Facts | None) -> Change:
    """The signed share of the title, else a metric beside the parent's, the primary one first, else the signed share of the verdict."""
    return _signed(e.title) or _beside(e, parent) or _signed(e.because[:400]) or Change()


def paid(e: Facts) -> bool:
    """Whether a run paid off: supported, or kept by its loop although no rule supports it."""
    return e.verdict.canonical is Verdict.SUPPORTED or kept_only(e)


def kept_only(e: Facts) -> bool:
    """Whether the loop built on a run that no verdict supports: mostly one whose noise nobody measured."""
    return (
        e.decision == "keep"
        and not e.failed
        and e.verdict.canonical not in (Verdict.SUPPORTED, Verdict.BASELINE)
    )


def _signed(text: str) -> Change | None:
    match = _SIGNED.search(text)
    if not match:
        return None
    sign = "+" if match[1] == "+" else "-"
    share = float(match[2]) - 1 if match[3] in "×x" else float(match[2]) / 100
    return Change(f"{sign}{match[2]} {match[3]}", share if sign == "+" else -share)


def _beside(e: Facts, parent: Facts | None) -> Change | None:
    """The primary metric beside the parent's; where the page calls none so, the first that differs from it."""
    for metric in e.metrics if parent else ():
        before = parent.metric(metric.name)
        if (
            before is None
            or before.value is None
            or metric.value is None
            or before.unit != metric.unit
        ):
            continue
        if metric.name == e.primary or not e.primary and metric.value != before.value:
            text = f"{metric.name} {number_text(before.value)} → {number_text(metric.value)} {metric.unit}".rstrip()
            return Change(text, _gain(metric, before.value))
    return None


def _gain(metric: Metric, before: float) -> float | None:
    return (
        gain_of(metric.value, before, direction=metric.direction)
        if metric.direction and metric.value is not None
        else None
    )
