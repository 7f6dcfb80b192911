"""Moves a page and mends every link to it, and its own. Refuses to overwrite; a move killed half-way is finished by the same command."""

import posixpath
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from urllib.parse import quote

from kb import KbError, source, store
from kb.graph import relative, target_of, wikilink_of
from kb.page import Page, edit, read, seal


@dataclass(frozen=True, slots=True)
class PageMove:
    """What a move changes: bytes to write by path, links mended by path, and links that must be mended by hand as (path, line, href)."""

    old: str
    new: str
    writes: Mapping[str, bytes]
    mended: Mapping[str, int]
    left: tuple[tuple[str, int, str], ...]


def move(
    layout: store.Layout,
    old: str,
    *,
    new: str,
    along: Callable[[str, str], None] = lambda old, new: None,
    dry_run: bool = False,
) -> PageMove:
    """Move page `old` to `new` (paths relative to the root), and `along` what others keep of it, while a repeated call still finishes what
    was killed. Raises KbError if `old` is no page or `new` is taken by another one.
    """
    with store.lock(layout, "pages"):
        plan = planned(layout, old, new=new)
        if not dry_run:
            along(plan.old, plan.new)
            for path in sorted(plan.writes, key=lambda p: (p != plan.new, p)):
                before = plan.old if path == plan.new else path
                source.readdress_record(layout, before, new=path, data=plan.writes[path])
                store.write(layout.at(path), plan.writes[path])
            store.remove(layout.at(old))
    return plan


def planned(layout: store.Layout, old: str, *, new: str) -> PageMove:
    """The move without doing it."""
    old, new = posixpath.normpath(old), posixpath.normpath(new)
    _refuse_places(layout, old, new)
    paths = store.scan(layout).digests
    if old not in paths:
        raise KbError(f"{old}: no such page; `kb search` finds one by its words")
    name = posixpath.basename(old)
    names = name.encode(), quote(name).encode()
    stem = name.lower().removesuffix(".md").encode()
    writes: dict[str, bytes] = {}
    mended: dict[str, int] = {}
    left: list[tuple[str, int, str]] = []
    for path in paths:
        data = store.read_bytes(layout, path) if path != new else b""
        # A page that names neither the file nor, being moved, any other need not be parsed.
        is_linking = any(n in data for n in names) or b"[[" in data and stem in data.lower()
        if path != old and not is_linking:
            continue
        after, count, missed = _mended(read(path, data), data, old=old, new=new, paths=paths)
        after = seal.renewed(path, data, after=after)
        left.extend(missed)
        place = new if path == old else path
        if count:
            mended[place] = count
        if path == old or after != data:
            writes[place] = after
    if new in paths and store.read_bytes(layout, new) != writes[new]:
        raise KbError(f"{new}: there is another page; choose a free name")
    return PageMove(old, new, writes, mended, tuple(left))


def _refuse_places(layout: store.Layout, old: str, new: str) -> None:
    """Raises KbError for what is no place of a page, and for a place where none would be read."""
    wiki = "" if layout.config.wiki == "." else f"{layout.config.wiki}/"
    for path in (old, new):
        if not path.startswith(wiki) or not path.endswith(".md") or not store.is_inner(path):
            raise KbError(f"{path}: kb mv takes pages: paths such as {wiki}concepts/name.md")
    folders = [f for f in PurePosixPath(new).parents if f.name and f"{f}/" != wiki]
    hidden = any(part.startswith(".") for part in new.split("/"))
    if hidden or any((layout.root / folder).is_symlink() for folder in folders):
        raise KbError(
            f"{new}: pages in hidden folders and behind links are not read; name a plain folder"
        )
    if old == new:
        raise KbError(f"{old}: already there")


def _mended(
    page: Page, data: bytes, *, old: str, new: str, paths: Iterable[str]
) -> tuple[bytes, int, list[tuple[str, int, str]]]:
    here = new if page.path == old else page.path
    wikilinks = [link for link in page.links if link.kind == "wikilink"]
    lost = (x for x in wikilinks if _means(x.href, old) and not _means(x.href, new))
    count, left = 0, list[tuple[str, int, str]]()
    for (href, line), times in Counter((link.href, link.line) for link in lost).items():
        # It names as many folders as before, and the ending where it did.
        name = wikilink_of(href).name
        parts = new.split("/")[-1 - name.strip("/").count("/") :]
        named = "/".join(parts).removesuffix("" if name.endswith(".md") else ".md")
        after = _renamed(data, href, line, times=times, named=named.encode())
        if after == data or sum(_means(href, p) or _means(named, p) for p in paths) > 1:
            left.append((here, line, f"[[{href}]]"))
        else:
            data, count = after, count + 1
    for href, line in dict.fromkeys(
        (link.href, link.line)
        for link in page.links
        if link.kind not in ("wikilink", "unresolved", "auto")
    ):
        wanted = _href(href, page, here=here, old=old, new=new)
        if wanted == href:
            continue
        # One line may hold a link and a reference to the same place.
        after = edit.with_link(data, line=line, old=href, new=wanted)
        after = edit.with_definitions(after, old=href, new=wanted)
        if after == data:
            left.append((here, line, href))
        else:
            data, count = after, count + 1
    front = b"".join(data.splitlines(keepends=True)[: page.body_line - 1])
    name = rb"(?<![\w./-])" + re.escape(old.encode()) + rb"(?![\w/-]|\.\w)"
    fields, among = re.subn(name, lambda _: new.encode(), front)
    return fields + data[len(front) :], count + among, left


def _renamed(data: bytes, href: str, line: int, *, times: int, named: bytes) -> bytes:
    """The page with the wikilinks `href` of one line leading to another name; as it was where code reads alike."""
    lines, name = data.splitlines(keepends=True), wikilink_of(href).name
    # The bar of a table's cell is escaped.
    marks = {f"[[{written}]]".encode() for written in (href, href.replace("|", "\\|"))}
    if sum(map(lines[line - 1].count, marks)) == times:
        for mark in marks:
            other = mark.replace(name.encode(), named, 1)
            lines[line - 1] = lines[line - 1].replace(mark, other)
    return b"".join(lines)


def _means(written: str, path: str) -> bool:
    """Whether what stands between the brackets of a wikilink ends the path of a page."""
    name = wikilink_of(written).name.casefold().strip("/").removesuffix(".md")
    return bool(name) and f"/{path}".casefold().removesuffix(".md").endswith(f"/{name}")


def _href(href: str, page: Page, *, here: str, old: str, new: str) -> str:
    """The link `href` of `page` as it must read once the page stands at `here` and `old` at `new`."""
    where = target_of(href, folder=page.folder)
    if where is None or not where[0]:
        return href
    target = new if where[0] == old else where[0]
    if target == where[0] and posixpath.dirname(here) == page.folder:
        return href
    rest = href[len(href.partition("#")[0].partition("?")[0]) :]
    bare = href[: len(href) - len(rest)]
    if bare.startswith("/"):
        return quote("/" + target, safe="/~@!$&'*+,;=:") + rest
    slash = "/" if bare.endswith("/") and not target.endswith(".md") else ""
    return quote(relative(target, posixpath.dirname(here)), safe="/~@!$&'*+,;=:") + slash + rest
