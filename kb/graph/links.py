"""The status of every link: whether what it leads to is there, on the disk where it is no page; and what to say where it is not."""

import os
import posixpath
import re
from collections.abc import Mapping
from dataclasses import replace
from enum import StrEnum
from functools import cached_property
from typing import NamedTuple

from kb.graph.names import Names, anchor_in, attachments, relative, wikilink_of
from kb.graph.paths import indexes_of, target_of
from kb.page import Link, Page, read
from kb.schema import Finding
from kb.store import Layout, bytes_of, read_bytes

_LINE_ANCHOR = re.compile(r"L\d+(?:C\d+)?(?:-L?\d+(?:C\d+)?)?")


class LinkStatus(StrEnum):
    OK = "ok"
    BROKEN = "broken"
    BROKEN_ANCHOR = "broken-anchor"
    UNRESOLVED = "unresolved-reference"
    WIKILINK = "wikilink"  # One that means nothing here, or several things.
    EXTERNAL = "external"
    UNVERIFIABLE = "unverifiable"


class LinkPlace(NamedTuple):
    """Where a link leads: its status, the path (empty where there is none) and the anchor there."""

    status: LinkStatus
    path: str = ""
    anchor: str = ""


class Files:
    """What is on the disk around the pages, asked once per path; open for the length of one lint."""

    def __init__(self, layout: Layout, pages: Mapping[str, Page]):
        self.layout, self.pages = layout, pages
        self.link_root = layout.config.link_root
        self.unseen = tuple(
            p.rstrip("/") + "/" for p in (*submodules(layout), *layout.config.local)
        )
        self.exists: dict[str, bool] = {}
        self.read: dict[str, Page | None] = {}

    @cached_property
    def names(self) -> Names:
        return Names(self.pages, attachments(self.layout.root, self.layout.config.wiki))

    def has(self, path: str) -> bool:
        if path not in self.exists:
            self.exists[path] = path in self.pages or os.path.exists(
                os.path.join(self.layout.root, path)
            )
        return self.exists[path]

    def page(self, path: str) -> Page | None:
        """The page at a path with all its detail, a markdown file outside wiki/ included; None for any other file."""
        known = self.pages.get(path)
        if known and not known.skimmed:
            return known
        if path not in self.read:
            file = os.path.join(self.layout.root, path)
            here = (
                path.endswith(".md")
                and os.path.isfile(file)
                and self.layout.holds(self.layout.root / path)
            )
            self.read[path] = read(path, read_bytes(self.layout, path)) if here else None
        return self.read[path]


def submodules(layout: Layout) -> tuple[str, ...]:
    """Folders that `.gitmodules` says belong to other repositories."""
    file = layout.root / ".gitmodules"
    if not file.is_file():
        return ()
    import configparser

    parser = configparser.ConfigParser(strict=False, interpolation=None)
    try:
        # git indents keys; configparser would read an indented line as a continuation.
        parser.read_string(
            "\n".join(
                line.strip() for line in bytes_of(file).decode("utf-8", "replace").splitlines()
            )
        )
    except configparser.Error:
        return ()
    return tuple(sorted(parser[s]["path"] for s in parser.sections() if "path" in parser[s]))


def place_of(link: Link, page: Page, files: Files) -> LinkPlace:
    """Where one link of a page leads."""
    if link.kind == "wikilink":
        return _wikilink_place(link.href, page, files)
    if link.kind == "unresolved":
        return LinkPlace(LinkStatus.UNRESOLVED)
    if link.href.lower().startswith("file:"):
        return LinkPlace(LinkStatus.BROKEN)
    where = target_of(link.href, folder=page.folder, link_root=files.link_root)
    if where is None:
        return LinkPlace(LinkStatus.EXTERNAL)
    target, anchor = where
    if not target:
        return LinkPlace(
            LinkStatus.OK if _has_anchor(page, anchor) else LinkStatus.BROKEN_ANCHOR,
            page.path,
            anchor,
        )
    if target == ".." or target.startswith("../"):
        return LinkPlace(LinkStatus.BROKEN, target, anchor)
    if (target + "/").startswith(files.unseen):
        return LinkPlace(LinkStatus.UNVERIFIABLE, target, anchor)
    if not files.has(target):
        target = next(
            (path for path in indexes_of(target, files.link_root)[1:] if path in files.pages),
            target,
        )
    if not files.has(target):
        return LinkPlace(LinkStatus.BROKEN, target, anchor)
    cited = files.page(target) if anchor else None
    return LinkPlace(
        LinkStatus.BROKEN_ANCHOR
        if cited is not None and not _has_anchor(cited, anchor)
        else LinkStatus.OK,
        target,
        anchor,
    )


def _wikilink_place(written: str, page: Page, files: Files) -> LinkPlace:
    link = wikilink_of(written)
    meant = files.names.meant(link.name, page)
    if len(meant) != 1:
        return LinkPlace(LinkStatus.WIKILINK)
    cited = files.page(meant[0])
    # A block (`#^id`) is named by its own text, which no reader of headings sees.
    if cited is None or not link.heading or link.heading.startswith("^"):
        return LinkPlace(LinkStatus.OK, meant[0])
    anchor = anchor_in(cited, link.heading)
    return LinkPlace(
        LinkStatus.OK if anchor is not None else LinkStatus.BROKEN_ANCHOR, meant[0], anchor or ""
    )


