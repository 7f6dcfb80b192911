"""Pages and the links between them: resolution, backlinks, reachability, rank. Computed anew at every build; keeps no state of its own.

Refuses to touch the disk while resolving pages to pages; only `link_findings`, which lint calls, asks whether other files exist.
"""

import configparser
import os
import posixpath
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import NamedTuple
from urllib.parse import quote, unquote

from kb.page import Link, Page, read, slug_of
from kb.schema import Finding
from kb.store import Layout, read_bytes

_SCHEME = re.compile(r"^[a-zA-Z][a-zA-Z0-9+.\-]*:")
_PLAIN_NAME = re.compile(r"\w[\w.-]*", re.ASCII)
_LINE_ANCHOR = re.compile(r"L\d+(?:C\d+)?(?:-L?\d+(?:C\d+)?)?")


class LinkStatus(StrEnum):
    OK = "ok"
    BROKEN = "broken"
    BROKEN_ANCHOR = "broken-anchor"
    UNRESOLVED = "unresolved-reference"
    WIKILINK = "wikilink"
    EXTERNAL = "external"
    UNVERIFIABLE = "unverifiable"


class Edge(NamedTuple):
    """One link from page to page; `line` on the citing page, `anchor` on the cited one. A NamedTuple because there are a hundred thousand."""

    source: str
    target: str
    anchor: str
    line: int


@dataclass(frozen=True)
class Graph:
    """Pages by path, the pages that each of them cites (in the order of first mention, itself left out), and what follows from both."""

    pages: Mapping[str, Page]
    outlinks: Mapping[str, tuple[str, ...]]

    @cached_property
    def backlinks(self) -> Mapping[str, tuple[str, ...]]:
        """Pages that link to a page, sorted, itself left out."""
        citing: dict[str, list[str]] = {}
        for source in sorted(self.outlinks):
            for target in self.outlinks[source]:
                citing.setdefault(target, []).append(source)
        return {path: tuple(sources) for path, sources in citing.items()}

    @cached_property
    def edges(self) -> tuple[Edge, ...]:
        """Every link from page to page, with its line and anchor; unpacks all pages."""
        found = []
        for path in sorted(self.pages):
            page = self.pages[path]
            for link in page.links:
                bare, _, anchor = link.href.partition("#")
                target = _page_target(bare, page.folder, self.pages) if link.kind not in ("wikilink", "unresolved") else None
                if target is not None:
                    found.append(Edge(path, target or path, unquote(anchor), link.line))
        return tuple(found)

    def reachable(self, starts: Iterable[str]) -> frozenset[str]:
        """Pages that a reader comes to by links from `starts`, those included."""
        seen: set[str] = set()
        queue = [s for s in starts if s in self.pages]
        while queue:
            path = queue.pop()
            if path not in seen:
                seen.add(path)
                queue.extend(t for t in self.outlinks.get(path, ()) if t not in seen)
        return frozenset(seen)

    @cached_property
    def rank(self) -> Mapping[str, float]:
        """PageRank of every page, summing to 1 (damping 0.85; Brin and Page 1998); machine-made catalogs give no votes."""
        nodes = sorted(self.pages)
        out = {
            p: [t for t in self.outlinks.get(p, ())] if self.pages[p].type not in ("catalog", "index", "log") else []
            for p in nodes
        }
        size = len(nodes) or 1
        rank = dict.fromkeys(nodes, 1 / size)
        for _ in range(20):
            fresh = dict.fromkeys(nodes, 0.0)
            loose = 0.0
            for path in nodes:
                targets = out[path]
                if not targets:
                    loose += rank[path]
                    continue
                share = rank[path] / len(targets)
                for target in targets:
                    fresh[target] += share
            base = 0.15 / size + 0.85 * loose / size
            rank = {path: base + 0.85 * value for path, value in fresh.items()}
        return rank


