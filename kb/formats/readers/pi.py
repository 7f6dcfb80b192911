"""pi-autoresearch logs (`.auto/log.jsonl`, `autoresearch.jsonl`), SkyPilot's jsonl and interlab's: config lines, then runs.

A config line after a run opens a segment, whatever the `segment` field says. Refuses pi's rule that
an unknown status is a keep.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import stdev

from msgspec.structs import replace

from kb import store
from kb.formats.columns import aim_of_figures
from kb.formats.readers.jsonl import (
    Json,
    JsonRow,
    objects_in,
    rows_of,
    run_of_object,
    text_of,
    value_at,
)
from kb.formats.reading import Ask, LogLine, Remark, Segment, split_sample
from kb.formats.registry import Event, LogFormat
from kb.formats.table import object_in
from kb.run.direction import direction_from, direction_of
from kb.run.quantity import to_float
from kb.run.record import Run, from_line
from kb.run.status import outcome_of

_KEYS = {
    "label": ("run",),
    "status": ("status", "decision"),
    "description": ("description",),
    "value": ("metric", "metric_value"),
    "figures": ("metrics", "secondary_metrics"),
    "hypothesis": ("asi.hypothesis",),
    "reason": (
        "asi.rollback_reason",
        "asi.failure_mode",
        "asi.learned",
        "asi.lesson",
        "asi.insight",
    ),
    "next_step": ("asi.next_action_hint", "asi.next_focus"),
    "mechanism": ("asi.mechanism",),
    "predicted_signal": ("asi.predicted_signal",),
    "code": ("commit", "commit_hash"),
    "created": ("timestamp",),
    "tokens": ("iterationTokens",),
    "ignored": ("type", "segment", "stddev", "samples", "asi"),
}


def is_config(value: Json) -> bool:
    """Whether a line opens a session."""
    named = bool({"metricName", "metric_name"} & value.keys())
    return value.get("type") == "config" or "run" not in value and named


def is_run(value: Json) -> bool:
    """Whether a line is a run: a numeric `run`, or interlab's `type: result`."""
    number = value.get("run")
    if isinstance(number, (int, float)) and not isinstance(number, bool):
        return True
    judged = bool({"decision", "status", "metric", "metric_value"} & value.keys())
    return value.get("type") in ("result", "run") and judged


def read(path: Path, ask: Ask) -> Iterator[Event]:
    """Segments, runs and remarks of a log, in file order."""
    sample, rows = split_sample(rows_of(path))
    shared = _shared_name([r.value for r in sample if isinstance(r, JsonRow) and is_run(r.value)])
    segment, begun = Segment(0, 1), False
    held: list[Remark] = []
    for row in rows:
        if isinstance(row, Remark):
            held.append(row)
        elif is_config(row.value):
            segment, begun = _segment(row, segment.index + begun, ask), False
        elif is_run(row.value):
            if not begun:
                begun = True
                if not segment.metric:
                    message = "no config line before these runs: metric and direction are not said"
                    held.append(Remark(message, row.line.number))
                    segment = _unnamed(segment, shared, ask)
                yield segment
            yield from _run(row, segment, path.name)
        elif "type" not in row.value:
            held.append(
                Remark("an object without a numeric 'run'; not read as a run", row.line.number)
            )
    if not begun and (segment.metric or segment.index == 0):
        yield segment if segment.metric else _unnamed(segment, "", ask)
    yield from held


def _segment(row: JsonRow, index: int, ask: Ask) -> Segment:
    value = row.value
    name = ask.metric or text_of(value_at(value, "metricName", "metric_name", "metric")) or "metric"
    stated = direction_from(value_at(value, "bestDirection", "direction", "best_direction"))
    # A session whose config leaves it out is minimised by the tool itself; what its name says goes before.
    way = (
        ask.way(name, stated=stated)
        if ask.direction or stated or direction_of(name)
        else ("lower", "format")
    )
    unit = text_of(value_at(value, "metricUnit", "metric_unit", "unit"))
    return Segment(index, row.line.number, text_of(value.get("name")), name, unit, *way)


