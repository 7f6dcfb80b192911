"""Where every page stands in the site and where its links lead. Refuses to render: it knows paths and URLs only."""

import base64
import posixpath
import unicodedata
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING
from urllib.parse import quote, urlsplit

from kb import KbError
from kb.graph import LinkStatus, place_of, target_of, wikilink_of
from kb.graph.paths import indexes_of
from kb.page import Link, Page
from kb.site.body import Destination
from kb.site.raw_html import anchor_of
from kb.store import Layout, bytes_of, digest_of

if TYPE_CHECKING:
    from kb.site.survey import Survey

_PICTURES = {".png", ".jpg", ".jpeg", ".gif", ".webp"}
_LARGEST_PICTURE = 8 * 1024 * 1024
# An SVG may hold scripts, which run if it is opened by itself but never inside <img>; as data it has no address to be opened by.
_LARGEST_SVG = 400 * 1024
# Longer names would pass what file systems take once `.html` is added.
_LONGEST_NAME = 150
# Folders of the site that are the shell's own, or ours.
_KEPT_FOLDERS = frozenset(
    (
        "assets",
        "search",
        "templates",
        "pictures",
        "kb-assets",
        "kb-search",
        "by-target",
        "by-type",
        "by-tag",
        "captured",
    )
)


def site_paths(
    paths: Iterable[str], *, wiki: str = "wiki", taken: Iterable[str] = ()
) -> dict[str, str]:
    """Path below the site of every page, from the set of paths alone; no two differ by case only, none is a name that is kept for the site itself."""
    used = {t.lower() for t in taken}
    places: dict[str, str] = {}
    for path in sorted(paths):
        parts = [
            _name(part) for part in path.removesuffix(".md").removeprefix(f"{wiki}/").split("/")
        ]
        if len(parts) > 1 and parts[0].lower() in _KEPT_FOLDERS:
            parts[0] += "-"
        stem = "/".join(parts)
        if "/" not in stem and stem.lower() == "index":
            stem = "contents"  # The site's own home page stands at index.html.
        place, n = f"{stem}.html", 2
        while place.lower() in used:
            place, n = f"{stem}-{n}.html", n + 1
        used.add(place.lower())
        places[path] = place
    return places


def _name(part: str) -> str:
    kept = (
        "".join(
            c if c.isalnum() or c in "-_." else "-" for c in unicodedata.normalize("NFC", part)
        ).strip(".-")
        or "untitled"
    )
    if len(kept.encode()) > _LONGEST_NAME:
        kept = kept.encode()[: _LONGEST_NAME - 20].decode(errors="ignore") + "-" + digest_of(part)
    return (
        "read-me" if kept.lower() == "readme" else kept
    )  # MkDocs takes a README for the index of its folder.


def name_of(text: str) -> str:
    """A folder or file name of the site for any text, such as a target's name or a tag."""
    return _name(text.replace("/", "-"))


def url_between(place: str, to: str, anchor: str = "") -> str:
    """Relative URL from one file of the site to another."""
    here, there = place.split("/")[:-1], to.split("/")
    shared = 0
    while shared < min(len(here), len(there) - 1) and here[shared] == there[shared]:
        shared += 1
    path = "../" * (len(here) - shared) + "/".join(there[shared:])
    return (path if path.isascii() else quote(path)) + (
        f"#{quote(anchor_of(anchor))}" if anchor else ""
    )


