"""Measures an experiment: change and parent by turns in clean trees, until the verdict is decided. Killed, it goes on where it stopped.

Refuses to measure one attempt on two machines, and beside what an earlier run left behind. Whatever the change may do to the
protected files or to the parent's tree is held against it at every turn.
"""

import contextlib
import os
import shutil
import signal
import tempfile
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from kb import KbError, store
from kb.experiments import worktree
from kb.experiments.attempt import Attempt, Kept, Measurement, Plan, Sample, Side, add, begin, extend, finish, with_file
from kb.experiments.command import Ended, Walls, run_command, sandbox_problem
from kb.experiments.judging import evidence_of
from kb.experiments.keeping import described, dumps_below, files_below, keep_all
from kb.experiments.planning import Ask, guarded, held, measured_before, plan_of, stub_in_flight, unfinished
from kb.experiments.stub import Stub
from kb.experiments.targets import Target, repository_of
from kb.run.direction import words_of
from kb.run.measure import MOST_NAMES
from kb.run.quantity import number_text
from kb.run.rules import ruling_of

# Two benchmarks at once measure each other: a second one waits this long for its turn.
_TURN_S = 24 * 3600
_KEEP_PROFILE = 4 << 20
_MARK = "KB_MARK"
# A time or a rate that is 0 or less was not measured.
_TIMED = frozenset(
    "time ms us ns s sec seconds latency duration elapsed runtime tps qps rps fps throughput tok bandwidth gbps tflops gflops".split()
)
Note = Callable[[str], None]


def run(
    layout: store.Layout, path: str, target: Target, *, ask: Ask, now: str, note: Note, progress: Note
) -> Attempt:
    """Measure the experiment at `path` and file every sample. Raises KbError where it cannot start; a crash of the benchmark is a result."""
    with store.lock(layout, f"run-{store.digest_of(path)}", wait_s=2), _ending_with_us():
        stub = stub_in_flight(layout, path, filed=bool(ask.more))
        attempt = measured_before(layout, stub) if ask.more else unfinished(layout, stub, again=ask.again)
        if attempt and attempt.plan.elsewhere:
            raise KbError(
                f"{attempt.folder}: a result measured elsewhere was being filed; give its files again with --record, or --again"
            )
        folder = repository_of(layout, target, given=ask.repository or (attempt.plan.repository if attempt else ""))
        repository = worktree.top_of(folder)
        if attempt and not ask.more:
            note(f"going on with attempt {attempt.plan.number}: {len(attempt.samples)} samples are there; --again starts another")
        plan = attempt.plan if attempt else plan_of(layout, stub, target, ask=ask, repository=repository, now=now, note=note)
        commits: dict[Side, str] = {**({"parent": plan.parent} if plan.parent else {}), "change": plan.change}
        worktree.keep_commits(repository, *commits.values())
        with _turn(layout, note), worktree.checked_out(layout, repository, commits) as homes:
            if attempt is None:
                trees = {str(side): home / "tree" for side, home in homes.items()}
                plan = guarded(plan, trees, stub, target)
                if not plan.parent:
                    plan = held(layout, repository, plan, stub, target, note=note)
                problem = "switched off by the target page" if target.sandbox == "off" else sandbox_problem()
                network = "with network" if target.network else "without network"
                plan = replace(plan, repository=str(folder), walls=f"none: {problem}" if problem else f"user namespaces, {network}")
                attempt = begin(layout, stub.run, plan)
            elif ask.more:
                attempt = extend(layout, attempt, ask.more, started=now)
            if plan.parent:
                without = worktree.own_folders(layout, repository)
                attempt = with_file(attempt, "change.patch", worktree.patch_of(repository, plan.parent, change=plan.change, without=without))
            if plan.touched or plan.strayed:
                return finish(attempt, Measurement(now))
            with _homes_over() as over:
                bench = _Bench(layout, stub, target, homes, folder.relative_to(repository), folder, over, progress)
                done = _measured(bench, attempt, now=now)
            if plan.artifacts and not done.problem("change") and not any(k.role == "artifact" for k in _last(done).kept):
                note(f"no file matches `artifacts: {', '.join(plan.artifacts)}` of the target: that a change is a no-op would not be seen")
            return done


def _last(attempt: Attempt) -> Measurement:
    return attempt.measurement or Measurement("")


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


@contextlib.contextmanager
def _turn(layout: store.Layout, note: Note) -> Iterator[None]:
    """The one turn to measure on this knowledge base; what is left of a dead run is ended first, and a busy machine is told."""
    with contextlib.ExitStack() as locks:
        try:
            locks.enter_context(store.lock(layout, "measure", wait_s=1))
        except KbError:
            note("another experiment is being measured here; waiting for the turn, for two at once would measure each other")
            locks.enter_context(store.lock(layout, "measure", wait_s=_TURN_S))
        ended = _end_leftovers(layout)
        if ended:
            note(f"ended {len(ended)} processes that an earlier run had left behind: {', '.join(ended[:4])}")
        load, cores = os.getloadavg()[0], os.cpu_count() or 1
        if load > cores / 2:
            note(f"the machine is busy (load {load:.1f} on {cores} cores): expect noise")
        yield


