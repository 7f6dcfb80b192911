"""Measures an experiment: change and parent by turns in clean trees, until the verdict is decided. Killed, it goes on where it stopped.

Refuses to measure one attempt on two machines, and beside what an earlier run left behind. Whatever the change may do to the
protected files or to the parent's tree is held against it at every turn.
"""

import contextlib
import os
import signal
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from kb import KbError, store
from kb.experiments import worktree
from kb.experiments.attempt import Attempt, add, begin, extend, finish, with_file
from kb.experiments.command import Ended, sandbox_problem
from kb.experiments.judging import evidence_of
from kb.experiments.keeping import described, dumps_below, files_below, keep_all
from kb.experiments.plan import Kept, Measurement, Plan, Sample, Side
from kb.experiments.planning import (
    Ask,
    guarded,
    held,
    measured_before,
    plan_of,
    stub_in_flight,
    unfinished,
)
from kb.experiments.stub import Stub
from kb.experiments.targets import Target, repository_of
from kb.experiments.turns import Bench, Note, homes_over, turn_to_measure
from kb.run.direction import words_of
from kb.run.measure import MOST_NAMES
from kb.run.quantity import number_text
from kb.run.rules import ruling_of

_KEEP_PROFILE = 4 << 20
# A time or a rate that is 0 or less was not measured.
_TIMED = frozenset(
    "time ms us ns s sec seconds latency duration elapsed runtime tps qps rps fps throughput tok bandwidth gbps tflops gflops".split()
)


def run(
    layout: store.Layout,
    path: str,
    target: Target,
    *,
    ask: Ask,
    now: str,
    note: Note,
    progress: Note,
) -> Attempt:
    """Measure the experiment at `path` and file every sample. Raises KbError where it cannot start; a crash of the benchmark is a result."""
    with store.lock(layout, f"run-{store.digest_of(path)}", wait_s=2), _ending_with_us():
        stub = stub_in_flight(layout, path, filed=bool(ask.more))
        attempt = (
            measured_before(layout, stub) if ask.more else unfinished(layout, stub, again=ask.again)
        )
        if attempt and attempt.plan.elsewhere:
            raise KbError(
                f"{attempt.folder}: a result measured elsewhere was being filed; give its files again with --record, or --again"
            )
        before = str(layout.root / attempt.plan.repository) if attempt else ""
        folder = repository_of(layout, target, given=ask.repository or before)
        repository = worktree.top_of(folder)
        if attempt and not ask.more:
            count = len(attempt.samples)
            note(
                f"going on with attempt {attempt.plan.number}: {count} samples are there; "
                "--again starts another"
            )
        plan = attempt.plan if attempt else None
        plan = plan or plan_of(
            layout, stub, target, ask=ask, repository=repository, now=now, note=note
        )
        sides: tuple[Side, ...] = ("parent", "change") if plan.parent else ("change",)
        commits = {side: plan.parent if side == "parent" else plan.change for side in sides}
        worktree.keep_commits(repository, *commits.values())
        with (
            turn_to_measure(layout, note),
            worktree.checked_out(layout, repository, commits) as homes,
        ):
            if attempt is None:
                attempt = _begun(layout, stub, target, plan, homes, folder=folder, note=note)
            elif ask.more:
                attempt = extend(layout, attempt, ask.more, started=now)
            if plan.parent:
                attempt = _with_patch(layout, attempt, repository)
            if attempt.plan.touched or attempt.plan.strayed:
                return finish(attempt, Measurement(now))
            with homes_over() as over:
                inside = folder.relative_to(repository)
                bench = Bench(layout, stub, target, homes, inside, folder, over, progress)
                done = _measured(bench, attempt, now=now)
            _doubt_artifacts(done, note)
            return done


def _begun(
    layout: store.Layout,
    stub: Stub,
    target: Target,
    plan: Plan,
    homes: dict[Side, Path],
    *,
    folder: Path,
    note: Note,
) -> Attempt:
    """The attempt on file, with what the change may not touch, and the walls around it."""
    plan = guarded(plan, {str(side): home / "tree" for side, home in homes.items()}, stub, target)
    if not plan.parent:
        plan = held(layout, worktree.top_of(folder), plan, stub, target, note=note)
    problem = "switched off by the target page" if target.sandbox == "off" else sandbox_problem()
    network = "with network" if target.network else "without network"
    walls = f"none: {problem}" if problem else f"user namespaces, {network}"
    # Relative to the knowledge base: a plan is committed and read on other machines.
    where = Path(os.path.relpath(folder, layout.root.resolve())).as_posix()
    return begin(layout, stub.run, replace(plan, repository=where, walls=walls))


def _with_patch(layout: store.Layout, attempt: Attempt, repository: Path) -> Attempt:
    plan, without = attempt.plan, worktree.own_folders(layout, repository)
    patch = worktree.patch_of(repository, plan.parent, change=plan.change, without=without)
    return with_file(attempt, "change.patch", patch)


