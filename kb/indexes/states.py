"""`state/<target>.md` and `.json`: where a target stands, put together from its trail, for people and for the next shift. Refuses what `trail` does not say."""

import re
from collections.abc import Iterator
from functools import partial

from kb.indexes.render import bytes_of, href, page_head
from kb.store import Kept, digest_of, row_of, to_json
from kb.trail import Facts, Trail
from kb.trail.handles import handle, label_of
from kb.trail.line import Line
from kb.trail.state import State, state_of
from kb.trail.transfers import Win, kinship_of, wins_of

# Titles of the parts, and so many lines at most on the page; the JSON twin has all.
_PARTS = (
    ("standing", "Frontier", 8),
    ("config", "Configuration", 24),
    ("profile", "Where time goes", 16),
    ("memory", "Memory", 12),
    ("recent", "Last runs", 8),
    ("dead", "Levers that failed, by family", 60),
    ("transfers", "What other targets won with", 20),
    ("leads", "Open leads", 24),
    ("disputed", "Disputed", 12),
)
_HANDLE = re.compile(r"[\w.+-]+~[0-9a-z]{2}(?!\w)")


def state_files(trail: Trail, kept: Kept) -> dict[str, bytes]:
    """The state of every target with runs, by path below `indexes/`; of a target that nothing new is known of, as it was kept."""
    kin = kinship_of(trail.experiments)
    runs: dict[str, list[Facts]] = {}
    for e in trail.experiments:
        runs.setdefault(e.target, []).append(e)
    rows = {target: [digest_of(trail.rows[e.path]) for e in own] for target, own in runs.items()}
    wins: dict[str, tuple[Win, ...]] = {}
    for target in sorted(filter(None, runs)):
        stated = trail.metrics.get(target, "")
        make = lambda: tuple(wins_of(runs[target], stated=stated))  # noqa: B023, E731  It is called at once.
        wins[target] = kept.of(f"wins/{target}", (rows[target], stated), tuple[Win, ...], make)
    won = {target: digest_of(row_of(own)) for target, own in wins.items()}
    files: dict[str, bytes] = {}
    for target in wins:
        near = {other: nearness for (one, other), nearness in kin.items() if one == target}
        stated = trail.metrics.get(target, "")
        others = [other for other in wins if other != target]
        inputs = (rows[target], [won[o] for o in others], sorted(near.items()), stated)
        make = partial(
            _files_of, runs[target], [w for o in others for w in wins[o]], near, target, stated
        )
        files |= kept.of(f"state/{target}", inputs, dict[str, bytes], make)
    return files


def _files_of(
    runs: list[Facts], wins: list[Win], near: dict[str, float], target: str, stated: str
) -> dict[str, bytes]:
    paths = {handle(e.path): e.path for e in (*wins, *runs)}
    state = state_of(runs, wins, near, target=target, stated=stated)
    name = "state/" + "/".join(part for part in target.split("/") if part not in ("", ".", ".."))
    parts = {
        part: [{"text": line.text, "path": line.path} for line in getattr(state, part)]
        for part, _, _ in _PARTS
    }
    return {
        f"{name}.md": bytes_of(_page(state, paths, up="../" * name.count("/"))),
        f"{name}.json": to_json({"target": target, **parts}),
    }


def _page(state: State, paths: dict[str, str], *, up: str) -> Iterator[str]:
    yield from page_head(
        f"State of {state.target}",
        "Where this target stands by its own runs: what the frontier is set to and which run set it, where its time goes, what failed and what is open.",
    )
    for part, title, most in _PARTS:
        lines = getattr(state, part)
        if lines:
            yield from (f"## {title}", "")
            yield from (row for line in lines[:most] for row in _rows(line, paths, up))
            yield ""
            if len(lines) > most:
                yield from (f"{len(lines) - most} more in the .json beside this file.", "")


def _rows(line: Line, paths: dict[str, str], up: str) -> Iterator[str]:
    """A line as a list item, its rows as items below; what it calls by handle is linked."""
    first, *rest = (_escaped(row) for row in line.text.split("\n"))
    for indent, row in (("- ", first), *(("  - ", row) for row in rest)):
        yield indent + _HANDLE.sub(
            lambda m: (
                f"[{label_of(paths[m[0]])}]({up}{href(paths[m[0]])})" if m[0] in paths else m[0]
            ),
            row,
        )


def _escaped(text: str) -> str:
    """A page's words as text of another page: nothing in them is markup or a link."""
    return re.sub(r"([\\`*_\[\]<>|])", r"\\\1", text)
