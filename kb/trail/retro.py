"""The computed part of a retrospective: ledger, mechanism tree, ratios, coverage.

Refuses to narrate: what needs a writer is a marked gap.
"""

import posixpath
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial

from kb import grouped
from kb.graph import generations, longest_chain
from kb.run.noise import least_effect_text
from kb.run.quantity import number_text
from kb.schema import FAILED, Verdict
from kb.text import counted
from kb.trail.facts import Facts
from kb.trail.frontier import kept
from kb.trail.levers import key_of
from kb.trail.progress import Progress, TopicCounts, counts_of, topic_of, topics_of, untried_levers
from kb.trail.standing import Standing
from kb.trail.themes import themes_of

_MARKS = dict.fromkeys(FAILED, "-") | dict(
    zip((Verdict.SUPPORTED, Verdict.BASELINE, Verdict.INCONCLUSIVE), "+=~", strict=True)
)
# Levers of a run by which it is grouped; runs that make a group of a parent's; parents that are told.
_LEVERS, _LITTER, _FERTILE = 4, 3, 5
_LEADS = 20


@dataclass(frozen=True, slots=True)
class Ledger:
    """One run in a retrospective's ledger; `shift` says how it moved the frontier."""

    path: str
    label: str
    date: str
    variant: str
    topic: str
    verdict: str
    shift: str


@dataclass(frozen=True, slots=True)
class Lineage:
    """Which runs build on which: how many name their parent, in how many generations, the longest line, and the most fertile parents."""

    runs: int
    generations: int
    line: tuple[str, ...]
    parents: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class Retro:
    """What a retrospective computes from the trail of one target.

    `topics` are what its pages say they are about; `tree` holds every run once: topics of several runs, shared levers,
    what titles have in common, and the run that several vary; `alone` are the runs that share nothing.
    """

    target: str
    runs: int
    counts: dict[str, int]
    settings: int
    structural: int
    failed_share: float
    topics: tuple[TopicCounts, ...]
    tree: tuple[TopicCounts, ...]
    alone: tuple[str, ...]
    lineage: Lineage
    untried: tuple[tuple[str, str], ...]
    ledger: tuple[Ledger, ...]


def retro_of(standing: Standing, own: Sequence[Facts], others: Sequence[Facts]) -> Retro:
    """Retro of a target from its standing, its own experiments in trail order, and those of other targets."""
    topics = topics_of(own)
    tree, alone = _tree(topics, own)
    topic = {path: t.name for t in (*reversed(topics), *reversed(tree)) for path in t.paths}
    shifts = {
        s.path: "first" if s.gain is None else f"{s.gain:+.1%} {p.metric}"
        for p in standing.progress
        for s in p.steps
    }
    ledger = (
        Ledger(
            e.path,
            _label(e.path),
            e.date,
            e.variant,
            topic.get(e.path, ""),
            str(e.verdict.canonical or "open"),
            shifts.get(e.path, "no"),
        )
        for e in own
    )
    return Retro(
        standing.target,
        len(own),
        counts_of(own),
        standing.settings,
        standing.structural,
        sum(e.failed for e in own) / max(1, len(own)),
        topics,
        tree,
        alone,
        _lineage(own),
        untried_levers(own, others),
        tuple(ledger),
    )


def _label(path: str) -> str:
    return path.rsplit("/", 1)[-1].removesuffix(".md")


def _tree(
    topics: Sequence[TopicCounts], own: Sequence[Facts]
) -> tuple[tuple[TopicCounts, ...], tuple[str, ...]]:
    """(groups, runs in none), every run in one: the largest topic that has it, else a lever that it shares, else what titles have in
    common, else the run that several vary.
    """
    left = list(own)
    groups: list[TopicCounts] = []
    for grouping in (
        lambda _: [(t.name, t.paths) for t in topics],
        _by_lever,
        lambda runs: list(themes_of((e.path, e.title) for e in runs)),
        _by_parent,
    ):
        for name, paths in grouping(left):
            mine = [e for e in left if e.path in paths]
            if len(mine) >= 2:
                groups.append(topic_of(name, mine))
                left = [e for e in left if e not in mine]
    return tuple(sorted(groups, key=lambda t: (-len(t.paths), t.name))), tuple(e.path for e in left)


_Groups = list[tuple[str, Sequence[str]]]


def _shared(runs: Sequence[Facts], keys: Callable[[Facts], Iterable[str]]) -> _Groups:
    """Paths of runs by what they share, the largest group first."""
    groups = grouped((key, e.path) for e in runs for key in dict.fromkeys(keys(e)))
    return sorted(groups.items(), key=lambda group: (-len(group[1]), group[0]))


def _by_lever(runs: Sequence[Facts]) -> _Groups:
    """Levers that several runs pull; one that most of them state says how they are run."""
    names = dict((key_of(v.name), v.name) for e in reversed(runs) for v in e.levers)
    shared = _shared(runs, lambda e: (key_of(v.name) for v in e.levers[:_LEVERS]))
    return [
        (names[k], paths)
        for k, paths in shared
        if 2 * len(paths) <= max(4, len(runs)) and len(k) >= 3
    ]


def _by_parent(runs: Sequence[Facts]) -> _Groups:
    shared = _shared([e for e in runs if e.parent], lambda e: (e.parent,))
    return [
        (f"variations of {_label(parent)}", paths)
        for parent, paths in shared
        if len(paths) >= _LITTER
    ]


