"""The hypothesis step: where the target stands, what was tried and refuted, and what the wiki knows about the question."""

import sqlite3

from kb import search, trail
from kb.schema import FAILED
from kb.slices.bringing import Bringing
from kb.slices.ranking import ranked
from kb.slices.request import Request
from kb.slices.slice import Filling, Slice
from kb.slices.view import View

# Pages whose excerpt is cut to the question; those further down are brought by what they say of themselves.
_CLOSELY = 10

# After so many pages in a row that no longer fit, none will.
_MISSES = 12

# Runs of the target that are looked at; older ones are found by words and links only.
_LAST = 200


def hypothesis_slice(db: sqlite3.Connection, request: Request) -> Slice:
    """The slice of one hypothesis request."""
    view = View(db, request)
    asked = trail.experiment(db, request.before) if request.before else None
    target = request.target or (asked.target if asked else "")
    past = view.runs(target, last=_LAST) if target else []
    question = " ".join(t for t in (request.query, request.proposal, request.profile) if t)
    if not question and past:
        question = trail.experiment(db, past[-1]).hypothesis
    weights = search.weights(db, search.terms_of(question))
    filling = Filling(request.budget)
    bring = Bringing(view, filling, weights)
    best = [p for p in past if view.standing(p).verdict in ("supported", "baseline")]
    if past:
        bring.page("state", (best or past)[-1], "frontier", closely=False)
        for path in [p for p in reversed(past) if p not in filling.paths][: 1 if request.budget < 3000 else 3]:
            bring.page("recent", path, "last run", closely=False)
    pages = ranked(view, weights, runs=past, target=target)
    failed = [p for p in pages if view.standing(p.path).verdict in FAILED and p.path not in filling.paths]
    if past and failed:
        bring.page("refuted", failed[0].path, failed[0].why)
    misses = 0
    for place, page in enumerate(p for p in pages if p.path not in filling.paths):
        part = "refuted" if view.standing(page.path).verdict in FAILED else "pages"
        misses = 0 if bring.page(part, page.path, page.why, closely=place < _CLOSELY) else misses + 1
        if misses >= _MISSES:
            break
    return filling.closed(id=request.id, step="hypothesis", target=target, mode="frontier" if best else "bootstrap")
