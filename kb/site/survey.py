"""What the site is drawn from, read once from the compiled tables. Refuses to judge: figures are the trail's, reasons the cards'."""

import sqlite3
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import PurePosixPath

from kb import grouped, page, refuted, store, trail
from kb.graph import Files, Graph, graph_of
from kb.page import Page
from kb.refuted import Card
from kb.schema import TYPES
from kb.site.captures import Captures, captures_of, place_of_source
from kb.site.links import name_of, site_paths
from kb.trail import Facts
from kb.trail.levers import key_of
from kb.trail.standing import Standing, standing_of

TYPE_ORDER = tuple(TYPES)


@dataclass(frozen=True, eq=False)
class Survey:
    """Pages (the compiled indexes among them), where each stands in the site, and what trail and cards say."""

    layout: store.Layout
    pages: Mapping[str, Page]
    wiki: Graph
    places: Mapping[str, str]
    experiments: tuple[Facts, ...]
    cards: tuple[Card, ...]
    standings: Mapping[str, Standing]

    @cached_property
    def facts(self) -> dict[str, Facts]:
        return {e.path: e for e in self.experiments}

    @cached_property
    def card_of(self) -> dict[str, Card]:
        """The card that each experiment made."""
        return {c.evidence: c for c in self.cards if c.kind == "experiment"}

    @cached_property
    def trails(self) -> dict[str, tuple[Facts, ...]]:
        """Experiments by target, the targets sorted; those that name none are under an empty name."""
        by_target = grouped((e.target, e) for e in self.experiments)
        return {name: tuple(by_target[name]) for name in sorted(by_target)}

    @cached_property
    def target_pages(self) -> dict[str, Page]:
        """The page of each target: the one that names it, else the only one whose words all stand in the name of one trail alone."""
        pages = [p for _, p in sorted(self.wiki.pages.items()) if p.type == "target"]
        joined = {
            name: p
            for p in reversed(pages)
            for name in (p.field("target"), p.stem)
            if name and name in self.trails
        }
        free = {name for name in self.trails if name and name not in joined}
        loose: dict[str, list[Page]] = defaultdict(list)
        for p in pages:
            words = _words(p.stem)
            near = [name for name in self.trails if words and words <= _words(name)]
            if p not in joined.values() and len(near) == 1 and near[0] in free:
                loose[near[0]].append(p)
        return {**joined, **{name: likely[0] for name, likely in loose.items() if len(likely) == 1}}

    def target_of(self, p: Page) -> str | None:
        """The target that a page belongs to: an experiment's, or the one that it is about."""
        if p.path in self.facts:
            return self.facts[p.path].target
        state = p.path.removeprefix("indexes/state/").removesuffix(".md")
        about = (n for n, own in self.target_pages.items() if own.path == p.path)
        return state if state in self.trails else next(about, None)

    @cached_property
    def captures(self) -> Captures:
        """Captured sources, and why others could not be read."""
        return captures_of(self.layout)

    @cached_property
    def source_places(self) -> dict[str, str]:
        """Where a source stands in the site, by its folder."""
        return {f"sources/{s.id}": place_of_source(s.id) for s in self.captures.sources}

    @cached_property
    def idle_targets(self) -> tuple[Page, ...]:
        """Target pages without a trail."""
        joined = {p.path for p in self.target_pages.values()}
        return tuple(
            p
            for _, p in sorted(self.wiki.pages.items())
            if p.type == "target" and p.path not in joined
        )

    @cached_property
    def target_folders(self) -> dict[str, str]:
        """Folder of the site for each target; no two differ by case only."""
        folders: dict[str, str] = {}
        for name in self.trails:
            folder, n = name_of(name or "no target").lower(), 2
            while folder in folders.values():
                folder, n = f"{name_of(name)}-{n}".lower(), n + 1
            folders[name] = folder
        return {name: f"by-target/{folder}" for name, folder in folders.items()}

    @cached_property
    def by_type(self) -> dict[str, tuple[Page, ...]]:
        """Pages by type in the order of the schema, each list by title."""
        by_type = grouped((p.type, p) for p in self.wiki.pages.values())
        ordered = sorted(by_type, key=lambda t: (TYPE_ORDER.index(t) if t in TYPE_ORDER else 99, t))
        return {
            t: tuple(sorted(by_type[t], key=lambda p: (p.title.lower(), p.path))) for t in ordered
        }

    @cached_property
    def tags(self) -> dict[str, tuple[str, ...]]:
        """Pages under each tag, tags sorted; tags that differ by case only are one."""
        pages = sorted(self.wiki.pages.items())
        by_tag = grouped((tag, path) for path, p in pages for tag in tags_of(p))
        return {tag: tuple(by_tag[tag]) for tag in sorted(by_tag)}

    @cached_property
    def tag_places(self) -> dict[str, tuple[str, str]]:
        """(place, anchor) of each tag; tags share one page while they are few, beyond that one for each first letter."""
        whole = sum(map(len, self.tags.values())) <= 1500
        letters = {t: t[0] if t[0].isascii() and t[0].isalnum() else "other" for t in self.tags}
        return {
            tag: (f"by-tag/{'all' if whole else letters[tag]}.html", f"tag-{store.digest_of(tag)}")
            for tag in self.tags
        }

    @cached_property
    def lever_verdicts(self) -> Mapping[str, list[str]]:
        """Verdicts of all runs that moved a lever, by the lever's key."""
        return grouped(
            (key, e.verdict.canonical or "no verdict")
            for e in self.experiments
            for key in {key_of(v.name) for v in e.levers}
        )

    @cached_property
    def files(self) -> Files:
        return Files(self.layout, self.pages)

    @cached_property
    def compiled(self) -> tuple[str, ...]:
        """The compiled indexes."""
        return tuple(sorted(set(self.pages) - set(self.wiki.pages)))

    @cached_property
    def neighbours(self) -> dict[str, tuple[str, str]]:
        """The experiments before and after each one on its target's trail, empty where there is none."""
        around = {}
        for runs in self.trails.values():
            paths = ["", *(e.path for e in runs), ""]
            around.update({p: (paths[n - 1], paths[n + 1]) for n, p in enumerate(paths) if p})
        return around


