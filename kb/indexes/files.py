"""Every file of `indexes/`, put together from graph, trail and notes; and its topics, ladder and readings as tables, so that a slice finds those
that it touches without reading a whole index.
"""

import json
import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase

from kb.graph import Graph
from kb.indexes.blueprint import blueprint_files
from kb.indexes.gains import run_row
from kb.indexes.notes import Notes
from kb.indexes.states import state_files
from kb.indexes.topic_files import (
    Material,
    catalog_files,
    profile_files,
    readings_by_topic,
    topic_files,
    topic_row,
)
from kb.indexes.topics import topics_of
from kb.store import Config, Kept, replace_rows, value_of
from kb.trail import Relatives, Trail

TABLES = (
    "create table topic (anchor text primary key, name text not null, row text not null) without rowid",
    "create table topic_page (path text not null, anchor text not null, primary key (path, anchor)) without rowid",
    "create table ladder (phase integer primary key, row text not null)",
    "create table reading (number integer primary key, path text not null, anchor text not null, section text not null, topic text not null, text text not null)",
    "create index reading_path on reading (path)",
)
# Topics of a phase that a ladder tells; a large wiki has hundreds.
_LEADING = 12
_ABOUT_ALL = (
    "What this wiki knows and has tried, by topic. A topic is a concept that runs pull, and what the wiki ties to it by words, links and "
    "tags; kept are runs that their loop built on although no verdict supports them."
)
_ABOUT_SCOPE = "Topics among the pages that `[scopes]` in kb.toml names."


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
    facts = {e.path: e for e in trail.experiments}
    runs = {path: run_row(e, facts.get(e.parent)) for path, e in facts.items()}
    material = Material(graph, notes_of_pages, facts, runs, kept)
    topics = topics_of(graph, trail, kept)
    rows = [topic_row(topic, material) for topic in topics]
    readings = readings_by_topic(topics, material)
    blueprint, phases = blueprint_files(topics, material)
    files = {
        **topic_files("hypothesis", "Hypothesis index", rows, material, lead=_ABOUT_ALL),
        **profile_files(readings),
        **blueprint,
        **catalog_files(material),
        **state_files(trail, relatives, kept),
    }
    for name, patterns in sorted(config.scopes.items()):
        own = topics_of(graph, trail, kept, name=name, only=_pages_in(graph, patterns))
        scoped = [topic_row(topic, material) for topic in own]
        files |= topic_files(name, f"{name} index", scoped, material, lead=_ABOUT_SCOPE)
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


def save(db: sqlite3.Connection, compiled: Compiled) -> None:
    """Write down what slices look up."""
    # What no run pulls tells a loop nothing of what was tried; before the first run it is all there is.
    topics = [t for t in compiled.topics if t["experiments"]] or compiled.topics
    about = ("path", "verdict", "target", "change", "title", "size")
    readings = [(t["name"], r) for t in compiled.readings for r in t["readings"]]
    rows = {"topic": [], "topic_page": []}
    for t in topics:
        row = {"hub": t["hub"], "tried": [[e[key] for key in about] for e in t["experiments"]]}
        rows["topic"].append((t["anchor"], t["name"], json.dumps(row)))
        rows["topic_page"] += ((of["path"], t["anchor"]) for of in (*t["pages"], *t["experiments"]))
    rows["ladder"] = ((n, json.dumps(own[:_LEADING])) for n, own in enumerate(compiled.phases, 1))
    rows["reading"] = (
        (n, r["path"], r["anchor"], r["section"], name, r["text"])
        for n, (name, r) in enumerate(readings, 1)
    )
    for table, some in rows.items():
        replace_rows(db, table, some)
