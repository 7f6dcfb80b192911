"""Vectors for the verbs that are asked for them: by the model of kb.toml, with the shared store if it names one."""

import os
import sqlite3

from kb import store
from kb.search.chroma import Shared
from kb.search.encoder import Encoder, model_at
from kb.search.vectors import Synced, Vectors, sync
from kb.verbs import Caller


def encoder_of(layout: store.Layout) -> Encoder:
    """The model of kb.toml, not loaded yet."""
    # Read when the packages are imported: a model is never looked for on the network, and loading it draws no bars of its own.
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")
    return Encoder(model_at(layout))


def synced(db: sqlite3.Connection, caller: Caller, encoder: Encoder) -> Synced:
    """Bring the vectors of all sections up to date."""
    url, name = caller.layout.config.chroma, caller.layout.config.name
    shared = Shared(url, name=name, model=encoder.model.key) if url else None
    report = sync(
        caller.layout,
        db,
        encoder,
        shared=shared,
        note=lambda n, of: caller.progress(f"encoding {n} of {of} texts"),
    )
    caller.progress("")
    return report


def opened(db: sqlite3.Connection, caller: Caller) -> Vectors:
    """All vectors, open for questions; those that are missing are made first."""
    encoder = encoder_of(caller.layout)
    vectors = Vectors(caller.layout, db, encoder)
    if vectors.missing:
        caller.talk(f"{vectors.missing} sections have no vectors yet; making them")
        synced(db, caller, encoder)
        vectors = Vectors(caller.layout, db, encoder)
    return vectors