def target_of(href: str, *, folder: str) -> tuple[str, str] | None:
    """(path relative to the root, anchor) of a link as written in a page of `folder`; None for what leads out of the files.

    The path of a link that climbs out of the root starts with `..`. `?query` is dropped and %-escapes are decoded.
    """
    if href.startswith("//") or _SCHEME.match(href):
        return None
    rest, _, anchor = href.partition("#")
    rest = unquote(rest.partition("?")[0])
    if not rest:
        return "", unquote(anchor)
    path = rest.lstrip("/") if rest.startswith("/") else posixpath.join(folder, rest)
    return posixpath.normpath(path), unquote(anchor)


def graph_of(pages: Mapping[str, Page]) -> Graph:
    """Graph of all pages. A link to a folder counts as one to its index or README page."""
    outlinks: dict[str, tuple[str, ...]] = {}
    known: dict[tuple[str, str], str | None] = {}
    # Most links of catalogs of code lead to files: a plain last name that no page or folder of a page has needs no closer look.
    ends = {part for path in pages for part in path.split("/")}
    for path in sorted(pages):
        page = pages[path]
        folder = page.folder
        targets: dict[str, None] = {}
        for bare in page.cited:
            key = (folder, bare)
            if key not in known:
                end = bare[bare.rfind("/") + 1 :]
                known[key] = None if end not in ends and _PLAIN_NAME.fullmatch(end) else _page_target(bare, folder, pages)
            target = known[key]
            if target and target != path:
                targets[target] = None
        if targets:
            outlinks[path] = tuple(targets)
    return Graph(pages, outlinks)


def _page_target(bare: str, folder: str, pages: Mapping[str, Page]) -> str | None:
    """The page that a link without its anchor leads to; empty for the citing page itself, None for no page."""
    where = target_of(bare, folder=folder)
    if where is None:
        return None
    target = where[0]
    if not target or target in pages:
        return target
    return next((index for name in ("index.md", "README.md") if (index := f"{target}/{name}") in pages), None)


class Files:
    """What is on the disk around the pages, asked once per path; open for the length of one lint."""

    def __init__(self, layout: Layout, pages: Mapping[str, Page]):
        self.layout, self.pages = layout, pages
        self.unseen = tuple(p.rstrip("/") + "/" for p in (*submodules(layout), *layout.config.local))
        self.exists: dict[str, bool] = {}
        self.read: dict[str, Page | None] = {}

    def has(self, path: str) -> bool:
        if path not in self.exists:
            self.exists[path] = path in self.pages or os.path.exists(os.path.join(self.layout.root, path))
        return self.exists[path]

    def page(self, path: str) -> Page | None:
        """The page at a path, a markdown file outside wiki/ included; None for any other file."""
        if path in self.pages:
            return self.pages[path]
        if path not in self.read:
            file = os.path.join(self.layout.root, path)
            self.read[path] = read(path, read_bytes(self.layout, path)) if path.endswith(".md") and os.path.isfile(file) else None
        return self.read[path]


def submodules(layout: Layout) -> tuple[str, ...]:
    """Folders that `.gitmodules` says belong to other repositories."""
    file = layout.root / ".gitmodules"
    if not file.is_file():
        return ()
    parser = configparser.ConfigParser(strict=False, interpolation=None)
    try:
        # git indents keys; configparser would read an indented line as a continuation.
        parser.read_string("\n".join(line.strip() for line in file.read_text(encoding="utf-8", errors="replace").splitlines()))
    except configparser.Error:
        return ()
    return tuple(sorted(parser[s]["path"] for s in parser.sections() if "path" in parser[s]))


