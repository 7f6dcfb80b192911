"""What one attempt is going to measure: commits, commands, and which code that is. Refuses uncommitted work by accident, and code measured before."""

import contextlib
import re
from dataclasses import dataclass, fields, replace
from pathlib import Path, PurePosixPath

from kb import KbError, store
from kb.experiments import GateClosed, worktree
from kb.experiments.attempt import (
    Attempt,
    attempts_of,
    decoded,
    home_of,
    last_attempt,
    refuse_tampered,
)
from kb.experiments.plan import Pairs, Plan
from kb.experiments.stub import Stub, stub_at
from kb.experiments.targets import Method, Target, repository_of
from kb.experiments.turns import Note
from kb.run.measure import host_facts
from kb.schema import Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeState:
    """Which state of which repository is measured, and as which attempt. `set` are variables for the change alone; `tree` is clean,
    or edited (with the edits of known files) or snapshot (with all that is in the working tree); `more` adds so many repeats of each side."""

    repository: str = ""
    commit: str = ""
    tree: str = "clean"
    metric: str = ""
    set: Pairs = ()
    again: bool = False
    more: int = 0


def standing_attempt(layout: store.Layout, stub: Stub, state: CodeState) -> Attempt | None:
    """The attempt to go on with or to add repeats to, None where another is to begin.

    Raises KbError where the newest is measured and nobody said what for, and where repeats would tell nothing more.
    """
    home_of(layout, stub)
    last = last_attempt(layout, stub)
    number = f"attempt {last.plan.number}" if last else ""
    problem = ""
    if state.more and (last is None or last.measurement is None):
        what = f"{number} was cut off" if last else "nothing is measured yet"
        problem = f"{what}, so there is nothing to add repeats to; `kb experiment run {stub.path}` comes first"
    elif last and state.more:
        refuse_tampered(last, stub)
        problem = _worth_no_more(last)
    elif last and last.measurement and not state.again:
        problem = f"{number} is measured; `kb experiment close` comes next, --more N adds repeats, --again measures another attempt"
    elif last and last.plan.elsewhere and not state.again:
        problem = f"{number}, measured elsewhere, was being filed; give its files again with --record, or --again"
    if last is None or state.again or problem:
        if problem:
            raise KbError(f"{stub.path}: {problem}")
        return None
    if dict(last.plan.host).get("host") not in (dict(host_facts())["host"], None):
        raise KbError(
            f"{stub.path}: {number} was begun on another machine: two machines make no pair; go on there, or --again"
        )
    return last


def _worth_no_more(last: Attempt) -> str:
    """Why repeats of a finished attempt tell nothing more."""
    done, plan = last.measurement, last.plan
    assert done
    if plan.elsewhere:
        return "was measured elsewhere; --again files its records with more runs as another attempt"
    touched = (*plan.touched, *plan.strayed, *done.touched, *done.forged)
    why = last.problem("change", "parent") or (f"it is invalid for {touched[0]}" if touched else "")
    why = why or (f"its checks: {done.checks}" if done.checks not in ("", "passed") else "")
    why = why or ("" if last.of("bench", "change") else "nothing was timed")
    return (
        why
        and f"attempt {plan.number} tells nothing more by repeats ({why}); --again measures anew"
    )


