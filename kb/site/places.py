"""Where every page stands in the site and where its links lead. Refuses to render: it knows paths and URLs only."""

import base64
import os
import posixpath
import re
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from kb.graph import Files, Graph, LinkStatus, status_of, target_of
from kb.page import Page
from kb.site.html import Destination, anchor_of
from kb.store import Layout, digest_of

_PICTURES = {".png", ".jpg", ".jpeg", ".gif", ".webp"}
_LARGEST_PICTURE = 8 * 1024 * 1024
# An SVG may hold scripts, which run if it is opened by itself but never inside <img>; as data it has no address to be opened by.
_LARGEST_SVG = 400 * 1024
# Longer names would pass what file systems take once `.html` is added.
_LONGEST_NAME = 150
# Folders of the site that are MkDocs's own, or ours.
_KEPT_FOLDERS = frozenset(("assets", "search", "templates", "pictures", "kb-assets", "by-target", "by-type", "by-tag"))
_SCHEME = re.compile(r"([a-zA-Z][a-zA-Z0-9+.\-]*):")


def site_paths(paths: Iterable[str], *, taken: Iterable[str] = ()) -> dict[str, str]:
    """Path below site/docs of every page, from the set of paths alone; no two differ by case only, none is a name MkDocs keeps for itself."""
    used = {t.lower() for t in taken}
    places: dict[str, str] = {}
    for path in sorted(paths):
        parts = [_name(part) for part in path.removesuffix(".md").removeprefix("wiki/").split("/")]
        if len(parts) > 1 and parts[0].lower() in _KEPT_FOLDERS:
            parts[0] += "-"
        stem = "/".join(parts)
        if "/" not in stem and stem.lower() == "index":
            stem = "contents"  # The site's own home page stands at index.md.
        place, n = f"{stem}.md", 2
        while place.lower() in used:
            place, n = f"{stem}-{n}.md", n + 1
        used.add(place.lower())
        places[path] = place
    return places


def _name(part: str) -> str:
    kept = "".join(c if c.isalnum() or c in "-_." else "-" for c in unicodedata.normalize("NFC", part)).strip(".-") or "untitled"
    if len(kept.encode()) > _LONGEST_NAME:
        kept = kept.encode()[: _LONGEST_NAME - 20].decode(errors="ignore") + "-" + digest_of(part)
    return "read-me" if kept.lower() == "readme" else kept  # MkDocs takes a README for the index of its folder.


def name_of(text: str) -> str:
    """A folder or file name of the site for any text, such as a target's name or a tag."""
    return _name(text.replace("/", "-"))


def url_between(place: str, to: str, anchor: str = "") -> str:
    """Relative URL from one file of site/docs to another."""
    here, there = place.split("/")[:-1], to.split("/")
    shared = 0
    while shared < min(len(here), len(there) - 1) and here[shared] == there[shared]:
        shared += 1
    path = "../" * (len(here) - shared) + "/".join(there[shared:])
    if path.endswith(".md"):
        path = path[:-3] + ".html"
    return (path if path.isascii() else quote(path)) + (f"#{quote(anchor_of(anchor))}" if anchor else "")


@dataclass(frozen=True, slots=True)
class Map:
    """What resolving needs: where pages and pictures stand, and what is on the disk around them. `pictures` is filled on the way."""

    layout: Layout
    graph: Graph
    places: Mapping[str, str]
    files: Files
    pictures: dict[str, bytes]


def destinations(page: Page, sitemap: Map, *, place: str) -> dict[str, Destination]:
    """Destination of every link of a page by href as written (images by `!href`)."""
    found: dict[str, Destination] = {}
    for link in page.links:
        if link.kind == "image":
            found.setdefault("!" + link.href, _picture(link.href, page, sitemap, place))
        elif link.kind in ("inline", "auto"):
            found.setdefault(link.href, _destination(link, page, sitemap, place))
    return found


def _destination(link, page: Page, sitemap: Map, place: str) -> Destination:
    status, target = status_of(link, page, sitemap.files)
    if status is LinkStatus.EXTERNAL:
        return _web(link.href)
    if status is LinkStatus.BROKEN:
        return Destination("broken", note=f"broken link: {target or link.href}")
    anchor = target_of(link.href, folder=page.folder)[1]
    for candidate in (target, f"{target}/index.md", f"{target}/README.md"):
        if candidate in sitemap.places:
            cited = sitemap.graph.pages.get(candidate)
            if anchor and cited is not None and anchor not in cited.anchors:
                loose = status is LinkStatus.BROKEN_ANCHOR
                return Destination(
                    "loose" if loose else "page",
                    url_between(place, sitemap.places[candidate]),
                    f"no such heading: #{anchor}" if loose else f"#{anchor}",
                )
            return Destination("page", url_between(place, sitemap.places[candidate], anchor))
    return _file(target, sitemap)


def _web(href: str) -> Destination:
    scheme = _SCHEME.match(href)
    if href.startswith("//") or (scheme and scheme[1].lower() in ("http", "https", "mailto")):
        return Destination("web", href if not href.startswith("//") else "https:" + href)
    return Destination("broken", note=f"not followed: {href[:80]}")


def _file(target: str, sitemap: Map) -> Destination:
    base = sitemap.layout.config.site_repository
    if base and not target.startswith(".."):
        return Destination("web", f"{base.rstrip('/')}/{quote(target)}", target)
    return Destination("file", note=f"not part of the site: {target}")


def _picture(href: str, page: Page, sitemap: Map, place: str) -> Destination:
    where = target_of(href, folder=page.folder)
    if where is None:
        return _web(href)
    path = where[0]
    data = _picture_bytes(path, sitemap.layout.root)
    if data is None:
        unseen = (path + "/").startswith(sitemap.files.unseen)
        return _file(path, sitemap) if unseen else Destination("broken", note=f"no picture {path}")
    suffix = posixpath.splitext(path)[1].lower()
    if suffix == ".svg" and len(data) <= _LARGEST_SVG:
        return Destination("image", "data:image/svg+xml;base64," + base64.b64encode(data).decode())
    if suffix not in _PICTURES:
        return _file(path, sitemap)
    name = f"pictures/{digest_of(data)}{suffix}"
    sitemap.pictures[name] = data
    return Destination("image", url_between(place, name))


def _picture_bytes(path: str, root: Path) -> bytes | None:
    """Bytes of a file inside the knowledge base; None for one that is missing, unreadable, outside or too large to be shown."""
    if "\0" in path or path.startswith(".."):
        return None
    real = os.path.realpath(os.path.join(root, path))
    if not real.startswith(os.path.realpath(root) + os.sep) or not os.path.isfile(real):
        return None
    try:
        with open(real, "rb") as file:
            data = file.read(_LARGEST_PICTURE + 1)
    except OSError:
        return None
    return data if len(data) <= _LARGEST_PICTURE else None
