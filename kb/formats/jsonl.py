"""JSON lines of any other loop: rounds, trials, sweeps. Keys are told by what they mean; what is not recognised becomes a note.

Optuna-style trials are of this kind. Refuses to name a primary metric that most rows do not have.
"""

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from kb.formats.columns import rivals_of
from kb.formats.objects import Json, Row, first_of, rows_of, text_of
from kb.formats.reading import Ask, Remark, Segment, measured, moment, split_sample
from kb.run.direction import direction_from, direction_of
from kb.run.quantity import to_float
from kb.run.record import Check, Lever, Metric, Origin, Outcome, Run, is_status, outcome_of

_STATUS = ("status", "decision", "verdict", "outcome", "kind", "state", "result", "action")
_DECIDING = ("kept", "keep", "accepted", "adopted", "merged", "promoted")
_LABEL = tuple(
    "run round trial_number trial number num iteration iter experiment_id exp_id experiment_num exp step index id run_id".split()
)
_TEXT = tuple(
    "description desc title experiment change changes change_summary what_changed idea mutation approach experiment_name name summary label method".split()
)
_REASON = ("rollback_reason", "failure_reason", "reason", "finding", "notes", "note", "learned", "insight", "conclusion", "error")
_CODE = ("commit", "commit_hash", "commit_sha", "git_commit", "experiment_commit", "sha", "git_sha", "revision")
_TIME = (
    "timestamp",
    "created",
    "created_at",
    "datetime_complete",
    "datetime_start",
    "started_at",
    "date",
    "datetime",
    "time",
    "ts",
)
_CHECKS = ("correct", "correctness", "valid", "is_valid", "passed", "tests_passed", "checks_passed", "verified")
_MEASURES = ("results", "metrics", "metrics_after", "after", "result", "scores", "values", "measurements")
_SETTINGS = tuple(
    "params parameters config hyperparameters hyperparams hparams args settings flags levers env_overrides extra_env overrides exact_change".split()
)
_AIM = ("objective", "score", "value", "metric", "fitness", "combined_score", "metric_value")
_NAMED = frozenset((*_STATUS, *_DECIDING, *_LABEL, *_TEXT, *_REASON, *_CODE, *_TIME, "hypothesis", "mechanism", "direction"))


def is_run(said: Json, shared: frozenset[str] = frozenset()) -> bool:
    """Whether an object is an attempt: it has a status, or it is numbered, named or dated and holds a measurement.

    A name or a date is enough only beside a measurement that most objects of the log have (`shared`); without them it must have all of these.
    """
    if _status(said):
        return True
    numbers = _numbers(said)
    numbered = any(isinstance(said.get(k), (int, str)) and said.get(k) != "" for k in _LABEL)
    if numbered and (numbers or any(isinstance(said.get(k), dict) for k in (*_SETTINGS, *_MEASURES))):
        return True
    told = any(isinstance(said.get(k), str) and said.get(k) for k in _TEXT) or any(moment(said.get(k)) for k in _TIME)
    if told:
        return not shared.isdisjoint(numbers)
    return shared.issubset(numbers) and len(shared) > 2 and any(direction_of(name) for name in shared)


def _shared(objects: list[Json]) -> frozenset[str]:
    """Measurements that most objects of a log have, where there are several."""
    counts = Counter(name for said in objects for name in _numbers(said))
    return frozenset(name for name, n in counts.items() if len(objects) > 1 and 2 * n > len(objects))


def _status(said: Json) -> str:
    """The status of an object: a word of the vocabulary under one of the status keys, here or among its results."""
    for key in _STATUS:
        value = said.get(key)
        if isinstance(value, str) and value and (key in ("status", "decision", "verdict") or is_status(value)):
            return value
    answer = next((said[k] for k in _DECIDING if isinstance(said.get(k), bool)), None)
    if answer is not None:
        return "kept" if answer else "discard"
    inner = next((said[k] for k in _MEASURES if isinstance(said.get(k), dict)), None)
    return _status(inner) if isinstance(inner, dict) else ""


def _numbers(said: Json) -> dict[str, float]:
    """Numeric metrics of an object by name: its nested results first, then its own keys that are neither label, setting nor time."""
    found: dict[str, float] = {}
    for key in _MEASURES:
        inner = said.get(key)
        if isinstance(inner, dict):
            found |= {k: v for k, raw in inner.items() if (v := to_float(raw)) is not None and not isinstance(raw, str)}
    for key, raw in said.items():
        if key in _NAMED or key.startswith("params_") or isinstance(raw, str):
            continue
        value = to_float(raw)
        if value is not None and key not in found and not moment(raw) and not key.endswith(("_trial", "_id", "_index", "seed")):
            found[key] = value
    return found


