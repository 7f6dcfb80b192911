"""Topics of a wiki: a concept and what the wiki itself ties to it by links, tags and words. No list of any domain's terms."""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from kb.graph import Graph
from kb.page import Page
from kb.schema import Verdict, canonical_verdict, type_of
from kb.trail import Facts, Trail

_KNOWLEDGE = ("concept", "observation", "source", "analysis", "codebase", "hypothesis", "target", "topic")
# A tag on more than this share of the pages says what kind of page it is, not what it is about.
_COMMON_TAG = 0.12
# A page joins a hub's topic if it shares this much of its neighbourhood (cosine), so that near-synonyms make one topic.
_SAME_TOPIC = 0.34
_LEAST_PAGES = 3
_LEAST_EXPERIMENTS = 3
_WORD = re.compile(r"[a-z0-9]+")


@dataclass(frozen=True, slots=True)
class Topic:
    """One topic: `hub` is the page it is named after (empty where a tag or lever names it), pages in the order of their tie to it."""

    name: str
    anchor: str
    hub: str
    tags: tuple[str, ...]
    pages: tuple[str, ...]
    experiments: tuple[str, ...]


def topics_of(graph: Graph, trail: Trail, *, only: frozenset[str] | None = None) -> tuple[Topic, ...]:
    """Topics in the order of how much the wiki says about them; `only` limits them to some pages."""
    pages = {p: page for p, page in graph.pages.items() if page.type in _KNOWLEDGE and (only is None or p in only)}
    tries = [e for e in trail.experiments if only is None or e.path in only]
    tags = _telling_tags([*pages.values(), *(graph.pages[e.path] for e in tries if e.path in graph.pages)], tries)
    near = _neighbours(graph, pages, tries, tags)
    hubs = _hubs(pages, near)
    members = _members(pages, near, hubs)
    said = [
        (e, frozenset(graph.outlinks.get(e.path, ())), frozenset(t.lower() for t in e.tags), _words(f"{e.title} {e.hypothesis}"))
        for e in tries
    ]
    found = [_topic(graph.pages[hub], own, near, said) for hub, own in members.items()]
    made = [t for t in found if len(t.pages) >= _LEAST_PAGES or len(t.experiments) >= _LEAST_EXPERIMENTS]
    made.extend(_tag_topics(pages, tries, tags, graph, covered={e for t in made for e in t.experiments}))
    made.sort(key=lambda t: (-(len(t.experiments) + 2 * len(t.pages)), t.name))
    return _named_apart(made)


def _telling_tags(pages: Iterable[Page], tries: list[Facts]) -> Mapping[str, frozenset[str]]:
    """tag -> pages that carry it, for tags that tell pages apart: no verdicts, page types, numbers, or names that half a target's trail carries."""
    carried: dict[str, set[str]] = defaultdict(set)
    total = 0
    for page in pages:
        total += 1
        for tag in page.words("tags"):
            if not re.fullmatch(r"[\d.\-]+", tag) and not type_of(tag) and canonical_verdict(tag) in (None, Verdict.OTHER):
                carried[tag.lower()].add(page.path)
    of_target: dict[str, set[str]] = defaultdict(set)
    for e in tries:
        of_target[e.target].add(e.path)
    large = [own for own in of_target.values() if len(own) >= 5]
    most = max(4, _COMMON_TAG * total)
    return {
        tag: frozenset(own)
        for tag, own in carried.items()
        if 2 <= len(own) <= most and not any(2 * len(own & whole) > len(whole) for whole in large)
    }


def _neighbours(
    graph: Graph, pages: Mapping[str, Page], tries: list[Facts], tags: Mapping[str, frozenset[str]]
) -> dict[str, dict[str, float]]:
    """page -> {neighbour page, experiment or `#tag`: weight}: links either way weigh 1, a shared tag less the more common it is."""
    near: dict[str, dict[str, float]] = {p: {} for p in pages}
    known = set(pages) | {e.path for e in tries}
    for path in known:
        for target in graph.outlinks.get(path, ()):
            if target in known:
                for a, b in ((path, target), (target, path)):
                    if a in near:
                        near[a][b] = max(near[a].get(b, 0), 1.0)
    for tag, own in tags.items():
        for path in own:
            if path in near:
                near[path]["#" + tag] = 1 / math.log2(1 + len(own))
    for ties in near.values():
        ties[""] = math.sqrt(sum(w * w for w in ties.values())) or 1.0
    return near


def _cosine(a: Mapping[str, float], b: Mapping[str, float]) -> float:
    """Cosine of two weighted neighbourhoods; each carries its own length under the key ''."""
    if len(b) < len(a):
        a, b = b, a
    shared = sum(w * b[k] for k, w in a.items() if k and k in b)
    return shared / (a[""] * b[""]) if shared else 0.0


