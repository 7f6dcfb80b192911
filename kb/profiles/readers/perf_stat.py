"""`perf stat` to costs: where the wall clock went (user, kernel, waiting), or the top-down slots where they were counted; counters are facts.

Reads the printed form and that of `-x,`. Refuses to share time out among counters: a count is no time.
"""

import re
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


def perf_stat(stream: TextIO, label: str) -> Reading:
    """The run's time in ms, or its pipeline slots in per cent. Raises KbError where neither was printed."""
    times: dict[str, float] = {}
    slots: dict[str, float] = {}
    facts: dict[str, str] = {}
    clock = 0.0
    for line in stream:
        for slot in _SLOTS.finditer(line):
            slots.setdefault(slot["slot"].lower().replace("_", " "), float(slot["share"]))
        if found := _TIME.match(line):
            times[found["what"]] = _number(found["value"]) * 1000
        elif found := _ROW.match(line) or _COUNTER.match(line):
            note = " ".join(found["note"].replace(",", " ").split()) if found["note"] else ""
            facts.setdefault(
                found["name"],
                f"{found['value']} {found['unit'] or ''}".strip() + (f" ({note})" if note else ""),
            )
            if found["name"].partition(":")[0] in ("task-clock", "cpu-clock"):
                clock = _number(found["value"]) * _MS.get(found["unit"] or "msec", 1.0)
    listed = tuple(Fact(name, value) for name, value in facts.items())
    if slots:
        costs = tuple(
            Cost(name, share, share, 0, "pipeline slots") for name, share in slots.items() if share
        )
        return Reading(
            "perf-stat",
            "host",
            "%",
            costs,
            facts=listed,
            warnings=("shares are of the pipeline's slots, not of time",),
        )
    user, kernel = times.get("user", 0.0), times.get("sys", 0.0)
    parts = (("user", user), ("kernel", kernel)) if user or kernel else (("running", clock),)
    busy = sum(time for _, time in parts)
    if not busy:
        raise KbError(
            f"{label}: neither task-clock nor user and sys times in it; run `perf stat -o FILE COMMAND`"
        )
    # With several processors at work, the wall clock is shorter than their time, and what they waited is unknown.
    idle = times["time elapsed"] - busy if times.get("time elapsed", 0.0) >= busy else None
    costs = tuple(Cost(name, time, time, 0, name) for name, time in parts if time)
    return Reading(
        "perf-stat",
        "host",
        "ms",
        costs,
        idle,
        facts=listed,
        warnings=("counters tell no operation: `perf record` does",),
    )


def _number(text: str) -> float:
    found = number_of(text)
    return found.value if found else 0.0


def _begins(line: str) -> bool:
    return "Performance counter stats for" in line or bool(_ROW.match(line) and "," in line)


FORMATS = (Format("perf-stat", "perf stat, printed or -x,", perf_stat, line=_begins),)
