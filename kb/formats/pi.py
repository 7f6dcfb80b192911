"""pi-autoresearch logs (`.auto/log.jsonl`, `autoresearch.jsonl`), SkyPilot's jsonl and interlab's: config lines, then runs.

A config line after a run opens a segment, whatever the `segment` field says. Refuses pi's rule that an unknown status is a keep.
"""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from statistics import mean, stdev

from kb.formats.objects import Json, Row, first_of, rows_of, text_of
from kb.formats.reading import Ask, Remark, Segment, measured, moment, split_sample
from kb.run.direction import direction_from, direction_of, word_set
from kb.run.noise import Spread
from kb.run.quantity import to_float
from kb.run.record import Metric, Origin, Outcome, Run, from_line, outcome_of

_SPREAD = ("_stddev", "_std", "_sd", "_stdev")
# Keys of a run line that have a field of their own in the record; all others become notes.
_FIELDS = word_set("""type run commit commit_hash metric metric_value metrics secondary_metrics status decision description timestamp segment asi confidence
    iterationTokens stddev samples kb""")
# Keys of the free-form `asi` that have a field in the record, the likeliest first.
_ASI = {
    "hypothesis": ("hypothesis",),
    "reason": ("rollback_reason", "failure_mode", "learned", "lesson", "insight"),
    "next_step": ("next_action_hint", "next_focus"),
    "mechanism": ("mechanism",),
    "predicted_signal": ("predicted_signal",),
}


def is_config(said: Json) -> bool:
    """Whether a line opens a session."""
    return said.get("type") == "config" or "run" not in said and bool({"metricName", "metric_name"} & said.keys())


def is_run(said: Json) -> bool:
    """Whether a line is a run: a numeric `run`, or interlab's `type: result`."""
    number = said.get("run")
    if isinstance(number, (int, float)) and not isinstance(number, bool):
        return True
    return said.get("type") in ("result", "run") and bool({"decision", "status", "metric", "metric_value"} & said.keys())


def read(path: Path, ask: Ask) -> Iterator[Segment | Run | Remark]:
    """Segments, runs and remarks of a log, in file order."""
    sample, rows = split_sample(rows_of(path))
    fallback = _shared_name([r.said for r in sample if isinstance(r, Row) and is_run(r.said)])
    segment = Segment(0, 1)
    told = False
    for row in rows:
        if isinstance(row, Remark):
            yield row
        elif is_config(row.said):
            if told:
                segment = Segment(segment.index + 1, row.line.number)
                told = False
            segment = _segment(row, segment.index, ask)
        elif is_run(row.said):
            if not told:
                told = True
                if not segment.metric:
                    yield Remark("no config line before these runs: metric and direction are not said", row.line.number)
                    segment = _unnamed(segment, fallback, ask)
                yield segment
            yield from _run(row, segment, path)
        elif "type" not in row.said:
            yield Remark("an object without a numeric 'run'; not read as a run", row.line.number)
    if not told and (segment.metric or segment.index == 0):
        yield segment if segment.metric else _unnamed(segment, "", ask)


def _segment(row: Row, index: int, ask: Ask) -> Segment:
    said = row.said
    name = ask.metric or text_of(first_of(said, ("metricName", "metric_name", "metric"))) or "metric"
    direction, source = direction_from(first_of(said, ("bestDirection", "direction", "best_direction"))), "config"
    if ask.direction:
        direction, source = ask.direction, "asked"
    elif direction is None:
        # A session whose config leaves it out is minimised by the tool itself; what its name says goes before.
        direction, source = direction_of(name) or "lower", "name" if direction_of(name) else "format"
    unit = text_of(first_of(said, ("metricUnit", "metric_unit", "unit")))
    return Segment(index, row.line.number, text_of(said.get("name")), name, unit, direction, source)


def _unnamed(segment: Segment, name: str, ask: Ask) -> Segment:
    name = ask.metric or name
    direction, source = (ask.direction, "asked") if ask.direction else (direction_of(name), "name")
    return Segment(segment.index, segment.line, "", name or "metric", "", direction, source if direction else "")


def _shared_name(runs: list[Json]) -> str:
    """Name of the metric that stands beside `metric` with the same value in every run, where one alone does."""
    alike: set[str] | None = None
    seen = 0
    for said in runs:
        metrics, value = said.get("metrics"), to_float(said.get("metric"))
        if value and isinstance(metrics, dict):
            same = {k for k, v in metrics.items() if to_float(v) == value}
            alike = same if alike is None else alike & same
            seen += 1
    return next(iter(alike)) if alike and len(alike) == 1 and seen > 1 else ""


