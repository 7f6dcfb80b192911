"""The pages of the wiki as pages of the site: each rendered once, and found again by a digest of all that it shows. Refuses to know a shell."""

import gc
import json
import multiprocessing
import os
import sqlite3
import zlib
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from kb import KbError, store
from kb.page import LARGEST, Page, text_of
from kb.site.body import Body, Destination, body_of
from kb.site.charts import neighbourhood
from kb.site.hubs import head_of, plural, type_place
from kb.site.look import Frame, plain_title, rendered
from kb.site.places import Resolver
from kb.site.search import document_of
from kb.site.survey import Survey, tags_of

# Fewer pages than this are rendered in this process: starting a pool costs more.
_POOL_FROM = 100
_TABLE = """create table if not exists leaf (path text primary key, key text not null, digest text not null, shape text not null,
    title text not null, toc text not null, files text not null, pictures text not null, document text not null, content blob not null)"""
_FILE = "site.db"


@dataclass(frozen=True, slots=True)
class Leaves:
    """All pages of the wiki, rendered: frames, search documents, pictures by place, the files outside that they hang on, and how many
    were rendered anew.
    """

    frames: tuple[Frame, ...]
    documents: Mapping[str, list]
    pictures: Mapping[str, bytes]
    files: Mapping[str, str]
    fresh: int


def cache_of(layout: store.Layout) -> sqlite3.Connection:
    """What earlier builds rendered; begun anew where it is damaged. Raises KbError where it is a link, or another program's."""
    for attempt in (1, 2):
        try:
            db = store.state(layout, writable=True, name=_FILE)
            db.execute(_TABLE)
            return db
        except sqlite3.DatabaseError as error:
            if attempt == 2:
                raise KbError(f".kb/{_FILE}: {error}; delete it and build again") from error
            for name in (_FILE, f"{_FILE}-wal", f"{_FILE}-shm"):
                store.remove(layout.state / name)
    raise AssertionError("unreachable")


def leaves_of(survey: Survey, cache: sqlite3.Connection, *, code: str, have: Callable[[str], bool], note: Callable[[str], None]) -> Leaves:
    """Every page, from the cache where nothing that it shows has changed. `have` is whether a picture stands in the site already."""
    resolver = Resolver(survey.layout, survey.pages, survey.places, survey.files)
    rows = {row[0]: row[1:] for row in cache.execute("select path, key, digest, shape, title, toc, files, pictures, document from leaf")}
    shapes = {p: rows[p][2] if p in rows and rows[p][1] == page.digest else _shape(resolver.whole(p)) for p, page in survey.pages.items()}
    keys = {path: _key(survey, path, shapes, code) for path in sorted(survey.pages)}
    stamps: dict[str, str] = {}

    def is_current(path: str) -> bool:
        if path not in rows or rows[path][0] != keys[path]:
            return False
        files = json.loads(rows[path][5])
        for file in files:
            stamps.setdefault(file, stamp_of(survey.layout, file))
        return all(stamps[f] == s for f, s in files.items()) and all(map(have, json.loads(rows[path][6])))

    stale = [path for path in keys if not is_current(path)]
    if len(stale) >= _POOL_FROM:
        note(f"rendering {len(stale)} of {len(keys)} pages")
    pictures: dict[str, bytes] = {}
    jobs, resolved = [], {}
    for path in stale:
        page = resolver.whole(path)
        resolved[path] = resolver.resolved(page, survey.places[path])
        pictures |= resolved[path].pictures
        jobs.append((str(survey.layout.root), path, page.body_line, tuple(h.slug for h in page.headings), resolved[path].links))
    cache.execute("begin immediate")
    for path, (body, text) in zip(stale, _bodies(jobs), strict=True):
        page = resolver.whole(path)
        content = rendered(survey, survey.places[path], "page.html", _shows(survey, page, body))
        files = {f: stamps.setdefault(f, stamp_of(survey.layout, f)) for f in resolved[path].files}
        document = document_of(survey, page, body, text)
        toc = json.dumps(_toc(body), ensure_ascii=False)
        kept = json.dumps(sorted(resolved[path].pictures))
        packed = zlib.compress(content.encode("utf-8", "replace"), 1)
        row = (keys[path], page.digest, shapes[path], plain_title(page.title), toc, json.dumps(files), kept, json.dumps(document))
        rows[path] = row
        cache.execute("insert or replace into leaf values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", (path, *row, packed))
    cache.executemany("delete from leaf where path = ?", [(p,) for p in rows if p not in keys])
    cache.execute("commit")
    frames = tuple(_kept_frame(survey, cache, path, rows[path]) for path in keys)
    kept_pictures = {p: b"" for path in keys for p in json.loads(rows[path][6])}
    documents = {path: json.loads(rows[path][7]) for path in keys}
    files = {f: s for path in keys for f, s in json.loads(rows[path][5]).items()}
    return Leaves(frames, documents, {**kept_pictures, **pictures}, files, len(stale))