def mark_of(layout: store.Layout) -> str:
    """What every process of a run carries in its environment: it names the knowledge base to us, and tells nobody where it is."""
    return store.digest_of(f"mark of {layout.root.resolve()}")


def _end_leftovers(layout: store.Layout) -> list[str]:
    """End what carries our mark, or stands in a tree of a run, although nobody has the turn; names of what was ended."""
    mark, place = f"{_MARK}={mark_of(layout)}".encode(), os.fspath(worktree.place_of(layout))
    ended = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            environment = (process / "environ").read_bytes().split(b"\0")
            if int(process.name) != os.getpid() and (mark in environment or os.readlink(process / "cwd").startswith(place)):
                command = (process / "cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace").strip()
                os.kill(int(process.name), signal.SIGKILL)
                ended.append("".join(c if c.isprintable() else " " for c in command[:60]) or process.name)
        except OSError:
            continue  # It ended by itself, or belongs to somebody else.
    return ended


@contextlib.contextmanager
def _homes_over() -> Iterator[dict[str, str]]:
    """Where each side's changes to the home folder go: caches of compilers and of kernels made just in time stay its own."""
    folder = tempfile.mkdtemp(prefix="kb-home-")
    try:
        for side in ("parent", "change"):
            for name in ("upper", "work"):
                os.makedirs(os.path.join(folder, side, name))
        yield {side: os.path.join(folder, side) for side in ("parent", "change")}
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@dataclass(slots=True)
class _Bench:
    """What one run of an attempt has open: the homes of both sides, and what was seen of them at their last turn."""

    layout: store.Layout
    stub: Stub
    target: Target
    homes: dict[Side, Path]
    inside: Path
    repository: Path
    over: dict[str, str]
    progress: Note
    touched: set[str] = field(default_factory=set)
    forged: set[str] = field(default_factory=set)
    warm: bool = False
    stamps: dict[str, tuple[int, ...]] = field(default_factory=dict)

    def tree(self, side: Side) -> Path:
        return self.homes[side] / "tree"

    def outs(self, side: Side) -> Path:
        return self.homes[side] / "out"

    @property
    def spoiled(self) -> bool:
        return bool(self.touched or self.forged)

    def ran(self, plan: Plan, kind: str, side: Side, command: str, keep: int) -> Ended:
        """One command of a side, in its turn. What it did to the other side, and to what is protected, is noted."""
        with worktree.in_turn(self.homes[side]) as home:
            env = {
                **{k: v for k, v in os.environ.items() if not k.startswith("KB_")},
                "KB_SIDE": side,
                "KB_OUT": os.fspath(home / "out"),
                "KB_REPOSITORY": os.fspath(self.repository),
                _MARK: mark_of(self.layout),
                **(dict(plan.set) if side == "change" else {}),
            }
            folder = home / "tree" / self.inside
            ended = run_command(
                command, folder=folder, timeout_s=plan.timeout_s, env=env, walls=self._walls(plan, home, side), keep=keep
            )
        self._look(plan, side, kind)
        return ended

    def _walls(self, plan: Plan, home: Path, side: Side) -> Walls:
        if plan.walls.startswith("none"):
            return Walls()
        mounts = []
        own = os.path.realpath(os.path.expanduser("~"))
        if own not in ("/", "/tmp") and not own.startswith("/tmp/"):
            mounts.append(("over", own, self.over[side]))
        shown = sorted(e.path for e in os.scandir("/tmp") if e.is_dir(follow_symlinks=False))
        mounts += [("write", "/tmp", os.fspath(home / "tmp")), *(("read", p, p) for p in shown if not p.startswith("/tmp/kb-home-"))]
        mounts += [("hide", os.fspath(self.layout.state.resolve()), ""), ("write", os.fspath(home), os.fspath(home))]
        mounts += [("write", p, p) for w in self.target.writable if os.path.isdir(p := os.path.realpath(os.path.expanduser(w)))]
        return Walls(True, self.target.network, tuple(mounts))

    def _look(self, plan: Plan, side: Side, kind: str) -> None:
        """Hold the manifest, and the parent's tree, against what they were."""
        if "parent" not in self.homes:
            usual = dict(plan.manifest)
            now = worktree.manifest_of(self.tree("change"), plan.protected)
            self.touched |= {p for p in usual if now.get(p) != usual[p]}
        elif side == "parent":
            self.stamps = worktree.stamps_of(self.tree("parent"))
        else:
            after = worktree.stamps_of(self.tree("parent"))
            written = {p for p in after.keys() | self.stamps.keys() if after.get(p) != self.stamps.get(p)}
            self.touched |= {f"the parent's {p}" for p in sorted(written)[:5]} if self.stamps else set()
            self.stamps = after
            usual, now = (worktree.manifest_of(self.tree(s), plan.protected) for s in ("parent", "change"))
            # A benchmark that writes into its own data does so on both sides; what tells them apart is the change's doing.
            self.touched |= {p for p in usual.keys() | now.keys() if usual.get(p) != now.get(p)}


