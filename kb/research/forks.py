"""Forks and pull requests compared with upstream: ranked, read, and set in a matrix of what exists
where. Fetches nothing itself.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from kb.research.claims import StatedFigure, claims_of
from kb.research.diffs import FileDiff, changes_of, role_of
from kb.research.git import Repository
from kb.research.hunks import KindEvidence
from kb.research.kinds import KindReading, reading_of
from kb.research.symbols import code_of, touched
from kb.research.upstream import Upstream, news_of, novel_groups, upstream_at
from kb.source import masked

_MOST_COMMITS = 2000
_MOST_LINES = 20_000


@dataclass(frozen=True, slots=True)
class Delta:
    """What a head has beyond upstream, as git or a forge gives it. `base` is the merge base, empty
    where histories are not related; `start` the commit from which the head is its own; `since`
    lines that upstream put into these files after that.
    """

    name: str
    head: str
    base: str
    start: str
    merged: bool
    date: str
    commits: tuple[tuple[str, str], ...]
    changes: tuple[FileDiff, ...]
    files: tuple[str, ...]
    left_out: tuple[str, ...]
    since: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Fork:
    """One head beside upstream. `not_upstream` holds names and statements that upstream lacks;
    `left_out` files that were counted, not read.
    """

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
    claims: tuple[StatedFigure, ...]
    also: tuple[str, ...]
    evidence: tuple[KindEvidence, ...]
    commits: int
    date: str
    title: str
    left_out: tuple[str, ...]


def deltas_of(
    repository: Repository, upstream: Upstream, heads: Mapping[str, str]
) -> Iterator[Delta]:
    """The heads of a repository beside upstream, one after the other."""
    listed = repository.lines("log", "--format=%H %T", upstream.commit)
    trees = {line.split()[1] for line in listed}
    for name, head in sorted(heads.items()):
        if head != upstream.commit:
            yield delta_of(repository, upstream.commit, name, head, trees)


def upstream_of(repository: Repository, name: str = "") -> Upstream:
    """Upstream by a name of a commit; without one the bundle's or the clone's own HEAD. Raises
    KbError where there is none.
    """
    for candidate in (
        [name] if name else ["refs/upstream/HEAD", "HEAD", "refs/heads/main", "refs/heads/master"]
    ):
        commit = repository.run(
            "rev-parse", "--verify", "--quiet", f"{candidate}^{{commit}}", ok=(0, 1, 128)
        ).strip()
        if commit:
            return upstream_at(repository, commit)
    return upstream_at(repository, repository.commit(name or "HEAD"))


def delta_of(
    repository: Repository, upstream: str, name: str, head: str, trees: Collection[str]
) -> Delta:
    """A head from where it is its own: behind the merge base; behind the last tree that upstream
    has too (a rewritten history); and a merged head from where it left the line that it was
    merged into.
    """
    base = (repository.lines("merge-base", upstream, head, ok=(0, 1)) or [""])[0]
    merged = base == head
    start = (
        _fork_point(repository, upstream, head)
        if merged
        else _own_from(repository, base, head, trees)
    )
    span = [head, f"^{start}"] if start else [head]
    text = repository.run(
        "log",
        "--no-merges",
        "--format=%H%x1f%B%x1e",
        f"--max-count={_MOST_COMMITS}",
        *span,
        *(() if merged else (f"^{upstream}",)),
    )
    commits = tuple(
        (c.strip(), masked(m.strip()))
        for c, _, m in (part.partition("\x1f") for part in text.split("\x1e"))
        if c.strip()
    )
    changes, files, left_out = _changes(repository, start, head)
    since = (
        {}
        if merged or not start
        else _upstream_lines(repository, start, upstream, [c.before for c in changes])
    )
    date = repository.run("log", "-1", "--format=%cs", head).strip()
    return Delta(name, head, base, start, merged, date, commits, changes, files, left_out, since)


def _fork_point(repository: Repository, upstream: str, head: str) -> str:
    into = repository.lines("rev-list", "--first-parent", "--ancestry-path", f"{head}..{upstream}")
    before = f"{into[-1]}^1" if into else f"{head}^"
    point = (repository.lines("merge-base", before, head, ok=(0, 1, 128)) or [""])[0]
    return (
        point
        if point not in ("", head)
        else (
            repository.lines("rev-parse", "--verify", "--quiet", f"{head}^", ok=(0, 1, 128)) or [""]
        )[0]
    )


def _own_from(repository: Repository, base: str, head: str, trees: Collection[str]) -> str:
    for line in repository.lines(
        "log",
        "--format=%H %T",
        f"--max-count={_MOST_COMMITS}",
        head,
        *((f"^{base}",) if base else ()),
    ):
        commit, tree = line.split()
        if tree in trees:
            return commit
    return base


def fork_from(delta: Delta, upstream: Upstream) -> Fork:
    """One head read: its changes compared with what upstream has."""
    news = delta.changes
    if not delta.merged:
        news = [
            replace(c, news=novel_groups(c, upstream, delta.since.get(c.before, ()))) for c in news
        ]
    coded = any(code_of(line) for c in delta.changes for line in c.added)
    left = any(line.strip() for c in news for g in c.news for line in g.added)
    in_upstream = delta.merged or coded and not left
    shown = delta.changes if in_upstream else news
    reading = reading_of(shown, [m for _, m in delta.commits], upstream)
    claims = claims_of(delta.commits, delta.changes)
    groups = [g for c in shown if c.role in ("source", "build") for g in c.news]
    symbols = dict.fromkeys(n for g in groups for n in touched([*g.added, *g.removed], g.within))
    return Fork(
        delta.name,
        delta.head,
        delta.base,
        reading.kind,
        reading.optimization,
        _score(reading, delta, in_upstream, claims),
        reading.techniques,
        tuple(symbols)[:80],
        delta.files,
        () if in_upstream else news_of(news, upstream),
        in_upstream,
        delta.merged,
        claims,
        reading.also,
        reading.evidence,
        len(delta.commits),
        delta.date,
        delta.commits[-1][1].partition("\n")[0] if delta.commits else "",
        delta.left_out,
    )


def ranked(forks: Iterable[Fork]) -> tuple[Fork, ...]:
    return tuple(sorted(forks, key=lambda f: (-f.score, f.fork)))


def _score(
    reading: KindReading, delta: Delta, in_upstream: bool, claims: Sequence[StatedFigure]
) -> float:
    """0 to 1: whether it means to optimize, how much of it does, whether it says what it gained,
    whether upstream has it.
    """
    measured = any(c.status == "reported" for c in claims)
    score = (
        (0.6 if reading.optimization else 0.0)
        + 0.3 * reading.strength
        + (0.05 if measured else 0.0)
        + 0.05 * min(len(delta.commits), 20) / 20
    )
    return round(score * (0.3 if in_upstream else 1.0), 4)


def _changes(
    repository: Repository, start: str, head: str
) -> tuple[tuple[FileDiff, ...], tuple[str, ...], tuple[str, ...]]:
    """Changed files that are text and written by hand; the paths of all; and what was counted only,
    with why.
    """
    start = start or repository.run("hash-object", "-t", "tree", "/dev/null").strip()
    counted = [
        row.split("\t", 2)
        for row in repository.run("diff", "--numstat", "-z", "--no-renames", start, head).split(
            "\0"
        )
        if row.count("\t") == 2
    ]
    left_out, wanted = [], []
    for plus, minus, path in counted:
        lines = 0 if plus == "-" else int(plus) + int(minus)
        role = role_of(path)
        if plus == "-" and role != "picture":
            left_out.append(f"{path}: binary")
        elif role == "vendored" or lines > _MOST_LINES:
            left_out.append(
                f"{path}: {'vendored' if role == 'vendored' else 'too large'}, {lines} lines"
            )
        else:
            wanted.append(path)
    files = tuple(sorted(path for _, _, path in counted))
    if not wanted:
        return (), files, tuple(left_out)
    options = (
        "-w",
        "--ignore-cr-at-eol",
        "-M",
        "-C",
        "--find-copies-harder",
        "-l400",
        "--no-ext-diff",
        "--no-textconv",
        "--no-color",
        "-U3",
    )
    patch = repository.run(
        "diff", *options, start, head, "--", *(f":(literal){path}" for path in wanted[:2000])
    )
    return changes_of(masked(patch)), files, tuple(left_out)


def _upstream_lines(
    repository: Repository, start: str, upstream: str, paths: Sequence[str]
) -> dict[str, tuple[str, ...]]:
    """Lines that upstream put into these files since the fork left it."""
    if start == upstream or not paths:
        return {}
    patch = repository.run(
        "diff",
        "-w",
        "--no-renames",
        "--no-ext-diff",
        "--no-textconv",
        "-U0",
        start,
        upstream,
        "--",
        *(f":(literal){p}" for p in dict.fromkeys(paths)),
    )
    return {change.path: change.added for change in changes_of(patch)}


def matrix_of(
    forks: Sequence[Fork], upstream_name: str = "upstream"
) -> tuple[tuple[str, tuple[str, ...], tuple[str, ...]], ...]:
    """Rows "exists in X, not in Y": a name, where it exists, where it does not; names of most forks
    first. Upstream is among the latter.
    """
    alive = [f for f in forks if not f.in_upstream]
    rows: dict[str, list[str]] = {}
    for fork in alive:
        for name in fork.not_upstream[:20]:
            rows.setdefault(name, []).append(fork.fork)
    order = {f.fork: at for at, f in enumerate(alive)}
    every = [f.fork for f in alive if f.optimization]
    listed = sorted(
        rows.items(), key=lambda row: (min(order[f] for f in row[1]), -len(row[1]), row[0])
    )
    return tuple(
        (name, tuple(held), (upstream_name, *(f for f in every if f not in held)))
        for name, held in listed
    )
