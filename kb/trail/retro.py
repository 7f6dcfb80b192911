"""The computed part of a retrospective: ledger, mechanism tree, ratios, coverage.

Refuses to narrate: what needs a writer is a marked gap.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from kb.run.quantity import number_text
from kb.schema import FAILED, Verdict
from kb.trail.facts import Facts
from kb.trail.progress import Topic, topics_of, untried_levers
from kb.trail.standing import Standing

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
class Retro:
    """What a retrospective computes from the trail of one target."""

    target: str
    runs: int
    counts: dict[str, int]
    settings: int
    structural: int
    failed_share: float
    topics: tuple[Topic, ...]
    untried: tuple[tuple[str, str], ...]
    ledger: tuple[Ledger, ...]


def retro_of(standing: Standing, own: Sequence[Facts], others: Sequence[Facts]) -> Retro:
    """Retro of a target from its standing, its own experiments in trail order, and those of other targets."""
    topics = topics_of(own)
    topic_of = {path: t.name for t in reversed(topics) for path in t.paths}
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
        untried_levers(own, others),
        ledger,
    )


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
    lines += ["## Mechanism tree", "", "`+` supported, `-` failed, `~` inconclusive, `=` baseline.", ""]
    shown: set[str] = set()
    for topic in retro.topics:
        if len(topic.paths) == 1 and topic.paths[0] in shown:
            continue
        shown.update(topic.paths)
        state = "; closed" if topic.closed else ""
        lines.append(f"- **{topic.name}** ({len(topic.paths)} runs: {topic.supported} supported, {topic.failed} failed{state})")
        lines += [
            f"  - `{_MARKS.get(by_path[path].verdict.canonical, '?')}` [{_plain(by_path[path].title)}]({_link(path)})"
            for path in topic.paths
        ]
    lines += ["", "## Coverage gaps", ""]
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
