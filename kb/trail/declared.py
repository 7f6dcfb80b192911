"""A page as its record declares it: what somebody read and quoted goes before what patterns make of the text."""

from dataclasses import replace
from typing import TYPE_CHECKING

from kb.page import Page
from kb.run.record import Metric
from kb.trail.figures import renamed

if TYPE_CHECKING:
    from kb.source import PageRecord


def declared(page: Page, record: "PageRecord") -> Page:
    """The page as if it declared what its record says, wherever it declares nothing itself."""
    said: dict[str, object] = {}
    metrics: dict[str, object] = {}
    if record.verdict:
        said["verdict"] = record.verdict
    moved = [
        f"{lever.name}={lever.after}" if lever.after else lever.name
        for lever in record.levers
        if lever.role == "moved"
    ]
    if moved and not page.words("lever"):
        said["levers"] = moved
    if record.metrics:
        tokens = any("tok" in f"{m.unit} {m.quote}".lower() for m in record.metrics)
        said["metrics"] = metrics
        for stated in record.metrics:
            shared = renamed(Metric(stated.name, stated.value, stated.unit), tokens=tokens)
            metrics.setdefault(shared.name, {"value": shared.value, "unit": shared.unit})
    if record.because:
        said["because"] = record.because.text
    return replace(
        page,
        front={
            **said,
            **{
                name: value for name, value in page.front.items() if value not in (None, "", [], {})
            },
        },
    )
