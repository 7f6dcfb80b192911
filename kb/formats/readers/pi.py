"""pi-autoresearch logs (`.auto/log.jsonl`, `autoresearch.jsonl`), SkyPilot's jsonl and interlab's: config lines, then runs.

A config line after a run opens a segment, whatever the `segment` field says. Refuses pi's rule that
an unknown status is a keep.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import stdev

from kb.formats.objects import Json, JsonRow, first_of, objects_in, rows_of, text_of
from kb.formats.reading import Ask, Line, Remark, Segment, measured, moment, split_sample
from kb.formats.registry import Event, Format
from kb.formats.table import metrics_of
from kb.run.direction import direction_from, direction_of, word_set
from kb.run.quantity import to_float
from kb.run.record import Metric, Origin, Outcome, Run, from_line, outcome_of

# Keys of a run line that have a field of their own in the record; all others become notes.
_FIELDS = word_set(
    "type run commit commit_hash metric metric_value metrics secondary_metrics status decision "
    "description timestamp segment asi iterationTokens stddev samples kb"
)
# Keys of the free-form `asi` that have a field in the record, the likeliest first.
_ASI = {
    "hypothesis": ("hypothesis",),
    "reason": ("rollback_reason", "failure_mode", "learned", "lesson", "insight"),
    "next_step": ("next_action_hint", "next_focus"),
    "mechanism": ("mechanism",),
    "predicted_signal": ("predicted_signal",),
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
            segment = _segment(row, segment.index + begun, ask)
            begun = False
        elif is_run(row.value):
            if not begun:
                begun = True
                if not segment.metric:
                    told = "no config line before these runs: metric and direction are not said"
                    held.append(Remark(told, row.line.number))
                    segment = _unnamed(segment, shared, ask)
                yield segment
            yield from _run(row.value, row.line, segment, path.name)
        elif "type" not in row.value:
            held.append(Remark("an object without a numeric 'run'; not read as a run", row.line.number))
    if not begun and (segment.metric or segment.index == 0):
        yield segment if segment.metric else _unnamed(segment, "", ask)
    yield from held


def _segment(row: JsonRow, index: int, ask: Ask) -> Segment:
    value = row.value
    name = ask.metric or text_of(first_of(value, ("metricName", "metric_name", "metric"))) or "metric"
    direction, source = ask.direction, "asked"
    if direction is None:
        stated = first_of(value, ("bestDirection", "direction", "best_direction"))
        direction, source = direction_from(stated), "config"
    if direction is None:
        # A session whose config leaves it out is minimised by the tool itself; what its name says goes before.
        direction, source = (direction_of(name), "name") if direction_of(name) else ("lower", "format")
    unit = text_of(first_of(value, ("metricUnit", "metric_unit", "unit")))
    return Segment(index, row.line.number, text_of(value.get("name")), name, unit, direction, source)


def _unnamed(segment: Segment, name: str, ask: Ask) -> Segment:
    name = ask.metric or name
    direction = ask.direction or direction_of(name)
    source = "asked" if ask.direction else "name" if direction else ""
    return replace(segment, name="", metric=name or "metric", unit="", direction=direction, source=source)


def _shared_name(runs: list[Json]) -> str:
    """Name of the metric that stands beside `metric` with the same value in every run, where one alone does."""
    alike: list[set[str]] = []
    for run in runs:
        beside, value = run.get("metrics"), to_float(run.get("metric"))
        if value and isinstance(beside, dict):
            alike.append({k for k, v in beside.items() if to_float(v) == value})
    names = set.intersection(*alike) if len(alike) > 1 else set()
    return names.pop() if len(names) == 1 else ""


def _run(value: Json, line: Line, segment: Segment, file: str) -> Iterator[Run | Remark]:
    record = value.get("kb")
    if isinstance(record, dict) and "origin" in record:
        yield from_line(text_of(record))
        return
    status = text_of(first_of(value, ("status", "decision")))
    outcome = outcome_of(status)
    if not status:
        yield Remark("a run without a status; counted as other", line.number)
    primary = _primary(value, segment, outcome)
    if primary.value is None:
        yield Remark("no measurement (a sentinel or no number); left out of best", line.number)
    beside = first_of(value, ("metrics", "secondary_metrics"))
    figures = {str(k): v for k, v in beside.items() if not isinstance(v, str)} if isinstance(beside, dict) else {}
    metrics = metrics_of({**figures, segment.metric: first_of(value, ("metric", "metric_value"))}, outcome=outcome)
    spread = next((m.stddev for m in metrics if m.name == segment.metric), None)
    primary = primary if primary.stddev is not None else replace(primary, stddev=spread)
    fields, notes = _asi(value.get("asi"))
    odd = {k: v for k, v in beside.items() if to_float(v) is None} if isinstance(beside, dict) else {}
    notes = [(f"metrics.{k}", text_of(v)) for k, v in odd.items()] + notes
    notes += [(k, text_of(v)) for k, v in value.items() if k not in _FIELDS and v is not None]
    number, tokens = value.get("run"), value.get("iterationTokens")
    whole = isinstance(number, float) and number.is_integer()
    yield Run(
        Origin(file, line.number, line.digest),
        "pi",
        label=str(int(number)) if whole else text_of(number),
        segment=segment.index,
        status=status,
        outcome=outcome,
        description=text_of(value.get("description")),
        primary=segment.metric,
        metrics=(primary, *(m for m in metrics if m.name != segment.metric)),
        hypothesis=fields.get("hypothesis", ""),
        mechanism=fields.get("mechanism", ""),
        reason=fields.get("reason", ""),
        predicted_signal=fields.get("predicted_signal", ""),
        next_step=fields.get("next_step", ""),
        code=text_of(first_of(value, ("commit", "commit_hash"))),
        tokens=tokens if isinstance(tokens, int) else None,
        created=moment(value.get("timestamp")),
        notes=tuple(notes),
    )


def _primary(value: Json, segment: Segment, outcome: Outcome) -> Metric:
    """The metric that the run is judged by, with the spread of the samples that a line lists beside it."""
    raw, samples = first_of(value, ("metric", "metric_value")), value.get("samples")
    values = [v for s in samples if (v := to_float(s)) is not None] if isinstance(samples, list) else []
    metric = measured(
        segment.metric,
        to_float(raw),
        raw=text_of(raw),
        outcome=outcome,
        direction=segment.direction,
        unit=segment.unit,
        stddev=to_float(value.get("stddev")),
        primary=True,
    )
    if len(values) < 2 or metric.value is None:
        return metric
    return replace(metric, stddev=stdev(values), n=len(values))


def _asi(asi: object) -> tuple[dict[str, str], list[tuple[str, str]]]:
    """Fields of the record that free-form `asi` keys fill, and what is left of them as notes."""
    if not isinstance(asi, dict):
        return {}, [("asi", text_of(asi))] if asi else []
    chosen = {name: next((k for k in keys if text_of(asi.get(k))), "") for name, keys in _ASI.items()}
    fields = {name: text_of(asi[key]) for name, key in chosen.items() if key}
    return fields, [(f"asi.{k}", text_of(v)) for k, v in asi.items() if k not in chosen.values()]


def _is_pi(path: Path, head: Sequence[str]) -> bool:
    objects = objects_in(head)
    return not head and path.suffix == ".jsonl" or any(is_config(o) or is_run(o) for o in objects)


def _is_interlab(path: Path, head: Sequence[str]) -> bool:
    return any(is_config(o) and "metric_name" in o for o in objects_in(head))


FORMATS = (
    Format("interlab", _is_interlab, read, order=10, aliases=("interlab-jsonl",)),
    Format("pi", _is_pi, read, order=11, aliases=("pi-autoresearch",)),
)
