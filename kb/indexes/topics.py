"""Topics of a wiki: a concept and what the wiki itself ties to it by words, links and tags. No list of any domain's terms.

A topic with experiments is a mechanism that runs pull; one without is known and was not tried.
"""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from kb.graph import Graph
from kb.indexes.pulled import LARGE, Statements, names_of, plain_words, pulls, statements_of
from kb.page import Page
from kb.schema import type_of, type_of_folder
from kb.store import Kept
from kb.trail import Facts, Trail
from kb.trail.levers import key_of
from kb.trail.themes import is_outcome, themes_of

_KNOWLEDGE = (
    "concept",
    "observation",
    "source",
    "analysis",
    "codebase",
    "hypothesis",
    "target",
    "topic",
)
# Pages that a run links because of what it tries; it links sources, targets and codebases whatever it tries.
_ABOUT_MATTER = ("concept", "topic", "observation", "hypothesis")
# A tag on more than this share of the pages says what kind of page it is, not what it is about.
_COMMON_TAG = 0.12
# A page joins a hub's topic if it shares this much of its neighbourhood (cosine), so that near-synonyms make one topic.
_SAME_TOPIC = 0.34
# A concept is a topic with so many pages, or so many runs that pull it; other names are one with so many runs.
_LEAST_PAGES, _LEAST_PULLED, _LEAST_EXPERIMENTS = 3, 2, 3


@dataclass(frozen=True, slots=True)
class Topic:
    """One topic: `hub` is the page it is named after (empty where a tag, a lever or a theme names it).

    Pages in the order of their tie to it; experiments newest first, none of them a baseline; `said` is how much of the
    topic's name each of them says, 0 to 1.
    """

    name: str
    anchor: str
    hub: str
    tags: tuple[str, ...]
    pages: tuple[str, ...]
    experiments: tuple[str, ...]
    said: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class _Survey:
    """What topics are found from. `near` is page -> {neighbour page, experiment or `#tag`: weight}, `tied` page -> runs linked with it."""

    pages: Mapping[str, Page]
    tries: tuple[Facts, ...]
    tags: Mapping[str, frozenset[str]]
    near: Mapping[str, Mapping[str, float]]
    tied: Mapping[str, frozenset[str]]
    said: Statements


def topics_of(
    graph: Graph, trail: Trail, kept: Kept, *, only: frozenset[str] | None = None
) -> tuple[Topic, ...]:
    """Topics that most runs pull first, then those that none does, the best known first; `only` limits them to some pages."""
    pages = {
        p: page
        for p, page in graph.pages.items()
        if page.type in _KNOWLEDGE and (only is None or p in only)
    }
    tries = [e for e in trail.experiments if only is None or e.path in only]
    tags = _telling_tags(
        [*pages.values(), *(graph.pages[e.path] for e in tries if e.path in graph.pages)], tries
    )
    changes = tuple(pulls(tries))
    survey = _Survey(
        pages,
        changes,
        tags,
        _neighbours(graph, pages, tries, tags),
        _tied(graph, pages, changes),
        statements_of(changes, trail, kept),
    )
    candidates = _candidates(pages)
    spoken = {p: _speaking(survey, p) for p in candidates}
    if not any(spoken.values()) and not any(
        survey.said.sharing(names_of(pages[p])) for p in candidates
    ):
        # No run shares a word with any concept, as where they are written in different languages: links are all there is.
        spoken = {p: survey.said.telling(survey.tied.get(p, ())) for p in candidates}
    near = {
        p: _unit(_pulled_ties(survey, p, spoken[p]) if p in spoken else ties)
        for p, ties in survey.near.items()
    }
    hubs, absorbed = _hubs(survey, spoken, near)
    members = _members(pages, near, hubs)
    made = [
        _topic(survey, own, frozenset().union(*(spoken[p] for p in (hub, *absorbed[hub]))))
        for hub, own in members.items()
    ]
    made = [t for t in made if len(t.pages) >= _LEAST_PAGES or len(t.experiments) >= _LEAST_PULLED]
    made += _loose_topics(survey, made)
    made.sort(key=lambda t: (-len(t.experiments), -len(t.pages), t.name))
    return _named_apart(made)


