"""The instrument: puts the loader and the gate just before every past run and asks with that run's own question.

What a page cited before its outcome was known is what its slice should have brought. Needs no model and no oracle, and refuses to look ahead:
the question has no links and no run numbers in it, and the loader sees the state of that moment.
"""

import sqlite3
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass

from kb import search, trail
from kb.refuted.gate import Gate, Proposal
from kb.replay.questions import Question, proposal_of, questions
from kb.schema import FAILED, Verdict
from kb.slices import Loader, Request, tokens_of
from kb.slices.slice import cost_of
from kb.slices.view import View

__all__ = ["BUDGETS", "Gated", "Question", "Recall", "Report", "questions", "replay"]

BUDGETS = (2000, 4000, 8000)
LOADER, HEADS, PAGES, LAST, FULL = "kb load", "BM25 heads", "BM25 pages", "last three runs", "full read"

# An item counts if it brings this many tokens of a page; less is a pointer.
_CONTENT = 40

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
class Report:
    """Recall over all questions; by the type of page that asks, the type that was cited and the target at the largest budget; the gate."""

    overall: tuple[Recall, ...]
    by_asking: tuple[Recall, ...]
    by_cited: tuple[Recall, ...]
    by_target: tuple[Recall, ...]
    gate: Gated | None

    def to_json(self) -> dict[str, object]:
        return asdict(self)


@dataclass(frozen=True, slots=True)
class _Brought:
    question: Question
    method: str
    budget: int
    paths: frozenset[str]
    tokens: int


def replay(
    db: sqlite3.Connection,
    *,
    target: str = "",
    sample: int = 0,
    budgets: Sequence[int] = BUDGETS,
    gate: bool = True,
    note: Callable[[int, int], None] = lambda done, total: None,
) -> Report:
    """Replay the trail of a knowledge base (of one target, or of every n-th question so that about `sample` are asked)."""
    asked = questions(db, target=target)
    if sample and len(asked) > sample:
        step = len(asked) / sample
        asked = [asked[int(i * step)] for i in range(sample)]
    brought: list[_Brought] = []
    loader, sizes = Loader(db), _sizes(db)
    for done, question in enumerate(asked):
        note(done, len(asked))
        brought.extend(_by_loader(loader, question, budgets))
        brought.extend(_by_yardsticks(db, question, budgets, sizes))
    largest = max(budgets)
    types = dict(db.execute("select path, type from standing"))
    few = [b for b in brought if b.budget == largest and b.method in (LOADER, HEADS)]
    return Report(
        overall=_means((b, "all", b.question.cited) for b in brought),
        by_asking=_means((b, b.question.type, b.question.cited) for b in few),
        by_cited=_means(
            (b, kind, frozenset(p for p in b.question.cited if types[p] == kind))
            for b in few
            for kind in sorted({types[p] for p in b.question.cited})
        ),
        by_target=_means((b, b.question.target or "no target", b.question.cited) for b in few),
        gate=_gated(db, target=target, sample=sample) if gate else None,
    )


def _sizes(db: sqlite3.Connection) -> dict[str, int]:
    return {
        path: int(characters / _CHARACTERS)
        for path, characters in db.execute("select path, sum(length(text)) from chunk group by path")
    }


def _by_loader(loader: Loader, question: Question, budgets: Sequence[int]) -> Iterator[_Brought]:
    for budget in budgets:
        made = loader.slice(Request("hypothesis", query=question.text, before=question.path, budget=budget))
        paths = frozenset(i.path for part in made.parts for i in part.items if tokens_of(i.text) >= _CONTENT)
        yield _Brought(question, LOADER, budget, paths, made.tokens)


def _by_yardsticks(
    db: sqlite3.Connection, question: Question, budgets: Sequence[int], sizes: dict[str, int]
) -> Iterator[_Brought]:
    view = View(db, Request("hypothesis", before=question.path))
    hits = search.pages_like(db, question.text, limit=500)
    view.look_up(h.path for h in hits)
    found = [h.path for h in hits if view.sees(h.path)]
    heads = [(path, cost_of(path, "", "", text)) for path in found if tokens_of(text := search.gist(db, path)[1]) >= _CONTENT]
    pages = [(path, sizes.get(path, 0)) for path in found]
    last = [(path, sizes.get(path, 0)) for path in reversed(view.runs(question.target, last=3))] if question.target else []
    for budget in budgets:
        for method, ranked in ((HEADS, heads), (PAGES, pages), (LAST, last)):
            paths, tokens = _filled(ranked, budget)
            yield _Brought(question, method, budget, paths, tokens)
    view.look_up(sizes)
    seen = [path for path in sizes if view.sees(path)]
    yield _Brought(question, FULL, 0, frozenset(seen), sum(sizes[p] for p in seen))


def _filled(ranked: Sequence[tuple[str, int]], budget: int) -> tuple[frozenset[str], int]:
    paths, tokens = [], 0
    for path, cost in ranked:
        if tokens + cost <= budget:
            paths.append(path)
            tokens += cost
    return frozenset(paths), tokens


def _means(grouped: Iterator[tuple[_Brought, str, frozenset[str]]]) -> tuple[Recall, ...]:
    cells: dict[tuple[str, str, int], list[tuple[float, int]]] = defaultdict(list)
    for brought, group, cited in grouped:
        cells[group, brought.method, brought.budget].append((len(cited & brought.paths) / len(cited), brought.tokens))
    order = {method: i for i, method in enumerate((LOADER, HEADS, PAGES, LAST, FULL))}
    return tuple(
        Recall(method, budget, group, len(v), round(sum(r for r, _ in v) / len(v), 4), round(sum(t for _, t in v) / len(v)))
        for (group, method, budget), v in sorted(cells.items(), key=lambda c: (c[0][0], order[c[0][1]], c[0][2]))
    )


def _gated(db: sqlite3.Connection, *, target: str, sample: int) -> Gated:
    gate = Gate(db)
    runs = [e for e in trail.experiments(db, target=target or None) if len(e.hypothesis) >= _CONTENT]
    step = max(1, len(runs) // sample) if sample else 1
    failed: dict[tuple[str, str, str], list[str]] = defaultdict(list)
    called: Counter[str] = Counter()
    repeats = caught = supported = alarms = asked = 0
    for place, run in enumerate(runs):
        pulled = [(run.target, lever.name, lever.value) for lever in run.levers if lever.value]
        levers = tuple(f"{name}={value}" for _, name, value in pulled) if run.stated_levers else ()
        earlier = {path for key in pulled for path in failed[key]}
        if place % step == 0:
            asked += 1
            answer = gate.check(Proposal(proposal_of(db, run.path), before=run.path, levers=levers))
            called[answer.outcome] += 1
            supported += run.verdict.canonical == Verdict.SUPPORTED
            alarms += run.verdict.canonical == Verdict.SUPPORTED and answer.outcome == "repeat"
            if earlier and run.verdict.canonical in FAILED:
                repeats += 1
                caught += answer.outcome != "clear" and bool(earlier & {m.path for m in answer.matches[:3]})
        if run.verdict.canonical in FAILED:
            for key in pulled:
                failed[key].append(run.path)
    return Gated(asked, repeats, caught, supported, alarms, dict(sorted(called.items())))
