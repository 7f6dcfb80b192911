"""The state of a target, put together from its trail: configuration, metric, buckets, memory, dead levers, transfers, leads.

Pure: runs in, lines out, each with the page that it stands on. What a page says is quoted whole; what is counted or compared is counted here.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from kb.run.noise import SMALLEST_GAIN_TEXT
from kb.run.quantity import number_text
from kb.run.record import Lever
from kb.schema import Verdict
from kb.text import cut
from kb.trail.dead import dead_lines
from kb.trail.disputed import disputed_lines
from kb.trail.facts import Facts, Note
from kb.trail.frontier import Frontier, frontiers_of, kept, parents_of
from kb.trail.handles import handle
from kb.trail.leads import lead_lines
from kb.trail.levers import is_common, key_of
from kb.trail.line import Line, repeats
from kb.trail.outcomes import Outcomes, is_repeat, measured, subject_of
from kb.trail.transfers import Win, transfer_lines


@dataclass(frozen=True, slots=True)
class State:
    """What one must know of a target before the next run, most telling line first in every part; `dead` is one line a family of levers."""

    target: str
    frontiers: tuple[Frontier, ...]
    standing: tuple[Line, ...]
    config: tuple[Line, ...]
    profile: tuple[Line, ...]
    memory: tuple[Line, ...]
    recent: tuple[Line, ...]
    dead: tuple[Line, ...]
    transfers: tuple[Line, ...]
    leads: tuple[Line, ...]
    disputed: tuple[Line, ...]


def state_of(
    runs: Sequence[Facts],
    wins: Iterable[Win] = (),
    kin: Mapping[str, float] | None = None,
    *,
    target: str,
    stated: str = "",
    nearness: Mapping[str, float] | None = None,
) -> State:
    """State of a target from its runs in trail order and from other targets' wins; `stated` is the metric that its page names, `kin` how
    near those targets are.

    `nearness` says how much of a question each run answers, where there is one: of two lines the nearer goes first.
    """
    near = nearness or {}
    frontiers = frontiers_of(runs, stated=stated)
    wins = tuple(wins)
    told = Outcomes(runs, frontiers, targets={w.target for w in wins})
    return State(
        target,
        frontiers,
        tuple(_standing(told)),
        tuple(_config(told)),
        tuple(_profile(told)),
        tuple(_memory(told)),
        tuple(_recent(told)),
        tuple(dead_lines(told, near)),
        tuple(transfer_lines(runs, wins, kin or {}, near)),
        tuple(lead_lines(told, near)),
        tuple(disputed_lines(told)),
    )


def _standing(told: Outcomes) -> Iterable[Line]:
    runs = told.runs
    for place, f in enumerate(told.frontiers[:4]):
        e = f.run
        where = f" at size {f.point}" if f.point[:1].isdigit() else f" {f.point}".rstrip()
        gain = next((s.gain for s in f.steps if s.path == e.path), None)
        paths = [r.path for r in runs]
        still = len(paths) - 1 - paths.index(f.moved) if f.moved in paths else 0
        more = [f"{100 * gain:+.1f} % over the best before it"] if gain is not None else []
        if not place:
            more += [_noise(told, f)]
            more += [
                f"last moved by {SMALLEST_GAIN_TEXT} or more {still} runs ago"
                if still
                else "moved by the last run"
            ]
            more += [f"commit {cut(e.commit, 60)}"] if e.commit else []
        figures = measured(e, 5 if not place else 3)
        yield Line(
            f"{'best' if place else 'frontier'}{where}: {handle(e.path)} ({e.date}, {e.verdict.canonical or 'open'}): "
            f"{'; '.join([figures, *more] if figures else more)}. {cut(subject_of(e), 150)}",
            e.path,
        )
    if runs:
        counts = Counter(e.verdict.canonical or "open" for e in runs)
        first = next((e for e in runs if e.verdict.canonical is Verdict.BASELINE), None)
        base = f"; baseline {handle(first.path)} {measured(first, 2)}" if first else ""
        yield Line(
            f"{len(runs)} runs: {', '.join(f'{n} {v}' for v, n in counts.most_common())}{base}",
            runs[-1].path,
        )


def _noise(told: Outcomes, f: Frontier) -> str:
    """The noise of the frontier's own repeats, else what the runs that repeat it measured."""
    parents = parents_of(told.runs)
    repeats = [
        e
        for e in told.runs
        if is_repeat(e)
        and parents.get(e.path) == f.run.path
        and f.metric
        and e.metric(f.metric.name)
    ]
    if f.band is None and repeats:
        values = ", ".join(
            f"{number_text(m.value)} ({handle(e.path)})"
            for e in repeats[-3:]
            if (m := e.metric(f.metric.name)) and m.value is not None
        )
        return f"repeated as {values}"
    return f"noise ±{100 * f.band:.2g} %" if f.band is not None else "noise not measured"


