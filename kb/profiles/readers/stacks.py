"""Stacks to costs: folded lines (py-spy raw, stackcollapse) and speedscope. An operation is the innermost frame.

Samples of a processor profile say where time went while running; idle time is known only where a format records gaps (evented
speedscope).
"""

import re
from collections import Counter
from collections.abc import Sequence
from typing import Annotated, Literal, TextIO

import msgspec

from kb import KbError
from kb.profiles.buckets import file_label
from kb.profiles.registry import Format
from kb.profiles.table import Cost, Reading
from kb.store import from_json

FOLDED = re.compile(r"^(?P<stack>.*?)\s(?P<count>\d{1,18}(?:\.\d+)?)$")
PYTHON_FRAME = re.compile(r"^(?P<name>.+?) \((?P<file>[^()]*?)(?::\d+)?\)$")
# What perf and its scripts append to a frame.
_PERF_MARKS = ("_[k]", "_[w]", "_[i]", "_[j]")
MS = {"nanoseconds": 1e-6, "microseconds": 1e-3, "milliseconds": 1.0, "seconds": 1e3}
# An operation and its category.
_Frame = tuple[str, str]
_NO_STACK = "(no stack)", ""


class _Spent:
    """Time by innermost frame, and how often each was met."""

    def __init__(self):
        self.time, self.count = Counter(), Counter()

    def add(self, frame: _Frame, time: float, count: int) -> None:
        self.time[frame] += time
        self.count[frame] += count

    def costs(self, scale: float = 1.0) -> tuple[Cost, ...]:
        timed = ((frame, time * scale) for frame, time in self.time.items())
        return tuple(Cost(f[0], t, t, int(self.count[f]), f[1], is_place=True) for f, t in timed)


def _frame(text: str) -> _Frame:
    """(operation, category) of a frame: `f (a/b.py:12)` is f of a/b.py; `[k]` marks the kernel."""
    if match := PYTHON_FRAME.match(text):
        category = file_label(match["file"])
        return f"{match['name']} ({category})", category
    category = "[kernel]" if text.endswith("_[k]") else ""
    return text[:-4] if text.endswith(_PERF_MARKS) else text, category


def folded(stream: TextIO, label: str) -> Reading:
    """`frame;frame;frame count` a line. Raises KbError where a line is none, unless it is one of few."""
    spent = _Spent()
    good, bad = 0, 0
    for number, line in enumerate(stream, start=1):
        text = line.rstrip("\r\n")
        if match := FOLDED.match(text):
            good += 1
            innermost = match["stack"].split(";")[-1].strip()
            count = float(match["count"])
            spent.add(_frame(innermost) if innermost else _NO_STACK, count, count)
        elif text.strip():
            bad += 1
            if bad > good + 10:
                raise KbError(
                    f"{label}:{number}: no folded stack (frame;frame count): {text[:60]!r}"
                )
    warnings = (f"{bad} line(s) are no folded stack; skipped",) if bad else ()
    return Reading("folded", "host", "samples", spent.costs(), warnings=warnings)


_Place = Annotated[int, msgspec.Meta(ge=0, lt=1 << 31)]


class _Named(msgspec.Struct):
    name: str
    file: str | None = None


class _Shared(msgspec.Struct):
    frames: list[_Named]


class _Event(msgspec.Struct):
    type: Literal["O", "C"]
    at: float
    frame: _Place


class _Thread(msgspec.Struct):
    """One thread: samples (stacks, innermost frame last) with weights, or frames that open and close."""

    unit: str = "none"
    samples: list[list[_Place]] = []
    weights: list[float] = []
    events: list[_Event] | None = None


class _Speedscope(msgspec.Struct):
    """Format: https://www.speedscope.app/file-format-schema.json; what is not named here is passed over."""

    shared: _Shared
    profiles: list[_Thread]


def speedscope(stream: TextIO, label: str) -> Reading:
    """A speedscope file, threads added up. Raises KbError where units differ or a frame is named that is not there."""
    try:
        file = from_json(stream.read(), _Speedscope)
    except ValueError as error:
        raise KbError(f"{label}: no speedscope file ({error}); export it again") from error
    units = {thread.unit for thread in file.profiles} or {"none"}
    if len(units) > 1:
        raise KbError(
            f"{label}: its profiles count in {', '.join(sorted(units))}; they cannot be added up; keep one of them"
        )
    spent, unit = _Spent(), units.pop()
    frames = [
        _frame(f"{f.name} ({f.file})") if f.file else (f.name, "") for f in file.shared.frames
    ]
    try:
        gaps = [_gaps(thread, frames, spent) for thread in file.profiles]
    except IndexError as error:
        what = f"has only {len(frames)} frames and names another"
        raise KbError(f"{label}: {what}; export it again") from error
    except ValueError as error:
        raise KbError(f"{label}: {error}; export it again") from error
    scale, shown = MS.get(unit, 1.0), "ms" if unit in MS else "samples" if unit == "none" else unit
    idle = sum(gaps) * scale if gaps and None not in gaps else None
    return Reading("speedscope", "host", shown, spent.costs(scale), idle, tracks=len(gaps) or 1)


def _gaps(thread: _Thread, frames: Sequence[_Frame], spent: _Spent) -> float | None:
    """The time of a thread into `spent`; of open and close events also the time in which no frame was open. Raises ValueError where
    they do not fit together.
    """
    if thread.events is None:
        weights = thread.weights or [1.0] * len(thread.samples)
        if len(weights) != len(thread.samples):
            raise ValueError(f"{len(thread.samples)} samples but {len(weights)} weights")
        for stack, weight in zip(thread.samples, weights, strict=True):
            spent.add(frames[stack[-1]] if stack else _NO_STACK, weight, 1)
        return None
    stack: list[int] = []
    at, gap = thread.events[0].at if thread.events else 0.0, 0.0
    for event in thread.events:
        passed, at = event.at - at, event.at
        if passed < 0:
            raise ValueError("events go back in time")
        if stack:
            spent.add(frames[stack[-1]], passed, 0)
        else:
            gap += passed
        if event.type == "O":
            stack.append(event.frame)
            spent.add(frames[event.frame], 0.0, 1)
        elif not stack or stack.pop() != event.frame:
            raise ValueError(f"frame {event.frame} closes but is not the innermost open one")
    return gap


def _is_folded(lines: Sequence[str]) -> bool:
    stacks = sum(bool(FOLDED.match(line)) for line in lines)
    return stacks >= 0.9 * len(lines) and any(";" in line for line in lines)


FORMATS = (
    Format("folded", "folded stacks of py-spy or stackcollapse", folded, text=_is_folded),
    Format("speedscope", "speedscope JSON", speedscope, keys=frozenset(("shared", "profiles"))),
)
