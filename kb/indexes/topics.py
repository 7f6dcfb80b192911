"""Topics of a wiki: a concept and what the wiki itself ties to it by words, links and tags. No list of any domain's terms.

A topic with experiments is a mechanism that runs pull; one without is known and was not tried. Runs that no concept
gathers stand in groups: by a tag that tells, a lever that several pull, or what their titles share.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import chain, count

from kb import grouped
from kb.graph import Graph
from kb.indexes.survey import (
    LARGE,
    WikiSurvey,
    Words,
    inputs_of,
    names_of,
    plain_words,
    stem_of,
    survey_of,
    words_of,
)
from kb.page import slug_of
from kb.schema import place_of, type_of_folder
from kb.store import Kept
from kb.trail import Facts, Trail
from kb.trail.levers import key_of
from kb.trail.themes import themes_of

# So many runs make a group.
_LEAST = 3


def run_groups(survey: WikiSurvey, covered: Iterable[str]) -> dict[str, set[str]]:
    """Name -> runs; first by tags, then what is left by levers, then by themes, the largest first. No run of `covered` stands in any, and none in
    two.
    """
    taken, members = set(covered), defaultdict[str, set[str]](set)
    for names_by in (_tags, _levers, _themes):
        groups = defaultdict[str, set[str]](set)
        loose = [e for e in survey.runs.values() if e.path not in taken]
        for name, path in names_by(survey, loose):
            groups[name].add(path)
        for name in sorted(groups, key=lambda n: (-len(groups[n]), n)):
            own = groups[name] - taken
            if len(own) >= _LEAST:
                members[name] |= own
                taken |= own
    return members


def _tags(survey: WikiSurvey, loose: Iterable[Facts]) -> Iterable[tuple[str, str]]:
    return ((t.lower(), e.path) for e in loose for t in e.tags if t.lower() in survey.tags)


def _levers(survey: WikiSurvey, loose: Iterable[Facts]) -> Iterable[tuple[str, str]]:
    """Levers but those that most runs of their target state: what every run states is how it is run, not what it tries."""
    runs, targets = survey.runs.values(), survey.words.targets
    stated = Counter(pair for e in runs for pair in {(e.target, key_of(v.name)) for v in e.levers})
    for e in loose:
        whole = len(targets[e.target])
        for lever in e.levers[:4]:
            name = lever.name.strip("-").lower()
            usual = whole >= LARGE and 2 * stated[e.target, key_of(name)] > whole
            if len(name) >= 3 and not usual:
                yield name, e.path


def _themes(survey: WikiSurvey, loose: Iterable[Facts]) -> Iterable[tuple[str, str]]:
    """Themes of each target's own titles; a word that is one in two targets names one topic.

    What a third of a target's runs speak of is what the target is made of, not what one of them does: no theme.
    """
    of_target = grouped((e.target, (e.path, e.title)) for e in loose)
    for target, titles in of_target.items():
        whole = survey.words.targets[target]
        for name, own in themes_of(titles):
            stems = (survey.words.stems.get(stem_of(w), set()) for w in plain_words(name))
            if 3 * len(whole.intersection(*stems)) <= len(whole):
                yield from ((name, path) for path in own)


# Pages that a run links because of what it tries; it links sources, targets and codebases whatever it tries.
_ABOUT_MATTER = ("concept", "topic", "observation", "hypothesis")
# A page joins a hub's topic if it shares this much of its neighbourhood (cosine), so that near-synonyms make one topic.
_SAME_TOPIC = 0.34
# It is a page of a topic whose neighbourhood it shares so much of, or whose hub it is linked with.
_MEMBER = 0.25
# A concept is a topic with so many pages, or so many runs that pull it.
_LEAST_PAGES, _LEAST_PULLED = 3, 2
# Page -> what it is tied to, with how much that weighs.
Ties = Mapping[str, Mapping[str, float]]


@dataclass(frozen=True, slots=True)
class Topic:
    """One topic: `hub` is the page it is named after (empty where a tag, a lever or a theme names it), `anchor` that of its heading.

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
    runs = {e.path: e for e in trail.experiments}
    words = kept.each("words", trail.digests, Words, lambda path: words_of(runs[path]))
    return kept.of(
        f"topics#{name}",
        inputs_of(graph, trail, words, only=only),
        tuple[Topic, ...],
        lambda: _topics(survey_of(graph, trail, words, only=only)),
    )


