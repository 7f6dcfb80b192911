"""The compiler: pages -> graph -> trail -> refuted cards -> search tables and indexes. Calls no model, touches no network.

Local, dear work (parsing, cutting into chunks, reading facts) is found again by digest; global, cheap work is done anew.
Building after any history of edits gives what building from nothing gives; building twice changes nothing.
"""

import contextlib
import gc
import json
import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path

from kb import KbError, graph, indexes, page, refuted, search, source, store, trail
from kb.build.pages import Compile, compiled_pages
from kb.page import Page
from kb.schema import Finding
from kb.text import counted, printable

# From here on a build takes long enough to say what it does.
_TELL_FROM = 200

_TABLES = (
    "create table file (path text primary key, stat text not null, digest text not null) without rowid",
    "create table meta (key text primary key, value text not null)",
    "create table page (path text primary key, digest text not null, content text not null, row blob not null check (typeof(row) = 'blob'), facts blob, statements blob, notes blob, parts blob)",
    "create table standing (path text primary key, type text not null, title text not null, date text not null, rank real not null)",
    # JSON lists of the pages that a page cites, in the order of first mention, and of those that cite it.
    "create table neighbours (path text primary key, cites text not null, cited_by text not null)",
)


@dataclass(frozen=True, slots=True)
class BuildReport:
    """What a build did."""

    pages: int
    added: int
    changed: int
    removed: int
    experiments: int
    cards: int
    indexes: int
    unread: tuple[Finding, ...]
    fresh: bool


# The last scan of a large wiki by this process, with the turn of its build, by root.
_SCANS: dict[Path, tuple[str, store.Scan]] = {}


def build(
    layout: store.Layout, *, note: Callable[[str], None] = lambda text: None, again: bool = False
) -> BuildReport:
    """Bring `.kb/` and `indexes/` up to date with `wiki/`, and managed blocks of claims with the sources that are there. Raises KbError
    where the disk refuses; then nothing is half-built.

    Of several that wait for one that runs, the first takes up what all of them filed, and the others find it done. `again`: a moment
    after the last build of this process, so that of a large wiki only folders that were written since are looked at.
    """
    report = _compile(layout, note, again=again)
    missing = source.missing_sources(layout)
    with contextlib.closing(store.state(layout, writable=True)) as db:
        if missing == json.loads(_meta(db, "missing") or "[]"):
            return report
        # Loaded late: what reads claims takes as long as a build of a small wiki.
        from kb.ingest.filing import refiled

        titles = db.execute("select path, title from standing")
        refiled(layout, titles=dict(titles))
        _put(db, {"missing": json.dumps(missing)})
    return _compile(layout, note, again=True)


def _compile(layout: store.Layout, note: Callable[[str], None], *, again: bool) -> BuildReport:
    turn = _turn(layout)
    with store.lock(layout, "build"), _uncollected():
        db = _opened(layout, note)
        try:
            if turn is not None and int(_meta(db, "done") or 0) > turn:
                return BuildReport(
                    **{**json.loads(_meta(db, "report")), **_NOTHING}, unread=(), fresh=True
                )
            begun = int(_meta(db, "begun") or 0) + 1
            _put(db, {"begun": str(begun)})
            return _built(db, layout, str(begun), note, again=again)
        except sqlite3.Error as error:
            raise KbError(
                f"{layout.state / 'kb.db'}: {error}; nothing was changed; if it stays so, delete .kb/ and build again"
            ) from error
        finally:
            db.close()


_NOTHING = {"added": 0, "changed": 0, "removed": 0}


def _turn(layout: store.Layout) -> int | None:
    """How many builds began here so far: one that begins later sees all that was filed until now. None where no table says."""
    with (
        contextlib.suppress(KbError, sqlite3.Error, ValueError),
        contextlib.closing(store.state(layout)) as db,
    ):
        return int(_meta(db, "begun") or 0)
    return None


