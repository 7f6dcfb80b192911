"""The tables of a knowledge base for verbs that read them: built first where nothing is built yet, or by another version of kb."""

import sqlite3
import sys

from kb import store


def built_state(layout: store.Layout) -> sqlite3.Connection:
    """Read-only tables of `layout` that this version of kb can read."""
    if (layout.state / "kb.db").is_file():
        db = store.state(layout)
        if store.is_current(db):
            if db.execute("select 1 from meta where key = 'inputs'").fetchone():
                return db
            print("no build has come to its end here; building", file=sys.stderr)
        else:
            print("the tables are of another version of kb; building anew", file=sys.stderr)
        db.close()
    else:
        print("nothing is built here yet; building", file=sys.stderr)
    from kb.build import build

    build(layout, note=lambda text: print(text, file=sys.stderr))
    return store.state(layout)