def _telling_tags(pages: Iterable[Page], tries: list[Facts]) -> Mapping[str, frozenset[str]]:
    """tag -> pages that carry it, for tags that tell pages apart: no verdicts, page types, numbers, or names that half a target's trail carries."""
    carried: dict[str, set[str]] = defaultdict(set)
    total = 0
    for page in pages:
        total += 1
        for tag in page.words("tags"):
            carried[tag.lower()].add(page.path)
    of_target: dict[str, set[str]] = defaultdict(set)
    for e in tries:
        of_target[e.target].add(e.path)
    large = [own for own in of_target.values() if len(own) >= LARGE]
    most = max(4, _COMMON_TAG * total)
    return {
        tag: frozenset(own)
        for tag, own in carried.items()
        if 2 <= len(own) <= most
        and not any(2 * len(own & whole) > len(whole) for whole in large)
        and not re.fullmatch(r"[\d.\-]+", tag)
        and not type_of(tag)
        and not is_outcome(tag)
    }


def _neighbours(
    graph: Graph, pages: Mapping[str, Page], tries: list[Facts], tags: Mapping[str, frozenset[str]]
) -> dict[str, dict[str, float]]:
    """page -> {neighbour page, experiment or `#tag`: weight}: links either way weigh 1, a shared tag less the more common it is."""
    near: dict[str, dict[str, float]] = {p: {} for p in pages}
    known = pages.keys() | {e.path for e in tries}
    for path in sorted(known):  # The last digit of a sum of weights depends on their order.
        for target in graph.outlinks.get(path, ()):
            if target in known:
                for a, b in ((path, target), (target, path)):
                    if a in near:
                        near[a][b] = 1.0
    for tag, own in tags.items():
        for path in own & pages.keys():
            near[path]["#" + tag] = 1 / math.log2(1 + len(own))
    return near


class _Nearest:
    """Neighbourhoods of length 1 by what they hold, so that none are compared that share nothing."""

    def __init__(self):
        self.holding: dict[str, list[tuple[str, float]]] = defaultdict(list)

    def add(self, path: str, ties: Mapping[str, float]) -> None:
        for key, weight in ties.items():
            self.holding[key].append((path, weight))

    def cosines(self, ties: Mapping[str, float]) -> dict[str, float]:
        """The cosine of a neighbourhood with each that shares something with it, in the order in which they were added."""
        found: dict[str, float] = defaultdict(float)
        for key, weight in ties.items():
            for path, other in self.holding.get(key, ()):
                found[path] += weight * other
        return found


def _unit(ties: Mapping[str, float]) -> dict[str, float]:
    """A neighbourhood with the length 1."""
    length = math.sqrt(sum(w * w for w in ties.values())) or 1.0
    return {key: weight / length for key, weight in ties.items()}


def _cosine(a: Mapping[str, float], b: Mapping[str, float]) -> float:
    few, many = (a, b) if len(a) < len(b) else (b, a)
    return sum([weight * many[key] for key, weight in few.items() if key in many])


def _tied(
    graph: Graph, pages: Mapping[str, Page], tries: Iterable[Facts]
) -> dict[str, frozenset[str]]:
    """page -> runs that it links or that link it."""
    runs = {e.path for e in tries}
    tied: dict[str, set[str]] = defaultdict(set)
    for path in runs:
        for target in graph.outlinks.get(path, ()):
            tied[target].add(path)
    for path in pages:
        tied[path].update(t for t in graph.outlinks.get(path, ()) if t in runs)
    return {path: frozenset(own) for path, own in tied.items()}


def _candidates(pages: Mapping[str, Page]) -> list[str]:
    """Concepts (observations where a wiki has no concepts); not those that stand in the folder of another type, such as a codebase's own pages."""
    kinds = (
        ("concept", "topic")
        if any(p.type in ("concept", "topic") for p in pages.values())
        else ("observation", "hypothesis")
    )
    all_of_kind = [p for p, page in pages.items() if page.type in kinds]
    return [
        p for p in all_of_kind if type_of_folder(p.split("/")[1]) in (None, pages[p].type)
    ] or all_of_kind


