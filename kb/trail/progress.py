"""Where a target stands by rule: frontier, plateau, nibbling, thrash, balance, closed topics.

Refuses prose: every alarm names its rule and its pages.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from kb.run.direction import Direction
from kb.run.noise import SMALLEST_GAIN, Spread
from kb.run.quantity import number_text
from kb.run.record import Lever, Metric
from kb.schema import FAILED, Verdict
from kb.trail.facts import Facts
from kb.trail.frontier import Step, frontier_of, metric_of
from kb.trail.levers import key_of, levers_in

# HeyGen's stop rule: the best value not improved for eight profile-guided attempts in a row.
PLATEAU = 8
# pi's anti-thrash hook: five discards in a row ask for a rethink.
THRASH = 5
# The retrospective of the TPU loop: five settings to one structural change, stuck for ten runs; a topic refuted five times and
# never supported is closed.
UNBALANCED, STUCK, CLOSED = 5, 10, 5


@dataclass(frozen=True, slots=True)
class Alarm:
    """A rule that fired: code, what it asks for, and the pages that made it fire."""

    code: str
    text: str
    paths: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Progress:
    """How one variant of a target moved by one metric. `band` is the noise of the frontier's own repeats, relative.

    None where nobody measured it.
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
class Topic:
    """One topic of a target's trail: a tag or hypothesis that some, not most, of its runs carry."""

    name: str
    supported: int
    failed: int
    other: int
    paths: tuple[str, ...]

    @property
    def closed(self) -> bool:
        return self.failed >= CLOSED and not self.supported


def nibbles(gains: Sequence[float | None]) -> tuple[int, ...]:
    """Positions at which two kept changes in a row had gained under 1 %: the next one must be structural."""
    small = [g is not None and g < SMALLEST_GAIN for g in gains]
    return tuple(i for i in range(1, len(small)) if small[i] and small[i - 1])


def progress_of(experiments: Sequence[Facts], *, target: str, variant: str, metric: Metric | None) -> Progress:
    """Progress of the experiments of one target and variant, in trail order, by a metric."""
    counts = Counter(str(e.verdict.canonical or "open") for e in experiments)
    direction = metric.direction if metric else None
    best = frontier_of(experiments, stated=metric.name) if metric and direction else None
    steps = best.steps if best else ()
    frontier = next((s for s in steps if best and s.path == best.run.path), None)
    by_path = {e.path: e for e in experiments}
    baseline = next((s for s in steps if by_path[s.path].verdict.canonical is Verdict.BASELINE), None)
    band = best.band if best else None
    plateau = _plateau(experiments, steps)
    alarms = (*_noise_alarms(by_path, frontier, baseline, metric), *_step_alarms(steps), *_streak_alarms(experiments, plateau))
    return Progress(
        target,
        variant,
        metric.name if metric else "",
        metric.unit if metric else "",
        direction,
        len(experiments),
        dict(sorted(counts.items())),
        baseline,
        frontier,
        band,
        plateau,
        steps,
        alarms,
    )


def _plateau(experiments: Sequence[Facts], steps: Sequence[Step]) -> int:
    """Runs with a verdict since the frontier last moved by 1 % or more."""
    moved = {s.path for s in steps if s.gain is None or s.gain >= SMALLEST_GAIN}
    count = 0
    for e in experiments:
        if e.path in moved:
            count = 0
        elif e.verdict.canonical is not None and e.verdict.canonical is not Verdict.BASELINE:
            count += 1
    return count


def _noise_alarms(
    by_path: dict[str, Facts], frontier: Step | None, baseline: Step | None, metric: Metric | None
) -> Iterable[Alarm]:
    for name, step in (("frontier", frontier), ("baseline", baseline)):
        if step is None or metric is None or (name == "baseline" and frontier is not None and step.path == frontier.path):
            continue
        m = by_path[step.path].metric(metric.name)
        if m is None or m.value is None or m.stddev is None:
            if name == "frontier":
                yield Alarm(
                    "noise-unknown",
                    f"nobody measured the noise of the frontier {number_text(step.value)} {metric.unit}: repeat it",
                    (step.path,),
                )
        elif Spread(m.value, m.stddev, m.n).wide:
            yield Alarm(
                "noise-wide",
                f"the {name} {number_text(m.value)} ± {number_text(m.stddev)} {metric.unit} is noise of {m.stddev / abs(m.value or 1):.0%}, over 2 %: "
                "no gain over it is shown until it is measured on a quiet host",
                (step.path,),
            )


