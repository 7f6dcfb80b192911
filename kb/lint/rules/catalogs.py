"""Rules on pages that list others: counts that have rotted, pages left out, logs out of order, frontier rows that lead to failed experiments."""

import posixpath
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from kb.lint.matter import Matter, is_catalog
from kb.lint.registry import E, Mending, Rule, W
from kb.page import Page
from kb.page.document import Document
from kb.schema import FAILED, Finding

_COUNT = re.compile(r"\((\d[\d,]{0,9})(?: (?:pages?|entries|items|in total|total))?\)[ \t]*$")
# A number further off is no count of the list, but a year, a course or a name: "Transformer Math (101)".
_FAR = 4
_DATED = re.compile(r"\[?(\d{4}-\d{2}-\d{2})\b")
_FRONTIER = re.compile(r"frontier|current best|leader\b|best (?:so far|exp\w*|run)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Count:
    """A heading that says how many entries stand under it, and how many do."""

    line: int
    stated: str
    entries: int
    heading: str


def counts_of(page: Page, document: Document) -> Iterator[Count]:
    """Headings such as `Concepts (97)` over one list or one table, most of whose entries are links."""
    linked = {link.line for link in page.links}
    for heading, section in enumerate(page.sections):
        stated = _COUNT.search(section.title) if section.level > 1 else None
        if not stated:
            continue
        later = page.sections[heading + 1 :]
        end = next((s.start for s in later if s.level <= section.level), page.lines + 1)
        blocks = document.between(section.start + 1, end)
        items = [b.line for b in blocks if b.kind == "item" and b.depth == 1]
        rows = [row.line for b in blocks if b.kind == "table" for row in b.rows[1:]]
        entries = [] if items and rows else items or rows
        if entries and sum(line in linked for line in entries) * 2 > len(entries):
            yield Count(section.start, stated[1], len(entries), section.title)


def catalog_counts(matter: Matter) -> Iterator[Finding]:
    """Counts in headings that differ from the list below."""
    for path, page in matter.pages.items():
        counted = any(_COUNT.search(h.text) for h in page.headings)
        for count in counts_of(page, matter.document(path)) if counted else ():
            stated = int(count.stated.replace(",", ""))
            if (
                stated != count.entries
                and stated <= _FAR * count.entries
                and count.entries <= _FAR * stated
            ):
                what = f"'{count.heading}' says {count.stated}, but {count.entries} stand below"
                yield Finding(
                    path,
                    count.line,
                    "catalog-count",
                    what,
                    count.stated,
                    f"write {count.entries}",
                    fixable=True,
                )


def catalog_gaps(matter: Matter) -> Iterator[Finding]:
    """A section that lists nearly all pages of one folder, and misses a few: four fifths of five pages or more make it a list of that folder."""
    members: dict[str, list[str]] = {}
    for path, page in matter.pages.items():
        if not is_catalog(page) or page.type == "catalog":
            members.setdefault(page.folder, []).append(path)
    for path, page in matter.pages.items():
        if page.type != "index":
            continue
        cited = {t for link in page.links if (t := matter.target(link.href, page))}
        for folder, count in sorted(Counter(posixpath.dirname(t) for t in cited).items()):
            missed = sorted(set(members.get(folder, ())) - cited - {path})
            size = count + len(missed)
            if folder != "wiki" and missed and size >= 5 and count >= 0.8 * size:
                shown = ", ".join(posixpath.basename(m) for m in missed[:3]) + (
                    f" and {len(missed) - 3} more" if len(missed) > 3 else ""
                )
                yield Finding(
                    path,
                    1,
                    "catalog-gap",
                    f"lists {count} of the {size} pages of {folder}/; missing: {shown}",
                    target=folder,
                    hint="add them",
                )


def logs_out_of_order(matter: Matter) -> Iterator[Finding]:
    """Dated headings of a log that break the order which most of them keep."""
    for path, page in matter.pages.items():
        if page.type != "log":
            continue
        dated = [(match[1], h) for h in page.headings if (match := _DATED.match(h.text))]
        steps = [(a > b) - (a < b) for (a, _), (b, _) in pairwise(dated)]
        newest_first = sum(steps) >= 0
        latest = ""
        for day, heading in dated:
            if latest and (day > latest if newest_first else day < latest):
                yield Finding(
                    path,
                    heading.line,
                    "log-order",
                    f"{day} stands {'below' if newest_first else 'after'} {latest}, but the log is kept {'newest' if newest_first else 'oldest'} first",
                    target=day,
                    hint="move the entry to its place",
                )
            else:
                latest = day


def failed_frontiers(matter: Matter) -> Iterator[Finding]:
    """A frontier column, or the managed block `frontier`, of a target page that leads to a failed experiment."""
    for path, page in matter.pages.items():
        if page.type != "target":
            continue
        columns = {row.line: (rows[0], row) for rows in matter.tables(path) for row in rows[1:]}
        blocks = [(start, end) for name, start, end in page.blocks if name == "frontier"]
        document = matter.document(path)
        for link in page.links:
            facts = matter.facts.get(matter.target(link.href, page))
            if not facts or facts.verdict.canonical not in FAILED:
                continue
            head, row = columns.get(link.line, (None, None))
            cells = zip(head.cells, row.cells, strict=False) if head and row else ()
            if any(start < link.line < end for start, end in blocks) or any(
                _FRONTIER.search(name.plain) and f"]({link.href}" in document.source(cell)
                for name, cell in cells
            ):
                what = (
                    f"the frontier names an experiment whose verdict is {facts.verdict.canonical}"
                )
                hint = "name the best supported experiment; kb build fills the managed block"
                yield Finding(path, link.line, "failed-frontier", what, target=link.href, hint=hint)


def _with_count(page: Page, data: bytes, finding: Finding, new: str) -> bytes:
    """The page with the count of one heading put right, grouped as it was."""
    lines = data.splitlines(keepends=True)
    row, old = lines[finding.line - 1], f"({finding.target}".encode()
    count = f"({int(new):,}" if "," in finding.target else f"({new}"
    lines[finding.line - 1] = count.encode().join(row.rsplit(old, 1))
    return b"".join(lines)


RULES = (
    Rule(
        *(
            "catalog-count",
            W,
            "a count that has rotted says that the list is not kept up",
            "lint",
            catalog_counts,
        ),
        mending=Mending(lambda matter, finding: finding.hint.removeprefix("write "), _with_count),
    ),
    Rule(
        "catalog-gap",
        W,
        "a list of nearly all pages of a folder hides the few it misses",
        check=catalog_gaps,
    ),
    Rule("log-order", W, "an entry out of order is overlooked", check=logs_out_of_order),
    Rule(
        "failed-frontier",
        E,
        "a frontier that names a failed experiment sends the loop back",
        "trail",
        failed_frontiers,
    ),
)
