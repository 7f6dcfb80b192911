"""An experiment page in flight: found by path, name or number, read, and filled block by block. Refuses pages that are filed."""

import contextlib
import json
import posixpath
import re
from collections.abc import Iterator
from dataclasses import dataclass

from kb import KbError, store, trail
from kb.experiments.worktree import branch_with
from kb.page import Page, read, text_of
from kb.page.edit import with_block, with_field
from kb.page.seal import FIELD as SEAL
from kb.run.criterion import criteria_of
from kb.run.record import Falsification
from kb.trail import Facts
from kb.trail.declared import with_record

# Managed blocks of a stub, in the order of its sections; closing takes the markers away, so that the text is sealed.
BLOCKS = ("setup", "results", "profile", "audit", "verdict", "sources")
# Fields whose value is a word of kb's own or a day, which YAML reads as text without quotes.
_WORDS = ("status", "verdict", "rule", "decision", "firing", "updated")


@dataclass(frozen=True, slots=True)
class Stub:
    """One experiment page as it stands on disk."""

    path: str
    data: bytes
    page: Page
    facts: Facts

    @property
    def filed(self) -> bool:
        if self.page.field("status").lower() == "filed" or self.page.field(SEAL):
            return True
        # A stub named after a baseline reads as one before anything is measured.
        return not self.run and self.facts.verdict.canonical is not None

    @property
    def run(self) -> str:
        """Folder of its attempts, relative to the knowledge base; empty for a page that kb did not open."""
        return self.page.field("run")

    @property
    def baseline(self) -> bool:
        return bool(self.run) and not self.page.field("parent")

    def falsification(self, metrics: tuple[str, ...]) -> tuple[Falsification, ...]:
        """The criteria of the front matter, else of the page's label; none for a baseline."""
        if self.baseline:
            return ()
        return criteria_of(
            self.page.field("falsification") or self.facts.falsification, metrics=metrics
        )


def stub_at(layout: store.Layout, path: str) -> Stub:
    """The experiment page at a path. Raises KbError where there is none."""
    try:
        data = store.read_bytes(layout, path)
    except OSError as error:
        where = _elsewhere(layout, path)
        raise KbError(f"{path}: cannot read it: {error.strerror or error}{where}") from error
    return stub_of(layout, path, data)


def stub_of(layout: store.Layout, path: str, data: bytes) -> Stub:
    """The experiment page of these bytes. Raises KbError where they are another page's."""
    page, read_page, _ = with_record(read(path, data), layout, data)
    if page.type != "experiment":
        raise KbError(f"{path}: is a page of type '{page.type}', not an experiment")
    return Stub(
        path, data, page, trail.read_facts(read_page, text_of(data), layout.config.verdicts)
    )


def _elsewhere(layout: store.Layout, path: str) -> str:
    branch = branch_with(layout.root, path)
    return f"; it is on '{branch}', and the repository stands on another branch" if branch else ""


def stub_in_flight(layout: store.Layout, path: str, *, filed: bool = False) -> Stub:
    """The stub at a path. Raises KbError for a page that `kb experiment open` did not make, and, unless `filed` ones do, for a filed one."""
    stub = stub_at(layout, path)
    if stub.filed and not (filed and stub.run):
        raise KbError(
            f"{path}: is filed already; `--more N` and `audit` complete its evidence and `close` adds a dated note, "
            "anything else is a new experiment: `kb experiment open`"
        )
    if not stub.run:
        raise KbError(
            f"{path}: was not opened by `kb experiment open`, so nothing says what is tested and against what; open one"
        )
    return stub