def _topics(survey: WikiSurvey) -> tuple[Topic, ...]:
    pulled = _pulled(survey)
    # Runs that link a concept and do not pull it do not make it like what they pull.
    near = {
        p: {
            t: weight
            for t, weight in ties.items()
            if t not in survey.runs or t in pulled.get(p, ties)
        }
        for p, ties in survey.near.items()
    }
    hubs = _hubs(survey, pulled, near)
    topics = [
        _topic(survey, own, frozenset().union(*(pulled[p] for p in hubs[own[0]])))
        for own in _members(near, list(hubs))
    ]
    topics = [
        t for t in topics if len(t.pages) >= _LEAST_PAGES or len(t.experiments) >= _LEAST_PULLED
    ]
    topics += _unnamed(survey, topics)
    topics.sort(key=lambda t: (-len(t.experiments), -len(t.pages), t.name))
    apart: dict[str, Topic] = {}
    for topic in topics:
        slug = slug_of(topic.name) or "topic"
        anchors = (f"{slug}-{n}" if n else slug for n in count())
        anchor = next(a for a in anchors if a not in apart)
        apart[anchor] = replace(topic, anchor=anchor)
    return tuple(apart.values())


class _Nearest:
    """Neighbourhoods by what they hold, so that none are compared that share nothing."""

    def __init__(self, paths: Iterable[str], near: Ties):
        self.near, self.holding = near, defaultdict[str, list[str]](list)
        self.lengths: dict[str, float] = {}
        self.shortest = math.inf
        for path in paths:
            self.add(path)

    def add(self, path: str) -> None:
        self.lengths[path] = sum(self.near[path].values())
        self.shortest = min(self.shortest, self.lengths[path])
        for tie in self.near[path]:
            self.holding[tie].append(path)

    def alike(self, path: str, *, least: float) -> dict[str, float]:
        """Those whose cosine with the neighbourhood of a page is `least` or more, with it."""
        near, holding = self.near[path], self.holding
        length = sum(near.values())
        # Links weigh one each, and are counted at once.
        shared = Counter[str](
            chain.from_iterable(holding[t] for t in near if t[0] != "#" and t in holding)
        )
        for tag in near:
            for other in holding.get(tag, ()) if tag[0] == "#" else ():
                shared[other] += near[tag]
        # Most share a page or two with it, too few even for the shortest of them.
        few = 0.999 * least * math.sqrt(length) * math.sqrt(self.shortest)
        some = ((p, n) for p, n in shared.items() if n >= few)
        cosines = ((p, n / math.sqrt(length * self.lengths[p])) for p, n in some)
        return {other: cosine for other, cosine in cosines if cosine >= least}

    def cosine(self, path: str, other: str) -> float:
        """The cosine of two neighbourhoods."""
        mine, theirs = self.near[path], self.near[other]
        both = sum(mine[tie] for tie in mine.keys() & theirs.keys())
        return both / math.sqrt(sum(mine.values()) * self.lengths[other])


def _pulled(survey: WikiSurvey) -> dict[str, frozenset[str]]:
    """Concept -> runs that pull it: they name it, or they are linked with it and speak of it. Observations where a wiki has no concepts; not those
    that stand in the folder of another type, such as a codebase's own pages.

    None where most of those linked do not, and none of a concept that runs measure: it is the name of a goal.
    """
    types, words = {page.type for page in survey.pages.values()}, survey.words
    wanted = ("concept", "topic")
    wanted = wanted if types.intersection(wanted) else ("observation", "hypothesis")
    concepts = [p for p, page in survey.pages.items() if page.type in wanted]
    own = [p for p in concepts if type_of_folder(place_of(p)[0]) in (None, survey.pages[p].type)]
    pulled: dict[str, frozenset[str]] = {}
    for path in own or concepts:
        names, tied = names_of(survey.pages[path]), survey.tied(path)
        named = words.naming(names)
        pulling = named | (tied & words.agreeing(names)) if tied else named
        telling = len(pulling) >= 2 or 3 * len(pulling) >= len(named | tied)
        is_goal = not words.measured.isdisjoint(names)
        pulled[path] = pulling if telling and not is_goal else frozenset()
    if any(pulled.values()):
        return pulled
    # No run speaks of any concept, as where they are written in different languages: links are all there is.
    return {p: words.telling(survey.tied(p)) for p in pulled}


