"""The plan of the site: a view of every page, the pages that no one wrote, and the navigation. Refuses to read or write files."""

import json
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from urllib.parse import quote

from kb.graph import Graph
from kb.page import Page
from kb.refuted import Card
from kb.site.hubs import (
    TYPE_ORDER,
    Entry,
    Home,
    TargetHub,
    anchor,
    home_page,
    listing_page,
    plural,
    refuted_page,
    tags_index,
    tags_page,
    target_box,
    target_page,
)
from kb.site.pages import Ref, View, plain_title
from kb.site.places import Map, destinations, name_of, url_between
from kb.trail import Facts
from kb.trail.standing import Standing

# A section of the navigation lists its own pages up to this many; beyond it, its list page is where one looks.
_NAV_PAGES = 45
# Tags share one page up to this many entries, beyond that they are split by first letter.
_ONE_TAG_PAGE = 1500
_REFUTED_ANYWHERE = "by-target/refuted.md"
_LATEST = 25
_CENTRAL = 24

Nav = list[dict[str, "str | Nav"]]


@dataclass(frozen=True, slots=True)
class Plan:
    """Wiki pages to render, other files with their text, and the navigation as MkDocs takes it."""

    views: tuple[View, ...]
    files: Mapping[str, str]
    nav: Nav


@dataclass(frozen=True)
class Survey:
    """Everything the plan is drawn from; `site` resolves links, `wiki` is the graph without the compiled indexes."""

    site: Map
    wiki: Graph
    experiments: tuple[Facts, ...]
    cards: tuple[Card, ...]
    standing: Callable[[str], Standing]

    @cached_property
    def trails(self) -> dict[str, tuple[Facts, ...]]:
        """Experiments by target, the targets sorted; those that name none are under an empty name."""
        found: dict[str, list[Facts]] = defaultdict(list)
        for e in self.experiments:
            found[e.target].append(e)
        for page in self.wiki.pages.values():
            if page.type == "target":
                found.setdefault(target_named(page), [])
        return {name: tuple(found[name]) for name in sorted(found) if name or found[name]}

    @cached_property
    def standings(self) -> dict[str, Standing]:
        """Where each target that has experiments stands."""
        return {name: self.standing(name) for name, trail in self.trails.items() if name and trail}

    @cached_property
    def refuted(self) -> dict[str, tuple[Card, ...]]:
        """Cards by target in trail order; those of no target, or of one that is not there, are under an empty name."""
        found: dict[str, list[Card]] = defaultdict(list)
        for card in self.cards:
            found[card.target if card.target in self.trails else ""].append(card)
        return {name: tuple(found[name]) for name in sorted(found)}

    def refuted_place(self, name: str) -> str:
        return f"{self.target_places[name]}/refuted.md" if name else _REFUTED_ANYWHERE

    @cached_property
    def target_pages(self) -> dict[str, Page]:
        """The page of each target, by the target's name."""
        return {target_named(p): p for _, p in sorted(self.wiki.pages.items(), reverse=True) if p.type == "target"}

    @cached_property
    def target_places(self) -> dict[str, str]:
        """Folder of the site for each target; no two differ by case only."""
        used: dict[str, str] = {}
        for name in self.trails:
            folder, n = name_of(name or "no target"), 2
            while folder.lower() in used.values():
                folder, n = f"{name_of(name)}-{n}", n + 1
            used[name] = folder.lower()
        return {name: f"by-target/{folder}" for name, folder in used.items()}

    @cached_property
    def tags(self) -> dict[str, tuple[str, ...]]:
        """Pages under each tag, tags sorted; tags that differ by case only are one."""
        found: dict[str, list[str]] = defaultdict(list)
        for path, page in sorted(self.wiki.pages.items()):
            for tag in dict.fromkeys(t.lower() for t in page.words("tags") if t):
                found[tag].append(path)
        return {tag: tuple(found[tag]) for tag in sorted(found)}

    @cached_property
    def tag_places(self) -> dict[str, tuple[str, str]]:
        """(place, anchor) of each tag."""
        whole = sum(map(len, self.tags.values())) <= _ONE_TAG_PAGE
        return {tag: ("by-tag/all.md" if whole else f"by-tag/{_letter(tag)}.md", f"tag-{n}") for n, tag in enumerate(self.tags)}

    @cached_property
    def by_type(self) -> dict[str, tuple[Page, ...]]:
        """Pages by type in the order of the schema, each list by title."""
        found: dict[str, list[Page]] = defaultdict(list)
        for page in self.wiki.pages.values():
            found[page.type].append(page)
        ordered = sorted(found, key=lambda t: (TYPE_ORDER.index(t) if t in TYPE_ORDER else 99, t))
        return {t: tuple(sorted(found[t], key=lambda p: (p.title.lower(), p.path))) for t in ordered}

    def ref(self, path: str, place: str) -> Ref:
        """A page as a link from `place`."""
        page = self.site.graph.pages[path]
        return Ref(url_between(place, self.site.places[path]), page.title, page.type)


