"""A page as its record declares it: what somebody read and quoted goes before what patterns make of the text."""

from dataclasses import replace
from typing import TYPE_CHECKING

from kb.page import Page
from kb.run.record import Metric
from kb.trail.metric_names import renamed

if TYPE_CHECKING:
    from kb.source import PageRecord


def declared(page: Page, record: "PageRecord") -> Page:
    """The page as if it declared what its record says, wherever it declares nothing itself."""
    moved = [v for v in record.levers if v.role == "moved"]
    tokens = any("tok" in f"{m.unit} {m.quote}".lower() for m in record.metrics)
    shared = [
        renamed(Metric(m.name, m.value, m.unit), tokens=tokens) for m in reversed(record.metrics)
    ]
    front: dict[str, object] = dict(
        verdict=record.verdict,
        levers=[] if page.words("lever") else [f"{v.name}={v.after}".rstrip("=") for v in moved],
        metrics=dict((m.name, dict(value=m.value, unit=m.unit)) for m in shared),
        because=record.because.text if record.because else "",
    )
    front.update((name, value) for name, value in page.front.items() if value not in _EMPTY)
    return replace(page, front=dict((n, v) for n, v in front.items() if v not in _EMPTY))


_EMPTY = (None, "", [], {})
