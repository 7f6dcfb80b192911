"""Chrome trace events (PyTorch, JAX and XLA, py-spy, any Perfetto JSON) to costs. Knows a device's tracks from a host's.

Format: "Trace Event Format" (complete X, begin B and end E, metadata M; the rest carries no time). Where a device is traced,
the shares are of its time: PyTorch's kernel, gpu_memcpy and gpu_memset events by GPU and stream; XLA's "XLA Ops" line, or the
GPU's streams, of each `/device:` process. Otherwise of the host: XLA's CPU executor (events with an hlo_op), else operators,
else all events.
"""

import math
import re
from array import array
from collections import defaultdict
from dataclasses import dataclass, field

from kb import KbError
from kb.profiles.buckets import file_label
from kb.profiles.jsonstream import Cursor, Json
from kb.profiles.registry import Format
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

TrackKey = tuple[str, str]


@dataclass(slots=True)
class _Trace:
    """What one pass over the events gathers."""

    tracks: dict[TrackKey, Track] = field(default_factory=lambda: defaultdict(Track))
    ops: dict[tuple[str, str, str, bool], int] = field(default_factory=dict)
    processes: dict[str, str] = field(default_factory=dict)
    threads: dict[TrackKey, str] = field(default_factory=dict)
    open_events: dict[TrackKey, list[tuple[float, int]]] = field(
        default_factory=lambda: defaultdict(list)
    )
    steps: dict[str, array] = field(default_factory=lambda: defaultdict(lambda: array("d")))
    facts: list[Fact] = field(default_factory=list)
    events: int = 0
    broken: int = 0
    unclosed: int = 0
    cut: bool = False

    def op(self, name: str, category: str, *, detail: str, hlo: bool) -> int:
        return self.ops.setdefault((name, category, detail, hlo), len(self.ops))


def _number(value: Json) -> float | None:
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            return None
    return (
        float(value)
        if isinstance(value, (int, float))
        and not isinstance(value, bool)
        and abs(value) < 1e300
        and math.isfinite(value)
        else None
    )


def _text(value: Json) -> str:
    return value if isinstance(value, str) else "" if value is None else str(value)


def _metadata(trace: _Trace, event: dict[str, Json]) -> None:
    args = event.get("args")
    name = _text(args.get("name")) if isinstance(args, dict) else ""
    pid, tid = _text(event.get("pid")), _text(event.get("tid"))
    if event.get("name") == "process_name":
        trace.processes[pid] = name
    elif event.get("name") == "thread_name":
        trace.threads[pid, tid] = name


def _step(trace: _Trace, name: str, args: dict[str, Json], *, duration: float) -> None:
    """A step is a PyTorch ProfilerStep or an annotation that carries a step number."""
    match = STEP.match(name)
    if match:
        trace.steps[match[1]].append(duration)
    elif "step_num" in args:
        trace.steps[_text(args["step_num"])].append(duration)


def _event(trace: _Trace, event: dict[str, Json]) -> None:
    phase = event.get("ph")
    if phase == "M":
        return _metadata(trace, event)
    if phase not in ("X", "B", "E"):
        return None
    trace.events += 1
    start = _number(event.get("ts"))
    track = _text(event.get("pid")), _text(event.get("tid"))
    if start is None:
        trace.broken += 1
        return None
    if phase == "E":
        if not trace.open_events[track]:
            trace.broken += 1
            return None
        began, op = trace.open_events[track].pop()
        return trace.tracks[track].add(began, max(start, began), op=op)
    args = event.get("args")
    args = args if isinstance(args, dict) else {}
    name, category = (
        _text(event.get("name")),
        _text(args.get("hlo_category")) or _text(event.get("cat")),
    )
    if isinstance(args.get("filename"), str):
        category = file_label(_text(args["filename"]))
    op = trace.op(name, category, detail=_text(args.get("tf_op")), hlo="hlo_op" in args)
    if phase == "B":
        trace.open_events[track].append((start, op))
        return None
    duration = _number(event.get("dur", 0))
    if duration is None or duration < 0:
        trace.broken += 1
        return None
    if (
        category != "gpu_user_annotation"
    ):  # the device's echo of a step, from its first kernel to its last
        _step(trace, name, args, duration=duration)
    return trace.tracks[track].add(start, start + duration, op=op)


def _close_open(trace: _Trace) -> None:
    """Begun and never ended: as if ended where its track ends."""
    for track, waiting in trace.open_events.items():
        if not waiting:
            continue
        ends = trace.tracks[track].ends
        last = max(max(ends, default=0.0), max(start for start, _ in waiting))
        for start, op in waiting:
            trace.tracks[track].add(start, last, op=op)
            trace.unclosed += 1


def _gather(cursor: Cursor) -> _Trace:
    trace = _Trace()

    def events(*, may_stay_open: bool) -> None:
        for _ in cursor.elements(may_stay_open=may_stay_open):
            event = cursor.value()
            if isinstance(event, dict):
                _event(trace, event)
            else:
                trace.broken += 1

    if cursor.peek() == "[":
        events(may_stay_open=True)
    else:
        is_trace = False
        for key in cursor.members():
            if key == "traceEvents":
                is_trace = True
                events(may_stay_open=False)
            elif key == "deviceProperties":
                trace.facts.extend(_device_facts(cursor.value()))
            elif key == "distributedInfo":
                info = cursor.value()
                if isinstance(info, dict) and "rank" in info:
                    trace.facts.append(
                        Fact(
                            "rank",
                            f"{_text(info['rank'])} of {_text(info.get('world_size')) or '?'}",
                        )
                    )
        if not is_trace:
            raise KbError(f"{cursor.label}: has no 'traceEvents'; is it a Chrome trace?")
    _close_open(trace)
    return trace


