"""A page as its record declares it: what somebody read and quoted goes before what patterns make of the text."""

import os
from collections.abc import Iterable
from dataclasses import replace
from pathlib import PurePosixPath

from kb import grouped
from kb.page import LARGEST, Page, text_of
from kb.run.record import Metric
from kb.source import PageRecord, StandingRecord, filed_record, path_of_record
from kb.store import Layout
from kb.trail.metric_names import renamed


def with_record(
    page: Page, layout: Layout, data: bytes
) -> tuple[Page, Page, StandingRecord | None]:
    """The page of these bytes as one that tells of a run, where its owner's kb.toml says so of its path or the record on file of it does;
    the same page with what the record declares; and what stands of the record.
    """
    if any(PurePosixPath(page.path).match(pattern) for pattern in layout.config.runs):
        page = replace(page, labels=(*page.labels, "concluded"))
    on_file = os.path.exists(os.path.join(layout.root, path_of_record(page.path)))
    if not (filed := filed_record(layout, page.path) if on_file else None):
        return page, page, None
    # Loaded late: of few pages a reading is on file, and what looks for quotes takes long to load.
    from kb.source.standing import standing
    from kb.trail.page_facts import read_facts

    text, ruled = text_of(data[:LARGEST]), None
    if page.type == "experiment" and filed.digest != page.digest:
        ruled = read_facts(page, text, layout.config.verdicts).verdict.canonical
    read = standing(filed, text, page.digest, ruled=ruled)
    if read.record.verdict and not page.field("type"):
        page = replace(page, front={**page.front, "type": "experiment"})
    return page, declared(page, read.record), read


def runs_among(pages: Iterable[Page]) -> tuple[str, ...]:
    """Patterns of pages that stand in one folder, or have one name in its folders, where most tell of a run and the
    others say nothing of what they are, and none tells of several.
    """
    groups = grouped(
        (pattern, "many" if "many" in page.labels else page.type)
        for page in pages
        if page.type in ("experiment", "page", "observation")
        for pattern in (
            f"{page.folder}/*.md",
            f"{page.folder.rpartition('/')[0]}/*/{page.stem}.md",
        )
    )
    return tuple(
        sorted(
            pattern
            for pattern, group in groups.items()
            if len(group) >= _FEWEST
            and len(group) < 2 * group.count("experiment") < 2 * len(group)
            and "many" not in group
        )
    )


def declared(page: Page, record: PageRecord) -> Page:
    """The page as if it declared what its record says, wherever it declares nothing itself."""
    moved = [v for v in record.levers if v.role == "moved"]
    tokens = any("tok" in f"{m.unit} {m.quote}".lower() for m in record.metrics)
    shared = [
        renamed(Metric(m.name, m.value, m.unit), tokens=tokens) for m in reversed(record.metrics)
    ]
    front: dict[str, object] = dict(
        # One word would be the name of a hypothesis page.
        hypothesis=record.what * (" " in record.what),
        verdict=record.verdict,
        levers=[] if page.words("lever") else [f"{v.name}={v.after}".rstrip("=") for v in moved],
        metrics=dict((m.name, dict(value=m.value, unit=m.unit)) for m in shared),
        because=record.because.text if record.because else "",
    )
    front.update((name, value) for name, value in page.front.items() if value not in _EMPTY)
    return replace(page, front=dict((n, v) for n, v in front.items() if v not in _EMPTY))


# Fewer pages are no habit.
_FEWEST = 4
_EMPTY = (None, "", [], {})
