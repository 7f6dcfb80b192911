"""`perf stat` to costs: where the wall clock went (user, kernel, waiting), or the top-down slots where they were counted; counters are facts.

Reads the printed form and that of `-x,`. Refuses to share time out among counters: a count is no time.
"""

import re
from dataclasses import dataclass, field
from typing import TextIO

from kb import KbError
from kb.profiles.registry import Format
from kb.profiles.table import Cost, Fact, Reading
from kb.text import number_of

_TIME = re.compile(
    r"\s*(?P<value>[\d.,]+)\s*(?:\+-\s*[\d.,]+\s*)?seconds (?P<what>time elapsed|user|sys)\b"
)
_COUNTER = re.compile(
    r"\s+(?P<value>\d[\d.,]*)\s+(?:(?P<unit>msec|Joules|MiB)\s+)?(?P<name>[a-zA-Z][\w.:/=-]*)(?:\s+#\s*(?P<note>.*?))?\s*(?:\(.*\))?$"
)
_ROW = re.compile(
    r"(?P<value>[\d.]+),(?P<unit>\w*),(?P<name>[a-zA-Z][\w.:/=-]*),(?:[\d.]+%?,)?\d+,\d+\.\d+,(?P<note>.*)$"
)
_SLOTS = re.compile(
    r"(?P<share>\d{1,3}\.\d+)\s*%\s+(?:tma_)?(?P<slot>retiring|bad[ _]speculation|frontend[ _]bound|backend[ _]bound)\b",
    re.IGNORECASE,
)
_MS = {"msec": 1.0, "": 1e-6}


@dataclass(slots=True)
class _Counted:
    """What the lines of one run say: seconds by name as ms, slots in per cent, counters as facts, the processor's clock in ms."""

    times: dict[str, float] = field(default_factory=dict)
    slots: dict[str, float] = field(default_factory=dict)
    facts: dict[str, str] = field(default_factory=dict)
    clock: float = 0.0

    def take(self, line: str) -> None:
        for slot in _SLOTS.finditer(line):
            self.slots.setdefault(slot["slot"].lower().replace("_", " "), float(slot["share"]))
        if match := _TIME.match(line):
            self.times[match["what"]] = _number(match["value"]) * 1000
        elif match := _ROW.match(line) or _COUNTER.match(line):
            unit = match["unit"] or ""
            note = " ".join((match["note"] or "").replace(",", " ").split())
            shown = f"{match['value']} {unit}".strip() + (f" ({note})" if note else "")
            self.facts.setdefault(match["name"], shown)
            if match["name"].partition(":")[0] in ("task-clock", "cpu-clock"):
                self.clock = _number(match["value"]) * _MS.get(unit or "msec", 1.0)


def perf_stat(stream: TextIO, label: str) -> Reading:
    """The run's time in ms, or its pipeline slots in per cent. Raises KbError where neither was printed."""
    counted = _Counted()
    for line in stream:
        counted.take(line)
    facts = tuple(Fact(name, value) for name, value in counted.facts.items())
    if counted.slots:
        shares = counted.slots.items()
        costs = tuple(Cost(name, s, s, 0, "pipeline slots") for name, s in shares if s)
        warnings = ("shares are of the pipeline's slots, not of time",)
        return Reading("perf-stat", "host", "%", costs, facts=facts, warnings=warnings)
    user, kernel = counted.times.get("user", 0.0), counted.times.get("sys", 0.0)
    parts = (
        (("user", user), ("kernel", kernel)) if user or kernel else (("running", counted.clock),)
    )
    busy = sum(time for _, time in parts)
    if not busy:
        raise KbError(
            f"{label}: neither task-clock nor user and sys times in it; run `perf stat -o FILE COMMAND`"
        )
    # With several processors at work, the wall clock is shorter than their time, and what they waited is unknown.
    elapsed = counted.times.get("time elapsed", 0.0)
    costs = tuple(Cost(name, time, time, 0, name) for name, time in parts if time)
    return Reading(
        "perf-stat",
        "host",
        "ms",
        costs,
        elapsed - busy if elapsed >= busy else None,
        facts=facts,
        warnings=("counters tell no operation: `perf record` does",),
    )


def _number(text: str) -> float:
    number = number_of(text)
    return number.value if number else 0.0


def _begins(line: str) -> bool:
    return "Performance counter stats for" in line or bool(_ROW.match(line) and "," in line)


FORMATS = (Format("perf-stat", "perf stat, printed or -x,", perf_stat, line=_begins),)
