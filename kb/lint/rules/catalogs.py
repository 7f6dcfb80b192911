"""Rules on pages that list others: counts that have rotted, pages left out, logs out of order."""

import posixpath
import re
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise

from kb import grouped
from kb.lint.matter import Matter, is_catalog
from kb.lint.registry import Mending, Rule, W
from kb.page import Page
from kb.schema import Finding

_COUNT = re.compile(r"\((\d[\d,]{0,9})(?: (?:pages?|entries|items|in total|total))?\)[ \t]*$")
# A number further off is no count of the list, but a year, a course or a name: "Transformer Math (101)".
_FAR = 4
_DATED = re.compile(r"\[?(\d{4}-\d{2}-\d{2})\b")


def catalog_counts(matter: Matter) -> Iterator[Finding]:
    """Headings such as `Concepts (97)` over one list or one table, most of whose entries are links, and which has another number of them."""
    for path, page in matter.pages.items():
        linked = {link.line for link in page.links}
        for at, section in enumerate(page.sections):
            match = _COUNT.search(section.title) if section.level > 1 else None
            entries = _entries(matter, page, at) if match else ()
            count, stated = len(entries), int(match[1].replace(",", "")) if match else 0
            far = stated > _FAR * count or count > _FAR * stated
            if stated != count and not far and sum(n in linked for n in entries) * 2 > count:
                what = f"'{section.title}' says {match[1]}, but {count} stand below"
                mend = f"write {count}"
                yield Finding(path, section.start, "catalog-count", what, match[1], mend, True)


def _entries(matter: Matter, page: Page, at: int) -> list[int]:
    """Lines of the entries of the one list or one table of a section."""
    section, later = page.sections[at], page.sections[at + 1 :]
    end = next((s.start for s in later if s.level <= section.level), page.lines + 1)
    blocks = matter.document(page.path).between(section.start + 1, end)
    items = [b.line for b in blocks if b.kind == "item" and b.depth == 1]
    rows = [row.line for b in blocks if b.kind == "table" for row in b.rows[1:]]
    return [] if items and rows else items or rows


def catalog_gaps(matter: Matter) -> Iterator[Finding]:
    """A section that lists nearly all pages of one folder, and misses a few: four fifths of five pages or more make it a list of that folder."""
    members = grouped(
        (page.folder, path)
        for path, page in matter.pages.items()
        if not is_catalog(page) or page.type == "catalog"
    )
    for path, page in matter.pages.items():
        if page.type != "index":
            continue
        cited = {t for link in page.links if (t := matter.target(link.href, page))}
        for folder, count in sorted(Counter(map(posixpath.dirname, cited)).items()):
            missed = sorted({*members.get(folder, ())} - cited - {path})
            size = count + len(missed)
            if folder != "wiki" and missed and size >= 5 and count >= 0.8 * size:
                more = f" and {len(missed) - 3} more" if len(missed) > 3 else ""
                shown = ", ".join(map(posixpath.basename, missed[:3])) + more
                what = f"lists {count} of the {size} pages of {folder}/; missing: {shown}"
                yield Finding(path, 1, "catalog-gap", what, target=folder, hint="add them")


def logs_out_of_order(matter: Matter) -> Iterator[Finding]:
    """Dated headings of a log that break the order which most of them keep."""
    for path, page in matter.pages.items():
        if page.type != "log":
            continue
        dated = [(match[1], h) for h in page.headings if (match := _DATED.match(h.text))]
        steps = [(a > b) - (a < b) for (a, _), (b, _) in pairwise(dated)]
        first, where = ("newest", "below") if sum(steps) >= 0 else ("oldest", "after")
        latest = ""
        for day, heading in dated:
            if latest and (day > latest if first == "newest" else day < latest):
                what = f"{day} stands {where} {latest}, but the log is kept {first} first"
                yield Finding(
                    path, heading.line, "log-order", what, day, "move the entry to its place"
                )
            else:
                latest = day


def _with_count(page: Page, data: bytes, finding: Finding, new: str) -> bytes:
    """The page with the count of one heading put right, grouped as it was."""
    lines = data.splitlines(keepends=True)
    count = f"{int(new):,}" if "," in finding.target else new
    parts = lines[finding.line - 1].rsplit(f"({finding.target}".encode(), 1)
    lines[finding.line - 1] = f"({count}".encode().join(parts)
    return b"".join(lines)


RULES = (
    Rule(
        "catalog-count",
        W,
        "a count that has rotted says that the list is not kept up",
        check=catalog_counts,
        mending=Mending(lambda matter, finding: finding.hint.removeprefix("write "), _with_count),
    ),
    Rule(
        "catalog-gap",
        W,
        "a list of nearly all pages of a folder hides the few it misses",
        check=catalog_gaps,
    ),
    Rule("log-order", W, "an entry out of order is overlooked", check=logs_out_of_order),
)
