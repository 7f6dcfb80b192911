"""The blueprint: what paid off, in the order in which it did, what compounds, and the traps. Every line is an experiment's own words."""

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import replace

from kb.indexes.gains import kept_only, paid
from kb.indexes.notes import cut
from kb.indexes.render import Material, bytes_of, cell, experiment_rows, link, page_head
from kb.indexes.topics import Topic
from kb.schema import Verdict
from kb.store import to_json
from kb.trail import Facts

_MOST_PHASES = 5
_MOST_ROWS = 8
_MOST_FAILED = 4
_MOST_STEPS = 10
_MOST_OTHER = 20
_HANDFUL = 4


def blueprint_files(
    topics: tuple[Topic, ...], material: Material
) -> tuple[dict[str, bytes], list[list[str]]]:
    """`blueprint.md` and `.json`; and the anchors of each phase's topics."""
    topics = _told_once(topics)
    won = [e for e in material.trail.experiments if paid(e)]
    phases = [
        [(topic, _state(topic, material)) for topic in phase] for phase in _phases(topics, won)
    ]
    chains = _chains(won, material)
    traps = _traps(topics, material)
    lines = page_head(
        "Blueprint",
        "Phases in the order in which they paid off on the trails of this wiki; within a phase, what paid, how much, and what failed beside it. "
        "A run is told once, under the topic whose name it says most of; kept are runs that their loop built on although no verdict supports them.",
    )
    lines += _ladder(phases, material)
    for number, phase in enumerate(phases, 1):
        lines += [f"## Phase {number}: {cut(', '.join(t.name for t, _ in phase[:3]), 120)}", ""]
        for topic, state in phase:
            lines += _topic_lines(topic, state, material)
    listed = {path for t in topics for path in t.experiments}
    other = _by_size((e for e in won if e.path not in listed), material)
    lines += _other_lines(other, material)
    lines += ["## What compounds", "", *_chain_lines(chains, material), "", "## Traps", ""]
    lines += [
        f"- **{cell(topic.name, 80)}**: {count} of {len(topic.experiments)} tries failed, last {link(failed)}: {cell(failed.because, 200)}"
        for topic, failed, count in traps
    ]
    twin = {
        "phases": [
            {"phase": n, "topics": [state for _, state in phase]}
            for n, phase in enumerate(phases, 1)
        ],
        "other": [e.path for e in other],
        "compounds": [{"target": t, "chain": [e.path for e in c]} for t, c in chains],
        "traps": [
            {"topic": t.name, "failed": n, "tried": len(t.experiments), "last": f.path}
            for t, f, n in traps
        ],
    }
    anchors = [[topic.anchor for topic, _ in phase] for phase in phases]
    return {"blueprint.md": bytes_of(lines), "blueprint.json": to_json(twin)}, anchors


def _other_lines(other: list[Facts], material: Material) -> list[str]:
    if not other:
        return []
    rows = experiment_rows(map(material.row, other[:_MOST_OTHER]))
    rest = [f"{len(other) - _MOST_OTHER} more in the .json beside this file.", ""]
    return ["## Gains under no topic", "", *rows, *(rest if len(other) > _MOST_OTHER else [])]


def _told_once(topics: tuple[Topic, ...]) -> tuple[Topic, ...]:
    """The topics with every experiment in one of them only: the one whose name it says most of, else the most specific that is a handful."""
    best: dict[str, tuple] = {}
    for topic in topics:
        for path, listed in zip(topic.experiments, topic.shares, strict=True):
            tie = (
                -round(listed, 1),
                len(topic.experiments) < _HANDFUL,
                len(topic.experiments),
                topic.anchor,
            )
            best[path] = min(best.get(path, tie), tie)
    distinct = []
    for topic in topics:
        own = [
            (p, listed)
            for p, listed in zip(topic.experiments, topic.shares, strict=True)
            if best[p][-1] == topic.anchor
        ]
        if own:
            distinct.append(
                replace(
                    topic, experiments=tuple(p for p, _ in own), shares=tuple(s for _, s in own)
                )
            )
    return tuple(distinct)


