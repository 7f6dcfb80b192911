"""The hypothesis step: where the target stands, what was tried and refuted, and what the wiki knows about the question."""

import sqlite3

from kb import search, trail
from kb.slices.excerpt import excerpt_of
from kb.slices.ranking import ranked
from kb.slices.request import Request
from kb.slices.slice import Filling, Slice
from kb.slices.view import View


def hypothesis_slice(db: sqlite3.Connection, request: Request) -> Slice:
    """The slice of one hypothesis request."""
    view = View(db, request)
    tried = trail.experiment(db, request.before) if request.before else None
    target = request.target or (tried.target if tried else "")
    variant = request.variant or (tried.variant if tried else "")
    past = [e for e in trail.experiments(db, target=target or None, before=view.moment, last=200) if view.sees(e.path)] if target else []
    question = " ".join(t for t in (request.query, request.proposal, request.profile) if t) or (past[-1].hypothesis if past else "")
    weights = search.weights(db, search.terms_of(question))
    filling = Filling(request.budget)

    def put(part: str, path: str, why: str) -> bool:
        if path in filling.paths:
            return True
        facts = trail.experiment(db, path)
        lead = f"[{facts.verdict.canonical or 'no verdict'}] " if facts else ""
        found = excerpt_of(view.chunks(path), weights, lead=lead)
        page = view.standing(path)
        if not found or not page:
            return True
        return filling.add(part, path=path, anchor=found.anchor, digest=page.digest, why=why, text=found.text, quoted=page.type == "source")

    best = [e for e in past if e.verdict.canonical in ("supported", "baseline")]
    if past:
        put("state", (best or past)[-1].path, "frontier")
        for e in past[:-4:-1]:
            put("recent", e.path, "last run")
        if not filling.parts.get("recent"):
            put("recent", past[-1].path, "last run")
        failed = [e for e in past if e.failed]
        if failed:
            put("refuted", failed[-1].path, "refuted")
    full = 0
    for page in ranked(view, question, target=target, variant=variant):
        facts = trail.experiment(db, page.path)
        if not put("refuted" if facts and facts.failed else "pages", page.path, page.why):
            full += 1
            if full > 12:
                break
    return filling.closed(id=request.id, step="hypothesis", target=target, mode="frontier" if best else "bootstrap")
