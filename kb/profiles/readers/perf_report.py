"""`perf report --stdio` to costs: self time by symbol. Passes over call graphs, for a row's own share says it all."""

import re
from collections.abc import Iterable

from kb import KbError
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
    r"^\s*(?P<first>\d{1,3}\.\d+)%\s+(?:(?P<self>\d{1,3}\.\d+)%\s+)?(?:(?P<samples>\d{1,18})\s+)?(?P<comm>\S.*?)\s+(?P<dso>\S+)\s+\[(?P<ring>.)\]\s+(?P<symbol>.+?)\s*$"
)


def _rows(lines: Iterable[str]) -> Iterable[tuple[str, float, dict[str, str]]]:
    """(event, event count, row by column name) of every row; a row without columns known is taken apart by its shape."""
    event, total, header, spans = "", 0.0, "", []
    for line in lines:
        line = line.rstrip("\r\n")
        if line.startswith("#"):
            if match := SAMPLES.match(line):
                event, total, spans = match["event"], 0.0, []
            elif match := COUNT.match(line):
                total = float(match["count"])
            elif DOTS.match(line):
                spans = [m.span() for m in re.finditer(r"\.+", line)]
            elif "Overhead" in line or "Children" in line:
                header = line
        elif PERCENT.match(line):
            if spans and line[spans[0][0] : spans[0][1]].strip().endswith("%"):
                yield (
                    event,
                    total,
                    dict(zip(cells_at(header, spans), cells_at(line, spans), strict=True)),
                )
            elif match := BARE.match(line):
                share = match["self"] or match["first"]
                yield (
                    event,
                    total,
                    {
                        "Self": share + "%",
                        "Samples": match["samples"] or "",
                        "Command": match["comm"],
                        "Shared Object": match["dso"],
                        "Symbol": f"[{match['ring']}] {match['symbol']}",
                    },
                )


def _cost(row: dict[str, str], *, per_percent: float) -> Cost | None:
    share = PERCENT.match(row.get("Self") or row.get("Overhead") or "")
    if share is None:
        return None
    symbol = row.get("Symbol", "")
    marked = symbol[:1] == "[" and symbol[2:3] == "]"
    ring, name = (symbol[1], symbol[3:].strip()) if marked else ("", symbol)
    dso = row.get("Shared Object") or row.get("Shared object") or row.get("Command", "")
    time = float(share[1]) * per_percent
    count = row.get("Samples", "")
    return Cost(
        name or dso or "(unknown)",
        time,
        time,
        int(count) if count.isdecimal() else 0,
        "[kernel]" if ring == "k" else file_label(dso),
    )


def reading(lines: Iterable[str], *, label: str) -> Reading:
    """The first event's rows as costs, in ms where the event is a clock. Raises KbError where there is no row."""
    rows = list(_rows(lines))
    if not rows:
        raise KbError(
            f"{label}: no row of a perf report in it; write it with `perf report --stdio`"
        )
    events = list(dict.fromkeys(event for event, _, _ in rows))
    event, total = rows[0][0], rows[0][1]
    name = event.split(":")[0].split("/")[0]
    unit, whole = (
        ("ms", total * 1e-6)
        if total and name in CLOCKS
        else (name or "events", total)
        if total
        else ("%", 100.0)
    )
    own = (_cost(row, per_percent=whole / 100) for e, _, row in rows if e == event)
    costs = [c for c in own if c is not None]
    if not costs:
        raise KbError(
            f"{label}: rows without an Overhead or Self column; write it with `perf report --stdio`"
        )
    # Rows below perf's own limit are not printed; what they took is still time.
    rest = whole - sum(c.wall for c in costs)
    if rest > whole * 0.001:
        costs.append(Cost("(rows the report leaves out)", rest, rest, 0))
    warnings = (
        [f"several events ({', '.join(events)}); the table is of {event}"]
        if len(events) > 1
        else []
    )
    return Reading("perf-report", "host", unit, tuple(costs), warnings=tuple(warnings))


def _begins(line: str) -> bool:
    headed = line.startswith("#") and ("Overhead" in line or SAMPLES.match(line))
    return bool(headed or BARE.match(line))


FORMATS = (
    Format(
        "perf-report",
        "perf report --stdio",
        lambda stream, label: reading(stream, label=label),
        40,
        line=_begins,
    ),
)
