"""Every file of `indexes/`, put together from graph, trail and notes; and its topics, ladder and readings as tables, so that a slice finds those
that it touches without reading a whole index. Of each target where it stands (`state/<target>.md` and `.json`), in no words but the trail's.
"""

import json
import re
import sqlite3
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import partial

from kb.graph import Graph
from kb.indexes.blueprint import blueprint_files
from kb.indexes.gains import run_row
from kb.indexes.notes import Notes
from kb.indexes.render import file_of_target, href, index_file, rest
from kb.indexes.topic_files import (
    Material,
    catalog_files,
    profile_files,
    readings_by_topic,
    topic_files,
    topic_row,
)
from kb.indexes.topics import topics_of
from kb.store import Config, Kept, digest_of, replace_rows, row_of, to_json, value_of
from kb.trail import Relatives, Trail, name_of
from kb.trail.handles import handle, label_of
from kb.trail.line import Line
from kb.trail.state import STATE_PARTS, state_of
from kb.trail.transfers import Lesson

_LEAD = "Where this target stands by its own runs: what the frontier is set to and which run set it, where its time goes, what failed and what is open."
_HANDLE = re.compile(r"(?<![\w.+-])[\w.+-]++~[0-9a-z]{2}(?!\w)")


def state_files(trail: Trail, relatives: Relatives, kept: Kept) -> dict[str, bytes]:
    """The state of every target with runs, by path below `indexes/`; of a target that nothing new is known of, as it was kept."""
    # Runs without a target are no trail beside those of one, and the only trail where none names one.
    targets = [target for target in trail.by_target if target or len(trail.by_target) == 1]
    lessons, kin = relatives.lessons, relatives.kin
    won = {target: digest_of(row_of(lessons[target])) for target in targets}

    def inputs_of(target: str) -> str:
        # Of a target that is no kin nothing is told but its name.
        others = [
            (
                other,
                kin.get((target, other)),
                won[other] if (target, other) in kin else bool(lessons[other]),
            )
            for other in targets
            if other != target
        ]
        return digest_of(row_of((trail.target_digests[target], others)))

    def parts_of(target: str, *, others: bool) -> dict[str, tuple[Line, ...]]:
        of = [part for part in STATE_PARTS if part.others == others]
        runs, stated = trail.by_target[target], trail.metrics.get(target, "")
        near = {other: kin[target, other] for other in targets if (target, other) in kin}
        return state_of(runs, taught(target), near, target=target, stated=stated, of=of).parts

    def taught(target: str) -> list[Lesson]:
        return [lesson for other in targets if other != target for lesson in lessons[other]]

    def files_of(target: str) -> dict[str, bytes]:
        paths = {handle(e.path): e.path for e in (*taught(target), *trail.by_target[target])}
        return _files_of(target, own[target] | parts_of(target, others=True), paths)

    # Most of a state is the target's own, whatever the runs of its kin bring.
    teaching = [target for target in targets if lessons[target]]
    known = {
        target: digest_of(row_of((trail.target_digests[target], teaching))) for target in targets
    }
    own = kept.each(
        "own state", known, dict[str, tuple[Line, ...]], partial(parts_of, others=False)
    )
    inputs = {target: inputs_of(target) for target in targets}
    rendered = kept.each("state", inputs, dict[str, bytes], files_of)
    return {name: data for files in rendered.values() for name, data in files.items()}


def _files_of(
    target: str, parts: dict[str, tuple[Line, ...]], paths: dict[str, str]
) -> dict[str, bytes]:
    called = name_of(target, (target,))
    name = file_of_target("state", called)
    up = "../" * (name.count("/") + 1)
    lines: list[str] = []
    for part in STATE_PARTS:
        own = parts[part.name]
        rows = [row for line in own[: part.most] for row in _rows(line, paths, up)]
        lines += (
            [f"## {part.heading}", "", *rows, *rest(len(own) - part.most, "lines")] if own else []
        )
    twin = {
        part.name: [{"text": line.text, "path": line.path} for line in parts[part.name]]
        for part in STATE_PARTS
    }
    return {
        f"{name}.md": index_file(f"State of {called}", _LEAD, lines),
        f"{name}.json": to_json({"target": target, **twin}),
    }


def _rows(line: Line, paths: dict[str, str], up: str) -> Iterator[str]:
    """A line as a list item, its rows as items below; what it calls by handle is linked."""
    # A page's words as text of another page: nothing in them is markup or a link.
    first, *rest = re.sub(r"([\\`*_\[\]<>|])", r"\\\1", line.text).split("\n")
    for indent, row in (("- ", first), *(("  - ", row) for row in rest)):
        yield indent + _HANDLE.sub(
            lambda m: (
                f"[{label_of(paths[m[0]])}]({href(paths[m[0]], up=up)})" if m[0] in paths else m[0]
            ),
            row,
        )


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
