"""What one attempt is going to measure: commits, commands, variables. Refuses uncommitted work by accident, and code that is its parent's.

What a change may not touch: what measures and checks it, build files that it does not name, and of these the lines that build the benchmark.
"""

import re
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path, PurePosixPath

from kb import KbError, store
from kb.experiments import GateClosed, worktree
from kb.experiments.attempt import Attempt, attempts_of, last_attempt, refuse_tampered
from kb.experiments.plan import Pairs, Plan
from kb.experiments.proposal import ExperimentProposal
from kb.experiments.stub import Stub, measured_codes, stub_at
from kb.experiments.targets import Method, Target, repository_of
from kb.experiments.turns import Note
from kb.page import text_of
from kb.run.measure import host_facts
from kb.run.rules import OPEN_RULES
from kb.schema import Verdict
from kb.text import command_of, cut, shell_word
from kb.trail.handles import label_of

# Commands of the autoresearch convention, taken where the target page names none.
_BENCHMARKS = (".auto/measure.sh", "autoresearch.sh")
_CHECKS = (".auto/checks.sh", "autoresearch.checks.sh")
# What builds a program wherever it stands at the top of a repository: protected, unless the target or the proposal says otherwise.
_BUILD_FILES = (
    *("Makefile", "makefile", "GNUmakefile", "CMakeLists.txt", "build.sh", "build.ninja"),
    *("meson.build", "setup.py", "build.rs"),
)


# A program that asks for more would hold the turn to measure for ever.
_MOST_RUNS = 10_000


@dataclass(frozen=True, kw_only=True)
class CodeChoice:
    """Which code is measured, and how often; what is empty is as the target page says."""

    commit: str = ""
    snapshot: bool = False
    set: tuple[str, ...] = ()
    repeats: int | None = None
    most: int | None = None

    def __post_init__(self) -> None:
        for name in ("repeats", "most", "more"):
            count = getattr(self, name, None)
            if count is not None and not 1 <= count <= _MOST_RUNS:
                raise KbError(f"--{name} {count}: give a whole number from 1 to {_MOST_RUNS}")


@dataclass(frozen=True, kw_only=True)
class RunChoice(CodeChoice):
    """`edited` takes uncommitted edits of known files, `more` adds so many repeats to what is measured, `again` measures anew."""

    edited: bool = False
    again: bool = False
    more: int | None = None

    @property
    def variables(self) -> Pairs:
        """Variables that the change alone sees."""
        pairs = [text.partition("=") for text in self.set]
        for name, sign, _ in pairs:
            if not sign or not name.isidentifier():
                raise KbError(f"--set {name}: write NAME=VALUE")
        return tuple((name, value) for name, _, value in pairs)


def standing_attempt(layout: store.Layout, stub: Stub, choice: RunChoice) -> Attempt | None:
    """The attempt to go on with or to add repeats to, None where another is to begin.

    Raises KbError where the newest is measured and nobody said what for, and where repeats would tell nothing more.
    """
    last = last_attempt(layout, stub)
    if choice.again or not (last or choice.more):
        return None
    problem = ""
    if not last or choice.more and not last.measurement:
        problem = f"nothing is measured to its end, so there is nothing to add repeats to; `{command_of('experiment run', stub.path)}` comes first"
    elif last.measurement and not choice.more:
        problem = "the newest attempt is measured; `kb experiment close` comes next, --more N adds repeats, --again measures another attempt"
    elif last.plan.elsewhere:
        problem = "it was measured elsewhere; give its files again with --record, or --again"
    elif dict(last.plan.host).get("host") != dict(host_facts())["host"]:
        problem = (
            "it was begun on another machine: two machines make no pair; go on there, or --again"
        )
    elif choice.more:
        refuse_tampered(last, stub)
        done = last.measurement
        spoilt = (last.problem("change", "parent"), *last.plan.touched, *last.plan.strayed)
        failed = done.checks if done.checks != "passed" else ""
        why = next(filter(None, (*spoilt, *done.touched, *done.forged, failed)), "")
        if why or not last.of("bench", "change"):
            problem = (
                f"repeats tell nothing more ({why or 'nothing was timed'}); --again measures anew"
            )
    if problem:
        raise KbError(f"{stub.path}: {problem}")
    return last


