"""Slices: what one step of a loop needs to know, under a budget of tokens. Refuses models and clocks: the same inputs give the same slice."""

import sqlite3

from kb import search, trail
from kb.refuted import Gate
from kb.slices import hypothesis, profile, steps
from kb.slices.bringing import Bringing
from kb.slices.request import MODES, Request, request_from
from kb.slices.slice import Filling, Item, Omitted, Part, Slice
from kb.slices.tokens import tokens_of
from kb.slices.topics import TABLES, save
from kb.slices.view import View

__all__ = ["MODES", "TABLES", "Item", "Loader", "Omitted", "Part", "Request", "Slice", "request_from", "save", "tokens_of"]

# Runs of the target that are looked at; older ones are found by words and links only.
_LAST_RUNS = 200


class Loader:
    """Open tables to load slices from; keeps what the gate read between the requests of a batch."""

    def __init__(self, db: sqlite3.Connection):
        self.db = db
        self.gate = Gate(db)

    def slice(self, request: Request) -> Slice:
        """The slice of one request. Raises KbError for a page that is not there."""
        view = View(self.db, request)
        asked = trail.experiment(self.db, request.before) if request.before else None
        target = request.target or (asked.target if asked else "")
        variant = request.variant or (asked.variant if asked else "")
        runs = view.runs(target, last=_LAST_RUNS) if target else []
        question = " ".join(t for t in (request.query, request.proposal, request.profile) if t)
        if not question and runs:
            question = trail.experiment(self.db, runs[-1]).hypothesis
        filling = Filling(request.budget)
        bring = Bringing(view, filling, weights=search.weights(self.db, search.terms_of(question)), target=target, variant=variant, runs=runs)
        mode = self._fill(bring, request, question)
        return filling.closed(id=request.id, step=request.step, target=target, mode=mode)

    def _fill(self, bring: Bringing, request: Request, question: str) -> str:
        match request.step:
            case "hypothesis":
                return hypothesis.fill(bring, self.gate, request, question)
            case "profile":
                return profile.fill(bring, request)
            case "edit":
                return steps.fill_edit(bring, self.gate, request)
            case "verify":
                return steps.fill_verify(bring, self.gate, request)
            case "verdict":
                return steps.fill_verdict(bring, self.gate, request)
            case "retrospective":
                return steps.fill_retrospective(bring, request)
            case _:
                return steps.fill_resume(bring, request)
