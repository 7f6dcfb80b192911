"""Does a slice hold what the next page itself restates? Facts by rule: settings, metric, buckets, sister wins and dead levers that stood before a run.

A page that says "config as v035: batch 3, sequence 8192, 6,030 tok/s" tells what its author needed to know. Needs no oracle; refuses what no
earlier page says.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from kb import trail
from kb.replay.questions import spread
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
_FAILED = "refut|invalid|crash|oom|inconclus|-\\d|−"


@dataclass(frozen=True, slots=True)
class Restated:
    """One fact that a page restates: its kind, and expressions that one item of the slice must hold, all of them, whatever the case."""

    kind: str
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


def facts_held(
    loader: Loader,
    *,
    target: str = "",
    sample: int = 0,
    budgets: Sequence[int],
    note: Callable[[int, int], None] = lambda done, total: None,
) -> FactReport:
    """Ask just before every run of a trail (or before `sample` of them) and count what the slice holds of what its page restates."""
    runs = trail.experiments(loader.db)
    restatements = (
        (e, tuple(restated(e, runs[:n]))) for n, e in enumerate(runs) if target in ("", e.target)
    )
    pages = spread([(e, facts) for e, facts in restatements if facts], sample)
    hits, sizes = defaultdict(list), defaultdict(list)
    for done, (e, facts) in enumerate(pages):
        note(done, len(pages))
        for budget in budgets:
            request = Request("hypothesis", query=_QUESTION, before=e.path, budget=budget)
            texts = [i.text for part in loader.slice(request).parts for i in part.items]
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


def restated(e: Facts, earlier: Sequence[Facts]) -> Iterable[Restated]:
    """Facts that a run's page states and that pages before it said."""
    own = [r for r in earlier if r.target == e.target]
    if e.target and len(own) >= _LEAST_RUNS:
        yield from _settings(e, own)
        yield from _figures(e, own)
        yield from _runs(e, earlier)


def _settings(e: Facts, own: Sequence[Facts]) -> Iterable[Restated]:
    had = {(key_of(v.name), v.value) for r in own if kept(r) for v in r.settings if v.value}
    for v in e.settings:
        if (key_of(v.name), v.value) in had and len(key_of(v.name)) > 1:
            value = rf"(?<![\w.]){re.escape(v.value.lower())}(?![\w.]*\d)"
            yield Restated("configuration", (re.escape(v.name.strip("-").lower()), value))


def _figures(e: Facts, own: Sequence[Facts]) -> Iterable[Restated]:
    best = frontier_of(own)
    if not best or not best.metric or best.metric.value is None:
        return
    config = (n.text for n in e.account.config)
    message = " ".join((e.title, e.hypothesis, e.mechanism, e.setup, e.because, *config)).lower()
    if re.search(figure := figure_of(best.metric.value), message):
        yield Restated("metric", (figure,))
    for row in best.run.account.buckets[1:]:
        share = _SHARE.search(row.text)
        name = row.text.split(" · ")[0].split("(")[0].strip().lower()
        if share and name and name in message:
            yield Restated("buckets", (re.escape(name), re.escape(share[0].lower())))


def _runs(e: Facts, earlier: Sequence[Facts]) -> Iterable[Restated]:
    for r in earlier:
        if r.target == e.target and r.path in e.cites and not kept(r):
            yield Restated("dead", (rf"(?<!\w){re.escape(label_of(r.path))}(?!\d)", _FAILED))
        if r.target != e.target and kept(r) and r.slug and r.slug == e.slug:
            yield Restated("transfers", (re.escape(handle(r.path).lower()),))


def figure_of(value: float) -> str:
    """A figure as pages write it, with or without commas."""
    whole, _, rest = number_text(value).partition(".")
    digits = re.sub(r"(?<=\d)(?=(?:\d{3})+$)", ",?", whole)
    return rf"(?<![\d.]){digits}" + (rf"\.{rest}" if rest else "")


def to_text(report: FactReport) -> str:
    """A table for a terminal."""
    if not report.pages:
        return "no past page restates what pages before it said; there is nothing to replay yet\n"
    budgets = sorted(report.content)
    lines = [
        f"facts that {report.pages} past pages restate and that pages before them said",
        f"{'kind':<14} {'facts':>6} " + " ".join(f"{b:>6}" for b in budgets),
    ]
    for kind in (*KINDS, "all"):
        if own := {s.budget: s for s in report.shares if s.kind == kind}:
            shares = " ".join(f"{own[b].share:>6.2f}" for b in budgets)
            lines.append(f"{kind:<14} {own[budgets[0]].facts:>6} {shares}")
    lines.append(f"{'content tokens':<21} " + " ".join(f"{report.content[b]:>6}" for b in budgets))
    return "\n".join(lines) + "\n"