class Resolver:
    """Resolves links of pages; open for the length of one build. `shown` are the pictures
    that the site shows: place by file.
    """

    def __init__(self, survey: "Survey"):
        self.layout, self.pages, self.places = survey.layout, survey.pages, survey.places
        self.files, self.sources = survey.files, survey.source_places
        self.root = survey.layout.config.link_root
        self.repository = web_address(self.layout.config.site_repository, "repository")
        self.shown: Mapping[str, str] = {}

    def whole(self, path: str) -> Page:
        """A page with all its detail, read from its file where the build only skimmed it."""
        return self.files.page(path) or self.pages[path]

    def outside(self, page: Page, *, pictures: bool = False) -> tuple[str, ...]:
        """Files inside the knowledge base that a page links to and that are no pages; or those that it shows."""
        kinds = ("image",) if pictures else ("inline", "auto")
        hrefs = (link.href for link in page.links if link.kind in kinds)
        meant = (target_of(href, folder=page.folder, link_root=self.root) for href in hrefs)
        files = {where[0] or page.path for where in meant if where}
        inside = (f for f in files if not (f + "/").startswith("../"))
        return tuple(sorted(f for f in inside if pictures or not self._page_at(f)))

    def _page_at(self, target: str) -> str:
        """The page that a path names, by itself or as the index of its folder."""
        return next((c for c in indexes_of(target, self.root) if c in self.places), "")

    def links(self, page: Page, place: str) -> dict[str, Destination]:
        """Where every link of a page leads, by href as written (images as `!href`)."""
        links: dict[str, Destination] = {}
        for link in page.links:
            if link.kind == "image":
                links["!" + link.href] = self._picture(link.href, page, place)
            elif link.kind in ("inline", "auto", "wikilink"):
                written = f"[[{link.href}]]" if link.kind == "wikilink" else link.href
                links[written] = self._destination(link, page, place)
        return links

    def _destination(self, link: Link, page: Page, place: str) -> Destination:
        status, target, anchor = place_of(link, page, self.files)
        if cited := self._page_at(target):
            known = status is not LinkStatus.BROKEN_ANCHOR and (
                anchor in ("", "top") or anchor in self.whole(cited).anchors
            )
            url = url_between(place, self.places[cited], anchor if known else "")
            lines = anchor.startswith("L") and anchor[1:2].isdigit()
            heading = anchor or link.href.partition("#")[2]
            note = "" if known else f"#{anchor}" if lines else f"no such heading: #{heading}"
            return Destination("page" if known or lines else "loose", url, note)
        if status is LinkStatus.WIKILINK:
            name = wikilink_of(link.href).name
            reason = "several pages have" if self.files.names.meant(name, page) else "no page has"
            return Destination("broken", note=f"{reason} this name: {name}")
        if status is LinkStatus.EXTERNAL or not target:
            return _web(link.href)
        if source := self.sources.get("/".join(target.split("/")[:2])):
            return Destination("page", url_between(place, source), target)
        if status is LinkStatus.BROKEN:
            return Destination("broken", note=f"broken link: {target}")
        return self._file(target)

    def _file(self, target: str) -> Destination:
        if self.repository and not target.startswith(".."):
            return Destination("web", f"{self.repository}/{quote(target)}", target)
        return Destination("file", note=f"not part of the site: {target}")

    def _picture(self, href: str, page: Page, place: str) -> Destination:
        where = target_of(href, folder=page.folder, link_root=self.root)
        if where is None:
            return _web(href)
        path = where[0]
        if shown := self.shown.get(path):
            return Destination("image", url_between(place, shown))
        data = picture_bytes(self.layout, path)
        if data is None:
            unseen = (path + "/").startswith(self.files.unseen)
            return self._file(path) if unseen else Destination("broken", note=f"no picture {path}")
        if path.lower().endswith(".svg") and len(data) <= _LARGEST_SVG:
            encoded = base64.b64encode(data).decode()
            return Destination("image", f"data:image/svg+xml;base64,{encoded}")
        return self._file(path)


def is_picture(path: str) -> bool:
    """Whether a file is a picture by its name, one that is shown as a file or one that is drawn in place."""
    return posixpath.splitext(path)[1].lower() in (*_PICTURES, ".svg")


def picture_place(layout: Layout, path: str) -> str:
    """Where a picture stands in the site, a name that changes with its bytes; empty for a file that cannot be shown as one."""
    suffix = posixpath.splitext(path)[1].lower()
    data = picture_bytes(layout, path) if suffix in _PICTURES else None
    return "" if data is None else f"pictures/{digest_of(data)}{suffix}"


def picture_bytes(layout: Layout, path: str) -> bytes | None:
    """Bytes of a file inside the knowledge base; None for one that is missing, unreadable, outside or too large to be shown."""
    with suppress(OSError):
        return bytes_of(layout.root / path, most=_LARGEST_PICTURE)
    return None


def web_address(text: str, key: str) -> str:
    """An address of kb.toml's `[site]`, without its last slash. Raises KbError for one that a browser would run or not follow."""
    if text and (
        urlsplit(text).scheme not in ("http", "https")
        or not urlsplit(text).netloc
        or set(text) & set("\"'<>` \n\t")
    ):
        raise KbError(
            f"kb.toml: [site] {key} is '{text}'; it takes an address that starts with https://"
        )
    return text.rstrip("/")


def _web(href: str) -> Destination:
    if href.startswith("//"):
        return Destination("web", "https:" + href)
    if href.partition(":")[0].lower() in ("http", "https", "mailto"):
        return Destination("web", href)
    return Destination("broken", note=f"not followed: {href[:80]}")