def _doubt_artifacts(done: Attempt, note: Note) -> None:
    kept = done.measurement.kept if done.measurement else ()
    named = done.plan.artifacts
    if named and not done.problem("change") and not any(k.role == "artifact" for k in kept):
        note(
            f"no file matches `artifacts: {', '.join(named)}` of the target: "
            "that a change is a no-op would not be seen"
        )


@contextlib.contextmanager
def _ending_with_us() -> Iterator[None]:
    """A request to end (SIGTERM, SIGHUP) unwinds us, so that trees are cleared; the supervisor sees to the benchmark in any case."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(number: int, _: object) -> None:
        raise SystemExit(128 + number)

    before = {number: signal.signal(number, stop) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _measured(bench: Bench, attempt: Attempt, *, now: str) -> Attempt:
    plan = attempt.plan
    sides: tuple[Side, ...] = tuple(bench.homes)
    bench.stamps = worktree.stamps_of(bench.tree("parent")) if plan.parent else {}
    attempt = _built(bench, attempt, sides)
    if not plan.build:
        # Where nothing else builds, the benchmark does: its first run makes what the checks look at.
        attempt = _warmed(bench, attempt, sides, least=1 if plan.checks or plan.artifacts else 0)
    checks = ""
    if _goes_on(bench, attempt):
        checks, attempt = _checked(bench, attempt)
    if checks in ("", "passed") and _goes_on(bench, attempt):
        attempt = _warmed(bench, attempt, sides)
        attempt = _sampled(bench, attempt, sides)
        attempt = _profiled(bench, attempt, sides)
    return _finished(bench, attempt, checks=checks, now=now)


def _goes_on(bench: Bench, attempt: Attempt) -> bool:
    """Whether there is still something to measure."""
    failed = attempt.problem("change") or attempt.problem("parent")
    return not (failed or bench.spoiled or _no_op(bench, attempt.plan))


def _taken(
    bench: Bench,
    attempt: Attempt,
    kind: str,
    side: Side,
    index: int,
    command: str,
    keep: int = 16 << 10,
) -> Attempt:
    """The attempt with one more sample."""
    ended = bench.ran(attempt.plan, kind, side, command, keep)
    sample = _sample(kind, side, index, ended, attempt.plan.metric)
    if kind == "bench" and side == "change" and attempt.plan.parent:
        bench.forged |= _forged(attempt, ended)
    return add(attempt, sample, ended.output)


def _sample(kind: str, side: Side, index: int, ended: Ended, metric: str) -> Sample:
    problem, lines = ended.problem, ended.lines
    timing = kind in ("bench", "warmup")
    if timing and not problem:
        idle = [
            n
            for n, v in lines.values.items()
            if v <= 0 and n == metric and _TIMED.intersection(words_of(n))
        ]
        problem = lines.problem(metric) or (
            f"{idle[0]}={number_text(lines.values[idle[0]])} is no measurement" if idle else ""
        )
        if len(lines.counts) >= MOST_NAMES:
            problem = (
                f"it printed METRIC lines of {MOST_NAMES} names or more; a benchmark reports a few"
            )
    counts = tuple(sorted((n, c) for n, c in lines.counts.items() if c > 1))
    metrics = tuple(sorted(lines.values.items())) if timing else ()
    repeated = tuple(lines.repeated.items()) if kind == "bench" else ()
    return Sample(
        kind,
        side,
        index,
        ended.exit,
        ended.seconds,
        metrics,
        problem,
        "",
        ended.output_bytes,
        "",
        counts,
        repeated,
    )


def _forged(attempt: Attempt, ended: Ended) -> set[str]:
    """METRIC lines that the change prints more often than the parent ever did."""
    usual: dict[str, int] = {}
    for sample in attempt.of("bench", "parent"):
        for name, _ in sample.metrics:
            usual[name] = max(usual.get(name, 0), dict(sample.counts).get(name, 1))
    return {
        f"METRIC {name} was printed {count} times by the change and {usual[name]} by the parent"
        for name, count in ended.lines.counts.items()
        if count > usual.get(name, count)
    }


def _built(bench: Bench, attempt: Attempt, sides: tuple[Side, ...]) -> Attempt:
    """Both sides built. A resumed attempt builds again, for its trees are made anew, and files that once."""
    for side in sides if attempt.plan.build else ():
        again = attempt.of("build", side)
        if not again:
            attempt = _taken(bench, attempt, "build", side, 0, attempt.plan.build)
            if attempt.problem(side):
                break
            continue
        problem = bench.ran(attempt.plan, "build", side, attempt.plan.build, 0).problem
        if problem and not again[0].problem:
            # To end the attempt here would judge it without its checks, or with fewer repeats than were asked for.
            raise KbError(
                f"{attempt.folder}: the build of the {side} went well before and fails now ({problem}); mend that and run again, "
                "or --again measures anew"
            )
    return attempt


def _no_op(bench: Bench, plan: Plan) -> bool:
    """Whether what is built is the parent's, byte for byte, so that there is nothing to measure."""
    if not plan.parent or not plan.changed or plan.set or not plan.artifacts:
        return False
    before, after = (_artifact_digests(bench, plan, side) for side in ("parent", "change"))
    return bool(before) and before == after


