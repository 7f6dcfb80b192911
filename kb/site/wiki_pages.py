"""The pages of the wiki as pages of the site: each rendered once, and found again by a digest of all
that it shows. Refuses to know a shell.
"""

import gc
import hashlib
import json
import multiprocessing
import os
import sqlite3
import zlib
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from kb import store
from kb.page import LARGEST, Page, text_of
from kb.schema import FAILED
from kb.site.body import Body, Destination, body_of
from kb.site.graph_pictures import neighbourhood
from kb.site.links import Resolver
from kb.site.runs import run_at
from kb.site.survey import Survey, plural, tags_of, type_place
from kb.site.templating import Frame, plain_title, rendered

# Fewer pages than this are rendered in this process: starting a pool costs more.
_POOL_FROM = 100
_FILE = "site.db"
_TABLE = "create table shown (path text primary key, row blob not null, content blob not null)"
_PICTURES = (".png", ".jpg", ".jpeg", ".gif", ".webp", ".svg")
# Headings that a table of contents lists at most.
_MOST_HEADINGS = 150


@dataclass(frozen=True, slots=True)
class ShownPage:
    """A rendered page as it is kept: `key` is a digest of all that it shows, `shape` of its anchors
    (which pages that cite it show), `files` are those outside the wiki that it hangs on, with their
    stamps, `pictures` their places in the site.
    """

    key: str
    digest: str
    shape: str
    title: str
    toc: tuple[tuple[int, str, str], ...]
    files: tuple[tuple[str, str], ...]
    pictures: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class WikiPages:
    """All pages of the wiki: their frames, their pictures by place (without bytes where they stand
    already), pages by the files outside the wiki that they link to, what was kept of each, and how
    many were rendered anew.
    """

    frames: tuple[Frame, ...]
    pictures: Mapping[str, bytes]
    linking: Mapping[str, tuple[str, ...]]
    kept: Mapping[str, ShownPage]
    fresh: int


def cache_of(layout: store.Layout) -> sqlite3.Connection:
    """What earlier builds of the site made with the same code."""
    return store.cache(layout, _FILE, (_TABLE, store.Kept.TABLE), version=code_digest())


@lru_cache(maxsize=1)
def code_digest() -> str:
    """Digest of the code that renders; a page rendered by other code is rendered again."""
    sha = hashlib.sha256()
    for folder in (Path(__file__).parent, Path(__file__).parent.parent / "page"):
        for file in sorted(folder.rglob("*")):
            if file.suffix in (".py", ".html", ".css", ".js"):
                sha.update(file.read_bytes())
    return sha.hexdigest()[:16]


def kept_pages(cache: sqlite3.Connection) -> dict[str, ShownPage]:
    """What is kept of every page but its content."""
    rows = cache.execute("select path, row from shown order by path")
    return {path: store.value_of(row, ShownPage) for path, row in rows}


def wiki_pages_of(
    survey: Survey,
    cache: sqlite3.Connection,
    *,
    code: str,
    have: Callable[[str], bool],
    note: Callable[[str], None],
) -> WikiPages:
    """Every page, from the cache where nothing that it shows has changed. `have` is whether a picture
    stands in the site already.
    """
    resolver = Resolver(survey)
    kept = kept_pages(cache)
    shapes = {path: _shape(page, kept.get(path), resolver) for path, page in survey.pages.items()}
    keys = {path: _key(survey, path, shapes, code) for path in sorted(survey.pages)}
    stale = _stale(survey, keys, kept, have)
    if len(stale) >= _POOL_FROM:
        note(f"rendering {len(stale)} of {len(keys)} pages")
    pictures = _render(survey, resolver, cache, stale, keys, shapes, kept)
    cache.executemany("delete from shown where path = ?", [(p,) for p in kept if p not in keys])
    linking: dict[str, list[str]] = defaultdict(list)
    for path in keys:
        for file, _ in kept[path].files:
            linking[file].append(path)
    known = {place: b"" for path in keys for place in kept[path].pictures}
    frames = tuple(_frame(survey, cache, path, kept[path]) for path in keys)
    return WikiPages(
        frames,
        {**known, **pictures},
        {file: tuple(paths) for file, paths in linking.items()},
        {path: kept[path] for path in keys},
        len(stale),
    )


