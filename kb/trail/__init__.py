"""The experiments in order: what each page says was tried, measured and decided."""

import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass

from kb.graph import Graph
from kb.page import Page

TABLES: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Facts:
    """What one experiment page says, as read from its text."""

    path: str


@dataclass(frozen=True, slots=True)
class Trail:
    """Experiments in trail order."""

    experiments: tuple[Facts, ...]


def facts_of(page: Page, text: str) -> str | None:
    """Facts of an experiment page as JSON text for the tables; None for any other page."""
    return None


def trail_of(rows: Iterable[tuple[str, str]], graph: Graph) -> Trail:
    """Trail of all (path, facts row) pairs."""
    return Trail(())


def save(db: sqlite3.Connection, trail: Trail) -> None:
    """Write what a fresh process needs to load the trail of one target quickly."""
