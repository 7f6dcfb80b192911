"""pi-autoresearch logs (`.auto/log.jsonl`, `autoresearch.jsonl`), SkyPilot's jsonl and interlab's: config lines, then runs.

A config line after a run opens a segment, whatever the `segment` field says. Refuses pi's rule that
an unknown status is a keep.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from pathlib import Path

from kb import store
from kb.formats.columns import ColumnRole
from kb.formats.layout import Record, RecordTable
from kb.formats.readers.jsonl import Json, JsonRow, objects_in, rows_of, text_of
from kb.formats.reading import Ask, LogLine, Remark, split_sample
from kb.formats.registry import Event, LogFormat
from kb.formats.table import events_of, json_in
from kb.run.direction import direction_from, direction_of
from kb.run.quantity import to_float
from kb.run.record import from_line

# What the fields of a run are, those of one role in the order in which they are believed.
_ROLES: Mapping[str, ColumnRole] = {
    **{"run": "id", "status": "status", "decision": "status", "description": "text"},
    **{"commit": "code", "commit_hash": "code", "timestamp": "time", "iterationTokens": "tokens"},
    **{"asi.hypothesis": "hypothesis", "asi.mechanism": "mechanism"},
    **{"asi.predicted_signal": "signal", "asi.next_action_hint": "next", "asi.next_focus": "next"},
    **{"asi.rollback_reason": "reason", "asi.failure_mode": "reason", "asi.learned": "reason"},
    **{"asi.lesson": "reason", "asi.insight": "reason"},
}
_VALUES, _BESIDE = ("metric", "metric_value"), ("metrics", "secondary_metrics")
_UNREAD = {"type", "segment", "asi", "kb", *_VALUES, *_BESIDE}


def is_config(value: Json) -> bool:
    """Whether a line opens a session."""
    named = bool({"metricName", "metric_name"} & value.keys())
    return value.get("type") == "config" or "run" not in value and named


def is_run(value: Json) -> bool:
    """Whether a line is a run: a numeric `run`, or interlab's `type: result`."""
    number = value.get("run")
    if isinstance(number, (int, float)) and not isinstance(number, bool):
        return True
    judged = bool({"decision", "status", *_VALUES} & value.keys())
    return value.get("type") in ("result", "run") and judged


def read(path: Path, ask: Ask) -> Iterator[Event]:
    """Segments, runs and remarks of a log, in file order."""
    parts = groupby(_numbered(rows_of(path)), key=itemgetter(0))
    tables = (_table(rows) for _, rows in parts)
    yield from events_of(tables, ask, file=path.name, kind="pi")


def _numbered(rows: Iterator[JsonRow | Remark]) -> Iterator[tuple[int, JsonRow | Remark]]:
    """Rows with the number of their segment."""
    number, begun = 0, False
    for row in rows:
        if isinstance(row, tuple):
            number += begun and is_config(row[1])
            begun = is_run(row[1]) or begun and not is_config(row[1])
        yield number, row


def _table(numbered: Iterator[tuple[int, JsonRow | Remark]]) -> RecordTable:
    """The runs of a segment under what its config says; without one, under the figure that stands beside `metric` with its values."""
    sample, rows = split_sample(row for _, row in numbered)
    objects = [r for r in sample if isinstance(r, tuple)]
    runs = [value for _, value in objects if is_run(value)]
    first = LogLine(1, ""), {}
    line, says = next((r for r in reversed(objects) if is_config(r[1])), first)
    name = _first(says, "metricName", "metric_name", "metric") or _shared_name(runs) or "metric"
    direction = direction_from(_first(says, "bestDirection", "direction", "best_direction"))
    # A session whose config leaves it out is minimised by the tool itself; what its name says goes before.
    tool = bool(says and not direction and not direction_of(name))
    stated = Ask(
        "lower" if tool else direction,
        name,
        unit=_first(says, "metricUnit", "metric_unit", "unit"),
        source="format" if tool else "config",
    )
    figures = [name, *(n for r in runs for n in _figures(r)), f"{name}_stddev"]
    roles = {**_ROLES, **dict.fromkeys(figures, "metric")}
    records, heading = _records(rows, name, unsaid=not says), _first(says, "name")
    return RecordTable(records, [*roles], line.number, heading, stated, roles=roles, others="note")


