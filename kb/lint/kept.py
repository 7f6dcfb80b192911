"""What lint found, kept in `.kb/lint.db` for as long as nothing that it looked at has changed. Refuses to keep where nothing was built.

A finding follows from the pages, the settings, the day, this code, and what was looked for on the disk beside the pages: the kept answer
names all of it, and counts only while each of these is the same.
"""

import contextlib
import os
import sqlite3
from dataclasses import dataclass
from importlib.metadata import entry_points

from kb import store
from kb.claims.filed import FOLDER as claims_folder
from kb.graph import Files, attachments
from kb.lint.report import BASELINE_NAME, Report

_FILE = "lint.db"
_TABLE = "create table if not exists answer (name text primary key, row blob not null)"


@dataclass(frozen=True, slots=True)
class KeptReport:
    """What one request of lint found, and what it rests on: `state` of all pages and settings, `looked` at beside them."""

    state: str
    looked: dict[str, str]
    report: Report


def state_of(layout: store.Layout, *, today: str) -> str:
    """Digest of the pages, the settings and files that every lint reads, the day, and this code."""
    pages = store.scan(layout)
    claims = sorted((layout.sources / claims_folder).glob("*.json"))
    files = [*map(os.fspath, claims), ".gitmodules", BASELINE_NAME]
    foreign = [(p.name, p.value, p.dist and p.dist.version) for p in entry_points(group="kb.lint")]
    looks = [(file, _look(layout, file)) for file in files]
    code = store.code_state(everything=True)
    whole = (sorted(pages.digests.items()), pages.findings, layout.config, today, looks, foreign)
    return store.digest_of(repr((*whole, code)))


def kept(layout: store.Layout, name: str, *, state: str) -> Report | None:
    """What a request found, if it still holds."""
    if not (layout.state / _FILE).is_file():
        return None
    with (
        contextlib.suppress(sqlite3.Error),
        contextlib.closing(store.state(layout, name=_FILE)) as db,
    ):
        row = db.execute("select row from answer where name = ?", (name,)).fetchone()
        answer = store.value_of(row[0], KeptReport) if row else None
        if answer and answer.state == state:
            same = all(_look(layout, path) == look for path, look in answer.looked.items())
            return answer.report if same else None
    return None


def keep(layout: store.Layout, name: str, *, state: str, files: Files, report: Report) -> None:
    """Keep what a request found beside the compiled tables; where there are none, or the disk refuses, nothing is kept."""
    if not (layout.state / "kb.db").is_file():
        return
    paths = {*files.exists, *files.read, *([""] if "names" in files.__dict__ else [])}
    looked = {path: _look(layout, path) for path in sorted(paths - files.pages.keys())}
    row = store.row_of(KeptReport(state, looked, report))
    with (
        contextlib.suppress(sqlite3.Error, OSError),
        contextlib.closing(store.state(layout, writable=True, name=_FILE)) as db,
    ):
        db.execute(_TABLE)
        db.execute("delete from answer where name = ? or length(row) > 50000000", (name,))
        db.execute("insert into answer values (?, ?)", (name, row))


def _look(layout: store.Layout, path: str) -> str:
    """Size and time of what is at a path of the disk, empty where nothing is; of no path, all files of the wiki that are no pages."""
    if not path:
        return store.digest_of("\n".join(attachments(layout.root, layout.config.wiki)))
    with contextlib.suppress(OSError, ValueError):
        stat = os.stat(os.path.join(layout.root, path))
        return f"{stat.st_size} {stat.st_mtime_ns}"
    return ""
