"""Forks and pull requests compared with upstream: ranked, read, and set in a matrix of what exists
where. Fetches nothing itself. A fork that was read is a source: its commits and diff for quoting, and
its reading beside them, so that later steps need no network.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace

from kb import grouped
from kb.research.claims import StatedFigure, claims_of
from kb.research.diffs import FileDiff, changes_of, role_of
from kb.research.git import Repository
from kb.research.jobs import Job
from kb.research.kinds import KindReading, reading_of
from kb.research.symbols import code_of, touched
from kb.research.upstream import Upstream, news_of, novel_groups
from kb.source import Source, SourceMaterial, fence_for, masked
from kb.store import Layout, bytes_of, from_json, to_json

_MOST_COMMITS = 2000
_MOST_FILES, _MOST_LINES = 2000, 20_000


@dataclass(frozen=True, kw_only=True)
class ForkHead:
    """A head beside upstream. `base` is the merge base, empty where histories are not related;
    `left_out` files that were counted, not read.
    """

    fork: str
    head: str
    base: str
    merged: bool
    date: str
    files: tuple[str, ...]
    left_out: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Delta(ForkHead):
    """What a head has beyond upstream, as git or a forge gives it; `since` are lines that upstream
    put into these files after it was left.
    """

    commits: tuple[tuple[str, str], ...]
    changes: tuple[FileDiff, ...]
    since: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Fork(ForkHead, KindReading):
    """A head that was read. `not_upstream` holds names and statements that upstream lacks."""

    score: float
    symbols: tuple[str, ...]
    not_upstream: tuple[str, ...]
    in_upstream: bool
    claims: tuple[StatedFigure, ...]
    commits: int
    title: str


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
    own = ("refs/upstream/HEAD", "HEAD", "refs/heads/main", "refs/heads/master")
    commits = filter(None, map(repository.resolved, [name] if name else own))
    commit = next(commits, "") or repository.commit(name or "HEAD")
    return Upstream(commit, dict(repository.blobs(commit)))


def delta_of(
    repository: Repository, upstream: str, name: str, head: str, trees: Collection[str]
) -> Delta:
    """A head from where it is its own: behind the merge base; behind the last tree that upstream
    has too (a rewritten history); and a merged head from where it left the line that it was
    merged into.
    """
    base = repository.line("merge-base", upstream, head)
    merged = base == head
    outside = [f"^{base}"] if base and not merged else []
    if merged:
        start = _left_at(repository, upstream, head)
    else:
        form = ("--format=%H %T", f"--max-count={_MOST_COMMITS}")
        own = (line.split() for line in repository.lines("log", *form, head, *outside))
        start = next((commit for commit, tree in own if tree in trees), base)
    span = [head, *([f"^{start}"] if start else []), *([] if merged else [f"^{upstream}"])]
    form = ("--no-merges", "--format=%H%x1f%B%x1e", f"--max-count={_MOST_COMMITS}")
    log = repository.run("log", *form, *span).split("\x1e")
    commits = (part.partition("\x1f") for part in log if part.strip())
    start = start or repository.line("hash-object", "-t", "tree", "/dev/null")
    files, wanted, left_out = _files(repository, start, head)
    copies = ("--ignore-cr-at-eol", "-M", "-C", "--find-copies-harder", "-l400", "-U3")
    changes = _diff(repository, start, head, wanted, *copies)
    since = ()
    if base and not merged:
        before = [c.before for c in changes]
        since = _diff(repository, start, upstream, before, "--no-renames", "-U0")
    return Delta(
        fork=name,
        head=head,
        base=base,
        merged=merged,
        date=repository.line("log", "-1", "--format=%cs", head),
        commits=tuple((c.strip(), masked(m.strip())) for c, _, m in commits),
        changes=changes,
        files=files,
        left_out=left_out,
        since={change.path: change.added for change in since},
    )


def _left_at(repository: Repository, upstream: str, head: str) -> str:
    """Where a merged head left the line that it was merged into."""
    into = repository.lines("rev-list", "--first-parent", "--ancestry-path", f"{head}..{upstream}")
    point = repository.line("merge-base", f"{into[-1]}^1" if into else f"{head}^", head)
    return point if point not in ("", head) else repository.resolved(f"{head}^")


def _files(
    repository: Repository, start: str, head: str
) -> tuple[tuple[str, ...], list[str], tuple[str, ...]]:
    """The paths of all changed files; those that are text and written by hand; and what is counted
    only, with why.
    """
    rows = repository.run("diff", "--numstat", "-z", "--no-renames", start, head).split("\0")
    files, wanted, left_out = [], [], []
    for plus, minus, path in (row.split("\t", 2) for row in rows if row.count("\t") == 2):
        lines = 0 if plus == "-" else int(plus) + int(minus)
        role = role_of(path)
        files.append(path)
        if plus == "-" and role != "picture":
            left_out.append(f"{path}: binary")
        elif role == "vendored" or lines > _MOST_LINES:
            why = "vendored" if role == "vendored" else "too large"
            left_out.append(f"{path}: {why}, {lines} lines")
        else:
            wanted.append(path)
    return tuple(sorted(files)), wanted, tuple(left_out)


def _diff(
    repository: Repository, start: str, end: str, paths: Iterable[str], *options: str
) -> tuple[FileDiff, ...]:
    """How these files differ, blanks apart; secrets are masked before anything is read of it."""
    named = [f":(literal){path}" for path in dict.fromkeys(paths)][:_MOST_FILES]
    if not named or start == end:
        return ()
    plain = ("-w", "--no-ext-diff", "--no-textconv", "--no-color")
    return changes_of(masked(repository.run("diff", *plain, *options, start, end, "--", *named)))


def fork_from(delta: Delta, upstream: Upstream) -> Fork:
    """One head read: its changes compared with what upstream has."""
    news = delta.changes
    if not delta.merged:
        since = delta.since
        news = [replace(c, news=novel_groups(c, upstream, since.get(c.before, ()))) for c in news]
    coded = any(code_of(line) for c in delta.changes for line in c.added)
    left = any(line.strip() for c in news for line in c.new_lines)
    in_upstream = delta.merged or coded and not left
    shown = delta.changes if in_upstream else news
    reading = reading_of(shown, [m for _, m in delta.commits], upstream)
    claims = claims_of(delta.commits, delta.changes)
    groups = [g for c in shown if c.role in ("source", "build") for g in c.news]
    symbols = dict.fromkeys(n for g in groups for n in touched([*g.added, *g.removed], g.within))
    return Fork(
        **{part.name: getattr(delta, part.name) for part in fields(ForkHead)},
        **vars(reading),
        score=_score(reading, len(delta.commits), claims, in_upstream),
        symbols=tuple(symbols)[:80],
        not_upstream=() if in_upstream else news_of(news, upstream),
        in_upstream=in_upstream,
        claims=claims,
        commits=len(delta.commits),
        title=delta.commits[-1][1].partition("\n")[0] if delta.commits else "",
    )


def _score(
    reading: KindReading, commits: int, claims: Iterable[StatedFigure], in_upstream: bool
) -> float:
    """0 to 1: whether it means to optimize, how much of it does, whether it says what it gained,
    whether upstream has it.
    """
    score = 0.6 * reading.optimization + 0.3 * reading.strength + 0.05 * min(commits, 20) / 20
    score += 0.05 * any(c.status == "reported" for c in claims)
    return round(score * (0.3 if in_upstream else 1.0), 4)


def ranked(forks: Iterable[Fork]) -> tuple[Fork, ...]:
    return tuple(sorted(forks, key=lambda f: (-f.score, f.fork)))


def matrix_of(
    forks: Sequence[Fork], upstream_name: str = "upstream"
) -> tuple[tuple[str, tuple[str, ...], tuple[str, ...]], ...]:
    """Rows "exists in X, not in Y": a name, where it exists, where it does not; names of most forks
    first. Upstream is among the latter.
    """
    alive = [f for f in forks if not f.in_upstream]
    rows = grouped((name, fork.fork) for fork in alive for name in fork.not_upstream[:20])
    order = {f.fork: at for at, f in enumerate(alive)}
    every = [f.fork for f in alive if f.optimization]
    listed = sorted(
        rows.items(), key=lambda row: (min(order[f] for f in row[1]), -len(row[1]), row[0])
    )
    return tuple(
        (name, tuple(held), (upstream_name, *(f for f in every if f not in held)))
        for name, held in listed
    )


_MOST_TEXT = 1 << 20
READING = "reading.json"


def fork_job(
    fork: Fork, delta: Delta, *, repository: str, kind: str, licence: str, keep: bool
) -> Job:
    """The capture of a fork's own part. Its diff is bounded; what is beyond is counted and named."""
    title, place = fork.title or fork.fork, repository.rpartition("://")[2]
    line = f"{repository} · {fork.fork} · {fork.head[:12]} · {fork.date}"
    text = f"# {title}\n\n{line}\n\n## Commits\n\n"
    sections = [(title, 0), ("Commits", text.index("## Commits"))]
    for commit, message in delta.commits[:200]:
        body = "".join(f"    {line}\n" for line in message.splitlines()[:60])
        text += f"{commit[:12]}\n\n{body}\n"
    left_out = list(delta.left_out)
    for change in delta.changes:
        part = _hunks(change)
        if len(text) + len(part) <= _MOST_TEXT:
            sections.append((f"Diff of {change.path}", len(text)))
            text += part
        else:
            lines = len(change.added) + len(change.removed)
            left_out.append(f"{change.path}: beyond {_MOST_TEXT >> 20} MB of diff, {lines} lines")
    if left_out:
        text += "## Left out\n\n" + "".join(f"- {line}\n" for line in left_out)
    merged = ", merged upstream" if fork.merged else ""
    counts = f"{len(delta.changes)} files read, {len(left_out)} counted only"
    material = SourceMaterial(
        origin=f"{repository}#{fork.fork}",
        kind=kind,
        name=f"{place}-{fork.fork}-{fork.head[:8]}",
        family=f"{place}-{fork.fork}-",
        version=fork.head[:12],
        title=title,
        text=text,
        sections=tuple(sections),
        files={READING: (to_json(fork), "application/json")},
        tool=f"kb research {kind}",
        note=f"{fork.kind}{merged}; {counts}",
    )
    return Job("fork", f"{place}#{fork.fork}", lambda _: (material, ()), licence, keep)


