"""Files a result that was measured elsewhere (a cluster, a phone, SkyPilot): one file a run, as a log with METRIC lines or as JSON.

Refuses to take a file that holds no run, and keeps the beginning and the end of every file it took.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from kb import KbError, readable, store
from kb.experiments.attempt import Attempt, add, begin, finish, last_attempt
from kb.experiments.plan import Measurement, Plan, Sample, Side
from kb.experiments.stub import stub_in_flight
from kb.experiments.targets import Target
from kb.run.measure import metrics_in

_LARGEST = 64 << 20
_LARGEST_KEPT = 32 << 10
_SHAPE = '{"metrics": {"time_ms": {"value": 91.2, "stddev": 0.3, "n": 5}}, "checks": "passed", "commit": "..."}'
# What a job of SkyPilot says beside its figures.
_FIELD = re.compile(
    r"^(EXPERIMENT_STATUS|EXPERIMENT_ERROR|CHECKS_STATUS): *(.*?)\s*$", re.MULTILINE
)


@dataclass(frozen=True, slots=True)
class RecordedFigure:
    """A metric of a run with the spread of the repeats that it is made of, where that is stated."""

    value: float
    stddev: float | None = None
    n: int = 0


@dataclass(frozen=True, slots=True)
class RecordedRun:
    """One run as a record states it. `error` says why it measured nothing."""

    metrics: dict[str, float | RecordedFigure] = field(default_factory=dict)
    checks: str = ""
    error: str = ""
    commit: str = ""


def record(
    layout: store.Layout,
    path: str,
    target: Target,
    *,
    files: dict[Side, tuple[Path, ...]],
    again: bool,
    now: str,
) -> Attempt:
    """File runs of the change and of its parent as one attempt. Raises KbError where a file is no record."""
    metric = target.metric
    with store.lock(layout, f"run-{store.digest_of(path)}", wait_s=2):
        stub = stub_in_flight(layout, path)
        last = last_attempt(layout, stub)
        if last and not again and (last.measurement or not last.plan.elsewhere):
            raise KbError(
                f"{path}: attempt {last.plan.number} is there already; --again files these as another attempt"
            )
        runs = {side: [run for f in files[side] for run in _runs_in(f, metric)] for side in files}
        changes = [run for run, _ in runs["change"]]
        attempt = last
        if again or not last:
            plan = Plan(
                number=last.plan.number + 1 if last else 1,
                page=path,
                target=target.name,
                started=now,
                metric=metric,
                change=next((r.commit for r in changes if r.commit), ""),
                parent="elsewhere" if files["parent"] else "",
                elsewhere=True,
            )
            attempt = begin(layout, stub, plan)
        sides = [(side, *item) for side in files for item in enumerate(runs[side], 1)]
        for side, index, (run, data) in sides[len(attempt.samples) :]:
            attempt = add(attempt, _sample(run, side, index, metric), data)
        # The worst word that the change's runs say of their checks.
        words = sorted((r.checks for r in changes if r.checks), key=("passed", "skipped").count)
        return finish(attempt, Measurement(now, next(iter(words), "")))


def _runs_in(file: Path, metric: str) -> Iterator[tuple[RecordedRun, bytes]]:
    """Every run of one file; with the first one its beginning and its end."""
    with readable(file):
        data = store.bytes_of(file, most=_LARGEST, declared=True)
    if data.lstrip()[:1] in (b"{", b"["):
        try:
            runs = store.from_json(data, RecordedRun | list[RecordedRun])
        except ValueError as error:
            raise KbError(f"{file}: {error}; a record is {_SHAPE}, or a list of these") from error
    else:
        runs = _run_of_log(data, metric)
    listed = runs if isinstance(runs, list) else [runs]
    if not all(run.metrics or run.error for run in listed):
        raise KbError(
            f"{file}: holds no run; a record is a benchmark's output with `METRIC name=value` lines, or JSON such as {_SHAPE}"
        )
    most = _LARGEST_KEPT
    kept = data if len(data) <= 2 * most else b"\n[...]\n".join((data[:most], data[-most:]))
    for index, run in enumerate(listed):
        yield run, b"" if index else kept


def _run_of_log(data: bytes, metric: str) -> RecordedRun:
    """The run that a benchmark's output, or the log of a job, tells of."""
    lines, fields = metrics_in(data), dict(_FIELD.findall(data.decode("utf-8", "replace")))
    status, values = fields.get("EXPERIMENT_STATUS", ""), lines.values
    error = f"{lines.refused[metric]} is no finite number" if metric in lines.refused else ""
    if status.startswith("crash"):
        error = fields.get("EXPERIMENT_ERROR") or "its log says so"
    figures = {
        name: RecordedFigure(value, values.get(f"{name}_stddev"), int(values.get(f"{name}_n", 0)))
        for name, value in values.items()
        if not (name.endswith(("_stddev", "_n")) and name.rpartition("_")[0] in values)
    }
    failed = "failed" if status.startswith("checks_failed") else ""
    return RecordedRun(figures, fields.get("CHECKS_STATUS") or failed, error)


def _sample(run: RecordedRun, side: Side, index: int, metric: str) -> Sample:
    figures = {
        name: f if isinstance(f, RecordedFigure) else RecordedFigure(f)
        for name, f in sorted(run.metrics.items())
    }
    missing = f"it reports no {metric}" if metric and metric not in figures else ""
    return Sample(
        "bench",
        side,
        index,
        metrics=tuple((name, f.value) for name, f in figures.items()),
        problem=(run.error or missing)[:400],
        spreads=tuple((n, f.stddev, f.n) for n, f in figures.items() if f.stddev is not None),
    )
