"""The tables of a knowledge base for verbs that read them: built first where nothing is built yet, or by another version of kb."""

import sqlite3
import sys

from kb import store


def note_new_target(db: sqlite3.Connection, target: str) -> None:
    """Say on stderr that no experiment and no page is of this target: it may be new, or misspelt."""
    known = "select 1 from experiment where target = ? union all select 1 from standing where type = 'target' and path like ?"
    if target and not db.execute(known, (target, f"%/{target}.md")).fetchone():
        from kb import trail

        print(f"note: nothing is known of a target '{target}'; known: {', '.join(trail.targets(db)) or 'none'}", file=sys.stderr)


def built_state(layout: store.Layout) -> sqlite3.Connection:
    """Read-only tables of `layout` that this version of kb can read; says on stderr where pages were changed since they were built."""
    db, reason = _standing_state(layout)
    if db is not None:
        if store.changed_since(layout, db):
            print("note: pages were changed since the last build; `kb build` takes them up", file=sys.stderr)
        return db
    print(reason, file=sys.stderr)
    from kb.build import build

    build(layout, note=lambda text: print(text, file=sys.stderr))
    return store.state(layout)


def _standing_state(layout: store.Layout) -> tuple[sqlite3.Connection | None, str]:
    if not (layout.state / "kb.db").is_file():
        return None, "nothing is built here yet; building"
    try:
        db = store.state(layout)
        if store.is_current(db):
            if db.execute("select 1 from meta where key = 'inputs'").fetchone():
                return db, ""
            return None, "no build has come to its end here; building"
    except sqlite3.DatabaseError as error:
        return None, f"the tables are damaged ({error}); building anew"
    return None, "the tables are of another version of kb; building anew"
