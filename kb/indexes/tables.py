"""Topics, ladder and readings of the indexes as tables, so that a slice finds those it touches without reading a whole index."""

import json
import sqlite3

from kb.indexes.files import Compiled

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
    for table in ("topic", "topic_page", "ladder", "reading"):
        db.execute(f"delete from {table}")
    # What no run pulls tells a loop nothing of what was tried; before the first run it is all there is.
    topics = [t for t in compiled.topics if t["experiments"]] or compiled.topics
    said = ("path", "verdict", "target", "change", "title", "size")
    rows = (
        {"hub": t["hub"], "tried": [[e[key] for key in said] for e in t["experiments"]]}
        for t in topics
    )
    db.executemany(
        "insert into topic values (?, ?, ?)",
        ((t["anchor"], t["name"], json.dumps(row)) for t, row in zip(topics, rows, strict=True)),
    )
    ties = {
        (tied["path"], t["anchor"]) for t in topics for tied in (*t["pages"], *t["experiments"])
    }
    db.executemany("insert into topic_page values (?, ?)", sorted(ties))
    ladder = ((n, json.dumps(anchors[:_LEADING])) for n, anchors in enumerate(compiled.phases, 1))
    db.executemany("insert into ladder values (?, ?)", ladder)
    db.executemany(
        "insert into reading (path, anchor, section, topic, text) values (?, ?, ?, ?, ?)",
        (
            (r["path"], r["anchor"], r["section"], t["name"], r["text"])
            for t in compiled.readings
            for r in t["readings"]
        ),
    )
