"""Scoped sub-wiki indexes, compiled from links, tags and headings. No model, no clock."""

from kb.graph import Graph
from kb.refuted import Card
from kb.store import Config
from kb.trail import Trail


def files_of(graph: Graph, trail: Trail, cards: tuple[Card, ...], *, config: Config) -> dict[str, bytes]:
    """Every file of `indexes/`, by path below it."""
    return {}
