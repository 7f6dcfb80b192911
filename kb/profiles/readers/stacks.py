"""Stacks to costs: folded lines (py-spy raw, stackcollapse) and speedscope. An operation is the innermost frame.

Samples of a processor profile say where time went while running; idle time is known only where a format records gaps (evented
speedscope).
"""

import re
from collections import defaultdict
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
_PERF_MARK = re.compile(r"_\[[kwij]\]$")
MS = {"nanoseconds": 1e-6, "microseconds": 1e-3, "milliseconds": 1.0, "seconds": 1e3}
# Time and count of an operation (name, category).
_Spent = dict[tuple[str, str], list[float]]
_NO_STACK = "(no stack)", ""


def _frame(text: str) -> tuple[str, str]:
    """(operation, category) of a frame: `f (a/b.py:12)` is f of a/b.py; `[k]` marks the kernel."""
    if match := PYTHON_FRAME.match(text):
        category = file_label(match["file"])
        return f"{match['name']} ({category})", category
    return _PERF_MARK.sub("", text), "[kernel]" if text.endswith("_[k]") else ""


def _costs(spent: _Spent, scale: float = 1.0) -> tuple[Cost, ...]:
    return tuple(
        Cost(name, total * scale, total * scale, int(count), category)
        for (name, category), (total, count) in spent.items()
    )


def folded(stream: TextIO, label: str) -> Reading:
    """`frame;frame;frame count` a line. Raises KbError where a line is none, unless it is one of few."""
    spent: _Spent = defaultdict(lambda: [0.0, 0.0])
    good, bad = 0, 0
    for number, line in enumerate(stream, start=1):
        text = line.rstrip("\r\n")
        if not text.strip():
            continue
        match = FOLDED.match(text)
        if match is None:
            bad += 1
            if bad > good + 10:
                raise KbError(
                    f"{label}:{number}: no folded stack (frame;frame count): {text[:60]!r}"
                )
            continue
        good += 1
        frames = [f for f in match["stack"].split(";") if f.strip()]
        entry = spent[_frame(frames[-1].strip()) if frames else _NO_STACK]
        entry[0] += float(match["count"])
        entry[1] += float(match["count"])
    warnings = (f"{bad} line(s) are no folded stack; skipped",) if bad else ()
    return Reading("folded", "host", "samples", _costs(spent), warnings=warnings)


_Place = Annotated[int, msgspec.Meta(ge=0, lt=1 << 31)]


class _Frame(msgspec.Struct):
    name: str
    file: str | None = None

    @property
    def operation(self) -> tuple[str, str]:
        category = file_label(self.file or "")
        return f"{self.name} ({category})" if category else self.name, category


class _Shared(msgspec.Struct):
    frames: list[_Frame]


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
    operations = [f.operation for f in file.shared.frames]
    spent: _Spent = defaultdict(lambda: [0.0, 0.0])
    idles: list[float | None] = []
    units = {thread.unit for thread in file.profiles}
    if len(units) > 1:
        raise KbError(
            f"{label}: its profiles count in {', '.join(sorted(units))}; they cannot be added up; keep one of them"
        )
    try:
        for thread in file.profiles:
            if thread.events is None:
                _add_samples(thread, operations, spent)
            idles.append(None if thread.events is None else _gaps(thread.events, operations, spent))
    except (ValueError, IndexError) as error:
        frames = f"has only {len(operations)} frames and names another"
        what = frames if isinstance(error, IndexError) else error
        raise KbError(f"{label}: {what}; export it again") from error
    unit = units.pop() if units else "none"
    scale = MS.get(unit, 1.0)
    known = [idle for idle in idles if idle is not None]
    return Reading(
        "speedscope",
        "host",
        "ms" if unit in MS else "samples" if unit == "none" else unit,
        _costs(spent, scale),
        sum(known) * scale if known and len(known) == len(idles) else None,
        len(idles) or 1,
    )


def _add_samples(thread: _Thread, operations: Sequence[tuple[str, str]], spent: _Spent) -> None:
    """The samples of a thread, each with its weight. Raises ValueError where their numbers differ."""
    weights = thread.weights or [1.0] * len(thread.samples)
    if len(weights) != len(thread.samples):
        raise ValueError(f"{len(thread.samples)} samples but {len(weights)} weights")
    for stack, weight in zip(thread.samples, weights, strict=True):
        entry = spent[operations[stack[-1]] if stack else _NO_STACK]
        entry[0] += weight
        entry[1] += 1


def _gaps(events: Sequence[_Event], operations: Sequence[tuple[str, str]], spent: _Spent) -> float:
    """Open and close events of a thread: self time of the innermost frame into `spent`; the time in which no frame was open."""
    stack: list[int] = []
    at, gap = events[0].at if events else 0.0, 0.0
    for event in events:
        passed, at = event.at - at, event.at
        if passed < 0:
            raise ValueError("events go back in time")
        if stack:
            spent[operations[stack[-1]]][0] += passed
        else:
            gap += passed
        if event.type == "O":
            stack.append(event.frame)
            spent[operations[event.frame]][1] += 1
        elif not stack or stack.pop() != event.frame:
            raise ValueError(f"frame {event.frame} closes but is not the innermost open one")
    return gap


def _is_folded(lines: Sequence[str]) -> bool:
    stacks = sum(bool(FOLDED.match(line)) for line in lines)
    return stacks >= 0.9 * len(lines) and any(";" in line for line in lines)


FORMATS = (
    Format("folded", "folded stacks of py-spy or stackcollapse", folded, text=_is_folded),
    Format("speedscope", "speedscope JSON", speedscope, keys=("shared", "profiles")),
)
