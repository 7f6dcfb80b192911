"""A fork that was read, as a source: its commits and diff for quoting, and its reading beside them,
so that later steps need no network.
"""

from collections.abc import Iterable
from contextlib import suppress

from kb.research.diffs import FileDiff
from kb.research.forks import Delta, Fork
from kb.source import Source, SourceMaterial, fence_for
from kb.store import Layout, bytes_of, from_json, to_json

_MOST_TEXT = 1 << 20
READING = "reading.json"


def material_of_fork(
    fork: Fork, delta: Delta, *, repository: str, kind: str, licence: str, keep: bool
) -> SourceMaterial:
    """The capture of a fork's own part. Its diff is bounded; what is beyond is counted and named."""
    head = f"# {fork.title or fork.fork}\n\n{repository} · {fork.fork} · {fork.head[:12]} · {fork.date}\n\n## Commits\n\n"
    parts = [head]
    sections = [(fork.title or fork.fork, 0), ("Commits", head.index("## Commits"))]
    size = len(head)
    for commit, message in delta.commits[:200]:
        parts.append(
            f"{commit[:12]}\n\n"
            + "".join(f"    {line}\n" for line in message.splitlines()[:60])
            + "\n"
        )
        size += len(parts[-1])
    left_out = list(delta.left_out)
    for change in delta.changes:
        part = _hunks(change)
        if size + len(part) > _MOST_TEXT:
            left_out.append(
                f"{change.path}: beyond {_MOST_TEXT >> 20} MB of diff, {len(change.added) + len(change.removed)} lines"
            )
            continue
        sections.append((f"Diff of {change.path}", size))
        parts.append(part)
        size += len(part)
    if left_out:
        parts.append("## Left out\n\n" + "".join(f"- {line}\n" for line in left_out))
    place = repository.rpartition("://")[2]
    reading = to_json(fork)
    return SourceMaterial(
        origin=f"{repository}#{fork.fork}",
        kind=kind,
        name=f"{place}-{fork.fork}-{fork.head[:8]}",
        version=fork.head[:12],
        title=fork.title or fork.fork,
        family=f"{place}-{fork.fork}-",
        licence=licence,
        text="".join(parts),
        sections=tuple(sections),
        files={READING: (reading, "application/json")},
        tool=f"kb research {kind}",
        keep=keep,
        note=f"{fork.kind}{', merged upstream' if fork.merged else ''}; {len(delta.changes)} files read, {len(left_out)} counted only",
    )


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
        lines.append(
            "| "
            + " | ".join(
                _cell(cell)
                for cell in (
                    f"`{name}`" if "`" not in name else name,
                    ", ".join(held),
                    ", ".join(lacking[:6]),
                )
            )
            + " |"
        )
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    return text.replace("\n", " ").replace("|", "\\|")
