"""The state of a target, put together from its trail: configuration, metric, buckets, memory, dead levers, transfers, leads.

Pure: runs in, lines out, each with the page that it stands on. What a page says is quoted whole; what is counted or compared is counted here.
A lever that won later is not dead; of statements that disagree none is called right.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise

from kb import grouped
from kb.run.noise import SMALLEST_GAIN, gain_of, least_effect_text
from kb.run.quantity import number_text
from kb.schema import Verdict
from kb.text import counted, cut, numbers_in, unit_of
from kb.trail.buckets import bottleneck_line, bucket_lines, repeats_of
from kb.trail.configuration import chain_of, configuration_lines
from kb.trail.facts import Facts
from kb.trail.frontier import (
    Frontier,
    frontiers_of,
    kept,
    metric_of,
    parents_of,
    points_of,
)
from kb.trail.handles import handle
from kb.trail.leads import lead_lines
from kb.trail.levers import is_common, key_of, levers_in
from kb.trail.line import Line, quoted
from kb.trail.outcomes import DIGITS, Outcomes, is_repeat, measured, subject_of
from kb.trail.outline import Phrases
from kb.trail.transfers import Lesson, transfer_lines

# Tries of one family that are told, and of them those that are told with their reason.
_TRIES, _REASONS = 7, 3
# So many runs at the end say what is known now: their reasons are told at length.
_NEWEST = 2
# Runs that did not fit and are named.
_BURSTS = 8
# Rows of a page's tables that make a line.
_ROWS = 4
# Rules of kb's verdicts that leave open whether a lever works.
_OPEN_RULES = frozenset(("no-op", "undecided", "criterion-open", "noise-unknown"))


def families_of(
    runs: Sequence[Facts], names_of_targets: frozenset[str] = frozenset()
) -> list[tuple[str, list[Facts]]]:
    """Runs by the lever that they share; what is alone has an empty name."""
    names: dict[str, str] = {}
    counts: Counter[str] = Counter()
    keys: dict[str, list[str]] = {}
    for e in runs:
        levers = [
            v
            for v in (*levers_in(e.title), *e.levers[:4])
            if len(key_of(v.name)) >= 3 and not is_common(v.name)
        ]
        own = {
            key_of(v.name): v.name
            for v in levers
            if not any(t.startswith(v.name.lower()) for t in names_of_targets)
        }
        keys[e.path] = list(own)
        counts.update(own.keys())
        names = own | names
    most = max(3, len(runs) / 4)
    groups: dict[str, list[Facts]] = defaultdict(list)
    alone: list[tuple[str, list[Facts]]] = []
    for e in runs:
        shared = [k for k in keys[e.path] if 2 <= counts[k] <= most]
        if shared:
            groups[names[min(shared, key=lambda k: (counts[k], k))]].append(e)
        else:
            alone.append(("", [e]))
    return [*groups.items(), *alone]


def dead_lines(outcomes: Outcomes) -> Iterable[Line]:
    """One line a family with failures and one a page whose tables tell of failures, newest first."""
    age = {e.path: at for at, e in enumerate(reversed(outcomes.runs))}
    judged = [e for e in outcomes.runs if e.verdict.canonical not in (None, Verdict.BASELINE)]
    rules = ((e, e.because.rpartition("Rule: ")[2].strip("`. ")) for e in judged)
    decided = [e for e, rule in rules if rule not in _OPEN_RULES and _is_decided(e)]
    families = []
    for name, group in families_of(decided, outcomes.names):
        lost = sorted((e for e in group if not kept(e)), key=lambda e: age[e.path])
        if lost:
            weight = 1 / (2 + age[lost[0].path]) + 0.02 * min(len(lost), 5)
            families.append((-weight, _family(outcomes, name, size=len(group), lost=lost)))
    for e in outcomes.runs:
        for place, line in enumerate(_tables(outcomes, e)):
            families.append((-1 / (2 + age[e.path] + place), line))
    yield from (line for _, line in sorted(families, key=lambda f: (f[0], f[1].text)))


def _is_decided(e: Facts) -> bool:
    """Whether a run says something of its lever; of those that kb measured some say nothing."""
    return e.failed or kept(e) or e.rule in ("", "tie")


def _family(outcomes: Outcomes, name: str, *, size: int, lost: Sequence[Facts]) -> Line:
    alike = grouped((DIGITS.sub("#", outcomes.change(e)), e) for e in lost)
    tries = [_try(outcomes, same, place) for place, same in enumerate([*alike.values()][:_TRIES])]
    more = f" | and {len(alike) - _TRIES} more" if len(alike) > _TRIES else ""
    head = f"{name} ({size - len(lost)} of {size} won): " if name and size > 1 else ""
    return Line(head + " | ".join(tries) + more, lost[0].path)


def _tables(outcomes: Outcomes, e: Facts) -> Iterable[Line]:
    """What a page's tables say failed beside the run itself, without what has a page of its own; a few rows a line."""
    rows = [
        t.text for t in e.account.attempts if t.won is False and not outcomes.has_page(t.subject)
    ]
    for at in range(0, len(rows), _ROWS):
        head = f"{handle(e.path)} also tried: "
        yield Line(f"{head}{' | '.join(rows[at : at + _ROWS])}", e.path, head)


