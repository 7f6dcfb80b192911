"""Slices: what one step of a loop needs to know, under a budget of tokens. Refuses models and clocks: the same inputs give the same slice."""

import sqlite3
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

from kb.slices.open_slice import OpenSlice
from kb.slices.question import Question
from kb.slices.request import MODES, Request, request_from
from kb.slices.slice import Item, Omitted, Slice, SlicePart
from kb.slices.tokens import tokens_of
from kb.slices.view import Lookups

if TYPE_CHECKING:
    from kb.claims import Claim
    from kb.refuted.gate import Gate
    from kb.research.ideas import Idea
    from kb.slices.history import History

__all__ = [
    "MODES",
    "Item",
    "Loader",
    "Omitted",
    "Request",
    "Lookups",
    "Slice",
    "SlicePart",
    "request_from",
    "tokens_of",
]


class Loader:
    """Open tables to load slices from, for the length of a batch; keeps the last question, so that the same one at another budget costs little.

    `claims` reads the claims on file and `ideas` what captures offer, once they are needed; `earlier` gives the texts of the slice of a digest,
    `lookups` what was looked up in the same tables before, `history` when pages gained what.
    """

    def __init__(
        self,
        db: sqlite3.Connection,
        claims: "Callable[[], tuple[Claim, ...]]" = tuple,
        ideas: "Callable[[], tuple[Idea, ...]]" = tuple,
        earlier: Callable[[str], tuple[str, ...]] = lambda digest: (),
        lookups: Lookups | None = None,
        history: "Callable[[], History] | None" = None,
    ):
        self.db, self.earlier = db, earlier
        self.claims, self.ideas, self.gate = cache(claims), cache(ideas), cache(self._gate)
        self.lookups = {} if lookups is None else lookups
        self.history = cache(history) if history else None
        self.last: tuple[Request, Question] | None = None

    def _gate(self) -> "Gate":
        from kb.refuted.gate import Gate

        gate = Gate(self.db, like=self.lookups.get("gate"))
        return self.lookups.setdefault("gate", gate) and gate

    def slice(self, request: Request) -> Slice:
        """The slice of one request. Raises KbError for a page that is not there."""
        bare = replace(request, id="", budget=0, step="", mode="", beyond="")
        if not self.last or self.last[0] != bare:
            self.last = bare, Question(self, request)
        known = self.earlier(request.beyond) if request.beyond else ()
        into = OpenSlice(self.last[1], budget=request.budget, known=known)
        # Recipes of the rarer steps are imported when asked for: a load starts in the time of its imports.
        if request.step == "hypothesis":
            from kb.slices.hypothesis import fill_hypothesis as fill
        else:
            from kb.slices.steps import RECIPES

            fill = RECIPES[request.step]
        return into.closed(id=request.id, step=request.step, mode=fill(into, request))
