"""Graph and trail to the tree that MkDocs builds. Refuses to be the renderer of that tree: any that reads mkdocs.yml may take over.

A file of site/docs is rendered again only if something it shows has changed; files that are no longer wanted are removed.
"""

import gc
import hashlib
import json
import multiprocessing
import os
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from kb import KbError, page, refuted, store, trail
from kb.graph import Files, Graph, graph_of
from kb.page import Page
from kb.site.config import config_text, run_mkdocs, swap, template, versions
from kb.site.pages import View, key_of, rendered
from kb.site.places import Map, site_paths
from kb.site.tree import plan_of
from kb.trail.standing import Standing, standing_of

__all__ = ["Report", "publish", "render"]

# Fewer files than this are rendered in this process: starting a pool costs more.
_POOL_FROM = 100
# A folder that kb may clear holds this file; without it, what stands there is someone else's.
_MARK = ".kb-site"
_IGNORED = "# Made by `kb site build`; safe to delete.\n.gitignore\ndocs/\nhtml/\noverrides/\nmkdocs.yml\n.*.kb-*\n"


@dataclass(frozen=True, slots=True)
class Report:
    """What a rendering did: wiki pages, all files of the tree, those written and removed; `digest` stands for the whole tree."""

    pages: int
    files: int
    written: int
    removed: int
    digest: str


def render(layout: store.Layout, db: sqlite3.Connection, *, note: Callable[[str], None] = lambda text: None) -> Report:
    """Bring site/docs and site/mkdocs.yml up to date with the compiled tables. Raises KbError where someone else's files are in the way."""
    docs = layout.site / "docs"
    _claim(docs)
    read = {
        p: _whole(layout, page.from_row(p, d, row))
        for p, d, row in db.execute("select path, digest, row from page order by path")
    }
    graph = graph_of(read, link_root=layout.config.link_root)
    compiled = _index_pages(layout)
    site = Map(
        layout,
        Graph({**read, **compiled}, graph.outlinks),
        site_paths([*read, *compiled], taken=("index.md", "404.md")),
        Files(layout, read),
        {},
    )
    plan = plan_of(
        site, wiki=graph, experiments=trail.experiments(db), cards=refuted.cards(db), standing=partial(_standing, layout, db)
    )
    code = _code_digest()
    keys = {view.place: key_of(view, code) for view in plan.views}
    had = _ledger(layout)
    stale = [view for view in plan.views if had.get(view.place) != [keys[view.place], *_stamp(docs / view.place)]]
    if len(stale) >= _POOL_FROM:
        note(f"rendering {len(stale)} of {len(plan.views)} pages")
    replayed = _replayed(layout)
    made = {**replayed, **{name: text.encode() for name, text in plan.files.items()}, **site.pictures, **_assets()}
    written = sum(_put(docs / place, data) for place, data in _rendered(layout, stale)) + sum(
        _put(docs / name, data) for name, data in sorted(made.items())
    )
    removed = _sweep(docs, {*keys, *made})
    written += _put(layout.site / "overrides" / "main.html", template().encode())
    settings = config_text(layout.config, [*plan.nav, *([{"Replay": "replay.md"}] if replayed else [])])
    written += _put(layout.site / "mkdocs.yml", settings.encode())
    _put(
        layout.state / "site.json",
        json.dumps({place: [key, *_stamp(docs / place)] for place, key in sorted(keys.items())}).encode(),
    )
    whole = [code, settings, sorted(keys.items()), sorted((name, store.digest_of(data)) for name, data in made.items())]
    return Report(len(keys), len(keys) + len(made), written, removed, store.digest_of(json.dumps(whole, ensure_ascii=False)))


def publish(layout: store.Layout, report: Report, *, out: Path | None = None, strict: bool = False) -> bool:
    """Build the rendered tree into `out` (default site/html); False where what stands there is built from the same tree already."""
    target = out or layout.site / "html"
    made_from = f"{report.digest} {versions()}\n"
    mark = target / _MARK
    if mark.is_file() and mark.read_text(encoding="utf-8", errors="replace") == made_from:
        return False
    if target.exists() and (not target.is_dir() or any(target.iterdir()) and not mark.is_file()):
        raise KbError(f"{target}: holds files that kb did not write; give an empty folder with --out, or move them")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise KbError(f"{target}: cannot make its folder: {error.strerror or error}; give another --out") from error
    fresh = run_mkdocs(layout.site, target, strict=strict)
    store.write(fresh / _MARK, made_from, durable=False, declared=True)
    swap(fresh, target)
    return True


