"""Where a target stands by rule: frontier, plateau, nibbling, thrash, balance, closed topics.

Refuses prose: every alarm names its rule and its pages.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from kb import grouped
from kb.run.direction import Direction
from kb.run.noise import WIDE_TEXT, Spread, least_effect_text
from kb.run.quantity import number_text
from kb.run.record import Metric
from kb.schema import Verdict
from kb.text import words_of as _words
from kb.trail.facts import Facts
from kb.trail.frontier import Step, frontier_of, metric_of
from kb.trail.levers import key_of, levers_in
from kb.trail.outline import Phrases

# HeyGen's stop rule: the best value not improved for eight profile-guided attempts in a row.
PLATEAU = 8
# pi's anti-thrash hook: five discards in a row ask for a rethink.
THRASH = 5
# The retrospective of the TPU loop: five settings to one structural change, stuck for ten runs; a
# topic refuted five times and never supported is closed.
UNBALANCED, STUCK, CLOSED = 5, 10, 5


@dataclass(frozen=True, slots=True)
class Alarm:
    """A rule that fired: code, what it asks for, and the pages that made it fire."""

    code: str
    text: str
    paths: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Progress:
    """How one variant of a target moved by one metric. `band` is the noise of the frontier's own
    repeats, relative; None where nobody measured it.
    """

    target: str
    variant: str
    metric: str
    unit: str
    direction: Direction | None
    runs: int
    counts: dict[str, int]
    baseline: Step | None
    frontier: Step | None
    band: float | None
    plateau: int
    steps: tuple[Step, ...]
    alarms: tuple[Alarm, ...]


@dataclass(frozen=True, slots=True)
class TopicCounts:
    """Runs of a trail that share something, and how many of them were supported or failed."""

    name: str
    supported: int
    failed: int
    other: int
    paths: tuple[str, ...]

    @property
    def closed(self) -> bool:
        return self.failed >= CLOSED and not self.supported


def topic_of(name: str, runs: Sequence[Facts]) -> TopicCounts:
    won = sum(e.verdict.canonical is Verdict.SUPPORTED for e in runs)
    failed = sum(e.failed for e in runs)
    return TopicCounts(name, won, failed, len(runs) - won - failed, tuple(e.path for e in runs))


def counts_of(experiments: Iterable[Facts]) -> dict[str, int]:
    """How many runs came out with each verdict; `open` are those without."""
    return dict(sorted(Counter(str(e.verdict.canonical or "open") for e in experiments).items()))


def nibbles(steps: Sequence[Step]) -> tuple[int, ...]:
    """Positions at which two kept changes in a row had gained little: the next one must be structural."""
    return tuple(i for i in range(1, len(steps)) if steps[i].is_small and steps[i - 1].is_small)


def progress_of(
    experiments: Sequence[Facts], *, target: str, variant: str, metric: Metric | None
) -> Progress:
    """Progress of the experiments of one target and variant, in trail order, by a metric."""
    measured = metric or Metric("", None)
    best = frontier_of(experiments, stated=measured.name) if measured.direction else None
    steps = best.steps if best else ()
    by_path = {e.path: e for e in experiments}
    frontier = next((s for s in steps if best and s.path == best.run.path), None)
    baseline = next(
        (s for s in steps if by_path[s.path].verdict.canonical is Verdict.BASELINE), None
    )
    plateau = _plateau(experiments, steps)
    noisy = [
        _noise(name, s, by_path, measured)
        for name, s in (("frontier", frontier), ("baseline", baseline))
    ]
    alarms = (
        *noisy[: 1 if baseline == frontier else 2],
        _nibbling(steps, measured.name),
        *_streaks(experiments, plateau),
    )
    return Progress(
        target,
        variant,
        measured.name,
        measured.unit,
        measured.direction,
        len(experiments),
        counts_of(experiments),
        baseline,
        frontier,
        best.band if best else None,
        plateau,
        steps,
        tuple(filter(None, alarms)),
    )


def _plateau(experiments: Sequence[Facts], steps: Sequence[Step]) -> int:
    """Runs with a verdict since the frontier last moved by what matters."""
    moved = {s.path for s in steps if not s.is_small}
    last = max((at for at, e in enumerate(experiments) if e.path in moved), default=-1)
    return sum(e.verdict.canonical not in (None, Verdict.BASELINE) for e in experiments[last + 1 :])


def _noise(name: str, step: Step | None, runs: dict[str, Facts], metric: Metric) -> Alarm | None:
    own = runs[step.path].metric(metric.name) if step else None
    if step is None:
        return None
    if own is None or own.value is None or own.stddev is None:
        text = f"nobody measured the noise of the frontier {number_text(step.value)} {metric.unit}: repeat it"
        return Alarm("noise-unknown", text, (step.path,)) if name == "frontier" else None
    text = (
        f"the {name} {number_text(own.value)} ± {number_text(own.stddev)} {metric.unit} is noise of "
        f"{own.stddev / abs(own.value or 1):.1%}, over {WIDE_TEXT}: a gain of that size over it shows in many repeats by turns alone, or on a quiet host"
    )
    return (
        Alarm("noise-wide", text, (step.path,))
        if Spread(own.value, own.stddev, own.n).wide
        else None
    )


def _nibbling(steps: Sequence[Step], metric: str) -> Alarm | None:
    text = f"the last two kept changes gained under {least_effect_text(metric)}: the next one must be structural, against the first profiled cost"
    lasts = len(steps) - 1 in nibbles(steps)
    return Alarm("nibbling", text, tuple(s.path for s in steps[-2:])) if lasts else None


def _streaks(experiments: Sequence[Facts], plateau: int) -> Iterable[Alarm]:
    decided = [e for e in experiments if e.verdict.canonical is not None]
    good = (at for at, e in enumerate(decided) if not e.failed and e.decision != "revert")
    lost = decided[max(good, default=-1) + 1 :]
    if len(lost) >= THRASH:
        text = f"{len(lost)} failures in a row: stop, profile, and rethink before the next run"
        yield Alarm("thrash", text, tuple(e.path for e in lost))
    if plateau >= STUCK:
        moves = moves_of(decided)[-plateau:]
        settings, structural = moves.count("setting"), moves.count("structure")
        if settings >= UNBALANCED * max(1, structural):
            text = (
                f"the frontier has not moved for {plateau} runs, of which {settings} moved settings and {structural} "
                "changed structure: change structure"
            )
            paths = (
                e.path
                for e, move in zip(decided[-plateau:], moves, strict=True)
                if move == "setting"
            )
            yield Alarm("unbalanced", text, tuple(paths))


# A change of what is computed, in words of computing at large; of a mere setting; the places where either may be.
_CHANGES = Phrases(
    "(?:un)?fus(?:e|ing|ion), rewr, replac, implement, restructur, port(?:s|ed|ing)?\\b, refactor, vectori[sz], paralleli[sz], "
    "translat, hand[- ]?written"
)
_TURNED = Phrases(
    "flags?\\b, knobs?\\b, sweep, tun(?:e|ed|es|ing)\\b, settings?\\b, parameters?\\b"
)
_PLACES = Phrases(
    "kernel, algorithm, layout, custom, cach, scan, simd, async, pipelin, parallel, schedul, shard"
)
# Runs whose titles tell what a trail takes along: each may name the whole stack that the run stands on.
_CONTEXT = 2

Move = Literal["setting", "structure", ""]


def moves_of(experiments: Iterable[Facts]) -> tuple[Move, ...]:
    """What each run of one target moved, in trail order; empty where its page does not tell, and for baselines.

    Judged by what is new about a run: levers that the runs before it did not pull to this value, else words of its title that theirs do
    not have. `tile=128` and a flag move a setting, whatever the flag is named after; a title that says "fused" where the runs before it
    did not is a change of structure.
    """
    moves: list[Move] = []
    before: list[Facts] = []
    for e in experiments:
        known = {(key_of(v.name), v.value) for other in before for v in other.levers}
        pulled = [v for v in e.levers if v.value or v.name.startswith("-")]
        moved = any((key_of(v.name), v.value) not in known for v in pulled)
        words = {w for other in before for w in _words(other.title)}
        words |= {w for v in pulled for w in _words(v.name)}
        fresh = " ".join(w for w in _words(e.title) if w not in words)
        before = [*before, e][-_CONTEXT:]
        if e.verdict.canonical is Verdict.BASELINE:
            moves.append("")
        elif not _CHANGES.search(fresh) and (moved or _TURNED.search(fresh)):
            moves.append("setting")
        else:
            moves.append("structure" if _CHANGES.search(fresh) or _PLACES.search(fresh) else "")
    return tuple(moves)


def balance_of(experiments: Iterable[Facts]) -> tuple[int, int]:
    """(runs that only moved settings, runs that changed structure), of one target's runs in trail order."""
    moves = moves_of(experiments)
    return moves.count("setting"), moves.count("structure")


