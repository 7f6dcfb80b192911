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
from kb.experiments.command import Ended, sandbox_problem, sandbox_weakness
from kb.experiments.guarding import guarded, held
from kb.experiments.judging import evidence_of
from kb.experiments.keeping import described, files_below, keep_all
from kb.experiments.plan import Measurement, Plan, Sample, Side
from kb.experiments.planning import RunChoice, plan_of, standing_attempt
from kb.experiments.stub import stub_in_flight
from kb.experiments.targets import Target, repository_of
from kb.experiments.turns import Bench, Note, homes_over, turn_to_measure
from kb.run.direction import words_of
from kb.run.measure import MOST_NAMES
from kb.run.noise import TIMED
from kb.run.rules import ruling_of
from kb.text import number_text

_KEEP_PROFILE = 4 << 20


def run(
    layout: store.Layout,
    path: str,
    target: Target,
    *,
    choice: RunChoice,
    now: str,
    note: Note,
    progress: Note,
) -> Attempt:
    """Measure the experiment at `path` and file every sample. Raises KbError where it cannot start; a crash of the benchmark is a result."""
    with store.lock(layout, f"run-{store.digest_of(path)}", wait_s=2), _ending_with_us():
        stub = stub_in_flight(layout, path, filed=bool(choice.more))
        attempt = standing_attempt(layout, stub, choice)
        before = str(layout.root / attempt.plan.repository) if attempt else ""
        folder = repository_of(layout, target, folder=choice.repo or before)
        repository = worktree.top_of(folder)
        if attempt and not choice.more:
            note(
                f"going on with attempt {attempt.plan.number}: {len(attempt.samples)} samples are there; --again starts another"
            )
        plan = (
            attempt.plan
            if attempt
            else plan_of(
                layout, stub, choice.method(target),
                choice=choice, repository=repository, now=now, note=note,
            )
        )  # fmt: skip
        commits = {side: getattr(plan, side) for side in plan.sides}
        worktree.keep_commits(repository, *commits.values())
        trees = worktree.checked_out(layout, repository, commits)
        with turn_to_measure(layout, note), trees as homes, homes_over(layout) as over:
            inside = folder.relative_to(repository)
            bench = Bench(layout, stub, target, homes, inside, folder, over, progress)
            if attempt is None:
                attempt = begin(layout, stub, _guarded(bench, plan, repository, note))
            elif choice.more:
                attempt = extend(attempt, choice.more, started=now)
            if plan.parent:
                own = worktree.own_folders(layout, repository)
                patch = worktree.patch_of(repository, plan.parent, change=plan.change, without=own)
                attempt = with_file(attempt, "change.patch", patch)
            if attempt.plan.touched or attempt.plan.strayed:
                return finish(attempt, Measurement(now))
            attempt = _measured(bench, attempt, now=now)
        named = attempt.plan.artifacts
        built = any(k.role == "artifact" for k in attempt.kept)
        if named and not attempt.problem("change") and not built:
            note(
                f"no file matches `artifacts: {', '.join(named)}` of the target: that a change is a no-op would not be seen"
            )
        return attempt


def _guarded(bench: Bench, plan: Plan, repository: Path, note: Note) -> Plan:
    """The plan with what the change may not touch, and the walls around it."""
    layout, stub, target = bench.layout, bench.stub, bench.target
    plan = guarded(plan, {side: bench.tree(side) for side in bench.homes}, stub, target)
    if not plan.parent:
        plan = held(layout, repository, plan, target, note=note)
    problem = "switched off by the target page" if target.sandbox == "off" else sandbox_problem()
    network = "with network" if target.network else "without network"
    walls = f"none: {problem}" if problem else f"user namespaces, {network}{sandbox_weakness()}"
    # Relative to the knowledge base: a plan is committed and read on other machines.
    where = Path(os.path.relpath(bench.repository, layout.root.resolve())).as_posix()
    return replace(plan, repository=where, walls=walls)


