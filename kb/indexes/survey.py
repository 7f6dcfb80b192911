"""What topics are found from: pages that hold knowledge, runs that change something, and what ties them: links, telling tags, words."""

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from kb.graph import Graph
from kb.indexes.run_words import LARGE, RunWords, Words, pulls, run_words
from kb.page import Page
from kb.schema import type_of
from kb.trail import Facts, Trail
from kb.trail.themes import is_outcome

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
# A tag on more than this share of the pages says what kind of page it is, not what it is about.
_COMMON_TAG = 0.12


class Neighbours(NamedTuple):
    """What a page is tied to: pages and runs that it links or that link it, which weigh 1 each, and tags with their weights, by name; the length of all."""

    links: frozenset[str]
    tags: Mapping[str, float]
    length: float


@dataclass(frozen=True, slots=True)
class WikiSurvey:
    """Pages and runs with what ties them.

    `order` is the place of each run among `runs`, `near` what ties a page, `tied` page -> runs linked with it, `tagged` tag -> runs,
    `tags` tag -> pages and runs.
    """

    pages: Mapping[str, Page]
    runs: Sequence[Facts]
    order: Mapping[str, int]
    tags: Mapping[str, frozenset[str]]
    tagged: Mapping[str, frozenset[str]]
    near: Mapping[str, Neighbours]
    tied: Mapping[str, frozenset[str]]
    words: RunWords


def survey_of(
    graph: Graph, trail: Trail, words: Mapping[str, Words], *, only: frozenset[str] | None
) -> WikiSurvey:
    """The survey of all pages, or of some `only`; baselines tie pages, but change nothing."""
    pages, tries = _pages_and_tries(graph, trail, only)
    run_pages = (graph.pages[e.path] for e in tries if e.path in graph.pages)
    tags = _telling_tags([*pages.values(), *run_pages], tries)
    runs = pulls(tries)
    order = {e.path: at for at, e in enumerate(runs)}
    near, changes = _neighbours(graph, pages, tries, tags), frozenset(order)
    return WikiSurvey(
        pages,
        runs,
        order,
        tags,
        {tag: own & order.keys() for tag, own in tags.items()},
        near,
        {p: own.links & changes for p, own in near.items()},
        run_words(runs, words),
    )


def inputs_of(
    graph: Graph, trail: Trail, words: Mapping[str, Words], *, only: frozenset[str] | None
) -> object:
    """All that a survey is made from."""
    pages, tries = _pages_and_tries(graph, trail, only)
    known = pages.keys() | {e.path for e in tries}
    changes = {e.path for e in pulls(tries)}
    tagged = [*pages, *(e.path for e in tries if e.path in graph.pages)]
    return (
        [(p, page.type, page.title, page.words("aliases")) for p, page in pages.items()],
        [(p, graph.pages[p].words("tags")) for p in tagged],
        [(p, graph.outlinks.get(p, ())) for p in sorted(known)],
        [(e.path, e.target, e.path in changes) for e in tries],
        words,
    )


def _pages_and_tries(
    graph: Graph, trail: Trail, only: frozenset[str] | None
) -> tuple[dict[str, Page], list[Facts]]:
    pages = {
        p: page
        for p, page in graph.pages.items()
        if page.type in _KNOWLEDGE and (only is None or p in only)
    }
    return pages, [e for e in trail.experiments if only is None or e.path in only]


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
        for tag, own in sorted(carried.items())
        if 2 <= len(own) <= most
        and not any(2 * len(own & whole) > len(whole) for whole in large)
        and not re.fullmatch(r"[\d.\-]+", tag)
        and not type_of(tag)
        and not is_outcome(tag)
    }


def _neighbours(
    graph: Graph, pages: Mapping[str, Page], tries: list[Facts], tags: Mapping[str, frozenset[str]]
) -> dict[str, Neighbours]:
    """What ties each page: links either way, and shared tags, which weigh less the more common they are."""
    known = frozenset(pages.keys() | {e.path for e in tries})
    out, back = graph.outlinks, graph.backlinks
    links = {p: known.intersection((*out.get(p, ()), *back.get(p, ()))) for p in pages}
    weights: dict[str, dict[str, float]] = defaultdict(dict)
    for tag, carrying in tags.items():
        for path in carrying & pages.keys():
            weights[path][tag] = 1 / math.log2(1 + len(carrying))
    return {p: neighbours_of(own, weights.get(p, {})) for p, own in links.items()}


def neighbours_of(links: frozenset[str], tags: Mapping[str, float]) -> Neighbours:
    return Neighbours(links, tags, math.sqrt(len(links) + sum(w * w for w in tags.values())))