def topics_of(experiments: Sequence[Facts]) -> tuple[TopicCounts, ...]:
    """Topics of a trail, most tried first: tags and hypotheses that at most half of the runs carry; of two with the same runs, one."""
    members: dict[str, list[Facts]] = defaultdict(list)
    for e in experiments:
        names = {t.lower() for t in e.tags} | ({e.slug} if " " not in e.slug else set())
        for name in names - {"", "experiment", *map(str, Verdict)}:
            members[name].append(e)
    topics: dict[tuple[str, ...], TopicCounts] = {}
    for name, group in sorted(members.items()):
        if len(group) * 2 <= max(4, len(experiments)):
            topic = topic_of(name, group)
            topics.setdefault(topic.paths, topic)
    return tuple(sorted(topics.values(), key=lambda t: (-len(t.paths), t.name)))


def untried_levers(
    own: Sequence[Facts], others: Iterable[Facts], *, most: int = 10
) -> tuple[tuple[str, str], ...]:
    """(lever, page) pairs that are supported on another target and that no run of this one names, newest first."""
    named = {key_of(v.name) for e in own for v in (*e.levers, *levers_in(f"{e.title} {e.setup}"))}
    levers: dict[str, tuple[str, str]] = {}
    for e in sorted(others, key=lambda e: e.order, reverse=True):
        for lever in levers_in(e.title) if e.verdict.canonical is Verdict.SUPPORTED else ():
            key = key_of(lever.name)
            if len(key) > 3 and key not in named:
                levers.setdefault(key, (lever.name, e.path))
    return tuple(levers.values())[:most]


_LOGGED = re.compile(r"(?<![\w./-])(?:v|exp ?|run ?)0*(\d{1,4})(?![\d.])", re.IGNORECASE)


def unfiled(log: str, experiments: Sequence[Facts]) -> tuple[str, ...]:
    """Labels of runs (`v023`, `exp 7`) that headings and bold lines of a log name and that no experiment page has."""
    numbers = {e.number for e in experiments}
    heads = (
        line.partition("](")[0]
        for line in log.split("\n")
        if line.lstrip("-* ") != line or line.startswith("#")
    )
    named = (m for head in heads for m in _LOGGED.finditer(head) if int(m[1]) not in numbers)
    return tuple(dict.fromkeys(m[0].lower() for m in named))


def by_variant(experiments: Sequence[Facts], *, stated: str = "") -> tuple[Progress, ...]:
    """Progress of every variant of one target's experiments; the metric is the variant's own, else the target's."""
    groups = grouped((e.variant, e) for e in experiments)
    whole = metric_of(experiments, stated)
    return tuple(
        progress_of(
            group, target=group[0].target, variant=variant, metric=metric_of(group, stated) or whole
        )
        for variant, group in sorted(groups.items())
    )
