"""kb research forks [bring]: rank forks and pull requests by what they optimize."""

from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from kb import KbError, store
from kb.research import git
from kb.research.forks import (
    Delta,
    Fork,
    deltas_of,
    fork_from,
    fork_job,
    matrix_of,
    quoted_matrix,
    ranked,
    upstream_of,
)
from kb.research.github import Forge
from kb.research.jobs import CACHE, JobOutcome, perform, record
from kb.research.upstream import Upstream
from kb.text import head_of, one_line
from kb.verbs import FINDINGS, FINE, Caller, Result, argument, flag, option
from kb.verbs.research_access import Keeping, Reach, session_of

_SHOWN = 30
# Heads asked for at once: one token has one limit, however many ask.
_AT_ONCE = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class ResearchForks(Reach, Keeping):
    """A repository of GitHub, or a bundle of one that cannot be reached."""

    repository: str = argument("OWNER/REPO of GitHub", default="", metavar="OWNER/REPO")
    bundle: str = option("a git bundle that holds upstream and heads instead", metavar="FILE")
    upstream: str = option(
        "upstream's commit or branch in the bundle (default: its HEAD)", metavar="REF"
    )
    most: int = option("forks, and pull requests, to compare at most", default=30, metavar="N")
    dry_run: bool = flag("rank only; capture nothing into sources/")
    api: str = option(
        "base address of the REST interface", default="https://api.github.com", metavar="URL"
    )


def fork_result(forks: Sequence[Fork], captured: int, left: Sequence[str] = ()) -> Result:
    """Forks, best first, and the matrix of what exists where; a finding where heads could not be read."""
    lines = []
    for fork in forks:
        lacking = f"{len(fork.not_upstream)} names not upstream"
        state = "merged" if fork.merged else "upstream has it" if fork.in_upstream else lacking
        head = f"{fork.score:.2f}  {fork.fork}  {fork.kind}  {state}  {fork.title[:80]}"
        lists = {"techniques": fork.techniques, "not upstream": fork.not_upstream}
        parts = (f"      {label}: {one_line(', '.join(v[:6]))}" for label, v in lists.items() if v)
        lines.append("\n".join([one_line(head), *parts]))
    lines = head_of(lines, _SHOWN, "… and {} more: --format json")
    lines += [f"not read: {one_line(reason)}" for reason in left]
    table = quoted_matrix(matrix_of([f for f in forks if f.optimization])[:20])
    lines += ["", "Exists in a fork, not elsewhere:", "", table]
    lines.append(f"{len(forks)} heads read, {captured} captured new")
    return Result(forks, "\n".join(lines), FINDINGS if left else FINE)


def run(request: ResearchForks, caller: Caller) -> Result:
    if bool(request.repository) == bool(request.bundle):
        raise KbError("give OWNER/REPO, or --bundle FILE")
    return _of_bundle(request, caller) if request.bundle else _of_forge(request, caller)


def _of_bundle(request: ResearchForks, caller: Caller) -> Result:
    repository = git.of_bundle(caller.file(request.bundle), store.own_state(caller.layout, CACHE))
    upstream = upstream_of(repository, request.upstream)
    heads = {
        name: commit
        for name, commit in repository.heads().items()
        if name not in (request.upstream, "upstream/HEAD")
    }
    deltas, name = deltas_of(repository, upstream, heads), f"bundle:{repository.local}"
    return _result(request, caller, upstream, deltas, len(heads), name, [])


def _of_forge(request: ResearchForks, caller: Caller) -> Result:
    left: list[str] = []
    with session_of(request, caller, api=request.api) as session:
        forge = Forge(session, request.repository, api=request.api)
        upstream, heads = forge.upstream(), forge.heads(most=request.most)

        def delta(head):
            try:
                return forge.delta(head)
            except KbError as error:
                left.append(str(error))
                key = f"{request.repository}#{head.name}"
                failed = JobOutcome("fork", key, "failed", note=str(error))
                record(caller.layout, [failed])
                caller.talk(f"not read: {error}")
                return None

        with ThreadPoolExecutor(_AT_ONCE) as pool:
            deltas = (d for d in pool.map(delta, heads) if d)
            name = f"https://github.com/{request.repository}"
            return _result(request, caller, upstream, deltas, len(heads), name, left)


def _result(
    request: ResearchForks,
    caller: Caller,
    upstream: Upstream,
    deltas: Iterable[Delta],
    count: int,
    repository: str,
    left: list[str],
) -> Result:
    """Read each head as it comes and capture it at once, so that a kill loses only the one at hand."""
    read, captured = [], 0
    for at, delta in enumerate(deltas, 1):
        fork = fork_from(delta, upstream)
        read.append(fork)
        if not request.dry_run:
            captured += capture_fork(request, caller, fork, delta, repository, "forks", left)
        caller.progress(f"forks {at}/{count} {fork.fork[:60]}")
    caller.progress("")
    return fork_result(ranked(read), captured, left)


def capture_fork(
    request: Keeping,
    caller: Caller,
    fork: Fork,
    delta: Delta,
    repository: str,
    kind: str,
    left: list[str],
) -> bool:
    """Capture one fork; whether it is new. Why it was refused goes to what is `left`."""
    keeping = {"licence": request.licence, "keep": not request.no_text}
    job = fork_job(fork, delta, repository=repository, kind=kind, **keeping)
    outcome = perform(caller.layout, None, job, now=caller.now)
    record(caller.layout, [outcome])
    left += [outcome.note] if outcome.state == "refused" else []
    return outcome.state in ("new", "changed")