class Names:
    """Pages by what a wikilink may call them; the tables are made when one first asks."""

    def __init__(self, pages: Mapping[str, Page]):
        self.pages = pages

    @cached_property
    def by_stem(self) -> Mapping[str, list[str]]:
        found: dict[str, list[str]] = {}
        for path in sorted(self.pages):
            found.setdefault(self.pages[path].stem.casefold(), []).append(path)
        return found

    @cached_property
    def by_title(self) -> Mapping[str, set[str]]:
        """Pages by the slugs of file name, title and `aliases:`."""
        found: dict[str, set[str]] = {}
        for path, page in self.pages.items():
            for name in (page.stem, page.title, *page.words("aliases")):
                found.setdefault(slug_of(name), set()).add(path)
        return found

    @cached_property
    def by_fold(self) -> Mapping[str, list[str]]:
        found: dict[str, list[str]] = {}
        for path in sorted(self.pages):
            found.setdefault(path.casefold(), []).append(path)
        return found

    def spelled(self, path: str, *, rooted: bool) -> str:
        """The one page that a path leads to but for its `.md`, its case or, written from the root (`/x`), the folder wiki/; else empty."""
        for start in (path, f"wiki/{path}") if rooted else (path,):
            for end in (start, f"{start}.md"):
                like = [end] if end in self.pages else self.by_fold.get(end.casefold(), [])
                if len(like) == 1:
                    return like[0]
        return ""

    def markdown_of(self, wikilink: str, page: Page) -> str:
        """The markdown link that a wikilink stands for: to the one page of that file name or path, and a heading that is there; else empty."""
        where, label = _wikilink_parts(wikilink)
        name, _, heading = where.partition("#")
        name = name.strip().strip("/").casefold().removesuffix(".md")
        same = self.by_stem.get(name.rsplit("/", 1)[-1], []) if name else [page.path]
        same = [p for p in same if f"/{p.casefold()}".endswith(f"/{name}.md")] if "/" in name else same
        anchor = slug_of(heading.rsplit("#", 1)[-1])
        if len(same) != 1 or bool(heading) != bool(anchor) or anchor and anchor not in self.pages[same[0]].anchors:
            return ""
        path = "" if same[0] == page.path and anchor else quote(relative(same[0], page.folder), safe="/~@!$&'*+,;=:")
        return f"[{label}]({path}{'#' if anchor else ''}{anchor})"

    def likely(self, wikilink: str, page: Page) -> str:
        """The one page whose name, title or alias reads like a wikilink's, as a path from `page`; else empty."""
        name = _wikilink_parts(wikilink)[0].partition("#")[0].strip().removesuffix(".md").rsplit("/", 1)[-1]
        like = self.by_title.get(slug_of(name), set()) if name else set()
        return relative(min(like), page.folder) if len(like) == 1 else ""


def _wikilink_parts(wikilink: str) -> tuple[str, str]:
    """Where a wikilink leads and what it shows: `page#heading|label`; the bar of a table cell may be escaped."""
    where, bar, label = wikilink.replace("\\|", "|").partition("|")
    return where.strip(), (label if bar and label.strip() else where).strip()


def status_of(link: Link, page: Page, files: Files) -> tuple[LinkStatus, str]:
    """Status of one link and the path it leads to (empty where it leads to none)."""
    if link.kind == "wikilink":
        return LinkStatus.WIKILINK, ""
    if link.kind == "unresolved":
        return LinkStatus.UNRESOLVED, ""
    if link.href.lower().startswith("file:"):
        return LinkStatus.BROKEN, ""
    where = target_of(link.href, folder=page.folder)
    if where is None:
        return LinkStatus.EXTERNAL, ""
    target, anchor = where
    if not target:
        return (LinkStatus.OK if _has_anchor(page, anchor) else LinkStatus.BROKEN_ANCHOR), page.path
    if target == ".." or target.startswith("../"):
        return LinkStatus.BROKEN, target
    if (target + "/").startswith(files.unseen):
        return LinkStatus.UNVERIFIABLE, target
    if not files.has(target):
        return LinkStatus.BROKEN, target
    cited = files.page(target) if anchor else None
    if cited is not None and not _has_anchor(cited, anchor):
        return LinkStatus.BROKEN_ANCHOR, target
    return LinkStatus.OK, target


