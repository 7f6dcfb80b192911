"""Files a result that was measured elsewhere (a cluster, a phone, SkyPilot): one file a run, as a log with METRIC lines or as JSON.

Refuses to take a file that holds no run, and keeps every file it took.
"""

from dataclasses import dataclass, replace
from pathlib import Path

from kb import KbError, store
from kb.experiments.attempt import Attempt, add, attempts_in, begin, finish
from kb.experiments.keeping import keep_all
from kb.experiments.plan import Kept, Measurement, Plan, Sample, Side
from kb.experiments.planning import stub_in_flight
from kb.experiments.stub import Stub, stub_at
from kb.experiments.targets import Target
from kb.run.measure import metrics_in
from kb.run.quantity import to_float
from kb.store import json_of

_LARGEST = 64 << 20
_LARGEST_KEPT = 32 << 10
_SHAPE = '{"metrics": {"time_ms": {"value": 91.2, "stddev": 0.3, "n": 5}}, "checks": "passed", "commit": "...", "artifacts": {"program": "sha256..."}}'


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """One run of a record: its sample, how its checks went, its bytes to keep, its commit, digests of what was built."""

    sample: Sample
    checks: str = ""
    data: bytes = b""
    code: str = ""
    artifacts: tuple[tuple[str, str], ...] = ()


def record(
    layout: store.Layout,
    path: str,
    target: Target,
    *,
    change: tuple[Path, ...],
    parent: tuple[Path, ...],
    attached: tuple[Path, ...],
    metric: str,
    again: bool,
    now: str,
) -> Attempt:
    """File runs of the change and of its parent as one attempt, with dumps and profiles that are `attached`. Raises KbError where a file is no record."""
    with store.lock(layout, f"run-{store.digest_of(path)}", wait_s=2):
        stub = stub_in_flight(layout, path)
        attempts = attempts_in(layout, stub.run)
        if attempts and not again and (attempts[-1].measurement or not attempts[-1].plan.elsewhere):
            raise KbError(
                f"{path}: attempt {attempts[-1].plan.number} is there already; --again files these as another attempt"
            )
        for file in attached:
            if not file.is_file():
                raise KbError(f"{file}: no such file to attach")
        runs: list[Elsewhere] = []
        for side, files in (("parent", parent), ("change", change)):
            for file in files:
                runs.extend(
                    _runs_in(
                        file,
                        side,
                        first=1 + sum(r.sample.side == side for r in runs),
                        metric=metric or target.metric,
                    )
                )
        code = next((r.code for r in runs if r.sample.side == "change" and r.code), "")
        resumed = attempts and not again
        number = attempts[-1].plan.number + (not resumed) if attempts else 1
        wanted = Plan(
            number,
            path,
            target.name,
            now,
            metric or target.metric,
            change=code,
            parent="elsewhere" if parent else "",
            elsewhere=True,
        )
        attempt = attempts[-1] if resumed else begin(layout, stub.run, wanted)
        for run in runs[len(attempt.samples) :]:
            attempt = add(attempt, run.sample, _cut(run.data))
        kept = [
            Kept("artifact", r.sample.side, name, digest, 0)
            for r in runs
            for name, digest in r.artifacts
        ]
        if not any(k.side == "parent" for k in kept):
            kept += _built_by_parent(layout, stub)
        for file in attached:
            attempt, found, _ = keep_all(attempt, file.parent, [file], "dump", "change")
            kept += found
        return finish(attempt, Measurement(now, _checks_of(runs), kept=tuple(kept)))


def _cut(data: bytes) -> bytes:
    """A log as it is kept: its beginning and its end."""
    return (
        data
        if len(data) <= 2 * _LARGEST_KEPT
        else data[:_LARGEST_KEPT] + b"\n[...]\n" + data[-_LARGEST_KEPT:]
    )


def _checks_of(runs: list[Elsewhere]) -> str:
    """The worst word that the change's runs say of their checks."""
    said = [r.checks for r in runs if r.sample.side == "change" and r.checks]
    return next((c for c in said if c not in ("passed", "skipped")), said[0] if said else "")


def _built_by_parent(layout: store.Layout, stub: Stub) -> list[Kept]:
    """What the parent's own run had built, as its page's record tells."""
    parent = stub.page.field("parent")
    run = stub_at(layout, parent).run if parent.endswith(".md") else ""
    finished = [a for a in attempts_in(layout, run) if a.measurement]
    kept = finished[-1].measurement.kept if finished and finished[-1].measurement else ()
    return [
        Kept("artifact", "parent", k.path, k.digest, k.size)
        for k in kept
        if k.role == "artifact" and k.side == "change"
    ]


