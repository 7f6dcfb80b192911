"""What a run changed, in figures that its own page or its parent's states, and how large that is. Refuses to show a figure that it computed."""

import re

from kb.run.noise import gain_of
from kb.run.quantity import number_text
from kb.schema import Verdict
from kb.trail import Facts

_SIGNED = re.compile(r"(?<![\w.])([+\-−–])\s?~?(\d+(?:\.\d+)?)\s?(%|pp|×|x\b)")
# A change as pages state it, with its size to compare by: relative and positive where better (0.05 is 5 %), None where nobody can tell.
Change = tuple[str, float | None]


def run_row(e: Facts, parent: Facts | None) -> dict:
    """What the indexes say of a run: path, title, target, date, verdict, whether its loop kept it, and the change it reports, with its size.

    Kept is what the loop built on although no verdict supports it: mostly a run whose noise nobody measured.
    """
    undecided = not e.failed and e.verdict.canonical not in (Verdict.SUPPORTED, Verdict.BASELINE)
    change = _signed(e.title) or _beside(e, parent) or _signed(e.because[:400]) or ("", None)
    return {
        "path": e.path,
        "title": e.title,
        "target": e.target,
        "date": e.date,
        "verdict": e.verdict.canonical,
        "kept": e.decision == "keep" and undecided,
        "change": change[0],
        "size": change[1],
    }


def paid(row: dict) -> bool:
    """Whether a run paid off: supported, or kept by its loop although no rule supports it."""
    return row["verdict"] == Verdict.SUPPORTED or row["kept"]


def _signed(text: str) -> Change | None:
    match = _SIGNED.search(text)
    if not match:
        return None
    sign = "+" if match[1] == "+" else "-"
    share = float(match[2]) - 1 if match[3] in "×x" else float(match[2]) / 100
    return f"{sign}{match[2]} {match[3]}", share if sign == "+" else -share


def _beside(e: Facts, parent: Facts | None) -> Change | None:
    """The primary metric beside the parent's; where the page calls none so, the first that differs from it."""
    for metric in e.metrics if parent else ():
        value, other = metric.value, parent.metric(metric.name)
        before = other.value if other and other.unit == metric.unit else None
        if value is None or before is None:
            continue
        if metric.name == e.primary or not e.primary and value != before:
            text = f"{metric.name} {number_text(before)} → {number_text(value)} {metric.unit}"
            way = metric.direction
            return text.rstrip(), gain_of(value, before, direction=way) if way else None
    return None
