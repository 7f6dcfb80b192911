"""One question at one moment: what may be seen, which words count, which pages and cards answer, where its target stands. Knows no budget, so slices of any size share it."""

from dataclasses import replace
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING

from kb import search, store, trail
from kb.page import Page, from_row, read, text_of
from kb.slices.ranking import LISTS, Ranked, ranked
from kb.slices.request import Request
from kb.slices.slice import PROPOSAL
from kb.slices.view import View
from kb.text import words_of
from kb.trail.handles import numbers_named

if TYPE_CHECKING:
    import sqlite3

    from kb.claims import Claim
    from kb.refuted.gate import Answer, Match
    from kb.research.ideas import Idea
    from kb.slices import Loader
    from kb.trail.state import State

# Runs of the target that are looked at; older ones are found by words and links only.
_LAST_RUNS = 200
# So few words hardly name a matter, and so many runs tell it then; so many are a proposal, which asks for pages and not for the state.
_FEW, _ABOUT, _PROPOSAL = 3, 3, 24
# Targets no nearer than this have nothing in common: no lever of one says anything of the other.
_STRANGER = 0.5
# What a loop must know of its target, as front-matter fields; in this order as far as they are there.
_FIELDS = ("metric", "tracked", "noise", "hardware", "hardwares", "variants", "benchmark", "checks", "profile", "repository", "base", "protected", "allowed")  # fmt: skip


