"""Captured sources in tables of their own, so that what was captured can be found and never stands
among what a loop is handed. Brought up to date when they are asked; refuses what does not read.
"""

import sqlite3
from dataclasses import replace

from kb import KbError, page, store
from kb.search import TABLES, find, sync, terms_of
from kb.search.chunks import Chunk, chunks_of
from kb.search.query import CAPTURED, Query, SearchAnswer, snippet_of
from kb.source import source_at, text_of_source, visible

_FILE = "captured.db"
_TABLE = "create table captured (id text primary key, stamp text not null, path text not null)"


def captured_answers(layout: store.Layout, query: Query) -> list[SearchAnswer]:
    """Sections of captured texts that answer, best first; none where a filter asks what only pages have."""
    others = query.types and CAPTURED not in query.types
    if others or query.target or query.verdicts or query.before:
        return []
    if next(layout.sources.glob("*/meta.json"), None) is None:
        return []
    try:
        db = _tables(layout)
    except (store.Unwritable, sqlite3.OperationalError):
        return []  # Nothing can be brought up to date here.
    try:
        terms = terms_of(query.words)
        return [
            SearchAnswer(
                hit.chunk.path,
                hit.chunk.anchor,
                hit.chunk.line,
                " > ".join(dict.fromkeys(filter(None, (hit.page_title, hit.chunk.title)))),
                CAPTURED,
                "",
                "",
                "",
                hit.score,
                visible(snippet_of(hit.chunk.text, terms)),
            )
            for hit in find(db, query.words, limit=query.limit)
        ]
    finally:
        db.close()


def _tables(layout: store.Layout) -> sqlite3.Connection:
    """Tables that hold what stands below `sources/`."""
    db = store.cache(layout, _FILE, (_TABLE, *TABLES), version=store.code_state())
    db.execute("begin immediate")
    stats = {meta.parent.name: meta.stat() for meta in layout.sources.glob("*/meta.json")}
    stamps = {id: f"{stat.st_size} {stat.st_mtime_ns}" for id, stat in stats.items()}
    known = {id: row for id, *row in db.execute("select id, stamp, path from captured")}
    change = store.diff(stamps, {id: stamp for id, (stamp, _) in known.items()})
    read = {id: _read(layout, id) for id in (*change.added, *change.changed)}
    gone = [id for id in (*change.changed, *change.removed) if known[id][1]]
    sync(db, removed=[known[id][1] for id in gone], added=filter(None, read.values()))
    db.executemany("delete from captured where id = ?", [(id,) for id in change.removed])
    rows = [(id, stamps[id], one[0].path if one else "") for id, one in read.items()]
    db.executemany("insert or replace into captured values (?, ?, ?)", rows)
    db.execute("commit")
    return db


def _read(layout: store.Layout, id: str) -> tuple[page.Page, tuple[Chunk, ...]] | None:
    """A source as a page; what is said of it where its text is not kept, None where it does not read."""
    try:
        source = source_at(layout, id)
    except KbError:
        return None
    try:
        text = text_of_source(layout, source)[: page.LARGEST]
    except (KbError, OSError, UnicodeDecodeError):
        text = f"{source.origin} {source.authors} {source.note}"
    read = page.read(f"sources/{id}/{source.text or 'meta.json'}", text.encode("utf-8", "replace"))
    front = {"title": source.title or source.id, "origin": source.origin}
    return replace(read, front=front), chunks_of(read, text)