def _runs_in(file: Path, side: Side, *, first: int, metric: str) -> list[Elsewhere]:
    """Every run of one file."""
    try:
        if file.stat().st_size > _LARGEST:
            raise KbError(
                f"{file}: {file.stat().st_size >> 20} MB; cut the log down to its METRIC lines (a record may have {_LARGEST >> 20} MB)"
            )
        data = file.read_bytes()
    except OSError as error:
        raise KbError(f"{file}: cannot read it: {error.strerror or error}") from error
    if data.lstrip()[:1] in (b"{", b"["):
        return _json_runs(file, data, side, first=first, metric=metric)
    lines = metrics_in(data)
    metrics, refused = lines.values, tuple(lines.refused.values())
    said = {
        key: value
        for line in data.decode("utf-8", "replace").splitlines()
        if ": " in line[:60]
        for key, _, value in [line.strip().partition(": ")]
    }
    problem = (
        said.get("EXPERIMENT_ERROR") or "its log says so"
        if said.get("EXPERIMENT_STATUS", "").startswith("crash")
        else ""
    )
    if not metrics and not refused and not problem and "EXPERIMENT_STATUS" not in said:
        raise KbError(
            f"{file}: holds no `METRIC name=value` line and no EXPERIMENT_STATUS; a record is a benchmark's output, or JSON such as {_SHAPE}"
        )
    numbers = {
        name: value
        for name, value in metrics.items()
        if not name.endswith(("_stddev", "_n")) or _base(name) not in metrics
    }
    spreads = tuple(
        (name, metrics[f"{name}_stddev"], int(metrics.get(f"{name}_n", 0)))
        for name in sorted(numbers)
        if f"{name}_stddev" in metrics
    )
    status = said.get("EXPERIMENT_STATUS", "")
    checks = _checks(said.get("CHECKS_STATUS", "")) or (
        "failed" if status.startswith("checks_failed") else ""
    )
    sample = _sample(
        side, first, numbers, refused=refused, spreads=spreads, problem=problem, metric=metric
    )
    return [Elsewhere(replace(sample, repeated=tuple(lines.repeated.items())), checks, data)]


def _base(name: str) -> str:
    return name.removesuffix("_stddev").removesuffix("_n")


def _checks(text: str) -> str:
    """`passed`, `skipped`, or how the checks failed, of a log's CHECKS_STATUS."""
    word = text.strip().lower()
    return (
        "passed"
        if word.startswith("pass")
        else "skipped"
        if word.startswith("skip")
        else text.strip()
    )


def _json_runs(file: Path, data: bytes, side: Side, *, first: int, metric: str) -> list[Elsewhere]:
    try:
        said = json_of(data)
    except ValueError:
        try:
            said = [json_of(line) for line in data.splitlines() if line.strip()]
        except ValueError as error:
            raise KbError(
                f"{file}: is not JSON: {error}; a record is {_SHAPE}, a list of these, or one a line"
            ) from error
    found = []
    for index, item in enumerate(said if isinstance(said, list) else [said], first):
        if (
            not isinstance(item, dict)
            or not isinstance(item.get("metrics", {}), dict)
            or not {"metrics", "metric", "status", "error"} & item.keys()
        ):
            raise KbError(f"{file}: run {index - first + 1} is no record; write {_SHAPE}")
        found.append(
            _json_run(item, data if index == first else b"", side, index=index, metric=metric)
        )
    return found


def _json_run(
    item: dict[str, object], data: bytes, side: Side, *, index: int, metric: str
) -> Elsewhere:
    metrics = item.get("metrics")
    stated: dict[str, object] = dict(metrics) if isinstance(metrics, dict) else {}
    if metric and "metric" in item:
        stated.setdefault(metric, item["metric"])
    numbers: dict[str, float] = {}
    refused: list[str] = []
    spreads: list[tuple[str, float, int]] = []
    for name, value in sorted(stated.items()):
        number = to_float(value.get("value") if isinstance(value, dict) else value)
        if number is None:
            refused.append(
                f"{name}={value if not isinstance(value, dict) else value.get('value')}"[:80]
            )
            continue
        numbers[name] = number
        stddev = to_float(value.get("stddev")) if isinstance(value, dict) else None
        if stddev is not None and isinstance(value, dict):
            spreads.append((name, stddev, int(to_float(value.get("n")) or 0)))
    failed = str(item.get("status", "")).lower().startswith(("crash", "fail", "error"))
    problem = (
        str(item.get("error") or item.get("status") or "")[:400]
        if failed or item.get("error")
        else ""
    )
    sample = _sample(
        side,
        index,
        numbers,
        refused=tuple(refused),
        spreads=tuple(spreads),
        problem=problem,
        metric=metric,
    )
    built = item.get("artifacts")
    artifacts = (
        tuple(sorted((str(k), str(v)) for k, v in built.items())) if isinstance(built, dict) else ()
    )
    return Elsewhere(
        sample, _checks(str(item.get("checks", ""))), data, str(item.get("commit", "")), artifacts
    )


def _sample(
    side: Side,
    index: int,
    metrics: dict[str, float],
    *,
    refused: tuple[str, ...],
    spreads: tuple[tuple[str, float, int], ...],
    problem: str,
    metric: str,
) -> Sample:
    if not problem and metric and metric not in metrics:
        problem = next(
            (f"{r} is no finite number" for r in refused if r.startswith(f"{metric}=")),
            f"it reports no {metric}",
        )
    return Sample(
        "bench",
        side,
        index,
        metrics=tuple(sorted(metrics.items())),
        problem=problem,
        spreads=spreads,
    )
