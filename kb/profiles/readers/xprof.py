"""xprof exports to costs: hlo_stats, framework_op_stats and kernel_stats as JSON or CSV, op_profile and overview_page JSON.

Columns as xprof's converters write them; a JSON table is a gviz DataTable ({"cols", "rows", "p"}). Times are self times
summed over cores.
"""

import json
from collections.abc import Iterable
from typing import TextIO

from kb import KbError
from kb.profiles.jsonstream import Json
from kb.profiles.registry import Format
from kb.profiles.sheets import Sheet, number, plain, sheets
from kb.profiles.table import Cost, Fact, Reading

PS_PER_MS = 1e9
# Operation tables and trees are read whole.
_HEAD, _LARGEST = 1 << 16, 1 << 27
# Headline figures of the overview page that say how the device fares, in the tool's own words.
OVERVIEW = (
    "steptime_ms_average",
    "mxu_utilization_percent",
    "device_duty_cycle_percent",
    "device_idle_time_percent",
    "host_idle_time_percent",
    "memory_bw_utilization_relative_to_hw_limit",
    "hbm_utilization_percent",
    "flop_rate_utilization_relative_to_roofline",
    "device_type",
    "device_core_count",
)
# Parts of a step on the overview page: property to (operation, category).
STEP_PARTS = {
    "device_compute_time_ms_avg": ("device compute", "device compute"),
    "device_collectives_time_ms_avg": ("device collectives", "collective"),
    "device_to_device_time_ms_avg": ("device to device", "copy"),
    "kernel_launch_time_ms_avg": ("kernel launch", "cuda_runtime"),
    "infeed_time_ms_avg": ("input", "infeed"),
    "outfeed_time_ms_avg": ("output", "outfeed"),
    "host_compute_time_ms_avg": ("host compute", "host compute"),
    "compile_time_ms_avg": ("compilation", "compile"),
    "other_time_ms_avg": ("all others", "all others"),
}


def is_header(cells: list[str]) -> bool:
    names = {plain(c) for c in cells}
    return bool({"totalselftime", "totalduration", "totaldurationus"} & names) and bool(
        {"hloopname", "operation", "operationname", "kernelname"} & names
    )


def _object(value: Json) -> dict[str, Json]:
    return value if isinstance(value, dict) else {}


def _objects(value: Json) -> list[dict[str, Json]]:
    return [_object(item) for item in value] if isinstance(value, list) else []


def _table(value: Json) -> tuple[Sheet, dict[str, str]] | None:
    """A gviz DataTable as a sheet and its properties."""
    table = _object(value)
    if not isinstance(table.get("cols"), list):
        return None
    columns = tuple(str(c.get("label") or c.get("id") or "") for c in _objects(table["cols"]))
    rows = (_objects(row["c"]) for row in _objects(table.get("rows")) if "c" in row)
    cells = tuple(
        tuple("" if c.get("v") is None else str(c["v"]) for c in row) for row in rows if row
    )
    return Sheet("", columns, cells), {k: str(v) for k, v in _object(table.get("p")).items()}


def _operations(sheet: Sheet) -> Reading | None:
    """Rows of an operation table; of a framework table the device's rows if they have any time, IDLE being idle time."""
    times = ("Total self time", "Total self-time", "Total Duration", "total_duration_us")
    names = ("HLO op name", "Operation Name", "Operation", "Kernel Name")
    if not (sheet.has(*times) and sheet.has(*names)):
        return None
    scale = sheet.scale(*times, default="us")
    by_scope: dict[str, list[Cost]] = {"device": [], "host": []}
    idle: dict[str, float] = {}
    for row in sheet.records(
        {
            "time": times,
            "name": names,
            "category": ("HLO op category", "category", "Operation Type", "Type"),
            "count": ("Occurrences",),
            "detail": ("Framework op name", "tf_op_name", "Op Name"),
            "place": ("Host/device", "host_or_device"),
            "bound": ("Bound by",),
        }
    ):
        value = number(row["time"])
        if value is None:
            continue
        time, scope = value * scale, "host" if row["place"].lower() == "host" else "device"
        if "IDLE" in (row["category"].upper(), row["name"].upper()):
            idle[scope] = idle.get(scope, 0.0) + time
            continue
        facts = (Fact("bound by", row["bound"]),) if row["bound"] not in ("", "Unknown") else ()
        count = int(number(row["count"]) or 0)
        cost = Cost(row["name"], time, time, count, row["category"], row["detail"], facts=facts)
        by_scope[scope].append(cost)
    scope = "device" if sum(c.wall for c in by_scope["device"]) > 0 else "host"
    return Reading("xprof", scope, "ms", tuple(by_scope[scope]), idle.get(scope))


def _figure(text: str) -> float:
    return number(text) or 0.0