def _try(outcomes: Outcomes, same: Sequence[Facts], place: int) -> str:
    """A try with its result and reason, and those that differ from it by figures alone by these and their results."""
    e, *others = same
    newest = e in outcomes.runs[-_NEWEST:]
    most = 640 if newest else 90 if place else 200
    reason = outcomes.reason(e, most) if newest or place < _REASONS else ""
    result = ", ".join(x for x in (str(e.verdict.canonical), outcomes.result(e)) if x)
    values = (
        f"{' '.join((handle(o.path), *DIGITS.findall(outcomes.change(o))))}: {outcomes.result(o) or o.verdict.canonical}"
        for o in others
    )
    other_values = f" (also {', '.join(values)})" if others else ""
    return f"{handle(e.path)} {cut(outcomes.change(e), 90)}: {result}{other_values}{f'; {reason}' if reason else ''}"


def disputed_lines(outcomes: Outcomes) -> Iterable[Line]:
    """One line a dispute, newest first."""
    lines = [*_unconfirmed(outcomes), *_both_ways(outcomes)]
    yield from (line for _, line in sorted(lines, key=lambda x: x[0], reverse=True))


def _unconfirmed(outcomes: Outcomes) -> Iterable[tuple[tuple[str, int, str], Line]]:
    """Runs whose metric a repeat missed by 1 % or more of it, or by half of the gain that it had brought."""
    if not outcomes.metric or not outcomes.metric.direction:
        return
    by_path, parents = {e.path: e for e in outcomes.runs}, parents_of(outcomes.runs)
    for e in outcomes.runs:
        first = by_path.get(parents.get(e.path, "")) if is_repeat(e) else None
        one, two = (x.metric(outcomes.metric.name) if x else None for x in (first, e))
        if not (first and one and two and one.value and two.value is not None):
            continue
        gain = gain_of(two.value, one.value, direction=outcomes.metric.direction) or 0.0
        if abs(gain) >= min(SMALLEST_GAIN, max(0.002, outcomes.gains.get(first.path, 1.0) / 2)):
            text = f"{outcomes.metric.name}: {handle(first.path)} {number_text(one.value)}, its repeat {handle(e.path)} {number_text(two.value)} ({100 * gain:+.1f} %)"
            yield e.order, Line(text, e.path)


def _both_ways(outcomes: Outcomes) -> Iterable[tuple[tuple[str, int, str], Line]]:
    """Settings that one run's verdict supports and another's refutes at the same size of work."""
    points = points_of(outcomes.runs)
    tries = grouped(
        ((f"{v.name}={v.value}", key_of(v.name), points[e.path]), e)
        for e in outcomes.runs
        if e.verdict.canonical in (Verdict.SUPPORTED, Verdict.REFUTED)
        for v in levers_in(e.title)
        if v.value and not is_common(v.name) and len(key_of(v.name)) > 2
    )
    for (name, _, _), runs in tries.items():
        won, lost = [e for e in runs if kept(e)], [e for e in runs if not kept(e)]
        if won and lost and len(runs) <= 4:
            sides = (
                f"{handle(e.path)} {e.verdict.canonical} ({outcomes.result(e) or cut(subject_of(e), 60)})"
                for e in (won[-1], lost[-1])
            )
            yield max(e.order for e in runs), Line(f"{name}: {', but '.join(sides)}", lost[-1].path)


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
    variant: str = "",
    of: Iterable[StatePart] = (),
) -> State:
    """State of a target (`of` it some parts) from its runs in trail order and from what other targets' runs teach; `stated` is the metric that
    its page names, `kin` how near those targets are; the frontier of a `variant` goes first.
    """
    frontiers = sorted(
        frontiers_of(runs, stated=stated),
        key=lambda f: variant not in ("", f.run.variant),
    )
    outcomes = Outcomes(runs, frontiers, lessons=lessons, kin=kin or {})
    parts = {part.name: tuple(part.lines(outcomes)) for part in of or STATE_PARTS}
    return State(target, outcomes.frontiers, parts)


def _standing(outcomes: Outcomes) -> Iterable[Line]:
    """The frontier of every size of work, the present one with all that is known of it, then how all runs came out."""
    for place, f in enumerate(outcomes.frontiers[:4]):
        if not place or f.run.metrics:
            yield _best(outcomes, f, first=not place)
        yield from () if place else bottleneck_line(outcomes)
    yield from _undecided(outcomes)
    if outcomes.runs:
        counts = Counter(e.verdict.canonical or "open" for e in outcomes.runs)
        first = next((e for e in outcomes.runs if e.verdict.canonical is Verdict.BASELINE), None)
        base = f"; baseline {handle(first.path)} {measured(first, 2)}" if first else ""
        tally = ", ".join(f"{n} {v}" for v, n in counts.most_common())
        yield Line(f"{counted(len(outcomes.runs), 'runs')}: {tally}{base}", outcomes.runs[-1].path)


