"""Measures an experiment: change and parent by turns in clean worktrees, every sample on file as it is taken. Killed, it goes on where it stopped.

Refuses to measure uncommitted work by accident, a change of protected files at all, and one attempt on two machines.
"""

import contextlib
import os
import shlex
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from kb import KbError, store
from kb.experiments import worktree
from kb.experiments.attempt import Attempt, Kept, Pairs, Plan, Sample, Side, add, attempts_in, begin, extend, finish, tampered
from kb.experiments.stub import Stub, sealed_pages, stub_at
from kb.experiments.targets import BENCHMARKS, CHECKS, Target, repository_of
from kb.run.measure import Outcome, end_marked, host_facts, manifest_of, measured
from kb.run.quantity import number_text
from kb.schema import Verdict

# Two benchmarks at once measure each other: a second one waits this long for its turn.
_TURN_S = 24 * 3600
# Files larger than this are recorded by digest alone, and no more than this many bytes are kept of one side.
_KEEP_FILE, _KEEP_SIDE = 16 << 20, 64 << 20
_KEEP_PROFILE = 4 << 20


@dataclass(frozen=True, slots=True)
class Ask:
    """What a user says beside the target page; empty and 0 mean "as the target page says". `set` are variables for the change alone.

    `more` adds so many repeats of each side to the attempt that is measured.
    """

    repository: str = ""
    commit: str = ""
    snapshot: bool = False
    benchmark: str = ""
    checks: str = ""
    profile: str = ""
    build: str = ""
    metric: str = ""
    repeats: int = 0
    warmup: int = 0
    timeout_s: float = 0.0
    set: Pairs = ()
    again: bool = False
    more: int = 0


def run(
    layout: store.Layout,
    path: str,
    target: Target,
    *,
    ask: Ask,
    now: str,
    note: Callable[[str], None],
    progress: Callable[[str], None],
) -> Attempt:
    """Measure the experiment at `path` and file every sample. Raises KbError where it cannot start; a crash of the benchmark is a result."""
    with store.lock(layout, f"run-{store.digest_of(path)}", wait_s=2):
        stub = in_flight_at(layout, path)
        attempt = _measured_before(layout, stub, more=ask.more) if ask.more else _unfinished(layout, stub, again=ask.again)
        if attempt and attempt.plan.elsewhere:
            raise KbError(
                f"{attempt.folder}: a result measured elsewhere was being filed; give its files again with --record, or --again"
            )
        folder = repository_of(layout, target, given=ask.repository or (attempt.plan.repository if attempt else ""))
        repository = worktree.top_of(folder)
        without = worktree.own_folders(layout, repository)
        if attempt:
            if not ask.more:
                note(
                    f"going on with attempt {attempt.plan.number}: {len(attempt.samples)} samples are there; --again starts another"
                )
            plan = attempt.plan
        else:
            plan = _planned(layout, stub, target, ask=ask, repository=repository, without=without, now=now, note=note)
        commits: dict[Side, str] = {"change": plan.change, **({"parent": plan.parent} if plan.parent else {})}
        with _turn(layout, note), worktree.checked_out(layout, repository, commits, name=store.digest_of(path)) as folders:
            mark = os.fspath(layout.root / stub.page.field("run"))
            if end_marked(mark):
                note("ended processes that an earlier run of this experiment had left behind")
            if attempt is None:
                plan = _guarded(plan, folders, target)
                if not plan.parent:
                    plan = _held(layout, repository, plan, stub, target, note=note)
                attempt = begin(layout.root / stub.page.field("run"), plan)
            elif ask.more:
                attempt = extend(attempt, ask.more, started=now)
            if plan.parent:
                store.write(attempt.folder / "change.patch", worktree.patch_of(repository, plan.parent, change=plan.change))
            if plan.touched or plan.strayed:
                return finish(attempt, finished=now, checks="", touched=(), kept=())
            done = _measured(
                attempt, folders, inside=folder.relative_to(repository), repository=folder, mark=mark, now=now, progress=progress
            )
            kept = done.measurement.kept if done.measurement else ()
            if plan.artifacts and not done.problem("change") and not any(k.role == "artifact" for k in kept):
                note(
                    f"no file matches `artifacts: {', '.join(plan.artifacts)}` of the target: that a change is a no-op would not be seen"
                )
            return done


