"""Files a result that was measured elsewhere (a cluster, a phone, SkyPilot): one file a run, as a log with METRIC lines or as JSON.

Refuses to take a file that holds no run, and keeps every file it took.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from kb import KbError, store
from kb.experiments.attempt import Attempt, add, begin, finish, last_attempt
from kb.experiments.plan import Measurement, Plan, Sample, Side
from kb.experiments.stub import stub_in_flight
from kb.experiments.targets import Target
from kb.run.measure import metrics_in
from kb.run.quantity import to_float
from kb.store import json_of

_LARGEST = 64 << 20
_LARGEST_KEPT = 32 << 10
_SHAPE = '{"metrics": {"time_ms": {"value": 91.2, "stddev": 0.3, "n": 5}}, "checks": "passed", "commit": "..."}'


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """One run of a record: its sample, how its checks went, its bytes to keep, its commit."""

    sample: Sample
    checks: str = ""
    data: bytes = b""
    code: str = ""


def record(
    layout: store.Layout,
    path: str,
    target: Target,
    *,
    files: dict[Side, tuple[Path, ...]],
    metric: str,
    again: bool,
    now: str,
) -> Attempt:
    """File runs of the change and of its parent as one attempt. Raises KbError where a file is no record."""
    metric = metric or target.metric
    with store.lock(layout, f"run-{store.digest_of(path)}", wait_s=2):
        stub = stub_in_flight(layout, path)
        last = last_attempt(layout, stub)
        if last and not again and (last.measurement or not last.plan.elsewhere):
            raise KbError(
                f"{path}: attempt {last.plan.number} is there already; --again files these as another attempt"
            )
        runs = [run for side in ("parent", "change") for run in _runs_of(files[side], side, metric)]
        changes = [r for r in runs if r.sample.side == "change"]
        plan = Plan(
            number=last.plan.number + 1 if last else 1,
            page=path,
            target=target.name,
            started=now,
            metric=metric,
            change=next((r.code for r in changes if r.code), ""),
            parent="elsewhere" if files["parent"] else "",
            elsewhere=True,
        )
        attempt = last if last and not again else begin(layout, stub, plan)
        for run in runs[len(attempt.samples) :]:
            attempt = add(attempt, run.sample, run.data)
        # The worst word that the change's runs say of their checks.
        words = sorted((r.checks for r in changes if r.checks), key=("passed", "skipped").count)
        return finish(attempt, Measurement(now, next(iter(words), "")))


def _runs_of(files: tuple[Path, ...], side: Side, metric: str) -> Iterator[Elsewhere]:
    """The runs of one side, numbered, each with the beginning and the end of its log."""
    runs = (run for file in files for run in _runs_in(file, side, metric))
    for index, run in enumerate(runs, 1):
        data, most = run.data, _LARGEST_KEPT
        cut = data if len(data) <= 2 * most else data[:most] + b"\n[...]\n" + data[-most:]
        yield replace(run, sample=replace(run.sample, index=index), data=cut)


def _runs_in(file: Path, side: Side, metric: str) -> Iterator[Elsewhere]:
    """Every run of one file, each with the values that a log's lines or its JSON state."""
    try:
        size = file.stat().st_size
        data = file.read_bytes() if size <= _LARGEST else b""
    except OSError as error:
        raise KbError(f"{file}: cannot read it: {error.strerror or error}") from error
    if size > _LARGEST:
        raise KbError(
            f"{file}: {size >> 20} MB; cut the log down to its METRIC lines (a record may have {_LARGEST >> 20} MB)"
        )
    if data.lstrip()[:1] not in (b"{", b"["):
        yield _run(_log_record(file, data), side, metric, data)
        return
    try:
        whole = json_of(data)
    except ValueError:
        try:
            whole = [json_of(line) for line in data.splitlines() if line.strip()]
        except ValueError as error:
            raise KbError(
                f"{file}: is not JSON: {error}; a record is {_SHAPE}, a list of these, or one a line"
            ) from error
    for index, item in enumerate(whole if isinstance(whole, list) else [whole], 1):
        stated = isinstance(item, dict) and {"metrics", "metric", "status", "error"} & item.keys()
        if not stated or not isinstance(item.get("metrics", {}), dict):
            raise KbError(f"{file}: run {index} is no record; write {_SHAPE}")
        yield _run(item, side, metric, data if index == 1 else b"")


def _log_record(file: Path, data: bytes) -> dict[str, object]:
    """A log in the shape of a JSON record. Raises KbError where it holds no run."""
    lines = metrics_in(data)
    words = (line.strip().partition(": ") for line in data.decode("utf-8", "replace").splitlines())
    words_of_log = {
        key: value for key, _, value in words if key.startswith(("EXPERIMENT_", "CHECKS_"))
    }
    status = words_of_log.get("EXPERIMENT_STATUS", "")
    if not lines.counts and not status:
        raise KbError(
            f"{file}: holds no `METRIC name=value` line and no EXPERIMENT_STATUS; a record is a benchmark's output, or JSON such as {_SHAPE}"
        )
    crashed = status.startswith("crash")
    failed = "failed" if status.startswith("checks_failed") else ""
    figures: dict[str, object] = dict(lines.refused)
    for name, value in lines.values.items():
        about = {"stddev": lines.values.get(f"{name}_stddev"), "n": lines.values.get(f"{name}_n")}
        base = name.removesuffix("_stddev").removesuffix("_n")
        if base == name or base not in lines.values:
            figures[name] = {"value": value, **about}
    return {
        "metrics": figures,
        "error": words_of_log.get("EXPERIMENT_ERROR", "its log says so") if crashed else "",
        "checks": words_of_log.get("CHECKS_STATUS") or failed,
        "repeated": tuple(lines.repeated.items()),
    }


def _run(item: dict, side: Side, metric: str, data: bytes) -> Elsewhere:
    """One run of a record, with the reason why it measured nothing where it says so or states no figure."""
    figures = dict(item.get("metrics") or {})
    if metric and "metric" in item:
        figures.setdefault(metric, item["metric"])
    about = {n: v if isinstance(v, dict) else {"value": v} for n, v in sorted(figures.items())}
    values = {name: to_float(v.get("value")) for name, v in about.items()}
    stddevs = {name: to_float(v.get("stddev")) for name, v in about.items()}
    sample = Sample(
        "bench",
        side,
        1,
        metrics=tuple((name, value) for name, value in values.items() if value is not None),
        problem=_problem(item, metric, about, values),
        spreads=tuple(
            (name, dev, int(to_float(about[name].get("n")) or 0))
            for name, dev in stddevs.items()
            if dev is not None and values[name] is not None
        ),
        repeated=item.get("repeated", ()) if isinstance(item.get("repeated"), tuple) else (),
    )
    word = str(item.get("checks") or "").strip()
    known = {"pass": "passed", "skip": "skipped"}
    checks = known.get(word.lower()[:4], word)
    return Elsewhere(sample, checks, data, str(item.get("commit", "")))


def _problem(
    item: dict, metric: str, about: dict[str, dict], values: dict[str, float | None]
) -> str:
    """Why a run measured nothing; empty where it did."""
    status, problem = str(item.get("status", "")), str(item.get("error") or "")
    if status.lower().startswith(("crash", "fail", "error")):
        problem = problem or status
    if problem or not metric or values.get(metric) is not None:
        return problem[:400]
    if metric in about:
        return f"{metric}={about[metric].get('value')}"[:80] + " is no finite number"
    return f"it reports no {metric}"