def _artifact_digests(bench: Bench, plan: Plan, side: Side) -> dict[str, str]:
    tree = bench.tree(side)
    found = (
        described(tree, f, "artifact", side)
        for f in files_below(tree, plan.artifacts, bench.inside)
    )
    return {k.path: k.digest for k in found}


def _checked(bench: Bench, attempt: Attempt) -> tuple[str, Attempt]:
    """How the checks of the change went, before any time is spent on measuring it."""
    if not attempt.plan.checks:
        return "", attempt
    if not attempt.of("checks", "change"):
        bench.progress("checks of the change")
        attempt = _taken(bench, attempt, "checks", "change", 0, attempt.plan.checks)
    return attempt.of("checks", "change")[0].problem or "passed", attempt


def _warmed(bench: Bench, attempt: Attempt, sides: tuple[Side, ...], *, least: int = 0) -> Attempt:
    """Runs that do not count, up to as many as were planned. A tree made anew is cold, so a resumed attempt warms each side once more."""
    done = len(attempt.of("warmup", sides[-1]))
    again = 0 if bench.warm or not attempt.of("bench", sides[0]) else done + 1
    bench.warm = True
    for index in range(1, 1 + max(attempt.plan.warmup, least, again)):
        for side in sides:
            if any(s.index == index for s in attempt.of("warmup", side)) or attempt.problem(side):
                continue
            attempt = _taken(bench, attempt, "warmup", side, index, attempt.plan.benchmark)
            if attempt.problem(side) or bench.spoiled:
                return attempt
    return attempt


def _sampled(bench: Bench, attempt: Attempt, sides: tuple[Side, ...]) -> Attempt:
    """Repeats by turns, doubled until the verdict is decided or as many are there as may be."""
    goal, plan = attempt.wanted, attempt.plan
    while not (attempt.problem("change") or attempt.problem("parent") or bench.spoiled):
        turn = next(
            (
                (n, s)
                for n in range(1, goal + 1)
                for s in sides
                if all(x.index != n for x in attempt.of("bench", s))
            ),
            None,
        )
        if turn:
            attempt = _taken(bench, attempt, "bench", turn[1], turn[0], plan.benchmark)
            sample = attempt.samples[-1]
            shown = sample.problem or " ".join(
                f"{n}={number_text(v)}" for n, v in sample.metrics[:3]
            )
            bench.progress(f"[{turn[0]}/{goal}] {turn[1]}: {shown} ({sample.seconds:.1f} s)")
            continue
        if attempt.extended or goal >= plan.most or not plan.parent:
            break
        ruling = ruling_of(evidence_of(bench.layout, bench.stub, bench.target, attempt))
        if ruling.more is None:
            break
        goal = min(plan.most, 2 * goal)
        bench.progress(f"{ruling.reason}; going on to {goal} repeats of each side")
    return attempt


def _profiled(bench: Bench, attempt: Attempt, sides: tuple[Side, ...]) -> Attempt:
    for side in sides if attempt.plan.profile else ():
        if not attempt.of("profile", side) and not attempt.problem(side) and not bench.spoiled:
            bench.progress(f"profile of the {side}")
            attempt = _taken(
                bench, attempt, "profile", side, 0, attempt.plan.profile, _KEEP_PROFILE
            )
    return attempt


def _finished(bench: Bench, attempt: Attempt, *, checks: str, now: str) -> Attempt:
    """Keep what the run left and file the last word."""
    touched, forged = tuple(sorted(bench.touched)), tuple(sorted(bench.forged))
    if attempt.earlier:
        # Repeats were added: what the attempt built, left and was told by its checks is on file already, and stays as it is.
        return finish(
            attempt, replace(attempt.earlier, finished=now, touched=touched, forged=forged)
        )
    left_out: list[str] = []
    kept: list[Kept] = []
    for side in bench.homes:
        built = files_below(bench.tree(side), attempt.plan.artifacts, bench.inside)
        for role, home, files in (
            ("artifact", bench.tree(side), built),
            ("dump", bench.outs(side), dumps_below(bench.outs(side))),
        ):
            attempt, found, missing = keep_all(attempt, home, files, role, side)
            kept += found
            left_out += missing
    return finish(attempt, Measurement(now, checks, touched, forged, tuple(left_out), tuple(kept)))