def _records(
    rows: Iterator[JsonRow | Remark], name: str, *, unsaid: bool
) -> Iterator[Record | Remark]:
    for row in rows:
        if isinstance(row, Remark):
            yield row
            continue
        line, value = row
        if is_run(value):
            if unsaid:
                message = "no config line before these runs: metric and direction are not said"
                yield Remark(message, line.number)
            unsaid = False
            yield from _record(line, value, name)
        elif "type" not in value and not is_config(value):
            yield Remark("an object without a numeric 'run'; not read as a run", line.number)


def _record(line: LogLine, value: Json, name: str) -> Iterator[Record | Remark]:
    asi, whole = value.get("asi"), value.get("kb")
    if not _first(value, "status", "decision"):
        yield Remark("a run without a status; counted as other", line.number)
    fields = {k: v for k, v in value.items() if k not in _UNREAD}
    fields |= {f"asi.{k}": v for k, v in asi.items()} if isinstance(asi, dict) else {}
    aim = {name: _first(value, *_VALUES)}
    cells = aim | _figures(value) | aim
    cells |= {n: text_of(fields[n]) for n in (*_ROLES, *fields) if fields.get(n) not in (None, {})}
    cells[f"{name}_stddev"] = cells.pop("stddev", "") or cells.get(f"{name}_stddev", "")
    restored = isinstance(whole, dict) and "origin" in whole
    yield Record(line, cells, whole=from_line(text_of(whole)) if restored else None)


def _first(value: Json, *keys: str) -> str:
    """The first of the values under some keys that says anything, as text."""
    return next((text for k in keys if (text := text_of(value.get(k)))), "")


def _figures(run: Json) -> dict[str, str]:
    """The figures beside the one that a run is judged by."""
    beside = next((b for k in _BESIDE if isinstance(b := run.get(k), dict)), {})
    return {str(k): text_of(v) for k, v in beside.items() if to_float(v) is not None}


def _shared_name(runs: Sequence[Json]) -> str:
    """Name of the metric that stands beside `metric` with the same value in every run, where one alone does."""
    alike = [
        {n for n, v in _figures(run).items() if to_float(v) == to_float(run.get("metric"))}
        for run in runs
        if to_float(run.get("metric"))
    ]
    names = set.intersection(*alike) if len(alike) > 1 else set()
    return names.pop() if len(names) == 1 else ""


def _is_pi(path: Path, head: Sequence[str]) -> bool:
    objects = objects_in(head)
    return not head and path.suffix == ".jsonl" or any(is_config(o) or is_run(o) for o in objects)


_TRAILER = "Result: {"


def read_trailers(path: Path, ask: Ask) -> Iterator[Event]:
    """One segment, and one run a commit with a Result trailer, oldest first. Raises KbError where there is no git repository."""
    form = "--format=%H%x1f%cI%x1f%B"
    words = ("log", "--reverse", "-z", form, f"--grep=^{_TRAILER}")
    listed = store.git_output(str(path), *words, at=("-C", str(path))).decode("utf-8", "replace")
    commits = (_commit(c.strip("\n"), n) for n, c in enumerate(listed.split("\0"), 1) if c)
    yield from events_of([RecordTable(commits)], ask, file=path.name, kind="pi-git")


def _commit(text: str, number: int) -> Record | Remark:
    """A commit as a record: its hash, day, first line, and what its trailer states."""
    commit, when, body = text.split("\x1f", 2)
    lines = body.strip().splitlines() or [""]
    trailer = next((x for x in reversed(lines) if x.startswith(_TRAILER)), "")
    stated = {k: text_of(v) for k, v in json_in(trailer.removeprefix("Result: "), dict).items()}
    if not stated:
        return Remark(f"commit {commit[:7]}: its Result trailer is no JSON; skipped", number)
    cells = {"id": commit[:7], "commit": commit, "date": when, "description": lines[0]}
    return Record(LogLine(number, commit), cells | stated, file=f"git:{commit}")


_NAMES = ("pi-autoresearch", "interlab", "interlab-jsonl")
FORMATS = (
    LogFormat("pi", _is_pi, read, order=11, aliases=_NAMES),
    LogFormat("pi-git", lambda path, head: False, read_trailers, order=15, folders=True),
)
