"""Time on tracks: whose each instant is. Knows no format; refuses nothing, for reversed and empty intervals have no time.

On one track an instant belongs to the event that started last of those running (of two that start together, to the shorter), so a
caller's self time excludes its callees, and overlaps that do not nest are counted once. On a device with several tracks an
instant in which k of them are busy counts 1/k to each owner; an instant in which none is busy, between the first start and
the last end, is idle.
"""

import heapq
import math
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from kb.profiles.buckets import bucket_of
from kb.profiles.table import Cost

Segment = tuple[float, float, int]


class Operation(NamedTuple):
    """What the events of tracks carry out, by number: `detail` is what the tool says beside its name."""

    name: str
    category: str = ""
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Track:
    """Events of one thread or stream: parallel columns of start, end and operation number."""

    starts: array = field(default_factory=lambda: array("d"))
    ends: array = field(default_factory=lambda: array("d"))
    ops: array = field(default_factory=lambda: array("L"))

    def add(self, start: float, end: float, *, op: int) -> None:
        self.starts.append(start)
        self.ends.append(end)
        self.ops.append(op)


@dataclass(frozen=True, slots=True)
class Spent:
    """By operation number: self time over all tracks, part of the device's time, and of that what no other bucket overlapped."""

    self_time: list[float]
    wall: list[float]
    exposed: list[float]
    counts: list[int]
    idle: float


def innermost(track: Track) -> Iterator[Segment]:
    """The track as disjoint segments in order, each owned by one event's operation."""
    starts, ends, ops = track.starts, track.ends, track.ops
    order = sorted(range(len(starts)), key=lambda i: (starts[i], -ends[i], i))
    running: list[int] = []
    at = 0.0
    for event in order:
        start = starts[event]
        while running and ends[running[-1]] <= start:
            owner = running.pop()
            if ends[owner] > at:
                yield at, ends[owner], ops[owner]
                at = ends[owner]
        if running and start > at:
            yield at, start, ops[running[-1]]
        if ends[event] > start:
            running.append(event)
        at = start
    while running:
        owner = running.pop()
        if ends[owner] > at:
            yield at, ends[owner], ops[owner]
            at = ends[owner]


def _boundaries(segments: Iterator[Segment], lane: int) -> Iterator[tuple[float, int, int, int]]:
    """Starts and ends of one track in order; an end comes before a start at the same instant."""
    for start, end, op in segments:
        yield start, 1, lane, op
        yield end, 0, lane, op


def spend(tracks: Sequence[Track], *, bucket_by_op: Sequence[str]) -> Spent:
    """Time of one device: its tracks merged. `bucket_by_op` names each operation's bucket, which decides what is exposed."""
    size = len(bucket_by_op)
    spent_self, wall, exposed, counts = [0.0] * size, [0.0] * size, [0.0] * size, [0] * size
    for track in tracks:
        for op in track.ops:
            counts[op] += 1
    active: dict[int, int] = {}
    at, idle = math.inf, 0.0
    for time, is_start, lane, op in heapq.merge(
        *(_boundaries(innermost(t), lane) for lane, t in enumerate(tracks))
    ):
        passed = time - at
        if passed > 0:
            if not active:
                idle += passed
            else:
                part = passed / len(active)
                alone = len(active) == 1 or len({bucket_by_op[o] for o in active.values()}) == 1
                for owner in active.values():
                    spent_self[owner] += passed
                    wall[owner] += part
                    if alone:
                        exposed[owner] += part
        at = time
        if is_start:
            active[lane] = op
        else:
            active.pop(lane, None)
    return Spent(spent_self, wall, exposed, counts, idle)


def costs_of(
    groups: Sequence[Sequence[Track]], ops: Sequence[Operation], *, scale: float = 1.0
) -> tuple[tuple[Cost, ...], float]:
    """What each operation cost on each device (a group of tracks), and the devices' idle time; times are multiplied by `scale`."""
    buckets = [bucket_of(*op) for op in ops]
    costs, idle = [], 0.0
    for tracks in groups:
        spent = spend(tracks, bucket_by_op=buckets)
        idle += spent.idle * scale
        for at, op in enumerate(ops):
            own, wall, exposed = (
                t[at] * scale for t in (spent.self_time, spent.wall, spent.exposed)
            )
            costs += (
                [Cost(op.name, own, wall, spent.counts[at], op.category, op.detail, exposed)]
                if spent.counts[at]
                else []
            )
    return tuple(costs), idle