def _overview(tables: list[tuple[Sheet, dict[str, str]]]) -> Reading | None:
    """The overview page: the parts of its average step."""
    properties = {k: v for _, p in tables for k, v in p.items()}
    if "steptime_ms_average" not in properties and "device_duty_cycle_percent" not in properties:
        return None
    # Without a device the page prints every utilisation as zero; that is no measurement.
    dark = not any(
        _figure(v) for k, v in properties.items() if k in OVERVIEW and "time_ms" not in k
    )
    facts = tuple(
        Fact(k, properties[k])
        for k in OVERVIEW
        if properties.get(k) and not (dark and not _figure(properties[k]) and k != "device_type")
    )
    steps = next((len(s.rows) for s, _ in tables if s.has("Step number", "stepnum")), None)
    step_time = _figure(properties.get("steptime_ms_average", "")) or None
    costs = [
        Cost(n, t, t, 0, c)
        for key, (n, c) in STEP_PARTS.items()
        if (t := _figure(properties.get(key, "")))
    ]
    return Reading(
        "xprof",
        "host" if dark else "device",
        "ms",
        tuple(costs),
        steps=steps,
        step_time=step_time,
        facts=facts,
        warnings=("parts of the average step",),
    )


def _metric(node: dict[str, Json], name: str) -> float:
    return _figure(str(_object(node.get("metrics")).get(name, 0)))


def _node_time(node: dict[str, Json]) -> float:
    return _metric(node, "rawTime") / PS_PER_MS


def _category_costs(category: dict[str, Json]) -> list[Cost]:
    """Operations of one category node; what the tool left out of its list is kept as the rest."""
    name, costs = str(category.get("name", "")), []
    for node in _objects(category.get("children")):
        count, time = int(_metric(node, "occurrences")), _node_time(node)
        detail = str(_object(node.get("xla")).get("provenance") or "")
        op = str(node.get("name", "")).partition(" and its duplicate")[0]
        costs.append(Cost(op, time, time, count, name, detail))
    rest = _node_time(category) - sum(c.wall for c in costs)
    if rest > 1e-6 * max(1.0, _node_time(category)):
        costs.append(Cost(f"(rest of {name})", rest, rest, 0, name))
    return costs


def _is_idle(node: dict[str, Json]) -> bool:
    return str(node.get("name", "")).upper() == "IDLE"


def _op_profile(value: dict[str, Json]) -> Reading | None:
    """The tree of op_profile, by category if it is there, else through its programs; parents' times include their children's."""
    by_category = value.get("byCategory") or value.get("by_category")
    by_program = value.get("byProgram") or value.get("by_program")
    root = by_category or by_program
    if not isinstance(root, dict):
        return None
    categories = _objects(root.get("children"))
    if not by_category:
        parts = ([p] if _is_idle(p) else _objects(p.get("children")) for p in categories)
        categories = [category for part in parts for category in part]
    idle, costs = None, []
    for category in categories:
        if _is_idle(category):
            idle = (idle or 0.0) + _node_time(category)
        else:
            costs += _category_costs(category)
    device = str(value.get("deviceType") or value.get("device_type") or "")
    return Reading(
        "xprof",
        "device",
        "ms",
        tuple(costs),
        idle,
        facts=(Fact("device", device),) if device else (),
    )


def reading_json(text: str, *, label: str) -> Reading:
    """Any of the JSON exports. Raises KbError where it is none, or holds no operation (a profile of a host alone)."""
    try:
        value: Json = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise KbError(
            f"{label}: not valid JSON ({error}); is the file whole? export it again"
        ) from error
    read = _op_profile(_object(value))
    tables = [t for v in (value if isinstance(value, list) else [value]) if (t := _table(v))]
    if read is None and tables:
        read = _overview(tables) or next(filter(None, (_operations(s) for s, _ in tables)), None)
    if read is None:
        raise KbError(
            f"{label}: no xprof table known here; export hlo_stats, op_profile, framework_op_stats, kernel_stats or overview_page"
        )
    if not read.costs:
        raise KbError(
            f"{label}: the xprof table has no operations; was the profile taken on a device? (a host-only profile has none)"
        )
    return read


def reading_csv(lines: Iterable[str], *, label: str) -> Reading:
    """An operation table as CSV. Raises KbError where no header is one."""
    readings = map(_operations, sheets(lines, is_header=is_header))
    read = next((r for r in readings if r and r.costs), None)
    if read is None:
        raise KbError(
            f"{label}: no rows of an xprof operation table; export hlo_stats or framework_op_stats as CSV again"
        )
    return read


def _read(stream: TextIO, label: str) -> Reading:
    start = stream.read(_HEAD)
    if not start.lstrip().startswith(("{", "[")):
        stream.seek(0)
        return reading_csv(stream, label=label)
    text = start + stream.read(_LARGEST)
    if len(text) > _LARGEST:
        raise KbError(
            f"{label}: an xprof table of more than {_LARGEST >> 20} MB; export it as CSV, or fewer operations"
        )
    return reading_json(text, label=label)


_TREES = (
    "byProgram",
    "byCategory",
    "by_program",
    "by_category",
    "byProgramExcludeIdle",
    "byCategoryExcludeIdle",
)
FORMATS = (
    Format(
        "xprof",
        "xprof exports, JSON or CSV",
        _read,
        20,
        keys=(*_TREES, "cols"),
        item_keys=("cols",),
        row=is_header,
    ),
)
