"""`nsys stats` tables (CSV or text, many in one file) to costs. A timeline (cuda_gpu_trace) tells idle time, sums do not.

Columns as in the reports cuda_gpu_kern_sum, cuda_gpu_mem_time_sum, cuda_gpu_sum, cuda_gpu_trace, cuda_api_sum, osrt_sum and
their older names. Of tables that show the same time twice one is used: the trace, else kernels and copies, else the combined
sum, else the host's calls.
"""

import re
from collections import defaultdict
from collections.abc import Iterable

from kb import grouped
from kb.profiles.registry import Format
from kb.profiles.sheets import Sheet, heads, number, plain, sheets
from kb.profiles.table import Cost, Fact, Reading
from kb.profiles.timeline import Operation, Track, costs_of

# What a table shows, by columns that only it has; the first that fits.
_PARTS = (
    ("trace", ("Strm", "Stream", "CorrId")),
    ("other", ("Start", "Style", "Range")),
    ("grids", ("GridXYZ",)),
    ("gpu", ("Category",)),
    ("kernels", ("Instances",)),
    ("copies", ("Operation",)),
    ("api", ("Name",)),
)


def is_header(cells: list[str]) -> bool:
    names = {plain(c) for c in cells}
    return {"time", "totaltime"} <= names or {"start", "duration", "name"} <= names


def _part(sheet: Sheet) -> str:
    """What a table shows: trace, gpu, kernels, grids, copies, api or other."""
    parts = _PARTS if sheet.column("Start") is not None else _PARTS[1:]
    return next((part for part, names in parts if sheet.column(*names) is not None), "other")


def _sums(tables: list[Sheet], *, category: str = "") -> list[Cost]:
    costs = []
    counts = ("Instances", "Count", "Num Calls", "Operations")
    columns = {"time": ("Total Time",), "name": ("Name", "Operation"), "count": counts}
    for sheet in tables:
        scale = sheet.scale("Total Time", default="ns")
        for row in sheet.records(columns):
            if (total := number(row["time"])) is not None:
                count = int(number(row["count"]) or 0)
                costs.append(Cost(row["name"], total * scale, total * scale, count, category))
    return costs


def _trace(sheet: Sheet) -> Reading:
    """Per-event rows of cuda_gpu_trace: streams of each device as tracks."""
    began, took = (sheet.scale(name, default="ns") for name in ("Start", "Duration"))
    ops: dict[Operation, int] = {}
    devices: dict[str, dict[str, Track]] = defaultdict(lambda: defaultdict(Track))
    columns = {name: (name,) for name in ("Start", "Duration", "Name", "Device")}
    columns["Stream"] = ("Strm", "Stream")
    for row in sheet.records(columns):
        start, duration = number(row["Start"]), number(row["Duration"])
        if start is not None and duration is not None and duration >= 0:
            op = ops.setdefault(Operation(row["Name"]), len(ops))
            track = devices[row["Device"]][row["Stream"]]
            track.add(start * began, start * began + duration * took, op=op)
    groups = [[streams[s] for s in sorted(streams)] for _, streams in sorted(devices.items())]
    costs, idle = costs_of(groups, list(ops))
    facts = tuple(Fact("device", d) for d in sorted(devices) if d)
    return Reading("nsys", "device", "ms", costs, idle, tracks=max(1, len(devices)), facts=facts)


def nsys(lines: Iterable[str], label: str) -> Reading:
    """Device time where a table has it, else the host's calls."""
    parts = grouped((_part(sheet), sheet) for sheet in sheets(lines, is_header))
    if parts["trace"]:
        return _trace(parts["trace"][0])
    kernels = _sums(parts["kernels"] or parts["grids"])
    device = kernels + _sums(parts["copies"], category="gpu_memcpy") or _sums(parts["gpu"])
    host = _sums(parts["api"])
    warning = "sums without a timeline: idle time and overlap are unknown (cuda_gpu_trace has them)"
    facts = ()
    if device and host:
        top = max(host, key=lambda c: (c.self_time, c.name))
        call = f"{top.name} {top.self_time:.3g} ms in {top.count} calls"
        facts = (Fact("longest host call", call),)
    scope = "device" if device else "host"
    return Reading("nsys", scope, "ms", tuple(device or host), facts=facts, warnings=(warning,))


_TEXT_TABLE = re.compile(r"\s*(?:Time ?\(%\)\s{2,}Total Time|Start \(\w+\)\s{2,}Duration \(\w+\))")
_WAY_OUT = "write `nsys stats --format csv -r cuda_gpu_kern_sum,cuda_gpu_mem_time_sum`"
_is_row = heads(is_header)
FORMATS = (
    Format(
        *("nsys", "nsys stats tables", nsys, 30, _WAY_OUT),
        line=lambda line: _is_row(line) or _TEXT_TABLE.match(line),
    ),
)