def located(layout: store.Layout, name: str, *, target: str = "") -> str:
    """Path of the experiment page that a user names: its path, its file name, or its label `v012` where that is unique in the target.

    Raises KbError where none or several answer.
    """
    path = posixpath.normpath(name)
    if layout.is_page(path) and (layout.root / path).is_file():
        return path
    home, (of, _, label) = layout.wiki / "experiments", path.rpartition("/")
    if not target and (home / of).is_dir():
        target = of  # `decoder/v012`, as lists print it.
    files = sorted((home / target).rglob("*.md"))
    stem = label.removesuffix(".md")
    hits = [f for f in files if f.stem == stem]
    if not hits and re.fullmatch(r"v?\d+", stem):
        number = re.compile(rf"(?:^|-)v0*{int(stem.lstrip('v'))}(?:-|$)")
        hits = [f for f in files if number.search(f.stem)]
    paths = [f.relative_to(layout.root).as_posix() for f in hits]
    if len(paths) == 1:
        return paths[0]
    if paths:
        shown = ", ".join(paths[:4])
        raise KbError(f"'{name}' is {len(paths)} pages: {shown}; give the path, or --target")
    where = _elsewhere(
        layout, path if path.endswith(".md") else layout.page(f"experiments/**/*{stem}*.md")
    )
    if files and not where:
        newest = max(files, key=lambda f: f.stem).relative_to(layout.root).as_posix()
        where = f"; the newest here is {newest}"
    raise KbError(
        f"no experiment page '{name}'; give its path, such as {layout.page('experiments/TARGET/2026-05-01-v001-name.md')}{where}"
    )


def in_flight(layout: store.Layout, target: str) -> tuple[Stub, ...]:
    """Open experiments of a target, straight from disk."""
    heads = rb"^status[ \t]*:[ \t]*['\"]?(?:in[_ -]?progress|running|open|pending)\b"
    stubs = (stub_at(layout, path) for path, _ in _pages_with(layout, target, heads))
    return tuple(stub for stub in stubs if not stub.filed)


def sealed_pages(layout: store.Layout, target: str, *, imported: bool = True) -> list[str]:
    """Paths of the experiments of a target that kb filed, oldest first; of those that it measured alone where not `imported`."""
    sealed = _pages_with(layout, target, rb"^sealed[ \t]*:")
    return [p for p, head in sealed if imported or not re.search(rb"(?m)^imported[ \t]*:", head)]


def measured_codes(layout: store.Layout, target: str) -> dict[str, str]:
    """The commits that the experiments of a target name as what they measured, by path, oldest first; a name that moves on (`HEAD`) is none."""
    named = rb"^(?:code|commit):[ \t]*[\"']?([0-9a-f]{7,64})\b"
    heads = dict(_pages_with(layout, target, named))
    runs = (p for p, head in heads.items() if read(p, head, skim=True).type == "experiment")
    return {p: re.findall(named, heads[p], re.MULTILINE)[0].decode() for p in runs}


def _pages_with(layout: store.Layout, target: str, pattern: bytes) -> Iterator[tuple[str, bytes]]:
    """Pages of a target whose first bytes hold a line, with these bytes; what went away meanwhile is none, and the build reports what
    cannot be read."""
    for file in sorted((layout.wiki / "experiments" / target).rglob("*.md")):
        head = b""
        with contextlib.suppress(OSError), store.opened(file) as opened:
            head = opened.read(8192)
        if re.search(pattern, head, re.MULTILINE):
            yield file.relative_to(layout.root).as_posix(), head


def filled(path: str, data: bytes, blocks: dict[str, str], fields: dict[str, object]) -> bytes:
    """The page with managed blocks filled, a block that it lacks appended, and with those front-matter fields set that are not empty, or a
    list."""
    for name, content in blocks.items():
        data = with_block(path, data, name=name, content=content.replace("kb:auto", "kb&#58;auto"))
    for key, value in fields.items():
        if value or value == ():
            text = str(value) if key in _WORDS else json.dumps(value, ensure_ascii=False)
            data = with_field(path, data, key=key, value=text)
    return data


def without_markers(path: str, data: bytes) -> bytes:
    """The page with the markers of a stub's own blocks taken away and their text left standing."""
    lines = re.findall(rb"[^\r\n]*(?:\r\n|\n|\r)|[^\r\n]+\Z", data)
    gone = {
        n for name, start, end in read(path, data).blocks if name in BLOCKS for n in (start, end)
    }
    return b"".join(line for n, line in enumerate(lines, 1) if n not in gone)
