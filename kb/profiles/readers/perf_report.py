"""`perf report --stdio` to costs: self time by symbol. Passes over call graphs, for a row's own share says it all."""

import re
from collections.abc import Iterable, Iterator

from kb.profiles.buckets import file_label
from kb.profiles.registry import Format
from kb.profiles.sheets import cells_at
from kb.profiles.table import Cost, Reading

# Events whose count is nanoseconds of processor time, by perf's own definition.
CLOCKS = frozenset({"cpu-clock", "task-clock"})
SAMPLES = re.compile(r"^#\s*Samples:.*?of event\w*\s+'?(?P<event>[^']+?)'?\s*$")
COUNT = re.compile(r"^#\s*Event count \(approx\.\):\s*(?P<count>\d{1,18})")
DOTS = re.compile(r"^#\s*\.{3,}(?:\s+\.+)*\s*$")
PERCENT = re.compile(r"^\s*(\d{1,3}(?:\.\d+)?)%")
# A report without its comment lines, as people paste it.
BARE = re.compile(
    r"^\s*(?P<Overhead>\d{1,3}\.\d+%)\s+(?:(?P<Self>\d{1,3}\.\d+%)\s+)?(?:(?P<Samples>\d{1,18})\s+)?(?P<Command>\S.*?)\s+(?P<Object>\S+)\s+(?P<Symbol>\[.\]\s+.+?)\s*$"
)
_MARK = re.compile(r"\[(.)\]\s*")


def _rows(lines: Iterable[str]) -> Iterator[tuple[str, float, dict[str, str | None]]]:
    """(event, event count, row by column name) of every row; a row without columns known is taken apart by its shape."""
    event, total, header, spans = "", 0.0, "", []
    for line in (line.rstrip("\r\n") for line in lines):
        if match := SAMPLES.match(line):
            event, total, spans = match["event"], 0.0, []
        elif match := COUNT.match(line):
            total = float(match["count"])
        elif DOTS.match(line):
            spans = [m.span() for m in re.finditer(r"\.+", line)]
        elif line.startswith("#"):
            header = line if "Overhead" in line or "Children" in line else header
        elif not PERCENT.match(line):
            continue
        elif spans and line[spans[0][0] : spans[0][1]].strip().endswith("%"):
            names = (name.replace("Shared ", "").title() for name in cells_at(header, spans))
            yield event, total, dict(zip(names, cells_at(line, spans), strict=True))
        elif not spans and (match := BARE.match(line)):
            yield event, total, match.groupdict()


def _cost(row: dict[str, str | None], *, per_percent: float) -> Cost | None:
    share = PERCENT.match(row.get("Self") or row.get("Overhead") or "")
    if share is None:
        return None
    symbol, file = row.get("Symbol") or "", row.get("Object") or row.get("Command") or ""
    ring, count = _MARK.match(symbol), row.get("Samples") or ""
    time = float(share[1]) * per_percent
    return Cost(
        (symbol[ring.end() :] if ring else symbol) or file or "(unknown)",
        time,
        time,
        int(count) if count.isdecimal() else 0,
        "[kernel]" if ring and ring[1] == "k" else file_label(file),
        is_place=True,
    )


def perf_report(lines: Iterable[str], label: str) -> Reading:
    """The first event's rows as costs, in ms where the event is a clock."""
    rows = list(_rows(lines))
    event, total, _ = rows[0] if rows else ("", 0.0, {})
    name = event.split(":")[0].split("/")[0]
    unit, whole = (name or "events", total) if total else ("%", 100.0)
    if total and name in CLOCKS:
        unit, whole = "ms", total * 1e-6
    own = (_cost(row, per_percent=whole / 100) for e, _, row in rows if e == event)
    costs = [c for c in own if c is not None]
    # Rows below perf's own limit are not printed; what they took is still time.
    rest = whole - sum(c.wall for c in costs)
    if costs and rest > whole * 0.001:
        costs.append(Cost("(rows the report leaves out)", rest, rest, 0))
    events = ", ".join(dict.fromkeys(e for e, _, _ in rows))
    several = f"several events ({events}); the table is of {event}"
    return Reading(
        *("perf-report", "host", unit, tuple(costs)),
        warnings=(several,) if events != event else (),
    )


def _begins(line: str) -> bool:
    headed = line.startswith("#") and ("Overhead" in line or SAMPLES.match(line))
    return bool(headed or BARE.match(line))


_WAY_OUT = "write it with `perf report --stdio`, the Overhead or Self column in it"
FORMATS = (Format("perf-report", "perf report --stdio", perf_report, 40, _WAY_OUT, line=_begins),)
