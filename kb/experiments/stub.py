"""An experiment page in flight: found by path, name or number, read, and filled block by block. Refuses pages that are filed."""

import posixpath
import re
from dataclasses import dataclass

from kb import KbError, store, trail
from kb.experiments.worktree import branch_with
from kb.page import Page, read, text_of
from kb.page.edit import with_block, with_field
from kb.page.seal import FIELD as SEAL
from kb.run.criterion import criteria_of
from kb.run.record import Falsification
from kb.trail import Facts

# Managed blocks of a stub, in the order of its sections; closing takes the markers away, so that the text is sealed.
BLOCKS = ("setup", "results", "profile", "audit", "verdict", "sources")


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
        return not self.opened_by_kb and self.facts.verdict.canonical is not None

    @property
    def opened_by_kb(self) -> bool:
        return bool(self.page.field("run"))

    @property
    def run(self) -> str:
        """Folder of its attempts, relative to the knowledge base."""
        return self.page.field("run")

    @property
    def baseline(self) -> bool:
        return self.opened_by_kb and not self.page.field("parent")

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
        elsewhere = branch_with(layout.root, path)
        where = (
            f"; it is on '{elsewhere}', and the repository stands on another branch"
            if elsewhere
            else ""
        )
        raise KbError(f"{path}: cannot read it: {error.strerror or error}{where}") from error
    page = read(path, data)
    if page.type != "experiment":
        raise KbError(f"{path}: is a page of type '{page.type}', not an experiment")
    return Stub(path, data, page, trail.read_facts(page, text_of(data)))


def located(layout: store.Layout, name: str, *, target: str = "") -> str:
    """Path of the experiment page that a user names: its path, its file name, or its label `v012` where that is unique in the target.

    Raises KbError where none or several answer.
    """
    path = posixpath.normpath(name)
    if path.startswith("wiki/") and (layout.root / path).is_file():
        return path
    of, _, label = path.rpartition("/")
    if of and not target and (layout.wiki / "experiments" / of).is_dir():
        path, target = label, of  # `decoder/v012`, as lists print it.
    home = layout.wiki / "experiments" / target if target else layout.wiki / "experiments"
    found = sorted(home.rglob("*.md")) if home.is_dir() else []
    stem = posixpath.basename(path).removesuffix(".md")
    hits = [f for f in found if f.stem == stem]
    if not hits and re.fullmatch(r"v?\d+", stem):
        hits = [f for f in found if re.search(rf"(?:^|-)v0*{int(stem.lstrip('v'))}(?:-|$)", f.stem)]
    paths = [f.relative_to(layout.root).as_posix() for f in hits]
    if len(paths) == 1:
        return paths[0]
    if not paths:
        name_on_disk = path if path.endswith(".md") else f"wiki/experiments/**/*{stem}*.md"
        elsewhere = branch_with(layout.root, name_on_disk)
        if elsewhere:
            raise KbError(
                f"no experiment page '{name}' here: it is on '{elsewhere}', and the repository stands on another branch"
            )
        newest = (
            f"; the newest here is {max(found, key=lambda f: f.stem).relative_to(layout.root).as_posix()}"
            if found
            else ""
        )
        raise KbError(
            f"no experiment page '{name}'; give its path, such as wiki/experiments/TARGET/2026-05-01-v001-name.md{newest}"
        )
    raise KbError(
        f"'{name}' is {len(paths)} pages: {', '.join(paths[:4])}; give the path, or --target"
    )


def in_flight(layout: store.Layout, target: str) -> tuple[Stub, ...]:
    """Open experiments of a target, straight from disk."""
    found = []
    for file in sorted((layout.wiki / "experiments" / target).rglob("*.md")):
        try:
            with open(file, "rb") as opened:
                head = opened.read(8192)
        except OSError:
            continue  # It went away, or is no file; the build reports what cannot be read.
        if re.search(
            rb"^status[ \t]*:[ \t]*['\"]?(?:in[_ -]?progress|running|open|pending)\b",
            head,
            re.MULTILINE,
        ):
            found.append(stub_at(layout, file.relative_to(layout.root).as_posix()))
    return tuple(stub for stub in found if not stub.filed)


def sealed_pages(layout: store.Layout, target: str) -> list[str]:
    """Paths of the experiments of a target that kb filed, oldest first."""
    found = []
    for file in sorted((layout.wiki / "experiments" / target).rglob("*.md")):
        with open(file, "rb") as opened:
            head = opened.read(8192)
        if re.search(rb"^sealed[ \t]*:", head, re.MULTILINE):
            found.append(file.relative_to(layout.root).as_posix())
    return found


def filled(path: str, data: bytes, blocks: dict[str, str]) -> bytes:
    """The page with managed blocks filled; a block that the page lacks is appended."""
    for name, content in blocks.items():
        data = with_block(path, data, name=name, content=content.replace("kb:auto", "kb&#58;auto"))
    return data


def without_markers(path: str, data: bytes) -> bytes:
    """The page with the markers of a stub's own blocks taken away and their text left standing."""
    lines = re.findall(rb"[^\r\n]*(?:\r\n|\n|\r)|[^\r\n]+\Z", data)
    gone = {
        n for name, start, end in read(path, data).blocks if name in BLOCKS for n in (start, end)
    }
    return b"".join(line for n, line in enumerate(lines, 1) if n not in gone)


def with_fields(path: str, data: bytes, fields: dict[str, str]) -> bytes:
    """The page with front-matter fields set; values are YAML text on one line."""
    for key, value in fields.items():
        data = with_field(path, data, key=key, value=value)
    return data
