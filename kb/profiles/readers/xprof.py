"""xprof exports to costs: hlo_stats, framework_op_stats and kernel_stats as JSON or CSV, op_profile and overview_page JSON.

Columns as xprof's converters write them; a JSON table is a gviz DataTable ({"cols", "rows", "p"}). Times are self times
summed over cores.
"""

import json
from typing import TextIO

from kb import KbError
from kb.profiles.jsonstream import Json
from kb.profiles.registry import Format
from kb.profiles.sheets import Sheet, heads, number, plain, sheets
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


_TIMES = ("Total self time", "Total self-time", "Total Duration", "total_duration_us")
_NAMES = ("HLO op name", "Operation Name", "Operation", "Kernel Name")
_COLUMNS = {
    "time": _TIMES,
    "name": _NAMES,
    "category": ("HLO op category", "category", "Operation Type", "Type"),
    "count": ("Occurrences",),
    "detail": ("Framework op name", "tf_op_name", "Op Name"),
    "place": ("Host/device", "host_or_device"),
    "bound": ("Bound by",),
}


def is_header(cells: list[str]) -> bool:
    names = {plain(c) for c in cells}
    return all(names & {*map(plain, columns)} for columns in (_TIMES, _NAMES))


def _object(value: Json) -> dict[str, Json]:
    return value if isinstance(value, dict) else {}


def _objects(value: Json) -> list[dict[str, Json]]:
    return [_object(item) for item in value] if isinstance(value, list) else []


def _sheet(table: Json) -> Sheet:
    """A gviz DataTable."""
    columns, rows = _objects(table.get("cols")), _objects(table.get("rows"))
    cells = ([c.get("v") for c in _objects(row.get("c"))] for row in rows)
    return Sheet(
        [str(c.get("label") or c.get("id") or "") for c in columns],
        [["" if v is None else str(v) for v in row] for row in cells if row],
    )


def _operations(sheet: Sheet) -> Reading:
    """Rows of an operation table; of a framework table the device's rows if they have any time, IDLE being idle time."""
    scale = sheet.scale(*_TIMES, default="us")
    by_scope: dict[str, list[Cost]] = {"device": [], "host": []}
    idle: dict[str, float] = {}
    for row in sheet.records(_COLUMNS):
        time = (number(row["time"]) or 0.0) * scale
        scope = "host" if row["place"].lower() == "host" else "device"
        if "IDLE" in (row["category"].upper(), row["name"].upper()):
            idle[scope] = idle.get(scope, 0.0) + time
        elif row["time"]:
            facts = (Fact("bound by", row["bound"]),) if row["bound"] not in ("", "Unknown") else ()
            about = int(number(row["count"]) or 0), row["category"], row["detail"]
            by_scope[scope].append(Cost(row["name"], time, time, *about, facts=facts))
    scope = "device" if sum(c.wall for c in by_scope["device"]) > 0 else "host"
    return Reading("xprof", scope, "ms", tuple(by_scope[scope]), idle.get(scope))


def _overview(properties: dict[str, str], sheets_of_it: list[Sheet]) -> Reading:
    """The overview page: the parts of its average step."""
    figures = {k: number(v) or 0.0 for k, v in properties.items()}
    # Without a device the page prints every utilisation as zero; that is no measurement.
    dark = not any(figures.get(k) for k in OVERVIEW if "time_ms" not in k)
    shown = (k for k in OVERVIEW if figures.get(k) or not dark or k == "device_type")
    facts = tuple(Fact(k, properties[k]) for k in shown if properties.get(k))
    stepped = (s for s in sheets_of_it if s.column("Step number", "stepnum") is not None)
    steps, step_time = next((len(s.rows) for s in stepped), None), figures.get(OVERVIEW[0]) or None
    parts = ((op, figures.get(key, 0.0)) for key, op in STEP_PARTS.items())
    costs = tuple(Cost(name, t, t, 0, category) for (name, category), t in parts if t)
    about = {"facts": facts, "warnings": ("parts of the average step",)}
    scope = "host" if dark else "device"
    return Reading("xprof", scope, "ms", costs, steps=steps, step_time=step_time, **about)