def _speaking(survey: _Survey, path: str) -> frozenset[str]:
    """Runs that pull a concept: they name it, or they are linked with it and speak of it.

    None where most of those linked do not, and none of a concept that runs measure: it is the name of a goal.
    """
    names = names_of(survey.pages[path])
    if not survey.said.measured.isdisjoint(names):
        return frozenset()
    named, tied = survey.said.naming(names), survey.tied.get(path, frozenset())
    spoken = named | (tied & survey.said.agreeing(names)) if tied else named
    return spoken if len(spoken) >= 2 or 3 * len(spoken) >= len(named | tied) else frozenset()


def _pulled_ties(survey: _Survey, path: str, spoken: frozenset[str]) -> dict[str, float]:
    """The neighbourhood of a concept without the runs that link it and do not pull it: they do not make it like what they pull."""
    passive = survey.tied.get(path, frozenset()) - spoken
    return {k: w for k, w in survey.near[path].items() if k not in passive}


def _hubs(
    survey: _Survey, spoken: Mapping[str, frozenset[str]], near: Mapping[str, Mapping[str, float]]
) -> tuple[list[str], dict[str, list[str]]]:
    """Hubs, and for each the concepts that it stands for as well.

    First the concepts that most runs pull, then those that much leads to from several parts of the wiki, each unlike the hubs before it.
    """
    weight = {p: sum(survey.near[p].values()) for p in spoken}
    pulled = sorted(
        (p for p in spoken if len(spoken[p]) >= 2), key=lambda p: (-len(spoken[p]), -weight[p], p)
    )
    known = sorted(
        (p for p in spoken if len(spoken[p]) < 2 and _parts(p, survey.near[p]) >= 2),
        key=lambda p: (-weight[p], p),
    )
    least = max(3.0, weight[known[-len(known) // 3]]) if known else 0
    absorbed: dict[str, list[str]] = {}
    order: dict[str, int] = {}
    nearest = _Nearest()
    for path in (*pulled, *(p for p in known if weight[p] >= least)):
        alike = [hub for hub, tie in nearest.cosines(near[path]).items() if tie >= _SAME_TOPIC]
        if alike:
            absorbed[min(alike, key=order.__getitem__)].append(path)
            continue
        absorbed[path], order[path] = [], len(order)
        nearest.add(path, near[path])
    return list(absorbed), absorbed


def _parts(path: str, near: Mapping[str, float]) -> int:
    """Parts of the wiki (folders directly below it) that a page is tied to, its own included."""
    return len({k.split("/")[1] for k in (*near, path) if "/" in k and k[0] != "#"})


def _members(
    pages: Mapping[str, Page], near: Mapping[str, Mapping[str, float]], hubs: list[str]
) -> dict[str, list[str]]:
    """hub -> its pages, nearest first. A page may belong to several topics: to those it is tied to nearly as much as to its first."""
    members: dict[str, list[tuple[float, str]]] = {hub: [(9.0, hub)] for hub in hubs}
    nearest = _Nearest()
    for hub in hubs:
        nearest.add(hub, near[hub])
    for path in sorted(pages.keys() - members.keys()):
        linked = near[path].keys() & members.keys()
        tied = {hub: 1.0 + _cosine(near[path], near[hub]) for hub in linked} or nearest.cosines(
            near[path]
        )
        ties = sorted(((tie, hub) for hub, tie in tied.items()), reverse=True)
        for tie, hub in ties[:4]:
            if tie >= 0.25 and tie >= 0.5 * ties[0][0]:
                members[hub].append((tie, path))
    return {
        hub: [p for _, p in sorted(own, key=lambda x: (-x[0], x[1]))]
        for hub, own in members.items()
    }


def _topic(survey: _Survey, own: list[str], spoken: frozenset[str]) -> Topic:
    """A hub's topic. Where runs pull it, those that link it or its nearest pages are its runs too, and those that carry its tags."""
    page = survey.pages[own[0]]
    counted = Counter(k[1:] for path in own for k in survey.near[path] if k.startswith("#"))
    names = names_of(page)
    mine = {
        t
        for t, n in counted.items()
        if n >= 2 and 2 * n >= len(own) or " ".join(plain_words(t)) in names
    }
    tried = set(spoken)
    if spoken:
        tried |= survey.tied.get(page.path, frozenset())
        core = [p for p in own[1 : max(3, len(own) // 2)] if survey.pages[p].type in _ABOUT_MATTER]
        tried.update(e for p in core for e in survey.said.telling(survey.tied.get(p, ())))
        runs = survey.said.heads.keys()
        tried.update(p for tag in mine for p in survey.tags[tag] if p in runs)
    ordered = tuple(e.path for e in reversed(survey.tries) if e.path in tried)
    said = tuple(survey.said.shares(names, ordered).values())
    return Topic(page.title, page.stem, page.path, tuple(sorted(mine)), tuple(own), ordered, said)


def _loose_topics(survey: _Survey, concepts: list[Topic]) -> list[Topic]:
    """Topics that no concept is named after: telling tags of runs; and for runs under none, a lever that several pull, or what titles share."""
    covered = {e for t in concepts for e in t.experiments}
    found: dict[str, set[str]] = {}
    for groups in (_by_tag, _by_lever, _by_theme):
        loose = [e for e in survey.tries if e.path not in covered]
        for name, own in _disjoint(groups(survey, loose)):
            found.setdefault(name, set()).update(own)
            covered |= own
    order = {e.path: at for at, e in enumerate(survey.tries)}
    return [
        Topic(
            name,
            re.sub(r"[^a-z0-9]+", "-", name).strip("-") or "topic",
            "",
            (name,) if name in survey.tags else (),
            tuple(sorted(p for p in survey.tags.get(name, ()) if p in survey.pages)),
            tuple(sorted(own, key=lambda p: -order[p])),
            (1.0,) * len(own),
        )
        for name, own in found.items()
    ]


def _by_tag(survey: _Survey, loose: Iterable[Facts]) -> dict[str, set[str]]:
    groups: dict[str, set[str]] = defaultdict(set)
    for e in loose:
        for tag in {t.lower() for t in e.tags} & survey.tags.keys():
            groups[tag].add(e.path)
    return groups


def _by_lever(survey: _Survey, loose: Iterable[Facts]) -> dict[str, set[str]]:
    settings = _settings(survey)
    groups: dict[str, set[str]] = defaultdict(set)
    for e in loose:
        for lever in e.levers[:4]:
            name = lever.name.strip("-").lower()
            if len(name) >= 3 and (e.target, key_of(name)) not in settings:
                groups[name].add(e.path)
    return groups


def _by_theme(survey: _Survey, loose: Iterable[Facts]) -> dict[str, set[str]]:
    """Themes of each target's own titles; a word that is one in two targets names one topic.

    What a third of a target's runs speak of is what the target is made of, not what one of them does: no theme.
    """
    of_target: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for e in loose:
        of_target[e.target].append((e.path, e.title))
    groups: dict[str, set[str]] = defaultdict(set)
    for target, titles in of_target.items():
        for name, own in themes_of(titles):
            if 3 * len(survey.said.speaking(name) & survey.said.targets[target]) <= len(
                survey.said.targets[target]
            ):
                groups[name].update(own)
    return groups


def _disjoint(groups: Mapping[str, set[str]]) -> list[tuple[str, set[str]]]:
    """Groups with runs enough, the largest first; every run in the first that has it."""
    found: list[tuple[str, set[str]]] = []
    taken: set[str] = set()
    for name in sorted(groups, key=lambda n: (-len(groups[n]), n)):
        own = groups[name] - taken
        if len(own) >= _LEAST_EXPERIMENTS:
            taken |= own
            found.append((name, own))
    return found


def _settings(survey: _Survey) -> set[tuple[str, str]]:
    """(target, lever) pairs that most runs of the target state: what every run states is how it is run, not what it tries."""
    stated: Counter[tuple[str, str]] = Counter()
    for e in survey.tries:
        stated.update({(e.target, key_of(lever.name)) for lever in e.levers})
    return {
        pair
        for pair, n in stated.items()
        if len(whole := survey.said.targets[pair[0]]) >= LARGE and 2 * n > len(whole)
    }


def _named_apart(topics: list[Topic]) -> tuple[Topic, ...]:
    """The topics with an anchor each: the second of a name is numbered."""
    used: set[str] = set()
    found = []
    for topic in topics:
        anchor, n = topic.anchor, 1
        while anchor in used:
            n += 1
            anchor = f"{topic.anchor}-{n}"
        used.add(anchor)
        found.append(replace(topic, anchor=anchor))
    return tuple(found)