def target_named(page: Page) -> str:
    """The name under which experiments speak of a target page."""
    return page.field("target") or page.stem


def _letter(tag: str) -> str:
    return tag[0] if tag[0].isascii() and tag[0].isalnum() else "other"


def type_place(type_name: str) -> str:
    return f"by-type/{name_of(type_name)}.md"


def plan_of(
    site: Map, *, wiki: Graph, experiments: tuple[Facts, ...], cards: tuple[Card, ...], standing: Callable[[str], Standing]
) -> Plan:
    """The whole site as it should be."""
    survey = Survey(site, wiki, experiments, cards, standing)
    indexes = sorted(set(site.graph.pages) - set(wiki.pages))
    facts = {e.path: e for e in experiments}
    around = _neighbours(survey)
    files = {"index.md": _home(survey, indexes), **_targets(survey), **_refuted(survey), **_types(survey), **_tags(survey)}
    nav = _nav(survey, indexes, files)
    listed = frozenset(_listed(nav))
    views = tuple(_view(survey, path, facts.get(path), around, listed=listed) for path in sorted(site.graph.pages))
    return Plan(views, files, nav)


def _listed(nav: Nav) -> Iterator[str]:
    for entry in nav:
        for value in entry.values():
            if isinstance(value, str):
                yield value
            else:
                yield from _listed(value)


def _neighbours(survey: Survey) -> dict[str, tuple[str | None, str | None]]:
    """The experiments before and after each one on its target's trail."""
    found = {}
    for trail in survey.trails.values():
        paths = [None, *(e.path for e in trail), None]
        found.update({path: (paths[n - 1], paths[n + 1]) for n, path in enumerate(paths) if path})
    return found


def _view(
    survey: Survey, path: str, facts: Facts | None, around: Mapping[str, tuple[str | None, str | None]], *, listed: frozenset[str]
) -> View:
    page, place = survey.site.graph.pages[path], survey.site.places[path]
    compiled = path not in survey.wiki.pages
    citing = [survey.ref(p, place) for p in survey.wiki.backlinks.get(path, ())]
    order = {t: n for n, t in enumerate(survey.by_type)}
    repository = survey.site.layout.config.site_repository
    return View(
        path=path,
        digest=page.digest,
        place=place,
        title=page.title,
        type=page.type,
        body_line=page.body_line,
        slugs=tuple(h.slug for h in page.headings),
        links=tuple(sorted(destinations(page, survey.site, place=place).items())),
        crumbs=_crumbs(survey, page, place, facts, compiled=compiled),
        badges=_badges(page, facts),
        tags=tuple(
            Ref(url_between(place, *survey.tag_places[t]), t)
            for t in dict.fromkeys(t.lower() for t in page.words("tags") if t)
            if t in survey.tag_places
        ),
        fields=tuple((k, _shown(v)) for k, v in page.front.items() if k not in ("title", "tags") and v not in (None, "", [])),
        symbols=page.symbols,
        cited_by=tuple(sorted(citing, key=lambda r: (order.get(r.type, 99), r.title.lower(), r.url))),
        box=_box(survey, page, place, around),
        source_url=f"{repository.rstrip('/')}/{quote(path)}" if repository else "",
        searched=not compiled and page.type not in ("catalog", "index"),
        in_navigation=place in listed,
    )


def _shown(value: object) -> str:
    if isinstance(value, list) and not any(isinstance(v, (dict, list)) for v in value):
        return ", ".join(map(str, value))
    return json.dumps(value, ensure_ascii=False) if isinstance(value, (dict, list, bool)) else str(value)


def _crumbs(survey: Survey, page: Page, place: str, facts: Facts | None, *, compiled: bool) -> tuple[Ref, ...]:
    home = Ref(url_between(place, "index.md"), "Home")
    if compiled:
        return home, Ref(url_between(place, "index.md", "indexes"), "Indexes")
    if facts is not None:
        return home, Ref(url_between(place, f"{survey.target_places[facts.target]}/index.md"), facts.target or "no target")
    return home, Ref(url_between(place, type_place(page.type)), plural(page.type))


