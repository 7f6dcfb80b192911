"""Rules on links, and how a broken one is mended: to the one page it can mean, byte by byte, or not at all."""

import posixpath
import re
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from urllib.parse import quote

from kb.graph.names import relative
from kb.graph.paths import target_of
from kb.lint.matter import Matter
from kb.lint.registry import E, Mending, Rule, W
from kb.page import Page, edit, read
from kb.schema import Finding, type_of_file

# A name of fewer words may stand in many folders (`overview.md`): that just one does so today does not make it the page that was meant.
_SPECIFIC = 3
_UNSAFE = re.compile(r"\s*(?:javascript|vbscript|data)\s*:", re.IGNORECASE)
_PICTURE = re.compile(r"data:image/(?:png|jpe?g|gif|webp|avif)[;,]", re.IGNORECASE)


def unsafe_links(matter: Matter) -> Iterator[Finding]:
    for path, page in matter.pages.items():
        for link in page.links if any(map(_UNSAFE.match, page.cited)) else ():
            if link.kind in ("wikilink", "unresolved") or not _UNSAFE.match(link.href):
                continue
            if link.kind != "image" or not _PICTURE.match(link.href):
                what = "a link that would run code; the site renders it as text"
                yield Finding(
                    path, link.line, "unsafe-link", what, target=link.href[:200], hint="remove it"
                )


def moved_to(matter: Matter, finding: Finding) -> str:
    """The link that a broken one must be: to the one page of that name. Empty where it is not certain that this is the page that was meant.

    Certain is the same path but for `.md`, case or the folder of the wiki, a name of three words or more, or one that stood in a folder of the
    same name (a link one level too deep); an anchor must be there.
    """
    page = matter.pages[finding.path]
    where = target_of(finding.target, folder=page.folder)
    if where is None:
        return ""
    target, anchor = where
    rooted = finding.target.startswith("/")
    moved = matter.names.spelled(
        target, matter.layout.page(target) if rooted else target
    ) or _moved_page(matter, target, page.path)
    if not moved or anchor and anchor not in matter.pages[moved].anchors:
        return ""
    rest = finding.target[len(finding.target.partition("#")[0].partition("?")[0]) :]
    path = "/" + moved if rooted else relative(moved, page.folder)
    return quote(path, safe="/~@!$&'*+,;=:") + rest


def _moved_page(matter: Matter, target: str, citing: str) -> str:
    name = posixpath.basename(target)
    candidates = [p for p in matter.names.by_file.get(name, ()) if p != citing]
    if len(candidates) != 1 or type_of_file(name.removesuffix(".md")):
        return ""
    folder, former = (posixpath.basename(posixpath.dirname(p)) for p in (candidates[0], target))
    specific = len(re.findall(r"[^\W_]+", name.removesuffix(".md"))) >= _SPECIFIC
    return candidates[0] if folder == former or specific else ""


def _with_new_target(page: Page, data: bytes, finding: Finding, new: str) -> bytes:
    """The page with the links of one line, or their definition, led to `new`; as it was if that would touch anything but these links."""
    old = finding.target
    edited = edit.with_link(data, line=finding.line, old=old, new=new)
    if edited == data:
        edited = edit.with_definitions(data, old=old, new=new)
    before, after = _links(page.path, data), _links(page.path, edited)
    wanted = tuple(
        (kind, new if b == old and a == new else b)
        for (kind, b), (_, a) in zip(before, after, strict=False)
    )
    if edited == data or len(before) != len(after) or after != wanted:
        return data
    gone = sum(href == old for _, href in before) - sum(href == old for _, href in after)
    # Code on the same line may read like a link; then more places changed than links did.
    inline = sum(
        edited.count(mark + new.encode()) - data.count(mark + new.encode())
        for mark in (b"](", b"](<")
    )
    definitions = edited.count(b"]: " + new.encode()) - data.count(b"]: " + new.encode())
    return (
        edited
        if gone and (inline == gone and not definitions or definitions == 1 and not inline)
        else data
    )


def _without_wikilink(page: Page, data: bytes, finding: Finding, new: str) -> bytes:
    """The page with the wikilinks of one line that read like the finding's written as `new`; as it was if that would touch anything else.

    An embed (`![[page]]`) shows the page and does not lead to it, so it stays.
    """
    lines = data.splitlines(keepends=True)
    if finding.line > len(lines):
        return data
    target = re.escape(finding.target.encode()).replace(rb"\|", rb"\\?\|")
    row, count = re.subn(
        rb"(?<!!)\[\[" + target + rb"\]\](?![(\[])", lambda _: new.encode(), lines[finding.line - 1]
    )
    edited = b"".join([*lines[: finding.line - 1], row, *lines[finding.line :]])
    before, after = Counter(_links(page.path, data)), Counter(_links(page.path, edited))
    led = ("inline", new[new.rindex("](") + 2 : -1])
    # A wikilink in code reads like one, but is no link, so then fewer links changed than places did.
    certain = (
        count
        and before - after == {("wikilink", finding.target): count}
        and after - before == {led: count}
    )
    return edited if certain else data


@lru_cache(maxsize=2)
def _links(path: str, data: bytes) -> tuple[tuple[str, str], ...]:
    return tuple((link.kind, link.href) for link in read(path, data).links)


RULES = (
    Rule(
        "broken-link",
        E,
        "a link that leads nowhere sends reader and agent astray",
        "graph",
        mending=Mending(moved_to, _with_new_target),
    ),
    Rule("broken-anchor", E, "an anchor that is not there cannot be loaded as a section", "graph"),
    Rule(
        "unresolved-reference",
        W,
        "a reference without a definition is shown as raw brackets",
        "graph",
    ),
    Rule(
        *(
            "wikilink",
            W,
            "markdown does not follow wikilinks, so the page behind counts as unlinked",
            "graph",
        ),
        mending=Mending(
            lambda matter, f: matter.names.markdown_of(f.target, matter.pages[f.path]),
            _without_wikilink,
            only_named=True,
        ),
    ),
    Rule(
        "unsafe-link",
        E,
        "javascript:, vbscript: and data: links run code in a reader's browser",
        check=unsafe_links,
    ),
)