def plan_of(
    layout: store.Layout,
    stub: Stub,
    target: Target,
    *,
    choice: RunChoice,
    repository: Path,
    now: str,
    note: Note,
) -> Plan:
    """What to measure, before any tree is made."""
    without = worktree.own_folders(layout, repository)
    change = worktree.commit_of(repository, choice.commit or "HEAD")
    if not choice.commit:
        change = _committed(stub, repository, change, choice=choice, without=without, note=note)
    page = stub.page
    parent = parent_commit(
        layout, page.field("parent"), page.field("parent_code"), repository, name=stub.path
    )
    edited: tuple[str, ...] = ()
    if parent:
        then = f"`{command_of('experiment close', stub.path)} --overrule inconclusive --reason TEXT` gives it up"
        edited = _edited(repository, parent, change, choice=choice, without=without, then=then)
    if parent and not choice.again:
        then = f"`{command_of('experiment run', stub.path)} --again` measures it all the same"
        proposal = ExperimentProposal(variant=stub.facts.variant, differs=page.field("differs"))
        _refuse_measured(
            layout, target, choice, proposal, repository=repository, change=change, then=then
        )
    strayed = (p for p in edited if target.allowed and not worktree.matches(p, target.allowed))
    repeats = choice.repeats or target.repeats
    # Two doublings halve an interval; what is open then is dear, and its owner says how many more.
    most = max(repeats, choice.most or target.most or 4 * repeats)
    method = {f.name: getattr(target, f.name) for f in fields(Method)}
    return Plan(
        **method | {"repeats": repeats, "most": most},
        number=1 + max((a.plan.number for a in attempts_of(layout, stub)), default=0),
        page=stub.path,
        target=target.name,
        started=now,
        repository=str(repository),
        change=change,
        parent=parent,
        set=choice.variables,
        changed=edited,
        strayed=tuple(strayed),
        host=host_facts(),
        keep=target.artifact_folder,
    )


def refuse_unchanged(
    layout: store.Layout,
    target: Target,
    choice: RunChoice,
    *,
    proposal: ExperimentProposal,
    code: str,
) -> None:
    """Raises KbError, before a page is filed, where what stands to be measured is its parent's code, or that of a run that is decided."""
    repository = worktree.top_of(repository_of(layout, target))
    name = target.path or target.name
    commit = parent_commit(layout, proposal.parent, code, repository, name=name)
    without = worktree.own_folders(layout, repository)
    if commit and choice.commit:
        change = worktree.commit_of(repository, choice.commit)
    elif commit:
        change = worktree.tree_of(repository, without=without, untracked=choice.snapshot)
    else:
        return
    then = "no page was filed"
    _edited(repository, commit, change, choice=choice, without=without, then=then)
    _refuse_measured(
        layout, target, choice, proposal, repository=repository, change=change, then=then
    )


# Rules by which a run that is neither supported nor refuted is over all the same: what the same code would come to again.
_OVER = ("tie", "no-op", "checks-failed", "parity-broken")


