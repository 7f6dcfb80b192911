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
    mending = all_rules()[finding.code].mending
    facts = matter.facts.get(finding.path)
    filed = facts is not None and not facts.running
    mends = (
        mending
        and finding.fixable
        and not filed
        and finding.path in matter.pages
        and mending.new(matter, finding)
    )
    return finding if finding.fixable == bool(mends) else replace(finding, fixable=bool(mends))


def mends_of(
    matter: Matter, findings: Iterable[Finding], *, wanted: Iterable[str] = ()
) -> list[Mend]:
    """Mends of the fixable findings, a page each: of the rules that are `wanted` by name, else of those that need not be. Nothing is written."""
    rules, named = all_rules(), {*wanted}
    by_page: dict[str, list[tuple[Finding, Mending]]] = {}
    for finding in findings:
        mending = rules[finding.code].mending
        if (
            finding.fixable
            and mending
            and (finding.code in named if named else not mending.only_named)
        ):
            by_page.setdefault(finding.path, []).append((finding, mending))
    mends = []
    for path, todo in sorted(by_page.items()):
        page, before = matter.pages[path], matter.data(path)
        if store.digest_of(before) != page.digest:
            continue
        after, done = before, []
        for finding, mending in todo:
            new = mending.new(matter, finding)
            edited = mending.edit(page, after, finding, new) if new else after
            done += [finding] if edited != after else []
            after = edited
        if done:
            mends.append(Mend(path, before, after, tuple(done)))
    return mends


def write(layout: store.Layout, mends: list[Mend]) -> list[Mend]:
    """Write the mends; those whose page changed meanwhile are left out. Returns what was written."""
    written: list[Mend] = []
    if not mends:
        return written
    with store.lock(layout, "pages"):
        for mend in mends:
            file = layout.root / mend.path
            if (
                file.is_symlink()
                or not file.is_file()
                or store.read_bytes(layout, mend.path) != mend.before
            ):
                continue
            store.write(file, mend.after)
            written.append(mend)
    return written
