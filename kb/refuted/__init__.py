"""Refuted cards: compiled from failed experiments, retired hypotheses and dead-end lists; matched against proposals."""

import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass

from kb.graph import Graph
from kb.page import Page
from kb.trail import Trail

TABLES: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Card:
    """One refuted pattern with its evidence."""

    evidence: str


def statements_of(page: Page, text: str) -> str | None:
    """Refuted statements of one page (dead-end bullets and tables, retired hypotheses) as JSON text; None if it has none."""
    return None


def cards_of(trail: Trail, statements: Iterable[tuple[str, str]], graph: Graph) -> tuple[Card, ...]:
    """Every card of the knowledge base, in a fixed order."""
    return ()


def save(db: sqlite3.Connection, cards: tuple[Card, ...]) -> None:
    """Write the cards so that a fresh process can match a proposal quickly."""
