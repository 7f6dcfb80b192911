"""Captured sources as the site shows them: read from their folders, their texts cut into sections and
diffs into hunks, what forks have that others lack. Refuses to render, and to fail for one that is
damaged: it says so.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile

from kb import KbError, grouped
from kb.claims.filed import Claim, claims_in
from kb.research.forks import Fork, fork_of_source, matrix_of
from kb.site.links import name_of
from kb.source import Source, damaged_sources, sources, text_of_source, visible
from kb.store import Layout

FOLDER = "captured"
# Of a longer text the rest stays in its file.
_MOST_SHOWN = 400_000
# Lines of a matrix that a person reads; the best forks come first.
_MOST_ROWS = 600
_HUNK = re.compile(r"^(?=@@ )", re.MULTILINE)
_DIFF = "Diff of "
_LINE_KINDS = {"+": "kb-added", "-": "kb-removed"}

# Where a hunk stands, and its lines, each with its kind.
Hunk = tuple[str, tuple[tuple[str, str], ...]]


@dataclass(frozen=True, slots=True)
class CapturedSection:
    """A stretch of a captured text: its title, and the text, or, of a diff, its hunks."""

    title: str
    text: str
    hunks: tuple[Hunk, ...] = ()


@dataclass(frozen=True, slots=True)
class Captures:
    """Sources on file with the claims that rest on each, and why others could not be read."""

    sources: tuple[Source, ...]
    claims: Mapping[str, Sequence[Claim]]
    faults: tuple[str, ...]


def place_of_source(id: str) -> str:
    """Where a source stands in the site."""
    return f"{FOLDER}/{name_of(id).lower()}.html"


def captures_of(layout: Layout) -> Captures:
    """What is on file below `sources/`."""
    faults = list(damaged_sources(layout))
    claims: dict[str, list[Claim]] = {}
    try:
        claims = grouped((c.source.rpartition("/")[2], c) for c in claims_in(layout))
    except KbError as error:
        faults.append(str(error))
    return Captures(tuple(sources(layout)), claims, tuple(faults))


def text_of_capture(layout: Layout, source: Source) -> tuple[str, str]:
    """The text of a source and, where it has none to show, why."""
    if not source.text:
        return "", "Its text is not kept here; the digest says which text was read."
    try:
        return text_of_source(layout, source), ""
    except (KbError, OSError, UnicodeDecodeError) as error:
        return "", str(error)


def sections_of(source: Source, text: str) -> Iterator[CapturedSection]:
    """The sections of a text; what stands before the first of them is one too."""
    # A heading begins its line: what was captured may stand a few signs from where it was counted.
    heads = [(text.rfind("\n", 0, start) + 1, title) for title, start in source.sections]
    starts = [(0, ""), *heads]
    ends = [*(start for start, _ in starts[1:]), len(text)]
    shown = 0
    for (start, title), end in zip(starts, ends, strict=True):
        part = text[start:end].strip("\n")[: max(0, _MOST_SHOWN - shown)]
        shown += len(part)
        if part:
            hunks = _hunks(part) if title.startswith(_DIFF) else ()
            yield CapturedSection(visible(title), "" if hunks else visible(part), hunks)


def _hunks(part: str) -> tuple[Hunk, ...]:
    """The hunks of a captured diff without the fence around it: no line of a diff begins as a fence does."""
    hunks = []
    for where, *rest in (hunk.rstrip("\n").split("\n") for hunk in _HUNK.split(part)[1:]):
        rows = takewhile(lambda row: not row.startswith("```"), rest)
        shown = tuple((_LINE_KINDS.get(row[:1], ""), visible(row)) for row in rows)
        hunks.append((visible(where), shown))
    return tuple(hunks)


def matrices_of(layout: Layout, captured: Sequence[Source]) -> list[dict[str, object]]:
    """For each repository whose forks were read: its forks, best first, the place of each, and rows of
    (name, who has it, who lacks it).
    """
    readings: dict[str, dict[str, tuple[Fork, str]]] = defaultdict(dict)
    for source in captured:
        if fork := fork_of_source(layout, source):
            place = place_of_source(source.id)
            readings[source.origin.partition("#")[0]][fork.fork] = fork, place
    matrices = []
    for repository, read in sorted(readings.items()):
        forks = sorted((fork for fork, _ in read.values()), key=lambda f: (-f.score, f.fork))
        places = {name: place for name, (_, place) in read.items()}
        rows = matrix_of(forks, "upstream")[:_MOST_ROWS]
        shows = {"repository": repository, "forks": forks, "places": places, "rows": rows}
        matrices.append(shows)
    return matrices
