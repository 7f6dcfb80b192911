"""Does a slice hold what the next page itself restates? Facts by rule: settings, metric, buckets, sister wins and dead levers that stood before a run.

A page that says "config as v035: batch 3, sequence 8192, 6,030 tok/s" tells what its author needed to know. Needs no oracle; refuses what no
earlier page says.
"""

import re
import sqlite3
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass

from kb import trail
from kb.run.quantity import number_text
from kb.slices import Loader, Request
from kb.trail.facts import Facts
from kb.trail.frontier import frontier_of, kept
from kb.trail.handles import handle, label_of
from kb.trail.levers import key_of

KINDS = ("configuration", "metric", "buckets", "transfers", "dead")
# The neutral question of a next step, and how much of an item counts: one statement, table or section.
_QUESTION, _LONGEST = "what to try next", 1200
# A trail says little before so many runs.
_LEAST_RUNS = 4
_SHARE = re.compile(r"\d+(?:\.\d+)?\s?%")


@dataclass(frozen=True, slots=True)
class Restated:
    """One fact that a page restates: its kind, and expressions that one item of the slice must hold, all of them, whatever the case."""

    kind: str
    page: str
    words: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FactShare:
    """Share of the facts of a kind that slices held at a budget."""

    kind: str
    budget: int
    facts: int
    share: float


@dataclass(frozen=True, slots=True)
class FactReport:
    """What slices held of what the pages after them restate; `content` is the mean size of a slice's texts in tokens of four characters."""

    pages: int
    shares: tuple[FactShare, ...]
    content: Mapping[int, int]

    def to_json(self) -> dict[str, object]:
        return asdict(self)


def facts_held(
    db: sqlite3.Connection,
    *,
    target: str = "",
    sample: int = 0,
    budgets: Sequence[int],
    note: Callable[[int, int], None] = lambda done, total: None,
) -> FactReport:
    """Ask just before every run of a trail (or before `sample` of them) and count what the slice holds of what its page restates."""
    pages = [(e, facts) for e, earlier in _moments(db, target) if (facts := tuple(restated(e, earlier)))]
    if sample and len(pages) > sample:
        pages = [pages[int(i * len(pages) / sample)] for i in range(sample)]
    loader, hits, sizes = Loader(db), defaultdict(list), defaultdict(list)
    for done, (e, facts) in enumerate(pages):
        note(done, len(pages))
        for budget in budgets:
            slice_ = loader.slice(Request("hypothesis", query=_QUESTION, before=e.path, budget=budget))
            texts = [i.text for part in slice_.parts for i in part.items]
            sizes[budget].append(sum(map(len, texts)) // 4)
            units = [" ".join(t.split())[:_LONGEST].lower() for t in texts]
            for fact in facts:
                held = any(all(re.search(w, unit) for w in fact.words) for unit in units)
                hits[fact.kind, budget].append(held)
                hits["all", budget].append(held)
    shares = tuple(
        FactShare(kind, budget, len(own), round(sum(own) / len(own), 4))
        for kind in (*KINDS, "all")
        for budget in budgets
        if (own := hits.get((kind, budget)))
    )
    return FactReport(len(pages), shares, {b: round(sum(s) / len(s)) for b, s in sizes.items()})


def _moments(db: sqlite3.Connection, target: str) -> Iterable[tuple[Facts, list[Facts]]]:
    """Every run with what ran before it, on all targets."""
    before: list[Facts] = []
    for e in trail.experiments(db):
        if not target or e.target == target:
            yield e, list(before)
        before.append(e)


def restated(e: Facts, earlier: Sequence[Facts]) -> Iterable[Restated]:
    """Facts that a run's page states and that pages before it said."""
    own = [r for r in earlier if r.target == e.target]
    if len(own) < _LEAST_RUNS:
        return
    best = frontier_of(own)
    said = " ".join((e.title, e.hypothesis, e.mechanism, e.setup, e.because, *(n.text for n in e.account.config))).lower()
    had = {(key_of(v.name), v.value) for r in own if kept(r) for v in r.settings if v.value}
    for v in e.settings:
        if v.value and (key_of(v.name), v.value) in had and len(key_of(v.name)) > 1:
            yield Restated("configuration", e.path, (re.escape(v.name.strip("-").lower()), rf"(?<![\w.]){re.escape(v.value.lower())}(?![\w.]*\d)"))
    if best and best.metric and best.metric.value is not None:
        figure = _figure(best.metric.value)
        if re.search(figure, said):
            yield Restated("metric", e.path, (figure,))
        for row in best.run.account.buckets[1:]:
            share = _SHARE.search(row.text)
            name = row.text.split(" · ")[0].split("(")[0].strip().lower()
            if share and name and name in said:
                yield Restated("buckets", e.path, (re.escape(name), re.escape(share[0].lower())))
    known = {r.path: r for r in earlier}
    for path in e.cites:
        if path in known and not kept(known[path]) and known[path].target == e.target:
            yield Restated("dead", e.path, (rf"(?<!\w){re.escape(label_of(path))}(?!\d)", "refut|invalid|crash|oom|inconclus|-\\d|−"))
    for r in earlier:
        if r.target != e.target and kept(r) and r.slug and r.slug == e.slug:
            yield Restated("transfers", e.path, (re.escape(handle(r.path).lower()),))


def _figure(value: float) -> str:
    """A figure as pages write it, with or without commas."""
    whole, _, rest = number_text(value).partition(".")
    digits = "".join(f",?{d}" if i and (len(whole) - i) % 3 == 0 else d for i, d in enumerate(whole))
    return rf"(?<![\d.]){digits}" + (rf"\.{rest}" if rest else "")


def to_text(report: FactReport) -> str:
    """A table for a terminal."""
    budgets = sorted(report.content)
    lines = [f"facts that {report.pages} past pages restate and that pages before them said", f"{'kind':<14} {'facts':>6} " + " ".join(f"{b:>6}" for b in budgets)]
    for kind in (*KINDS, "all"):
        own = {s.budget: s for s in report.shares if s.kind == kind}
        if own:
            lines.append(f"{kind:<14} {own[budgets[0]].facts:>6} " + " ".join(f"{own[b].share:>6.2f}" for b in budgets))
    lines.append(f"{'content tokens':<21} " + " ".join(f"{report.content[b]:>6}" for b in budgets))
    return "\n".join(lines) + "\n"