def _replayed(layout: store.Layout) -> dict[str, bytes]:
    """What `kb replay --save` kept: how well the loader would have served this wiki's own trail."""
    picture, table = layout.state / "replay.svg", layout.state / "replay.txt"
    if not picture.is_file() or not table.is_file():
        return {}
    rows = "".join(f"    {line}\n" for line in table.read_text(encoding="utf-8", errors="replace").splitlines())
    lead = "Put just before each past experiment and asked its own question, the loader brings this share of the pages that it later cited."
    said = f"# How well this wiki serves its loop\n\n{lead}\n\n![Recall by budget](kb-assets/replay.svg)\n\n{rows}"
    return {"replay.md": said.encode(), "kb-assets/replay.svg": picture.read_bytes()}


def _standing(layout: store.Layout, db: sqlite3.Connection, target: str) -> Standing:
    def text_of(path: str) -> str:
        file = layout.root / path
        return page.text_of(store.read_bytes(layout, path)) if file.is_file() else ""

    return standing_of(db, target, text_of=text_of)


def _claim(docs: Path) -> None:
    """Take a folder for kb's own use, if it is empty or was kb's before."""
    mark = docs / _MARK
    if not mark.is_file():
        if docs.is_dir() and any(docs.iterdir()):
            raise KbError(f"{docs}: holds files that kb did not write; move them away, and `kb site build` makes the folder anew")
        settings = docs.parent / "mkdocs.yml"
        if settings.exists() and not settings.read_text(encoding="utf-8", errors="replace").startswith("# Made by `kb"):
            raise KbError(f"{settings}: kb did not write this file; move it away, and `kb site build` makes its own")
        store.write(mark, "", durable=False)
    if not (docs.parent / ".gitignore").exists():
        store.write(docs.parent / ".gitignore", _IGNORED, durable=False)


def _whole(layout: store.Layout, known: Page) -> Page:
    """The page with all its detail, read from its file where the build only skimmed it."""
    if not known.skimmed:
        return known
    try:
        return page.read(known.path, store.read_bytes(layout, known.path))
    except OSError as error:
        raise KbError(f"{known.path}: {error.strerror} while the site was made; `kb build` and try again") from error


def _index_pages(layout: store.Layout) -> dict[str, Page]:
    """The compiled indexes, as pages."""
    files = sorted(layout.indexes.rglob("*.md")) if layout.indexes.is_dir() else []
    paths = [f.relative_to(layout.root).as_posix() for f in files if f.is_file()]
    return {path: page.read(path, store.read_bytes(layout, path)) for path in paths}


def _rendered(layout: store.Layout, stale: list[View]) -> Iterator[tuple[str, bytes]]:
    one = partial(_rendered_one, os.fspath(layout.root))
    if len(stale) < _POOL_FROM:
        yield from map(one, stale)
        return
    with ProcessPoolExecutor(
        max_workers=min(4, os.cpu_count() or 1), mp_context=multiprocessing.get_context("fork"), initializer=gc.disable
    ) as pool:  # short-lived, nothing cyclic
        yield from pool.map(one, stale, chunksize=32)


def _rendered_one(root: str, view: View) -> tuple[str, bytes]:
    return view.place, rendered(root, view).encode("utf-8", "replace")


def _assets() -> dict[str, bytes]:
    folder = Path(__file__).parent / "assets"
    return {f"kb-assets/{file.name}": file.read_bytes() for file in sorted(folder.iterdir()) if file.suffix in (".css", ".js")}


def _put(path: Path, data: bytes) -> bool:
    if path.is_file() and path.read_bytes() == data:
        return False
    store.write(path, data, durable=False)
    return True


def _sweep(docs: Path, wanted: set[str]) -> int:
    """Remove files below site/docs that are no longer wanted, and folders left empty."""
    removed = 0
    for folder, _, names in os.walk(docs, topdown=False):
        for name in sorted(names):
            path = Path(folder, name)
            if name != _MARK and path.relative_to(docs).as_posix() not in wanted:
                store.remove(path)
                removed += 1
        if Path(folder) != docs and not any(os.scandir(folder)):
            os.rmdir(folder)
    return removed


def _ledger(layout: store.Layout) -> Mapping[str, list]:
    """Key, size and time of every rendered page as last written; what was changed by hand since is rendered again."""
    file = layout.state / "site.json"
    try:
        known = json.loads(file.read_bytes()) if file.is_file() else {}
    except ValueError:
        return {}
    return known if isinstance(known, dict) else {}


def _stamp(path: Path) -> tuple[int, int]:
    try:
        found = os.stat(path)
    except OSError:
        return 0, 0
    return found.st_size, found.st_mtime_ns


def _code_digest() -> str:
    """Digest of the code that renders; a page rendered by other code is rendered again."""
    sha = hashlib.sha256()
    for file in sorted(Path(__file__).parent.rglob("*.py")):
        sha.update(file.read_bytes())
    sha.update((Path(__file__).parent.parent / "page" / "markdown.py").read_bytes())
    return sha.hexdigest()[:16]
