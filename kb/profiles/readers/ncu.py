"""`ncu --csv` to costs: a row a metric (details page), a row a launch (`--page raw`), or a row a metric of a kernel's summary.

ncu runs kernels one at a time and replays them: durations compare kernels, they are no timeline, so idle time is unknown.
Metric names and units as the tool's documentation gives them; both the section's words and the raw `unit__counter` names are
read.
"""

import math
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from kb import KbError
from kb.profiles.registry import Format
from kb.profiles.sheets import Sheet, milliseconds, number, sheets
from kb.profiles.table import Cost, Fact, Reading

_TIMES = {"Duration", *(f"gpu__time_duration.{how}" for how in ("sum", "avg", "max"))}
_CYCLES = {"Elapsed Cycles", "gpc__cycles_elapsed.max", "gpc__cycles_elapsed.avg"}
_PEAK = "avg.pct_of_peak_sustained_elapsed"
# Percentages worth a place beside a kernel's time, by metric name; the section's older and newer words with the counters
# behind them.
_PERCENTS = {
    "DRAM Throughput": "DRAM",
    "SOL DRAM": "DRAM",
    f"dram__throughput.{_PEAK}": "DRAM",
    f"gpu__dram_throughput.{_PEAK}": "DRAM",
    "Memory Throughput": "memory",
    "Memory [%]": "memory",
    "SOL Memory": "memory",
    f"gpu__compute_memory_throughput.{_PEAK}": "memory",
    "Compute (SM) Throughput": "SM",
    "Compute (SM) [%]": "SM",
    "SM [%]": "SM",
    "SOL SM": "SM",
    f"sm__throughput.{_PEAK}": "SM",
    "Achieved Occupancy": "occupancy",
    "sm__warps_active.avg.pct_of_peak_sustained_active": "occupancy",
}


def _is_time(metric: str) -> bool:
    return metric in _TIMES or metric.startswith("gpu__time_duration_measured")


@dataclass(slots=True)
class _Launch:
    kernel: str
    count: int = 1
    duration: float | None = None
    cycles: float | None = None
    percents: dict[str, float] = field(default_factory=dict)

    def take(self, metric: str, unit: str, value: float) -> None:
        """A metric of this launch, if it is one of those wanted; a duration without unit is in ns, the tool's base unit."""
        name, _, stated = metric.removesuffix("]").partition(" [")
        if milliseconds(stated):
            metric, unit = name, stated
        if _is_time(metric):
            self.duration = value * (milliseconds(unit) or milliseconds("ns"))
        elif metric in _CYCLES:
            self.cycles = value
        elif unit in ("%", "percent", "pct", "") and metric in _PERCENTS:
            self.percents[_PERCENTS[metric]] = value


def is_header(cells: list[str]) -> bool:
    names = {c.strip() for c in cells}
    return "Kernel Name" in names and (
        "Metric Name" in names
        or any(_is_time(n.split(" [")[0]) or "__" in n.partition(".")[0] for n in names)
    )


_KEYS = ("Process ID", "ID", "Kernel Name", "Context", "Stream")


def _long(sheet: Sheet) -> list[_Launch]:
    """A row a metric. A cell left empty repeats the one above; a summary's row carries invocations and an average."""
    launches: dict[tuple[str, ...], _Launch] = {}
    above: dict[str, str] = {}
    for row in sheet.records(
        {
            **{key: (key,) for key in _KEYS},
            "name": ("Metric Name",),
            "unit": ("Metric Unit",),
            "value": ("Metric Value", "Average"),
            "invocations": ("Invocations",),
        }
    ):
        above = {key: row[key] or above.get(key, "") for key in _KEYS}
        launch = launches.setdefault(tuple(above.values()), _Launch(above["Kernel Name"]))
        measured = number(row["value"])
        if measured is not None:
            launch.take(row["name"], row["unit"], measured)
        launch.count = int(number(row["invocations"]) or 1)
    return list(launches.values())


def _wide(sheet: Sheet) -> list[_Launch]:
    """A row a launch, its units in the row below the header (or in the column's name)."""
    rows = list(sheet.records({column: (column,) for column in sheet.columns}))
    units = rows.pop(0) if rows and not rows[0]["Kernel Name"] else {}
    launches = []
    for row in rows:
        launch = _Launch(row.pop("Kernel Name"))
        for column, cell in row.items():
            if (measured := number(cell)) is not None:
                launch.take(column, units.get(column, ""), measured)
        launches += [launch] if launch.kernel else []
    return launches


def _percents(launches: list[tuple[_Launch, float]]) -> tuple[Fact, ...]:
    """Means of the percentages, each launch weighted by its time."""
    facts = []
    for name in dict.fromkeys(_PERCENTS.values()):
        timed = [(one.percents[name], t) for one, t in launches if name in one.percents and t > 0]
        if timed:
            mean = math.fsum(p * t for p, t in timed) / math.fsum(t for _, t in timed)
            facts.append(Fact(name, f"{mean:.1f} %"))
    return tuple(facts)


def reading(lines: Iterable[str], *, label: str) -> Reading:
    """Kernels as costs in ms, or in cycles where no duration was collected. Raises KbError where neither was."""
    tables = sheets(lines, is_header=is_header)
    launches = [
        launch for s in tables for launch in (_long(s) if s.has("Metric Name") else _wide(s))
    ]
    if not launches:
        raise KbError(
            f"{label}: no kernel in it; write it with `ncu --csv --page details` or `--page raw`"
        )
    unit = "ms"
    warnings = ["ncu runs kernels one at a time: shares are of kernel time, idle time is unknown"]
    times = [launch.duration for launch in launches]
    if all(t is None for t in times):
        unit, times = "cycles", [launch.cycles for launch in launches]
        if all(t is None for t in times):
            raise KbError(
                f"{label}: no duration was collected; run ncu with `--set basic` or `--metrics gpu__time_duration.sum`"
            )
    missing = sum(t is None for t in times)
    if missing:
        warnings.append(f"{missing} of {len(launches)} launches without a time; left out")
    timed = [
        (launch, t * launch.count)
        for launch, t in zip(launches, times, strict=True)
        if t is not None
    ]
    by_kernel: dict[str, list[tuple[_Launch, float]]] = defaultdict(list)
    for launch, time in timed:
        by_kernel[launch.kernel].append((launch, time))
    costs = tuple(_cost(kernel, members) for kernel, members in by_kernel.items())
    facts = _percents(timed)
    return Reading("ncu", "device", unit, costs, facts=facts, warnings=tuple(warnings))


def _cost(kernel: str, members: list[tuple[_Launch, float]]) -> Cost:
    total, count = math.fsum(t for _, t in members), sum(launch.count for launch, _ in members)
    return Cost(kernel, total, total, count, facts=_percents(members))


FORMATS = (
    Format(
        "ncu", "ncu --csv", lambda stream, label: reading(stream, label=label), 10, row=is_header
    ),
)