def _hubs(
    survey: WikiSurvey, pulled: Mapping[str, frozenset[str]], near: Ties
) -> dict[str, list[str]]:
    """Hubs, and for each the concepts that it stands for, itself first.

    First the concepts that most runs pull, then those that much leads to from several parts of the wiki, each unlike the hubs before it.
    """

    weights = {path: sum(survey.near[path].values()) for path in pulled}

    def spreads(path: str) -> bool:
        """Whether a page is tied to another part of the wiki (a folder directly below it) than its own."""
        others = (p for p in survey.near[path] if p[0] != "#")
        return any(place_of(other)[0] != place_of(path)[0] for other in others)

    several = [p for p in pulled if len(pulled[p]) >= 2]
    several.sort(key=lambda p: (-len(pulled[p]), -weights[p], p))
    known = [p for p in pulled if len(pulled[p]) < 2 and spreads(p)]
    known.sort(key=lambda p: (-weights[p], p))
    least = max(3.0, weights[known[-len(known) // 3]]) if known else 0
    hubs: dict[str, list[str]] = {}
    nearest = _Nearest((), near)
    for path in (*several, *(p for p in known if weights[p] >= least)):
        alike = nearest.alike(path, least=_SAME_TOPIC)
        if alike:
            hubs[next(hub for hub in hubs if hub in alike)].append(path)
        else:
            hubs[path] = [path]
            nearest.add(path)
    return hubs


def _members(near: Ties, hubs: list[str]) -> list[list[str]]:
    """Pages of each hub, itself and then the nearest first. A page may belong to several topics: to those it is tied to nearly as much as to its
    first.
    """
    members = {hub: [(-9.0, hub)] for hub in hubs}
    nearest = _Nearest(hubs, near)
    for path in sorted(p for p in near.keys() - members.keys() if near[p]):
        linked = near[path].keys() & members.keys()
        tied = {hub: 1 + nearest.cosine(path, hub) for hub in linked}
        tied = tied or nearest.alike(path, least=_MEMBER)
        ties = sorted(((tie, hub) for hub, tie in tied.items()), reverse=True)
        for tie, hub in ties[:4]:
            if tie >= _MEMBER and tie >= 0.5 * ties[0][0]:
                members[hub].append((-tie, path))
    return [[path for _, path in sorted(own)] for own in members.values()]


def _topic(survey: WikiSurvey, own: list[str], pulling: frozenset[str]) -> Topic:
    """A hub's topic. Where runs pull it, those that link it or its nearest pages are its runs too, and those that carry its tags."""
    page, words = survey.pages[own[0]], survey.words
    names = names_of(page)
    counted = Counter(tie[1:] for path in own for tie in survey.near[path] if tie[0] == "#")
    most = {t for t, n in counted.items() if n >= 2 and 2 * n >= len(own)}
    tags = most | {t for t in counted if " ".join(plain_words(t)) in names}
    runs = set(pulling)
    if pulling:
        core = [p for p in own[1 : max(3, len(own) // 2)] if survey.pages[p].type in _ABOUT_MATTER]
        runs.update(survey.tied(page.path), *(words.telling(survey.tied(p)) for p in core))
        runs.update(*(survey.tags[tag] for tag in tags))
    newest = tuple(path for path in reversed(survey.runs) if path in runs)
    shares = tuple(words.share(names, path) for path in newest)
    return Topic(page.title, "", page.path, tuple(sorted(tags)), tuple(own), newest, shares)


def _unnamed(survey: WikiSurvey, concepts: list[Topic]) -> Iterable[Topic]:
    """Topics that no concept is named after."""
    covered = {e for topic in concepts for e in topic.experiments}
    for name, own in run_groups(survey, covered).items():
        tagged = survey.tags.get(name, frozenset())
        pages = tuple(sorted(tagged & survey.pages.keys()))
        newest = tuple(path for path in reversed(survey.runs) if path in own)
        tags = (name,) if tagged else ()
        yield Topic(name, "", "", tags, pages, newest, (1.0,) * len(newest))