def _refuse_measured(
    layout: store.Layout,
    target: Target,
    choice: RunChoice,
    proposal: ExperimentProposal,
    *,
    repository: Path,
    change: str,
    then: str,
) -> None:
    """Raises GateClosed where a run of the target, decided or one that more samples may decide, measured the same code at the same variant,
    under the same variables and by the same benchmark, and the proposal does not name it to say what differs.
    """
    codes = measured_codes(layout, target.name)
    without = worktree.own_folders(layout, repository)
    same = worktree.same_code(repository, change, codes.values(), without=without)
    for path in (p for p, code in reversed(codes.items()) if code in same):
        stub = stub_at(layout, path)
        attempt = last_attempt(layout, stub)
        facts, rule = stub.facts, stub.page.field("rule")
        verdict = facts.verdict.canonical
        timed = attempt and attempt.of("bench", "change")
        decided = verdict in (Verdict.SUPPORTED, Verdict.REFUTED, Verdict.CRASH) or rule in _OVER
        is_open = timed and rule in OPEN_RULES and verdict is Verdict.INCONCLUSIVE
        benchmark = attempt.plan.benchmark if attempt and target.benchmark else target.benchmark
        how = attempt.plan.set if attempt else (), benchmark, facts.variant.lower()
        alike = how == (choice.variables, target.benchmark, proposal.variant.lower())
        if (decided or is_open) and alike and label_of(path) not in proposal.differs:
            because = (
                f": {cut(facts.because.removeprefix(str(verdict).capitalize()).lstrip(': '), 160)}"
                if facts.because
                else ""
            )
            more = (
                f"`{command_of('experiment run', path)} --more N` adds repeats to that run{', which may decide it' * bool(is_open)}; or "
                if timed
                else "or "
            )
            raise GateClosed(
                f"{repository}: {change[:12]} holds the code that {path} measured ({verdict}{because}). Make another change; "
                f"{more}say what differs (the data, the machine, what it runs "
                f"beside): --differs {shell_word(f'unlike {stub.page.stem}, ...')}; {then}"
            )


def _edited(
    repository: Path,
    parent: str,
    change: str,
    *,
    choice: RunChoice,
    without: tuple[str, ...],
    then: str,
) -> tuple[str, ...]:
    """Paths in which a change (a commit or a tree) differs from its parent.

    Raises KbError where there are none, where it does not stand on that parent, and where a line that it adds names a file that git does not know: measured without it, it would crash for good.
    """
    edited = worktree.changed_paths(repository, parent, change=change, without=without)
    if not (choice.variables or edited):
        raise KbError(
            f"{repository}: {change[:12]} holds the same code as its parent {parent[:12]}, and nothing is --set; make the change "
            f"and commit it (or --snapshot); {then}"
        )
    tip = worktree.commit_of(repository, choice.commit or "HEAD")
    if not worktree.stands_on(repository, parent, change=change, tip=tip, without=without):
        raise KbError(
            f"{repository}: {tip[:12]} does not hold its parent {parent[:12]}, so more than the change would be compared; make the "
            f"change on what the parent measured (`git checkout {parent[:12]}`, or `git merge` it), or say what it stands on: --parent REF; {then}"
        )
    if choice.edited and not (choice.commit or choice.snapshot):
        patch = worktree.patch_of(repository, parent, change=change, without=without)
        added = re.findall(r"^\+(?!\+\+ )(.*)", patch.decode("utf-8", "replace"), re.MULTILINE)
        missing = _named(worktree.dirt_of(repository, without=without)[1], "\n".join(added))
        if missing:
            raise KbError(
                f"{repository}: the change names {missing}, which git does not know, so it would be missing from what is measured; "
                "`git add` it, or --snapshot takes in all that is there"
            )
    return edited


def _named(files: Sequence[str], text: str) -> str:
    """The first file with a suffix that a text names by its path, or from a folder above it, or imports; `other/main.py` is no `main.py`."""
    words = {word.strip("./") for word in re.findall(r"\$\w+|[\w./-]+", text)} | {
        f"{module.replace('.', '/')}.py"
        for module in re.findall(r"^\s*(?:import|from)\s+\.*([\w.]+)", text, re.MULTILINE)
    }
    for file in map(PurePosixPath, files):
        names = {"/".join(file.parts[n:]) for n in range(len(file.parts))}
        if file.suffix and names & words:
            return str(file)
    return ""


def _committed(
    stub: Stub,
    repository: Path,
    head: str,
    *,
    choice: RunChoice,
    without: tuple[str, ...],
    note: Note,
) -> str:
    """The commit of a working tree. Raises KbError where it is not what is committed, and nobody asked for its edits."""
    changed, untracked = worktree.dirt_of(repository, without=without)
    whole = choice.snapshot
    if whole and untracked or changed and (whole or choice.edited):
        message = f"{stub.page.title}\n\nSnapshot of a working tree, measured by kb for {stub.path}"
        head = worktree.snapshot(repository, without=without, message=message, untracked=whole)
        note(f"measuring the working tree as commit {head[:12]}, kept as refs/kb/{head}")
    elif changed:
        raise KbError(
            f"{repository} has uncommitted changes ({', '.join(changed[:4])}{' ...' if len(changed) > 4 else ''}); "
            "commit them, or --snapshot measures the tree as it stands, or --commit REF a commit without them"
        )
    if untracked and not whole:
        note(
            f"{len(untracked)} untracked files ({', '.join(untracked[:3])}) are no part of what is measured; --snapshot takes them in"
        )
    return head


