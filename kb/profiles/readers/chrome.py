"""Chrome trace events (PyTorch, JAX and XLA, py-spy, any Perfetto JSON) to costs. Knows a device's tracks from a host's.

Format: "Trace Event Format" (complete X, begin B and end E, metadata M; the rest carries no time). Where a device is traced,
the shares are of its time: PyTorch's kernel, gpu_memcpy and gpu_memset events by GPU and stream; XLA's "XLA Ops" line, or the
GPU's streams, of each `/device:` process. Otherwise of the host: XLA's CPU executor (events with an hlo_op), else operators,
else all events.
"""

import math
import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable
from typing import TextIO

from kb.profiles.buckets import file_label
from kb.profiles.jsonstream import Json, pieces
from kb.profiles.registry import Format
from kb.profiles.sheets import number
from kb.profiles.table import Fact, Reading
from kb.profiles.timeline import Operation, Track, costs_of

DEVICE_CATEGORIES = frozenset({"kernel", "gpu_memcpy", "gpu_memset"})
# Spans drawn around operations; they are no operations, and would own their gaps.
SPAN_CATEGORIES = frozenset(
    {"user_annotation", "gpu_user_annotation", "trace", "python_function", "ac2g", "fwdbwd"}
)
DEVICE_PROCESS = re.compile(r"^/device:|/device:(?:TPU|GPU)|^(?:TPU|GPU)[: ]?\d", re.IGNORECASE)
# Lines of an XLA device that repeat the operations' time under other names.
DERIVED_LINES = re.compile(
    r"^(?:steps|xla modules|xla traceme|framework|tensorflow|source|tf |async xla ops|.*name scope)",
    re.IGNORECASE,
)
STEP = re.compile(r"^ProfilerStep#(\d+)$")
US_PER_MS = 1000.0


def _text(value: Json) -> str:
    return value if isinstance(value, str) else "" if value is None else str(value)


class _Trace:
    """What one pass over the events gathers: tracks by process and thread, the names of both, operations by number."""

    def __init__(self):
        self.tracks, self.waiting = defaultdict(Track), defaultdict(list)
        self.names, self.ops, self.steps = defaultdict(str), {}, defaultdict(list)
        self.events = self.broken = self.unclosed = 0
        self.facts, self.warnings = [], []

    def take(self, event: Json) -> None:
        phase = event.get("ph") if isinstance(event, dict) else "broken"
        if phase == "M":
            place = _text(event.get("pid")), _text(event.get("tid"))
            place = {"process_name": place[:1], "thread_name": place}.get(event.get("name"))
            self.names[place] = _text(_arguments(event).get("name"))
        elif phase in ("X", "B", "E", "broken"):
            self.events += phase != "broken"
            self.broken += phase == "broken" or not self._took(phase, event)

    def _took(self, phase: str, event: dict[str, Json]) -> bool:
        """Whether an event that carries time is whole; if so, its time is on its track."""
        place, start = (_text(event.get("pid")), _text(event.get("tid"))), number(event.get("ts"))
        waiting = self.waiting[place]
        if start is None or phase == "E" and not waiting:
            return False
        if phase == "E":
            began, op = waiting.pop()
            self.tracks[place].add(began, max(start, began), op=op)
            return True
        args = _arguments(event)
        name, category = _text(event.get("name")), args.get("hlo_category") or event.get("cat")
        file = args.get("filename")
        category = file_label(file) if isinstance(file, str) else _text(category)
        described = name, category, _text(args.get("tf_op")), "hlo_op" in args
        op = self.ops.setdefault(described, len(self.ops))
        if phase == "B":
            waiting.append((start, op))
            return True
        duration = number(event.get("dur", 0))
        if duration is None or duration < 0:
            return False
        # A step is a PyTorch ProfilerStep or an annotation that carries a step number; the device's echo of it is none.
        step = m[1] if (m := STEP.match(name)) else _text(args.get("step_num"))
        if step and category != "gpu_user_annotation":
            self.steps[step].append(duration)
        self.tracks[place].add(start, start + duration, op=op)
        return True

    def close(self) -> None:
        """What was begun and never ended: as if ended where its track ends."""
        for place, waiting in self.waiting.items():
            track = self.tracks[place]
            last = max((*track.ends, *(start for start, _ in waiting)), default=0.0)
            for start, op in waiting:
                track.add(start, last, op=op)
            self.unclosed += len(waiting)

    def grouped(
        self, places: Iterable[tuple[str, str]], ops: Collection[int]
    ) -> dict[str, list[Track]]:
        """The tracks at some places, by process, with these operations alone."""
        groups: dict[str, list[Track]] = defaultdict(list)
        for place in sorted(places):
            own = self.tracks[place].only(ops)
            if own.ops:
                groups[place[0]].append(own)
        return dict(sorted(groups.items()))

    def numbers(self, wanted: Callable[[str, str, bool], bool]) -> set[int]:
        """The numbers of the operations of which something holds: `wanted(name, category, is_hlo)`."""
        return {
            i for i, (name, category, _, hlo) in enumerate(self.ops) if wanted(name, category, hlo)
        }

    def groups(self) -> tuple[str, dict[str, list[Track]]]:
        """Scope, and the tracks of each device (or host process) with the operations that count."""
        gpu = self.numbers(lambda name, category, hlo: category in DEVICE_CATEGORIES)
        if gpu and (groups := self.grouped(self.tracks, gpu)):
            return "device", groups
        lines = [p for p in self.tracks if DEVICE_PROCESS.search(self.names[p[:1]])]
        if lines:
            if groups := self.grouped(self._operation_lines(lines), range(len(self.ops))):
                return "device", groups
            self.warnings.append(
                "device processes are there but hold no operations; shares are of the host's time"
            )
        hlo = self.numbers(lambda name, category, hlo: hlo)
        operators = self.numbers(
            lambda name, category, hlo: (
                category.lower() not in SPAN_CATEGORIES and not STEP.match(name)
            )
        )
        host = [place for place in self.tracks if place not in lines]
        return "host", self.grouped(host, hlo or operators or range(len(self.ops)))

    def _operation_lines(self, lines: list[tuple[str, str]]) -> list[tuple[str, str]]:
        """Lines of `/device:` processes that hold each operation once: streams, else "XLA Ops", else all not derived from another."""
        chosen, names, ops = [], self.names, [*self.ops]
        for pid in sorted({pid for pid, _ in lines}):
            if "SparseCore" in names[(pid,)]:
                warning = f"'{names[(pid,)]}' left out: shares are of the main cores"
                self.warnings.append(warning)
                continue
            mine = [p for p in lines if p[0] == pid]
            streams = [p for p in mine if names[p].startswith("Stream")]
            main = [p for p in mine if names[p].strip() == "XLA Ops"]
            chosen += streams or main or [p for p in mine if not DERIVED_LINES.match(names[p])]
            for place in mine if not self.steps else ():
                track = self.tracks[place]
                if names[place].strip() == "Steps":
                    for start, end, op in zip(track.starts, track.ends, track.ops, strict=True):
                        self.steps[ops[op][0]].append(end - start)
        return chosen


