"""What one attempt is going to measure: commits, commands, and the files that the change may not touch. Refuses uncommitted work by accident."""

import shlex
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from kb import KbError, store
from kb.experiments import worktree
from kb.experiments.attempt import Attempt, attempts_in, tampered
from kb.experiments.plan import Pairs, Plan
from kb.experiments.stub import Stub, sealed_pages, stub_at
from kb.experiments.targets import BENCHMARKS, BUILD_FILES, CHECKS, Target
from kb.page import text_of
from kb.run.measure import host_facts
from kb.schema import Verdict

Note = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Ask:
    """What a user says beside the target page; empty and 0 mean "as the target page says". `set` are variables for the change alone.
    `snapshot` measures the working tree with all that is in it, `edited` with the edits of known files.

    `most` bounds the repeats that are added until the verdict is decided; `more` adds so many of each side to the attempt that is measured.
    """

    repository: str = ""
    commit: str = ""
    snapshot: bool = False
    edited: bool = False
    benchmark: str = ""
    checks: str = ""
    profile: str = ""
    build: str = ""
    metric: str = ""
    repeats: int = 0
    warmup: int | None = None
    timeout_s: float = 0.0
    set: Pairs = ()
    again: bool = False
    more: int = 0
    most: int = 0


def stub_in_flight(layout: store.Layout, path: str, *, filed: bool = False) -> Stub:
    """The stub at a path. Raises KbError for a page that `kb experiment open` did not make, and, unless `filed` ones do, for a filed one."""
    stub = stub_at(layout, path)
    if stub.filed and not (filed and stub.opened_by_kb):
        raise KbError(
            f"{path}: is filed already; `--more N` and `audit` complete its evidence and `close` adds a dated note, "
            "anything else is a new experiment: `kb experiment open`"
        )
    if not stub.opened_by_kb:
        raise KbError(
            f"{path}: was not opened by `kb experiment open`, so nothing says what is tested and against what; open one"
        )
    return stub


def unfinished(layout: store.Layout, stub: Stub, *, again: bool) -> Attempt | None:
    """The attempt to go on with, None where another is to begin. Raises KbError where the newest is measured and nobody said `again`."""
    last = next(reversed(attempts_in(layout, stub.run)), None)
    if last and last.measurement and not again:
        raise KbError(
            f"{stub.path}: attempt {last.plan.number} is measured; `kb experiment close` comes next, --more N adds repeats, "
            "--again measures another attempt"
        )
    if last is None or again:
        return None
    _on_its_host(stub, last)
    return last


def measured_before(layout: store.Layout, stub: Stub) -> Attempt:
    """The finished attempt that repeats are added to. Raises KbError where it is none, or one that repeats tell nothing more of."""
    last = next(reversed(attempts_in(layout, stub.run)), None)
    if last is None or last.measurement is None:
        what = (
            "nothing is measured yet" if last is None else f"attempt {last.plan.number} was cut off"
        )
        raise KbError(
            f"{stub.path}: {what}, so there is nothing to add repeats to; `kb experiment run {stub.path}` comes first"
        )
    untouched(last, stub)
    if last.plan.elsewhere:
        raise KbError(
            f"{stub.path}: was measured elsewhere; --again files its records with more runs as another attempt"
        )
    problem = last.problem("change") or last.problem("parent")
    done = last.measurement
    touched = (*last.plan.touched, *last.plan.strayed, *done.touched, *done.forged)
    if problem or touched or done.checks not in ("", "passed") or not last.of("bench", "change"):
        why = problem or (
            f"it is invalid for {touched[0]}"
            if touched
            else f"its checks: {done.checks}"
            if done.checks
            else "nothing was timed"
        )
        raise KbError(
            f"{stub.path}: attempt {last.plan.number} tells nothing more by repeats ({why}); --again measures anew"
        )
    _on_its_host(stub, last)
    return last


def untouched(attempt: Attempt, stub: Stub) -> None:
    """Raises KbError where files of a finished attempt are no longer what was measured."""
    changed = tampered(attempt, stub.page.field("measured"))
    if changed:
        raise KbError(
            f"{attempt.folder}: {', '.join(changed[:4])} changed since the run was measured; restore the files, or measure --again"
        )


