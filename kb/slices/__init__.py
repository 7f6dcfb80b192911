"""Slices: what one step of a loop needs to know, under a budget of tokens. Refuses models and clocks: the same inputs give the same slice."""

import sqlite3
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

from kb.refuted.gate import Gate
from kb.slices.asked import Asked
from kb.slices.bringing import Bringing
from kb.slices.hypothesis import fill_hypothesis
from kb.slices.request import MODES, Request, request_from
from kb.slices.slice import Filling, Item, Omitted, Part, Slice
from kb.slices.tokens import tokens_of
from kb.slices.view import Standing
from kb.trail import Facts

if TYPE_CHECKING:
    from kb.claims import Claim

__all__ = ["MODES", "Item", "Loader", "Omitted", "Part", "Request", "Slice", "request_from", "tokens_of"]


class Loader:
    """Open tables to load slices from, for the length of a batch; keeps the last question, so that the same one at another budget costs little.

    `claims` reads the claims on file, once they are needed.
    """

    def __init__(self, db: sqlite3.Connection, claims: "Callable[[], tuple[Claim, ...]]" = tuple):
        self.db = db
        self.claims = cache(claims)
        self.gate = Gate(db)
        self.standing: dict[str, Standing | None] = {}
        self.facts: dict[str, Facts | None] = {}
        self.last: tuple[Request, Asked] | None = None

    def slice(self, request: Request) -> Slice:
        """The slice of one request. Raises KbError for a page that is not there."""
        question = replace(request, id="", budget=0, step="", mode="")
        if not self.last or self.last[0] != question:
            self.last = question, Asked(self.db, self.gate, request, standing=self.standing, facts=self.facts, claims=self.claims)
        asked = self.last[1]
        filling = Filling(request.budget, target=asked.target)
        mode = _fill(Bringing(asked, filling), request)
        return filling.closed(id=request.id, step=request.step, target=asked.target, mode=mode)


def _fill(bring: Bringing, request: Request) -> str:
    """Fill the slice by the recipe of its step. Recipes of the rarer steps are imported when asked for: a load starts in the time of its imports."""
    if request.step == "hypothesis":
        return fill_hypothesis(bring, request)
    if request.step == "profile":
        from kb.slices.profile import fill_profile

        return fill_profile(bring, request)
    from kb.slices import steps

    return steps.RECIPES[request.step](bring, request)
