"""kb open [ask]: print a page or one of its sections."""

from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import ClassVar

from kb import KbError, store
from kb.verbs import Caller, Result, argument


@dataclass(frozen=True, slots=True, kw_only=True)
class Open:
    """A page or a section."""

    where: str = argument(
        "a page or one of its sections, such as wiki/concepts/x.md#limits, or a slice's handle, such as v012~k3",
        metavar="PATH[#ANCHOR]",
    )


@dataclass(frozen=True, slots=True)
class Passage(Result):
    """Text of a page from `line` on, as it stands."""

    formats: ClassVar = ("md", "json")
    path: str
    anchor: str
    digest: str
    line: int
    title: str
    type: str
    text: str

    def to_text(self) -> str:
        return self.text + "\n"


def run(request: Open, caller: Caller) -> Passage:
    from kb.page import read, text_of
    from kb.trail.handles import is_handle, path_of

    layout = caller.layout()
    # A file name may hold a # itself.
    whole = (layout.root / request.where).is_file() or (caller.folder / request.where).is_file()
    typed, _, anchor = (request.where, "", "") if whole else request.where.partition("#")
    path = path_of(typed, _paths(layout)) if is_handle(typed) else caller.path(layout, typed)
    if not (layout.root / path).resolve().is_relative_to(layout.root.resolve()):
        raise KbError(f"{path}: leads out of the knowledge base and is not read")
    if not (layout.root / path).is_file():
        raise KbError(_nowhere(layout, path))
    data = store.read_bytes(layout, path)
    page = read(path, data)
    lines = text_of(data).split("\n")
    start, end = 1, len(lines) + 1
    if anchor:
        # A section runs to the next heading of its own level or above, its subsections included.
        place = next((i for i, s in enumerate(page.sections) if s.anchor == anchor), None)
        if place is None:
            names = [s.anchor for s in page.sections if s.anchor]
            raise KbError(
                f"{path}: no section '#{anchor}'; it has "
                + (", ".join("#" + n for n in names) or "none")
            )
        section = page.sections[place]
        after = [s for s in page.sections[place + 1 :] if s.level <= section.level]
        start, end = section.start, after[0].start if after else end
    text = "\n".join(lines[start - 1 : end - 1]).rstrip("\n")
    return Passage(path, anchor, page.digest, start, page.title, page.type, text)


def _paths(layout: store.Layout) -> list[str]:
    return sorted(
        f.relative_to(layout.root).as_posix() for f in (layout.root / "wiki").rglob("*.md")
    )


def _nowhere(layout: store.Layout, path: str) -> str:
    known = list(store.scan(layout).digests)
    near = (
        get_close_matches(path, known, n=3, cutoff=0.5)
        or [k for k in known if k.endswith("/" + Path(path).name)][:3]
    )
    return f"{path}: no such page" + (
        f"; did you mean {' or '.join(near)}?" if near else "; `kb search` finds pages by words"
    )