def _run(row: Row, segment: Segment, path: Path) -> Iterator[Run | Remark]:
    said, line = row.said, row.line
    origin = Origin(path.name, line.number, line.digest)
    record = said.get("kb")
    if isinstance(record, dict) and "origin" in record:
        yield from_line(text_of(record))
        return
    status = text_of(first_of(said, ("status", "decision")))
    outcome = outcome_of(status)
    if not status:
        yield Remark("a run without a status; counted as other", line.number)
    raw = first_of(said, ("metric", "metric_value"))
    spread = _spread(said)
    primary = measured(
        segment.metric,
        to_float(raw),
        raw=text_of(raw),
        outcome=outcome,
        direction=segment.direction,
        unit=segment.unit,
        stddev=spread.stddev if spread else to_float(said.get("stddev")),
        primary=True,
    )
    if spread and primary.value is not None:
        primary = replace(primary, n=spread.n)
    if primary.value is None:
        yield Remark("no measurement (a sentinel or no number); left out of best", line.number)
    metrics, notes = _metrics(said, primary, outcome)
    fields, more = _asi(said.get("asi"))
    notes += more + [(k, text_of(v)) for k, v in said.items() if k not in _FIELDS and v is not None]
    confidence = said.get("confidence")
    if confidence is not None:
        notes.append(("confidence", text_of(confidence)))
    tokens = said.get("iterationTokens")
    yield Run(
        origin,
        "pi",
        label=_label(said.get("run")),
        segment=segment.index,
        status=status,
        outcome=outcome,
        description=text_of(said.get("description")),
        primary=segment.metric,
        metrics=metrics,
        hypothesis=fields.get("hypothesis", ""),
        mechanism=fields.get("mechanism", ""),
        reason=fields.get("reason", ""),
        predicted_signal=fields.get("predicted_signal", ""),
        next_step=fields.get("next_step", ""),
        code=text_of(first_of(said, ("commit", "commit_hash"))),
        tokens=tokens if isinstance(tokens, int) else None,
        created=moment(said.get("timestamp")),
        notes=tuple(notes),
    )


def _spread(said: Json) -> Spread | None:
    """Number and spread of the samples that a run line lists beside its metric."""
    samples = said.get("samples")
    values = [v for raw in samples if (v := to_float(raw)) is not None] if isinstance(samples, list) else []
    return Spread(mean(values), stdev(values), len(values)) if len(values) > 1 else None


def _label(number: object) -> str:
    return str(int(number)) if isinstance(number, float) and number.is_integer() else text_of(number)


def _metrics(said: Json, primary: Metric, outcome: Outcome) -> tuple[tuple[Metric, ...], list[tuple[str, str]]]:
    beside = first_of(said, ("metrics", "secondary_metrics"))
    if not isinstance(beside, dict):
        return (primary,), [("metrics", text_of(beside))] if beside is not None else []
    spreads = {k[: -len(s)]: to_float(v) for k, v in beside.items() for s in _SPREAD if k.endswith(s) and k[: -len(s)]}
    found, notes = [primary], []
    for name, raw in beside.items():
        value = to_float(raw)
        if name == primary.name or name.endswith(_SPREAD) and name.rsplit("_", 1)[0] in (*beside, primary.name):
            continue
        if value is None:
            notes.append((f"metrics.{name}", text_of(raw)))
        else:
            found.append(
                measured(name, value, raw=text_of(raw), outcome=outcome, direction=direction_of(name), stddev=spreads.get(name))
            )
    if primary.stddev is None and spreads.get(primary.name) is not None:
        found[0] = replace(primary, stddev=spreads[primary.name])
    return tuple(found), notes


def _asi(asi: object) -> tuple[dict[str, str], list[tuple[str, str]]]:
    """Fields of the record that free-form `asi` keys fill, and what is left of them as notes."""
    if not isinstance(asi, dict):
        return {}, [("asi", text_of(asi))] if asi else []
    chosen = {name: next((k for k in keys if text_of(asi.get(k))), "") for name, keys in _ASI.items()}
    fields = {name: text_of(asi[key]) for name, key in chosen.items() if key}
    return fields, [(f"asi.{k}", text_of(v)) for k, v in asi.items() if k not in chosen.values()]
