"""Pages and the links between them: what each page leads to, backlinks, reachability, rank. Computed anew at every build; keeps no state.

Refuses to touch the disk while resolving pages to pages; only `kb.graph.links`, which lint and site call, asks what other files exist.
"""

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from operator import truediv
from typing import TYPE_CHECKING

from kb import exports, grouped
from kb.graph.names import Names, attachments, relative, wikilink_of
from kb.graph.paths import indexes_of, target_of
from kb.page import Page
from kb.schema import TYPES

if TYPE_CHECKING:
    from kb.graph.links import (
        Files,
        LinkStatus,
        link_findings,
        nearest_anchor,
        place_of,
        prefers_wikilinks,
    )

__all__ = [
    "Files",
    "Graph",
    "LinkStatus",
    "Names",
    "attachments",
    "generations",
    "graph_of",
    "link_findings",
    "longest_chain",
    "nearest_anchor",
    "page_target",
    "place_of",
    "prefers_wikilinks",
    "relative",
    "target_of",
    "wikilink_of",
]

# Loaded when it is first asked for: to know where links lead one need not say what is wrong with them.
__getattr__ = exports(
    __name__,
    {
        "links": (
            "Files",
            "LinkStatus",
            "link_findings",
            "nearest_anchor",
            "place_of",
            "prefers_wikilinks",
        )
    },
)

_PLAIN_NAME = re.compile(r"\w[\w.-]*", re.ASCII)
# Rounds of PageRank: after these no place in a wiki of thousands of pages changes.
_ROUNDS = 20
_DAMPING = 0.85


@dataclass(frozen=True)
class Graph:
    """Pages by path, the pages that each of them cites (in the order of first mention, itself left out), and what follows from both."""

    pages: Mapping[str, Page]
    outlinks: Mapping[str, tuple[str, ...]]

    @cached_property
    def backlinks(self) -> Mapping[str, tuple[str, ...]]:
        """Pages that link to a page, sorted, itself left out."""
        links = sorted(self.outlinks.items())
        citing = grouped((target, source) for source, targets in links for target in targets)
        return {path: tuple(sources) for path, sources in citing.items()}

    def reachable(self, starts: Iterable[str]) -> frozenset[str]:
        """Pages that a reader comes to by links from `starts`, those included."""
        reached: set[str] = set()
        queue = [s for s in starts if s in self.pages]
        while queue:
            path = queue.pop()
            if path not in reached:
                reached.add(path)
                queue.extend(t for t in self.outlinks.get(path, ()) if t not in reached)
        return frozenset(reached)

    def _votes(self) -> tuple[dict[str, int], dict[str, list[str]]]:
        """How many pages each page that has a vote cites; which of these cite a page."""
        lists = {name for name, kind in TYPES.items() if kind.lists}
        voters = {
            p: len(own) for p, own in self.outlinks.items() if self.pages[p].type not in lists
        }
        citing = ((p, [v for v in by if v in voters]) for p, by in self.backlinks.items())
        return voters, {p: by for p, by in citing if by}

    @cached_property
    def rank(self) -> Mapping[str, float]:
        """PageRank of every page, summing to 1 (Brin and Page 1998); pages that list others give no votes."""
        voters, cited = self._votes()
        # Most are cited by nobody: they have the least rank, all the same, and what they give is counted once.
        alike = {
            p: math.fsum(1 / voters[v] for v in by if v not in cited) for p, by in cited.items()
        }
        counts = {p: count for p, count in voters.items() if p in cited}
        place = {p: n for n, p in enumerate(counts)}
        giving = {p: [place[v] for v in by if v in place] for p, by in cited.items()}
        size = len(self.pages) or 1
        least, rank = 1 / size, dict.fromkeys(cited, 1 / size)
        for _ in range(_ROUNDS):
            votes, before = [rank[p] for p in counts], least
            share_at = list(map(truediv, votes, counts.values())).__getitem__
            votes.append(before * (len(voters) - len(counts)))
            least = (1 - _DAMPING + _DAMPING * (1 - math.fsum(votes))) / size
            rank = {
                p: least + _DAMPING * (math.fsum(map(share_at, places)) + before * alike[p])
                for p, places in giving.items()
            }
        return {p: rank.get(p, least) for p in self.pages}


def graph_of(pages: Mapping[str, Page], *, link_root: str = "") -> Graph:
    """Graph of all pages. A link to a folder counts as one to its index or README page, a wikilink as one to the page that it means.

    Links that start with `/` lead from `link_root`.
    """
    outlinks: dict[str, tuple[str, ...]] = {}
    names = Names(pages)
    # Most links of catalogs of code lead to files: a plain last name that no page or folder of a page has needs no closer look.
    ends = set(chain.from_iterable(path.split("/") for path in pages))

    def target_of_bare(bare: str, page: Page) -> str | None:
        if bare.startswith("[["):
            meant = names.meant(bare[2:].strip(), page)
            return meant[0] if len(meant) == 1 else None
        end = bare[bare.rfind("/") + 1 :]
        if end not in ends and _PLAIN_NAME.fullmatch(end) and not link_root:
            return None
        return page_target(bare, page.folder, pages, link_root)

    by_folder: dict[str, dict[str, str | None]] = defaultdict(dict)
    for path in sorted(pages):
        page = pages[path]
        known = by_folder[page.folder]
        for bare in page.cited:
            if bare not in known:
                known[bare] = target_of_bare(bare, page)
        targets = dict.fromkeys(map(known.__getitem__, page.cited))
        if own := tuple(t for t in targets if t and t != path):
            outlinks[path] = own
    return Graph(pages, outlinks)


def page_target(
    href: str, folder: str, pages: Mapping[str, Page], link_root: str = ""
) -> str | None:
    """The page that a link leads to; empty for the citing page itself, None for no page."""
    where = target_of(href, folder=folder, link_root=link_root)
    if where is None or not where[0]:
        return None
    return next((path for path in indexes_of(where[0], link_root) if path in pages), None)


def generations(pairs: Iterable[tuple[str, str]]) -> list[list[str]]:
    """Names in layers by pairs (earlier, later): every name stands in a later layer than those that come before it.

    Names that come before one another in a circle share a layer.
    """
    import networkx

    order = networkx.DiGraph(sorted(set(pairs)))
    circles = networkx.condensation(order)
    return [
        sorted(name for node in layer for name in circles.nodes[node]["members"])
        for layer in networkx.topological_generations(circles)
    ]


def longest_chain(steps: Iterable[tuple[str, str]]) -> list[str]:
    """The longest path through steps (from, to); steps that would close a circle are left out."""
    import networkx

    paths = networkx.DiGraph()
    for a, b in sorted(set(steps)):
        if a != b and not (
            paths.has_node(a) and paths.has_node(b) and networkx.has_path(paths, b, a)
        ):
            paths.add_edge(a, b)
    return networkx.dag_longest_path(paths)