@contextlib.contextmanager
def _turn(layout: store.Layout, note: Callable[[str], None]) -> Iterator[None]:
    """The one turn to measure on this knowledge base; says so where another holds it, and where the machine is busy anyway."""
    with contextlib.ExitStack() as held:
        try:
            held.enter_context(store.lock(layout, "measure", wait_s=1))
        except KbError:
            note("another experiment is being measured here; waiting for the turn, for two at once would measure each other")
            held.enter_context(store.lock(layout, "measure", wait_s=_TURN_S))
        load, cores = os.getloadavg()[0], os.cpu_count() or 1
        if load > cores / 2:
            note(f"the machine is busy (load {load:.1f} on {cores} cores): expect noise")
        yield


def in_flight_at(layout: store.Layout, path: str) -> Stub:
    """The stub at a path. Raises KbError for a page that is filed, or that `kb experiment open` did not make."""
    stub = stub_at(layout, path)
    if stub.filed:
        raise KbError(f"{path}: is filed already; a further measurement is a new experiment: `kb experiment open`")
    if not stub.opened_by_kb:
        raise KbError(
            f"{path}: was not opened by `kb experiment open`, so nothing says what is tested and against what; open one"
        )
    return stub


def _unfinished(layout: store.Layout, stub: Stub, *, again: bool) -> Attempt | None:
    attempts = attempts_in(layout.root / stub.page.field("run"))
    last = attempts[-1] if attempts else None
    if last and last.measurement and not again:
        raise KbError(
            f"{stub.path}: attempt {last.plan.number} is measured; `kb experiment audit` and `close` come next, --more N adds repeats, --again measures another attempt"
        )
    if last is None or again or last.measurement:
        return None
    _on_its_host(stub, last)
    return last


def _measured_before(layout: store.Layout, stub: Stub, *, more: int) -> Attempt:
    """The finished attempt that repeats are added to. Raises KbError where it is none, or one that repeats tell nothing more of."""
    attempts = attempts_in(layout.root / stub.page.field("run"))
    last = attempts[-1] if attempts else None
    if last is None or last.measurement is None:
        raise KbError(
            f"{stub.path}: {'nothing is measured yet' if last is None else f'attempt {last.plan.number} was cut off'}, so there is nothing to add repeats to; `kb experiment run {stub.path}` comes first"
        )
    changed = tampered(last, stub.page.field("measured"))
    if changed:
        raise KbError(
            f"{last.folder}: {', '.join(changed[:4])} changed since the run was measured; restore the files, or measure --again"
        )
    if last.plan.elsewhere:
        raise KbError(
            f"{last.folder}: was measured elsewhere; file all its runs again, the new ones too, with --record and --again"
        )
    problem = last.problem("change") or last.problem("parent")
    if problem or last.plan.touched or last.plan.strayed or last.measurement.touched:
        raise KbError(
            f"{last.folder}: {problem or 'files were changed that no change may touch'}; repeats make no measurement of it: --again measures anew"
        )
    _on_its_host(stub, last)
    return last


def _on_its_host(stub: Stub, last: Attempt) -> None:
    host = dict(host_facts())["host"]
    if last.plan.hostname != host and not last.plan.elsewhere:
        raise KbError(
            f"{stub.path}: attempt {last.plan.number} was begun on {last.plan.hostname}, this is {host}: two machines make no pair; go on there, or --again"
        )