def _step_alarms(steps: Sequence[Step]) -> Iterable[Alarm]:
    at = nibbles([s.gain for s in steps])
    if at and at[-1] == len(steps) - 1:
        yield Alarm(
            "nibbling",
            "the last two kept changes gained under 1 %: the next one must be structural, against the first profiled cost",
            tuple(s.path for s in steps[-2:]),
        )


def _streak_alarms(experiments: Sequence[Facts], plateau: int) -> Iterable[Alarm]:
    decided = [e for e in experiments if e.verdict.canonical is not None]
    streak = 0
    for e in reversed(decided):
        if e.verdict.canonical not in FAILED and e.decision != "revert":
            break
        streak += 1
    if streak >= THRASH:
        yield Alarm(
            "thrash",
            f"{streak} failures in a row: stop, profile, and rethink before the next run",
            tuple(e.path for e in decided[-streak:]),
        )
    if plateau >= STUCK:
        moves = moves_of(decided)[-plateau:]
        settings, structural = moves.count("setting"), moves.count("structure")
        if settings >= UNBALANCED * max(1, structural):
            yield Alarm(
                "unbalanced",
                f"the frontier has not moved for {plateau} runs, of which {settings} moved settings and {structural} changed structure: "
                "change structure",
                tuple(e.path for e, move in zip(decided[-plateau:], moves, strict=True) if move == "setting"),
            )


# A change of what is computed, in words of computing at large; the second ones also name the place where a mere setting is moved.
_CHANGES = re.compile(
    r"(?:un)?fus(?:e[ds]?|ing|ions?)|rewr\w*|replac\w*|implement\w*|restructur\w*|port(?:s|ed|ing)?|refactor\w*|vectori[sz]\w*|"
    r"paralleli[sz]\w*|translat\w*|sharded|sharding|pipelined|handwritten"
)
_PLACES = re.compile(
    r"kernels?|algorithms?|layouts?|custom|cach(?:e|ed|ing)|scan|simd|async\w*|pipelin\w*|parallel\w*|schedul\w*|shard\w*"
)
# Said of a run itself, and not of the stack that it stands on: "fuse", where that is "fused".
_ACTS = re.compile(r"fuse|rewrite|replace|implement|restructure|port|refactor|vectori[sz]e|paralleli[sz]e|translate")
# What a mechanism says where something took another's place; its other words mostly describe what was there before.
_REPLACES = re.compile(r"replac\w*|implement\w*|rewr\w*|handwritten|refactor\w*")
_TURNED = re.compile(r"flags?|knobs?|sweep\w*|tun(?:e|ed|es|ing)|settings?|parameters?")
_SWITCH = re.compile(r"true|false|on|off|auto|default|none|yes|no|enabled|disabled|forced", re.IGNORECASE)
# A source file that is named is one that was edited.
_SOURCE = re.compile(
    r"[\w/-]+\.(?:py|pyx|c|cc|cpp|cxx|cu|cuh|h|hpp|rs|go|js|ts|java|kt|swift|zig|jl|cl|metal|mlir|ptx|s|asm|sql)\b"
)
# Runs whose titles, where they are much the same, tell what a trail takes along: each may name the whole stack that the run stands on.
_CONTEXT = 5
# So many letters of a word tell it: "pipeline" is named by `enable_pipelining`.
_STEM = 6

Move = Literal["setting", "structure", ""]


def moves_of(experiments: Iterable[Facts]) -> tuple[Move, ...]:
    """What each run of one target moved, in trail order; empty where its page does not tell, and for reruns and baselines.

    Judged by what is new about a run: levers that the runs before it did not pull, or pulled to another value, and words of its title that theirs
    do not have and that are no part of such a lever's name. `tile=128` and a flag move a setting, whatever the flag is named after; `passes=3 to 1`,
    a source file that was edited, and a title that says "fused" where the runs before it did not are a change of structure.
    """
    moves: list[Move] = []
    before: list[tuple[dict[str, str], set[str]]] = []
    files: set[str] = set()
    for e in experiments:
        words = _words(e.title)
        pulled = {key_of(v.name): v.value for v in e.levers if v.value or v.name.startswith("-")}
        last = before[-1][0] if before else {}
        moved = [
            v
            for v in e.levers
            if (key := key_of(v.name)) in pulled
            and (all(told.get(key) != v.value for told, _ in before) or last.get(key, v.value) != v.value)
        ]
        known = set().union(*(told for _, told in before if 2 * len(told & words) > len(words)))
        named = {w[:_STEM] for v in moved for w in _words(v.name)}
        fresh = {w for w in words if (w not in known or _ACTS.fullmatch(w)) and w[:_STEM] not in named}
        edited = set(_SOURCE.findall(f"{e.title} {e.mechanism}")) - files
        files |= edited
        before = [*before, (pulled, words)][-_CONTEXT:]
        if e.verdict.canonical is Verdict.BASELINE:
            moves.append("")
        elif (
            edited
            or any(map(_is_told, moved))
            or any(map(_CHANGES.fullmatch, fresh))
            or any(map(_REPLACES.fullmatch, _words(e.mechanism[:300])))
        ):
            moves.append("structure")
        elif moved or any(map(_TURNED.fullmatch, fresh)):
            moves.append("setting")
        else:
            moves.append("structure" if any(map(_PLACES.fullmatch, fresh)) else "")
    return tuple(moves)


