"""Pages and files by what a wikilink or a sloppy link may call them, as Obsidian resolves: a name anywhere, a path's end, an alias.

Refuses to choose between two: what means several pages is ambiguous, unless one stands in the citing page's own folder.
"""

import os
import posixpath
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import NamedTuple
from urllib.parse import quote

from kb import grouped
from kb.page import Page, slug_of


class Wikilink(NamedTuple):
    """`[[page#heading|label]]` in its parts; `name` is empty for a heading of the page itself, `heading` may be a block (`^id`)."""

    name: str
    heading: str
    label: str


def wikilink_of(written: str) -> Wikilink:
    """Parts of what stands between the brackets; the bar of a table cell may be escaped."""
    where, bar, label = written.replace("\\|", "|").partition("|")
    name, _, heading = where.strip().partition("#")
    return Wikilink(
        name.strip(), heading.strip(), label.strip() if bar and label.strip() else where.strip()
    )


class Names:
    """Pages by the names they go by; the tables are made when one is first asked for."""

    def __init__(self, pages: Mapping[str, Page], files: Iterable[str] = ()):
        self.pages, self.files = pages, files

    @cached_property
    def by_stem(self) -> Mapping[str, list[str]]:
        return _grouped((self.pages[path].stem.casefold(), path) for path in self.pages)

    @cached_property
    def by_file(self) -> Mapping[str, list[str]]:
        return _grouped((posixpath.basename(path), path) for path in self.pages)

    @cached_property
    def by_alias(self) -> Mapping[str, list[str]]:
        return _grouped(
            (alias.casefold(), path)
            for path, page in self.pages.items()
            for field in ("aliases", "alias")
            if page.front.get(field)
            for alias in page.words(field)
        )

    @cached_property
    def by_title(self) -> Mapping[str, list[str]]:
        """Pages by the slugs of file name, title and aliases: what a name nearly says."""
        return _grouped(
            (slug_of(name), path)
            for path, page in self.pages.items()
            for name in (page.stem, page.title, *page.words("aliases"))
        )

    @cached_property
    def by_fold(self) -> Mapping[str, list[str]]:
        return _grouped((path.casefold(), path) for path in self.pages)

    @cached_property
    def attached(self) -> Mapping[str, list[str]]:
        """Files that are no pages, by their names."""
        return _grouped((posixpath.basename(path).casefold(), path) for path in self.files)

    def meant(self, name: str, page: Page) -> list[str]:
        """The pages, or else files, that a wikilink's name may mean on a page: one where it is plain."""
        if not name:
            return [page.path]
        key = name.strip("/").casefold().removesuffix(".md")
        last = key.rsplit("/", 1)[-1]
        same = _ending(
            self.by_stem.get(last, []), f"{posixpath.normpath(key)}.md"
        ) or self.by_alias.get(key, [])
        same = same or _ending(
            self.attached.get(name.rsplit("/", 1)[-1].casefold(), []), name.strip("/").casefold()
        )
        near = [path for path in same if posixpath.dirname(path) == page.folder]
        return near if len(same) > 1 and len(near) == 1 else same

    def markdown_of(self, written: str, page: Page) -> str:
        """The markdown link that a wikilink stands for: to the one page it means, and a heading that is there; else empty."""
        link = wikilink_of(written)
        same = [path for path in self.meant(link.name, page) if path in self.pages]
        anchor = anchor_in(self.pages[same[0]], link.heading) if len(same) == 1 else None
        if anchor is None:
            return ""
        path = (
            ""
            if same[0] == page.path and anchor
            else quote(relative(same[0], page.folder), safe="/~@!$&'*+,;=:")
        )
        return f"[{link.label}]({path}{'#' if anchor else ''}{anchor})"

    def likely(self, written: str, page: Page) -> str:
        """The one page whose name, title or alias reads like a wikilink's, as a path from `page`; else empty."""
        name = wikilink_of(written).name.removesuffix(".md").rsplit("/", 1)[-1]
        like = set(self.by_title.get(slug_of(name), ())) if name else set()
        return relative(min(like), page.folder) if len(like) == 1 else ""

    def spelled(self, *paths: str) -> str:
        """The one page to which the first of these paths that leads to any does, but for its `.md` or its case; else empty."""
        for start in paths:
            for end in (start, f"{start}.md"):
                like = [end] if end in self.pages else self.by_fold.get(end.casefold(), [])
                if len(like) == 1:
                    return like[0]
        return ""


def anchor_in(page: Page, heading: str) -> str | None:
    """The anchor of a wikilink's heading on a page, empty for none, None where the page has no such heading."""
    anchor = slug_of(heading.rsplit("#", 1)[-1])
    return (
        None if bool(heading) != bool(anchor) or anchor and anchor not in page.anchors else anchor
    )


def relative(path: str, folder: str) -> str:
    """A path of the knowledge base as a link from a page in `folder`."""
    return posixpath.relpath(path, folder or ".")


def attachments(root: os.PathLike, wiki: str) -> list[str]:
    """Files of the wiki that are no pages, as paths relative to the root."""
    files = []
    for folder, folders, names in os.walk(os.path.join(root, wiki)):
        folders[:] = [f for f in folders if not f.startswith(".")]
        here = os.path.relpath(folder, root).replace(os.sep, "/")
        files += [
            posixpath.normpath(f"{here}/{name}") for name in names if not name.endswith(".md")
        ]
    return sorted(files)


def _grouped(pairs: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    return grouped(sorted(set(pairs)))


def _ending(paths: list[str], end: str) -> list[str]:
    """Those of some paths that end like a path, whatever stands above."""
    return (
        [path for path in paths if f"/{path.casefold()}".endswith(f"/{end}")]
        if "/" in end
        else paths
    )
