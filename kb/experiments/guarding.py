"""What a change may not touch: what measures and checks it, build files that it does not name, and of these the lines that build the benchmark."""

import re
import shlex
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path, PurePosixPath

from kb import KbError, store
from kb.experiments import worktree
from kb.experiments.plan import Plan
from kb.experiments.stub import Stub
from kb.experiments.targets import Target
from kb.experiments.turns import Note
from kb.page import text_of

# Commands of the autoresearch convention, taken where the target page names none.
_BENCHMARKS = (".auto/measure.sh", "autoresearch.sh")
_CHECKS = (".auto/checks.sh", "autoresearch.checks.sh")
# What builds a program wherever it stands at the top of a repository: protected, unless the target or the proposal says otherwise.
_BUILD_FILES = (
    *("Makefile", "makefile", "GNUmakefile", "CMakeLists.txt", "build.sh", "build.ninja"),
    *("meson.build", "setup.py", "build.rs"),
)


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
            f"no benchmark: say `benchmark:` in {target.path or 'the page of the target'} or --bench COMMAND, or commit {_BENCHMARKS[1]}; "
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


def held(layout: store.Layout, repository: Path, plan: Plan, target: Target, *, note: Note) -> Plan:
    """The plan of a baseline with its protected files held against the target's base, where it names one."""
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
