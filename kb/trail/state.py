"""The state of a target, put together from its trail: configuration, metric, buckets, memory, dead levers, transfers, leads.

Pure: runs in, lines out, each with the page that it stands on. What a page says is quoted whole; what is counted or compared is counted here.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from kb.run.noise import SMALLEST_GAIN_TEXT
from kb.run.quantity import number_text
from kb.schema import Verdict
from kb.text import cut, numbers_in, unit_of
from kb.trail.buckets import bottleneck_line, bucket_lines, repeats_of
from kb.trail.configuration import chain_of, configuration_lines
from kb.trail.dead import dead_lines
from kb.trail.disputed import disputed_lines
from kb.trail.facts import Facts
from kb.trail.frontier import Frontier, frontiers_of, kept
from kb.trail.handles import handle
from kb.trail.leads import lead_lines
from kb.trail.line import Line, quoted
from kb.trail.outcomes import Outcomes, measured, subject_of
from kb.trail.outline import Phrases
from kb.trail.transfers import Lesson, transfer_lines


@dataclass(frozen=True, slots=True)
class State:
    """What one must know of a target before the next run: the lines of each part, the most telling first."""

    target: str
    frontiers: tuple[Frontier, ...]
    parts: Mapping[str, tuple[Line, ...]]

    def near(self, nearness: Mapping[str, float]) -> "State":
        """The same with the lines of parts that are lists by weight in the order in which they answer a question: `nearness` by page."""
        ranked = (part.name for part in STATE_PARTS if part.ranked)
        parts = {name: tuple(_nearest(self.parts[name], nearness)) for name in ranked}
        return State(self.target, self.frontiers, {**self.parts, **parts})


def _nearest(lines: Sequence[Line], nearness: Mapping[str, float]) -> list[Line]:
    """Lines whose page answers a question go ahead, the first ones less easily overtaken."""
    weights = [-1 / (2 + at) - nearness.get(line.path, 0.0) for at, line in enumerate(lines)]
    return [lines[at] for at in sorted(range(len(lines)), key=weights.__getitem__)]


@dataclass(frozen=True, slots=True, kw_only=True)
class StatePart:
    """One part of a state: its heading on the target's page with so many lines at most; the part of a slice that it goes to, what its items
    are called there (`why`) and its share of what a state may cost; what it says, whether its lines are `ranked`, so that a question may
    reorder them, and whether they tell of runs of `others` too.
    """

    name: str
    heading: str
    most: int
    slice: str
    why: str
    share: float
    lines: Callable[[Outcomes], Iterable[Line]]
    ranked: bool = False
    others: bool = False


def state_of(
    runs: Sequence[Facts],
    lessons: Iterable[Lesson] = (),
    kin: Mapping[str, float] | None = None,
    *,
    target: str,
    stated: str = "",
    of: Iterable[StatePart] = (),
) -> State:
    """State of a target (`of` it some parts) from its runs in trail order and from what other targets' runs teach; `stated` is the metric that
    its page names, `kin` how near those targets are.
    """
    outcomes = Outcomes(runs, frontiers_of(runs, stated=stated), lessons=lessons, kin=kin or {})
    parts = {part.name: tuple(part.lines(outcomes)) for part in of or STATE_PARTS}
    return State(target, outcomes.frontiers, parts)


def _standing(outcomes: Outcomes) -> Iterable[Line]:
    """The frontier of every size of work, the present one with all that is known of it, then how all runs came out."""
    for place, f in enumerate(outcomes.frontiers[:4]):
        e = f.run
        if place and not e.metrics:
            continue
        where = f" at size {f.point}" if f.point[:1].isdigit() else f" {f.point}".rstrip()
        gain = outcomes.gains.get(e.path)
        about = [measured(e, 3 if place else 5)]
        yardstick = "the best before it" if e.gain is None else "its parent"
        about += [f"{100 * gain:+.1f} % over {yardstick}"] if gain is not None else []
        about += [] if place else _about_best(outcomes, f)
        head = f"{'best' if place else 'frontier'}{where}: {handle(e.path)} ({e.date}, {e.verdict.canonical or 'open'})"
        yield Line(f"{head}: {'; '.join(filter(None, about))}. {cut(subject_of(e), 150)}", e.path)
        yield from () if place else bottleneck_line(outcomes)
    if outcomes.runs:
        counts = Counter(e.verdict.canonical or "open" for e in outcomes.runs)
        first = next((e for e in outcomes.runs if e.verdict.canonical is Verdict.BASELINE), None)
        base = f"; baseline {handle(first.path)} {measured(first, 2)}" if first else ""
        tally = ", ".join(f"{n} {v}" for v, n in counts.most_common())
        yield Line(f"{len(outcomes.runs)} runs: {tally}{base}", outcomes.runs[-1].path)


def _about_best(outcomes: Outcomes, f: Frontier) -> list[str]:
    """Noise of the present frontier, when it moved last, and its commit."""
    paths = [r.path for r in outcomes.runs]
    still = len(paths) - 1 - paths.index(f.moved) if f.moved in paths else 0
    moved = f"last moved by {SMALLEST_GAIN_TEXT} or more {still} runs ago"
    commit = [f"commit {cut(f.run.commit, 60)}"] if f.run.commit else []
    return [_noise(outcomes, f), moved if still else "moved by the last run", *commit]


def _noise(outcomes: Outcomes, f: Frontier) -> str:
    """The noise of the frontier's own repeats, else what the runs that repeat it measured, else what a page states, its own first and then the newest."""
    if f.band is not None:
        return f"noise ±{100 * f.band:.2g} %"
    values = ", ".join(
        f"{number_text(m.value)} ({handle(e.path)})"
        for e in repeats_of(outcomes, f.run)[-3:]
        if f.metric and (m := e.metric(f.metric.name)) and m.value is not None
    )
    stated = next((e for e in (f.run, *reversed(outcomes.runs)) if e.account.noise), None)
    spread = ""
    if stated:
        share = stated.account.noise[0].text.partition("±")[2].partition("%")[0]
        spread = f"noise ±{share}% by {handle(stated.path)}"
    return (
        "; ".join(filter(None, (f"repeated as {values}" if values else "", spread)))
        or "noise not measured"
    )


