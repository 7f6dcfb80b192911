"""Mends what is mechanical and certain, byte by byte: moved pages with one candidate, wikilinks to the one page of that name, blank lines
before lists, counts in headings.

Refuses everything else: a page that changed since it was read, a filed experiment, a link that cannot be told from code that reads the same.
"""

import difflib
import posixpath
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import quote

from kb import store
from kb.graph import relative, target_of
from kb.lint.catalogs import counts_of
from kb.lint.matter import Matter
from kb.page import Page, edit, newlines_of, read, text_of
from kb.schema import Finding, type_of_file

# A name of fewer words may stand in many folders (`overview.md`): that just one does so today does not make it the page that was meant.
_SPECIFIC = 3


@dataclass(frozen=True, slots=True)
class Mend:
    """One page before and after, and the findings that are gone with it."""

    path: str
    before: bytes
    after: bytes
    done: tuple[Finding, ...]

    def diff(self) -> str:
        """The change as a unified diff."""
        before, after = (text_of(data).splitlines(keepends=True) for data in (self.before, self.after))
        lines = difflib.unified_diff(before, after, f"a/{self.path}", f"b/{self.path}", n=2)
        return "".join(line if line.endswith("\n") else line + "\n\\ No newline at end of file\n" for line in lines)


def mends_of(matter: Matter, findings: Iterable[Finding]) -> list[Mend]:
    """Mends of the fixable findings, a page each. Nothing is written."""
    by_page: dict[str, list[Finding]] = {}
    for finding in findings:
        if finding.fixable:
            by_page.setdefault(finding.path, []).append(finding)
    found = []
    for path, todo in sorted(by_page.items()):
        page, before = matter.pages[path], matter.data(path)
        if store.digest_of(before) != page.digest:
            continue
        done = []
        after = before
        for finding in todo:
            led = after
            if finding.code == "broken-link":
                led = _with_new_target(page, after, finding, moved_to(matter, finding))
            elif finding.code == "wikilink":
                led = _without_wikilink(page, after, finding, matter.names.markdown_of(finding.target, page))
            if led != after:
                after = led
                done.append(finding)
        lines, others = _with_lines_mended(matter, page, after.splitlines(keepends=True), todo)
        if done or others:
            found.append(Mend(path, before, b"".join(lines), (*done, *others)))
    return found


def _with_lines_mended(matter: Matter, page: Page, lines: list[bytes], todo: list[Finding]) -> tuple[list[bytes], list[Finding]]:
    """The lines with counts put right and blank lines put in, from the bottom up, so that no line still to be mended moves."""
    counts = {c.line: c for c in counts_of(page, matter.lines(page.path))} if any(f.code == "catalog-count" for f in todo) else {}
    newline = newlines_of(b"".join(lines)).encode()
    done = []
    for finding in sorted(todo, key=lambda f: -f.line):
        if finding.code == "list-blank-line":
            lines.insert(finding.line - 1, newline)
            done.append(finding)
        elif finding.code == "catalog-count" and finding.line in counts:
            count = counts[finding.line]
            row, old = lines[count.line - 1], f"({count.said}".encode()
            at = row.rfind(old)
            if at >= 0:
                lines[count.line - 1] = (
                    row[:at] + f"({count.found:,}".replace(",", "," if "," in count.said else "").encode() + row[at + len(old) :]
                )
                done.append(finding)
    return lines, done


def write(layout: store.Layout, mends: list[Mend]) -> list[Mend]:
    """Write the mends; those whose page changed meanwhile are left out. Returns what was written."""
    written: list[Mend] = []
    if not mends:
        return written
    with store.lock(layout, "pages"):
        for mend in mends:
            file = layout.root / mend.path
            if file.is_symlink() or not file.is_file() or store.read_bytes(layout, mend.path) != mend.before:
                continue
            store.write(file, mend.after)
            written.append(mend)
    return written


