"""`ncu --csv` to costs: a row a metric (details page), a row a launch (`--page raw`), or a row a metric of a kernel's summary.

ncu runs kernels one at a time and replays them: durations compare kernels, they are no timeline, so idle time is unknown.
Metric names and units as the tool's documentation gives them; both the section's words and the raw `unit__counter` names are
read.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator

from kb import grouped
from kb.profiles.registry import Format
from kb.profiles.sheets import Sheet, heads, milliseconds, number, sheets
from kb.profiles.table import Cost, Fact, Reading

_PEAK = "avg.pct_of_peak_sustained_elapsed"
# Percentages worth a place beside a kernel's time: the section's older and newer words with the counters behind them.
_PERCENTS = {
    "DRAM": f"DRAM Throughput|SOL DRAM|dram__throughput.{_PEAK}|gpu__dram_throughput.{_PEAK}",
    "memory": f"Memory Throughput|Memory [%]|SOL Memory|gpu__compute_memory_throughput.{_PEAK}",
    "SM": f"Compute (SM) Throughput|Compute (SM) [%]|SM [%]|SOL SM|sm__throughput.{_PEAK}",
    "occupancy": "Achieved Occupancy|sm__warps_active.avg.pct_of_peak_sustained_active",
}
_CYCLES = "Elapsed Cycles|gpc__cycles_elapsed.max|gpc__cycles_elapsed.avg"
_FIGURES = {
    n: word for word, names in (*_PERCENTS.items(), ("cycles", _CYCLES)) for n in names.split("|")
}
# One launch: its figures by name (time in ms, cycles, percentages), and how many times it ran.
_Launch = dict[str, float]


def _is_time(metric: str) -> bool:
    return metric == "Duration" or metric.startswith("gpu__time_duration")


def is_header(cells: list[str]) -> bool:
    names = {c.strip() for c in cells}
    timed = any(_is_time(n.split(" [")[0]) or "__" in n.partition(".")[0] for n in names)
    return "Kernel Name" in names and ("Metric Name" in names or timed)


def _figure(metric: str, unit: str, cell: str) -> _Launch:
    """A metric that is wanted, by its short name; a duration without unit is in ns, the tool's base unit."""
    value, (name, _, stated) = number(cell), metric.removesuffix("]").partition(" [")
    name, unit = (name, stated) if milliseconds(stated) else (metric, unit)
    if value is None:
        return {}
    if _is_time(name):
        return {"time": value * (milliseconds(unit) or milliseconds("ns"))}
    word = _FIGURES.get(name)
    wanted = word == "cycles" or word and unit in ("%", "percent", "pct", "")
    return {word: value} if wanted else {}


_KEYS = {
    "process": ("Process ID",),
    "id": ("ID",),
    "kernel": ("Kernel Name",),
    "context": ("Context",),
    "stream": ("Stream",),
}


def _long(sheet: Sheet) -> Iterator[tuple[str, _Launch]]:
    """A row a metric. A cell left empty repeats the one above; a summary's row carries invocations and an average."""
    launches: dict[tuple[str, ...], _Launch] = defaultdict(dict)
    above = dict.fromkeys(_KEYS, "")
    metric = {
        "name": ("Metric Name",),
        "unit": ("Metric Unit",),
        "value": ("Metric Value", "Average"),
        "times": ("Invocations",),
    }
    for row in sheet.records(_KEYS | metric):
        above = {key: row[key] or above[key] for key in _KEYS}
        times = {"times": number(row["times"]) or 1}
        launches[tuple(above.values())] |= _figure(row["name"], row["unit"], row["value"]) | times
    yield from ((key[[*_KEYS].index("kernel")], launch) for key, launch in launches.items())


def _wide(sheet: Sheet) -> Iterator[tuple[str, _Launch]]:
    """A row a launch, its units in the row below the header (or in the column's name)."""
    units, kernel = {}, sheet.column("Kernel Name")
    for row in sheet.rows:
        cells = dict(zip(sheet.columns, row, strict=False))
        if not row[kernel : kernel + 1] or not row[kernel]:
            units = cells
            continue
        launch = {"times": 1.0}
        for column, cell in cells.items():
            launch |= _figure(column, units.get(column, ""), cell)
        yield row[kernel], launch


def _percents(launches: list[_Launch], time: str) -> tuple[Fact, ...]:
    """Means of the percentages, each launch weighted by its time."""
    facts = []
    for name in _PERCENTS:
        timed = [(one[name], one[time] * one["times"]) for one in launches if name in one]
        if whole := math.fsum(t for _, t in timed):
            facts.append(Fact(name, f"{math.fsum(p * t for p, t in timed) / whole:.1f} %"))
    return tuple(facts)


def ncu(lines: Iterable[str], label: str) -> Reading:
    """Kernels as costs in ms, or in cycles where no duration was collected."""
    tables = sheets(lines, is_header)
    all_launches = [
        pair for s in tables for pair in (_wide, _long)[s.column("Metric Name") is not None](s)
    ]
    time = "time" if any("time" in one for _, one in all_launches) else "cycles"
    by_kernel = grouped(pair for pair in all_launches if time in pair[1])
    costs = []
    for kernel, launches in by_kernel.items():
        total, count = (
            math.fsum(one[time] * one["times"] for one in launches),
            sum(one["times"] for one in launches),
        )
        costs.append(Cost(kernel, total, total, int(count), facts=_percents(launches, time)))
    timed = [launch for launches in by_kernel.values() for launch in launches]
    warnings = ["ncu runs kernels one at a time: shares are of kernel time, idle time is unknown"]
    if missing := len(all_launches) - len(timed):
        warnings.append(f"{missing} of {len(all_launches)} launches without a time; left out")
    unit, facts = "ms" if time == "time" else time, _percents(timed, time)
    return Reading("ncu", "device", unit, tuple(costs), facts=facts, warnings=tuple(warnings))


_WAY_OUT = "run `ncu --csv` with `--set basic` or `--metrics gpu__time_duration.sum`, which collect durations"
FORMATS = (Format("ncu", "ncu --csv", ncu, 10, _WAY_OUT, line=heads(is_header)),)