@contextlib.contextmanager
def _ending_with_us() -> Iterator[None]:
    """A request to end (SIGTERM, SIGHUP) unwinds us, so that trees are cleared; the supervisor sees to the benchmark in any case."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(number: int, _: object) -> None:
        # Once is enough: a second request would cut the clearing short.
        for other in before:
            signal.signal(other, signal.SIG_IGN)
        raise SystemExit(128 + number)

    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)}
    for number in before:
        signal.signal(number, stop)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _measured(bench: Bench, attempt: Attempt, *, now: str) -> Attempt:
    """The finished attempt: builds, checks, warm-ups, repeats by turns, profiles, and what they left."""
    plan = attempt.plan
    bench.stamps = bench.look(plan.protected)[1] if plan.parent else {}
    attempt = _built(bench, attempt)
    if not plan.build:
        # Where nothing else builds, the benchmark does: its first run makes what the checks look at.
        attempt = _warmed(bench, attempt, least=1 if plan.checks or plan.artifacts else 0)
    checks = ""
    if plan.checks and _goes_on(bench, attempt):
        # Before any time is spent on measuring.
        if not attempt.of("checks", "change"):
            bench.progress("checks of the change")
            attempt = _taken(bench, attempt, "checks", "change", 0, plan.checks)
        crashed = attempt.problem("change")
        checks = "" if crashed else attempt.of("checks", "change")[0].problem or "passed"
    if checks in ("", "passed") and _goes_on(bench, attempt):
        attempt = _sampled(bench, _warmed(bench, attempt))
        for side in plan.sides if plan.profile else ():
            if not (attempt.of("profile", side) or attempt.problem(side) or _is_spoiled(bench)):
                bench.progress(f"profile of the {side}")
                attempt = _taken(bench, attempt, "profile", side, 0, plan.profile)
    touched, forged = tuple(sorted(bench.touched)), tuple(sorted(bench.forged))
    if attempt.earlier:
        # Repeats were added: what the attempt built, left and was told by its checks is on file already, and stays as it is.
        done = replace(attempt.earlier, finished=now, touched=touched, forged=forged)
        return finish(attempt, done)
    left_out, kept = [], []
    for side in plan.sides:
        tree, out = bench.tree(side), bench.homes[side] / "out"
        built = files_below(tree, plan.artifacts, bench.inside)
        for role, home, files in (
            ("artifact", tree, built),
            ("dump", out, files_below(out, ("**/*",))),
        ):
            attempt, copies, missing = keep_all(attempt, home, files, role, side)
            kept += copies
            left_out += missing
    return finish(attempt, Measurement(now, checks, touched, forged, tuple(left_out), tuple(kept)))


def _is_spoiled(bench: Bench) -> bool:
    return bool(bench.touched or bench.forged)


def _goes_on(bench: Bench, attempt: Attempt) -> bool:
    """Whether there is still something to measure: nothing failed, and what is built is not the parent's, byte for byte."""
    plan = attempt.plan
    if attempt.problem("change", "parent") or _is_spoiled(bench):
        return False
    if not plan.parent or not plan.changed or plan.set or not plan.artifacts:
        return True
    digests = []
    for tree in map(bench.tree, plan.sides):
        files = files_below(tree, plan.artifacts, bench.inside)
        digests.append(
            {k.path: k.digest for k in (described(tree, f, "", "change") for f in files)}
        )
    return not digests[0] or digests[0] != digests[1]


def _taken(
    bench: Bench, attempt: Attempt, kind: str, side: Side, index: int, command: str
) -> Attempt:
    """The attempt with one more sample."""
    ended = bench.ran(attempt.plan, side, command, _KEEP_PROFILE if kind == "profile" else 16 << 10)
    counts = ended.lines.counts
    if kind == "bench" and side == "change" and attempt.plan.parent:
        usual: dict[str, int] = {}
        for sample in attempt.of("bench", "parent"):
            for name, _ in sample.metrics:
                usual[name] = max(usual.get(name, 0), dict(sample.counts).get(name, 1))
        bench.forged |= {
            f"METRIC {name} was printed {count} times by the change and {usual[name]} by the parent"
            for name, count in counts.items()
            if count > usual.get(name, count)
        }
    timing = kind in ("bench", "warmup")
    sample = Sample(
        kind,
        side,
        index,
        ended.exit,
        ended.seconds,
        tuple(sorted(ended.lines.values.items())) if timing else (),
        ended.problem or (_unmeasured(ended, attempt.plan.metric) if timing else ""),
        output_bytes=ended.output_bytes,
        counts=tuple(sorted((n, c) for n, c in counts.items() if c > 1)),
        repeated=tuple(ended.lines.repeated.items()) if kind == "bench" else (),
    )
    return add(attempt, sample, ended.output)


