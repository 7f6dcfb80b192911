"""Topics of a wiki: a concept and what the wiki itself ties to it by words, links and tags. No list of any domain's terms.

A topic with experiments is a mechanism that runs pull; one without is known and was not tried.
"""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import chain

from kb.graph import Graph
from kb.indexes.run_groups import run_groups
from kb.indexes.run_words import names_of, plain_words, words_by_run
from kb.indexes.survey import Neighbours, WikiSurvey, inputs_of, neighbours_of, survey_of
from kb.page import Page
from kb.schema import place_of, type_of_folder
from kb.store import Kept
from kb.trail import Trail

# Pages that a run links because of what it tries; it links sources, targets and codebases whatever it tries.
_ABOUT_MATTER = ("concept", "topic", "observation", "hypothesis")
# A page joins a hub's topic if it shares this much of its neighbourhood (cosine), so that near-synonyms make one topic.
_SAME_TOPIC = 0.34
# It is a page of a topic whose neighbourhood it shares so much of, or whose hub it is linked with.
_MEMBER = 0.25
# A concept is a topic with so many pages, or so many runs that pull it.
_LEAST_PAGES, _LEAST_PULLED = 3, 2


@dataclass(frozen=True, slots=True)
class Topic:
    """One topic: `hub` is the page it is named after (empty where a tag, a lever or a theme names it).

    Pages in the order of their tie to it; experiments newest first, none of them a baseline; `shares` is how much of the
    topic's name each of them says, 0 to 1.
    """

    name: str
    anchor: str
    hub: str
    tags: tuple[str, ...]
    pages: tuple[str, ...]
    experiments: tuple[str, ...]
    shares: tuple[float, ...]


def topics_of(
    graph: Graph,
    trail: Trail,
    kept: Kept,
    *,
    name: str = "",
    only: frozenset[str] | None = None,
) -> tuple[Topic, ...]:
    """Topics that most runs pull first, then those that none does, the best known first; `only` limits them to some pages, which have a `name`."""
    words = words_by_run(trail, kept)
    return kept.of(
        f"topics#{name}",
        inputs_of(graph, trail, words, only=only),
        tuple[Topic, ...],
        lambda: _topics(survey_of(graph, trail, words, only=only)),
    )


def _topics(survey: WikiSurvey) -> tuple[Topic, ...]:
    spoken = _runs_by_words(survey)
    near = {
        p: _pulled_ties(survey, p, spoken[p]) if p in spoken else ties
        for p, ties in survey.near.items()
    }
    hubs, absorbed = _hubs(survey, spoken, near)
    members = _members(survey.pages, near, hubs)
    topics = [
        _topic(survey, own, frozenset().union(*(spoken[p] for p in (hub, *absorbed[hub]))))
        for hub, own in members.items()
    ]
    topics = [
        t for t in topics if len(t.pages) >= _LEAST_PAGES or len(t.experiments) >= _LEAST_PULLED
    ]
    topics += _unnamed(survey, topics)
    topics.sort(key=lambda t: (-len(t.experiments), -len(t.pages), t.name))
    return _named_apart(topics)


class _Nearest:
    """Neighbourhoods by what they hold, so that none are compared that share nothing."""

    def __init__(self):
        self.linking: dict[str, list[str]] = defaultdict(list)
        self.tagged: dict[str, list[str]] = defaultdict(list)
        self.lengths: dict[str, float] = {}
        self.shortest = math.inf

    def add(self, path: str, near: Neighbours) -> None:
        self.lengths[path] = near.length
        self.shortest = min(self.shortest, near.length)
        for held, keys in ((self.linking, near.links), (self.tagged, near.tags)):
            for key in keys:
                held[key].append(path)

    def alike(self, near: Neighbours, *, least: float) -> dict[str, float]:
        """Those whose cosine with a neighbourhood is `least` or more, with it."""
        linking, length = self.linking, near.length
        products: Counter[str] = Counter(
            chain.from_iterable(linking[k] for k in near.links if k in linking)
        )
        for tag, weight in near.tags.items():
            products.update(dict.fromkeys(self.tagged.get(tag, ()), weight * weight))
        # Most share a page or two with it, too few even for the shortest of them.
        few = 0.999 * least * length * self.shortest
        near_enough = ((path, n) for path, n in products.items() if n >= few)
        cosines = ((path, n / (length * self.lengths[path])) for path, n in near_enough)
        return {path: cosine for path, cosine in cosines if cosine >= least}


