"""`perf stat` to costs: where the wall clock went (user, kernel, waiting), or the top-down slots where they were counted; counters are facts.

Reads the printed form and that of `-x,`. Refuses to share time out among counters: a count is no time.
"""

import re
from dataclasses import dataclass, field
from typing import TextIO

from kb.profiles.registry import Format
from kb.profiles.table import Cost, Fact, Reading
from kb.text import number_of

_TIME = re.compile(
    r"\s*(?P<value>[\d.,]+)\s*(?:\+-\s*[\d.,]+\s*)?seconds (?P<name>time elapsed|user|sys)\b"
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


@dataclass(frozen=True, slots=True)
class _Counted:
    """What the lines of one run say: times by name in ms, slots in per cent, counters as they are shown."""

    times: dict[str, float] = field(default_factory=dict)
    slots: dict[str, float] = field(default_factory=dict)
    counters: dict[str, str] = field(default_factory=dict)

    def take(self, line: str) -> None:
        for slot in _SLOTS.finditer(line):
            self.slots.setdefault(slot["slot"].lower().replace("_", " "), float(slot["share"]))
        if match := _TIME.match(line):
            self.times[match["name"]] = _value(match) * 1000
        elif match := _ROW.match(line) or _COUNTER.match(line):
            unit, note = match["unit"] or "", (match["note"] or "").replace(",", " ").split()
            shown = f"{match['value']} {unit}".strip() + (f" ({' '.join(note)})" if note else "")
            self.counters.setdefault(match["name"], shown)
            if match["name"].partition(":")[0] in ("task-clock", "cpu-clock"):
                self.times["running"] = _value(match)


def perf_stat(stream: TextIO, label: str) -> Reading:
    """The run's time in ms, or its pipeline slots in per cent."""
    counted = _Counted()
    for line in stream:
        counted.take(line)
    times, slots, counters = counted.times, counted.slots, counted.counters
    facts = tuple(Fact(name, value) for name, value in counters.items())
    if slots:
        costs = tuple(Cost(name, s, s, 0, "pipeline slots") for name, s in slots.items() if s)
        warning = "shares are of the pipeline's slots, not of time"
        return Reading("perf-stat", "host", "%", costs, facts=facts, warnings=(warning,))
    named = ("user", "user"), ("sys", "kernel")
    if not any(times.get(key) for key, _ in named):
        named = (("running", "running"),)
    costs = tuple(Cost(name, t, t, 0, name) for key, name in named if (t := times.get(key)))
    # With several processors at work, the wall clock is shorter than their time, and what they waited is unknown.
    waited = times.get("time elapsed", 0.0) - sum(c.wall for c in costs)
    idle, warning = (
        waited if waited >= 0 else None,
        "counters tell no operation: `perf record` does",
    )
    return Reading("perf-stat", "host", "ms", costs, idle, facts=facts, warnings=(warning,))


def _value(match: re.Match[str]) -> float:
    number = number_of(match["value"])
    return number.value if number else 0.0


_WAY_OUT = "run `perf stat -o FILE COMMAND`, which counts task-clock, or tells user and sys times"
FORMATS = (
    Format(
        "perf-stat",
        "perf stat, printed or -x,",
        perf_stat,
        way_out=_WAY_OUT,
        line=lambda x: "Performance counter stats for" in x or bool(_ROW.match(x)),
    ),
)