def survey_of(layout: store.Layout, db: sqlite3.Connection, kept: store.Kept) -> Survey:
    """Everything the site shows but the text of the pages."""
    read = {
        p: page.from_row(p, d, row)
        for p, d, row in db.execute("select path, digest, row from page order by path")
    }
    compiled = _compiled(layout, kept)
    pages = {**read, **compiled}
    experiments = tuple(e for e in trail.experiments(db) if e.path in read)
    text_of = partial(_text_of, layout)
    return Survey(
        layout,
        pages,
        graph_of(read, link_root=layout.config.link_root),
        site_paths(
            pages,
            wiki=layout.config.wiki,
            taken=(
                "index.html",
                "404.html",
                "graph.html",
                "runs.html",
                "refuted.html",
                "compare.html",
            ),
        ),
        experiments,
        refuted.cards(db),
        {
            name: standing_of(db, name, text_of=text_of)
            for name in sorted({e.target for e in experiments})
        },
    )


def plural(type_name: str) -> str:
    """Name of a page type as a heading: as the vocabulary has it, else the word with an s."""
    if type_name in TYPES:
        return TYPES[type_name].plural
    spaced = type_name.replace("-", " ").replace("_", " ").capitalize()
    return "Other pages" if type_name == "page" else f"{spaced}s"


def type_place(survey: Survey, type_name: str) -> str:
    is_runs = type_name == "experiment" and survey.experiments
    return "runs.html" if is_runs else f"by-type/{name_of(type_name)}.html"


def tags_of(p: Page) -> tuple[str, ...]:
    """The tags of a page, lower case, each once."""
    return tuple(dict.fromkeys(t.lower() for t in p.words("tags") if t))


def _text_of(layout: store.Layout, path: str) -> str:
    return page.text_of(store.read_bytes(layout, path)) if (layout.root / path).is_file() else ""


def _compiled(layout: store.Layout, kept: store.Kept) -> dict[str, Page]:
    files = sorted(layout.indexes.rglob("*.md")) if layout.indexes.is_dir() else []
    paths = [f.relative_to(layout.root).as_posix() for f in files if f.is_file()]
    texts = {path: store.read_bytes(layout, path) for path in paths}
    digests = {path: store.digest_of(data) for path, data in texts.items()}

    def rows() -> dict[str, bytes]:
        return {path: page.to_row(page.read(path, data)) for path, data in texts.items()}

    known = kept.of("indexes", (store.made_by(), digests), dict[str, bytes], rows)
    return {path: page.from_row(path, digests[path], row) for path, row in known.items()}


def _words(name: str) -> frozenset[str]:
    flat = "".join(c if c.isalnum() else " " for c in PurePosixPath(name).as_posix().lower())
    return frozenset(flat.split())