def _chain(runs: Sequence[Facts], best: Frontier) -> list[Facts]:
    """The frontier and what it stands on, nearest first: its parents, then the runs kept before them."""
    by_path, parents = {e.path: e for e in runs}, parents_of(runs)
    chain = [best.run]
    while (parent := by_path.get(parents.get(chain[-1].path, ""))) and parent not in chain:
        chain.append(parent)
    return [*chain, *reversed([e for e in runs if e.order < chain[-1].order and kept(e)])]


# How a run is watched and filed, not how it computes.
_WATCHED = re.compile(
    r"profil|dump|(?:^|_|-)(?:dir|path|steps?|run|name|id|url|version|image|date|log\w*|trace\w*|config)$|\d{4}-\d{2}|^v\d+$",
    re.I,
)


def _settings(told: Outcomes, chain: Sequence[Facts]) -> Iterable[Line]:
    """The frontier's settings by the run that first had them at this value, newest first."""

    def counts(v: Lever) -> bool:
        return (
            not _WATCHED.search(v.name)
            and not any(t.startswith(v.name.lower()) for t in told.names)
            and (bool(v.value) or v.name.startswith("-"))
        )

    own = {key_of(v.name): v for v in chain[0].settings if counts(v)}
    setter: dict[str, Facts] = dict.fromkeys(own, chain[0])
    groups: dict[str, list[str]] = defaultdict(list)
    for e in chain[1:]:
        had = {key_of(v.name): v.value for v in e.settings}
        setter |= {key: e for key, v in own.items() if had.get(key) == v.value}
        for v in e.levers[:6]:
            if v.value and counts(v) and key_of(v.name) not in setter and not is_common(v.name):
                setter[key_of(v.name)] = e
                groups[e.path].append(_shown(v))
    for key, v in own.items():
        groups[setter[key].path].append(_shown(v))
    parts = []
    for e in chain:
        if groups.get(e.path):
            gain = told.gains.get(e.path)
            parts.append(
                f"{handle(e.path)}{f' {100 * gain:+.1f} %' if gain is not None else ''}: {', '.join(groups[e.path])}"
            )
    if parts:
        yield Line("settings by the run that set them: " + "; ".join(parts), chain[0].path)


def _shown(lever: Lever) -> str:
    return f"{lever.name.lstrip('-')}={lever.value}" if lever.value else lever.name


def _quoted(
    e: Facts, notes: Iterable[Note], before: list[str], *, most: int = 420
) -> Iterable[Line]:
    """Notes of a run that say something beside those quoted before."""
    for note in notes:
        if not repeats(note.text, before):
            before.append(note.text)
            yield Line(f"{handle(e.path)}: {cut(note.text, most)}", e.path)


def _config(told: Outcomes) -> Iterable[Line]:
    """The frontier's settings, then how pages put it: its own, the baseline's, those it stands on, those after it."""
    runs, before = told.runs, []
    if told.best is None:
        for e in runs[-1:]:
            yield from _quoted(e, e.account.config[:4], before)
        return
    chain = _chain(runs, told.best)
    yield from _settings(told, chain)
    base = [e for e in runs if e.verdict.canonical is Verdict.BASELINE and e is not chain[0]][:1]
    after = [e for e in reversed(runs) if e.order > chain[0].order][:3]
    order = [
        (chain[0], 12),
        *((e, 4) for e in base),
        *((e, 5) for e in chain[1:3]),
        *((e, 2) for e in after),
        *((e, 3) for e in chain[3:6]),
    ]
    for e, most in order:
        yield from _quoted(e, e.account.config[:most], before, most=1000)