def plan_of(
    layout: store.Layout,
    stub: Stub,
    target: Target,
    *,
    state: CodeState,
    method: Method,
    repository: Path,
    now: str,
    note: Note,
) -> Plan:
    """What to measure, before any tree is made."""
    # Two doublings halve an interval; what is open then is dear, and its owner says how many more.
    most = max(method.repeats, method.most or 4 * method.repeats)
    method = replace(method, metric=state.metric or method.metric, most=most)
    without = worktree.own_folders(layout, repository)
    change = worktree.commit_of(repository, state.commit or "HEAD")
    if not state.commit:
        change = _committed(stub, repository, change, state=state, without=without, note=note)
    page = stub.page
    parent = parent_commit(
        layout, page.field("parent"), page.field("parent_code"), repository, name=stub.path
    )
    edited: tuple[str, ...] = ()
    if parent:
        edited = _edited(layout, target.name, stub, state, method, repository, parent, change)
        if not worktree.builds_on(repository, parent, change=change):
            note(
                f"{change[:12]} does not build on its parent {parent[:12]}: what the parent has and the change has not counts as changed too; "
                "rebase it, or open with the --parent that it builds on"
            )
    strayed = (p for p in edited if target.allowed and not worktree.matches(p, target.allowed))
    return Plan(
        **{f.name: getattr(method, f.name) for f in fields(Method)},
        number=1 + max((a.plan.number for a in attempts_of(layout, stub)), default=0),
        page=stub.path,
        target=target.name,
        started=now,
        repository=str(repository),
        change=change,
        parent=parent,
        set=state.set,
        changed=edited,
        strayed=tuple(strayed),
        host=host_facts(),
        keep=target.artifact_folder,
    )


def refuse_known_code(
    layout: store.Layout,
    target: Target,
    parent: str,
    code: str,
    *,
    variant: str,
    state: CodeState,
    method: Method,
) -> None:
    """Raises KbError, before a page is filed, where what stands to be measured is its parent's code, GateClosed where a run measured it."""
    folder = repository_of(layout, target, folder=state.repository)
    repository = worktree.top_of(folder)
    commit = parent_commit(layout, parent, code, repository, name=target.path or target.name)
    if commit:
        without, whole = worktree.own_folders(layout, repository), state.tree == "snapshot"
        change = (
            worktree.commit_of(repository, state.commit)
            if state.commit
            else worktree.tree_of(repository, without=without, untracked=whole)
        )
        _edited(layout, target.name, variant, state, method, repository, commit, change)


def _edited(
    layout: store.Layout,
    target: str,
    stub: Stub | str,
    state: CodeState,
    method: Method,
    repository: Path,
    parent: str,
    change: str,
) -> tuple[str, ...]:
    """Paths in which a change (a commit or a tree) differs from its parent; `stub` is its page, or the variant of one that is not filed yet.

    Raises KbError where there are none, GateClosed where another run of the variant measured exactly this on the same parent's code and has figures to tell.
    """
    without = worktree.own_folders(layout, repository)
    path, variant = ("", stub) if isinstance(stub, str) else (stub.path, stub.facts.variant)
    edited = worktree.changed_paths(repository, parent, change=change, without=without)
    if not edited and not state.set:
        then = f"; `kb experiment close {path} --overrule inconclusive --reason TEXT` gives it up"
        raise KbError(
            f"{path or target}: {change[:12]} holds the same code as its parent {parent[:12]}, and nothing is --set; make the change "
            f"and commit it (or --snapshot){then if path else '; no page was filed'}"
        )
    if state.tree == "edited" and not state.commit:
        _refuse_forgotten(repository, parent, change, without=without)
    wanted = Plan(
        number=0,
        page=path,
        target=target,
        started="",
        **{name: getattr(method, name) for name in _SAME_METHOD},
        change=change,
        parent=parent,
        set=state.set,
        changed=edited,
        host=host_facts(),
    )
    if not state.again and (twin := _twin_of(layout, repository, wanted, variant)):
        raise GateClosed(_known(*twin))
    return edited


def _refuse_forgotten(
    repository: Path, parent: str, change: str, *, without: tuple[str, ...]
) -> None:
    """Raises KbError where lines that the change adds name a file that git does not know: measured without it, it would crash for good."""
    patch = worktree.patch_of(repository, parent, change=change, without=without)
    words = _named_in(patch.decode("utf-8", "replace"))
    for file in map(PurePosixPath, worktree.dirt_of(repository, without=without)[1]):
        # Named by its path, or from a folder above it: `other/main.py` is no main.py.
        names = ("/".join(file.parts[n:]).lstrip(".") for n in range(len(file.parts)))
        if file.suffix and not words.isdisjoint(names):
            raise KbError(
                f"{repository}: the change names {file}, which git does not know, so it would be missing from what is measured; "
                "`git add` it, or --snapshot takes in all that is there"
            )


