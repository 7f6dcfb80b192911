"""Stacks to costs: folded lines (py-spy raw, stackcollapse), perf script, speedscope. An operation is the innermost frame.

Samples of a processor profile say where time went while running; idle time is known only where a format records gaps (evented
speedscope).
"""

import re
from array import array
from collections import defaultdict
from collections.abc import Iterable, Sequence

from kb import KbError
from kb.profiles.buckets import file_label
from kb.profiles.jsonstream import Cursor, Json
from kb.profiles.registry import Format
from kb.profiles.table import Cost, Reading

FOLDED = re.compile(r"^(?P<stack>.*?)\s(?P<count>\d{1,18}(?:\.\d+)?)$")
PYTHON_FRAME = re.compile(r"^(?P<name>.+?) \((?P<file>[^()]*?)(?::\d+)?\)$")
SAMPLE = re.compile(
    r"^(?P<comm>\S.*?)\s+\d+(?:/\d+)?\s+(?:\[\d+\]\s+)?\d+\.\d+:\s+(?:(?P<period>\d{1,18})\s+)?(?P<event>[\w.:/=,\-]+):(?:\s+(?P<inline>.*))?$"
)
FRAME = re.compile(
    r"^\s*[0-9a-f]+\s+(?P<symbol>.+?)(?:\+0x[0-9a-f]+)?(?:\s+\((?P<file>[^()]*(?:\([^()]*\))?[^()]*)\))?$"
)
# Events whose count is nanoseconds of processor time, by perf's own definition.
CLOCKS = frozenset({"cpu-clock", "task-clock"})
MS = {"nanoseconds": 1e-6, "microseconds": 1e-3, "milliseconds": 1.0, "seconds": 1e3}


def _frame(text: str) -> tuple[str, str]:
    """(operation, category) of a frame: `f (a/b.py:12)` is f of a/b.py; `[k]` marks the kernel."""
    found = PYTHON_FRAME.match(text)
    if found:
        return f"{found['name']} ({file_label(found['file'])})", file_label(found["file"])
    name = re.sub(r"_\[[kwij]\]$", "", text)
    return name, "[kernel]" if text.endswith("_[k]") else ""


def _reading(
    kind: str,
    weights: dict[tuple[str, str], list[float]],
    *,
    unit: str,
    scale: float,
    warnings: Iterable[str],
) -> Reading:
    costs = tuple(
        Cost(name, total * scale, total * scale, int(count), category)
        for (name, category), (total, count) in weights.items()
    )
    return Reading(kind, "host", unit, costs, warnings=tuple(warnings))


def folded(lines: Iterable[str], *, label: str) -> Reading:
    """`frame;frame;frame count` a line. Raises KbError where a line is none, unless it is one of few."""
    weights: dict[tuple[str, str], list[float]] = defaultdict(lambda: [0.0, 0.0])
    good, bad = 0, 0
    for number, line in enumerate(lines, start=1):
        text = line.rstrip("\r\n")
        if not text.strip():
            continue
        found = FOLDED.match(text)
        if found is None:
            bad += 1
            if bad > good + 10:
                raise KbError(
                    f"{label}:{number}: no folded stack (frame;frame count): {text[:60]!r}"
                )
            continue
        good += 1
        frames = [f for f in found["stack"].split(";") if f.strip()]
        entry = weights[_frame(frames[-1].strip()) if frames else ("(no stack)", "")]
        entry[0] += float(found["count"])
        entry[1] += float(found["count"])
    return _reading(
        "folded",
        weights,
        unit="samples",
        scale=1.0,
        warnings=[f"{bad} line(s) are no folded stack; skipped"] if bad else [],
    )


def perf_script(lines: Iterable[str], *, label: str) -> Reading:
    """`perf script` text: a line per sample, then its frames, innermost first."""
    weights: dict[tuple[str, str], list[float]] = defaultdict(lambda: [0.0, 0.0])
    events: dict[str, int] = defaultdict(int)
    waiting: tuple[str, float] | None = None

    def count(frame: str, period: float) -> None:
        found = FRAME.match(frame)
        symbol, file = (
            (found["symbol"].strip(), found["file"] or "") if found else (frame.strip(), "")
        )
        entry = weights[symbol, "[kernel]" if file.startswith("[k") else file_label(file)]
        entry[0] += period
        entry[1] += 1

    for line in lines:
        found = SAMPLE.match(line.rstrip())
        if found:
            if waiting is not None:
                count("[unknown]", waiting[1])
            event = found["event"]
            events[event] += 1
            period = float(found["period"] or 1)
            first = min(events)
            waiting = (event, period) if event == first else None
            if waiting and (found["inline"] or "").strip():
                count(found["inline"], period)
                waiting = None
        elif line.strip() and waiting is not None:
            count(line, waiting[1])
            waiting = None
    if waiting is not None:
        count("[unknown]", waiting[1])
    if not events:
        raise KbError(
            f"{label}: no perf sample in it; write it with `perf script` from a recording"
        )
    event = min(events)
    clock = event.split(":")[0] in CLOCKS
    warnings = [f"several events; the table is of {event}"] if len(events) > 1 else []
    return _reading(
        "perf-script",
        weights,
        unit="ms" if clock else event.split(":")[0],
        scale=1e-6 if clock else 1.0,
        warnings=warnings,
    )


