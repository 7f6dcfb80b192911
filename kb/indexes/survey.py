"""What topics are found from: pages that hold knowledge, runs that change something, and what ties them: links, telling tags, words."""

import math
import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from kb.graph import Graph
from kb.indexes.run_words import LARGE, RunWords, Words, pulls, run_words
from kb.page import Page
from kb.schema import type_of
from kb.trail import Facts, Trail
from kb.trail.themes import is_outcome

_KNOWLEDGE = frozenset(
    "concept observation source analysis codebase hypothesis target topic".split()
)
# A tag on more than this share of the pages says what kind of page it is, not what it is about.
_COMMON_TAG = 0.12


@dataclass(frozen=True, slots=True)
class WikiSurvey:
    """Pages of knowledge, and runs by path in trail order, with what ties them: `near` holds the pages and runs that a page links or that link it,
    which weigh 1 each, and its tags as `#tag`, which weigh less the more common they are; `tags` the pages and runs of a tag.
    """

    pages: Mapping[str, Page]
    runs: Mapping[str, Facts]
    tags: Mapping[str, frozenset[str]]
    near: Mapping[str, Mapping[str, float]]
    words: RunWords

    def tied(self, path: str) -> frozenset[str]:
        """Runs that are linked with a page."""
        return frozenset(self.near[path].keys() & self.runs.keys())


def survey_of(
    graph: Graph, trail: Trail, words: Mapping[str, Words], *, only: frozenset[str] | None
) -> WikiSurvey:
    """The survey of all pages, or of some `only`; baselines tie pages, but change nothing."""
    pages, tries = _pages_and_tries(graph, trail, only)
    run_pages = (graph.pages[e.path] for e in tries if e.path in graph.pages)
    tags = _telling_tags([*pages.values(), *run_pages], tries)
    known = frozenset(pages.keys() | {e.path for e in tries})
    out, back = graph.outlinks, graph.backlinks
    links = ((p, known.intersection((*out.get(p, ()), *back.get(p, ())))) for p in pages)
    near = {p: dict.fromkeys(own, 1.0) for p, own in links}
    for tag, carrying in tags.items():
        for path in carrying & pages.keys():
            near[path][f"#{tag}"] = math.log2(1 + len(carrying)) ** -2
    runs = {e.path: e for e in pulls(tries)}
    return WikiSurvey(pages, runs, tags, near, run_words(runs.values(), words))


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
    wanted = graph.pages.keys() | {e.path for e in trail.experiments} if only is None else only
    pages = {p: page for p, page in graph.pages.items() if page.type in _KNOWLEDGE and p in wanted}
    return pages, [e for e in trail.experiments if e.path in wanted]


def _telling_tags(pages: list[Page], tries: list[Facts]) -> Mapping[str, frozenset[str]]:
    """tag -> pages that carry it, for tags that tell pages apart: no verdicts, page types, numbers, or names that half a target's trail carries."""
    carried, of_target = defaultdict[str, set[str]](set), defaultdict[str, set[str]](set)
    for page in pages:
        for tag in page.words("tags"):
            carried[tag.lower()].add(page.path)
    for e in tries:
        of_target[e.target].add(e.path)
    large = [own for own in of_target.values() if len(own) >= LARGE]
    most = max(4, _COMMON_TAG * len(pages))
    return {
        tag: frozenset(own)
        for tag, own in sorted(carried.items())
        if 2 <= len(own) <= most
        and not any(2 * len(own & whole) > len(whole) for whole in large)
        and not re.fullmatch(r"[\d.\-]+", tag)
        and not type_of(tag)
        and not is_outcome(tag)
    }