def _has_anchor(page: Page, anchor: str) -> bool:
    return (
        not anchor
        or anchor == "top"
        or anchor in page.anchors
        or bool(_LINE_ANCHOR.fullmatch(anchor))
    )


def link_findings(graph: "Graph", files: Files, *, strict: bool = False) -> list[Finding]:  # noqa: F821  Whatever has pages.
    """A finding for every link that leads nowhere, with the one page it may have meant as a hint where there is just one.

    A wiki that writes most of its links as wikilinks is read by what follows them; in another one, or by a `strict` reader,
    each is a finding, for markdown does not.
    """
    strict = strict or not prefers_wikilinks(graph.pages)
    findings: list[Finding] = []
    for path in sorted(graph.pages):
        page = graph.pages[path]
        known: dict[tuple[str, str], Finding | None] = {}
        for link in page.links:
            key = (link.href, link.kind)
            if key not in known:
                known[key] = _finding(link, page, files, strict=strict)
            if sample := known[key]:
                findings.append(replace(sample, line=link.line))
    return findings


def prefers_wikilinks(pages: Mapping[str, Page]) -> bool:
    """Whether a wiki's people write most of their links to pages as wikilinks: what kb writes, a log or a run that it filed, has its own."""
    filed = ("receipt", "imported", "sealed")
    people = (p for p in pages.values() if p.type != "log" and not any(map(p.field, filed)))
    links = [way for p in people for way in p.cited if way.startswith("[[") or way.endswith(".md")]
    return sum(way.startswith("[[") for way in links) * 2 > len(links)


def _finding(link: Link, page: Page, files: Files, *, strict: bool) -> Finding | None:
    """What lint says of one link; None where it is fine."""
    status, target, anchor = place_of(link, page, files)
    code, fixable = status.value, False
    if link.kind == "wikilink" and status is not LinkStatus.BROKEN_ANCHOR:
        code = "wikilink"
        message, hint, fixable = _about_wikilink(link.href, page, files, status, strict=strict)
    elif status is LinkStatus.UNRESOLVED:
        message = f"no definition for the reference '{link.href}'"
        hint = f"add a line [{link.href}]: path.md"
    elif status is LinkStatus.BROKEN_ANCHOR:
        cited, wanted = files.page(target), anchor or wikilink_of(link.href).heading
        near = nearest_anchor(wanted, cited) if cited else ""
        message = f"'{target}' has no such heading or anchor"
        hint = f"did you mean #{near}?" if near else "link to a heading that is there"
    elif status is LinkStatus.BROKEN:
        code = "broken-link"
        message, hint, fixable = _about_broken(link.href, target, page, files)
    else:
        return None
    return Finding(page.path, 0, code, message, link.href, hint, fixable) if message else None


def _about_wikilink(
    written: str, page: Page, files: Files, status: LinkStatus, *, strict: bool
) -> tuple[str, str, bool]:
    """Message, hint and whether it can be mended; no message where the wikilink is fine."""
    names = files.names
    if status is LinkStatus.OK:
        markdown = names.markdown_of(written, page) if strict else ""
        message = "a wikilink, which markdown does not follow" if markdown else ""
        return message, f"write {markdown}", True
    meant = names.meant(wikilink_of(written).name, page)
    if len(meant) > 1:
        some = ", ".join(relative(path, page.folder) for path in meant[:3])
        return f"{len(meant)} files have that name", f"write its folder too: {some}", False
    likely = names.likely(written, page)
    hint = f"did you mean {likely}?" if likely else "write the page, or [text](path.md)"
    return "no page or file has that name", hint, False


def _about_broken(href: str, target: str, page: Page, files: Files) -> tuple[str, str, bool]:
    """Message, hint and whether it can be mended: where there is one page that it may mean."""
    rooted = files.layout.page(target) if href.startswith("/") else target
    spelled = files.names.spelled(target, rooted)
    others = [p for p in files.names.by_file.get(posixpath.basename(target), ()) if p != page.path]
    candidates = [spelled] if spelled else others
    if len(candidates) == 1:
        hint = f"did you mean {relative(candidates[0], page.folder)}?"
        return f"no file '{target}'", hint, True
    hint = "write the page, or remove the link"
    hint = f"{len(candidates)} pages have that name" if candidates else hint
    if not target:
        return "file: links work on one machine only", hint, False
    climbs = target.startswith("..")
    reason = "it climbs out of the knowledge base" if climbs else f"no file '{target}'"
    return reason, hint, False


def nearest_anchor(anchor: str, page: Page) -> str:
    """The one anchor of a page that reads the same but for case and punctuation; empty if there is none or more."""
    same = [h.slug for h in page.headings if _squeezed(h.slug) == _squeezed(anchor)]
    return same[0] if len(same) == 1 else ""


def _squeezed(anchor: str) -> str:
    return "".join(c for c in anchor.lower() if c.isalnum())
