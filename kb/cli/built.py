"""The tables of a knowledge base for verbs that read them: built first where nothing is built yet."""

import sqlite3
import sys

from kb import store


def built_state(layout: store.Layout) -> sqlite3.Connection:
    """Read-only tables of `layout`, after a first build if there are none."""
    if not (layout.state / "kb.db").is_file():
        from kb.build import build

        print("nothing is built here yet; building", file=sys.stderr)
        build(layout, note=lambda text: print(text, file=sys.stderr))
    return store.state(layout)