def moved_to(matter: Matter, finding: Finding) -> str:
    """The link that a broken one must be: to the one page of that name. Empty where it is not certain that this is the page that was meant.

    Certain is the same path but for `.md`, case or the folder wiki/, a name of three words or more, or one that stood in a folder of the same name (a link one level
    too deep); an anchor must be there.
    """
    page = matter.pages[finding.path]
    where = target_of(finding.target, folder=page.folder)
    if where is None:
        return ""
    target, anchor = where
    found = matter.names.spelled(target, rooted=finding.target.startswith("/")) or _moved_page(matter, target, page.path)
    if not found or anchor and anchor not in matter.pages[found].anchors:
        return ""
    rest = finding.target[len(finding.target.partition("#")[0].partition("?")[0]) :]
    path = "/" + found if finding.target.startswith("/") else relative(found, page.folder)
    return quote(path, safe="/~@!$&'*+,;=:") + rest


def _moved_page(matter: Matter, target: str, citing: str) -> str:
    name = posixpath.basename(target)
    candidates = [p for p in matter.by_name.get(name, ()) if p != citing]
    if len(candidates) != 1 or type_of_file(name.removesuffix(".md")):
        return ""
    (found,) = candidates
    same_folder = posixpath.basename(posixpath.dirname(found)) == posixpath.basename(posixpath.dirname(target))
    specific = len([w for w in re.split(r"[-_.\W]+", name.removesuffix(".md")) if w]) >= _SPECIFIC
    return found if same_folder or specific else ""


def _with_new_target(page: Page, data: bytes, finding: Finding, new: str) -> bytes:
    """The page with the links of one line, or their definition, led to `new`; as it was if that would touch anything but these links."""
    old = finding.target
    edited = edit.with_link(data, line=finding.line, old=old, new=new) if new else data
    if edited == data and new:
        edited = edit.with_definitions(data, old=old, new=new)
    if edited == data:
        return data
    before, after = _hrefs(page.path, data), _hrefs(page.path, edited)
    if len(before) != len(after) or after != tuple(
        new if b == old and a == new else b for b, a in zip(before, after, strict=True)
    ):
        return data
    gone = before.count(old) - after.count(old)
    # Code on the same line may read like a link; then more places changed than links did.
    inline = sum(edited.count(mark + new.encode()) - data.count(mark + new.encode()) for mark in (b"](", b"](<"))
    definitions = edited.count(b"]: " + new.encode()) - data.count(b"]: " + new.encode())
    return edited if gone and (inline == gone and not definitions or definitions == 1 and not inline) else data


def _without_wikilink(page: Page, data: bytes, finding: Finding, new: str) -> bytes:
    """The page with the wikilinks of one line that read like the finding's written as `new`; as it was if that would touch anything else.

    An embed (`![[page]]`) shows the page and does not lead to it, so it stays.
    """
    lines = data.splitlines(keepends=True)
    if not new or finding.line > len(lines):
        return data
    target = re.escape(finding.target.encode()).replace(rb"\|", rb"\\?\|")
    row, count = re.subn(rb"(?<!!)\[\[" + target + rb"\]\](?![(\[])", lambda _: new.encode(), lines[finding.line - 1])
    edited = b"".join([*lines[: finding.line - 1], row, *lines[finding.line :]])
    before, after = _links(page.path, data), _links(page.path, edited)
    led = ("inline", new[new.rindex("](") + 2 : -1])
    # A wikilink in code reads like one, but is no link, so then fewer links changed than places did.
    return (
        edited if count and before - after == {("wikilink", finding.target): count} and after - before == {led: count} else data
    )


@lru_cache(maxsize=2)
def _links(path: str, data: bytes) -> Counter[tuple[str, str]]:
    return Counter((link.kind, link.href) for link in read(path, data).links)


@lru_cache(maxsize=2)
def _hrefs(path: str, data: bytes) -> tuple[str, ...]:
    return tuple(link.href for link in read(path, data).links)
