"""The blueprint: what paid off, in the order in which it did, what compounds, and the traps. Every line is an experiment's own words."""

from collections import Counter, defaultdict
from collections.abc import Iterable

from kb import grouped
from kb.indexes.gains import paid
from kb.indexes.notes import cut
from kb.indexes.render import cell, index_file, link, run_table, table
from kb.indexes.topic_files import Material, best_of, change_at
from kb.indexes.topics import Topic
from kb.schema import FAILED, Verdict
from kb.store import to_json

_MOST_PHASES = 5
_MOST_ROWS = 8
_MOST_FAILED = 4
_MOST_STEPS = 10
_MOST_OTHER = 20
_HANDFUL = 4
# By target the longest line of runs that build on one another.
Chains = list[tuple[str, tuple[dict, ...]]]
_LEAD = (
    "Phases in the order in which they paid off on the trails of this wiki; within a phase, what paid, how much, and what failed beside it. "
    "A run is told once, under the topic whose name it says most of; kept are runs that their loop built on although no verdict supports them."
)


def blueprint_files(
    topics: tuple[Topic, ...], material: Material
) -> tuple[dict[str, bytes], list[list[str]]]:
    """`blueprint.md` and `.json`; and the anchors of each phase's topics."""
    names, home = {t.anchor: t.name for t in topics}, _homes(topics)
    newest = sorted(home, key=lambda p: material.facts[p].order, reverse=True)
    own = grouped((home[path], material.runs[path]) for path in newest)
    won = [row for row in material.runs.values() if paid(row)]
    phases = [
        [_state(anchor, names[anchor], own[anchor]) for anchor in p] for p in _phases(home, won)
    ]
    other = _by_size(row for row in won if row["path"] not in home)
    chains = _chains(won, material)
    traps = _traps(names, own)
    twin = {
        "phases": [{"phase": n, "topics": phase} for n, phase in enumerate(phases, 1)],
        "other": [row["path"] for row in other],
        "compounds": [{"target": t, "chain": [row["path"] for row in c]} for t, c in chains],
        "traps": traps,
    }
    lines = _lines(phases, other, chains, traps, material)
    anchors = [[state["anchor"] for state in phase] for phase in phases]
    text = index_file("Blueprint", _LEAD, lines)
    return {"blueprint.md": text, "blueprint.json": to_json(twin)}, anchors


def _lines(
    phases: list[list[dict]],
    other: list[dict],
    chains: Chains,
    traps: list[dict],
    material: Material,
) -> list[str]:
    lines = _ladder(phases, material)
    for number, phase in enumerate(phases, 1):
        title = cut(", ".join(state["topic"] for state in phase[:3]), 120)
        lines += [f"## Phase {number}: {title}", ""]
        lines += (line for state in phase for line in _topic_lines(state, material))
    if other:
        lines += ["## Gains under no topic", "", *run_table(other[:_MOST_OTHER])]
        lines += _more(len(other) - _MOST_OTHER)
    lines += ["## What compounds", "", *_chain_lines(chains), ""]
    lines += ["## Traps", "", *(_trap_line(trap, material) for trap in traps)]
    return lines


def _homes(topics: tuple[Topic, ...]) -> dict[str, str]:
    """Run -> the topic that it is told under: the one whose name it says most of, else the most specific that is a handful."""
    best: dict[str, tuple] = {}
    for topic in topics:
        size = len(topic.experiments)
        for path, share in zip(topic.experiments, topic.shares, strict=True):
            claim = -round(share, 1), size < _HANDFUL, size, topic.anchor
            best[path] = min(best.get(path, claim), claim)
    return {path: anchor for path, (*_, anchor) in best.items()}