def _hubs(pages: Mapping[str, Page], near: dict[str, dict[str, float]]) -> list[str]:
    """Concepts (observations where a wiki has no concepts) that much leads to from several parts of the wiki, each unlike the hubs before it."""
    kinds = ("concept", "topic") if any(p.type in ("concept", "topic") for p in pages.values()) else ("observation", "hypothesis")
    weight = {
        p: sum(w for k, w in near[p].items() if k) for p, page in pages.items() if page.type in kinds and _parts(p, near[p]) >= 2
    }
    least = max(3.0, sorted(weight.values())[len(weight) // 3]) if weight else 0
    hubs: list[str] = []
    for path in sorted(weight, key=lambda p: (-weight[p], p)):
        if weight[path] < least:
            break
        if all(_cosine(near[path], near[h]) < _SAME_TOPIC for h in hubs):
            hubs.append(path)
    return hubs


def _parts(path: str, near: Mapping[str, float]) -> int:
    """Parts of the wiki (folders directly below it) that a page is tied to, its own included."""
    return len({k.split("/")[1] for k in (*near, path) if "/" in k})


def _members(pages: Mapping[str, Page], near: dict[str, dict[str, float]], hubs: list[str]) -> dict[str, list[str]]:
    """hub -> its pages, nearest first. A page may belong to several topics: to those it is tied to nearly as much as to its first."""
    members: dict[str, list[tuple[float, str]]] = {hub: [(9.0, hub)] for hub in hubs}
    chosen = frozenset(hubs)
    by_tie: dict[str, set[str]] = defaultdict(set)
    for hub in hubs:
        for key in (*near[hub], hub):
            if key:
                by_tie[key].add(hub)
    for path in sorted(pages):
        if path in chosen:
            continue
        candidates = set().union(*(by_tie.get(k, ()) for k in (*near[path], path) if k))
        ties = sorted(((near[path].get(h, 0.0) + _cosine(near[path], near[h]), h) for h in candidates), reverse=True)
        for tie, hub in ties[:4]:
            if tie >= 0.25 and tie >= 0.5 * ties[0][0]:
                members[hub].append((tie, path))
    return {hub: [p for _, p in sorted(own, key=lambda x: (-x[0], x[1]))] for hub, own in members.items()}


def _topic(
    page: Page, own: list[str], near: dict[str, dict[str, float]], said: list[tuple[Facts, frozenset[str], frozenset[str], str]]
) -> Topic:
    counted = Counter(k[1:] for path in own for k in near[path] if k.startswith("#"))
    mine = {t for t, n in counted.items() if n >= 2 and 2 * n >= len(own) or f"#{t}" in near[page.path]}
    names = [f" {n} " for n in _names(page)]
    core = frozenset(own[: max(3, len(own) // 2)])
    tried = [e.path for e, cited, tags, words in said if core & cited or mine & tags or any(n in words for n in names)]
    return Topic(page.title, page.stem, page.path, tuple(sorted(mine)), tuple(own), tuple(reversed(tried)))


def _names(page: Page) -> tuple[str, ...]:
    """Ways a text may name a page: its title, what stands in brackets in it, its file name, its aliases."""
    title = re.sub(r"\(.*?\)", "", page.title)
    inner = re.findall(r"\((.*?)\)", page.title)
    said = {_words(t).strip() for t in (title, *inner, page.stem, *page.words("aliases"))}
    return tuple(sorted(n for n in said if len(n) >= 4))


def _words(text: str) -> str:
    return f" {' '.join(_WORD.findall(text.lower()))} "


def _tag_topics(
    pages: Mapping[str, Page], tries: list[Facts], tags: Mapping[str, frozenset[str]], graph: Graph, *, covered: set[str]
) -> list[Topic]:
    """Topics for experiments that no concept covers: named by a telling tag, else by a lever that several of them pull."""
    loose = {e.path: e for e in tries if e.path not in covered}
    groups: dict[str, list[str]] = defaultdict(list)
    for e in loose.values():
        for name in {t.lower() for t in e.tags if t.lower() in tags} or {
            lever.name.strip("-").lower() for lever in e.levers[:4] if len(lever.name.strip("-")) >= 3
        }:
            groups[name].append(e.path)
    found: list[Topic] = []
    taken: set[str] = set()
    for name in sorted(groups, key=lambda n: (-len(groups[n]), n)):
        own = [p for p in groups[name] if p not in taken]
        if len(own) >= _LEAST_EXPERIMENTS:
            taken.update(own)
            related = tuple(sorted(p for p in tags.get(name, ()) if p in pages))
            found.append(
                Topic(name, re.sub(r"[^a-z0-9]+", "-", name).strip("-") or "topic", "", (name,), related, tuple(reversed(own)))
            )
    return found


def _named_apart(topics: list[Topic]) -> tuple[Topic, ...]:
    seen: Counter[str] = Counter()
    made = []
    for topic in topics:
        seen[topic.anchor] += 1
        suffix = "" if seen[topic.anchor] == 1 else f"-{seen[topic.anchor]}"
        made.append(Topic(topic.name, topic.anchor + suffix, topic.hub, topic.tags, topic.pages, topic.experiments))
    return tuple(made)