def stamp_of(layout: store.Layout, file: str) -> str:
    """Whether a file outside the wiki is there, and of a picture which one."""
    try:
        there = os.stat(layout.root / file)
    except (OSError, ValueError):
        return ""
    return f"{there.st_size} {there.st_mtime_ns}" if file.lower().endswith((".png", ".jpg", ".jpeg", ".gif", ".webp", ".svg")) else "there"


def _shape(page: Page) -> str:
    return store.digest_of("\0".join(sorted(page.anchors)))


def _key(survey: Survey, path: str, shapes: Mapping[str, str], code: str) -> str:
    """Digest of everything that a page shows."""
    page, pages, places = survey.pages[path], survey.pages, survey.places
    around = survey.neighbours.get(path, ("", ""))
    citing = [(p, pages[p].title, pages[p].type) for p in survey.wiki.backlinks.get(path, ())]
    cited = [(p, places[p], pages[p].title, shapes[p]) for p in survey.wiki.outlinks.get(path, ())]
    tags = [survey.tag_places.get(t) for t in tags_of(page)]
    head = head_of(survey, path)
    config = survey.layout.config
    shown = (code, page.digest, places[path], citing, cited, tags, head, [(p, pages[p].title) for p in around if p])
    return store.digest_of(repr((*shown, survey.card_of.get(path), _target_of(survey, page), config.site_repository, config.local)))


def _target_of(survey: Survey, page: Page) -> str:
    facts = survey.facts.get(page.path)
    if facts is not None:
        return survey.target_folders[facts.target]
    return next((survey.target_folders[n] for n, p in survey.target_pages.items() if p.path == page.path), "")


def _bodies(jobs: list) -> Iterator[tuple[Body, str]]:
    if len(jobs) < _POOL_FROM:
        yield from map(_body, jobs)
        return
    context = multiprocessing.get_context("fork")
    # Short-lived processes that make nothing cyclic need no collector.
    with ProcessPoolExecutor(max_workers=min(4, os.cpu_count() or 1), mp_context=context, initializer=gc.disable) as pool:
        yield from pool.map(_body, jobs, chunksize=32)


def _body(job: tuple[str, str, int, tuple[str, ...], Mapping[str, Destination]]) -> tuple[Body, str]:
    root, path, body_line, slugs, links = job
    try:
        with open(Path(root, path), "rb") as file:
            text = text_of(file.read(LARGEST + 1)[:LARGEST])
    except OSError as error:
        text = f"This page could not be read: {error.strerror or error}."
    body = text.split("\n", body_line - 1)[-1] if body_line > 1 else text
    if "\0" in text:
        body = "This file is no text and is not shown."
    return body_of(body, slugs=slugs, links=links), body[:6000]


def _kept_frame(survey: Survey, cache: sqlite3.Connection, path: str, row: tuple) -> Frame:
    toc = tuple((level, anchor, title) for level, anchor, title in json.loads(row[4]))

    def content() -> str:
        return zlib.decompress(cache.execute("select content from leaf where path = ?", (path,)).fetchone()[0]).decode()

    return Frame(survey.places[path], row[3], content, toc, store.digest_of(row[0] + row[5]), _section(survey, path))


def _section(survey: Survey, path: str) -> str:
    page = survey.pages[path]
    folder = _target_of(survey, page)
    return f"{folder}/index.html" if folder else "indexes" if path not in survey.wiki.pages else type_place(survey, page.type)


def _shows(survey: Survey, page: Page, body: Body) -> dict[str, object]:
    path = page.path
    facts = survey.facts.get(path)
    order = {t: n for n, t in enumerate(survey.by_type)}
    citing = sorted((survey.pages[p] for p in survey.wiki.backlinks.get(path, ())), key=lambda p: (order.get(p.type, 99), p.title.lower(), p.path))
    groups: dict[str, list[Page]] = {}
    for citer in citing:
        groups.setdefault(plural(citer.type), []).append(citer)
    before, after = survey.neighbours.get(path, ("", ""))
    target = next((n for n, p in survey.target_pages.items() if p.path == path), facts.target if facts else "")
    return {
        "page": page,
        "body": body,
        "facts": facts,
        "head": head_of(survey, path),
        "target": target,
        "compiled": path not in survey.wiki.pages,
        "tags": tags_of(page),
        "fields": [(k, _shown(v)) for k, v in page.front.items() if k not in ("title", "tags") and v not in (None, "", [])],
        "citing": groups,
        "before": before,
        "after": after,
        "sky": neighbourhood(survey, path) if path in survey.wiki.pages else None,
    }


def _toc(body: Body) -> list[tuple[int, str, str]]:
    """Headings for the table of contents: the title of the page is none of them."""
    top = sum(h.level == 1 for h in body.headings)
    shown = [h for h in body.headings if h.title and (2 <= h.level <= 3 or h.level == 1 and top > 1)]
    return [(h.level, h.anchor, h.title) for h in shown[:150]]


def _shown(value: object) -> str:
    if isinstance(value, list) and not any(isinstance(v, (dict, list)) for v in value):
        return ", ".join(map(str, value))
    return json.dumps(value, ensure_ascii=False) if isinstance(value, (dict, list, bool)) else str(value)
