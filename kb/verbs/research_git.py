"""kb research git [bring]: read a range of a clone or a bundle as one would read a fork."""

from dataclasses import dataclass

from kb import KbError, store
from kb.research import git
from kb.research.forks import delta_of, fork_from, upstream_of
from kb.research.jobs import CACHE
from kb.verbs import Caller, Result, argument, flag, option
from kb.verbs.research_access import Keeping
from kb.verbs.research_forks import capture_fork, fork_result


@dataclass(frozen=True, slots=True, kw_only=True)
class ResearchGit(Keeping):
    """A..B: what B has that A lacks."""

    range: str = argument("two commits or branches, as git names them", metavar="A..B")
    path: str = argument("a clone (default: this folder)", default=".", metavar="PATH")
    bundle: str = option("a git bundle instead of a clone", metavar="FILE")
    dry_run: bool = flag("read only; capture nothing into sources/")


def run(request: ResearchGit, caller: Caller) -> Result:
    before, dots, head = request.range.partition("..")
    if not dots or not before or not head.strip("."):
        raise KbError(f"{request.range}: write A..B, as git does")
    head = head.lstrip(".")
    repository = (
        git.of_bundle(caller.file(request.bundle), store.own_state(caller.layout, CACHE))
        if request.bundle
        else git.of_folder(caller.file(request.path).resolve())
    )
    upstream = upstream_of(repository, before)
    delta = delta_of(repository, upstream.commit, request.range, repository.commit(head), ())
    fork = fork_from(delta, upstream)
    captured, left = False, []
    if not request.dry_run:
        name = f"git:{repository.local}"
        captured = capture_fork(request, caller, fork, delta, name, "git", left)
    return fork_result((fork,), int(captured), left)
