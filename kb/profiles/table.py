"""The one bucket table: what every reader's costs become. Knows no format; refuses a profile without any time in it.

A reader hands over a `Reading`: costs of operations, and idle time if its format has a timeline. `wall` is an operation's
part of the window, where instants shared by k concurrent operations count 1/k each; so shares add to one, however many
streams ran.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import KW_ONLY, dataclass, fields, replace

from kb import KbError, grouped
from kb.profiles.buckets import OPAQUE, bucket_of
from kb.text import one_line

# Buckets that a file, a library or a tool's category names, beyond these many, are summed up as "other": a table is read by eye.
NAMED_AT_MOST = 12
TOP_OPS, OPS_KEPT = 3, 25


@dataclass(frozen=True, slots=True)
class Fact:
    """Something the profile says beside times: a device, a utilisation. Both as text, with unit."""

    name: str
    value: str


@dataclass(frozen=True, slots=True)
class Cost:
    """One operation, times in the reading's unit. `exposed`: no operation of another bucket ran then; None: unknown. `is_place`: its category
    is where its code lies.
    """

    name: str
    self_time: float
    wall: float
    count: int
    category: str = ""
    detail: str = ""
    exposed: float | None = None
    facts: tuple[Fact, ...] = ()
    is_place: bool = False


@dataclass(frozen=True, slots=True)
class ProfileScope:
    """What is known of a profile as a whole. scope: does the time belong to a device or to the host; times are in `unit` (ms, or what the
    tool counted)."""

    kind: str
    scope: str
    unit: str
    _: KW_ONLY
    tracks: int = 1
    steps: int | None = None
    step_time: float | None = None
    facts: tuple[Fact, ...] = ()
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Reading(ProfileScope):
    """What one file gave. idle None: the format cannot tell."""

    costs: tuple[Cost, ...]
    idle: float | None = None


@dataclass(frozen=True, slots=True)
class Op:
    name: str
    bucket: str
    category: str
    self_time: float
    share: float
    count: int
    facts: tuple[Fact, ...]


@dataclass(frozen=True, slots=True)
class Bucket:
    """share: part of the total; self_time may add to more where streams overlap; exposed None: no timeline to tell from."""

    name: str
    share: float
    self_time: float
    exposed: float | None
    count: int
    top_ops: tuple[str, ...]
    categories: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Profile(ProfileScope):
    """The bucket table; shares of buckets add to one, idle included where it is known."""

    source: str
    total: float
    idle_share: float | None
    buckets: tuple[Bucket, ...]
    ops: tuple[Op, ...]


def clean(text: str, *, limit: int = 400) -> str:
    """Text of a profile as it may be printed: one safe line, not longer than `limit`."""
    line = one_line(str(text)[: limit * 4])
    return line if len(line) <= limit else line[: limit - 1] + "…"


def _total(times: Iterable[float | None]) -> float | None:
    """The sum of times; None where one of them is unknown."""
    known = list(times)
    return None if None in known else math.fsum(known)


def _folded(costs: Iterable[Cost]) -> list[Cost]:
    """Costs of the same operation summed; facts of the first. Order: longest first, then name."""
    groups = grouped(
        ((clean(cost.name) or "(no name)", clean(cost.category, limit=80)), cost) for cost in costs
    )
    folded = (
        replace(
            same[0],
            name=name,
            category=category,
            self_time=math.fsum(c.self_time for c in same),
            wall=math.fsum(c.wall for c in same),
            count=sum(c.count for c in same),
            exposed=_total(c.exposed for c in same),
        )
        for (name, category), same in groups.items()
    )
    timed = (c for c in folded if c.wall > 0 or c.self_time > 0)
    return sorted(timed, key=lambda c: (-c.wall, c.name, c.category))


def merge(readings: Sequence[Reading], *, source: str) -> Reading:
    """Files of one profile (ranks, tables of one report) as one; where some are of a device, those of a host are left out."""
    kept = [r for r in readings if r.scope == "device"] or list(readings)
    _refuse_several(
        {r.kind for r in readings},
        f"{source}: holds profiles of several kinds (%s); name one file, or choose with --kind",
    )
    _refuse_several(
        {r.unit for r in kept},
        f"{source}: times in several units (%s) cannot be added; name one file",
    )
    warnings = [w for r in kept for w in r.warnings]
    if beside := len(readings) - len(kept):
        warnings.append(f"{beside} host table(s) left out: shares are of device time")
    return replace(
        kept[0],
        costs=tuple(c for r in kept for c in r.costs),
        tracks=sum(r.tracks for r in kept),
        idle=_total(r.idle for r in kept),
        steps=max(r.steps or 0 for r in kept) or None,
        step_time=_mean([r.step_time for r in kept if r.steps and r.step_time is not None]),
        facts=tuple(dict.fromkeys(f for r in kept for f in r.facts)),
        warnings=tuple(dict.fromkeys(warnings)),
    )


def _mean(times: Sequence[float]) -> float | None:
    return math.fsum(times) / len(times) if times else None


def _refuse_several(names: set[str], message: str) -> None:
    if len(names) > 1:
        # The name of the source may hold marks of its own.
        raise KbError(message.replace("(%s)", f"({', '.join(sorted(names))})"))


def _bucket_names(costs: Sequence[Cost]) -> list[str]:
    """A bucket for each cost; of the buckets that only a file or category names, the smallest go to "other"."""
    names = [bucket_of(c.name, c.category, c.detail, is_place=c.is_place) for c in costs]
    weight = Counter()
    for cost, name in zip(costs, names, strict=True):
        weight[name] += cost.wall
    kept = sorted(weight, key=lambda n: (-weight[n], n))[:NAMED_AT_MOST]
    own = {c.category.strip().lower() for c in costs}
    return [name if name in kept or name not in own else "other" for name in names]


def _bucket(name: str, members: Sequence[Cost], *, total: float) -> Bucket:
    categories = Counter()
    for member in members:
        if member.category.strip().lower() not in OPAQUE:
            categories[member.category] += member.wall
    return Bucket(
        name,
        math.fsum(m.wall for m in members) / total,
        math.fsum(m.self_time for m in members),
        _total(m.exposed for m in members),
        sum(m.count for m in members),
        tuple(m.name for m in members[:TOP_OPS]),
        tuple(sorted(categories, key=lambda c: (-categories[c], c))[:TOP_OPS]),
    )


def profile_from(reading: Reading, *, source: str, way_out: str) -> Profile:
    """The bucket table of a reading. Raises KbError where no operation has any time, with the way out."""
    costs = _folded(reading.costs)
    if not costs:
        raise KbError(f"{source}: no operation with any time in it; {way_out}")
    total = math.fsum(c.wall for c in costs) + (reading.idle or 0.0)
    members: dict[str, list[Cost]] = defaultdict(list)
    ops = []
    for c, name in zip(costs, _bucket_names(costs), strict=True):
        members[name].append(c)
        ops.append(Op(c.name, name, c.category, c.self_time, c.wall / total, c.count, c.facts))
    if reading.idle:
        members["idle"].append(Cost("(gap)", reading.idle, reading.idle, 0, exposed=reading.idle))
    buckets = [_bucket(name, own, total=total) for name, own in members.items()]
    idle = next((b.share for b in buckets if b.name == "idle"), 0.0)
    return Profile(
        **{f.name: getattr(reading, f.name) for f in fields(ProfileScope)},
        source=source,
        total=total,
        idle_share=None if reading.idle is None and not idle else idle,
        buckets=tuple(sorted(buckets, key=lambda b: (-b.share, b.name))),
        ops=tuple(ops[:OPS_KEPT]),
    )
