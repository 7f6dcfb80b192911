"""`nsys stats` tables (CSV or text, many in one file) to costs. A timeline (cuda_gpu_trace) tells idle time, sums do not.

Columns as in the reports cuda_gpu_kern_sum, cuda_gpu_mem_time_sum, cuda_gpu_sum, cuda_gpu_trace, cuda_api_sum, osrt_sum and
their older names. Of tables that show the same time twice one is used: the trace, else kernels and copies, else the combined
sum, else the host's calls.
"""

import re
from collections import defaultdict
from collections.abc import Iterable

from kb import KbError
from kb.profiles.buckets import bucket_of
from kb.profiles.registry import Format
from kb.profiles.sheets import Sheet, number, plain, sheets
from kb.profiles.table import Cost, Fact, Reading
from kb.profiles.timeline import Track, spend


def is_header(cells: list[str]) -> bool:
    names = {plain(c) for c in cells}
    return {"time", "totaltime"} <= names or {"start", "duration", "name"} <= names


def _part(sheet: Sheet) -> str:
    """What a table shows: trace, gpu, kernels, copies, api or other."""
    if sheet.column("Start") is not None:
        return (
            "trace"
            if sheet.column("Strm", "Stream") is not None
            or sheet.column("CorrId", "CorrID") is not None
            and sheet.column("GrdX") is not None
            else "other"
        )
    if sheet.column("Style") is not None or sheet.column("Range") is not None:
        return "other"
    if sheet.column("GridXYZ") is not None or "_gb_sum" in sheet.report:
        return "grids"
    if sheet.column("Category") is not None:
        return "gpu"
    if sheet.column("Instances") is not None:
        return "kernels" if sheet.column("Name") is not None else "other"
    if sheet.column("Operation") is not None:
        return "copies"
    return "api" if sheet.column("Name") is not None else "other"


def _sums(sheet: Sheet, *, category: str) -> list[Cost]:
    time, name = sheet.column("Total Time"), sheet.column("Name", "Operation")
    count = sheet.column("Instances", "Count", "Num Calls", "Operations")
    if time is None or name is None:
        return []
    scale, costs = sheet.unit(time, default="ns"), []
    for row in sheet.rows:
        total = number(row[time]) if len(row) > max(time, name) else None
        if total is not None:
            calls = number(row[count]) if count is not None else None
            costs.append(Cost(row[name], total * scale, total * scale, int(calls or 0), category))
    return costs


def _trace(sheet: Sheet, *, label: str) -> Reading:
    """Per-event rows of cuda_gpu_trace: streams of each device as tracks."""
    at = [sheet.column(n) for n in ("Start", "Duration", "Name")]
    if at[0] is None or at[1] is None or at[2] is None:
        raise KbError(
            f"{label}: a trace table without Start, Duration and Name columns; export cuda_gpu_trace again"
        )
    start, duration, name = at[0], at[1], at[2]
    device, stream = sheet.column("Device"), sheet.column("Strm", "Stream")
    scales = sheet.unit(start, default="ns"), sheet.unit(duration, default="ns")
    ops: dict[str, int] = {}
    devices: dict[str, dict[str, Track]] = defaultdict(lambda: defaultdict(Track))
    for row in sheet.rows:
        if len(row) <= max(start, duration, name):
            continue
        began, took = number(row[start]), number(row[duration])
        if began is not None and took is not None and took >= 0:
            track = devices[row[device] if device is not None else ""][
                row[stream] if stream is not None else ""
            ]
            track.add(
                began * scales[0],
                began * scales[0] + took * scales[1],
                op=ops.setdefault(row[name], len(ops)),
            )
    buckets, costs, idle = [bucket_of(n) for n in ops], [], 0.0
    for device_name in sorted(devices):
        spent = spend(
            [devices[device_name][s] for s in sorted(devices[device_name])], bucket_by_op=buckets
        )
        idle += spent.idle
        costs += [
            Cost(n, spent.self_time[i], spent.wall[i], spent.counts[i], exposed=spent.exposed[i])
            for n, i in ops.items()
            if spent.counts[i]
        ]
    return Reading(
        "nsys",
        "device",
        "ms",
        tuple(costs),
        idle,
        max(1, len(devices)),
        facts=tuple(Fact("device", d) for d in sorted(devices) if d),
    )


def reading(lines: Iterable[str], *, label: str) -> Reading:
    """Device time where a table has it, else the host's calls. Raises KbError where no table is one of these."""
    parts: dict[str, list[Sheet]] = defaultdict(list)
    for sheet in sheets(lines, is_header=is_header):
        parts[_part(sheet)].append(sheet)
    if parts["trace"]:
        return _trace(parts["trace"][0], label=label)
    kernels = parts["kernels"] or parts["grids"]
    if kernels or parts["copies"]:
        device = [c for s in kernels for c in _sums(s, category="")] + [
            c for s in parts["copies"] for c in _sums(s, category="gpu_memcpy")
        ]
    else:
        device = [c for s in parts["gpu"] for c in _sums(s, category="")]
    host = [c for s in parts["api"] for c in _sums(s, category="")]
    if not device and not host:
        raise KbError(
            f"{label}: no nsys table with times; write `nsys stats --format csv -r cuda_gpu_kern_sum,cuda_gpu_mem_time_sum`"
        )
    warnings = [
        "sums without a timeline: idle time and overlap are unknown (cuda_gpu_trace has them)"
    ]
    facts = []
    if device and host:
        top = max(host, key=lambda c: (c.self_time, c.name))
        facts.append(
            Fact("longest host call", f"{top.name} {top.self_time:.3g} ms in {top.count} calls")
        )
    return Reading(
        "nsys",
        "device" if device else "host",
        "ms",
        tuple(device or host),
        facts=tuple(facts),
        warnings=tuple(warnings),
    )


_TEXT_TABLE = re.compile(r"\s*(?:Time ?\(%\)\s{2,}Total Time|Start \(\w+\)\s{2,}Duration \(\w+\))")
FORMATS = (
    Format(
        "nsys",
        "nsys stats tables",
        lambda stream, label: reading(stream, label=label),
        30,
        row=is_header,
        line=_TEXT_TABLE.match,
    ),
)