def _unmeasured(ended: Ended, metric: str) -> str:
    """Why a benchmark that ended well measured nothing."""
    if len(ended.lines.counts) >= MOST_NAMES:
        return f"it printed METRIC lines of {MOST_NAMES} names or more; a benchmark reports a few"
    value = ended.lines.values.get(metric)
    if value is not None and value <= 0 and TIMED.intersection(words_of(metric)):
        return f"{metric}={number_text(value)} is no measurement"
    return ended.lines.problem(metric)


def _built(bench: Bench, attempt: Attempt) -> Attempt:
    """Both sides built. A resumed attempt builds again, for its trees are made anew, and files that once."""
    for side in attempt.plan.sides if attempt.plan.build else ():
        before = attempt.of("build", side)
        if not before:
            attempt = _taken(bench, attempt, "build", side, 0, attempt.plan.build)
            if attempt.problem(side):
                break
            continue
        problem = bench.ran(attempt.plan, side, attempt.plan.build, 0).problem
        if problem and not before[0].problem:
            # To end the attempt here would judge it without its checks, or with fewer repeats than were asked for.
            raise KbError(
                f"{attempt.folder}: the build of the {side} went well before and fails now ({problem}); mend that and run again, "
                "or --again measures anew"
            )
    return attempt


def _warmed(bench: Bench, attempt: Attempt, *, least: int = 0) -> Attempt:
    """Runs that do not count, up to as many as were planned. A tree made anew is cold, so a resumed attempt warms each side once more."""
    plan = attempt.plan
    cold = not bench.warm and attempt.of("bench", plan.sides[0])
    again = len(attempt.of("warmup", plan.sides[-1])) + 1 if cold else 0
    bench.warm = True
    for index in range(1, 1 + max(plan.warmup, least, again)):
        for side in plan.sides:
            if any(s.index == index for s in attempt.of("warmup", side)) or attempt.problem(side):
                continue
            attempt = _taken(bench, attempt, "warmup", side, index, plan.benchmark)
            if attempt.problem(side) or _is_spoiled(bench):
                return attempt
    return attempt


def _sampled(bench: Bench, attempt: Attempt) -> Attempt:
    """Repeats by turns, doubled until the verdict is decided or as many are there as may be."""
    plan = attempt.plan
    goal = attempt.added[-1].repeats if attempt.added else plan.repeats
    while not (attempt.problem("change", "parent") or _is_spoiled(bench)):
        taken = {(s.index, s.side) for s in attempt.samples if s.kind == "bench"}
        turns = ((n, side) for n in range(1, goal + 1) for side in plan.sides)
        turn = next((t for t in turns if t not in taken), None)
        if turn:
            attempt = _taken(bench, attempt, "bench", turn[1], turn[0], plan.benchmark)
            sample = attempt.samples[-1]
            values = " ".join(f"{n}={number_text(v)}" for n, v in sample.metrics[:3])
            shown = sample.problem or values
            bench.progress(f"[{turn[0]}/{goal}] {turn[1]}: {shown} ({sample.seconds:.1f} s)")
            continue
        if attempt.added or goal >= plan.most or not plan.parent:
            break
        ruling = ruling_of(evidence_of(bench.stub, bench.target, attempt))
        if ruling.more is None:
            break
        goal = min(plan.most, 2 * goal)
        bench.progress(f"{ruling.reason}; going on to {goal} repeats of each side")
    return attempt
