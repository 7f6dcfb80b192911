"""The instrument: puts the loader and the gate just before every past run and asks with that run's own question.

What a page cited before its outcome was known is what its slice should have brought. Needs no model and no oracle, and refuses to look ahead:
the question has no links and no run numbers in it, and the loader sees the state of that moment.
"""

import re
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from kb import search, trail
from kb.refuted.gate import Gate, Proposal
from kb.replay.questions import PastQuestion, proposal_of, questions, spread
from kb.replay.restated import figure_of
from kb.run.quantity import number_text
from kb.schema import Verdict
from kb.slices import Loader, Request, tokens_of
from kb.slices.view import View

__all__ = ["BUDGETS", "Gated", "PastQuestion", "Recall", "ReplayReport", "questions", "replay"]

BUDGETS = (2000, 4000, 8000)
LOADER, HEADS, PAGES, LAST, FULL = METHODS = ("kb load", "BM25 heads", "BM25 pages", "last three runs", "full read")  # fmt: skip

# An item counts if it brings this many tokens of a page; less is a pointer.
_CONTENT = 40

# A figure of more digits and its point is no other run's by chance.
_DIGITS = 4

# Characters a token of whole pages is taken to hold: they are not counted one by one.
_CHARACTERS = 3.2


@dataclass(frozen=True, slots=True)
class Recall:
    """Share of the cited pages that a method brought at a budget, mean over questions; `tokens` is the mean cost of what it brought."""

    method: str
    budget: int
    group: str
    questions: int
    recall: float
    tokens: int


@dataclass(frozen=True, slots=True)
class Gated:
    """What the gate said to past proposals as of their day.

    `repeats` are failed runs that set a lever to a value with which an earlier run of the target had failed, `caught` those to which the
    gate named one of these among its first three; `false_alarms` are supported runs called a repeat; `called` counts outcomes.
    """

    runs: int
    repeats: int
    caught: int
    supported: int
    false_alarms: int
    called: dict[str, int]


@dataclass(frozen=True, slots=True)
class ReplayReport:
    """Recall over all questions; by the type of page that asks, the type that was cited and the target at the largest budget; the gate."""

    overall: tuple[Recall, ...]
    by_asking: tuple[Recall, ...]
    by_cited: tuple[Recall, ...]
    by_target: tuple[Recall, ...]
    gate: Gated
    # Slices that held a figure which the run that asked went on to measure: text that pages gained after their day.
    leaks: int


@dataclass(frozen=True, slots=True)
class _Brought:
    question: PastQuestion
    method: str
    budget: int
    paths: frozenset[str]
    tokens: int
    leaks: bool = False


def replay(
    loader: Loader,
    *,
    target: str = "",
    sample: int = 0,
    budgets: Sequence[int] = BUDGETS,
    note: Callable[[int, int], None] = lambda done, total: None,
) -> ReplayReport:
    """Replay the trail of a knowledge base (of one target, or of every n-th question so that about `sample` are asked)."""
    db = loader.db
    sampled = spread(questions(db, target=target), sample)
    brought: list[_Brought] = []
    rows = db.execute("select path, sum(length(text)) from chunk group by path")
    sizes = {path: int(characters / _CHARACTERS) for path, characters in rows}
    for done, question in enumerate(sampled):
        note(done, len(sampled))
        brought.extend(_by_loader(loader, question, budgets))
        brought.extend(_by_yardsticks(db, question, budgets, sizes))
    types = dict(db.execute("select path, type from standing"))
    few = [b for b in brought if b.budget == max(budgets) and b.method in (LOADER, HEADS)]
    by_cited = []
    for b in few:
        kinds = defaultdict(set)
        for path in b.question.cited:
            kinds[types[path]].add(path)
        by_cited += [(b, kind, paths) for kind, paths in kinds.items()]
    return ReplayReport(
        overall=_means((b, "all", b.question.cited) for b in brought),
        by_asking=_means((b, b.question.type, b.question.cited) for b in few),
        by_cited=_means(by_cited),
        by_target=_means((b, b.question.target or "no target", b.question.cited) for b in few),
        gate=_gated(db, target=target, sample=sample),
        leaks=sum(b.leaks for b in few),
    )


