"""`state/<target>.md` and `.json`: where a target stands, put together from its trail, for people and for the next shift. Refuses what `trail` does not say."""

import re
from collections.abc import Iterator
from functools import partial

from kb.indexes.render import file_of_target, href, index_file, rest
from kb.store import Kept, digest_of, row_of, to_json
from kb.trail import Relatives, Trail
from kb.trail.handles import handle, label_of
from kb.trail.line import Line
from kb.trail.state import STATE_PARTS, state_of
from kb.trail.transfers import Lesson

_LEAD = "Where this target stands by its own runs: what the frontier is set to and which run set it, where its time goes, what failed and what is open."
_HANDLE = re.compile(r"[\w.+-]+~[0-9a-z]{2}(?!\w)")


def state_files(trail: Trail, relatives: Relatives, kept: Kept) -> dict[str, bytes]:
    """The state of every target with runs, by path below `indexes/`; of a target that nothing new is known of, as it was kept."""
    targets = [target for target in trail.by_target if target]
    lessons, kin = relatives.lessons, relatives.kin
    won = {target: digest_of(row_of(lessons[target])) for target in targets}

    def inputs_of(target: str) -> str:
        # Of a target that is no kin nothing is told but its name.
        others = [
            (
                other,
                kin.get((target, other)),
                won[other] if (target, other) in kin else bool(lessons[other]),
            )
            for other in targets
            if other != target
        ]
        return digest_of(row_of((trail.target_digests[target], others)))

    def parts_of(target: str, *, others: bool) -> dict[str, tuple[Line, ...]]:
        of = [part for part in STATE_PARTS if part.others == others]
        runs, stated = trail.by_target[target], trail.metrics.get(target, "")
        near = {other: kin[target, other] for other in targets if (target, other) in kin}
        return state_of(runs, taught(target), near, target=target, stated=stated, of=of).parts

    def taught(target: str) -> list[Lesson]:
        return [lesson for other in targets if other != target for lesson in lessons[other]]

    def files_of(target: str) -> dict[str, bytes]:
        paths = {handle(e.path): e.path for e in (*taught(target), *trail.by_target[target])}
        return _files_of(target, own[target] | parts_of(target, others=True), paths)

    # Most of a state is the target's own, whatever the runs of its kin bring.
    teaching = [target for target in targets if lessons[target]]
    known = {
        target: digest_of(row_of((trail.target_digests[target], teaching))) for target in targets
    }
    own = kept.each(
        "own state", known, dict[str, tuple[Line, ...]], partial(parts_of, others=False)
    )
    inputs = {target: inputs_of(target) for target in targets}
    rendered = kept.each("state", inputs, dict[str, bytes], files_of)
    return {name: data for files in rendered.values() for name, data in files.items()}


def _files_of(
    target: str, parts: dict[str, tuple[Line, ...]], paths: dict[str, str]
) -> dict[str, bytes]:
    name = file_of_target("state", target)
    up = "../" * (name.count("/") + 1)
    lines: list[str] = []
    for part in STATE_PARTS:
        own = parts[part.name]
        rows = [row for line in own[: part.most] for row in _rows(line, paths, up)]
        lines += (
            [f"## {part.heading}", "", *rows, *rest(len(own) - part.most, "lines")] if own else []
        )
    twin = {
        part.name: [{"text": line.text, "path": line.path} for line in parts[part.name]]
        for part in STATE_PARTS
    }
    return {
        f"{name}.md": index_file(f"State of {target}", _LEAD, lines),
        f"{name}.json": to_json({"target": target, **twin}),
    }


def _rows(line: Line, paths: dict[str, str], up: str) -> Iterator[str]:
    """A line as a list item, its rows as items below; what it calls by handle is linked."""
    first, *rest = (_escaped(row) for row in line.text.split("\n"))
    for indent, row in (("- ", first), *(("  - ", row) for row in rest)):
        yield indent + _HANDLE.sub(
            lambda m: (
                f"[{label_of(paths[m[0]])}]({href(paths[m[0]], up=up)})" if m[0] in paths else m[0]
            ),
            row,
        )


def _escaped(text: str) -> str:
    """A page's words as text of another page: nothing in them is markup or a link."""
    return re.sub(r"([\\`*_\[\]<>|])", r"\\\1", text)