def _best(outcomes: Outcomes, f: Frontier, *, first: bool) -> Line:
    """One frontier; where nothing is measured no run is the best, and the last one that was kept is told."""
    e, gain = f.run, outcomes.gains.get(f.run.path)
    where = f" at size {f.point}" if f.point[:1].isdigit() else f" {f.point}".rstrip()
    about = [measured(e, 5 if first else 3)]
    yardstick = "the best before it" if e.gain is None else "its parent"
    about += [f"{100 * gain:+.1f} % over {yardstick}"] if gain is not None else []
    about += _about_best(outcomes, f) if first and f.metric else []
    called = "frontier" if outcomes.metric else "kept last"
    outcome = ", ".join(filter(None, (e.date, e.verdict.canonical or "open")))
    head = f"{called if first else 'best'}{where}: {handle(e.path)} ({outcome}): "
    figures = "; ".join(filter(None, about))
    return Line(f"{head}{figures}{'. ' if figures else ''}{cut(subject_of(e), 150)}", e.path)


def _undecided(outcomes: Outcomes) -> Iterable[Line]:
    """The best figure of a trail most of whose runs say no verdict, where nothing that was kept is as good."""
    metric = outcomes.metric or metric_of(outcomes.runs)
    if not metric or not metric.direction:
        return
    sign = 1 if metric.direction == "higher" else -1
    values = {e.path: m.value for e in outcomes.runs if (m := e.metric(metric.name))}
    runs = [e for e in outcomes.runs if not (e.verdict.canonical or e.running)]
    runs = [e for e in runs if values.get(e.path) is not None]
    best = max(runs, key=lambda e: sign * values[e.path], default=None)
    standing = values.get(outcomes.best.run.path) if outcomes.best else None
    if best and 2 * len(runs) > len(outcomes.runs):
        if standing is None or sign * values[best.path] > sign * standing:
            figure = f"{metric.name} {number_text(values[best.path])}"
            text = f"best that no verdict decides: {handle(best.path)}: {figure}. {cut(subject_of(best), 150)}"
            yield Line(text, best.path)


def _about_best(outcomes: Outcomes, f: Frontier) -> list[str]:
    """Noise of the present frontier, when it moved last, and its commit."""
    paths = [r.path for r in outcomes.runs]
    still = len(paths) - 1 - paths.index(f.moved) if f.moved in paths else 0
    moved = f"last moved by {least_effect_text(f.metric.name)} or more {counted(still, 'runs')} ago"
    return [
        outcomes.against and f"next to a run without a page here: {outcomes.against.rstrip('.')}",
        _noise(outcomes, f),
        moved if still else "moved by the last run",
        f.run.commit and f"commit {cut(f.run.commit, 60)}",
    ]


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
    share = stated.account.noise[0].text.partition("±")[2].partition("%")[0] if stated else ""
    spread = (
        f"repeated as {values}" if values else "",
        f"noise ±{share}% by {handle(stated.path)}" if stated else "",
    )
    return "; ".join(filter(None, spread)) or "noise not measured"


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
                yield Line(
                    f"{handle(e.path)} leaves {all_.value - used.value:.3g} of {all_.value:g} {all_.unit} free",
                    e.path,
                )
                return


def _memory(outcomes: Outcomes) -> Iterable[Line]:
    """What the frontier needs of memory, or the nearest run that it stands on that says, and what did not fit since, newest first."""
    before: list[str] = []
    chain = chain_of(outcomes.runs, outcomes.best) if outcomes.best else []
    held = [(e, e.account.memory) for e in chain if e.account.memory]
    lost = [e for e in reversed(outcomes.runs) if not kept(e)]
    burst = [e for e in lost if any(_BURST.search(n.text) for n in e.account.memory)]
    for e, notes in held[:1]:
        yield from _free(e)
        yield from quoted(e, notes[:3], before, most=300)
    if burst:
        tries = (
            f"{handle(e.path)} {cut(outcomes.change(e), 60)} {outcomes.result(e)}" for e in burst
        )
        yield Line(f"did not fit: {'; '.join(islice(tries, _BURSTS))}", burst[0].path)
    for e, notes in held[1:4]:
        yield from quoted(e, notes[:1], before, most=300)


def _recent(outcomes: Outcomes) -> Iterable[Line]:
    for e in list(reversed(outcomes.runs))[:8]:
        # Without a figure in common each run tells its own.
        result = outcomes.result(e) or ("" if outcomes.metric else measured(e, 3))
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