def read(path: Path, ask: Ask) -> Iterator[Segment | Run | Remark]:
    """One segment, and the runs and remarks of a log, in file order."""
    sample, rows = split_sample(rows_of(path))
    shared = _shared([r.said for r in sample if isinstance(r, Row)])
    said = [r.said for r in sample if isinstance(r, Row) and is_run(r.said, shared)]
    segment = _segment(said, ask)
    yield segment
    if said and not segment.metric:
        yield Remark("no metric that the rows have in common; best is left open")
    others = [] if ask.metric else [n for n in _rivals(said) if n != segment.metric]
    if others:
        yield Remark(f"judged by '{segment.metric}'; {', '.join(others[:8])} could be meant as well, --metric names another")
    for row in rows:
        if isinstance(row, Remark):
            yield row
        elif is_run(row.said, shared):
            yield _run(row, segment, path)
        else:
            yield Remark("an object that is no run (no status, no number and measurement); skipped", row.line.number)


def _segment(said: list[Json], ask: Ask) -> Segment:
    metric = ask.metric or next(iter(_rivals(said)), "")
    direction, source = ask.direction, "asked"
    if direction is None:
        stated = next((d for row in said if (d := direction_from(first_of(row, ("direction", "study_direction", "mode"))))), None)
        direction, source = (stated, "config") if stated else (direction_of(metric) if metric else None, "name")
    statuses = [_status(row) for row in said]
    judged = any(outcome_of(s) in (Outcome.KEPT, Outcome.DISCARDED) for s in statuses)
    trials = any(isinstance(row.get(k), dict) for row in said for k in _SETTINGS) and not judged
    return Segment(0, 1, "", metric, "", direction, source if direction else "", judged or bool(any(statuses)), trials)


def _rivals(said: list[Json]) -> list[str]:
    """What the rows could be judged by, the likeliest first: named as aim, then held out from training, then any whose name says a side."""
    counts = Counter(name for row in said for name in _numbers(row))
    common = [name for name, n in counts.items() if 2 * n >= len(said)]
    aims = [name for name in _AIM if name in common]
    if aims or len(common) == 1:
        return aims[:1] or common
    known = rivals_of(common, [i for i, name in enumerate(common) if direction_of(name) and not name.startswith("delta")])
    names = [common[i] for i in known]
    return sorted(names, key=lambda n: not re.match(r"(val|valid|validation|eval|dev|test)_", n))


def _run(row: Row, segment: Segment, path: Path) -> Run:
    said = row.said
    status = _status(said)
    checks = tuple(Check(k, "passed" if said[k] else "failed") for k in _CHECKS if isinstance(said.get(k), bool))
    failed = any(c.outcome == "failed" for c in checks)
    outcome = outcome_of(status) if status else Outcome.CRASHED if _exited(said) else Outcome.CHECKS_FAILED if failed else None
    reason_key = next((k for k in _REASON if said.get(k)), "")
    text_key = next((k for k in _TEXT if isinstance(said.get(k), str) and said.get(k)), "")
    metrics: list[Metric] = []
    for name, value in _numbers(said).items():
        direction = segment.direction if name == segment.metric else direction_of(name)
        metrics.append(
            measured(name, value, raw=str(value), outcome=outcome, direction=direction, primary=name == segment.metric)
        )
    taken = {text_key, reason_key, *(m.name for m in metrics), "hypothesis", "mechanism", *_MEASURES, *_SETTINGS, *_CODE, *_TIME}
    taken |= {c.name for c in checks}
    levers = [Lever(str(k), text_of(v)) for key in _SETTINGS if isinstance(said.get(key), dict) for k, v in said[key].items()]
    levers += [Lever(k.removeprefix("params_"), text_of(v)) for k, v in said.items() if k.startswith("params_") and v is not None]
    label = first_of(said, _LABEL)
    named = label if isinstance(label, str) and re.search(r"[A-Za-z]{3}", label) and not said.get("hypothesis") else ""
    notes = [
        (k, text_of(v))
        for k, v in said.items()
        if k not in taken and k not in _LABEL[:1] and not k.startswith("params_") and v is not None
    ]
    return Run(
        Origin(path.name, row.line.number, row.line.digest),
        "jsonl",
        label=text_of(label),
        segment=segment.index,
        status=status,
        outcome=outcome,
        description=text_of(said.get(text_key)) if text_key else named or _of_levers(levers)[:300],
        primary=segment.metric,
        metrics=tuple(metrics),
        levers=tuple(levers),
        hypothesis=text_of(said.get("hypothesis")),
        checks=checks,
        mechanism=text_of(said.get("mechanism")),
        reason=text_of(said.get(reason_key)) if reason_key else "",
        code=text_of(first_of(said, _CODE)),
        created=next((m for k in _TIME if (m := moment(said.get(k)))), ""),
        notes=tuple(notes),
    )


def _exited(said: Json) -> bool:
    """Whether the job of an object ended with an error."""
    code = first_of(said, ("exit_code", "returncode", "return_code"))
    return isinstance(code, int) and not isinstance(code, bool) and code != 0


def _of_levers(levers: list[Lever]) -> str:
    return ", ".join(f"{lever.name}={lever.value}" for lever in levers)
