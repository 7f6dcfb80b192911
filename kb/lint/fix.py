"""Mends what is mechanical and certain, byte by byte: moved pages with one candidate, blank lines before lists, counts in headings.

Refuses everything else: a page that changed since it was read, a filed experiment, a link that cannot be told from code that reads the same.
"""

import difflib
import posixpath
import re
from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import quote

from kb import store
from kb.graph import relative, target_of
from kb.lint.catalogs import counts_of
from kb.lint.matter import Matter
from kb.page import Page, edit, read, text_of
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
        page = matter.pages[path]
        before = after = matter.data(path)
        if store.digest_of(before) != page.digest:
            continue
        done = []
        # From the bottom up, so that an inserted line moves no line still to be mended.
        for finding in sorted(todo, key=lambda f: -f.line):
            mended = _mended(matter, page, after, finding)
            if mended != after:
                after = mended
                done.append(finding)
        if done:
            found.append(Mend(path, before, after, tuple(done)))
    return found


def write(layout: store.Layout, mends: Iterable[Mend]) -> list[Mend]:
    """Write the mends; those whose page changed meanwhile are left out. Returns what was written."""
    written = []
    with store.lock(layout, "pages"):
        for mend in mends:
            file = layout.root / mend.path
            if file.is_symlink() or not file.is_file() or store.read_bytes(layout, mend.path) != mend.before:
                continue
            store.write(file, mend.after)
            written.append(mend)
    return written


def _mended(matter: Matter, page: Page, data: bytes, finding: Finding) -> bytes:
    if finding.code == "list-blank-line":
        return edit.with_line_before(data, line=finding.line)
    if finding.code == "broken-link":
        return _with_new_target(page, data, finding, moved_to(matter, finding))
    if finding.code == "catalog-count":
        count = next((c for c in counts_of(page, matter.lines(page.path)) if c.line == finding.line), None)
        return _with_count(data, count.line, said=count.said, found=count.found) if count else data
    return data


def moved_to(matter: Matter, finding: Finding) -> str:
    """The link that a broken one must be: to the one page of that name. Empty where it is not certain that this is the page that was meant.

    Certain is a name of three words or more, or one that stood in a folder of the same name (a link one level too deep); an anchor must be there.
    """
    page = matter.pages[finding.path]
    where = target_of(finding.target, folder=page.folder)
    if where is None:
        return ""
    target, anchor = where
    name = posixpath.basename(target)
    candidates = [p for p in matter.by_name.get(name, ()) if p != page.path]
    if len(candidates) != 1 or type_of_file(name.removesuffix(".md")):
        return ""
    (found,) = candidates
    same_folder = posixpath.basename(posixpath.dirname(found)) == posixpath.basename(posixpath.dirname(target))
    if not same_folder and len([w for w in re.split(r"[-_.\W]+", name.removesuffix(".md")) if w]) < _SPECIFIC:
        return ""
    if anchor and anchor not in matter.pages[found].anchors:
        return ""
    rest = finding.target[len(finding.target.partition("#")[0].partition("?")[0]) :]
    path = "/" + found if finding.target.startswith("/") else relative(found, page.folder)
    return quote(path, safe="/~@!$&'*+,;=:") + rest


def _with_new_target(page: Page, data: bytes, finding: Finding, new: str) -> bytes:
    """The page with the links of one line, or their definition, led to `new`; as it was if that would touch anything but these links."""
    old = finding.target
    edited = edit.with_link(data, line=finding.line, old=old, new=new) if new else data
    if edited == data and new:
        edited = edit.with_definitions(data, old=old, new=new)
    before, after = ([link.href for link in read(page.path, version).links] for version in (data, edited))
    if edited == data or len(before) != len(after) or after != [new if b == old and a == new else b for b, a in zip(before, after, strict=True)]:
        return data
    gone = before.count(old) - after.count(old)
    # Code on the same line may read like a link; then more places changed than links did.
    inline = sum(edited.count(mark + new.encode()) - data.count(mark + new.encode()) for mark in (b"](", b"](<"))
    definitions = edited.count(b"]: " + new.encode()) - data.count(b"]: " + new.encode())
    return edited if gone and (inline == gone and not definitions or definitions == 1 and not inline) else data


def _with_count(data: bytes, line: int, *, said: str, found: int) -> bytes:
    lines = data.splitlines(keepends=True)
    wanted = f"{found:,}" if "," in said else str(found)
    old = f"({said}".encode()
    row = lines[line - 1]
    at = row.rfind(old)
    if at < 0:
        return data
    lines[line - 1] = row[:at] + f"({wanted}".encode() + row[at + len(old) :]
    return b"".join(lines)