def _cosine(a: Neighbours, b: Neighbours) -> float:
    both = len(a.links & b.links)
    if not a.tags.keys().isdisjoint(b.tags):
        both += sum(weight * weight for tag, weight in a.tags.items() if tag in b.tags)
    return both / (a.length * b.length)


def _candidates(pages: Mapping[str, Page]) -> list[str]:
    """Concepts (observations where a wiki has no concepts); not those that stand in the folder of another type, such as a codebase's own pages."""
    kinds = (
        ("concept", "topic")
        if any(p.type in ("concept", "topic") for p in pages.values())
        else ("observation", "hypothesis")
    )
    all_of_kind = [p for p, page in pages.items() if page.type in kinds]
    return [
        p for p in all_of_kind if type_of_folder(place_of(p)[0]) in (None, pages[p].type)
    ] or all_of_kind


def _runs_by_words(survey: WikiSurvey) -> dict[str, frozenset[str]]:
    """Concept -> runs that pull it."""
    words, candidates = survey.words, _candidates(survey.pages)
    spoken = {p: _speaking(survey, p) for p in candidates}
    if any(spoken.values()) or any(words.sharing(names_of(survey.pages[p])) for p in candidates):
        return spoken
    # No run shares a word with any concept, as where they are written in different languages: links are all there is.
    return {p: words.telling(survey.tied.get(p, ())) for p in candidates}


def _speaking(survey: WikiSurvey, path: str) -> frozenset[str]:
    """Runs that pull a concept: they name it, or they are linked with it and speak of it.

    None where most of those linked do not, and none of a concept that runs measure: it is the name of a goal.
    """
    names, words = names_of(survey.pages[path]), survey.words
    if not words.measured.isdisjoint(names):
        return frozenset()
    named, tied = words.naming(names), survey.tied.get(path, frozenset())
    spoken = named | (tied & words.agreeing(names)) if tied else named
    return spoken if len(spoken) >= 2 or 3 * len(spoken) >= len(named | tied) else frozenset()


def _pulled_ties(survey: WikiSurvey, path: str, spoken: frozenset[str]) -> Neighbours:
    """The neighbourhood of a concept without the runs that link it and do not pull it: they do not make it like what they pull."""
    links, tags, _ = survey.near[path]
    return neighbours_of(links - (survey.tied.get(path, frozenset()) - spoken), tags)