def _arguments(event: dict[str, Json]) -> dict[str, Json]:
    return args if isinstance(args := event.get("args"), dict) else {}


def _device(device: dict[str, Json]) -> Fact:
    memory, sms = number(device.get("totalGlobalMem")), device.get("numSms")
    sizes = (f"{memory / 2**30:.0f} GiB" if memory else "", f"{sms} SMs" if sms else "")
    return Fact("device", ", ".join(filter(None, (_text(device.get("name")), *sizes))))


def chrome(stream: TextIO, label: str) -> Reading:
    """The trace as costs in ms."""
    trace = _Trace()
    for key, value in pieces(stream, label=label):
        if key in ("", "traceEvents"):
            trace.take(value)
        elif key == "deviceProperties" and isinstance(value, dict):
            trace.facts.append(_device(value))
        elif key == "distributedInfo" and isinstance(value, dict) and "rank" in value:
            rank = f"{_text(value['rank'])} of {_text(value.get('world_size')) or '?'}"
            trace.facts.append(Fact("rank", rank))
    trace.close()
    scope, groups = trace.groups()
    ops = [Operation(*described[:3]) for described in trace.ops]
    costs, idle = costs_of([*groups.values()], ops, scale=1 / US_PER_MS)
    warnings = trace.warnings
    if trace.broken:
        warnings.append(
            f"{trace.broken} of {trace.events} events skipped: no time, or an end without a beginning"
        )
    if trace.unclosed:
        warnings.append(f"{trace.unclosed} event(s) never end; taken to end with their track")
    durations = [sum(d) / len(d) for _, d in sorted(trace.steps.items())]
    labels = dict.fromkeys(trace.names[(pid,)] for pid in groups)
    facts = [*trace.facts, *(Fact("track", name) for name in labels if name.startswith("/"))]
    mean = math.fsum(durations) / len(durations) / US_PER_MS if durations else None
    about = {"tracks": len(groups), "steps": len(durations) or None, "step_time": mean}
    about |= {"facts": tuple(facts), "warnings": tuple(warnings)}
    return Reading("chrome-trace", scope, "ms", costs, idle, **about)


_ABOUT = "Chrome traces of PyTorch, JAX, XLA, py-spy and Perfetto"
_WAY_OUT = "record timed events (X, or B and E) while the program runs"
_KEYS = frozenset(("traceEvents", "ph"))
FORMATS = (Format("chrome-trace", _ABOUT, chrome, way_out=_WAY_OUT, keys=_KEYS),)
