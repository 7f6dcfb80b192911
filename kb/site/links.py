"""Where every page stands in the site and where its links lead. Refuses to render: it knows paths and URLs only."""

import base64
import posixpath
import unicodedata
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote, urlsplit

from kb import KbError
from kb.graph import target_of, wikilink_of
from kb.graph.names import anchor_in
from kb.graph.paths import indexes_of
from kb.page import Page, read
from kb.site.body import Destination
from kb.site.raw_html import anchor_of
from kb.store import bytes_of, digest_of, read_bytes

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


@dataclass(frozen=True, slots=True)
class Resolved:
    """Where the links of one page lead: destinations by href as written (images as `!href`), the pictures that it shows by place, and
    the files outside the wiki that all this hangs on.
    """

    links: Mapping[str, Destination]
    pictures: Mapping[str, bytes]
    files: tuple[str, ...]


class Resolver:
    """Resolves links of pages; open for the length of one build, because what it read of cited pages it keeps."""

    def __init__(self, survey: "Survey"):
        self.layout, self.pages, self.places = survey.layout, survey.pages, survey.places
        self.files, self.sources = survey.files, survey.source_places
        self.repository = web_address(self.layout.config.site_repository, "repository")
        self.read: dict[str, Page] = {}

    def whole(self, path: str) -> Page:
        """A page with all its detail, read from its file where the build only skimmed it."""
        known = self.pages[path]
        if known.skimmed and path not in self.read:
            try:
                self.read[path] = read(path, read_bytes(self.layout, path))
            except OSError as error:
                raise KbError(
                    f"{path}: {error.strerror} while the site was made; `kb build` and try again"
                ) from error
        return self.read.get(path, known)

    def resolved(self, page: Page, place: str) -> Resolved:
        """Every link of a page."""
        links: dict[str, Destination] = {}
        pictures: dict[str, bytes] = {}
        files: set[str] = set()
        for link in page.links:
            if link.kind == "image":
                links.setdefault(
                    "!" + link.href, self._picture(link.href, page, place, pictures, files)
                )
            elif link.kind == "wikilink":
                links.setdefault(f"[[{link.href}]]", self._wikilink(link.href, page, place))
            elif link.kind in ("inline", "auto") and link.href not in links:
                links[link.href] = self._destination(link, page, place, files)
        return Resolved(links, pictures, tuple(sorted(files)))

    def _destination(self, link, page: Page, place: str, files: set[str]) -> Destination:
        root = self.layout.config.link_root
        where = target_of(link.href, folder=page.folder, link_root=root)
        if where is None:
            return _web(link.href)
        target, anchor = where[0] or page.path, where[1]
        for candidate in indexes_of(target, root):
            if candidate in self.places:
                cited = self.whole(candidate)
                known = not anchor or anchor == "top" or anchor in cited.anchors
                url = url_between(place, self.places[candidate], anchor if known else "")
                lines = anchor.startswith("L") and anchor[1:2].isdigit()
                note = "" if known else f"#{anchor}" if lines else f"no such heading: #{anchor}"
                return Destination("page" if known or lines else "loose", url, note)
        if target == ".." or target.startswith("../"):
            return Destination("broken", note=f"broken link: {target}")
        files.add(target)
        if source := self.sources.get("/".join(target.split("/")[:2])):
            return Destination("page", url_between(place, source), target)
        if (target + "/").startswith(self.files.unseen) or self.files.has(target):
            return self._file(target)
        return Destination("broken", note=f"broken link: {target}")

    def _wikilink(self, written: str, page: Page, place: str) -> Destination:
        link = wikilink_of(written)
        meant = self.files.names.meant(link.name, page)
        if len(meant) != 1:
            return Destination(
                "broken",
                note=f"{'several pages have' if meant else 'no page has'} this name: {link.name}",
            )
        if meant[0] not in self.places:
            return self._file(meant[0])
        anchor = (
            anchor_in(self.whole(meant[0]), link.heading)
            if link.heading and not link.heading.startswith("^")
            else ""
        )
        return Destination(
            "page" if anchor is not None else "loose",
            url_between(place, self.places[meant[0]], anchor or ""),
        )

    def _file(self, target: str) -> Destination:
        if self.repository and not target.startswith(".."):
            return Destination("web", f"{self.repository}/{quote(target)}", target)
        return Destination("file", note=f"not part of the site: {target}")

    def _picture(
        self, href: str, page: Page, place: str, pictures: dict[str, bytes], files: set[str]
    ) -> Destination:
        where = target_of(href, folder=page.folder, link_root=self.layout.config.link_root)
        if where is None:
            return _web(href)
        path = where[0]
        files.add(path)
        data = _picture_bytes(path, self.layout.root)
        if data is None:
            unseen = (path + "/").startswith(self.files.unseen)
            return self._file(path) if unseen else Destination("broken", note=f"no picture {path}")
        suffix = posixpath.splitext(path)[1].lower()
        if suffix == ".svg" and len(data) <= _LARGEST_SVG:
            return Destination(
                "image", "data:image/svg+xml;base64," + base64.b64encode(data).decode()
            )
        if suffix not in _PICTURES:
            return self._file(path)
        name = f"pictures/{digest_of(data)}{suffix}"
        pictures[name] = data
        return Destination("image", url_between(place, name))


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


def _picture_bytes(path: str, root: Path) -> bytes | None:
    """Bytes of a file inside the knowledge base; None for one that is missing, unreadable, outside or too large to be shown."""
    with suppress(OSError):
        return bytes_of(root / path, most=_LARGEST_PICTURE)
    return None
