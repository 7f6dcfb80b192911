"""Paths as a user types them."""

import os
import posixpath
from pathlib import Path

from kb import KbError, store


def path_in(layout: store.Layout, typed: str) -> str:
    """A typed path relative to the root of the knowledge base: as it stands if it starts at the root, else as seen from the current folder."""
    if not os.path.isabs(typed):
        plain = posixpath.normpath(typed)
        if plain.startswith(("wiki/", "sources/")) or not plain.startswith("../") and (layout.root / plain).exists():
            return plain
    full = Path(os.path.abspath(typed))
    if not full.is_relative_to(layout.root):
        raise KbError(f"{typed}: stands outside the knowledge base {layout.root}")
    return full.relative_to(layout.root).as_posix()


def page_in(layout: store.Layout, typed: str) -> str:
    """A page as a user names it: a file that is seen from the current folder by its path from the root, anything else as it was typed."""
    return path_in(layout, typed) if typed.endswith(".md") and Path(typed).exists() else typed