def parent_commit(
    layout: store.Layout, parent: str, code: str, repository: Path, *, name: str
) -> str:
    """Commit of the parent: that of its page, or of the git reference; empty for a baseline."""
    code = code or parent
    if parent.endswith(".md"):
        page = stub_at(layout, parent).page
        code = page.field("code") or page.field("commit")
        if not code:
            raise KbError(
                f"{name}: its parent {parent} names no commit (`code:`); measure it first, or open with --parent and a git reference"
            )
    return worktree.commit_of(repository, code) if parent else ""


def guarded(plan: Plan, trees: dict[str, Path], stub: Stub, target: Target) -> Plan:
    """The plan with commands that the repository's own convention supplies, and with the manifest of protected files held against the change."""
    first, change = trees.get("parent", trees["change"]), trees["change"]
    scripts = {
        names: (f"sh {n}" for n in names if (first / n).is_file())
        for names in (_BENCHMARKS, _CHECKS)
    }
    benchmark = plan.benchmark or next(scripts[_BENCHMARKS], "")
    checks = plan.checks or next(scripts[_CHECKS], "")
    if not benchmark:
        raise KbError(
            f"no benchmark: say `benchmark:` in {target.path or 'the page of the target'} or commit {_BENCHMARKS[1]}; "
            "it prints METRIC name=value lines"
        )
    measuring = (*_script(benchmark, first), *_script(checks, first))
    building = (*_script(plan.build, first), *_BUILD_FILES)
    text = text_of(stub.data)
    free = [f for f in (*measuring, *building) if not worktree.matches(f, target.allowed)]
    named = [f for f in free if f not in measuring and f.rpartition("/")[2] in text]
    own = [f for f in free if f not in named]
    there = (f for f in own if (first / f).is_file())
    protected = tuple(dict.fromkeys((*plan.protected, *there)))
    manifest = worktree.manifest_of(first, protected)
    # A build may write such files itself, so one that the parent lacks is looked for before anything is built.
    touched = worktree.differing(manifest, worktree.manifest_of(change, (*protected, *own)))
    touched += worktree.differing(*(_steps(tree, named, manifest) for tree in (first, change)))
    return replace(
        plan,
        benchmark=benchmark,
        checks=checks,
        protected=protected,
        manifest=tuple(manifest.items()),
        touched=touched,
        strayed=tuple(p for p in plan.strayed if p not in touched),
    )


def _steps(folder: Path, files: Iterable[str], protected: Iterable[str]) -> dict[str, list[str]]:
    """Of build files that a change may edit, the lines that name a protected file or what is made of it: those it may not."""
    stems = [s for name in protected if not (s := PurePosixPath(name).stem).isdigit()]
    # Whole names: `microbench.o` is made of something else, `-obench.o` is the benchmark.
    naming = re.compile(rf"(?<![\w.-])(?:-o)?(?:{'|'.join(map(re.escape, stems)) or '(?!)'})\.")
    texts = {
        f: store.bytes_of(folder / f).decode("utf-8", "replace")
        for f in files
        if (folder / f).is_file()
    }
    steps = {f: [t for t in text.splitlines() if naming.search(t)] for f, text in texts.items()}
    return {f: lines for f, lines in steps.items() if lines}


def _script(command: str, folder: Path) -> tuple[str, ...]:
    """The first word of a command that is a file of the repository: the script that measures, checks or builds."""
    try:
        words = shlex.split(command)
    except ValueError:
        words = command.split()
    inside = (w.removeprefix("./") for w in words if not w.startswith(("/", "-")) and ".." not in w)
    return tuple(w for w in inside if (folder / w).is_file())[:1]