def _has_anchor(page: Page, anchor: str) -> bool:
    return not anchor or anchor == "top" or anchor in page.anchors or bool(_LINE_ANCHOR.fullmatch(anchor))


def link_findings(graph: Graph, files: Files) -> list[Finding]:
    """A finding for every link that leads nowhere, with the one page it may have meant as a hint where there is just one."""
    by_name: dict[str, list[str]] = {}
    for path in sorted(graph.pages):
        by_name.setdefault(path.rsplit("/", 1)[-1], []).append(path)
    meant = Names(graph.pages)
    found: list[Finding] = []
    for path in sorted(graph.pages):
        page = graph.pages[path]
        known: dict[tuple[str, str], Finding | None] = {}
        for link in page.links:
            key = (link.href, link.kind)
            if key not in known:
                known[key] = _finding(link, page, files, by_name, meant)
            sample = known[key]
            if sample is not None:
                found.append(
                    Finding(
                        path, link.line, sample.code, sample.message, target=link.href, hint=sample.hint, fixable=sample.fixable
                    )
                )
    return found


def _finding(link: Link, page: Page, files: Files, by_name: Mapping[str, list[str]], meant: Names) -> Finding | None:
    status, target = status_of(link, page, files)
    if status in (LinkStatus.OK, LinkStatus.EXTERNAL, LinkStatus.UNVERIFIABLE):
        return None
    if status is LinkStatus.WIKILINK:
        sure, likely = meant.markdown_of(link.href, page), meant.likely(link.href, page)
        hint = f"write {sure}" if sure else f"did you mean {likely}?" if likely else "write [text](path.md)"
        message = "a wikilink, which markdown does not follow"
        return Finding(page.path, 0, "wikilink", message, hint=hint, fixable=bool(sure))
    if status is LinkStatus.UNRESOLVED:
        return Finding(
            page.path,
            0,
            "unresolved-reference",
            f"no definition for the reference '{link.href}'",
            hint=f"add a line [{link.href}]: path.md",
        )
    if status is LinkStatus.BROKEN_ANCHOR:
        cited = files.page(target)
        near = nearest_anchor(target_of(link.href, folder=page.folder)[1], cited) if cited else ""
        return Finding(
            page.path,
            0,
            "broken-anchor",
            f"'{target}' has no such heading or anchor",
            hint=f"did you mean #{near}?" if near else "link to a heading that is there",
        )
    spelled = meant.spelled(target, rooted=link.href.startswith("/")) if target else ""
    candidates = (
        [spelled] if spelled else [c for c in by_name.get(posixpath.basename(target), ()) if c != page.path] if target else []
    )
    if len(candidates) == 1:
        return Finding(
            page.path,
            0,
            "broken-link",
            f"no file '{target}'",
            hint=f"did you mean {relative(candidates[0], page.folder)}?",
            fixable=True,
        )
    reason = (
        "file: links work on one machine only"
        if not target
        else "it climbs out of the knowledge base"
        if target.startswith("..")
        else f"no file '{target}'"
    )
    return Finding(
        page.path,
        0,
        "broken-link",
        reason,
        hint=f"{len(candidates)} pages have that name" if candidates else "write the page, or remove the link",
    )


def nearest_anchor(anchor: str, page: Page) -> str:
    """The one anchor of a page that reads the same but for case and punctuation; empty if there is none or more."""
    same = [h.slug for h in page.headings if _squeezed(h.slug) == _squeezed(anchor)]
    return same[0] if len(same) == 1 else ""


def _squeezed(anchor: str) -> str:
    return re.sub(r"[\W_]", "", anchor.lower())


def relative(path: str, folder: str) -> str:
    """A path of the knowledge base as a link from a page in `folder`."""
    return posixpath.relpath(path, folder or ".")


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
        if a != b and not (paths.has_node(a) and paths.has_node(b) and networkx.has_path(paths, b, a)):
            paths.add_edge(a, b)
    return networkx.dag_longest_path(paths)
