"""Topics, ladder and readings of the indexes as tables, so that a slice finds those it touches without reading a whole index."""

import json
import sqlite3
from collections.abc import Mapping

TABLES: tuple[str, ...] = (
    "create table topic (anchor text primary key, name text not null, row text not null) without rowid",
    "create table topic_page (path text not null, anchor text not null, primary key (path, anchor)) without rowid",
    "create table ladder (phase integer primary key, row text not null)",
    "create table reading (number integer primary key, path text not null, anchor text not null, section text not null, topic text not null, text text not null)",
    "create index reading_path on reading (path)",
)

# Topics of a phase that a ladder tells; a large wiki has hundreds.
_LEADING = 12


def save(db: sqlite3.Connection, files: Mapping[str, bytes]) -> None:
    """Write down what the JSON twins of the indexes hold (`hypothesis.json`, `blueprint.json`, `profile.json`, as far as they are there)."""
    for table in ("topic", "topic_page", "ladder", "reading"):
        db.execute(f"delete from {table}")
    known = _read(files, "hypothesis.json").get("topics", [])
    # What no run pulls tells a loop nothing of what was tried; before the first run it is all there is.
    topics = [t for t in known if t["experiments"]] or known
    db.executemany(
        "insert into topic values (?, ?, ?)",
        (
            (
                t["anchor"],
                t["name"],
                json.dumps(
                    {
                        "hub": t.get("hub", ""),
                        "tried": [
                            [e["path"], e["verdict"], e["target"], e["change"], e["title"], e["size"]] for e in t["experiments"]
                        ],
                    }
                ),
            )
            for t in topics
        ),
    )
    ties = {(tied["path"], t["anchor"]) for t in topics for tied in (*t["pages"], *t["experiments"])}
    db.executemany("insert into topic_page values (?, ?)", sorted(ties))
    phases = _read(files, "blueprint.json").get("phases", [])
    db.executemany(
        "insert into ladder values (?, ?)",
        ((p["phase"], json.dumps([t["anchor"] for t in p["topics"][:_LEADING]])) for p in phases),
    )
    db.executemany(
        "insert into reading (path, anchor, section, topic, text) values (?, ?, ?, ?, ?)",
        (
            (r["path"], r["anchor"], r["section"], t["name"], r["text"])
            for t in _read(files, "profile.json").get("topics", [])
            for r in t["readings"]
        ),
    )


def _read(files: Mapping[str, bytes], name: str) -> dict:
    return json.loads(files[name]) if name in files else {}
