"""A fork that was read, as a source: its commits and diff for quoting, and its reading beside them,
so that later steps need no network.
"""

from collections.abc import Iterable
from contextlib import suppress

from kb.research.diffs import FileDiff
from kb.research.forks import Delta, Fork
from kb.research.jobs import Job
from kb.source import Source, SourceMaterial, fence_for
from kb.store import Layout, bytes_of, from_json, to_json

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
