"""Forks and pull requests compared with upstream: ranked, read, and set in a matrix of what exists where. Fetches nothing itself."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from kb.research.claims import Claim, claims_of
from kb.research.diffs import FileChange, changes_of, role_of
from kb.research.git import Repository
from kb.research.kinds import Evidence, Reading, reading_of
from kb.research.symbols import touched
from kb.research.upstream import Upstream, news_of, novel_groups, upstream_at

_MOST_COMMITS = 2000
_MOST_LINES = 20_000


@dataclass(frozen=True, slots=True)
class Stretch:
    """What a head has beyond upstream: from `start` to `head`; `base` is the merge base, empty where histories are not related."""

    base: str
    start: str
    head: str
    merged: bool
    commits: tuple[tuple[str, str], ...]
    date: str


@dataclass(frozen=True, slots=True)
class Fork:
    """One head beside upstream. `not_upstream` holds names and statements that upstream lacks; `left_out` files that were counted, not read."""

    fork: str
    head: str
    base: str
    kind: str
    optimization: bool
    score: float
    techniques: tuple[str, ...]
    symbols: tuple[str, ...]
    files: tuple[str, ...]
    not_upstream: tuple[str, ...]
    in_upstream: bool
    merged: bool
    claims: tuple[Claim, ...]
    also: tuple[str, ...]
    evidence: tuple[Evidence, ...]
    commits: int
    date: str
    title: str
    left_out: tuple[str, ...]


def forks_of(repository: Repository, upstream: str = "", *, heads: Mapping[str, str] | None = None, note: Callable[[int, int], None] | None = None) -> tuple[Fork, ...]:
    """All heads of a repository beside upstream's, best first. `upstream` is a name of a commit; without it the repository's HEAD."""
    commit = _upstream_commit(repository, upstream)
    listed = {n: c for n, c in (repository.heads() if heads is None else heads).items() if c != commit and n not in ("upstream/HEAD", upstream)}
    have = upstream_at(repository, commit)
    trees = {tree: c for c, tree in (line.split() for line in repository.lines("log", "--format=%H %T", commit))}
    read = []
    for at, (name, head) in enumerate(sorted(listed.items())):
        read.append(fork_of(repository, have, name, head, trees))
        if note:
            note(at + 1, len(listed))
    return ranked(read)


def ranked(forks: Sequence[Fork]) -> tuple[Fork, ...]:
    return tuple(sorted(forks, key=lambda f: (-f.score, f.fork)))


def _upstream_commit(repository: Repository, name: str) -> str:
    for candidate in [name] if name else ["refs/upstream/HEAD", "HEAD", "refs/heads/main", "refs/heads/master"]:
        found = repository.run("rev-parse", "--verify", "--quiet", f"{candidate}^{{commit}}", ok=(0, 1, 128)).strip()
        if found:
            return found
    return repository.commit(name or "HEAD")


def stretch_of(repository: Repository, upstream: str, head: str, trees: Mapping[str, str]) -> Stretch:
    """From where a head is its own: behind the merge base, behind the last tree that upstream has too (a rewritten history), or
    for a merged head from where it left the line that it was merged into."""
    base = (repository.lines("merge-base", upstream, head, ok=(0, 1)) or [""])[0]
    start, merged = base, base == head
    if merged:
        into = repository.lines("rev-list", "--first-parent", "--ancestry-path", f"{head}..{upstream}")
        before = f"{into[-1]}^1" if into else f"{head}^"
        start = (repository.lines("merge-base", before, head, ok=(0, 1, 128)) or [""])[0]
        if start in ("", head):
            start = (repository.lines("rev-parse", "--verify", "--quiet", f"{head}^", ok=(0, 1, 128)) or [""])[0]
    elif not base or len(trees) > 1:
        span = [head, f"^{base}"] if base else [head]
        for line in repository.lines("log", "--format=%H %T", f"--max-count={_MOST_COMMITS}", *span):
            commit, tree = line.split()
            if tree in trees:
                start = commit
                break
    span = [head, f"^{start}"] if start else [head]
    text = repository.run("log", "--no-merges", "--format=%H%x1f%B%x1e", f"--max-count={_MOST_COMMITS}", *span, *(() if merged else (f"^{upstream}",)))
    commits = tuple((c.strip(), m.strip()) for c, _, m in (part.partition("\x1f") for part in text.split("\x1e")) if c.strip())
    return Stretch(base, start, head, merged, commits, repository.run("log", "-1", "--format=%cs", head).strip())


def fork_of(repository: Repository, upstream: Upstream, name: str, head: str, trees: Mapping[str, str]) -> Fork:
    """One head read: its diff without blanks and line ends, compared with what upstream has."""
    stretch = stretch_of(repository, upstream.commit, head, trees)
    changes, files, left_out = _changes(repository, stretch)
    since = {} if stretch.merged or not stretch.start else _upstream_lines(repository, stretch.start, upstream.commit, [c.before for c in changes])
    news = [(c, c.groups if stretch.merged else novel_groups(c, upstream, since.get(c.before, ()))) for c in changes]
    known = bool(changes) and not any(line.strip() for c, groups in news for g in groups for line in g.added)
    in_upstream = stretch.merged or known
    shown = [(c, c.groups) for c in changes] if in_upstream else news
    reading = reading_of(shown, [m for _, m in stretch.commits], upstream)
    claims = claims_of(stretch.commits, changes)
    symbols = dict.fromkeys(n for c, groups in shown if c.role in ("source", "build") for g in groups for n in touched([*g.added, *g.removed], g.within))
    return Fork(
        name, head, stretch.base, reading.kind, reading.optimization, _score(reading, stretch, in_upstream, claims), reading.techniques,
        tuple(symbols)[:80], files, () if in_upstream else news_of(news, upstream), in_upstream, stretch.merged, claims, reading.also,
        reading.evidence, len(stretch.commits), stretch.date, stretch.commits[-1][1].partition("\n")[0] if stretch.commits else "", left_out,
    )  # fmt: skip


def _score(reading: Reading, stretch: Stretch, in_upstream: bool, claims: Sequence[Claim]) -> float:
    """0 to 1: whether it means to optimize, how much of it does, whether it says what it gained, whether upstream has it."""
    measured = any(c.status == "reported" for c in claims)
    score = (0.6 if reading.optimization else 0.0) + 0.3 * reading.strength + (0.05 if measured else 0.0) + 0.05 * min(len(stretch.commits), 20) / 20
    return round(score * (0.3 if in_upstream else 1.0), 4)


def _changes(repository: Repository, stretch: Stretch) -> tuple[tuple[FileChange, ...], tuple[str, ...], tuple[str, ...]]:
    """Changed files that are text and written by hand; the paths of all; and what was counted only, with why."""
    empty = repository.run("hash-object", "-t", "tree", "/dev/null").strip()
    start = stretch.start or empty
    counted = [row.split("\t", 2) for row in repository.run("diff", "--numstat", "-z", "--no-renames", start, stretch.head).split("\0") if row.count("\t") == 2]
    left_out, wanted = [], []
    for plus, minus, path in counted:
        lines = 0 if plus == "-" else int(plus) + int(minus)
        role = role_of(path)
        if plus == "-" and role != "picture":
            left_out.append(f"{path}: binary")
        elif role == "vendored" or lines > _MOST_LINES:
            left_out.append(f"{path}: {'vendored' if role == 'vendored' else 'too large'}, {lines} lines")
        else:
            wanted.append(path)
    files = tuple(sorted(path for _, _, path in counted))
    if not wanted:
        return (), files, tuple(left_out)
    options = ("-w", "--ignore-cr-at-eol", "-M", "-C", "--find-copies-harder", "-l400", "--no-ext-diff", "--no-textconv", "--no-color", "-U3")
    patch = repository.run("diff", *options, start, stretch.head, "--", *(f":(literal){path}" for path in wanted[:2000]))
    return changes_of(patch), files, tuple(left_out)


def _upstream_lines(repository: Repository, start: str, upstream: str, paths: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Lines that upstream put into these files since the fork left it."""
    if start == upstream or not paths:
        return {}
    patch = repository.run("diff", "-w", "--no-renames", "--no-ext-diff", "--no-textconv", "-U0", start, upstream, "--", *(f":(literal){p}" for p in dict.fromkeys(paths)))
    return {change.path: change.added for change in changes_of(patch)}


def matrix_of(forks: Sequence[Fork], upstream_name: str = "upstream") -> tuple[tuple[str, tuple[str, ...], tuple[str, ...]], ...]:
    """Rows "exists in X, not in Y": a name, where it exists, where it does not; names of most forks first. Upstream is among the latter."""
    alive = [f for f in forks if not f.in_upstream]
    rows: dict[str, list[str]] = {}
    for fork in alive:
        for name in fork.not_upstream[:20]:
            rows.setdefault(name, []).append(fork.fork)
    order = {f.fork: at for at, f in enumerate(alive)}
    every = [f.fork for f in alive if f.optimization]
    listed = sorted(rows.items(), key=lambda row: (min(order[f] for f in row[1]), -len(row[1]), row[0]))
    return tuple((name, tuple(held), (upstream_name, *(f for f in every if f not in held))) for name, held in listed)


__all__ = ["Fork", "fork_of", "forks_of", "matrix_of", "ranked", "stretch_of"]
