"""Every file of `indexes/`, put together from graph, trail and notes."""

from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase

from kb.graph import Graph
from kb.indexes.blueprint import blueprint_files
from kb.indexes.notes import Notes
from kb.indexes.render import (
    Material,
    catalog_files,
    profile_files,
    readings_by_topic,
    topic_files,
    topic_row,
)
from kb.indexes.states import state_files
from kb.indexes.topics import topics_of
from kb.store import Config, Kept, value_of
from kb.trail import Relatives, Trail

_LEADS = {
    "hypothesis": (
        "What this wiki knows and has tried, by topic. A topic is a concept that runs pull, and what the wiki ties to it by words, links and "
        "tags; kept are runs that their loop built on although no verdict supports them."
    ),
    "scope": "Topics among the pages that `[scopes]` in kb.toml names.",
}


@dataclass(frozen=True, slots=True)
class Compiled:
    """Every file of `indexes/` but the refuted lists, by path below it; and what slices look up in them."""

    files: dict[str, bytes]
    topics: list[dict]
    phases: list[list[str]]
    readings: list[dict]


def compiled(
    graph: Graph,
    trail: Trail,
    relatives: Relatives,
    notes: Iterable[tuple[str, bytes]],
    *,
    config: Config,
    kept: Kept,
) -> Compiled:
    """All that follows from graph, trail and notes; what its inputs left as it was is taken from `kept`."""
    notes_of_pages = {p: value_of(row, Notes) for p, row in notes}
    material = Material(graph, trail, notes_of_pages, {e.path: e for e in trail.experiments}, kept)
    topics = topics_of(graph, trail, kept)
    rows = [topic_row(topic, material) for topic in topics]
    readings = readings_by_topic(topics, material)
    blueprint, phases = blueprint_files(topics, material)
    files = {
        **topic_files(
            "hypothesis", "Hypothesis index", topics, rows, material, lead=_LEADS["hypothesis"]
        ),
        **profile_files(readings),
        **blueprint,
        **catalog_files(material),
        **state_files(trail, relatives, kept),
    }
    for name, patterns in sorted(config.scopes.items()):
        own = topics_of(graph, trail, kept, name=name, only=_pages_in(graph, patterns))
        title = f"{name} index"
        files |= topic_files(
            name, title, own, [topic_row(t, material) for t in own], material, lead=_LEADS["scope"]
        )
    return Compiled(files, rows, phases, readings)


def _pages_in(graph: Graph, patterns: Iterable[str]) -> frozenset[str]:
    """Pages that one of the patterns names: a glob on the path (`*` crosses `/`), or `tag:NAME`."""
    wanted = tuple(patterns)
    return frozenset(
        path
        for path, page in graph.pages.items()
        if any(
            w.removeprefix("tag:") in page.words("tags")
            if w.startswith("tag:")
            else fnmatchcase(path, w)
            for w in wanted
        )
    )
