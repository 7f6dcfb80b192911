"""Mends what is mechanical and certain, byte by byte, as the rule of each finding says.

Refuses everything else: a page that changed since it was read, a filed experiment, what cannot be told from code that reads the same.
"""

import difflib
from collections.abc import Iterable
from dataclasses import dataclass, replace

from kb import store
from kb.lint.matter import Matter
from kb.lint.registry import Mending, all_rules
from kb.page import text_of
from kb.schema import Finding


@dataclass(frozen=True, slots=True)
class Mend:
    """One page before and after, and the findings that are gone with it."""

    path: str
    before: bytes
    after: bytes
    done: tuple[Finding, ...]

    def diff(self) -> str:
        """The change as a unified diff."""
        before, after = (
            text_of(data).splitlines(keepends=True) for data in (self.before, self.after)
        )
        lines = difflib.unified_diff(before, after, f"a/{self.path}", f"b/{self.path}", n=2)
        return "".join(
            line if line.endswith("\n") else line + "\n\\ No newline at end of file\n"
            for line in lines
        )


def fixable(finding: Finding, matter: Matter) -> Finding:
    """The finding, marked fixable only if its rule mends it and the page may be touched: a filed experiment is left as it is (Law 3)."""
    if not finding.fixable:
        return finding
    mending, facts = all_rules()[finding.code].mending, matter.facts.get(finding.path)
    open_ = finding.path in matter.pages and (facts is None or facts.running)
    return (
        finding
        if mending and open_ and mending.new(matter, finding)
        else replace(finding, fixable=False)
    )


def mends_of(
    matter: Matter, findings: Iterable[Finding], *, wanted: Iterable[str] = ()
) -> list[Mend]:
    """Mends of the fixable findings, a page each: of the rules that are `wanted` by name, else of those that need not be. Nothing is written."""
    rules, named = all_rules(), {*wanted}
    by_page = dict[str, list[tuple[Finding, Mending]]]()
    for finding in findings:
        mending = rules[finding.code].mending if finding.fixable else None
        if mending and (finding.code in named if named else not mending.only_named):
            by_page.setdefault(finding.path, []).append((finding, mending))
    mends = []
    for path, todo in sorted(by_page.items()):
        page, before, done = matter.pages[path], matter.data(path), []
        after = before
        for finding, mending in todo if store.digest_of(before) == page.digest else ():
            new = mending.new(matter, finding)
            edited = mending.edit(page, after, finding, new) if new else after
            done += [finding] if edited != after else []
            after = edited
        mends += [Mend(path, before, after, tuple(done))] if done else []
    return mends


def write(layout: store.Layout, mends: list[Mend]) -> list[Mend]:
    """Write the mends; those whose page changed meanwhile are left out. Returns what was written."""
    if not mends:
        return []
    with store.lock(layout, "pages"):
        files = {mend: layout.root / mend.path for mend in mends}
        written = [
            mend
            for mend, file in files.items()
            if file.is_file()
            and not file.is_symlink()
            and store.read_bytes(layout, mend.path) == mend.before
        ]
        for mend in written:
            store.write(files[mend], mend.after)
    return written