def _planned(
    layout: store.Layout,
    stub: Stub,
    target: Target,
    *,
    ask: Ask,
    repository: Path,
    without: tuple[str, ...],
    now: str,
    note: Callable[[str], None],
) -> Plan:
    """What to measure, before any worktree is made."""
    change = worktree.commit_of(repository, ask.commit or "HEAD")
    if not ask.commit:
        changed, untracked = worktree.dirt_of(repository, without=without)
        if ask.snapshot and (changed or untracked):
            change = worktree.snapshot(
                repository,
                name=stub.page.stem,
                without=without,
                message=f"{stub.page.title}\n\nSnapshot of a working tree, measured by kb for {stub.path}",
            )
            note(f"measuring the working tree as commit {change[:12]}, kept as refs/kb/{stub.page.stem}")
        elif changed:
            raise KbError(
                f"{repository} has uncommitted changes ({', '.join(changed[:4])}{' ...' if len(changed) > 4 else ''}); "
                "commit them, or --snapshot measures the tree as it stands, or --commit REF a commit without them"
            )
        elif untracked:
            note(
                f"{len(untracked)} untracked files ({', '.join(untracked[:3])}) are no part of what is measured; --snapshot takes them in"
            )
    parent = parent_commit(layout, stub, repository)
    edited = worktree.changed_paths(repository, parent, change=change, without=without) if parent else ()
    if parent and not worktree.builds_on(repository, parent, change=change):
        note(
            f"{change[:12]} does not build on its parent {parent[:12]}: what the parent has and the change has not counts as changed too; "
            "rebase it, or open with the --parent that it builds on"
        )
    if parent and not edited and not ask.set:
        raise KbError(
            f"{stub.path}: {change[:12]} holds the same code as its parent {parent[:12]}, and nothing is --set; commit the change (or --snapshot)"
        )
    attempts = attempts_in(layout.root / stub.page.field("run"))
    return Plan(
        1 + max((a.plan.number for a in attempts), default=0),
        stub.path,
        target.name,
        now,
        ask.metric or target.metric,
        os.fspath(repository),
        change,
        parent,
        ask.set,
        ask.build or target.build,
        ask.benchmark or target.benchmark,
        ask.checks or target.checks,
        ask.profile or target.profile,
        target.artifacts,
        target.protected,
        ask.repeats or target.repeats,
        ask.warmup,
        ask.timeout_s or target.timeout_s,
        edited,
        strayed=tuple(p for p in edited if target.allowed and not worktree.matches(p, target.allowed)),
        host=host_facts(),
    )


def parent_commit(layout: store.Layout, stub: Stub, repository: Path) -> str:
    """Commit of the parent: that of its page, or of the git reference; empty for a baseline."""
    parent = stub.page.field("parent")
    if not parent.endswith(".md"):
        return worktree.commit_of(repository, stub.page.field("parent_code") or parent) if parent else ""
    code = stub_at(layout, parent).page.field("code") or stub_at(layout, parent).page.field("commit")
    if not code:
        raise KbError(
            f"{stub.path}: its parent {parent} names no commit (`code:`); measure it first, or open with --parent and a git reference"
        )
    return worktree.commit_of(repository, code)


def _guarded(plan: Plan, folders: dict[Side, Path], target: Target) -> Plan:
    """The plan with commands that the repository's own convention supplies, and with the manifest of protected files held against the change."""
    first = folders.get("parent", folders["change"])
    benchmark = plan.benchmark or next((f"sh {name}" for name in BENCHMARKS if (first / name).is_file()), "")
    if not benchmark:
        raise KbError(
            f"no benchmark: say `benchmark:` in wiki/targets/{target.name}.md or --bench COMMAND, or commit {BENCHMARKS[1]}; it prints METRIC name=value lines"
        )
    checks = plan.checks or next((f"sh {name}" for name in CHECKS if (first / name).is_file()), "")
    scripts = tuple(s for c in (benchmark, checks) if (s := _script(c, first)) and not worktree.matches(s, target.allowed))
    protected = tuple(dict.fromkeys((*plan.protected, *scripts)))
    manifest, change = manifest_of(first, protected), manifest_of(folders["change"], protected)
    touched = sorted(p for p in manifest.keys() | change.keys() if manifest.get(p) != change.get(p))
    strayed = tuple(p for p in plan.strayed if p not in touched)
    return replace(
        plan,
        benchmark=benchmark,
        checks=checks,
        protected=protected,
        manifest=tuple(manifest.items()),
        touched=tuple(touched),
        strayed=strayed,
    )