def _on_its_host(stub: Stub, last: Attempt) -> None:
    host = dict(host_facts())["host"]
    if last.plan.hostname != host and not last.plan.elsewhere:
        raise KbError(
            f"{stub.path}: attempt {last.plan.number} was begun on {last.plan.hostname}, this is {host}: two machines make no pair; "
            "go on there, or --again"
        )


def plan_of(
    layout: store.Layout,
    stub: Stub,
    target: Target,
    *,
    ask: Ask,
    repository: Path,
    now: str,
    note: Note,
) -> Plan:
    """What to measure, before any tree is made."""
    without = worktree.own_folders(layout, repository)
    change = worktree.commit_of(repository, ask.commit or "HEAD")
    if not ask.commit:
        change = _committed(stub, repository, change, ask=ask, without=without, note=note)
    parent = parent_commit(layout, stub, repository)
    edited = (
        worktree.changed_paths(repository, parent, change=change, without=without) if parent else ()
    )
    if parent and not worktree.builds_on(repository, parent, change=change):
        note(
            f"{change[:12]} does not build on its parent {parent[:12]}: what the parent has and the change has not counts as changed too; "
            "rebase it, or open with the --parent that it builds on"
        )
    if parent and not edited and not ask.set:
        raise KbError(
            f"{stub.path}: {change[:12]} holds the same code as its parent {parent[:12]}, and nothing is --set; commit the change (or --snapshot)"
        )
    repeats = ask.repeats or target.repeats
    return Plan(
        1 + max((a.plan.number for a in attempts_in(layout, stub.run)), default=0),
        stub.path,
        target.name,
        now,
        metric=ask.metric or target.metric,
        repository=str(repository),
        change=change,
        parent=parent,
        set=ask.set,
        build=ask.build or target.build,
        benchmark=ask.benchmark or target.benchmark,
        checks=ask.checks or target.checks,
        profile=ask.profile or target.profile,
        artifacts=target.artifacts,
        protected=target.protected,
        repeats=repeats,
        most=max(repeats, ask.most or target.most or 4 * repeats),
        warmup=target.warmup if ask.warmup is None else ask.warmup,
        timeout_s=ask.timeout_s or target.timeout_s,
        changed=edited,
        strayed=tuple(
            p for p in edited if target.allowed and not worktree.matches(p, target.allowed)
        ),
        host=host_facts(),
        keep=target.artifact_folder,
    )


def _committed(
    stub: Stub, repository: Path, head: str, *, ask: Ask, without: tuple[str, ...], note: Note
) -> str:
    """The commit of a working tree. Raises KbError where it is not what is committed, and nobody asked for a snapshot."""
    changed, untracked = worktree.dirt_of(repository, without=without)
    taken = (changed or untracked) if ask.snapshot else changed if ask.edited else ()
    if taken:
        message = f"{stub.page.title}\n\nSnapshot of a working tree, measured by kb for {stub.path}"
        head = worktree.snapshot(
            repository, without=without, message=message, untracked=ask.snapshot
        )
        note(f"measuring the working tree as commit {head[:12]}, kept as refs/kb/{head}")
        changed, untracked = (), () if ask.snapshot else untracked
    if changed:
        raise KbError(
            f"{repository} has uncommitted changes ({', '.join(changed[:4])}{' ...' if len(changed) > 4 else ''}); "
            "commit them, or --snapshot measures the tree as it stands, or --commit REF a commit without them"
        )
    if untracked:
        note(
            f"{len(untracked)} untracked files ({', '.join(untracked[:3])}) are no part of what is measured; --snapshot takes them in"
        )
    return head


def parent_commit(layout: store.Layout, stub: Stub, repository: Path) -> str:
    """Commit of the parent: that of its page, or of the git reference; empty for a baseline."""
    parent = stub.page.field("parent")
    if not parent.endswith(".md"):
        return (
            worktree.commit_of(repository, stub.page.field("parent_code") or parent)
            if parent
            else ""
        )
    page = stub_at(layout, parent).page
    code = page.field("code") or page.field("commit")
    if not code:
        raise KbError(
            f"{stub.path}: its parent {parent} names no commit (`code:`); measure it first, or open with --parent and a git reference"
        )
    return worktree.commit_of(repository, code)