def _frames(cursor: Cursor) -> list[tuple[str, str]]:
    frames: list[tuple[str, str]] = []
    for key in cursor.members():
        if key == "frames":
            for _ in cursor.elements():
                frame = cursor.value()
                if not isinstance(frame, dict) or not isinstance(frame.get("name"), str):
                    raise cursor.fail("a frame without a name")
                file = frame.get("file")
                category = file_label(file) if isinstance(file, str) else ""
                frames.append(
                    (f"{frame['name']} ({category})" if category else str(frame["name"]), category)
                )
    return frames


def _number(cursor: Cursor, value: Json) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not abs(value) < 1e300:
        raise cursor.fail(f"expected a number, found {str(value)[:40]!r}")
    return float(value)


def _index(cursor: Cursor, value: Json) -> int:
    number = _number(cursor, value)
    if not 0 <= number < 1 << 31:
        raise cursor.fail(f"expected the number of a frame, found {number:g}")
    return int(number)


def _evented(cursor: Cursor, spent: dict[int, list[float]]) -> float:
    """Open and close events of one thread: self time of the innermost frame into `spent`; returns the time no frame was open."""
    stack: list[int] = []
    at, gap = None, 0.0
    for _ in cursor.elements():
        event = cursor.value()
        if not isinstance(event, dict) or event.get("type") not in ("O", "C"):
            raise cursor.fail("expected an event of type O or C")
        time, frame = _number(cursor, event.get("at")), _index(cursor, event.get("frame"))
        passed = time - at if at is not None else 0.0
        if passed < 0:
            raise cursor.fail("events go back in time")
        if stack:
            spent[stack[-1]][0] += passed
        else:
            gap += passed
        at = time
        if event["type"] == "O":
            stack.append(frame)
            spent[frame][1] += 1
        elif stack and stack[-1] == frame:
            stack.pop()
        else:
            raise cursor.fail(f"frame {frame} closes but is not the innermost open one")
    return gap


def _speedscope_profile(cursor: Cursor, spent: dict[int, list[float]]) -> tuple[str, float | None]:
    """One thread into `spent` (time and count by frame, -1 for an empty stack): its unit, and idle time where it is evented."""
    unit, idle = "none", None
    leaves, weights = array("l"), array("d")
    for key in cursor.members():
        if key == "unit":
            unit = str(cursor.value())
        elif key == "events":
            own: dict[int, list[float]] = defaultdict(lambda: [0.0, 0.0])
            idle = _evented(cursor, own)
            for frame, (time, count) in own.items():
                spent[frame][0] += time
                spent[frame][1] += count
        elif key == "samples":
            for _ in cursor.elements():
                stack = cursor.value()
                if not isinstance(stack, list):
                    raise cursor.fail("expected a sample as a list of frames")
                leaves.append(_index(cursor, stack[-1]) if stack else -1)
        elif key == "weights":
            for _ in cursor.elements():
                weights.append(_number(cursor, cursor.value()))
    if weights and len(weights) != len(leaves):
        raise cursor.fail(f"{len(leaves)} samples but {len(weights)} weights")
    for leaf, weight in zip(leaves, weights or [1.0] * len(leaves), strict=True):
        spent[leaf][0] += weight
        spent[leaf][1] += 1
    return unit, idle


def speedscope(cursor: Cursor) -> Reading:
    """A speedscope file, threads added up. Raises KbError where units differ or a frame is named that is not there."""
    frames: list[tuple[str, str]] = []
    spent: dict[int, list[float]] = defaultdict(lambda: [0.0, 0.0])
    units, idles = set(), []
    for key in cursor.members():
        if key == "shared":
            frames = _frames(cursor)
        elif key == "profiles":
            for _ in cursor.elements():
                unit, idle = _speedscope_profile(cursor, spent)
                units.add(unit)
                idles.append(idle)
    if len(units) > 1:
        raise KbError(
            f"{cursor.label}: its profiles count in {', '.join(sorted(units))}; they cannot be added up; keep one of them"
        )
    lost = [f for f in spent if f >= len(frames)]
    if lost:
        raise KbError(
            f"{cursor.label}: names frame {lost[0]}, but has only {len(frames)} frames; export it again"
        )
    unit = units.pop() if units else "none"
    scale = MS.get(unit, 1.0)
    costs = tuple(
        Cost(
            *(frames[f][:1] if f >= 0 else ("(no stack)",)),
            time * scale,
            time * scale,
            int(count),
            frames[f][1] if f >= 0 else "",
        )
        for f, (time, count) in sorted(spent.items())
    )
    idle = None if None in idles or not idles else sum(i for i in idles if i is not None) * scale
    return Reading(
        "speedscope",
        "host",
        "ms" if unit in MS else "samples" if unit == "none" else unit,
        costs,
        idle,
        len(idles) or 1,
    )


def _is_folded(lines: Sequence[str]) -> bool:
    stacks = sum(bool(FOLDED.match(line)) for line in lines)
    return stacks >= 0.9 * len(lines) and any(";" in line for line in lines)


FORMATS = (
    Format(
        "perf-script",
        "perf script",
        lambda stream, label: perf_script(stream, label=label),
        60,
        line=SAMPLE.match,
    ),
    Format(
        "folded",
        "folded stacks of py-spy or stackcollapse",
        lambda stream, label: folded(stream, label=label),
        text=_is_folded,
    ),
    Format(
        *("speedscope", "speedscope JSON"),
        lambda stream, label: speedscope(Cursor(stream, label=label)),
        keys=("shared", "profiles"),
    ),
)
