"""Topics, ladder and readings of the indexes as tables, so that a slice finds those it touches without reading a whole index."""

import json
import sqlite3

from kb.indexes.files import Compiled
from kb.store import replace_rows

TABLES: tuple[str, ...] = (
    "create table topic (anchor text primary key, name text not null, row text not null) without rowid",
    "create table topic_page (path text not null, anchor text not null, primary key (path, anchor)) without rowid",
    "create table ladder (phase integer primary key, row text not null)",
    "create table reading (number integer primary key, path text not null, anchor text not null, section text not null, topic text not null, text text not null)",
    "create index reading_path on reading (path)",
)

# Topics of a phase that a ladder tells; a large wiki has hundreds.
_LEADING = 12


def save(db: sqlite3.Connection, compiled: Compiled) -> None:
    """Write down what slices look up."""
    # What no run pulls tells a loop nothing of what was tried; before the first run it is all there is.
    topics = [t for t in compiled.topics if t["experiments"]] or compiled.topics
    about = ("path", "verdict", "target", "change", "title", "size")
    rows = (
        {"hub": t["hub"], "tried": [[e[key] for key in about] for e in t["experiments"]]}
        for t in topics
    )
    named = ((t["anchor"], t["name"], json.dumps(row)) for t, row in zip(topics, rows, strict=True))
    replace_rows(db, "topic", named)
    ties = (
        (tied["path"], t["anchor"]) for t in topics for tied in (*t["pages"], *t["experiments"])
    )
    replace_rows(db, "topic_page", ties)
    ladder = ((n, json.dumps(anchors[:_LEADING])) for n, anchors in enumerate(compiled.phases, 1))
    replace_rows(db, "ladder", ladder)
    readings = [(t["name"], r) for t in compiled.readings for r in t["readings"]]
    listed = (
        (n, r["path"], r["anchor"], r["section"], name, r["text"])
        for n, (name, r) in enumerate(readings, 1)
    )
    replace_rows(db, "reading", listed)