def _phases(home: dict[str, str], won: list[dict]) -> list[list[str]]:
    """Topics that paid off, in phases by when they first did: the mean over targets of how far along its gains each then was."""
    of_target = grouped((row["target"], home[row["path"]]) for row in won if row["path"] in home)
    places = defaultdict[str, list[float]](list)
    for _, anchors in sorted(of_target.items()):
        for anchor in dict.fromkeys(anchors):
            places[anchor].append((anchors.index(anchor) + 1) / (len(anchors) + 1))
    order = sorted(places, key=lambda a: (sum(places[a]) / len(places[a]), a))
    size = -(-len(order) // _MOST_PHASES) or 1
    gains = Counter(anchor for anchors in of_target.values() for anchor in anchors)
    phases = (order[i : i + size] for i in range(0, len(order), size))
    return [sorted(phase, key=lambda a: (-gains[a], a)) for phase in phases]


def _state(anchor: str, name: str, rows: list[dict]) -> dict:
    best = best_of(rows)
    return {
        "topic": name,
        "anchor": anchor,
        "tried": len(rows),
        # Newest first: a topic is worked out when its last five tries brought nothing.
        "saturated": len(rows) >= 5 and not any(map(paid, rows[:5])),
        "supported": [row["path"] for row in rows if row["verdict"] == Verdict.SUPPORTED],
        "kept": [row["path"] for row in rows if row["kept"]],
        "failed": [row["path"] for row in rows if row["verdict"] in FAILED],
        "best": best["path"] if best else "",
    }


def _ladder(phases: list[list[dict]], material: Material) -> list[str]:
    """One row a phase: what it holds, and the largest gain that one of its runs reports."""
    rows = []
    for number, phase in enumerate(phases, 1):
        kinds = ("supported", "kept", "failed")
        counts = [sum(len(state[kind]) for state in phase) for kind in kinds]
        best = best_of(material.runs[state["best"]] for state in phase if state["best"])
        topics = cell(", ".join(state["topic"] for state in phase), 160)
        gain = change_at(best) if best else ""
        rows.append((number, topics, sum(state["tried"] for state in phase), *counts, gain))
    columns = ("#Phase", "Topics", "#Tried", "#Supported", "#Kept", "#Failed", "Largest gain")
    return table(*columns, rows=rows)


def _topic_lines(state: dict, material: Material) -> list[str]:
    kept = f", {len(state['kept'])} kept" if state["kept"] else ""
    worked_out = "; worked out: none of the last five tries won" if state["saturated"] else ""
    counts = f"{len(state['supported'])} of {state['tried']} supported{kept}, {len(state['failed'])} failed"
    won = _by_size(material.runs[p] for p in (*state["supported"], *state["kept"]))
    lines = [f"### {cut(state['topic'], 160)}", "", f"{counts}{worked_out}.", ""]
    lines += [*run_table(won[:_MOST_ROWS]), *_more(len(won) - _MOST_ROWS)]
    if failed := [change_at(material.runs[p]) for p in state["failed"][:_MOST_FAILED]]:
        left = len(state["failed"]) - len(failed)
        more = f"; and {left} more" if left else ""
        lines += [f"Failed beside it: {'; '.join(failed)}{more}.", ""]
    return lines


def _more(count: int) -> list[str]:
    return [f"{count} more in the .json beside this file.", ""] if count > 0 else []


def _by_size(rows: Iterable[dict]) -> list[dict]:
    return sorted(rows, key=lambda row: -(row["size"] or 0.0))


def _chains(won: list[dict], material: Material) -> Chains:
    """Per target the longest line of runs that paid off, each of which builds on (names or cites) the one before."""
    best: dict[str, tuple[dict, ...]] = {}
    longest: dict[str, tuple[dict, ...]] = {}
    for row in won:  # In trail order, so what a run builds on has its line already.
        path, target = row["path"], row["target"]
        cited = (material.facts[path].parent, *material.graph.outlinks.get(path, ()))
        lines = [best[p] for p in cited if p in best and material.runs[p]["target"] == target]
        newest = max(
            lines,
            key=lambda line: (len(line), material.facts[line[-1]["path"]].order),
            default=(),
        )
        best[path] = (*newest, row)
        if len(best[path]) > max(1, len(longest.get(target, ()))):
            longest[target] = best[path]
    return sorted(longest.items())


def _chain_lines(chains: Chains) -> Iterable[str]:
    """A line a target: its steps in order; of a long one those that gained most."""
    for target, chain in chains:
        largest = _by_size(chain)[:_MOST_STEPS]
        shown = [row for row in chain if row in largest]
        of = f", the {len(shown)} largest of {len(chain)} steps" if len(shown) < len(chain) else ""
        gains = (f" ({cell(row['change'], 60)})" if row["change"] else "" for row in shown)
        steps = (f"{link(row)}{gain}" for row, gain in zip(shown, gains, strict=True))
        yield f"- {cell(target, 60)}{of}: {' → '.join(steps)}"


def _traps(names: dict[str, str], own: dict[str, list[dict]]) -> list[dict]:
    """Topics whose tries mostly failed, most failures first, with the newest failure."""
    traps = []
    for anchor, rows in own.items():
        failed = [row["path"] for row in rows if row["verdict"] in FAILED]
        if len(failed) >= 2 and 2 * len(failed) > len(rows):
            about = {"topic": names[anchor], "failed": len(failed), "tried": len(rows)}
            traps.append({**about, "last": failed[0]})
    return sorted(traps, key=lambda trap: (-trap["failed"], trap["topic"]))[:20]


def _trap_line(trap: dict, material: Material) -> str:
    because = cell(material.facts[trap["last"]].because, 200)
    tries = f"{trap['failed']} of {trap['tried']} tries failed"
    last = link(material.runs[trap["last"]])
    return f"- **{cell(trap['topic'], 80)}**: {tries}, last {last}: {because}"
