"""Refuted cards: compiled from failed experiments, retired hypotheses and dead-end lists; matched against proposals.

Refuses to forbid: it warns and asks what differs. The match itself, which a build has no use for, is `kb.refuted.gate`.
"""

from typing import TYPE_CHECKING

from kb import exports

if TYPE_CHECKING:
    from kb.refuted.card import Card, cards
    from kb.refuted.deck import KEPT, TABLES, Deck, deck_of, save
    from kb.refuted.statements import statements_of

__all__ = ["KEPT", "TABLES", "Card", "Deck", "cards", "deck_of", "save", "statements_of"]

# Loaded when it is first asked for: the gate has no use for what makes cards of pages.
__getattr__ = exports(
    __name__,
    {
        "card": ("Card", "cards"),
        "deck": ("KEPT", "TABLES", "Deck", "deck_of", "save"),
        "statements": ("statements_of",),
    },
)