_BURST = Phrases(
    "oom, out of memory, exceed, over(?:flow|run), does(?: not|n.t) fit, [kmgt]i?b over, over by"
)


def _free(e: Facts) -> Iterable[Line]:
    """What a run left of its memory, where it says what it used of what there is: `27.1 GiB / 31.25 GiB`, `20.5/31.25 GiB`, `14 of 16 GB`."""
    for text in (n.text.replace("/", " / ") for n in e.account.memory):
        for used, all_ in pairwise(numbers_in(text)):
            unit, between = unit_of(all_.unit), text[used.end : all_.start].strip()
            if (
                between in ("/", "of")
                and unit
                and unit.dimension == "size"
                and used.value <= all_.value
            ):
                left = f"{all_.value - used.value:.3g} of {all_.value:g} {all_.unit}"
                yield Line(f"{handle(e.path)} leaves {left} free", e.path)
                return


def _memory(outcomes: Outcomes) -> Iterable[Line]:
    """What the frontier needs of memory, or the nearest run that it stands on that says, and what did not fit since, newest first."""
    before: list[str] = []
    chain = chain_of(outcomes.runs, outcomes.best) if outcomes.best else []
    held = [(e, e.account.memory) for e in chain if e.account.memory]
    lost = [e for e in reversed(outcomes.runs) if not kept(e)]
    bursts = ((e, [n for n in e.account.memory if _BURST.search(n.text)][:1]) for e in lost)
    burst = [(e, notes) for e, notes in bursts if notes]
    for e, notes in held[:1]:
        yield from _free(e)
        yield from quoted(e, notes[:3], before, most=300)
    for e, notes in (*burst[:3], *((e, notes[:1]) for e, notes in held[1:4]), *burst[3:8]):
        yield from quoted(e, notes, before, most=300)


def _recent(outcomes: Outcomes) -> Iterable[Line]:
    for e in list(reversed(outcomes.runs))[:8]:
        result = outcomes.result(e)
        head = f"{handle(e.path)} [{e.verdict.canonical or 'open'}] {cut(outcomes.change(e), 110)}"
        yield Line(
            f"{head}{f': {result}' if result else ''}; {outcomes.reason(e, 260)}".rstrip("; "),
            e.path,
        )


# A part of a state, of its page and of a slice is one row here. What one leaves of its share the next may use.
STATE_PARTS = (
    StatePart(name="standing", heading="Frontier", most=8, slice="state", why="frontier", share=0.07, lines=_standing),
    StatePart(name="config", heading="Configuration", most=24, slice="state", why="configuration", share=0.17, lines=configuration_lines),
    StatePart(name="profile", heading="Where time goes", most=16, slice="state", why="buckets", share=0.13, lines=bucket_lines),
    StatePart(name="memory", heading="Memory", most=12, slice="state", why="memory", share=0.07, lines=_memory),
    StatePart(name="dead", heading="Levers that failed, by family", most=60, slice="refuted", why="dead", share=0.18, ranked=True, lines=dead_lines),
    StatePart(name="recent", heading="Last runs", most=8, slice="recent", why="recent", share=0.06, lines=_recent),
    StatePart(name="transfers", heading="What other targets won with", most=20, slice="transfers", why="transfers", share=0.19, ranked=True, others=True, lines=transfer_lines),
    StatePart(name="leads", heading="Open leads", most=24, slice="leads", why="leads", share=0.10, ranked=True, lines=lead_lines),
    StatePart(name="disputed", heading="Disputed", most=12, slice="disputed", why="disputed", share=0.03, lines=disputed_lines),
)  # fmt: skip