def _by_loader(
    loader: Loader, question: PastQuestion, budgets: Sequence[int]
) -> Iterator[_Brought]:
    own = trail.experiment(loader.db, question.path)
    earlier = trail.experiments(loader.db, before=own.order) if own else ()
    known = {m.value for e in earlier for m in e.metrics}
    values = {m.value for m in own.metrics if m.value is not None} - known if own else ()
    measured = [figure_of(v) for v in values if len(number_text(v).strip("0.")) > _DIGITS]
    for budget in budgets:
        request = Request("hypothesis", query=question.text, before=question.path, budget=budget)
        slice_ = loader.slice(request)
        items = [i for part in slice_.parts for i in part.items]
        paths = frozenset(i.path for i in items if tokens_of(i.text) >= _CONTENT)
        leaks = any(re.search(figure, i.text) for i in items for figure in measured)
        yield _Brought(question, LOADER, budget, paths, slice_.tokens, leaks)


def _by_yardsticks(
    db: sqlite3.Connection, question: PastQuestion, budgets: Sequence[int], sizes: dict[str, int]
) -> Iterator[_Brought]:
    view = View(db, Request("hypothesis", before=question.path))
    view.look_up(sizes)
    hits = [h.path for h in search.pages_like(db, question.text, limit=500) if view.sees(h.path)]
    gists = {path: search.gist(db, path)[1] for path in hits}
    last = view.runs(question.target, last=3) if question.target else []
    ranked = {
        HEADS: [
            (path, tokens_of(f"- {path}\n  > {text}\n"))
            for path, text in gists.items()
            if tokens_of(text) >= _CONTENT
        ],
        PAGES: [(path, sizes.get(path, 0)) for path in hits],
        LAST: [(path, sizes.get(path, 0)) for path in reversed(last)],
    }
    for budget in budgets:
        for method, costs in ranked.items():
            paths, tokens = set(), 0
            for path, cost in costs:
                if tokens + cost <= budget:
                    paths.add(path)
                    tokens += cost
            yield _Brought(question, method, budget, frozenset(paths), tokens)
    visible = frozenset(filter(view.sees, sizes))
    yield _Brought(question, FULL, 0, visible, sum(sizes[p] for p in visible))


def _means(grouped: Iterable[tuple[_Brought, str, Iterable[str]]]) -> tuple[Recall, ...]:
    cells: dict[tuple[str, int, int], list[tuple[float, int]]] = defaultdict(list)
    for b, group, cited in grouped:
        recall = len(b.paths.intersection(cited)) / len(set(cited))
        cells[group, METHODS.index(b.method), b.budget].append((recall, b.tokens))
    return tuple(
        Recall(
            METHODS[method],
            budget,
            group,
            len(cell),
            round(sum(recall for recall, _ in cell) / len(cell), 4),
            round(sum(tokens for _, tokens in cell) / len(cell)),
        )
        for (group, method, budget), cell in sorted(cells.items())
    )


def _gated(db: sqlite3.Connection, *, target: str, sample: int) -> Gated:
    gate, counts = Gate(db), Counter[str]()
    runs = [
        e for e in trail.experiments(db, target=target or None) if len(e.hypothesis) >= _CONTENT
    ]
    sampled = {e.path for e in spread(runs, sample)}
    failed: dict[tuple[str, str, str], set[str]] = defaultdict(set)
    called: Counter[str] = Counter()
    for run in runs:
        pulled = [(run.target, lever.name, lever.value) for lever in run.levers if lever.value]
        earlier = set().union(*(failed[key] for key in pulled))
        bad, good = run.failed, run.verdict.canonical == Verdict.SUPPORTED
        if run.path in sampled:
            levers = (
                tuple(f"{name}={value}" for _, name, value in pulled) if run.stated_levers else ()
            )
            proposal = Proposal(proposal_of(db, run.path), before=run.path, levers=levers)
            answer = gate.check(proposal)
            named = answer.outcome != "clear" and not earlier.isdisjoint(
                m.path for m in answer.matches[:3]
            )
            called[answer.outcome] += 1
            counts["supported"] += good
            counts["alarms"] += good and answer.outcome == "repeat"
            counts["repeats"] += bad and bool(earlier)
            counts["caught"] += bad and named
        for key in pulled if bad else ():
            failed[key].add(run.path)
    return Gated(
        len(sampled),
        counts["repeats"],
        counts["caught"],
        counts["supported"],
        counts["alarms"],
        dict(sorted(called.items())),
    )