def _hubs(
    survey: WikiSurvey,
    spoken: Mapping[str, frozenset[str]],
    near: Mapping[str, Neighbours],
) -> tuple[list[str], dict[str, list[str]]]:
    """Hubs, and for each the concepts that it stands for as well.

    First the concepts that most runs pull, then those that much leads to from several parts of the wiki, each unlike the hubs before it.
    """
    weight = {
        p: len(near.links) + sum(near.tags.values()) for p in spoken for near in (survey.near[p],)
    }
    pulled = sorted(
        (p for p in spoken if len(spoken[p]) >= 2), key=lambda p: (-len(spoken[p]), -weight[p], p)
    )
    known = sorted(
        (p for p in spoken if len(spoken[p]) < 2 and _spreads(p, survey.near[p])),
        key=lambda p: (-weight[p], p),
    )
    least = max(3.0, weight[known[-len(known) // 3]]) if known else 0
    absorbed: dict[str, list[str]] = {}
    order: dict[str, int] = {}
    nearest = _Nearest()
    for path in (*pulled, *(p for p in known if weight[p] >= least)):
        alike = nearest.alike(near[path], least=_SAME_TOPIC)
        if alike:
            absorbed[min(alike, key=order.__getitem__)].append(path)
            continue
        absorbed[path], order[path] = [], len(order)
        nearest.add(path, near[path])
    return list(absorbed), absorbed


def _spreads(path: str, near: Neighbours) -> bool:
    """Whether a page is tied to another part of the wiki (a folder directly below it) than its own."""
    own = place_of(path)[0]
    return any(place_of(other)[0] != own for other in near.links)


def _members(
    pages: Mapping[str, Page], near: Mapping[str, Neighbours], hubs: list[str]
) -> dict[str, list[str]]:
    """hub -> its pages, nearest first. A page may belong to several topics: to those it is tied to nearly as much as to its first."""
    members: dict[str, list[tuple[float, str]]] = {hub: [(9.0, hub)] for hub in hubs}
    nearest = _Nearest()
    for hub in hubs:
        nearest.add(hub, near[hub])
    for path in sorted(p for p in pages.keys() - members.keys() if near[p].length):
        linked = near[path].links & members.keys()
        tied = {hub: 1.0 + _cosine(near[path], near[hub]) for hub in linked} or nearest.alike(
            near[path], least=_MEMBER
        )
        ties = sorted(((tie, hub) for hub, tie in tied.items()), reverse=True)
        for tie, hub in ties[:4]:
            if tie >= _MEMBER and tie >= 0.5 * ties[0][0]:
                members[hub].append((tie, path))
    return {
        hub: [p for _, p in sorted(own, key=lambda x: (-x[0], x[1]))]
        for hub, own in members.items()
    }


def _topic(survey: WikiSurvey, own: list[str], spoken: frozenset[str]) -> Topic:
    """A hub's topic. Where runs pull it, those that link it or its nearest pages are its runs too, and those that carry its tags."""
    page = survey.pages[own[0]]
    counted = Counter(tag for path in own for tag in survey.near[path].tags)
    names = names_of(page)
    mine = {
        t
        for t, n in counted.items()
        if n >= 2 and 2 * n >= len(own) or " ".join(plain_words(t)) in names
    }
    runs = set(spoken)
    if spoken:
        runs |= survey.tied.get(page.path, frozenset())
        core = [p for p in own[1 : max(3, len(own) // 2)] if survey.pages[p].type in _ABOUT_MATTER]
        runs.update(e for p in core for e in survey.words.telling(survey.tied.get(p, ())))
        runs.update(*(survey.tagged[tag] for tag in mine))
    order = survey.order
    ordered = tuple(sorted(runs & order.keys(), key=order.__getitem__, reverse=True))
    shares = tuple(survey.words.shares(names, ordered).values()) if ordered else ()
    return Topic(page.title, page.stem, page.path, tuple(sorted(mine)), tuple(own), ordered, shares)


def _unnamed(survey: WikiSurvey, concepts: list[Topic]) -> list[Topic]:
    """Topics that no concept is named after."""
    groups = run_groups(survey, (e for t in concepts for e in t.experiments))
    return [
        Topic(
            name,
            re.sub(r"[^a-z0-9]+", "-", name).strip("-") or "topic",
            "",
            (name,) if name in survey.tags else (),
            tuple(sorted(p for p in survey.tags.get(name, ()) if p in survey.pages)),
            tuple(sorted(own, key=survey.order.__getitem__, reverse=True)),
            (1.0,) * len(own),
        )
        for name, own in groups.items()
    ]


def _named_apart(topics: list[Topic]) -> tuple[Topic, ...]:
    """The topics with an anchor each: the second of a name is numbered."""
    used: set[str] = set()
    renamed = []
    for topic in topics:
        anchor, n = topic.anchor, 1
        while anchor in used:
            n += 1
            anchor = f"{topic.anchor}-{n}"
        used.add(anchor)
        renamed.append(replace(topic, anchor=anchor))
    return tuple(renamed)
