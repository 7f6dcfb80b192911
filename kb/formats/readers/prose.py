"""A journal in prose: imports as text. Refuses to find runs in sentences."""

from collections.abc import Iterator
from pathlib import Path

from kb.formats.reading import Ask, Remark, Segment
from kb.formats.registry import Event, LogFormat


def read(path: Path, ask: Ask) -> Iterator[Event]:
    """No runs, and a remark that says so."""
    yield Segment(
        0, 1, direction=ask.direction, source="asked" if ask.direction else "", judged=False
    )
    yield Remark(f"{path.name} is text without runs; keep it below sources/, and write from it")


FORMATS = (
    LogFormat("prose", lambda path, head: False, read, order=99, aliases=("prose-log", "text")),
)
