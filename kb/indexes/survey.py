"""What topics are found from: pages that hold knowledge, runs that change something, and what ties them: links, telling tags, words."""

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from kb.graph import Graph
from kb.indexes.run_words import LARGE, RunWords, pulls, run_words, word_digests
from kb.page import Page
from kb.schema import type_of
from kb.store import Kept
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


@dataclass(frozen=True, slots=True)
class WikiSurvey:
    """Pages and runs with what ties them.

    `near` is page -> {neighbour page, experiment or `#tag`: weight}, `tied` page -> runs linked with it, `tagged` tag -> runs,
    `tags` tag -> pages and runs.
    """

    pages: Mapping[str, Page]
    runs: Sequence[Facts]
    tags: Mapping[str, frozenset[str]]
    tagged: Mapping[str, frozenset[str]]
    near: Mapping[str, Mapping[str, float]]
    tied: Mapping[str, frozenset[str]]
    words: RunWords


def survey_of(graph: Graph, trail: Trail, kept: Kept, *, only: frozenset[str] | None) -> WikiSurvey:
    """The survey of all pages, or of some `only`; baselines tie pages, but change nothing."""
    pages, tries = _pages_and_tries(graph, trail, only)
    run_pages = (graph.pages[e.path] for e in tries if e.path in graph.pages)
    tags = _telling_tags([*pages.values(), *run_pages], tries)
    runs = pulls(tries)
    paths = {e.path for e in runs}
    return WikiSurvey(
        pages,
        runs,
        tags,
        {tag: own & paths for tag, own in tags.items()},
        _neighbours(graph, pages, tries, tags),
        _tied(graph, pages, paths),
        run_words(runs, trail, kept),
    )


def inputs_of(graph: Graph, trail: Trail, *, only: frozenset[str] | None) -> object:
    """All that a survey is made from."""
    pages, tries = _pages_and_tries(graph, trail, only)
    known = pages.keys() | {e.path for e in tries}
    digests, changes = word_digests(trail), {e.path for e in pulls(tries)}
    tagged = [*pages, *(e.path for e in tries if e.path in graph.pages)]
    return (
        [(p, page.type, page.title, page.words("aliases")) for p, page in pages.items()],
        [(p, graph.pages[p].words("tags")) for p in tagged],
        [(p, [t for t in graph.outlinks.get(p, ()) if t in known]) for p in sorted(known)],
        [(e.path, e.target, e.path in changes) for e in tries],
        [*digests.items()],
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
    """page -> {neighbour page, experiment or `#tag`: weight}, tags last: links either way weigh 1, a shared tag less the more common it is."""
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


def _tied(graph: Graph, pages: Mapping[str, Page], runs: set[str]) -> dict[str, frozenset[str]]:
    """page -> runs that it links or that link it."""
    tied: dict[str, set[str]] = defaultdict(set)
    for path in runs:
        for target in graph.outlinks.get(path, ()):
            tied[target].add(path)
    for path in pages:
        tied[path].update(t for t in graph.outlinks.get(path, ()) if t in runs)
    return {path: frozenset(own) for path, own in tied.items()}
