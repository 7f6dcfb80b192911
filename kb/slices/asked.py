"""One question at one moment: what may be seen, which words count, which pages and cards answer. Knows no budget, so slices of any size share it."""

import sqlite3
from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from kb import search, trail
from kb.page import Page
from kb.refuted.gate import Gate, Match, Proposal
from kb.slices.ranking import LISTS, Ranked, ranked
from kb.slices.request import Request
from kb.slices.targets import target_page
from kb.slices.topics import TopicRow, ladder, touched
from kb.slices.view import Standing, View

if TYPE_CHECKING:
    from kb.claims import Claim
    from kb.trail.state import State

# Runs of the target that are looked at; older ones are found by words and links only.
_LAST_RUNS = 200
# So few words hardly name a matter, and so many runs tell it then.
_FEW, _ABOUT = 3, 3


class Asked:
    """A question with what follows from it, each found once; `runs` are the target's earlier experiments, oldest first."""

    def __init__(self, db: sqlite3.Connection, gate: Gate, request: Request, *, standing: dict[str, Standing | None], facts: dict[str, trail.Facts | None], claims: "Callable[[], tuple[Claim, ...]]" = tuple):
        self.view, self.gate, self.request = View(db, request, standing=standing), gate, request
        own = trail.experiment(db, request.before) if request.before else None
        self.target = request.target or (own.target if own else "")
        self.variant = request.variant or (own.variant if own else "")
        self.runs = self.view.runs(self.target, last=_LAST_RUNS) if self.target else []
        self.text = " ".join(t for t in (request.query, request.proposal, request.profile) if t)
        # A question of few words asks for the state more than for a matter; what the last runs were about is the matter then.
        self.neutral = len(search.terms_of(self.text)) <= _FEW
        self._facts, self._claims = facts, claims
        last = [f for f in map(self.facts, self.runs[-_ABOUT:]) if f] if self.neutral else []
        self.weights = search.weights(db, search.terms_of(" ".join((self.text, *(f"{f.title} {f.hypothesis}" for f in last)))))

    @cached_property
    def pages(self) -> list[Ranked]:
        """Pages that answer, best first."""
        return ranked(self.view, self.weights, runs=self.runs, target=self.target)

    @cached_property
    def matches(self) -> tuple[Match, ...]:
        """Cards that the question meets and that may be seen, as `kb check` finds them."""
        proposal = Proposal(self.text, target=self.target, before=self.request.before, as_of=self.request.as_of)
        return tuple(
            m
            for m in self.gate.check(proposal).matches
            if self.view.sees(m.path) and self.view.standing(m.path).type not in LISTS
        )

    @cached_property
    def topics(self) -> list[TopicRow]:
        """Topics that the best pages belong to, most touched first."""
        return touched(self.view, [(p.path, p.score) for p in self.pages[:25]], most=6)

    @cached_property
    def ladder(self) -> list[tuple[int, list[TopicRow]]]:
        """Phases of the blueprint in order, each with its leading topics."""
        return ladder(self.view)

    @cached_property
    def tried(self) -> list[trail.Facts]:
        """Facts of the target's earlier runs, oldest first, without what their pages gained after the moment."""
        runs = [f for f in map(self.facts, self.runs) if f]
        if self.view.moment is None:
            return runs
        own = trail.experiment(self.view.db, self.request.before) if self.request.before else None
        last = max([f.number for f in runs] + [own.number - 1 if own else 0])
        return [replace(f, account=f.account.as_of(last)) for f in runs]

    @cached_property
    def page(self) -> Page | None:
        """The page of the target: the one of that name, else the one all of whose name stands in the target's name."""
        return target_page(self.view, self.target) if self.target else None

    @cached_property
    def state(self) -> "State":
        """The state of the target at the moment; of two lines the one nearer to the question goes first."""
        from kb.trail.state import state_of

        metric = trail.metric_named(self.page) if self.page else ""
        near = {p.path: 0.4 * p.score for p in self.pages} if not self.neutral else {}
        wins = [w for w in trail.wins(self.view.db, self.target, before=self.view.moment) if self.view.sees(w.path)]
        return state_of(self.tried, wins, trail.kin(self.view.db, self.target), target=self.target, stated=metric, nearness=near)

    @cached_property
    def claims(self) -> "tuple[Claim, ...]":
        """Claims on file whose page may be seen, and holds nothing that was written after the moment."""
        return tuple(c for c in self._claims() if self.view.sees(c.page) and not self.view.is_masked(c.page, c.claim))

    def facts(self, path: str) -> trail.Facts | None:
        """Facts of an experiment; None for any other page."""
        if path not in self._facts:
            page = self.view.standing(path)
            self._facts[path] = trail.experiment(self.view.db, path) if page and page.order else None
        return self._facts[path]

    def says(self, text: str) -> float:
        """How much of the question a text answers, 0 to 1 by the weight of its words."""
        asked = sum(self.weights.values())
        return sum(self.weights.get(w, 0.0) for w in set(search.terms_of(text))) / asked if asked else 0.0
