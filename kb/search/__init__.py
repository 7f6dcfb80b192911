"""Chunks of pages by section, and the tables they are found in. Refuses to rank pages by anything but words."""

import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass

from kb.page import Page

TABLES: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Chunk:
    """One section (or a part of a long one) of a page: what is found and what goes into a slice."""

    path: str
    anchor: str
    title: str
    line: int
    text: str


def chunks_of(page: Page, text: str) -> tuple[Chunk, ...]:
    """Chunks of one page, in page order."""
    return ()


def sync(db: sqlite3.Connection, *, removed: Iterable[str], added: Iterable[tuple[Page, tuple[Chunk, ...]]]) -> None:
    """Bring the search tables up to date: all chunks of `removed` paths out, those of `added` pages in."""
    for _ in added:
        pass