class Question:
    """A request with what follows from it, each found once; `runs` are the target's earlier experiments, oldest first.

    `openness` says how much it asks for the state rather than for a matter, 0 to 1.
    """

    def __init__(self, loader: "Loader", request: Request):
        self.loader, self.request = loader, request
        self.view = View(loader.db, request, lookups=loader.lookups, history=loader.history)
        self.own = trail.experiment(loader.db, request.before) if request.before else None
        # Where all runs are of one target, or none of them names one, the question is about these.
        known = trail.targets(loader.db) or _waiting(loader.db)
        only = known[0] if len(known) == 1 else ""
        self.target = request.target or (self.own.target if self.own else only)
        self.variant = request.variant or (self.own.variant if self.own else "")
        nameless = known == ("",)
        self.runs = self.view.runs(self.target, last=_LAST_RUNS) if self.target or nameless else []
        self.text = " ".join(t for t in (request.query, request.proposal, request.profile) if t)
        # A question of few words asks for the state more than for a matter; what the last runs were about is the matter then.
        terms = len(search.terms_of(self.text))
        self.neutral = terms <= _FEW
        self.openness = min(1.0, max(0.0, (_PROPOSAL - terms) / (_PROPOSAL - _FEW)))
        last = filter(None, map(self.facts, self.runs[-_ABOUT:] if self.neutral else ()))
        words = " ".join((self.text, *(f"{f.title} {f.hypothesis}" for f in last)))
        self.weights = search.weights(loader.db, search.terms_of(words))

    def facts(self, path: str) -> trail.Facts | None:
        """Facts of an experiment; None for any other page."""
        page = self.view.standing(path)
        return (
            self.view.always("facts", path, lambda: trail.experiment(self.view.db, path))
            if page and page.order
            else None
        )

    @cached_property
    def pages(self) -> list[Ranked]:
        """Pages that answer, best first."""
        return ranked(self.view, self.weights, runs=self.runs, target=self.target)

    @cached_property
    def matches(self) -> "tuple[Match, ...]":
        """Cards that the question meets and that may be seen, as `kb check` finds them; none for a question that names no matter of a target."""
        if self.neutral or not self.runs:
            return ()
        matches = (m for m in self._gated(self.text).matches if self.view.sees(m.path))
        return tuple(m for m in matches if self.view.standing(m.path).type not in LISTS)

    def _gated(self, text: str) -> "Answer":
        """What `kb check` answers to a proposal at the moment."""
        # Loaded late: it is half of what a load would import.
        from kb.refuted.gate import Proposal

        moment = {"before": self.request.before, "as_of": self.request.as_of}
        return self.loader.gate().check(Proposal(text, target=self.target, **moment))

    @cached_property
    def earlier(self) -> list[trail.Facts]:
        """Facts of the target's earlier runs, oldest first, without what their pages gained after the moment."""
        return self.view.once("earlier", self.target, self._earlier)

    def _earlier(self) -> list[trail.Facts]:
        runs = [f for f in map(self.facts, self.runs) if f]
        if self.view.moment is None:
            return runs
        # What names a higher number than a run of the target had at the moment was written later.
        last = max([f.number for f in runs] + [self.own.number - 1 if self.own else 0])
        then = [self._then(f) if self.view.gained(f.path) else f for f in runs]
        # But a run that others set out to beat stood there before them, whatever its number.
        known = {n for f in then for n in numbers_named(f"{f.hypothesis} {f.falsification}")}
        return [replace(f, account=f.account.as_of(last, known)) for f in then]

    def _then(self, facts: trail.Facts) -> trail.Facts:
        """Facts of a run as its page told them at the moment, by its history."""
        gained, file = self.view.gained(facts.path), self.view.history[0].root / facts.path
        if not file.is_file():
            return facts
        lines = text_of(store.bytes_of(file)).split("\n")
        text = "\n".join(line for line in lines if line.strip() not in gained)
        return trail.read_facts(read(facts.path, text.encode()), text)

    @cached_property
    def proposed(self) -> trail.Facts | None:
        """What the proposal says of itself; None where there is none."""
        text = self.request.proposal
        page = read(f"{PROPOSAL}.md", text.encode()) if text.strip() else None
        return trail.read_facts(page, text) if page else None

    @cached_property
    def page(self) -> Page | None:
        """The page of the target: the one of that name, else the one all of whose name stands in the target's name."""
        return self.view.once("page", self.target, self._page) if self.target else None

    def _page(self) -> Page | None:
        wanted, pages = set(words_of(self.target)), []
        rows = self.view.db.execute(
            "select p.path, p.digest, p.row from standing s join page p on p.path = s.path where s.type = 'target' order by p.path desc"
        )
        for page in (from_row(*row) for row in rows if self.view.sees(row[0])):
            same, name = self.target in (page.stem, page.field("target")), {*words_of(page.stem)}
            pages += [(same, len(name), page)] if same or name <= wanted else []
        return max(pages, key=lambda p: p[:2])[2] if pages else None

    @property
    def fields(self) -> str:
        """What the target's page says a loop must know, in one line."""
        front = self.page.front if self.page else {}
        return "; ".join(f"{name}: {_plain(front[name])}" for name in _FIELDS if front.get(name))

    @cached_property
    def state(self) -> "State":
        """The state of the target at the moment; of two lines the one nearer to the question goes first."""
        state = self.state_unasked
        return state if self.neutral else state.near({p.path: 0.4 * p.score for p in self.pages})

    @property
    def state_unasked(self) -> "State":
        """The same whatever is asked: no page is ranked for it."""
        measured = any(f.rule and f.variant == self.variant for f in self.earlier)
        variant = self.variant if measured else ""
        return self.view.once("state", (self.target, variant), lambda: self._state(variant))

    def _state(self, variant: str) -> "State":
        from kb.trail.state import state_of

        metric = trail.metric_named(self.page) if self.page else ""
        lessons = trail.lessons(self.view.db, self.target, before=self.view.moment)
        lessons = [
            w
            for w in lessons
            if w.target in self.kin
            and self.view.sees(w.path)
            and not any(w.subject in line for line in self.view.gained(w.path))
        ]
        about = {"target": self.target, "stated": metric, "variant": variant}
        return state_of(self.earlier, lessons, self.kin, **about)

    @cached_property
    def kin(self) -> dict[str, float]:
        """How near the targets are that have something to teach this one."""
        kin = self.view.always("kin", self.target, lambda: trail.kin(self.view.db, self.target))
        return {t: near for t, near in kin.items() if near > _STRANGER}

    def is_strange(self, path: str) -> bool:
        """Whether a page is a run of a target that is neither this one nor its kin."""
        facts = self.facts(path)
        return facts is not None and facts.target not in (self.target, *self.kin)

    @property
    def frontier(self) -> trail.Facts | None:
        """The target's best run where its loop works at present."""
        frontiers = self.state_unasked.frontiers if self.runs else ()
        return frontiers[0].run if frontiers else None

    @cached_property
    def claims(self) -> "tuple[Claim, ...]":
        """Claims on file whose page may be seen, and holds nothing that was written after the moment."""
        visible = (c for c in self.loader.claims() if self.view.sees(c.page))
        return tuple(c for c in visible if not self.view.is_masked(c.page, c.claim))

    @cached_property
    def ideas(self) -> "tuple[Idea, ...]":
        """The best that captures offered by the moment: of the target's own code or near its trail, and no lever of theirs failed."""
        day = self.view.moment[0] if self.view.moment else "9999"
        listed = [i for i in self.loader.ideas() if i.retrieved[:10] <= day]
        if not listed:
            return ()
        from kb.research.techniques import techniques_in

        spoken = " ".join(f"{f.title} {f.hypothesis} {' '.join(f.tags)}" for f in self.earlier)
        techniques = {t.name for t in techniques_in(spoken.split())}
        repository = self.page.field("repository") if self.page else ""
        near = [
            i for i in listed if i.nearness(repository=repository, techniques=techniques) != "far"
        ]
        near.sort(key=lambda i: (-i.weight, i.source))
        return tuple(islice(filter(self._failed_nowhere, near[:6]), 2))

    def _failed_nowhere(self, idea: "Idea") -> bool:
        answer = self._gated(idea.to_proposal())
        names = {lever.partition("=")[0] for lever in idea.levers}
        return not any(m.kind != "similar" or m.lever in names for m in answer.matches)

    def is_open(self, path: str) -> bool:
        """Whether a hypothesis page waits to be tried."""
        from kb.trail.standing import is_open

        query = "select path, digest, row from page where path = ?"
        return is_open(from_row(*self.view.db.execute(query, (path,)).fetchone()))


def _waiting(db: "sqlite3.Connection") -> tuple[str, ...]:
    """Targets of a wiki without runs."""
    from kb.trail.standing import waiting_targets

    return waiting_targets(db)


def _plain(value: object) -> str:
    listed = [f"{k} {v}" for k, v in value.items()] if isinstance(value, dict) else value
    return ", ".join(map(str, listed)) if isinstance(listed, list) else str(value)