def _hunks(change: FileDiff) -> str:
    """A file's changed lines as a fenced diff, without the lines around them; no run of backticks
    in it can end the fence.
    """
    lines = []
    for group in change.groups:
        lines.append(f"@@ line {group.line} @@ {group.within}".rstrip())
        lines += [f"-{line}" for line in group.removed] + [f"+{line}" for line in group.added]
    body = "\n".join(lines)
    fence = fence_for(body)
    return f"## Diff of {change.path}\n\n{change.state} {change.role}\n\n{fence}diff\n{body}\n{fence}\n\n"


def fork_of_source(layout: Layout, source: Source) -> Fork | None:
    """The reading that was captured with a fork; None for a source of another kind, and where it is damaged."""
    with suppress(OSError, ValueError):
        return from_json(bytes_of(layout.sources / source.id / READING), Fork)
    return None


def quoted_matrix(rows: Iterable[tuple[str, tuple[str, ...], tuple[str, ...]]]) -> str:
    """The matrix as a Markdown table: what exists where, and where not."""
    lines = ["| what | exists in | not in |", "|---|---|---|"]
    for name, held, lacking in rows:
        cells = (name if "`" in name else f"`{name}`", ", ".join(held), ", ".join(lacking[:6]))
        plain = (cell.replace("\n", " ").replace("|", "\\|") for cell in cells)
        lines.append(f"| {' | '.join(plain)} |")
    return "\n".join(lines) + "\n"
