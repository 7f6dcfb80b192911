"""Vectors for the verbs that are asked for them: by the model of kb.toml, with the shared store if it names one."""

import os
import sqlite3
from typing import TYPE_CHECKING

from kb import store
from kb.verbs import Caller

if TYPE_CHECKING:
    from kb.search.encoder import Encoder
    from kb.search.vectors import Synced, Vectors


def synced(
    layout: store.Layout, db: sqlite3.Connection, caller: Caller, *, local: bool
) -> "Synced":
    """Bring the vectors of all sections up to date."""
    return _synced(layout, db, caller, _encoder(layout), local=local)


def opened(
    layout: store.Layout, db: sqlite3.Connection, caller: Caller, *, local: bool
) -> "Vectors":
    """All vectors, open for questions; those that are missing are made first."""
    from kb.search.vectors import Vectors

    encoder = _encoder(layout)
    vectors = Vectors(layout, db, encoder)
    if vectors.missing:
        caller.talk(f"{vectors.missing} sections have no vectors yet; making them")
        _synced(layout, db, caller, encoder, local=local)
        vectors = Vectors(layout, db, encoder)
    return vectors


def _encoder(layout: store.Layout) -> "Encoder":
    from kb.search.encoder import Encoder, model_at

    # Read when the packages are imported: a model is never looked for on the network, and loading it draws no bars of its own.
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")
    return Encoder(model_at(layout))


def _synced(
    layout: store.Layout, db: sqlite3.Connection, caller: Caller, encoder: "Encoder", *, local: bool
) -> "Synced":
    from kb.search.chroma import Shared
    from kb.search.vectors import sync

    config = layout.config
    shared = (
        Shared(config.chroma, name=config.name, model=encoder.model.key)
        if config.chroma and not local
        else None
    )
    report = sync(
        layout,
        db,
        encoder,
        shared=shared,
        note=lambda n, of: caller.progress(f"encoding {n} of {of} texts"),
    )
    caller.progress("")
    return report