def _badges(page: Page, facts: Facts | None) -> tuple[tuple[str, str], ...]:
    made = [("type", page.type)]
    if facts is not None:
        made += [(facts.verdict.canonical or "none", facts.verdict.canonical or "no verdict")]
        made += [("decision", facts.decision)] if facts.decision else []
        made += [("plain", facts.variant)] if facts.variant else []
    elif page.type == "hypothesis" and page.field("status"):
        made += [(page.field("status").lower(), page.field("status"))]
    made += [("plain", page.date)] if page.date else []
    return tuple((kind.replace(" ", "-"), text) for kind, text in made)


def _box(survey: Survey, page: Page, place: str, around: Mapping[str, tuple[str | None, str | None]]) -> str:
    """What stands below the badges: the way along the trail, or a target's verdicts."""
    if page.path in around:
        before, after = around[page.path]
        made = [
            f'<span class="kb-{side}">{anchor(survey.ref(p, place))}</span>'
            for side, p in (("before", before), ("after", after))
            if p
        ]
        return f'<div class="kb-along" data-search-exclude>{"".join(made)}</div>' if made else ""
    name = target_named(page)
    if survey.target_pages.get(name) is page:
        hub = Ref(url_between(place, f"{survey.target_places[name]}/index.md"), f"Experiments ({len(survey.trails[name])})")
        return target_box(survey.trails[name], _ways(survey, name, place, hub))
    return ""


def _ways(survey: Survey, name: str, place: str, *first: Ref) -> list[Ref]:
    cards = survey.refuted.get(name, ())
    more = [Ref(url_between(place, survey.refuted_place(name)), f"Why refuted ({len(cards)})")] if cards and name else []
    return [*first, *more]


def _targets(survey: Survey) -> dict[str, str]:
    made = {}
    by_folder = defaultdict(list)
    for path in sorted(survey.wiki.pages):
        by_folder[path.rpartition("/")[0]].append(path)
    for name, experiments in survey.trails.items():
        place = f"{survey.target_places[name]}/index.md"
        standing = survey.standings.get(name)
        known = [*(e.path for e in experiments), *(lead.path for lead in (standing.leads if standing else ()))]
        refs = {p: survey.ref(p, place) for p in known if p in survey.wiki.pages}
        own = {e.path for e in experiments}
        page = survey.target_pages.get(name)
        folders = sorted({e.path.rpartition("/")[0] for e in experiments})
        notes = [p for f in folders for p in by_folder[f] if p not in own and f != "wiki/experiments"]
        hypotheses = [
            p for p in survey.by_type.get("hypothesis", ()) if name and (p.field("target") == name or name in p.words("targets"))
        ]
        primary = page.front.get("metric") if page else None
        hub = TargetHub(
            name or "no target",
            experiments,
            refs,
            survey.ref(page.path, place) if page else None,
            str(primary.get("name", "")) if isinstance(primary, dict) else "",
            tuple(survey.ref(p, place) for p in notes),
            tuple((survey.ref(p.path, place), p.field("status")) for p in hypotheses),
            next(iter(_ways(survey, name, place)), None),
            standing,
        )
        made[place] = target_page(hub)
    return made


def _refuted(survey: Survey) -> dict[str, str]:
    made = {}
    for name, cards in survey.refuted.items():
        place = survey.refuted_place(name)
        refs = {p: survey.ref(p, place) for card in cards for p in (card.evidence, card.by) if p in survey.site.places}
        hub = Ref(url_between(place, f"{survey.target_places[name]}/index.md"), "the target's page") if name else None
        made[place] = refuted_page(name, cards, refs, hub=hub)
    return made


def _types(survey: Survey) -> dict[str, str]:
    made = {}
    for name, members in survey.by_type.items():
        place = type_place(name)
        status = "verdict" if name == "experiment" else "status"
        entries = [
            Entry(
                survey.ref(p.path, place),
                p.folder.removeprefix("wiki").strip("/"),
                p.date,
                len(survey.wiki.backlinks.get(p.path, ())),
                p.field(status) if name == "hypothesis" else "",
            )
            for p in members
        ]
        made[place] = listing_page(plural(name), entries)
    return made