@contextlib.contextmanager
def _uncollected() -> Iterator[None]:
    """A build makes much and nothing cyclic: looking for garbage would take a tenth of its time."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()


def _built(
    db: sqlite3.Connection,
    layout: store.Layout,
    turn: str,
    note: Callable[[str], None],
    *,
    again: bool,
) -> BuildReport:
    if layout.wiki == layout.root:  # Made later, it would look like an edit of the wiki.
        layout.indexes.mkdir(exist_ok=True)
    look = store.look_of(layout)
    last, since = _SCANS.pop(layout.root, ("", None))
    since = since if again and not look and last == _meta(db, "done") else None
    rows = db.execute("select path, stat, digest from file") if not since else ()
    known = since.known if since else {path: tuple(row) for path, *row in rows}
    held: dict[str, bytes] = {}
    scan_result = store.scan(layout, known=known, since=since, contents=held)
    if not look:
        _SCANS[layout.root] = turn, scan_result
    if scan_result.left:
        store.sweep(layout, scan_result.left)
        look = store.look_of(layout)
    have = dict(db.execute("select path, digest from page"))
    records = source.digests_of_kept(layout)
    # How pages are read is their owner's to say: said otherwise, all are read anew.
    habits = repr((layout.config.runs, sorted(layout.config.verdicts.items())))
    have = have if _meta(db, "habits") == habits else dict.fromkeys(have, "")
    change = _with_records(
        store.diff(scan_result.digests, have),
        records,
        json.loads(_meta(db, "records") or "{}"),
        have,
    )
    inputs = store.digest_of(
        store.row_of((list(scan_result.digests.items()), records, repr(layout.config)))
    )
    current = _meta(db, "indexes") == _indexes_digest(layout)
    if not change and _meta(db, "inputs") == inputs and current:
        _save_files(db, known, scan_result.known)
        _put(db, {"look": look, "done": turn})
        return BuildReport(
            **{**json.loads(_meta(db, "report")), **_NOTHING},
            unread=scan_result.findings,
            fresh=True,
        )
    wanted: dict[str, bytes] = {}
    db.execute("begin immediate")
    _put(db, {"records": json.dumps(records), "habits": habits})
    _save_files(db, known, scan_result.known)
    _sync_pages(db, change, lambda todo: compiled_pages(layout, todo, held), note)
    contents = dict(db.execute("select path, content from page order by path"))
    totals = _pages_digest(layout, records, contents)
    if totals == _meta(db, "totals") and current:
        # Most edits change no more than the words and the length of a page.
        counts = json.loads(_meta(db, "report"))
    else:
        counts, wanted = _compiled(db, layout, contents)
        digests = {name: store.digest_of(wanted[name]) for name in sorted(wanted)}
        _put(db, {"totals": totals, "indexes": store.digest_of(store.row_of(digests))})
    report = counts | {what: len(getattr(change, what)) for what in _NOTHING}
    _put(
        db,
        {"look": look, "inputs": inputs, "report": json.dumps(report), "shape": store.shape_of(db)},
    )
    db.execute("commit")
    db.execute("pragma journal_mode = wal")
    if wanted:
        store.write_tree(layout.indexes, wanted)
    _put(db, {"done": turn})
    return BuildReport(**report, unread=scan_result.findings, fresh=False)


def _with_records(
    change: store.Diff, records: dict[str, str], before: dict[str, str], have: dict[str, str]
) -> store.Diff:
    """The same with pages that are read anew because what is on file about them came, changed or went."""
    moved = store.diff(records, before)
    touched = {*moved.added, *moved.changed, *moved.removed} & have.keys()
    touched -= {*change.added, *change.removed}
    return (
        replace(change, changed=tuple(sorted({*change.changed, *touched}))) if touched else change
    )


def _compiled(
    db: sqlite3.Connection, layout: store.Layout, contents: dict[str, str]
) -> tuple[dict[str, int], dict[str, bytes]]:
    """What follows from all pages together, written to the tables: counts for the report, and the files of `indexes/`."""
    kept = store.Kept(db)
    pages = _heads(db, kept, contents)
    whole = graph.graph_of(pages, link_root=layout.config.link_root)
    runs = trail.trail_of(_rows(db, "facts"), whole)
    relatives = trail.relatives_of(runs, kept)
    query = "select path, facts, statements, parts from page where coalesce(facts, statements, parts) is not null order by path"
    # What trail and cards come from: facts and statements, the days of their pages, the metrics of targets.
    stated = [(*row, whole.pages[row[0]].date) for row in db.execute(query)]
    cards, lists = kept.of(
        "refuted",
        (stated, sorted(runs.metrics.items())),
        tuple[int, dict[str, bytes]],
        lambda: _refuted(db, runs, relatives, whole, kept),
        within=(*refuted.KEPT, "refuted lists"),
    )
    compiled = indexes.compiled(
        whole, runs, relatives, _rows(db, "notes"), config=layout.config, kept=kept
    )
    heads = [(p.path, p.type, p.title, p.date) for p in pages.values()]
    kept.of(
        "standing",
        (heads, whole.outlinks),
        bool,
        lambda: _save(db, whole, kept),
        within=["standing"],
    )
    kept.close()
    wanted = {**compiled.files, **lists}
    for name in source.INDEXES:
        if (notes := source.notes_in(layout, name)) and f"{name}.md" in wanted:
            wanted[f"{name}.md"] = source.with_notes(wanted[f"{name}.md"].decode(), notes).encode()
    indexes.save(db, compiled)
    # What a page says is captured text: nothing in it may command the terminal that shows an index.
    wanted = {name: printable(data.decode()).encode() for name, data in wanted.items()}
    return {
        "pages": len(pages),
        "experiments": len(runs.experiments),
        "cards": cards,
        "indexes": len(wanted),
    }, wanted


def _opened(layout: store.Layout, note: Callable[[str], None]) -> sqlite3.Connection:
    """The tables for writing: as the last build left them where this code made them, else empty ones in their place."""
    file = layout.state / "kb.db"
    try:
        db = store.state(layout, writable=True)
        if store.is_current(db):
            return db
        db.close()
    except sqlite3.OperationalError as error:
        raise KbError(f"{file}: {error}; delete .kb/ and build again") from error
    except sqlite3.DatabaseError as error:
        note(f"{file.name} is damaged ({error}); building it anew")
    # Whoever reads the old file still has it open.
    for name in ("kb.db", "kb.db-wal", "kb.db-shm"):
        store.remove(layout.state / name)
    db = store.state(layout, writable=True)
    with contextlib.suppress(sqlite3.OperationalError):  # Who looks for his turn has it open.
        db.execute("pragma journal_mode = delete")  # Nobody reads it yet: it needs no log.
    db.execute("begin immediate")
    rooms = (search.TABLES, trail.TABLES, refuted.TABLES, indexes.TABLES)
    for statement in (*_TABLES, store.Kept.TABLE, *chain.from_iterable(rooms)):
        db.execute(statement)
    _put(db, {"made_by": store.made_by(), "code_state": store.code_state()})
    db.execute("commit")
    return db


def _meta(db: sqlite3.Connection, key: str) -> str:
    row = db.execute("select value from meta where key = ?", (key,)).fetchone()
    return row[0] if row else ""


def _put(db: sqlite3.Connection, values: dict[str, str]) -> None:
    db.executemany("insert or replace into meta values (?, ?)", values.items())


_PARTED = ("facts", "statements")


def _rows(db: sqlite3.Connection, column: str) -> Iterator[tuple[str, bytes]]:
    """(path, row) of every page that has one, and of the experiments that are sections of a page."""
    yield from db.execute(
        f"select path, {column} from page where {column} is not null order by path"
    ).fetchall()
    query = "select parts from page where parts is not null order by path"
    for (parts,) in db.execute(query).fetchall():
        for path, *rows in store.value_of(parts, list[tuple[str, bytes, bytes]]):
            yield from [(path, rows[_PARTED.index(column)])] if column in _PARTED else ()


def _sync_pages(
    db: sqlite3.Connection, change: store.Diff, compile: Compile, note: Callable[[str], None]
) -> None:
    gone = [(p,) for p in (*change.removed, *change.changed)]
    db.executemany("delete from page where path = ?", gone)
    todo = (*change.added, *change.changed)
    if len(todo) >= _TELL_FROM:
        note(f"reading {counted(len(todo), 'pages')}")

    def compiled() -> Iterator[tuple[Page, tuple[search.Chunk, ...]]]:
        for results, facts, statements, notes, parts, chunks in compile(todo):
            head = (results.front, results.first_heading, results.labels, results.cited)
            outcome_digest = store.digest_of(store.row_of((head, facts, statements, notes, parts)))
            row = (results.path, results.digest, outcome_digest, page.to_row(results))
            insert = "insert into page values (?, ?, ?, ?, ?, ?, ?, ?)"
            db.execute(insert, (*row, facts, statements, notes, parts))
            yield results, chunks

    search.sync(db, removed=[p for (p,) in gone], added=compiled())


def _refuted(
    db: sqlite3.Connection,
    runs: trail.Trail,
    relatives: trail.Relatives,
    whole: graph.Graph,
    kept: store.Kept,
) -> tuple[int, dict[str, bytes]]:
    """How many cards there are and their lists, with the tables of trail and cards brought up to date."""
    deck = refuted.deck_of(runs, _rows(db, "statements"), whole, kept)
    trail.save(db, runs, relatives)
    refuted.save(db, runs, deck)
    return len(deck.refuted), indexes.refuted_files(deck.refuted, kept)


def _pages_digest(layout: store.Layout, records: dict[str, str], contents: dict[str, str]) -> str:
    """Digest of all that follows from all pages together: the `contents` of each (what it says of itself, its citations, facts, statements and notes), notes on file, the settings."""
    notes = {name: digest for name, digest in records.items() if name.startswith("notes/")}
    return store.digest_of(store.row_of((repr(layout.config), notes, contents)))


def _save_files(
    db: sqlite3.Connection, known: dict[str, tuple[str, str]], fresh: dict[str, tuple[str, str]]
) -> None:
    """What the next scan knows files by."""
    if fresh != known:
        gone = ((path,) for path in known.keys() - fresh.keys())
        db.executemany("delete from file where path = ?", gone)
        changed = ((path, *row) for path, row in fresh.items() if known.get(path) != row)
        db.executemany("insert or replace into file values (?, ?, ?)", changed)


def _heads(
    db: sqlite3.Connection, kept: store.Kept, contents: dict[str, str]
) -> dict[str, page.PageHead]:
    """Heads of all pages, as they were kept where a page says the same: to read all rows takes ten times as long."""

    def head(path: str) -> page.PageHead:
        query = "select digest, row from page where path = ?"
        return page.head_of(page.from_row(path, *db.execute(query, (path,)).fetchone()))

    return kept.each("heads", contents, page.PageHead, head)


def _save(db: sqlite3.Connection, whole: graph.Graph, kept: store.Kept) -> bool:
    """Write where each page stands: what it is, its rank, and who cites whom."""
    rank = whole.rank
    # As so many times the least, in three digits: a link moves the sum of all, and the place of few.
    least = min(rank.values(), default=1.0)
    standing = (
        (p.path, p.type, p.title, p.date, float(f"{rank[p.path] / least:.3g}"))
        for p in whole.pages.values()
    )
    store.replace_rows(db, "standing", standing)
    cites = {p: whole.outlinks.get(p, ()) for p in whole.pages}
    had = kept.last("standing/cites", dict[str, tuple[str, ...]]) or {}
    moved = {p for p in had.keys() | cites.keys() if had.get(p) != cites.get(p)}
    for way in (had, cites):
        moved.update([t for p in moved & way.keys() for t in way[p]])
    db.executemany("delete from neighbours where path = ?", ((p,) for p in moved))
    near = (
        (p, store.packed(cites[p]), store.packed(whole.backlinks.get(p, ())))
        for p in sorted(moved & cites.keys())
    )
    db.executemany("insert into neighbours values (?, ?, ?)", near)
    kept.keep("standing/cites", cites)
    return True


def _indexes_digest(layout: store.Layout) -> str:
    """Digest of the files of `indexes/` that kb wrote, as they stand; empty where the manifest that is written last says otherwise."""
    noted = store.manifest_of(layout.indexes)
    have = store.tree_digests(layout.indexes, set(noted))
    return store.digest_of(store.row_of(have)) if noted and have == noted else ""