def _phases(topics: tuple[Topic, ...], won: list[Facts]) -> list[list[Topic]]:
    """Topics that paid off, in phases by when they first did: the mean over targets of how far along its gains each then was."""
    home = {path: t.anchor for t in topics for path in t.experiments}
    of_target: dict[str, list[str]] = defaultdict(list)
    for e in won:
        if e.path in home:
            of_target[e.target].append(home[e.path])
    places: dict[str, list[float]] = defaultdict(list)
    for _, anchors in sorted(of_target.items()):
        for anchor in dict.fromkeys(anchors):
            places[anchor].append((anchors.index(anchor) + 1) / (len(anchors) + 1))
    gainers = sorted(
        (t for t in topics if t.anchor in places),
        key=lambda t: (sum(places[t.anchor]) / len(places[t.anchor]), t.anchor),
    )
    size = -(-len(gainers) // _MOST_PHASES) or 1
    gains = Counter(home[e.path] for e in won if e.path in home)
    return [
        sorted(gainers[i : i + size], key=lambda t: (-gains[t.anchor], t.anchor))
        for i in range(0, len(gainers), size)
    ]


def _state(topic: Topic, material: Material) -> dict:
    runs = [material.facts[p] for p in topic.experiments]
    # Newest first: a topic is worked out when its last five tries brought nothing.
    saturated = len(runs) >= 5 and not any(map(paid, runs[:5]))
    best = material.best(runs)
    return {
        "topic": topic.name,
        "anchor": topic.anchor,
        "tried": len(runs),
        "saturated": saturated,
        "supported": [e.path for e in runs if e.verdict.canonical is Verdict.SUPPORTED],
        "kept": [e.path for e in runs if kept_only(e)],
        "failed": [e.path for e in runs if e.failed],
        "best": best.path if best else "",
    }


def _ladder(phases: list[list[tuple[Topic, dict]]], material: Material) -> list[str]:
    """One row a phase: what it holds, and the largest gain that one of its runs reports."""
    if not phases:
        return []
    lines = [
        "| Phase | Topics | Tried | Supported | Kept | Failed | Largest gain |",
        "|---:|---|---:|---:|---:|---:|---|",
    ]
    for number, phase in enumerate(phases, 1):
        counts = [
            sum(len(state[of]) for _, state in phase) for of in ("supported", "kept", "failed")
        ]
        best = material.best(material.facts[state["best"]] for _, state in phase if state["best"])
        topics = cell(", ".join(topic.name for topic, _ in phase), 160)
        tries = sum(state["tried"] for _, state in phase)
        lines.append(
            f"| {number} | {topics} | {tries} | {' | '.join(map(str, counts))} | {_gain(best, material) if best else ''} |"
        )
    return [*lines, ""]


def _gain(e: Facts, material: Material) -> str:
    text = material.row(e)["change"]
    return f"{cell(text, 60)}: {link(e)}" if text else link(e)


def _topic_lines(topic: Topic, state: dict, material: Material) -> list[str]:
    kept = f", {len(state['kept'])} kept" if state["kept"] else ""
    worked_out = "; worked out: none of the last five tries won" if state["saturated"] else ""
    lines = [
        f"### {cut(topic.name, 160)}",
        "",
        f"{len(state['supported'])} of {state['tried']} supported{kept}, {len(state['failed'])} failed{worked_out}.",
        "",
    ]
    won = _by_size((material.facts[p] for p in (*state["supported"], *state["kept"])), material)
    lines += experiment_rows(map(material.row, won[:_MOST_ROWS]))
    if len(won) > _MOST_ROWS:
        lines += [f"{len(won) - _MOST_ROWS} more in the .json beside this file.", ""]
    failed = [_gain(material.facts[p], material) for p in state["failed"][:_MOST_FAILED]]
    if failed:
        more = len(state["failed"]) - len(failed)
        lines += [
            f"Failed beside it: {'; '.join(failed)}{f'; and {more} more' if more else ''}.",
            "",
        ]
    return lines


def _by_size(experiments: Iterable[Facts], material: Material) -> list[Facts]:
    return sorted(experiments, key=lambda e: -(material.row(e)["size"] or 0.0))


def _chains(won: list[Facts], material: Material) -> list[tuple[str, tuple[Facts, ...]]]:
    """Per target the longest line of runs that paid off, each of which builds on (names or cites) the one before."""
    best: dict[str, tuple[Facts, ...]] = {}
    longest: dict[str, tuple[Facts, ...]] = {}
    for e in won:  # In trail order, so what a run builds on has its line already.
        cited = (e.parent, *material.graph.outlinks.get(e.path, ()))
        lines = [best[p] for p in cited if p in best and best[p][-1].target == e.target]
        best[e.path] = (
            (*max(lines, key=lambda line: (len(line), line[-1].order)), e) if lines else (e,)
        )
        if len(best[e.path]) > len(longest.get(e.target, (e,))):
            longest[e.target] = best[e.path]
    return sorted(longest.items())


def _chain_lines(chains: Iterable[tuple[str, tuple[Facts, ...]]], material: Material) -> list[str]:
    """A line a target: its steps in order; of a long one those that gained most."""
    lines = []
    for target, chain in chains:
        largest = _by_size(chain, material)[:_MOST_STEPS]
        shown = [e for e in chain if e in largest]
        of = f", the {len(shown)} largest of {len(chain)} steps" if len(shown) < len(chain) else ""
        gains = [cell(material.row(e)["change"], 60) for e in shown]
        steps = [
            f"{link(e)} ({gain})" if gain else link(e) for e, gain in zip(shown, gains, strict=True)
        ]
        lines.append(f"- {cell(target, 60)}{of}: {' → '.join(steps)}")
    return lines


def _traps(topics: tuple[Topic, ...], material: Material) -> list[tuple[Topic, Facts, int]]:
    """Topics whose tries mostly failed, most failures first, with the newest failure."""
    traps = []
    for topic in topics:
        failed = [material.facts[p] for p in topic.experiments if material.facts[p].failed]
        if len(failed) >= 2 and 2 * len(failed) > len(topic.experiments):
            traps.append((topic, failed[0], len(failed)))
    return sorted(traps, key=lambda row: (-row[2], row[0].name))[:20]
