"""The pages of the wiki as pages of the site, each with a key that changes with all that it shows.
Refuses to know a shell.
"""

import json
import os
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial

from kb import grouped, store, trail
from kb.page import LARGEST, Page, text_of
from kb.schema import FAILED
from kb.site.body import Body, body_of
from kb.site.graph_pictures import neighbourhood
from kb.site.links import Resolver, is_picture
from kb.site.runs import run_at
from kb.site.survey import Survey, plural, tags_of, type_place
from kb.site.templating import Frame, Toc, plain_title, rendered

# Headings that a table of contents lists at most.
_MOST_HEADINGS = 150


@dataclass(frozen=True, slots=True)
class Outward:
    """What a page says beyond the text that it shows: a digest of its anchors, which pages that cite it
    show, and the files outside the wiki that it links to, pictures apart.
    """

    shape: str
    files: tuple[str, ...]
    pictures: tuple[str, ...]


def outward_of(survey: Survey, resolver: Resolver, kept: store.Kept) -> dict[str, Outward]:
    """What every page says beyond its text, from what was kept of those that did not change."""

    def outward(path: str) -> Outward:
        page = resolver.whole(path)
        shape = store.digest_of("\0".join(sorted(page.anchors)))
        return Outward(shape, resolver.outside(page), resolver.outside(page, pictures=True))

    digests = {path: page.digest for path, page in survey.pages.items()}
    return kept.each("outward", digests, Outward, outward)


def linking_of(outward: Mapping[str, Outward]) -> dict[str, set[str]]:
    """Pages by the files outside the wiki that they link to."""
    linking = defaultdict(set)
    for path, out in outward.items():
        for file in (*out.files, *out.pictures):
            linking[file].add(path)
    return linking


def stamps_of(layout: store.Layout, files: Iterable[str]) -> dict[str, str]:
    """Whether files outside the wiki are there now, and of pictures which."""
    return {file: _stamp(layout, file) for file in files}


def _stamp(layout: store.Layout, file: str) -> str:
    try:
        there = os.stat(layout.root / file)
    except (OSError, ValueError):
        return ""
    return f"{there.st_size} {there.st_mtime_ns}" if is_picture(file) else "there"


def wiki_frames(survey: Survey, resolver: Resolver, ways: Mapping[str, str]) -> Iterator[Frame]:
    """Every page of the wiki and of the compiled indexes; `ways` are digests of where the links of each lead."""
    for path, page in sorted(survey.pages.items()):
        target = survey.target_of(page)
        section = "indexes" if path not in survey.wiki.pages else type_place(survey, page.type)
        if target is not None:
            section = f"{survey.target_folders[target]}/index.html"
        title, key = plain_title(page.title), _key(survey, path, ways[path])
        content = partial(_content, survey, resolver, path)
        yield Frame(survey.places[path], title, key, section, content)


def ways_of(
    survey: Survey,
    resolver: Resolver,
    outward: Mapping[str, Outward],
    stamps: Mapping[str, str],
    kept: store.Kept,
) -> dict[str, str]:
    """A digest of where the links of each page lead, found again by all that they may lead to."""
    pages, places, wiki, names = survey.pages, survey.places, survey.wiki, survey.files.names
    shapes = {path: (path, places[path], out.shape) for path, out in outward.items()}
    # A compiled index cites pages of which the graph of the wiki does not know.
    around = repr((survey.layout.config, survey.source_places)), store.digest_of(repr(shapes))

    def inputs(path: str) -> str:
        cited = [shapes[p] for p in wiki.outlinks.get(path, ())] if path in wiki.pages else around
        meant = [names.meant(c[2:], pages[path]) for c in pages[path].cited if c[:2] == "[["]
        files = [stamps[f] for f in (*outward[path].files, *outward[path].pictures)]
        return store.digest_of(
            repr((around[0], pages[path].digest, shapes[path], cited, meant, files))
        )

    def ways(path: str) -> str:
        return store.digest_of(repr(resolver.links(resolver.whole(path), places[path])))

    return kept.each("ways", {path: inputs(path) for path in pages}, str, ways)


def _key(survey: Survey, path: str, ways: str) -> str:
    """Digest of everything that a page shows; `ways` is one of where its links lead."""
    page, pages, sky = survey.pages[path], survey.pages, neighbourhood(survey, path)
    parent, target = getattr(survey.facts.get(path), "parent", ""), survey.target_of(page)
    # Of many pages near by the most cited are drawn, which an edit far away may change.
    drawn = [star[0] for star in (sky["stars"] if sky else ())]
    named = (parent, *survey.neighbours.get(path, ()), *survey.wiki.backlinks.get(path, ()), *drawn)
    shown = (
        (survey.layout.config.site_repository, page.digest, survey.places[path]),
        [(p, survey.places[p], pages[p].title, pages[p].type) for p in named if p in pages],
        (run_at(survey, path), survey.card_of.get(path), target, survey.target_folders.get(target)),
        ([survey.tag_places.get(t) for t in tags_of(page)], sky, ways),
    )
    return store.digest_of(repr(shown))


def _content(survey: Survey, resolver: Resolver, path: str) -> tuple[str, Toc]:
    """A page as HTML, with the headings of its table of contents: the title of the page is none of them."""
    page, place = resolver.whole(path), survey.places[path]
    links = resolver.links(page, place)
    body = body_of(_text(survey, page), slugs=[h.slug for h in page.headings], links=links)
    titles = sum(h.level == 1 for h in body.headings)
    levels = (1, 2, 3) if titles > 1 else (2, 3)
    toc = [tuple(h) for h in body.headings if h.title and h.level in levels]
    html = rendered(survey, place, "page.html", _shows(survey, page, body))
    return html, tuple(toc[:_MOST_HEADINGS])


def _text(survey: Survey, page: Page) -> str:
    """The body of a page as it stands on the disk now."""
    try:
        with store.opened(survey.layout.root / page.path) as file:
            text = text_of(file.read(LARGEST + 1)[:LARGEST])
    except OSError as error:
        return f"This page could not be read: {error.strerror or error}."
    if "\0" in text:
        return "This file is no text and is not shown."
    return text.split("\n", page.body_line - 1)[-1] if page.body_line > 1 else text


def _shows(survey: Survey, page: Page, body: Body) -> dict[str, object]:
    path, run = page.path, run_at(survey, page.path)
    order = {t: n for n, t in enumerate(survey.by_type)}
    citing = [survey.pages[p] for p in survey.wiki.backlinks.get(path, ())]
    citing.sort(key=lambda p: (order.get(p.type, 99), p.title.lower(), p.path))
    groups = grouped((plural(citer.type), citer) for citer in citing)
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
        "target": (target := survey.target_of(page)),
        "target_name": trail.name_of(target or "", survey.trails),
        "compiled": path not in survey.wiki.pages,
        "tags": tags_of(page),
        "fields": [(name, _field_text(value)) for name, value in fields.items()],
        "citing": groups,
        "before": before,
        "after": after,
        "sky": neighbourhood(survey, path) if path in survey.wiki.pages else None,
    }


def _field_text(value: object) -> str:
    if isinstance(value, list) and not any(isinstance(v, (dict, list)) for v in value):
        return ", ".join(map(str, value))
    is_nested = isinstance(value, (dict, list, bool))
    return json.dumps(value, ensure_ascii=False) if is_nested else str(value)