def guarded(plan: Plan, trees: dict[str, Path], stub: Stub, target: Target) -> Plan:
    """The plan with commands that the repository's own convention supplies, and with the manifest of protected files held against the change."""
    first = trees.get("parent", trees["change"])
    benchmark = plan.benchmark or next(
        (f"sh {name}" for name in BENCHMARKS if (first / name).is_file()), ""
    )
    if not benchmark:
        raise KbError(
            f"no benchmark: say `benchmark:` in wiki/targets/{target.name}.md or --bench COMMAND, or commit {BENCHMARKS[1]}; "
            "it prints METRIC name=value lines"
        )
    checks = plan.checks or next((f"sh {name}" for name in CHECKS if (first / name).is_file()), "")
    scripts = (
        s
        for c in (benchmark, checks)
        for s in _scripts(c, first)
        if not worktree.matches(s, target.allowed)
    )
    protected = tuple(
        dict.fromkeys((*plan.protected, *scripts, *_build_files(plan, first, stub, target)))
    )
    manifest, change = (
        worktree.manifest_of(first, protected),
        worktree.manifest_of(trees["change"], protected),
    )
    touched = sorted(p for p in manifest.keys() | change.keys() if manifest.get(p) != change.get(p))
    return replace(
        plan,
        benchmark=benchmark,
        checks=checks,
        protected=protected,
        manifest=tuple(manifest.items()),
        touched=tuple(touched),
        strayed=tuple(p for p in plan.strayed if p not in touched),
    )


def _scripts(command: str, folder: Path) -> tuple[str, ...]:
    """The first word of a command that is a file of the repository: the script that measures, checks or builds."""
    try:
        words = shlex.split(command)
    except ValueError:
        words = command.split()
    inside = (w.removeprefix("./") for w in words if not w.startswith(("/", "-")) and ".." not in w)
    return tuple(w for w in inside if (folder / w).is_file())[:1]


def _build_files(plan: Plan, first: Path, stub: Stub, target: Target) -> tuple[str, ...]:
    """What builds the program, unless the target allows it to change or the page says that this change edits it."""
    text = text_of(stub.data)
    files = (
        *_scripts(plan.build, first),
        *(name for name in BUILD_FILES if (first / name).is_file()),
    )
    return tuple(
        f
        for f in files
        if not worktree.matches(f, target.allowed) and f.rpartition("/")[2] not in text
    )


def held(
    layout: store.Layout, repository: Path, plan: Plan, stub: Stub, target: Target, *, note: Note
) -> Plan:
    """The plan of a baseline with its protected files held against those of the variant's last valid run, else against the target's base.

    The first measurement of a target without a base has nothing to be held against: its own manifest is what later ones are held to.
    """
    name, known = _last_valid(layout, stub)
    if known:
        alike = known.protected == plan.protected
        there = {
            p: digest
            for p, digest in known.manifest
            if alike or worktree.matches(p, plan.protected)
        }
        mine = dict(plan.manifest)
        touched = [
            p
            for p in (there.keys() | mine.keys() if alike else there)
            if there.get(p) != mine.get(p)
        ]
    elif target.base:
        name, base = f"the base '{target.base}'", worktree.commit_of(repository, target.base)
        changed = worktree.changed_paths(
            repository, base, change=plan.change, without=worktree.own_folders(layout, repository)
        )
        touched = [p for p in changed if worktree.matches(p, plan.protected)]
    else:
        return plan
    if touched:
        note(
            f"protected files differ from those of {name}: {', '.join(sorted(touched)[:5])}. Figures of two benchmarks do not compare: "
            "if it was changed on purpose, move `base:` of the target page to it and open the baseline under another --variant"
        )
    return replace(plan, touched=tuple(sorted(touched)))


def _last_valid(layout: store.Layout, stub: Stub) -> tuple[str, Plan | None]:
    """The newest filed experiment of the same target and variant whose figures count, with the plan that tells its protected files."""
    for path in reversed(sealed_pages(layout, stub.facts.target)):
        other = stub_at(layout, path)
        if other.facts.variant != stub.facts.variant or other.facts.verdict.canonical in (
            Verdict.INVALID,
            Verdict.CRASH,
        ):
            continue
        plan = next(
            (a.plan for a in reversed(attempts_in(layout, other.run)) if a.plan.manifest), None
        )
        if plan and not plan.touched:
            return path, plan
    return "", None