def balance_of(experiments: Iterable[Facts]) -> tuple[int, int]:
    """(runs that only moved settings, runs that changed structure), of one target's runs in trail order."""
    moves = moves_of(experiments)
    return moves.count("setting"), moves.count("structure")


def _is_told(lever: Lever) -> bool:
    """Whether a lever's value tells a change in words: no number, no switch, no name of an option."""
    value = lever.value
    if not value or _SWITCH.fullmatch(value) or (re.search(r"\d", value) and not re.search(r"[\s/]", value)):
        return False
    return bool(re.search(r"[\s/]", value) or " " in lever.name)


def _words(text: str) -> set[str]:
    return set(re.findall(r"[a-z]{2,}", text.lower().replace("hand-written", "handwritten")))


def topics_of(experiments: Sequence[Facts]) -> tuple[Topic, ...]:
    """Topics of a trail, most tried first: tags and hypotheses that at most half of the runs carry; of two with the same
    runs, one.
    """
    members: dict[str, list[Facts]] = defaultdict(list)
    for e in experiments:
        for name in {*(t.lower() for t in e.tags), *([e.slug] if e.slug and " " not in e.slug else [])} - {
            "experiment",
            "baseline",
            *(str(v) for v in Verdict),
        }:
            members[name].append(e)
    found = []
    told: set[tuple[str, ...]] = set()
    for name, group in sorted(members.items()):
        paths = tuple(e.path for e in group)
        if len(group) * 2 <= max(4, len(experiments)) and paths not in told:
            told.add(paths)
            won = sum(e.verdict.canonical is Verdict.SUPPORTED for e in group)
            failed = sum(e.verdict.canonical in FAILED for e in group)
            found.append(Topic(name, won, failed, len(group) - won - failed, paths))
    return tuple(sorted(found, key=lambda t: (-len(t.paths), t.name)))


def untried_levers(own: Sequence[Facts], others: Iterable[Facts], *, most: int = 10) -> tuple[tuple[str, str], ...]:
    """(lever, page) pairs that are supported on another target and that no run of this one names, newest first."""
    tried = {key_of(lever.name) for e in own for lever in (*e.levers, *levers_in(f"{e.title} {e.setup}"))}
    found: dict[str, tuple[str, str]] = {}
    for e in sorted(others, key=lambda e: e.order, reverse=True):
        if e.verdict.canonical is Verdict.SUPPORTED:
            for lever in levers_in(e.title):
                key = key_of(lever.name)
                if len(key) > 3 and key not in tried:
                    found.setdefault(key, (lever.name, e.path))
    return tuple(found.values())[:most]


def unfiled(log: str, experiments: Sequence[Facts]) -> tuple[str, ...]:
    """Labels of runs (`v023`, `exp 7`) that headings and rows of a log name and that no experiment page has."""
    numbers = {e.number for e in experiments}
    named: dict[str, None] = {}
    for line in log.split("\n"):
        if re.match(r"#{1,4}\s|\s*(?:[-*]\s+)?\*\*|\|", line):
            for m in re.finditer(r"(?<![\w./-])(v|exp ?|run ?)0*(\d{1,4})(?![\d.])", line.split("](")[0], re.IGNORECASE):
                if int(m[2]) not in numbers and not line.lstrip().startswith("| v"):
                    named[m[0].lower()] = None
    return tuple(named)


def by_variant(
    experiments: Iterable[Facts], *, stated: str = "", only: Callable[[Facts], bool] = lambda e: True
) -> tuple[Progress, ...]:
    """Progress of every (target, variant) among the experiments, in that order; the metric is the target's own."""
    groups: dict[tuple[str, str], list[Facts]] = defaultdict(list)
    of_target: dict[str, list[Facts]] = defaultdict(list)
    for e in experiments:
        if only(e):
            groups[e.target, e.variant].append(e)
            of_target[e.target].append(e)
    return tuple(
        progress_of(
            group, target=target, variant=variant, metric=metric_of(group, stated) or metric_of(of_target[target], stated)
        )
        for (target, variant), group in sorted(groups.items())
    )