def _shape(page: Page, known: ShownPage | None, resolver: Resolver) -> str:
    if known and known.digest == page.digest:
        return known.shape
    return store.digest_of("\0".join(sorted(resolver.whole(page.path).anchors)))


def _key(survey: Survey, path: str, shapes: Mapping[str, str], code: str) -> str:
    """Digest of everything that a page shows."""
    page, pages, config = survey.pages[path], survey.pages, survey.layout.config
    near = [(p, pages[p].title) for p in survey.neighbours.get(path, ()) if p]
    citing = [(p, pages[p].title, pages[p].type) for p in survey.wiki.backlinks.get(path, ())]
    cited = [
        (p, survey.places[p], pages[p].title, shapes[p]) for p in survey.wiki.outlinks.get(path, ())
    ]
    tags = [survey.tag_places.get(t) for t in tags_of(page)]
    own = (run_at(survey, path), survey.card_of.get(path), survey.target_of(page))
    shown = (page.digest, survey.places[path], near, citing, cited, tags, own)
    return store.digest_of(repr((code, shown, config.site_repository, config.local)))


def _stale(
    survey: Survey,
    keys: Mapping[str, str],
    kept: Mapping[str, ShownPage],
    have: Callable[[str], bool],
) -> list[str]:
    """Pages of which something changed: what they show, a file that they link to, a picture."""
    stamps = stamps_of(survey.layout, kept)
    stale = []
    for path, key in keys.items():
        row = kept.get(path)
        is_same = row is not None and row.key == key and all(map(have, row.pictures))
        if not is_same or any(stamps[file] != stamp for file, stamp in row.files):
            stale.append(path)
    return stale


def stamps_of(layout: store.Layout, kept: Mapping[str, ShownPage]) -> dict[str, str]:
    """Stamps, as of now, of the files outside the wiki that pages hang on."""
    return {
        f: _stamp(layout, f) for f in sorted({f for row in kept.values() for f, _ in row.files})
    }


def _stamp(layout: store.Layout, file: str) -> str:
    """Whether a file outside the wiki is there, and of a picture which one."""
    try:
        there = os.stat(layout.root / file)
    except (OSError, ValueError):
        return ""
    is_picture = file.lower().endswith(_PICTURES)
    return f"{there.st_size} {there.st_mtime_ns}" if is_picture else "there"


def _render(
    survey: Survey,
    resolver: Resolver,
    cache: sqlite3.Connection,
    stale: list[str],
    keys: Mapping[str, str],
    shapes: Mapping[str, str],
    kept: dict[str, ShownPage],
) -> dict[str, bytes]:
    """Render pages into the cache and `kept`; the pictures that they show."""
    pictures: dict[str, bytes] = {}
    jobs, resolved = [], {}
    for path in stale:
        page = resolver.whole(path)
        resolved[path] = resolver.resolved(page, survey.places[path])
        pictures |= resolved[path].pictures
        slugs = tuple(h.slug for h in page.headings)
        root = str(survey.layout.root)
        jobs.append((root, path, page.body_line, slugs, resolved[path].links))
    cache.execute("begin immediate")
    for path, body in zip(stale, _bodies(jobs), strict=True):
        page = resolver.whole(path)
        content = rendered(survey, survey.places[path], "page.html", _shows(survey, page, body))
        files = tuple((f, _stamp(survey.layout, f)) for f in resolved[path].files)
        shown = tuple(sorted(resolved[path].pictures))
        title = plain_title(page.title)
        row = ShownPage(keys[path], page.digest, shapes[path], title, _toc(body), files, shown)
        kept[path] = row
        packed = zlib.compress(content.encode("utf-8", "replace"), 1)
        cache.execute(
            "insert or replace into shown values (?, ?, ?)", (path, store.row_of(row), packed)
        )
    cache.execute("commit")
    return pictures


