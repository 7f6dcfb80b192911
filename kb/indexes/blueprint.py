"""The blueprint: what paid off, in the order in which it did, what compounds, and the traps. Every line is an experiment's own words."""

from collections import Counter, defaultdict
from dataclasses import replace

from kb.graph import Memo, generations, longest_chain
from kb.indexes.notes import cut
from kb.indexes.render import Material, bytes_of, cell, change_of, experiment_rows, json_of, link, page_head
from kb.indexes.topics import Topic
from kb.schema import Verdict
from kb.trail import Facts

_MOST_PHASES = 6
_MOST_ROWS = 8
_HANDFUL = 4


def blueprint_files(topics: tuple[Topic, ...], material: Material, *, memo: Memo) -> dict[str, bytes]:
    """`blueprint.md` and `.json`."""
    topics = _told_once(topics)
    won = [e for e in material.trail.experiments if e.verdict.canonical is Verdict.SUPPORTED]
    phases = _phases(topics, won, memo)
    lines = page_head(
        "Blueprint",
        "Phases in the order in which they paid off on the trails of this wiki; within a phase, what paid, how much, and what failed beside it.",
    )
    rows = []
    for number, phase in enumerate(phases, 1):
        made = [_topic_state(topic, material) for topic in phase]
        rows.append({"phase": number, "topics": made})
        lines += [f"## Phase {number}: {cut(', '.join(t.name for t in phase[:3]), 120)}", ""]
        for topic, state in zip(phase, made, strict=True):
            lines += _topic_lines(topic, state, material)
    chains = _chains(won, material, memo)
    lines += ["## What compounds", ""]
    for target, chain in chains:
        lines += [
            f"- {cell(target, 60)}: "
            + " → ".join(f"{link(e)}{f' ({cell(change_of(e, material), 60)})' if change_of(e, material) else ''}" for e in chain)
        ]
    lines += ["", "## Traps", ""]
    traps = _traps(topics, material)
    for topic, failed, count in traps:
        lines += [
            f"- **{cell(topic.name, 80)}**: {count} of {len(topic.experiments)} tries failed, last {link(failed)}: {cell(failed.because, 200)}"
        ]
    twin = {
        "phases": rows,
        "compounds": [{"target": t, "chain": [e.path for e in c]} for t, c in chains],
        "traps": [{"topic": t.name, "failed": n, "tried": len(t.experiments), "last": f.path} for t, f, n in traps],
    }
    return {"blueprint.md": bytes_of(lines), "blueprint.json": json_of(twin)}


def _told_once(topics: tuple[Topic, ...]) -> tuple[Topic, ...]:
    """The topics with every experiment in one of them only: the most specific that is more than a handful."""
    places: dict[str, list[Topic]] = defaultdict(list)
    for topic in topics:
        for path in topic.experiments:
            places[path].append(topic)
    home = {
        path: min(own, key=lambda t: (len(t.experiments) < _HANDFUL, len(t.experiments), t.anchor)).anchor
        for path, own in places.items()
    }
    return tuple(replace(t, experiments=own) for t in topics if (own := tuple(p for p in t.experiments if home[p] == t.anchor)))


def _phases(topics: tuple[Topic, ...], won: list[Facts], memo: Memo) -> list[list[Topic]]:
    """Topics in layers: one stands before another if more targets gained from it first."""
    supported = {e.path: e for e in won}
    by_name = {t.anchor: t for t in topics if any(p in supported for p in t.experiments)}
    first: dict[str, dict[str, tuple]] = defaultdict(dict)
    for anchor, topic in by_name.items():
        for path in topic.experiments:
            if path in supported:
                e = supported[path]
                first[e.target][anchor] = min(first[e.target].get(anchor, e.order), e.order)
    before: Counter[tuple[str, str]] = Counter()
    for moments in first.values():
        for a, when in moments.items():
            for b, later in moments.items():
                if when < later:
                    before[a, b] += 1
    layers = [[by_name[n] for n in layer] for layer in generations(before, memo=memo)] if before else []
    layers.extend([[t] for a, t in sorted(by_name.items()) if not any(a in pair for pair in before)])
    size = -(-len(layers) // _MOST_PHASES) or 1
    merged = [[t for layer in layers[i : i + size] for t in layer] for i in range(0, len(layers), size)]
    return [sorted(phase, key=lambda t: (-sum(p in supported for p in t.experiments), t.name)) for phase in merged]


def _topic_state(topic: Topic, material: Material) -> dict:
    tried = [material.facts[p] for p in topic.experiments]
    won = [e for e in tried if e.verdict.canonical is Verdict.SUPPORTED]
    failed = [e for e in tried if e.failed]
    # Newest first: a topic is worked out when its last five tries brought nothing.
    saturated = len(tried) >= 5 and not any(e.verdict.canonical is Verdict.SUPPORTED for e in tried[:5])
    return {
        "topic": topic.name,
        "anchor": topic.anchor,
        "tried": len(tried),
        "saturated": saturated,
        "supported": [e.path for e in won],
        "failed": [e.path for e in failed],
    }


def _topic_lines(topic: Topic, state: dict, material: Material) -> list[str]:
    count = f"{len(state['supported'])} of {state['tried']} supported, {len(state['failed'])} failed"
    lines = [
        f"### {cut(topic.name, 160)}",
        "",
        f"{count}{'; worked out: none of the last five tries won' if state['saturated'] else ''}.",
        "",
    ]
    rows = experiment_rows((material.facts[p] for p in state["supported"][:_MOST_ROWS]), material)
    more = len(state["supported"]) - _MOST_ROWS
    return lines + rows + ([f"{more} more in the .json beside this file.", ""] if more > 0 else [])


def _chains(won: list[Facts], material: Material, memo: Memo) -> list[tuple[str, tuple[Facts, ...]]]:
    """Per target the longest line of supported experiments each of which builds on (names or cites) the one before."""
    supported = {e.path: e for e in won}
    steps: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for e in won:
        cited = {e.parent, *material.graph.outlinks.get(e.path, ())}
        for path in cited & supported.keys():
            if supported[path].target == e.target and supported[path].order < e.order:
                steps[e.target].append((path, e.path))
    chains = [(target, tuple(supported[p] for p in longest_chain(pairs, memo=memo))) for target, pairs in sorted(steps.items())]
    return [(target, chain) for target, chain in chains if len(chain) >= 2]


def _traps(topics: tuple[Topic, ...], material: Material) -> list[tuple[Topic, Facts, int]]:
    """Topics whose tries mostly failed, most failures first, with the newest failure."""
    found = []
    for topic in topics:
        failed = [material.facts[p] for p in topic.experiments if material.facts[p].failed]
        if len(failed) >= 2 and 2 * len(failed) > len(topic.experiments):
            found.append((topic, failed[0], len(failed)))
    return sorted(found, key=lambda row: (-row[2], row[0].name))[:20]
