"""Measures an experiment: change and parent by turns in clean trees, until the verdict is decided. Killed, it goes on where it stopped.

Refuses to measure one attempt on two machines, and beside what an earlier run left behind. Whatever the change may do to the
protected files or to the parent's tree is held against it at every turn.
"""

import os
import signal
import threading
from collections import Counter
from dataclasses import replace
from pathlib import Path

from kb import KbError, store
from kb.experiments import worktree
from kb.experiments.attempt import (
    Attempt,
    add,
    begin,
    described,
    extend,
    files_below,
    finish,
    keep_all,
    with_file,
)
from kb.experiments.command import Ended, sandbox_problem, sandbox_weakness
from kb.experiments.judging import evidence_of
from kb.experiments.plan import Measurement, Plan, Sample, Side
from kb.experiments.planning import RunChoice, guarded, plan_of, standing_attempt
from kb.experiments.stub import stub_in_flight
from kb.experiments.targets import Target, repository_of
from kb.experiments.turns import Bench, Note, homes_over, turn_to_measure
from kb.run.direction import words_of
from kb.run.measure import MOST_NAMES, metrics_in, without_secrets
from kb.run.noise import TIMED
from kb.run.rules import ruling_of
from kb.text import counted, cut, number_text, one_line

_KEEP_PROFILE = 4 << 20
# Programs beyond this are not searched for METRIC lines.
_MOST_CODE = 64 << 20


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
    _unwind_when_asked_to_end()
    with store.lock(layout, f"run-{store.digest_of(path)}", wait_s=2):
        stub = stub_in_flight(layout, path, filed=bool(choice.more))
        attempt = standing_attempt(layout, stub, choice)
        folder = repository_of(layout, target)
        repository = worktree.top_of(folder)
        if attempt and not choice.more:
            note(
                f"going on with attempt {attempt.plan.number}: {counted(len(attempt.samples), 'samples')} there; --again starts another"
            )
        plan = (
            attempt.plan
            if attempt
            else plan_of(
                layout, stub, target,
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
            bench.attempt = attempt
            free = (p for p in plan.changed if not worktree.matches(p, attempt.plan.protected))
            printing = worktree.added_naming(
                repository, "METRIC", plan.parent, change=plan.change, paths=free
            )
            bench.forged |= {f"{place}, which the change adds, names METRIC" for place in printing}
            attempt = _measure(bench, now=now)
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
        plan = _held(layout, repository, plan, target, note=note)
    problem = "switched off by the target page" if target.sandbox == "off" else sandbox_problem()
    network = "with network" if target.network else "without network"
    walls = f"none: {problem}" if problem else f"user namespaces, {network}{sandbox_weakness()}"
    # Relative to the knowledge base: a plan is committed and read on other machines.
    where = Path(os.path.relpath(bench.repository, layout.root.resolve())).as_posix()
    return replace(plan, repository=where, walls=walls)


def _held(
    layout: store.Layout, repository: Path, plan: Plan, target: Target, *, note: Note
) -> Plan:
    """The plan of a baseline with its protected files held against the target's base, where it names one; that nothing protects what
    measures is noted."""
    manifest = dict(plan.manifest)
    if not (
        target.protected or any(w.removeprefix("./") in manifest for w in plan.benchmark.split())
    ):
        note(
            f"`{plan.benchmark}` names no file of the repository, so nothing of what measures is protected, and a change to it would pass for "
            f"a gain: name its sources under `protected:` of {target.path or 'the page of the target'}"
        )
    if not target.base:
        return plan
    base, without = (
        worktree.commit_of(repository, target.base),
        worktree.own_folders(layout, repository),
    )
    changed = worktree.changed_paths(repository, base, change=plan.change, without=without)
    touched = tuple(p for p in changed if worktree.matches(p, plan.protected))
    if touched:
        note(
            f"protected files differ from those of the base '{target.base}': {', '.join(touched[:5])}. Figures of two benchmarks do not "
            "compare: if it was changed on purpose, move `base:` of the target page to it and open the baseline under another --variant"
        )
    return replace(plan, touched=touched or plan.touched)


def _unwind_when_asked_to_end() -> None:
    """A request to end clears the trees; the supervisor sees to the benchmark in any case."""

    def stop(number: int, _: object) -> None:
        raise SystemExit(128 + number)

    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, stop)


def _measure(bench: Bench, *, now: str) -> Attempt:
    """The finished attempt: builds, checks, warm-ups, repeats by turns, profiles, and what they left."""
    plan = bench.attempt.plan
    bench.stamps = bench.look(plan.protected)[1] if plan.parent else {}
    _build(bench)
    if not plan.build and (plan.checks or plan.artifacts):
        # Where nothing else builds, the benchmark does: its first run makes what the checks look at.
        _warm(bench, least=1)
    if plan.parent:
        parent, change = (_printed_by(bench.tree(s), plan, bench.inside) for s in plan.sides)
        bench.forged |= {
            f"a METRIC {name} line stands {change[name]} times in what the change built and {parent[name]} in the parent's"
            for name in (change - parent)
        }
    if not _is_no_op(bench):
        # Before any time is spent on measuring.
        _take(bench, "checks", "change")
        if not any(s.problem for s in bench.attempt.of("checks", "change")):
            _warm(bench)
            _repeat(bench)
            for side in plan.sides:
                _take(bench, "profile", side)
    attempt = bench.attempt
    touched, forged = tuple(sorted(bench.touched)), tuple(sorted(bench.forged))
    if attempt.added:
        # What the attempt built, left and was told by its checks is on file already, and stays as it is.
        done = replace(attempt.words[-1], finished=now, touched=touched, forged=forged)
        return finish(attempt, done)
    left_out, kept = [], []
    for side in plan.sides:
        tree, out = bench.tree(side), bench.homes[side] / "out"
        built = files_below(tree, plan.artifacts, bench.inside)
        dumps = files_below(out, ("**/*",))
        for role, home, files in (("artifact", tree, built), ("dump", out, dumps)):
            attempt, copies, missing = keep_all(attempt, home, files, role, side)
            kept += copies
            left_out += missing
    crashed = attempt.problem("change")
    checks = [s.problem or "passed" for s in attempt.of("checks", "change") if not crashed]
    word = Measurement(now, "".join(checks), touched, forged, tuple(left_out), tuple(kept))
    return finish(attempt, word)


def _printed_by(tree: Path, plan: Plan, inside: Path) -> Counter[str]:
    """How often each METRIC line stands in what was built, where strings end with NUL and begin anywhere: also one that the source puts
    together from pieces."""
    counts = Counter[str]()
    for file in files_below(tree, plan.artifacts, inside):
        if file.stat().st_size <= _MOST_CODE:
            data = store.bytes_of(file).replace(b"METRIC ", b"\nMETRIC ").replace(b"\0", b"\n")
            counts += metrics_in(data).counts
    return counts


def _goes_on(bench: Bench) -> bool:
    """Whether nothing failed yet, and nothing was touched that must not be."""
    return not (bench.attempt.problem("change", "parent") or bench.touched or bench.forged)


def _is_no_op(bench: Bench) -> bool:
    """Whether what is built is the parent's, byte for byte, although the source differs."""
    plan = bench.attempt.plan
    if not plan.parent or not plan.changed or plan.set:
        return False
    built = []
    for tree in map(bench.tree, plan.sides):
        files = (
            described(tree, f, "", "change")
            for f in files_below(tree, plan.artifacts, bench.inside)
        )
        built.append({f.path: f.digest for f in files})
    return bool(built[0]) and built[0] == built[1]


def _take(bench: Bench, kind: str, side: Side, index: int = 0) -> None:
    """One sample of a side, unless it is there, there is no such command, or nothing is left to measure."""
    attempt, plan = bench.attempt, bench.attempt.plan
    timing = kind in ("bench", "warmup")
    command = plan.benchmark if timing else getattr(plan, kind)
    known = any((s.kind, s.side, s.index) == (kind, side, index) for s in attempt.samples)
    if known or not command or not _goes_on(bench):
        return
    ended = bench.ran(side, command, _KEEP_PROFILE if kind == "profile" else 16 << 10)
    counts, values = ended.lines.counts, ended.lines.values if timing else {}
    problem = ended.problem or (_unmeasured(ended, plan.metric) if timing else "")
    problem = _explained(problem, ended.output)
    if kind == "bench" and side == "change":
        usual = Counter[str]()
        for sample in attempt.of("bench", "parent"):
            usual |= Counter(dict.fromkeys(dict(sample.metrics), 1) | dict(sample.counts))
        bench.forged |= {
            f"METRIC {name} was printed {counts[name]} times by the change and {count} by the parent"
            for name, count in usual.items()
            if counts[name] > count
        }
    sample = Sample(
        kind,
        side,
        index,
        ended.exit,
        ended.seconds,
        tuple(sorted(values.items())),
        problem,
        counts=tuple(sorted((n, c) for n, c in counts.items() if c > 1)),
    )
    bench.attempt = add(attempt, sample, ended.output)
    shown = problem or " ".join(f"{n}={number_text(v)}" for n, v in sample.metrics[:3])
    bench.progress(f"{kind} {index or ''} of the {side}: {shown} ({ended.seconds:.1f} s)")


def _unmeasured(ended: Ended, metric: str) -> str:
    """Why a benchmark that ended well measured nothing."""
    if len(ended.lines.counts) >= MOST_NAMES:
        return f"it printed METRIC lines of {MOST_NAMES} names or more; a benchmark reports a few"
    value = ended.lines.values.get(metric)
    if value is not None and value <= 0 and TIMED.intersection(words_of(metric)):
        return f"{metric}={number_text(value)} is no measurement"
    return ended.lines.problem(metric)


def _explained(problem: str, output: bytes) -> str:
    """A problem with the last line that its command printed which says something; METRIC lines, gaps and make's word that a command failed do not."""
    lines = map(one_line, reversed(output.decode("utf-8", "replace").splitlines()))
    telling = (t for t in lines if any(map(str.isalnum, t)) and ": *** " not in t)
    last = next((t for t in telling if not t.startswith(("METRIC ", "[... "))), "")
    shown = cut(without_secrets(last), 160).replace("`", "'")
    return f"{problem}: `{shown}`" if problem and last else problem


def _build(bench: Bench) -> None:
    """Both sides built. A resumed attempt builds again, for its trees are made anew, and files that once."""
    command = bench.attempt.plan.build
    for side in bench.attempt.plan.sides if command else ():
        before = bench.attempt.of("build", side)
        if not before:
            _take(bench, "build", side)
        elif not before[0].problem and (problem := bench.ran(side, command, 0).problem):
            # To end the attempt here would judge it without its checks, or with fewer repeats than were asked for.
            raise KbError(
                f"{bench.attempt.folder}: the build of the {side} went well before and fails now ({problem}); mend that and run again, "
                "or --again measures anew"
            )


def _warm(bench: Bench, *, least: int = 0) -> None:
    """Runs that do not count, up to as many as were planned. A tree made anew is cold, so a resumed attempt warms each side once more."""
    attempt, plan = bench.attempt, bench.attempt.plan
    cold = not bench.warm and attempt.of("bench", plan.sides[0])
    again = len(attempt.of("warmup", plan.sides[-1])) + 1 if cold else 0
    bench.warm = True
    for index in range(1, 1 + max(plan.warmup, least, again)):
        for side in plan.sides:
            _take(bench, "warmup", side, index)


def _repeat(bench: Bench) -> None:
    """Repeats by turns, doubled until the verdict is decided or as many are there as may be."""
    added, plan = bench.attempt.added, bench.attempt.plan
    goal = added[-1].repeats if added else plan.repeats
    while True:
        for index in range(1, goal + 1):
            for side in plan.sides:
                _take(bench, "bench", side, index)
        if added or goal >= plan.most or not plan.parent or not _goes_on(bench):
            return
        ruling = ruling_of(evidence_of(bench.stub, bench.target, bench.attempt))
        if ruling.more is None:
            return
        goal = min(plan.most, 2 * goal)
        bench.progress(f"{ruling.reason}; going on to {goal} repeats of each side")