# What a process needs to render a page: root, path, first line of the body, anchors, links.
_Job = tuple[str, str, int, tuple[str, ...], Mapping[str, Destination]]


def _bodies(jobs: list[_Job]) -> Iterator[Body]:
    if len(jobs) < _POOL_FROM:
        yield from map(_body, jobs)
        return
    context = multiprocessing.get_context("fork")
    workers = min(4, os.cpu_count() or 1)
    # Short-lived processes that make nothing cyclic need no collector.
    with ProcessPoolExecutor(
        max_workers=workers, mp_context=context, initializer=gc.disable
    ) as pool:
        yield from pool.map(_body, jobs, chunksize=32)


def _body(job: _Job) -> Body:
    root, path, body_line, slugs, links = job
    try:
        with store.opened(Path(root, path)) as file:
            text = text_of(file.read(LARGEST + 1)[:LARGEST])
    except OSError as error:
        text = f"This page could not be read: {error.strerror or error}."
    body = text.split("\n", body_line - 1)[-1] if body_line > 1 else text
    if "\0" in text:
        body = "This file is no text and is not shown."
    return body_of(body, slugs=slugs, links=links)


def _frame(survey: Survey, cache: sqlite3.Connection, path: str, row: ShownPage) -> Frame:
    def content() -> str:
        packed = cache.execute("select content from shown where path = ?", (path,)).fetchone()[0]
        return zlib.decompress(packed).decode()

    key = store.digest_of(row.key + repr(row.files))
    return Frame(survey.places[path], row.title, content, row.toc, key, _section(survey, path))


def _section(survey: Survey, path: str) -> str:
    page = survey.pages[path]
    target = survey.target_of(page)
    if target is not None:
        return f"{survey.target_folders[target]}/index.html"
    return "indexes" if path not in survey.wiki.pages else type_place(survey, page.type)


def _shows(survey: Survey, page: Page, body: Body) -> dict[str, object]:
    path, run = page.path, run_at(survey, page.path)
    order = {t: n for n, t in enumerate(survey.by_type)}
    citing = [survey.pages[p] for p in survey.wiki.backlinks.get(path, ())]
    citing.sort(key=lambda p: (order.get(p.type, 99), p.title.lower(), p.path))
    groups: dict[str, list[Page]] = defaultdict(list)
    for citer in citing:
        groups[plural(citer.type)].append(citer)
    before, after = survey.neighbours.get(path, ("", ""))
    fields = {
        k: v
        for k, v in page.front.items()
        if k not in ("title", "tags") and v not in (None, "", [])
    }
    return {
        "page": page,
        "body": body,
        "run": run,
        "failed": run is not None and run.facts.verdict.canonical in FAILED,
        "card": survey.card_of.get(path),
        "target": survey.target_of(page),
        "compiled": path not in survey.wiki.pages,
        "tags": tags_of(page),
        "fields": [(name, _field_text(value)) for name, value in fields.items()],
        "citing": groups,
        "before": before,
        "after": after,
        "sky": neighbourhood(survey, path) if path in survey.wiki.pages else None,
    }


def _toc(body: Body) -> tuple[tuple[int, str, str], ...]:
    """Headings for the table of contents: the title of the page is none of them."""
    titles = sum(h.level == 1 for h in body.headings)
    levels = (1, 2, 3) if titles > 1 else (2, 3)
    listed = [tuple(h) for h in body.headings if h.title and h.level in levels]
    return tuple(listed[:_MOST_HEADINGS])


def _field_text(value: object) -> str:
    if isinstance(value, list) and not any(isinstance(v, (dict, list)) for v in value):
        return ", ".join(map(str, value))
    is_nested = isinstance(value, (dict, list, bool))
    return json.dumps(value, ensure_ascii=False) if is_nested else str(value)
