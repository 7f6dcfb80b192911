"""kb init [begin]: start a knowledge base here, or adopt the wiki that is here."""

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from kb import KbError, page, store
from kb.text import command_of, counted, head_of, one_line
from kb.trail.declared import runs_among
from kb.verbs import Caller, Result, flag, option

_CONFIG = """# Settings of this knowledge base. Every key has a default; a key that kb does not know is refused with the nearest that it knows.
[kb]
name = "{name}"
"""
_INDEX = """---
title: {name}
type: index
created: {date}
updated: {date}
---

# {name}

Pages by type stand in the folders beside this one: `sources/`, `concepts/`, `codebases/`, `targets/`, `hypotheses/`, `experiments/`, `observations/`, `analyses/`.
"""

# Of what an adopted wiki holds that is not read so much is named; `kb build` lists it all.
_MOST_UNREAD = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Init:
    """Where a knowledge base begins."""

    adopt: bool = flag("take over the wiki that is here: add kb.toml and .kb/, touch nothing else")
    name: str = option("name of the knowledge base (default: the folder's)")
    wiki: str = option(
        "folder of the pages to adopt (default: wiki/, else the one with most pages)"
    )


@dataclass(frozen=True, slots=True)
class Start:
    """A knowledge base that stands: its pages are those of `wiki`; `remark` says how many and why there, where that was not plain."""

    name: str
    adopted: bool
    wiki: str = "wiki"
    remark: str = ""


def run(request: Init, caller: Caller) -> Result[Start]:
    start = _started(request, caller)
    page = "write a page wiki/targets/NAME.md that names repository, metric and benchmark, or `kb import` a log; then "
    verb, then = ("adopted", "") if start.adopted else ("started", page)
    text = f"{start.remark}{verb} the knowledge base '{start.name}'; next: {then}`kb build`"
    if start.adopted:
        text += f"\nrules read what pages declare; what they tell in free words is read by whoever answers: `{command_of('ingest --task normalise', start.wiki)}`"
    return Result(start, text)


def _started(request: Init, caller: Caller) -> Start:
    root = caller.folder
    if (root / store.CONFIG_NAME).exists():
        layout = caller.layout
        if request.adopt and layout.wiki.is_symlink() and not layout.links_wiki():
            return Start(layout.config.name, True, layout.config.wiki, _confirmed(layout))
        raise KbError(
            f"{store.CONFIG_NAME} is here already; `kb build` compiles the knowledge base"
        )
    store.set_aside(root / store.STATE_NAME)
    name = (request.name or root.name or "knowledge base").replace('"', "'").replace("\\", "/")
    wiki, remark = "wiki", ""
    if request.adopt:
        wiki, remark = _wiki_of(root, request.wiki.rstrip("/"))
    elif (root / "wiki").exists():
        raise KbError(
            "there is a wiki/ here; `kb init --adopt` takes it over without touching a page"
        )
    else:
        index = _INDEX.format(name=name, date=caller.today)
        store.create(root / "wiki" / "index.md", index, declared=True)
        (root / "sources").mkdir(exist_ok=True)
    layout = store.Layout(root, store.Config(wiki=wiki))
    store.make_state(layout.state)
    if layout.wiki.is_symlink():
        remark += _confirmed(layout)
    look = store.scan(layout) if request.adopt else store.Scan({}, ())
    unread = [f"not read: {one_line(f.path)}: {f.message}\n" for f in look.findings]
    remark += "".join(head_of(unread, _MOST_UNREAD, "and {} more, which `kb build` names\n"))
    runs = runs_among(_unsaid(layout, look))
    if runs:
        remark += (
            f"read as experiments, as most pages there are: {', '.join(runs)} (runs in kb.toml)\n"
        )
    setting = "" if wiki == "wiki" else f"wiki = {json.dumps(wiki, ensure_ascii=False)}\n"
    setting += f"runs = {json.dumps(runs, ensure_ascii=False)}\n" if runs else ""
    store.create(root / store.CONFIG_NAME, _CONFIG.format(name=name) + setting, declared=True)
    return Start(name, request.adopt, wiki, remark)


def _unsaid(layout: store.Layout, look: store.Scan) -> Iterator[page.Page]:
    """Pages that do not say what type they are."""
    for path in look.digests:
        data = store.read_bytes(layout, path)
        if b"\ntype:" not in data.partition(b"\n#")[0]:
            yield page.read(path, data)


def _confirmed(layout: store.Layout) -> str:
    """Note, where nothing that is shipped can, to which folder the link of the wiki leads."""
    real = os.path.realpath(layout.wiki)
    store.make_state(layout.state, confirmed=real)
    return f"{layout.config.wiki}/ is a link to {real}, and kb will read and write there\n"


# Folders whose markdown is about the code beside it, or no page of a wiki.
_NO_WIKI = frozenset(
    (
        "sources",
        "indexes",
        "site",
        "raw",
        "node_modules",
        "vendor",
        "third_party",
        "tests",
        "test",
        "build",
        "dist",
    )
)


def _wiki_of(root: Path, path: str) -> tuple[str, str]:
    """(folder of the pages, what to say of the choice). Raises KbError where no folder holds a page."""
    if path and path != "." and not (store.is_inner(path) and (root / path).is_dir()):
        raise KbError(f"{path}/: no folder here; --wiki names one below {root}")
    if path or (root / "wiki").is_dir():
        return path or "wiki", ""
    counts = {entry.name: _pages_in(entry) for entry in sorted(root.iterdir()) if _may_hold(entry)}
    best = max(counts, key=lambda folder: (counts[folder], folder == "docs"), default="")
    whole = sum(counts.values()) + sum(f.suffix == ".md" for f in root.iterdir() if f.is_file())
    if not whole:
        raise KbError(
            f"there is no wiki/ or other folder with pages in {root} to adopt; `kb init` starts an empty wiki/"
        )
    # A vault is the folder itself; else one folder that holds most of the pages is the wiki.
    if (root / ".obsidian").is_dir() or not best or counts[best] * 2 <= whole:
        return (
            ".",
            f'the wiki is this folder with {counted(whole, "markdown files")} (wiki = "." in kb.toml)\n',
        )
    return (
        best,
        f'the wiki is {best}/ with {counted(counts[best], "markdown files")} (wiki = "{best}" in kb.toml)\n',
    )


def _may_hold(entry: Path) -> bool:
    return (
        entry.is_dir()
        and not entry.is_symlink()
        and entry.name[0] != "."
        and entry.name not in _NO_WIKI
    )


def _pages_in(folder: Path) -> int:
    return sum(name.endswith(".md") for _, _, names in os.walk(folder) for name in names)