def _metric(node: dict[str, Json], name: str) -> float:
    return number(_object(node.get("metrics")).get(name)) or 0.0


def _op_profile(value: dict[str, Json], root: dict[str, Json], *, programs: bool) -> Reading:
    """The tree of op_profile, by category or through its `programs`; parents' times include their children's, and what the tool
    left out of a category's list is kept as the rest.
    """
    is_idle = lambda node: str(node.get("name", "")).upper() == "IDLE"  # noqa: E731
    categories = _objects(root.get("children"))
    if programs:
        parts = ([p] if is_idle(p) else _objects(p.get("children")) for p in categories)
        categories = [category for part in parts for category in part]
    idle, costs = None, []
    for category in categories:
        name, rest = str(category.get("name", "")), _metric(category, "rawTime") / PS_PER_MS
        if is_idle(category):
            idle = (idle or 0.0) + rest
            continue
        least = 1e-6 * max(1.0, rest)
        for node in _objects(category.get("children")):
            op = str(node.get("name", "")).partition(" and its duplicate")[0]
            time, count = _metric(node, "rawTime") / PS_PER_MS, int(_metric(node, "occurrences"))
            detail = str(_object(node.get("xla")).get("provenance") or "")
            costs.append(Cost(op, time, time, count, name, detail))
            rest -= time
        costs += [Cost(f"(rest of {name})", rest, rest, 0, name)] if rest > least else []
    device = str(value.get("deviceType") or value.get("device_type") or "")
    facts = (Fact("device", device),) if device else ()
    return Reading("xprof", "device", "ms", tuple(costs), idle, facts=facts)


def _of_json(text: str, label: str) -> Reading:
    """Any of the JSON exports. Raises KbError where it is no JSON."""
    try:
        value: Json = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise KbError(
            f"{label}: not valid JSON ({error}); is the file whole? export it again"
        ) from error
    tables = [t for t in _objects(value if isinstance(value, list) else [value]) if t.get("cols")]
    tree, listed = _object(value), [_sheet(table) for table in tables]
    properties = {k: str(v) for t in tables for k, v in _object(t.get("p")).items()}
    by_category, by_program = (_object(tree.get(a) or tree.get(b)) for a, b in _TREES)
    if by_category or by_program:
        return _op_profile(tree, by_category or by_program, programs=not by_category)
    if {OVERVIEW[0], "device_duty_cycle_percent"} & properties.keys():
        return _overview(properties, listed)
    return next((_operations(s) for s in listed if is_header(s.columns)), _NOTHING)


_NOTHING = Reading("xprof", "device", "ms", ())
_TREES = ("byCategory", "by_category"), ("byProgram", "by_program")


def xprof(stream: TextIO, label: str) -> Reading:
    """A JSON export, or an operation table as CSV. Raises KbError where it is too large to be read whole."""
    start = stream.read(_HEAD)
    if start.lstrip().startswith(("{", "[")):
        text = start + stream.read(_LARGEST)
        if len(text) > _LARGEST:
            raise KbError(
                f"{label}: an xprof table of more than {_LARGEST >> 20} MB; export it as CSV, or fewer operations"
            )
        return _of_json(text, label)
    stream.seek(0)
    readings = map(_operations, sheets(stream, is_header))
    return next((r for r in readings if r.costs), _NOTHING)


_KEYS = frozenset(("cols", "byProgramExcludeIdle", "byCategoryExcludeIdle", *_TREES[0], *_TREES[1]))
_ABOUT = "xprof exports, JSON or CSV"
_WAY_OUT = "export hlo_stats, op_profile, framework_op_stats, kernel_stats or overview_page of a profile taken on a device; one of a host alone has none"
FORMATS = (Format("xprof", _ABOUT, xprof, 20, _WAY_OUT, _KEYS, heads(is_header)),)