def _held(layout: store.Layout, repository: Path, plan: Plan, stub: Stub, target: Target, *, note: Callable[[str], None]) -> Plan:
    """The plan of a baseline with its protected files held against those of the variant's last valid run, else against the target's base.

    The first measurement of a target without a base has nothing to be held against: its own manifest is what later ones are held to.
    """
    name, known = _last_valid(layout, stub)
    if known:
        alike = known.protected == plan.protected
        there = {p: digest for p, digest in known.manifest if alike or worktree.matches(p, plan.protected)}
        mine = dict(plan.manifest)
        touched = [p for p in (there.keys() | mine.keys() if alike else there) if there.get(p) != mine.get(p)]
    elif target.base:
        name, base = f"the base '{target.base}'", worktree.commit_of(repository, target.base)
        changed = worktree.changed_paths(repository, base, change=plan.change, without=worktree.own_folders(layout, repository))
        touched = [p for p in changed if worktree.matches(p, plan.protected)]
    else:
        return plan
    if touched:
        note(
            f"protected files differ from those of {name}: {', '.join(sorted(touched)[:5])}. Figures of two benchmarks do not compare: "
            f"if it was changed on purpose, move `base:` of the target page to it and open the baseline under another --variant"
        )
    return replace(plan, touched=tuple(sorted(touched)))


def _last_valid(layout: store.Layout, stub: Stub) -> tuple[str, Plan | None]:
    """The newest filed experiment of the same target and variant whose figures count, with the plan that tells its protected files."""
    for path in reversed(sealed_pages(layout, stub.facts.target)):
        other = stub_at(layout, path)
        if other.facts.variant != stub.facts.variant or other.facts.verdict.canonical in (Verdict.INVALID, Verdict.CRASH):
            continue
        plan = next((a.plan for a in reversed(attempts_in(layout.root / other.page.field("run"))) if a.plan.manifest), None)
        if plan and not plan.touched:
            return path, plan
    return "", None


def _script(command: str, folder: Path) -> str:
    """The first word of a command that is a file of the repository: the script that measures or checks."""
    try:
        words = shlex.split(command)
    except ValueError:
        words = command.split()
    return next(
        (w.removeprefix("./") for w in words if not w.startswith(("/", "-")) and ".." not in w and (folder / w).is_file()), ""
    )


def _measured(
    attempt: Attempt,
    folders: dict[Side, Path],
    *,
    inside: Path,
    repository: Path,
    mark: str,
    now: str,
    progress: Callable[[str], None],
) -> Attempt:
    plan = attempt.plan
    sides: tuple[Side, ...] = ("parent", "change") if plan.parent else ("change",)
    outs = {side: folders[side].parent / f"out-{side}" for side in sides}

    def ran(kind: str, side: Side, index: int, command: str, keep: int = 256 << 10) -> tuple[Sample, bytes]:
        env = {
            "KB_SIDE": side,
            "KB_OUT": os.fspath(outs[side]),
            "KB_REPOSITORY": os.fspath(repository),
            **(dict(plan.set) if side == "change" else {}),
        }
        with worktree.in_turn(folders[side]) as place:
            outcome = measured(command, folder=place / inside, mark=mark, timeout_s=plan.timeout_s, env=env, keep=keep)
        return _sample(kind, side, index, outcome, plan.metric), outcome.output

    for side in sides:
        if plan.build:
            sample, output = ran("build", side, 0, plan.build)
            filed = attempt.of("build", side)
            if not filed:
                attempt = add(attempt, sample, output)
            elif sample.problem and not filed[0].problem:
                # To end the attempt here would judge it without its checks, or with fewer repeats than were asked for.
                raise KbError(
                    f"{attempt.folder}: the build of the {side} went well before and fails now ({sample.problem}); mend that and run again, or --again measures anew"
                )
            if sample.problem:
                return _finished(attempt, folders, inside, outs, checks="", now=now)
    resumed = 1 + len(attempt.of("warmup", "change")) if attempt.of("bench", sides[0]) else 0
    # A worktree made anew is cold, and what an earlier one had built is gone: each side runs once more, uncounted.
    turns = [("warmup", resumed, side) for side in sides if resumed] + [
        (kind, i, side)
        for kind, count in (("warmup", plan.warmup), ("bench", plan.repeats))
        for i in range(1, count + 1)
        for side in sides
    ]
    for number, (kind, index, side) in enumerate(turns, 1):
        if any(s.index == index for s in attempt.of(kind, side)):
            continue
        if attempt.problem("change") or attempt.problem("parent"):
            break
        sample, output = ran(kind, side, index, plan.benchmark)
        attempt = add(attempt, sample, output)
        shown = sample.problem or " ".join(f"{n}={number_text(v)}" for n, v in sample.metrics[:3])
        progress(f"[{number}/{len(turns)}] {side}: {shown} ({sample.seconds:.1f} s)")
    checks = ""
    if not attempt.problem("change"):
        checks, attempt = _checked(attempt, ran, progress)
        for side in sides:
            if plan.profile and not attempt.of("profile", side) and not attempt.problem(side):
                progress(f"profile of the {side}")
                sample, output = ran("profile", side, 0, plan.profile, keep=_KEEP_PROFILE)
                attempt = add(attempt, sample, output)
    return _finished(attempt, folders, inside, outs, checks=checks, now=now)


