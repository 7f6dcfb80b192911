"""kb open [ask]: print a page or one of its sections."""

import re
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

from kb import KbError, store
from kb.page import Page, Section, read, text_of
from kb.store import digest_of
from kb.text import LOOK, command_of
from kb.trail.handles import handle, is_handle, label_of, path_of
from kb.trail.page_facts import place_named
from kb.verbs import Caller, Result, argument, flag, option

FORMATS = ("md", "json")
# Of a page's sections so many are named, and so much the way on takes beside its path.
_MOST_SECTIONS, _FOOT, _MOST_RUNS = 60, 80, 12
# What a run is called, and the digest of a slice, whose first four characters tell the target.
_LABEL, _DIGEST = re.compile(r"[\w.-]+"), re.compile(r"[0-9a-f]{4,64}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Open:
    """A page or a section."""

    where: str = argument(
        "a page or one of its sections, such as wiki/concepts/x.md#limits, a slice's handle (v012~k3), or a run by its number within the target of a slice (DIGEST:v012)",
        metavar="PATH[#ANCHOR]",
    )
    target: str = option("whose run a number names, where several targets have it")
    start: int = option("first line", default=0, metavar="LINE")
    whole: bool = flag("print all of it, however long")


@dataclass(frozen=True, slots=True)
class OpenedPassage:
    """Text of a page from `line` on, as it stands. `lacking` is the section asked for where the page has none of the name: then `anchor` is the
    nearest, empty for the page itself, and `sections` are all that it has.
    """

    path: str
    anchor: str
    digest: str
    line: int
    title: str
    type: str
    text: str
    sections: tuple[str, ...] = ()
    whole: bool = False
    lacking: str = ""


def run(request: Open, caller: Caller) -> Result[OpenedPassage]:
    layout = caller.layout
    # A file name may hold a # itself.
    whole = (layout.root / request.where).is_file() or (caller.folder / request.where).is_file()
    typed, _, anchor = (request.where, "", "") if whole else request.where.partition("#")
    if is_handle(typed):
        rows = caller.tables().execute("select path from page union select path from experiment")
        path, _, part = path_of(typed, [p for (p,) in rows]).partition("#")
        anchor = anchor or part
    else:
        path = _run(caller, typed, request=request) or caller.path(typed)
    if not (layout.root / path).resolve().is_relative_to(layout.root.resolve()):
        raise KbError(f"{path}: leads out of the knowledge base and is not read")
    if not (layout.root / path).is_file():
        raise KbError(_nowhere(layout, path))
    data = store.read_bytes(layout, path)
    page = read(path, data)
    lines = text_of(data).split("\n")
    section = _section(page, anchor) if anchor else None
    lacking = anchor if section is None or section.anchor != anchor else ""
    start, end = _lines(page, section) if section else (1, len(lines) + 1)
    inside = tuple(
        s.anchor for s in page.sections if s.anchor and (lacking or start < s.start < end)
    )
    start = max(start, request.start)
    if start >= end:
        raise KbError(f"{path}: ends before line {start}; its last line is {end - 1}")
    text = "\n".join(lines[start - 1 : end - 1]).rstrip("\n")
    anchor = section.anchor if section else ""
    passage = OpenedPassage(path, anchor, page.digest, start, page.title, page.type, text, inside, request.whole, lacking)  # fmt: skip
    return Result(passage, _text(passage))


def _section(page: Page, anchor: str) -> Section | None:
    """The section of an anchor; of one that the page lacks the nearest: of the same matter as runs call it, else with a word of it, else spelt alike."""
    sections = {s.anchor: s for s in reversed(page.sections) if s.anchor}
    if anchor in sections:
        return sections[anchor]
    words = anchor.replace("-", " ")
    own = [s for s in page.sections if s.anchor and s.level > 1]
    matter = place_named(words)
    near = [s for s in own if matter and place_named(s.title) == matter]
    near = near or [s for s in own if set(words.split()) & set(s.anchor.split("-"))]
    alike = get_close_matches(anchor, sections, n=1)
    return near[0] if near else sections[alike[0]] if alike else None


def _lines(page: Page, section: Section) -> tuple[int, int]:
    """First line of a section, and the next heading of its own level or above: its subsections are included."""
    behind = page.sections[page.sections.index(section) + 1 :]
    after = (s.start for s in behind if s.level <= section.level)
    return section.start, next(after, page.lines + 1)


def _run(caller: Caller, typed: str, *, request: Open) -> str:
    """The run that `DIGEST:v012` names within the target of a slice, or `v012` within the target asked for, else within that of the newest slice on
    file, or where one run alone is called so; empty for what is no number of a run.

    Raises KbError with every run that it may mean.
    """
    digest, _, label = typed.rpartition(":")
    if not _LABEL.fullmatch(label) or (digest and not _DIGEST.fullmatch(digest)):
        return ""
    caller.doubt_target(db := caller.tables(), request.target)
    rows = db.execute("select path, target from experiment order by date desc, path")
    same = [(path, own) for path, own in rows if label_of(path) == label]
    own = [r for r in same if digest_of(r[1]).startswith(digest[:4]) and request.target in ("", r[1])]  # fmt: skip
    if len(own) > 1:
        # Late: most pages are opened by a name of their own.
        from kb.slices.printed import newest_target

        own = [r for r in own if digest_of(r[1]).startswith(newest_target(caller.layout))] or own
    if len(own) > 1:
        lines = (
            f"\n  {command_of('open', handle(path) + request.where.removeprefix(typed))} · {name}"
            for path, name in own[:_MOST_RUNS]
        )
        raise KbError(
            f"'{typed}' names {len(own)} runs; open one by its handle, or say whose by --target:{''.join(lines)}"
        )
    return own[0][0] if own else ""


def _nowhere(layout: store.Layout, path: str) -> str:
    known = list(store.scan(layout).digests)
    near = (
        get_close_matches(path, known, n=3, cutoff=0.5)
        or [k for k in known if k.endswith("/" + Path(path).name)][:3]
    )
    return f"{path}: no such page" + (
        f"; did you mean {' or '.join(near)}?" if near else "; `kb search` finds pages by words"
    )


def _text(p: OpenedPassage) -> str:
    """What one look of an agent holds of a passage, under the names of its sections; all of it where the `whole` was asked for."""
    names = ", ".join(f"#{name}" for name in p.sections[:_MOST_SECTIONS])
    names = f"; its sections: {names}" if names else ""
    place = f"#{p.anchor}" if p.anchor else ""
    if p.lacking and not place and names:
        return f"(no section #{p.lacking} nor one like it{names}; the page: `{command_of('open', p.path)}`)\n"
    lacking = f"(no section #{p.lacking}, here is {place or 'the page'}{names})\n\n"
    head = lacking if p.lacking else ""
    if p.whole or len(head) + len(p.text) <= LOOK:
        return f"{head}{p.text}\n"
    head = head or f"({len(p.text):,} characters, the first of them here{names})\n\n"
    lines = p.text.split("\n")
    room, shown = LOOK - len(head) - _FOOT - len(p.path) - len(place), 0
    while room > len(lines[shown]):
        room -= len(lines[shown]) + 1
        shown += 1
    # A line longer than a look is cut; what is left of it is printed with the whole.
    text = "\n".join(lines[:shown]) or lines[0][:room]
    return f"{head}{text}\n\n(on: `{command_of('open', p.path + place)} --start {p.line + max(shown, 1)}`; all: `--whole`)\n"
