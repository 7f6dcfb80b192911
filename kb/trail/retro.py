"""The computed part of a retrospective: ledger, mechanism tree, ratios, coverage.

Refuses to narrate: what needs a writer is a marked gap.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from kb.graph import generations, longest_chain
from kb.run.quantity import number_text
from kb.schema import FAILED, Verdict
from kb.trail.facts import Facts
from kb.trail.frontier import kept
from kb.trail.levers import key_of
from kb.trail.progress import Topic, topics_of, untried_levers
from kb.trail.standing import Standing
from kb.trail.themes import themes_of

_MARKS = {Verdict.SUPPORTED: "+", Verdict.BASELINE: "=", Verdict.INCONCLUSIVE: "~", **dict.fromkeys(FAILED, "-")}


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
    topics: tuple[Topic, ...]
    tree: tuple[Topic, ...]
    alone: tuple[str, ...]
    lineage: Lineage
    untried: tuple[tuple[str, str], ...]
    ledger: tuple[Ledger, ...]


def retro_of(standing: Standing, own: Sequence[Facts], others: Sequence[Facts]) -> Retro:
    """Retro of a target from its standing, its own experiments in trail order, and those of other targets."""
    topics = topics_of(own)
    tree, alone = _tree(topics, own)
    topic_of = {path: t.name for t in (*reversed(topics), *reversed(tree)) for path in t.paths}
    steps = {s.path: (s.gain, p.metric) for p in standing.progress for s in p.steps}
    counts: dict[str, int] = {}
    for e in own:
        counts[str(e.verdict.canonical or "open")] = counts.get(str(e.verdict.canonical or "open"), 0) + 1
    failed = sum(e.verdict.canonical in FAILED for e in own)
    ledger = tuple(
        Ledger(
            e.path,
            e.path.rsplit("/", 1)[-1].removesuffix(".md"),
            e.date,
            e.variant,
            topic_of.get(e.path, ""),
            str(e.verdict.canonical or "open"),
            _shift(steps.get(e.path)),
        )
        for e in own
    )
    return Retro(
        standing.target,
        len(own),
        dict(sorted(counts.items())),
        standing.settings,
        standing.structural,
        failed / len(own) if own else 0.0,
        topics,
        tree,
        alone,
        _lineage(own),
        untried_levers(own, others),
        ledger,
    )


def _tree(topics: Sequence[Topic], own: Sequence[Facts]) -> tuple[tuple[Topic, ...], tuple[str, ...]]:
    """(groups, runs in none), every run in one: the largest topic that has it, else a lever that it shares, else what titles have in common, else the run that several vary."""
    by_path = {e.path: e for e in own}
    left = dict.fromkeys(by_path)
    made: list[Topic] = []
    for groups in (_stated, _by_lever, _by_title, _by_parent):
        for name, paths in groups(topics, [by_path[p] for p in left]):
            mine = [p for p in paths if p in left]
            if len(mine) >= 2:
                made.append(_group(name, [by_path[p] for p in mine]))
                left = {p: None for p in left if p not in set(mine)}
    return tuple(sorted(made, key=lambda t: (-len(t.paths), t.name))), tuple(left)


def _group(name: str, runs: Sequence[Facts]) -> Topic:
    won = sum(e.verdict.canonical is Verdict.SUPPORTED for e in runs)
    failed = sum(e.failed for e in runs)
    return Topic(name, won, failed, len(runs) - won - failed, tuple(e.path for e in runs))


def _stated(topics: Sequence[Topic], _: Sequence[Facts]) -> Iterable[tuple[str, Sequence[str]]]:
    return [(t.name, t.paths) for t in topics]


def _by_lever(_: Sequence[Topic], runs: Sequence[Facts]) -> Iterable[tuple[str, Sequence[str]]]:
    """Levers that several runs pull; one that most of them state says how they are run."""
    groups: dict[str, list[str]] = defaultdict(list)
    for e in runs:
        for key in dict.fromkeys(key_of(lever.name) for lever in e.levers[:4]):
            groups[key].append(e.path)
    names = {key_of(lever.name): lever.name for e in reversed(runs) for lever in e.levers}
    shared = [(names[key], paths) for key, paths in groups.items() if 2 * len(paths) <= max(4, len(runs)) and len(key) >= 3]
    return sorted(shared, key=lambda group: (-len(group[1]), group[0]))


def _by_title(_: Sequence[Topic], runs: Sequence[Facts]) -> Iterable[tuple[str, Sequence[str]]]:
    return themes_of((e.path, e.title) for e in runs)


def _by_parent(_: Sequence[Topic], runs: Sequence[Facts]) -> Iterable[tuple[str, Sequence[str]]]:
    groups: dict[str, list[str]] = defaultdict(list)
    for e in runs:
        if e.parent:
            groups[e.parent].append(e.path)
    several = [
        (f"variations of {parent.rsplit('/', 1)[-1].removesuffix('.md')}", own) for parent, own in groups.items() if len(own) >= 3
    ]
    return sorted(several, key=lambda group: (-len(group[1]), group[0]))


_FERTILE = 5


def _lineage(own: Sequence[Facts]) -> Lineage:
    paths = {e.path for e in own}
    pairs = [(e.parent, e.path) for e in own if e.parent in paths and e.parent != e.path]
    children: dict[str, int] = defaultdict(int)
    for parent, _ in pairs:
        children[parent] += 1
    good = {e.path for e in own if kept(e)}
    line = longest_chain([(a, b) for a, b in pairs if a in good and b in good])
    layers = generations(pairs)
    fertile = sorted(children.items(), key=lambda c: (-c[1], c[0]))[:_FERTILE]
    return Lineage(len(pairs), len(layers), tuple(line), tuple((p, n) for p, n in fertile if n > 1))


def _shift(step: tuple[float | None, str] | None) -> str:
    if step is None:
        return "no"
    return "first" if step[0] is None else f"{step[0]:+.1%} {step[1]}"


def markdown_of(retro: Retro, standing: Standing, own: Sequence[Facts], *, date: str) -> str:
    """The page skeleton: everything that can be computed, and one marked gap for each paragraph that a writer owes."""
    by_path = {e.path: e for e in own}
    lines = [
        "---",
        f'title: "Retrospective: {retro.target} as of {date}"',
        "type: analysis",
        f"target: {retro.target}",
        "tags: [retrospective]",
        f"created: {date}",
        f"updated: {date}",
        "headroom: unknown",
        "---",
        "",
        f"# Retrospective: {retro.target} as of {date}",
        "",
    ]
    lines += [
        f"{retro.runs} experiments: "
        + ", ".join(f"{n} {name}" for name, n in retro.counts.items())
        + f"; {retro.failed_share:.0%} failed.",
        "",
    ]
    lines += [f"- {_frontier(p)}" for p in standing.progress if p.frontier] + [""]
    lines += [
        "## Search-strategy assessment",
        "",
        f"{retro.settings} runs moved settings, {retro.structural} changed structure.",
        "",
    ]
    lines += [f"- {w.code}{f' ({p.variant})' if p.variant else ''}: {w.text}" for p in standing.progress for w in p.alarms] + [
        "",
        _gap("what the search did well and badly"),
        "",
    ]
    lines += _tree_lines(retro, by_path)
    lines += _lineage_lines(retro.lineage, by_path)
    lines += ["## Coverage gaps", ""]
    lines += [
        f"- `{name}` is supported on another target ([page]({_link(path)})) and was not tried here"
        for name, path in retro.untried
    ]
    lines += [f"- open: [{_plain(lead.text)[:160]}]({_link(lead.path)})" for lead in standing.leads[:20]]
    lines += [
        "",
        "## Recommended next directions",
        "",
        _gap("directions with gain, confidence and effort"),
        "",
        "## Anti-recommendations",
        "",
    ]
    lines += [f"- **{t.name}**: refuted {t.failed} times, never supported" for t in retro.topics if t.closed] + [
        _gap("what else not to pursue, and why"),
        "",
    ]
    lines += [
        "## Experiment ledger",
        "",
        "| run | date | variant | topic | verdict | frontier shift |",
        "|---|---|---|---|---|---|",
    ]
    lines += [
        f"| [{row.label}]({_link(row.path)}) | {row.date} | {row.variant} | {row.topic} | {row.verdict} | {row.shift} |"
        for row in retro.ledger
    ]
    return "\n".join(lines) + "\n"


def _tree_lines(retro: Retro, by_path: dict[str, Facts]) -> list[str]:
    lines = ["## Mechanism tree", "", "`+` supported, `-` failed, `~` inconclusive, `=` baseline, `?` open.", ""]
    closed = {t.name for t in retro.topics if t.closed}
    for topic in retro.tree:
        state = "; closed" if topic.name in closed else ""
        lines.append(
            f"- **{_plain(topic.name)}** ({len(topic.paths)} runs: {topic.supported} supported, {topic.failed} failed{state})"
        )
        lines += [f"  - {_run(by_path[path])}" for path in topic.paths]
    if retro.alone:
        lines += [f"- alone ({len(retro.alone)} runs)", *(f"  - {_run(by_path[path])}" for path in retro.alone)]
    return [*lines, ""]


def _lineage_lines(lineage: Lineage, by_path: dict[str, Facts]) -> list[str]:
    if not lineage.runs:
        return []
    lines = ["## Lineage", "", f"{lineage.runs} runs name the run that they build on, in {lineage.generations} generations.", ""]
    if lineage.line:
        steps = " → ".join(f"[{_plain(by_path[p].title)[:60]}]({_link(p)})" for p in lineage.line)
        lines.append(f"- longest line of kept runs, {len(lineage.line)}: {steps}")
    lines += [f"- {count} runs build on {_run(by_path[parent])}" for parent, count in lineage.parents]
    return [*lines, ""]


def _run(e: Facts) -> str:
    return f"`{_MARKS.get(e.verdict.canonical, '?')}` [{_plain(e.title)}]({_link(e.path)})"


def _frontier(p) -> str:
    band = "noise unknown" if p.band is None else f"noise {p.band:.1%}"
    return f"{p.variant or 'all'}: frontier {number_text(p.frontier.value)} {p.unit} {p.metric} ([page]({_link(p.frontier.path)}); {band}), {p.plateau} runs since it moved by 1 %"


def _gap(what: str) -> str:
    return f"<!-- to write: {what} -->"


def _plain(text: str) -> str:
    return text.replace("[", "(").replace("]", ")").replace("\n", " ")


def _link(path: str) -> str:
    """A page as linked from wiki/analyses/."""
    return "../" + path.removeprefix("wiki/").replace(" ", "%20")