def _lineage(own: Sequence[Facts]) -> Lineage:
    runs = {e.path: e for e in own}
    pairs = [(e.parent, e.path) for e in own if e.parent in runs and e.parent != e.path]
    line = longest_chain([(a, b) for a, b in pairs if kept(runs[a]) and kept(runs[b])])
    fertile = _shared([runs[child] for _, child in pairs], lambda e: (e.parent,))[:_FERTILE]
    parents = tuple((parent, len(paths)) for parent, paths in fertile if len(paths) > 1)
    return Lineage(len(pairs), len(generations(pairs)), tuple(line), parents)


_PAGE = """---
title: "Retrospective: {target} as of {date}"
type: analysis
target: {target}
tags: [retrospective]
created: {date}
updated: {date}
headroom: unknown
---

# Retrospective: {target} as of {date}

{runs}: {counts}; {failed:.0%} failed.

{frontiers}

## Search-strategy assessment

{settings} runs moved settings, {structural} changed structure.

{alarms}

<!-- to write: what the search did well and badly -->

## Mechanism tree

`+` supported, `-` failed, `~` inconclusive, `=` baseline, `?` open.

{tree}

{lineage}## Coverage gaps

{gaps}

## Recommended next directions

<!-- to write: directions with gain, confidence and effort -->

## Anti-recommendations

{closed}
<!-- to write: what else not to pursue, and why -->

## Experiment ledger

| run | date | variant | topic | verdict | frontier shift |
|---|---|---|---|---|---|
{ledger}
"""


def markdown_of(
    retro: Retro, standing: Standing, own: Sequence[Facts], *, date: str, folder: str
) -> str:
    """The skeleton of the page of a folder: everything that can be computed, and one marked gap for each paragraph that a writer owes."""
    runs = {e.path: e for e in own}
    link = partial(_link, folder)
    alarms = (
        (f"{a.code} ({p.variant})" if p.variant else a.code, a.text)
        for p in standing.progress
        for a in p.alarms
    )
    untried = (
        f"- `{name}` is supported on another target ([page]({link(path)})) and was not tried here"
        for name, path in retro.untried
    )
    leads = (
        f"- open: [{_plain(lead.text)[:160]}]({link(lead.path)})"
        for lead in standing.leads[:_LEADS]
    )
    ledger = (
        f"| [{r.label}]({link(r.path)}) | {r.date} | {r.variant} | {r.topic} | {r.verdict} | {r.shift} |"
        for r in retro.ledger
    )
    return _PAGE.format(
        target=retro.target,
        date=date,
        runs=counted(retro.runs, "experiments"),
        counts=", ".join(f"{n} {name}" for name, n in retro.counts.items()),
        failed=retro.failed_share,
        frontiers="\n".join(_frontier(p, link) for p in standing.progress if p.frontier),
        settings=retro.settings,
        structural=retro.structural,
        alarms="\n".join(f"- {code}: {text}" for code, text in alarms),
        tree="\n".join(_tree_lines(retro, runs, link)),
        lineage=_lineage_text(retro.lineage, runs, link),
        gaps="\n".join((*untried, *leads)),
        closed="".join(
            f"- **{t.name}**: refuted {t.failed} times, never supported\n"
            for t in retro.topics
            if t.closed
        ),
        ledger="\n".join(ledger),
    )


def _tree_lines(retro: Retro, runs: dict[str, Facts], link: Callable[[str], str]) -> Iterable[str]:
    closed = {t.name for t in retro.topics if t.closed}
    for t in retro.tree:
        state = "; closed" * (t.name in closed)
        yield f"- **{_plain(t.name)}** ({counted(len(t.paths), 'runs')}: {t.supported} supported, {t.failed} failed{state})"
        yield from (f"  - {_run(runs[path], link)}" for path in t.paths)
    if retro.alone:
        yield f"- alone ({counted(len(retro.alone), 'runs')})"
        yield from (f"  - {_run(runs[path], link)}" for path in retro.alone)


def _lineage_text(lineage: Lineage, runs: dict[str, Facts], link: Callable[[str], str]) -> str:
    if not lineage.runs:
        return ""
    lines = [
        f"## Lineage\n\n{lineage.runs} runs name the run that they build on, in {lineage.generations} generations.\n"
    ]
    if lineage.line:
        steps = " → ".join(f"[{_plain(runs[p].title)[:60]}]({link(p)})" for p in lineage.line)
        lines.append(f"- longest line of kept runs, {len(lineage.line)}: {steps}")
    return "\n".join(
        [
            *lines,
            *(f"- {n} runs build on {_run(runs[parent], link)}" for parent, n in lineage.parents),
            "",
            "",
        ]
    )


def _run(e: Facts, link: Callable[[str], str]) -> str:
    return f"`{_MARKS.get(e.verdict.canonical, '?')}` [{_plain(e.title)}]({link(e.path)})"


def _frontier(p: Progress, link: Callable[[str], str]) -> str:
    band = "noise unknown" if p.band is None else f"noise {p.band:.1%}"
    best = f"frontier {number_text(p.frontier.value)} {p.unit} {p.metric} ([page]({link(p.frontier.path)}); {band})"
    return f"- {p.variant or 'all'}: {best}, {p.plateau} runs since it moved by {least_effect_text(p.metric)}"


def _plain(text: str) -> str:
    return text.replace("[", "(").replace("]", ")").replace("\n", " ")


def _link(folder: str, path: str) -> str:
    """A page as linked from a page of a folder."""
    return posixpath.relpath(path, folder).replace(" ", "%20")
