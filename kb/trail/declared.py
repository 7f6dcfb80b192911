"""A page as its record declares it: what somebody read and quoted goes before what patterns make of the text."""

from dataclasses import replace
from typing import TYPE_CHECKING

from kb.page import Page

if TYPE_CHECKING:
    from kb.source import PageRecord


def declared(page: Page, record: "PageRecord") -> Page:
    """The page as if it declared what its record says, wherever it declares nothing itself."""
    said: dict[str, object] = {}
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
        said["metrics"] = {m.name: {"value": m.value, "unit": m.unit} for m in record.metrics}
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