def _tags(survey: Survey) -> dict[str, str]:
    if not survey.tags:
        return {}
    there = "by-tag/index.md"
    made = {
        there: tags_index([(Ref(url_between(there, *survey.tag_places[t]), t), len(paths)) for t, paths in survey.tags.items()])
    }
    shared: dict[str, list[str]] = defaultdict(list)
    for tag, (place, _) in survey.tag_places.items():
        shared[place].append(tag)
    for place, tags in shared.items():
        entries = [(t, survey.tag_places[t][1], [survey.ref(p, place) for p in survey.tags[t]]) for t in tags]
        made[place] = tags_page(
            place.removeprefix("by-tag/").removesuffix(".md"), entries, back=Ref(url_between(place, there), "All tags")
        )
    return made


def _home(survey: Survey, indexes: Sequence[str]) -> str:
    place = "index.md"
    config = survey.site.layout.config
    latest = survey.experiments[-_LATEST:]
    rank = survey.wiki.rank
    central = sorted(
        (
            p
            for p in survey.wiki.pages.values()
            if p.type in ("concept", "observation", "hypothesis", "source", "analysis", "codebase")
        ),
        key=lambda p: (-rank[p.path], p.path),
    )[:_CENTRAL]
    lead = [survey.ref(p, place) for p in ("wiki/index.md", "wiki/log.md", "wiki/README.md") if p in survey.wiki.pages]
    lead += [Ref(url_between(place, _REFUTED_ANYWHERE), "Refuted, whatever the target")] if "" in survey.refuted else []
    return home_page(
        Home(
            config.site_name or config.name or "Knowledge base",
            tuple(lead),
            tuple((Ref(url_between(place, type_place(t)), plural(t)), len(members)) for t, members in survey.by_type.items()),
            tuple(
                (Ref(url_between(place, f"{survey.target_places[n]}/index.md"), n or "no target"), e, survey.standings.get(n))
                for n, e in sorted(survey.trails.items(), key=lambda item: (not item[1], item[0]))
            ),
            latest,
            {e.path: survey.ref(e.path, place) for e in latest},
            tuple(survey.ref(p.path, place) for p in central),
            tuple(survey.ref(p, place) for p in indexes),
        )
    )


def _nav(survey: Survey, indexes: Sequence[str], files: Mapping[str, str]) -> Nav:
    nav: Nav = [{"Home": "index.md"}]
    targets: Nav = []
    for name in survey.trails:
        folder, page = survey.target_places[name], survey.target_pages.get(name)
        members: Nav = [{"Experiments": f"{folder}/index.md"}]
        members += [{"Target": survey.site.places[page.path]}] if page else []
        members += [{"Why refuted": survey.refuted_place(name)}] if name in survey.refuted and name else []
        trail = survey.trails[name]
        members += (
            [{plain_title(survey.site.graph.pages[e.path].title): survey.site.places[e.path]} for e in reversed(trail)]
            if len(trail) <= _NAV_PAGES
            else []
        )
        targets.append({plain_title(name or "no target"): members})
    targets += [{"Refuted everywhere": _REFUTED_ANYWHERE}] if _REFUTED_ANYWHERE in files else []
    nav += [{"Targets": targets}] if targets else []
    for title, wanted in (("Knowledge", _KNOWLEDGE), ("Sources", ("source", "codebase"))):
        section = [_type_nav(survey, t) for t in survey.by_type if t in wanted]
        nav += [{title: section}] if section else []
    rest = [_type_nav(survey, t) for t in survey.by_type if t not in (*_KNOWLEDGE, "source", "codebase", "target")]
    nav += [{"More": rest}] if rest else []
    nav += (
        [
            {
                "Indexes": [
                    {plain_title(survey.site.graph.pages[p].title): survey.site.places[p]} for p in indexes if p.count("/") == 1
                ]
            }
        ]
        if indexes
        else []
    )
    nav += [{"Tags": "by-tag/index.md"}] if survey.tags else []
    return nav


_KNOWLEDGE = ("concept", "observation", "hypothesis", "analysis")


def _type_nav(survey: Survey, type_name: str) -> dict[str, "str | Nav"]:
    members = survey.by_type[type_name]
    listed: Nav = (
        [{plain_title(p.title): survey.site.places[p.path]} for p in members]
        if len(members) <= _NAV_PAGES and type_name != "experiment"
        else []
    )
    return {plain_title(plural(type_name)): [{"All": type_place(type_name)}, *listed] if listed else type_place(type_name)}