def _measured(bench: _Bench, attempt: Attempt, *, now: str) -> Attempt:
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


def _goes_on(bench: _Bench, attempt: Attempt) -> bool:
    """Whether there is still something to measure."""
    failed = attempt.problem("change") or attempt.problem("parent")
    return not (failed or bench.spoiled or _no_op(bench, attempt.plan))


def _taken(
    bench: _Bench, attempt: Attempt, kind: str, side: Side, index: int, command: str, keep: int = 16 << 10
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
        idle = [n for n, v in lines.values.items() if v <= 0 and n == metric and _TIMED.intersection(words_of(n))]
        problem = lines.problem(metric) or (f"{idle[0]}={number_text(lines.values[idle[0]])} is no measurement" if idle else "")
        if len(lines.counts) >= MOST_NAMES:
            problem = f"it printed METRIC lines of {MOST_NAMES} names or more; a benchmark reports a few"
    counts = tuple(sorted((n, c) for n, c in lines.counts.items() if c > 1))
    metrics = tuple(sorted(lines.values.items())) if timing else ()
    repeated = tuple(lines.repeated.items()) if kind == "bench" else ()
    return Sample(
        kind, side, index, ended.exit, ended.seconds, metrics, problem, "", ended.output_bytes, "", counts, repeated
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


def _built(bench: _Bench, attempt: Attempt, sides: tuple[Side, ...]) -> Attempt:
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


def _no_op(bench: _Bench, plan: Plan) -> bool:
    """Whether what is built is the parent's, byte for byte, so that there is nothing to measure."""
    if not plan.parent or not plan.changed or plan.set or not plan.artifacts:
        return False
    before, after = (_artifact_digests(bench, plan, side) for side in ("parent", "change"))
    return bool(before) and before == after


def _artifact_digests(bench: _Bench, plan: Plan, side: Side) -> dict[str, str]:
    tree = bench.tree(side)
    found = (described(tree, f, "artifact", side) for f in files_below(tree, plan.artifacts, bench.inside))
    return {k.path: k.digest for k in found}


def _checked(bench: _Bench, attempt: Attempt) -> tuple[str, Attempt]:
    """How the checks of the change went, before any time is spent on measuring it."""
    if not attempt.plan.checks:
        return "", attempt
    if not attempt.of("checks", "change"):
        bench.progress("checks of the change")
        attempt = _taken(bench, attempt, "checks", "change", 0, attempt.plan.checks)
    return attempt.of("checks", "change")[0].problem or "passed", attempt


def _warmed(bench: _Bench, attempt: Attempt, sides: tuple[Side, ...], *, least: int = 0) -> Attempt:
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


def _sampled(bench: _Bench, attempt: Attempt, sides: tuple[Side, ...]) -> Attempt:
    """Repeats by turns, doubled until the verdict is decided or as many are there as may be."""
    goal, plan = attempt.wanted, attempt.plan
    while not (attempt.problem("change") or attempt.problem("parent") or bench.spoiled):
        turn = next(
            ((n, s) for n in range(1, goal + 1) for s in sides if all(x.index != n for x in attempt.of("bench", s))), None
        )
        if turn:
            attempt = _taken(bench, attempt, "bench", turn[1], turn[0], plan.benchmark)
            sample = attempt.samples[-1]
            shown = sample.problem or " ".join(f"{n}={number_text(v)}" for n, v in sample.metrics[:3])
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


def _profiled(bench: _Bench, attempt: Attempt, sides: tuple[Side, ...]) -> Attempt:
    for side in sides if attempt.plan.profile else ():
        if not attempt.of("profile", side) and not attempt.problem(side) and not bench.spoiled:
            bench.progress(f"profile of the {side}")
            attempt = _taken(bench, attempt, "profile", side, 0, attempt.plan.profile, _KEEP_PROFILE)
    return attempt


def _finished(bench: _Bench, attempt: Attempt, *, checks: str, now: str) -> Attempt:
    """Keep what the run left and file the last word."""
    touched, forged = tuple(sorted(bench.touched)), tuple(sorted(bench.forged))
    if attempt.earlier:
        # Repeats were added: what the attempt built, left and was told by its checks is on file already, and stays as it is.
        return finish(attempt, replace(attempt.earlier, finished=now, touched=touched, forged=forged))
    left_out: list[str] = []
    kept: list[Kept] = []
    for side in bench.homes:
        built = files_below(bench.tree(side), attempt.plan.artifacts, bench.inside)
        for role, home, files in (("artifact", bench.tree(side), built), ("dump", bench.outs(side), dumps_below(bench.outs(side)))):
            attempt, found, missing = keep_all(attempt, home, files, role, side)
            kept += found
            left_out += missing
    return finish(attempt, Measurement(now, checks, touched, forged, tuple(left_out), tuple(kept)))