def _profile(told: Outcomes) -> Iterable[Line]:
    """Where time goes: the frontier's buckets, else the latest before it; what moved since the table before; what pages say of it."""
    runs, before = told.runs, []
    if told.best is None:
        return
    best, at = told.best.run, runs.index(told.best.run)
    order = [
        best,
        *reversed([e for e in runs[:at] if kept(e)]),
        *reversed(runs[at + 1 :]),
        *reversed([e for e in runs[:at] if not kept(e)]),
    ]
    tables = [e for e in order if len(e.account.buckets) > 3]
    spoken = [e for e in order if e.account.profile]
    first = tables[0] if tables else None
    for e in dict.fromkeys(
        [*tables[:1], *([best] if best.account.profile else []), *spoken[:1], *tables[1:2]]
    ):
        if e in tables[:2]:
            which = "" if e is best else " (the newest table)" if e is first else " (before)"
            rows = [n.text for n in e.account.buckets]
            yield Line(
                "\n".join([f"buckets of {handle(e.path)}{which}: {rows[0]}", *rows[1:]]), e.path
            )
        yield from _quoted(e, e.account.profile[: 5 if e is best else 2], before)
    if len(tables) > 1 and (moved := _moved(tables[0].account.buckets, tables[1].account.buckets)):
        yield Line(
            f"from {handle(tables[1].path)} to {handle(tables[0].path)}: {'; '.join(moved)}",
            tables[0].path,
        )
    for e in [e for e in reversed(runs[at + 1 :]) if e.account.profile][:4]:
        yield from _quoted(e, e.account.profile[:1], before)


_SHARE = re.compile(r"(\d+(?:\.\d+)?)\s?%")


def _moved(rows: Sequence[Note], before: Sequence[Note]) -> list[str]:
    """Buckets whose share differs by half a point or more between two tables."""

    def shares(table: Sequence[Note]) -> dict[str, float]:
        return {
            n.text.split(" · ")[0].split("(")[0].strip().lower(): float(m[1])
            for n in table[1:]
            if (m := _SHARE.search(n.text))
        }

    now, then = shares(rows), shares(before)
    return [
        f"{name} {then[name]:g} → {share:g} %"
        for name, share in now.items()
        if name in then and abs(share - then[name]) >= 0.5
    ]


_BURST = re.compile(
    r"\boom|out of memory|exceed|over(?:flow|run)|does(?: not|n.t) fit|\bover\b", re.I
)


def _memory(told: Outcomes) -> Iterable[Line]:
    """What the frontier needs of memory, and what did not fit since, newest first."""
    runs, before = told.runs, []
    own = [told.best.run] if told.best else []
    burst = [
        e
        for e in reversed(runs)
        if not kept(e) and any(_BURST.search(n.text) for n in e.account.memory)
    ]
    earlier = [e for e in reversed(runs) if kept(e) and e not in own and e.account.memory]
    for e in own:
        yield from _quoted(e, e.account.memory[:3], before, most=300)
    for e in burst[:3]:
        yield from _quoted(
            e, [n for n in e.account.memory if _BURST.search(n.text)][:1], before, most=260
        )
    for e in earlier[:3]:
        yield from _quoted(e, e.account.memory[:1], before, most=300)
    for e in burst[3:8]:
        yield from _quoted(
            e, [n for n in e.account.memory if _BURST.search(n.text)][:1], before, most=260
        )


def _recent(told: Outcomes) -> Iterable[Line]:
    for e in list(reversed(told.runs))[:8]:
        result = told.result(e)
        head = f"{handle(e.path)} [{e.verdict.canonical or 'open'}] {cut(subject_of(e), 110)}"
        yield Line(
            f"{head}{f': {result}' if result else ''}; {told.reason(e, 260)}".rstrip("; "), e.path
        )