def _sample(kind: str, side: Side, index: int, outcome: Outcome, metric: str) -> Sample:
    if kind in ("bench", "warmup"):
        problem = outcome.problem(metric)
    else:
        problem = outcome.problem() if outcome.exit or outcome.timed_out else ""
    return Sample(
        kind,
        side,
        index,
        outcome.exit,
        outcome.seconds,
        outcome.timed_out,
        outcome.metrics,
        outcome.refused,
        problem,
        "",
        outcome.output_bytes,
        repeated=outcome.repeated if kind == "bench" else (),
    )


def _checked(
    attempt: Attempt, ran: Callable[[str, Side, int, str], tuple[Sample, bytes]], progress: Callable[[str], None]
) -> tuple[str, Attempt]:
    if not attempt.plan.checks:
        return "", attempt
    if not attempt.of("checks", "change"):
        progress("checks of the change")
        sample, output = ran("checks", "change", 0, attempt.plan.checks)
        attempt = add(attempt, sample, output)
    return attempt.of("checks", "change")[0].problem or "passed", attempt


def _finished(
    attempt: Attempt, tops: dict[Side, Path], inside: Path, outs: dict[Side, Path], *, checks: str, now: str
) -> Attempt:
    """Keep what the run left, hold the protected files against the manifest once more, and file the last word."""
    plan = attempt.plan
    after = manifest_of(tops["change"], plan.protected)
    # A benchmark that writes into its own data does so on both sides; what tells the sides apart is the change's doing, in whichever folder.
    # A baseline has but one side: what it may not do is rewrite what was committed.
    usual = manifest_of(tops["parent"], plan.protected) if "parent" in tops else dict(plan.manifest)
    seen = usual.keys() | after.keys() if "parent" in tops else usual.keys()
    touched = sorted(p for p in seen if after.get(p) != usual.get(p))
    if attempt.earlier:
        # Repeats were added: what the attempt built, left and was told by its checks is on file already, and stays as it is.
        return finish(attempt, finished=now, checks=checks, touched=touched, kept=attempt.earlier.kept)
    kept = tuple(
        k
        for side in outs
        for k in (
            *kept_of(attempt, "artifact", side, tops[side], _named(tops[side], tops[side] / inside, plan.artifacts)),
            *kept_of(attempt, "dump", side, outs[side], sorted(f for f in outs[side].rglob("*") if f.is_file())),
        )
    )
    return finish(attempt, finished=now, checks=checks, touched=touched, kept=kept)


def _named(top: Path, folder: Path, patterns: tuple[str, ...]) -> list[Path]:
    """Files that the artifact patterns name, from the folder of the target or from the top of the repository."""
    return sorted({f for p in patterns for home in (folder, top) for f in home.glob(p) if f.is_file() and not f.is_symlink()})


def kept_of(attempt: Attempt, role: str, side: Side, home: Path, files: list[Path]) -> list[Kept]:
    """Files of a folder as the attempt keeps them: digests of all, copies of those that are not too large."""
    kept, room = [], _KEEP_SIDE
    for file in files:
        name, size = file.relative_to(home).as_posix(), file.stat().st_size
        data = file.read_bytes() if size <= _KEEP_FILE else b""
        digest = store.digest_of(data) if size <= _KEEP_FILE else _digest_of_large(file)
        copy = f"{role}-{side}/{name}" if size <= min(room, _KEEP_FILE) else ""
        if copy:
            store.write(attempt.folder / copy, data)
            room -= size
        kept.append(Kept("profile" if role == "dump" and "profile" in name.lower() else role, side, name, digest, size, copy))
    return kept


def _digest_of_large(file: Path) -> str:
    import hashlib

    with open(file, "rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()[:16]