def _device_facts(devices: Json) -> list[Fact]:
    facts = []
    for device in devices if isinstance(devices, list) else []:
        if isinstance(device, dict):
            memory = _number(device.get("totalGlobalMem"))
            parts = [
                _text(device.get("name")),
                f"{memory / 2**30:.0f} GiB" if memory else "",
                f"{_text(device.get('numSms'))} SMs" if "numSms" in device else "",
            ]
            facts.append(Fact("device", ", ".join(p for p in parts if p)))
    return facts


def _groups(trace: _Trace) -> tuple[str, dict[str, list[Track]], list[str]]:
    """Scope, tracks by device (or host process) with the operations that count, and warnings."""
    names = list(trace.ops)
    warnings: list[str] = []

    def picked(
        keep: frozenset[int] | None, tracks: dict[TrackKey, Track]
    ) -> dict[str, list[Track]]:
        groups: dict[str, list[Track]] = defaultdict(list)
        for (pid, _), track in sorted(tracks.items()):
            chosen = track if keep is None else _only(track, keep)
            if chosen.ops:
                groups[pid].append(chosen)
        return groups

    gpu = frozenset(
        i for i, (_, category, _, _) in enumerate(names) if category in DEVICE_CATEGORIES
    )
    if gpu and (groups := picked(gpu, trace.tracks)):
        return "device", groups, warnings
    lines = {
        key: track
        for key, track in trace.tracks.items()
        if DEVICE_PROCESS.search(trace.processes.get(key[0], ""))
    }
    if lines:
        groups = picked(None, _operation_lines(trace, lines, warnings))
        if groups:
            return "device", groups, warnings
        warnings.append(
            "device processes are there but hold no operations; shares are of the host's time"
        )
    hlo = frozenset(i for i, (_, _, _, is_hlo) in enumerate(names) if is_hlo)
    operators = frozenset(
        i
        for i, (name, category, _, _) in enumerate(names)
        if category.lower() not in SPAN_CATEGORIES and not STEP.match(name)
    )
    host = {key: track for key, track in trace.tracks.items() if key not in lines}
    return "host", picked(hlo or operators or None, host), warnings


def _operation_lines(
    trace: _Trace, lines: dict[TrackKey, Track], warnings: list[str]
) -> dict[TrackKey, Track]:
    """Lines of `/device:` processes that hold each operation once: streams, else "XLA Ops", else all not derived from another."""
    chosen: dict[TrackKey, Track] = {}
    names = list(trace.ops)
    for pid in sorted({key[0] for key in lines}):
        if "SparseCore" in trace.processes.get(pid, ""):
            warnings.append(f"'{trace.processes[pid]}' left out: shares are of the main cores")
            continue
        mine = {key: track for key, track in lines.items() if key[0] == pid}
        streams = {k: t for k, t in mine.items() if trace.threads.get(k, "").startswith("Stream")}
        ops = {k: t for k, t in mine.items() if trace.threads.get(k, "").strip() == "XLA Ops"}
        chosen.update(
            streams
            or ops
            or {k: t for k, t in mine.items() if not DERIVED_LINES.match(trace.threads.get(k, ""))}
        )
        for key, track in mine.items():
            if trace.threads.get(key, "").strip() == "Steps" and not trace.steps:
                for start, end, op in zip(track.starts, track.ends, track.ops, strict=True):
                    trace.steps[names[op][0]].append(end - start)
    return chosen


def _only(track: Track, keep: frozenset[int]) -> Track:
    chosen = Track()
    for start, end, op in zip(track.starts, track.ends, track.ops, strict=True):
        if op in keep:
            chosen.add(start, end, op=op)
    return chosen


def reading(cursor: Cursor) -> Reading:
    """The trace as costs in ms. Raises KbError where no event carries time."""
    trace = _gather(cursor)
    if not trace.events:
        raise KbError(
            f"{cursor.label}: a Chrome trace without timed events (X, or B and E); record one while the program runs"
        )
    scope, groups, warnings = _groups(trace)
    ops = [Operation(name, category, detail) for name, category, detail, _ in trace.ops]
    costs, idle = costs_of([groups[pid] for pid in sorted(groups)], ops, scale=1 / US_PER_MS)
    if trace.broken:
        warnings.append(
            f"{trace.broken} of {trace.events} events skipped: no time, or an end without a beginning"
        )
    if trace.unclosed:
        warnings.append(f"{trace.unclosed} event(s) never end; taken to end with their track")
    durations = [sum(d) / len(d) for _, d in sorted(trace.steps.items())]
    labels = [trace.processes.get(pid, "") for pid in sorted(groups)]
    facts = trace.facts + [
        Fact("track", label) for label in dict.fromkeys(labels) if label.startswith("/")
    ]
    return Reading(
        "chrome-trace",
        scope,
        "ms",
        costs,
        idle,
        len(groups),
        len(durations) or None,
        math.fsum(durations) / len(durations) / US_PER_MS if durations else None,
        tuple(facts),
        tuple(warnings),
    )


FORMATS = (
    Format(
        *("chrome-trace", "Chrome traces of PyTorch, JAX, XLA, py-spy and Perfetto"),
        lambda stream, label: reading(Cursor(stream, label=label)),
        keys=("traceEvents",),
        item_keys=("ph",),
    ),
)
