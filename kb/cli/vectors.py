"""Vectors for the verbs that were asked for them: by the model of kb.toml, with the shared store if it names one. No verb needs them."""

import os
import sqlite3
import sys
from typing import TYPE_CHECKING

from kb import store

if TYPE_CHECKING:
    from kb.search.semantic import Encoder
    from kb.search.vectors import Synced, Vectors


def synced(layout: store.Layout, db: sqlite3.Connection, *, local: bool) -> "Synced":
    """Bring the vectors of all sections up to date; progress goes to a terminal."""
    return _synced(layout, db, _encoder(layout), local=local)


def opened(layout: store.Layout, db: sqlite3.Connection, *, local: bool) -> "Vectors":
    """All vectors, open for questions; those that are missing are made first."""
    from kb.search.vectors import Vectors

    encoder = _encoder(layout)
    vectors = Vectors(layout, db, encoder)
    if vectors.missing:
        print(f"{vectors.missing} sections have no vectors yet; making them", file=sys.stderr)
        _synced(layout, db, encoder, local=local)
        vectors = Vectors(layout, db, encoder)
    return vectors


def _encoder(layout: store.Layout) -> "Encoder":
    from kb.search.semantic import Encoder, model_at

    # Read when the packages are imported: a model is never looked for on the network, and loading it draws no bars of its own.
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")
    return Encoder(model_at(layout))


def _synced(layout: store.Layout, db: sqlite3.Connection, encoder: "Encoder", *, local: bool) -> "Synced":
    from kb.search.shared import Shared
    from kb.search.vectors import sync

    config = layout.config
    shared = Shared(config.chroma, name=config.name, model=encoder.model.key) if config.chroma and not local else None
    done = sync(layout, db, encoder, shared=shared, note=_progress)
    if sys.stderr.isatty():
        print("\r\033[K", end="", file=sys.stderr)
    return done


def _progress(done: int, total: int) -> None:
    if sys.stderr.isatty():
        print(f"\rencoding {done} of {total} texts", end="", file=sys.stderr, flush=True)
