"""Time on tracks: whose each instant is. Knows no format; refuses nothing, for reversed and empty intervals have no time.

On one track an instant belongs to the event that started last of those running (of two that start together, to the shorter), so a
caller's self time excludes its callees, and overlaps that do not nest are counted once. On a device with several tracks an
instant in which k of them are busy counts 1/k to each owner; an instant in which none is busy, between the first start and
the last end, is idle.
"""

import heapq
import math
from array import array
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

from kb.profiles.buckets import bucket_of
from kb.profiles.table import Cost


class Operation(NamedTuple):
    """What the events of tracks carry out, by number: `detail` is what the tool says beside its name."""

    name: str
    category: str = ""
    detail: str = ""


class Track:
    """Events of one thread or stream: parallel columns of start, end and operation number."""

    def __init__(self):
        self.starts, self.ends, self.ops = array("d"), array("d"), array("L")

    def add(self, start: float, end: float, *, op: int) -> None:
        self.starts.append(start)
        self.ends.append(end)
        self.ops.append(op)

    def only(self, ops: Collection[int]) -> "Track":
        """The events of some operations."""
        chosen = Track()
        for start, end, op in zip(self.starts, self.ends, self.ops, strict=True):
            if op in ops:
                chosen.add(start, end, op=op)
        return chosen


class Spent(NamedTuple):
    """By operation number: self time over all tracks, part of the device's time, and of that what no other bucket overlapped."""

    self_time: list[float]
    wall: list[float]
    exposed: list[float]
    idle: float


def innermost(track: Track) -> Iterator[tuple[float, float, int]]:
    """The track as disjoint segments (start, end, operation) in order, each owned by one event."""
    starts, ends, ops = track.starts, track.ends, track.ops
    running: list[int] = []
    at = -math.inf
    for event in (*sorted(range(len(starts)), key=lambda i: (starts[i], -ends[i], i)), None):
        start = math.inf if event is None else starts[event]
        while running and at < start:
            until = min(ends[running[-1]], start)
            if until > at:
                yield at, until, ops[running[-1]]
                at = until
            if ends[running[-1]] <= start:
                running.pop()
        if event is not None:
            running.append(event)
        at = start


def _boundaries(track: Track, lane: int) -> Iterator[tuple[float, int, int, int]]:
    """Starts and ends of one track in order; an end comes before a start at the same instant."""
    for start, end, op in innermost(track):
        yield start, 1, lane, op
        yield end, 0, lane, op


def spend(tracks: Sequence[Track], *, bucket_by_op: Sequence[str]) -> Spent:
    """Time of one device: its tracks merged. `bucket_by_op` names each operation's bucket, which decides what is exposed."""
    own, wall, exposed = ([0.0] * len(bucket_by_op) for _ in range(3))
    active: dict[int, int] = {}
    at, idle = math.inf, 0.0
    for time, is_start, lane, op in heapq.merge(*map(_boundaries, tracks, range(len(tracks)))):
        passed = time - at
        if passed > 0:
            idle += 0 if active else passed
            alone = len({bucket_by_op[o] for o in active.values()}) == 1
            for owner in active.values():
                own[owner] += passed
                wall[owner] += passed / len(active)
                exposed[owner] += passed / len(active) if alone else 0
        at = time
        if is_start:
            active[lane] = op
        else:
            del active[lane]
    return Spent(own, wall, exposed, idle)


def costs_of(
    groups: Sequence[Sequence[Track]], ops: Sequence[Operation], *, scale: float = 1.0
) -> tuple[tuple[Cost, ...], float]:
    """What each operation cost on each device (a group of tracks), and the devices' idle time; times are multiplied by `scale`."""
    buckets = [bucket_of(*op) for op in ops]
    costs, idle = [], 0.0
    for tracks in groups:
        own, wall, exposed, gaps = spend(tracks, bucket_by_op=buckets)
        idle += gaps * scale
        counts = Counter(op for track in tracks for op in track.ops)
        for at in sorted(counts):
            name, category, detail = ops[at]
            times = own[at] * scale, wall[at] * scale, counts[at]
            costs.append(Cost(name, *times, category, detail, exposed[at] * scale))
    return tuple(costs), idle
