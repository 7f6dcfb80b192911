"""What rules look at: pages, links, trail and texts of one knowledge base at one moment. Refuses to judge and to write."""

import contextlib
import sqlite3
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

from kb import page, store, trail
from kb.graph import Files, Graph, Names, graph_of, page_target
from kb.page import Page
from kb.page.document import Document, Row
from kb.schema import Finding, type_of_file
from kb.trail import Facts
from kb.trail.declared import with_record

# Path -> (digest, page row, facts row) of pages that a build has read already.
Rows = dict[str, tuple[str, bytes, bytes | None]]
# Texts that are kept for the next look at the same page.
_TEXTS = 64

CATALOG_TYPES = ("index", "catalog", "log")


@dataclass(frozen=True)
class Matter:
    """One knowledge base as it stands on the disk; texts are read when a rule first asks. `today` is an ISO date."""

    layout: store.Layout
    graph: Graph
    files: Files
    facts: Mapping[str, Facts]
    scanned: tuple[Finding, ...]
    today: str

    @property
    def pages(self) -> Mapping[str, Page]:
        return self.graph.pages

    @cached_property
    def lines(self) -> Callable[[str], list[str]]:
        """Path -> lines of a page's text; line n of the file is item n - 1. Empty for a page that is no text or has gone."""

        def read(path: str) -> list[str]:
            text = page.text_of(self.data(path)[: page.LARGEST])
            return text.split("\n") if self.pages[path].lines else []

        return lru_cache(_TEXTS)(read)

    @cached_property
    def document(self) -> Callable[[str], Document]:
        """Path -> the blocks of a page; none of what is no text."""
        return lru_cache(_TEXTS)(lambda path: page.document_of("\n".join(self.lines(path))))

    def tables(self, path: str) -> list[tuple[Row, ...]]:
        """Rows of every table of a page, its header first."""
        return [block.rows for block in self.document(path).of("table")]

    def data(self, path: str) -> bytes:
        """Bytes of a file; none if it has gone since the scan, so that a rule finds nothing in it."""
        try:
            return store.read_bytes(self.layout, path)
        except OSError:
            return b""

    def target(self, href: str, citing: Page) -> str:
        """Path of the page that a link leads to; empty if it leads to no page. A link to a folder is one to its index page."""
        return page_target(href, citing.folder, self.pages) or ""

    @cached_property
    def names(self) -> Names:
        return Names(self.pages)


def rows_of(layout: store.Layout, *, talk: Callable[[str], None]) -> Rows:
    """What the last build read; nothing if there was none, or if another version of kb made it."""
    if not (layout.state / "kb.db").is_file():
        talk("nothing is built here; reading all pages (`kb build` keeps them read)")
        return {}
    try:
        with contextlib.closing(store.state(layout)) as db:
            # Each row is read once: what of them is mapped or cached is memory lost.
            db.execute("pragma mmap_size = 0")
            db.execute("pragma cache_size = -2000")
            if store.is_current(db):
                pages = db.execute("select path, digest, row, facts from page")
                return {path: tuple(rest) for path, *rest in pages}
    except sqlite3.Error as error:
        talk(f"{layout.state / 'kb.db'}: {error}; reading all pages")
    return {}


def matter_of(layout: store.Layout, *, rows: Rows, today: str) -> Matter:
    """The knowledge base as it stands on the disk; pages that `rows` knows by digest are not parsed again. Empties `rows`."""
    files = store.scan(layout)
    pages = dict[str, Page]()
    facts = list[tuple[str, str]]()
    gone = list[Finding]()
    for path, digest in files.digests.items():
        known = rows.pop(path, None)
        kept = page.from_row(path, digest, known[1]) if known and known[0] == digest else None
        if known and kept and not kept.skimmed:
            pages[path], facts_row = kept, known[2]
        else:
            try:
                data = store.read_bytes(layout, path)
            except OSError:
                what, hint = "the file went away while it was read", "run kb lint again"
                gone.append(Finding(path, 1, "vanished", what, hint=hint))
                continue
            read, filed, _ = with_record(page.read(path, data), layout, data)
            text = page.text_of(data[: page.LARGEST]) if read.lines else ""
            facts_row = trail.facts_of(filed, text, layout.config.verdicts) if read.lines else None
            pages[path] = replace(read, known=None)
        if facts_row is not None:
            facts.append((path, facts_row))
    graph = graph_of(pages, link_root=layout.config.link_root)
    runs = {f.path: f for f in trail.trail_of(facts, graph).experiments}
    return Matter(layout, graph, Files(layout, pages), runs, (*files.findings, *gone), today)


def is_catalog(page_: Page) -> bool:
    """Whether a page lists others rather than saying something itself."""
    return page_.type in CATALOG_TYPES or bool(type_of_file(page_.stem))


def line_of(page_: Page, *names: str) -> int:
    """Line of the first of these front-matter fields; line 1 if none is there."""
    return next((page_.front_lines[n] for n in names if n in page_.front_lines), 1)


def in_order(findings: Iterable[Finding]) -> list[Finding]:
    """Findings by path, line, code and target: the order in which they are printed."""
    return sorted(findings, key=lambda f: (f.path, f.line, f.code, f.target, f.message))
