"""Every file of `indexes/`, put together from graph, trail and notes."""

from collections.abc import Iterable
from fnmatch import fnmatchcase

from kb.graph import Graph
from kb.indexes.blueprint import blueprint_files
from kb.indexes.notes import Notes
from kb.indexes.render import Material, catalog_files, profile_files, topic_files
from kb.indexes.states import state_files
from kb.indexes.topics import topics_of
from kb.store import Config, Kept, value_of
from kb.trail import Trail

_LEADS = {
    "hypothesis": (
        "What this wiki knows and has tried, by topic. A topic is a concept that runs pull, and what the wiki ties to it by words, links and "
        "tags; kept are runs that their loop built on although no verdict supports them."
    ),
    "scope": "Topics among the pages that `[scopes]` in kb.toml names.",
}


def files_of(graph: Graph, trail: Trail, notes: Iterable[tuple[str, bytes]], *, config: Config, kept: Kept) -> dict[str, bytes]:
    """Every file of `indexes/` but the refuted lists, by path below it."""
    material = Material(graph, trail, {p: value_of(row, Notes) for p, row in notes}, {e.path: e for e in trail.experiments}, kept)
    topics = topics_of(graph, trail, kept)
    files = {
        **topic_files("hypothesis", "Hypothesis index", topics, material, lead=_LEADS["hypothesis"]),
        **profile_files(topics, material),
        **blueprint_files(topics, material),
        **catalog_files(material),
        **state_files(trail, kept),
    }
    for name, patterns in sorted(config.scopes.items()):
        own = topics_of(graph, trail, kept, only=_pages_in(graph, patterns))
        files |= topic_files(name, f"{name} index", own, material, lead=_LEADS["scope"])
    return files


def _pages_in(graph: Graph, patterns: Iterable[str]) -> frozenset[str]:
    """Pages that one of the patterns names: a glob on the path (`*` crosses `/`), or `tag:NAME`."""
    wanted = tuple(patterns)
    return frozenset(
        path
        for path, page in graph.pages.items()
        if any(w.removeprefix("tag:") in page.words("tags") if w.startswith("tag:") else fnmatchcase(path, w) for w in wanted)
    )