def _named_in(patch: str) -> set[str]:
    """What may be a file in the lines that a patch adds: their words, and the modules that they import."""
    added = [t[1:] for t in patch.splitlines() if t.startswith("+") and not t.startswith("+++ ")]
    words = {w.strip("./") for w in re.findall(r"\$\w+|[\w./-]+", "\n".join(added))}
    heads = [line.split()[:2] for line in added if line.lstrip().startswith(_IMPORTS)]
    modules = {head[-1].strip(".;,").replace(".", "/") for head in heads}
    return words | {f"{module}{suffix}" for module in modules for suffix in (".py", ".rs")}


_IMPORTS = ("import ", "from ", "mod ")
_SAME_METHOD = ("benchmark", "build", "checks", "metric")


def _twin_of(
    layout: store.Layout, repository: Path, wanted: Plan, variant: str
) -> tuple[Stub, Attempt] | None:
    """Another run of the variant that measured exactly what is wanted and has figures to tell."""
    without = worktree.own_folders(layout, repository)

    def same(one: str, other: str) -> bool:
        with contextlib.suppress(KbError):  # A commit that is no longer here is no twin.
            listed = worktree.changed_paths(repository, one, change=other, without=without)
            return one == other or not listed
        return False

    for file in (layout.sources / "runs" / wanted.target).rglob("plan.json"):
        try:
            plan = decoded(Plan, file)
        except KbError:
            continue  # A damaged record is told where its own page is judged.
        if not (_is_alike(plan, wanted) and (layout.root / plan.page).is_file()):
            continue
        twin = stub_at(layout, plan.page)
        last = last_attempt(layout, twin)
        if (
            last
            and last.measurement
            and last.plan.number == plan.number
            and not last.problem("change", "parent")
            and twin.facts.verdict.canonical != Verdict.INVALID
            and twin.facts.variant.lower() == variant.lower()
            and same(plan.change, wanted.change)
            and same(plan.parent, wanted.parent)
        ):
            return twin, last
    return None


def _is_alike(plan: Plan, wanted: Plan) -> bool:
    """Whether another page's plan measured here, by the same method, a change of the same paths under the same variables."""
    method = all(getattr(wanted, w) in ("", getattr(plan, w)) for w in _SAME_METHOD)
    host = dict(plan.host).get("host") == dict(wanted.host)["host"]
    change = (plan.changed, plan.set) == (wanted.changed, wanted.set)
    return plan.page != wanted.page and not plan.elsewhere and method and host and change


def _known(twin: Stub, last: Attempt) -> str:
    """That a run measured this code, what came out, and what may be done."""
    label = f"v{twin.page.number:03d} ({twin.path})"
    verdict = twin.facts.verdict.canonical or "still in flight"
    gain = twin.page.field("gain")
    more = (
        ""
        if _worth_no_more(last)
        else f" `kb experiment run {twin.path} --more N` adds samples to it;"
    )
    return (
        f"{label} measured exactly this code on the same parent's: {verdict}{f', gain {gain}' if gain else ''};{more} "
        "change the code or --set a variable; a page filed by `kb experiment open` measures it anew with `kb experiment run PAGE --again`"
    )


def _committed(
    stub: Stub,
    repository: Path,
    head: str,
    *,
    state: CodeState,
    without: tuple[str, ...],
    note: Note,
) -> str:
    """The commit of a working tree. Raises KbError where it is not what is committed, and nobody asked for a snapshot."""
    changed, untracked = worktree.dirt_of(repository, without=without)
    whole = state.tree == "snapshot"
    if state.tree != "clean" and (changed or whole and untracked):
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