def _unnamed(segment: Segment, name: str, ask: Ask) -> Segment:
    name = ask.metric or name
    return Segment(segment.index, segment.line, "", name or "metric", "", *ask.way(name))


def _shared_name(runs: list[Json]) -> str:
    """Name of the metric that stands beside `metric` with the same value in every run, where one alone does."""
    alike: list[set[str]] = []
    for run in runs:
        beside, value = run.get("metrics"), to_float(run.get("metric"))
        if value and isinstance(beside, dict):
            alike.append({k for k, v in beside.items() if to_float(v) == value})
    names = set.intersection(*alike) if len(alike) > 1 else set()
    return names.pop() if len(names) == 1 else ""


def _run(row: JsonRow, segment: Segment, file: str) -> Iterator[Run | Remark]:
    value, record = row.value, row.value.get("kb")
    if isinstance(record, dict) and "origin" in record:
        yield from_line(text_of(record))
        return
    status = text_of(value_at(value, *_KEYS["status"]))
    if not status:
        yield Remark("a run without a status; counted as other", row.line.number)
    run = run_of_object(row, _KEYS, segment, file=file, kind="pi", outcome=outcome_of(status))
    if run.value is None:
        yield Remark("no measurement (a sentinel or no number); left out of best", row.line.number)
    listed = value.get("samples")
    samples = (
        [v for s in listed if (v := to_float(s)) is not None] if isinstance(listed, list) else []
    )
    spread, count = (
        (stdev(samples), len(samples))
        if len(samples) > 1
        else (to_float(value.get("stddev")), None)
    )
    if run.value is not None and spread is not None:
        first, *others = run.metrics
        run = replace(run, metrics=(replace(first, stddev=spread, n=count), *others))
    yield run


def _is_pi(path: Path, head: Sequence[str]) -> bool:
    objects = objects_in(head)
    return not head and path.suffix == ".jsonl" or any(is_config(o) or is_run(o) for o in objects)


_TRAILER = "Result: {"
_COMMIT_KEYS = {
    "label": ("label",),
    "code": ("code",),
    "status": ("status",),
    "description": ("description",),
    "figures": ("figures",),
    "created": ("created",),
}


def read_trailers(path: Path, ask: Ask) -> Iterator[Event]:
    """One segment, and one run a commit with a Result trailer, oldest first. Raises KbError where there is no git repository."""
    form = "--format=%H%x1f%cI%x1f%B"
    words = ("log", "--reverse", "-z", form, f"--grep=^{_TRAILER}")
    listed = store.git_output(str(path), *words, at=("-C", str(path))).decode("utf-8", "replace")
    commits = [_commit(c.strip("\n")) for c in listed.split("\0") if c]
    metric = ask.metric or aim_of_figures([c["figures"] for c in commits])
    segment = Segment(0, 1, "", metric, "", *ask.way(metric))
    yield segment
    for number, value in enumerate(commits, 1):
        if not value["figures"]:
            yield Remark(f"commit {value['label']}: its Result trailer is no JSON; skipped", number)
            continue
        row, outcome = (JsonRow(LogLine(number, value["code"]), value), outcome_of(value["status"]))
        yield run_of_object(
            row, _COMMIT_KEYS, segment, file=f"git:{value['code']}", kind="pi-git", outcome=outcome
        )


def _commit(text: str) -> Json:
    """A commit as an object: its hash, day, first line, and what its trailer states."""
    commit, when, body = text.split("\x1f", 2)
    lines = body.strip().splitlines() or [""]
    trailer = next((x for x in reversed(lines) if x.startswith(_TRAILER)), "")
    stated = object_in(trailer.removeprefix("Result: "))
    status = text_of(stated.pop("status", None))
    fields = {"label": commit[:7], "code": commit, "created": when, "description": lines[0]}
    return {**fields, "status": status, "figures": stated}


_NAMES = ("pi-autoresearch", "interlab", "interlab-jsonl")
FORMATS = (
    LogFormat("pi", _is_pi, read, order=11, aliases=_NAMES),
    LogFormat("pi-git", lambda path, head: False, read_trailers, order=15, folders=True),
)
