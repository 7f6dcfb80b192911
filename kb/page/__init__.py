"""Markdown in, Page out: front matter, headings, links, sections, managed blocks. Bad content becomes findings, never an exception.

Refuses to follow a link or to know another page: what a link leads to is the graph's matter.

Blocks of a page, for whoever looks into its text (`kb.page.document` has their fields):

    document = document_of(text)                      # text: the whole page, as `text_of(data)` gives it; parsed once, however many ask
    for block in document.of("table"):
        header, *rows = block.rows
        [cell.plain for cell in header.cells]         # what a reader sees; escaped bars are bars
    for section in page.sections:
        for block in document.between(section.start, section.end):
            block.kind, block.line, block.plain, document.source(block)
            [s.text for s in block.spans if s.kind == "strong"]

A container (list, item, quote) comes before what it holds; `block.parent` is its place in `document.blocks`, -1 at the top.
"""

import re
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple

from kb import regex
from kb.page.text import Heading, Link, plain_text, slug_of
from kb.schema import (
    CREATED_FIELDS,
    OUTCOME_FIELDS,
    TYPES,
    Finding,
    Verdict,
    field_verdict,
    names_run,
    place_of,
    records_run,
    type_of,
    type_of_file,
    type_of_folder,
    type_of_place,
)
from kb.store import row_of, value_of
from kb.text import day_of

if TYPE_CHECKING:
    from kb.page.document import Document

__all__ = [
    "PageHead",
    "Heading",
    "Link",
    "Page",
    "Section",
    "document_of",
    "from_row",
    "head_of",
    "newlines_of",
    "plain_text",
    "read",
    "slug_of",
    "text_of",
    "to_row",
]

# Beyond this a file is no page that a person or an agent reads; its head is compiled and a finding says so.
LARGEST = 2 * 1024 * 1024

# A day of no calendar (`2026-99-99`) dates nothing.
_DAY = r"\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])"
_DATE = regex(rf"(?<!\d){_DAY}(?!\d)")
_DATE_NAME = regex(rf"(?:^|/)({_DAY})(?=[-_. ]|$)")
_CREATED = tuple(dict.fromkeys(s for f in CREATED_FIELDS for s in (f, f.replace("-", "_"))))
# The number of a run: behind its date, labelled (`v165`, `exp-3`) or at the head of what follows.
_NUMBER = regex(
    r"(?:\d{4}-\d{2}-\d{2}[-_]?)?+(?:.*?(?<![a-z0-9])(?:v|exp|run)[-_]?(\d{1,4})(?=[a-z]?(?:[-_.+]|$))"
    r"|(?:(?:e|experiment|trial|iter|iteration|attempt|round)[-_]?)?(\d{1,4})(?=[-_.]|$))",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Section:
    """Lines `start` to `end` (1-based, end excluded) of a page under one top heading; `anchor` is empty for what stands before the first."""

    anchor: str
    title: str
    level: int
    start: int
    end: int


class Detail(NamedTuple):
    """The parts of a page that take long to unpack; see `Page`."""

    front_lines: dict[str, int] = {}
    headings: tuple[Heading, ...] = ()
    links: tuple[Link, ...] = ()
    ids: tuple[str, ...] = ()
    symbols: tuple[str, ...] = ()
    fences: tuple[tuple[int, int], ...] = ()
    blocks: tuple[tuple[str, int, int], ...] = ()
    allowed: tuple[tuple[int, str], ...] = ()
    findings: tuple[Finding, ...] = ()
    callouts: tuple[int, ...] = ()


@lru_cache(maxsize=64)
def _detail_of(row: bytes) -> Detail:
    """The detail of a page; all of them together would take more memory than the pages."""
    return value_of(row, Detail)


class _Fronted:
    """What is asked of a page by its path and its front matter alone."""

    path: str
    front: dict[str, object]

    @cached_property
    def stem(self) -> str:
        return self.path.rsplit("/", 1)[-1].removesuffix(".md")

    @cached_property
    def folder(self) -> str:
        return self.path.rpartition("/")[0]

    def field(self, name: str) -> str:
        """A front-matter value as text; empty where it is missing, empty or no single value."""
        value = self.front.get(name)
        return "" if value is None or isinstance(value, (dict, list)) else str(value).strip()

    def words(self, name: str) -> tuple[str, ...]:
        """A front-matter value as a list of texts: a list's items, or one value alone, or nothing."""
        value = self.front.get(name)
        items = (
            value
            if isinstance(value, list)
            else []
            if value is None or isinstance(value, dict)
            else [value]
        )
        return tuple(
            str(v).strip() for v in items if v is not None and not isinstance(v, (dict, list))
        )


@dataclass(frozen=True)
class PageHead(_Fronted):
    """What a build asks of all pages together; of the front matter only `_TYING`."""

    path: str
    type: str
    title: str
    date: str
    cited: tuple[str, ...]
    front: dict[str, object]


@dataclass(frozen=True)
class Page(_Fronted):
    """One page as read. `path` is its id; lines are 1-based in the file; `front` holds raw values, dates as ISO text.

    `blocks` are managed blocks as (name, first line, last line); `callouts` are lines that open one (`> [!note]`); `allowed` are (line, finding code) pairs that a comment permits;
    `symbols` are the keys of the front matter's `symbols:` map, which are anchors too and are not repeated in `front`; `cited` are
    the destinations of its links without their anchors, each once, in order, those of wikilinks as `[[name`. `row` is the packed
    `detail`, empty where a build skimmed the page; `known` is the detail itself where it was just read. `labels` says of a page that
    neither its front matter nor its name tells to be a run's whether it labels a hypothesis or an outcome and compares what it measured.
    """

    path: str
    digest: str
    front: dict[str, object]
    body_line: int
    lines: int
    first_heading: str
    cited: tuple[str, ...]
    row: bytes = field(repr=False)
    known: Detail | None = field(default=None, repr=False, compare=False)
    labels: tuple[str, ...] = ()

    def __getstate__(self) -> dict[str, object]:
        # What a pool sends back is the packed form alone.
        return self.__dict__ | {"known": None}

    @property
    def skimmed(self) -> bool:
        """Whether a build read only what it needs, so that the rest of `detail` must be read from the file."""
        return not self.row

    @property
    def detail(self) -> Detail:
        """What few rooms need of many pages; unpacked when it is asked for. Raises ValueError for a page that was skimmed."""
        if self.known is not None:
            return self.known
        if self.skimmed:
            raise ValueError(f"{self.path} was skimmed: its detail stands in its file")
        return _detail_of(self.row)

    front_lines = property(attrgetter("detail.front_lines"))
    headings = property(attrgetter("detail.headings"))
    links = property(attrgetter("detail.links"))
    ids = property(attrgetter("detail.ids"))
    symbols = property(attrgetter("detail.symbols"))
    fences = property(attrgetter("detail.fences"))
    blocks = property(attrgetter("detail.blocks"))
    allowed = property(attrgetter("detail.allowed"))
    findings = property(attrgetter("detail.findings"))
    callouts = property(attrgetter("detail.callouts"))

    @cached_property
    def name(self) -> str:
        """What the page is called: its file, or its folder where it is the record of the run that the folder is."""
        above = self.folder.rsplit("/", 1)[-1]
        if self.path.count("/") < 2 or type_of_folder(above) is not None:
            return self.stem
        trail = type_of_folder(place_of(self.path)[0]) == "experiment"
        tells = self._reports if trail else self._tries
        record = records_run(above, self.stem, reports=tells)
        trail = trail or tells
        return above if record and (trail or self.stem.lower() == "findings") else self.stem

    @property
    def _tries(self) -> bool:
        """Whether a page of no folder for runs tells of one try: it labels what it supposed and how that came out, compares and concludes, or
        gives a verdict in its front matter; another field there may be that of a meeting, unless it supposed and measured something.
        """
        labels = {*self.labels}
        known = self._states() if {"hypothesis", "measured"} <= labels else self._states("verdict")
        return {"hypothesis", "outcome"} <= labels or "concluded" in labels or known

    def _states(self, *names: str) -> bool:
        """Whether one of these fields of the front matter, or any for how a run came out, gives a verdict."""
        fields = map(self.field, names or ("verdict", *OUTCOME_FIELDS, "status"))
        return any(field_verdict(t) not in (None, Verdict.OTHER) for t in fields if t)

    @property
    def _reports(self) -> bool:
        """Whether a page without the name or type of a run says how one came out, in its front matter or behind a label."""
        # Right in a folder of runs lie runs; what lies beside the record of one may be its data.
        flat = type_of_folder(self.folder.rsplit("/", 1)[-1]) == "experiment"
        signs = {"outcome", "concluded", "measured" if flat else ""}
        return not signs.isdisjoint(self.labels) or self._states()

    @cached_property
    def type(self) -> str:
        """Canonical page type: what the front matter says, else the file name, else the folder; an unknown spelling is kept as it is."""
        raw = self.field("type")
        stated = type_of(raw)
        if self.name != self.stem:
            return stated or "experiment"
        by_file = type_of_file(self.stem)
        if by_file:
            return stated or by_file
        by_folder, sure = type_of_place(self.path)
        if self._is_run(stated or raw, by_folder):
            return "experiment"
        by_place = by_folder != "experiment" and (sure or not _MEASURED_BY.isdisjoint(self.front))
        return stated or raw or (by_folder if by_place else None) or "page"

    def _is_run(self, stated: str, by_folder: str | None) -> bool:
        """Whether a page tells of a run: among runs, one that is named so or says how it came out; elsewhere one that says nothing else of itself,
        or a thing of its owner's kind that was measured and judged.
        """
        if by_folder == "experiment":
            named = stated == "experiment" or names_run(self.stem)
            return named or not stated and self._reports
        if stated and type_of(stated) is None:
            return "measured" in self.labels and self._states()
        return not stated and by_folder in (None, "observation") and self._tries

    @cached_property
    def title(self) -> str:
        """Front-matter title, else the first level-1 heading, else the file name."""
        return self.field("title") or self.first_heading or self.stem

    @cached_property
    def date(self) -> str:
        """ISO date of the page: the one in its file name where its type is dated so or the name says nothing else, else `created:` or what other wikis call it, else the
        one in an experiment's first heading; empty if none says.
        """
        named = _DATE_NAME.search(self.name)
        if named and (named[1] == self.stem or self.type in TYPES and TYPES[self.type].dated):
            return named[1]
        fields = [self.field(name) for name in _CREATED if name in self.front]
        dated = next((d[0] for value in fields if (d := _DATE.match(value))), "")
        if not dated and fields:
            dated = next(filter(None, map(day_of, fields)), "")
        if not dated and self.type == "experiment":
            dated = d[0] if (d := _DATE.search(self.first_heading)) else ""
        return dated

    @cached_property
    def number(self) -> int:
        """The number in an experiment's file name (`2026-06-04-v165-...` is 165), 0 without one: a label for ordering, never a key."""
        number = _NUMBER.match(self.name)
        return int(number[1] or number[2]) if number else 0

    @property
    def order(self) -> tuple[str, int, str]:
        """Trail order: date, number, path."""
        return self.date, self.number, self.path

    @cached_property
    def anchors(self) -> frozenset[str]:
        """Every anchor a link may name here: GitHub slugs, explicit ids, symbols (lines `L12` are checked apart)."""
        return (
            frozenset([h.slug for h in self.headings])
            | frozenset(self.ids)
            | frozenset(self.symbols)
        )

    @cached_property
    def sections(self) -> tuple[Section, ...]:
        """The page cut at its top headings, in order, what stands before the first included if the body has it."""
        tops = [h for h in self.headings if h.top]
        starts = [(self.body_line, "", "", 0)] + [(h.line, h.slug, h.text, h.level) for h in tops]
        ends = [s[0] for s in starts[1:]] + [self.lines + 1]
        return tuple(
            Section(a, t, lv, s, e) for (s, a, t, lv), e in zip(starts, ends, strict=True) if e > s
        )


# By these a page of a folder that may hold targets (`models/` of a wiki of kernels, or of recommenders) says how it is measured.
_MEASURED_BY = frozenset("metric primary_metric benchmark bench repository repo baseline".split())


def document_of(text: str) -> "Document":
    """The blocks of a page's text, front matter included (its lines are counted, not read); the last few documents are kept."""
    from kb.page import document

    return document.document_of(text)


def text_of(data: bytes) -> str:
    """Text of a page's bytes as every room reads it: UTF-8 with broken bytes replaced, no byte-order mark, newlines `\\n`."""
    text = data.decode("utf-8", errors="replace").removeprefix("\ufeff")
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def newlines_of(data: bytes) -> str:
    """The newline that a file's bytes use, for edits that must keep it."""
    return "\r\n" if data.count(b"\r\n") * 2 > data.count(b"\n") else "\n"


def read(path: str, data: bytes, *, skim: bool = False) -> Page:
    """Page of a file's bytes. Never raises for content: what is wrong is in `findings`. `skim` reads of a plain catalog of code only what a build needs."""
    # The parsers load late: most commands only unpack pages that a build has read.
    from kb.page.reading import page_of

    return page_of(path, data, skim=skim)


# What the compiled tables keep of a page, and its types.
_KEPT = "front body_line lines first_heading cited row labels type title date".split()
_Row = tuple[
    dict[str, object], int, int, str, tuple[str, ...], bytes, tuple[str, ...], str, str, str
]


def to_row(page: Page) -> bytes:
    """A page as the compiled tables keep it, without path and digest, with what all are asked for."""
    return row_of([getattr(page, name) for name in _KEPT])


def from_row(path: str, digest: str, row: bytes) -> Page:
    """The page that `to_row` wrote down."""
    page = object.__new__(Page)
    # Some commands load every page: what it knows is set as it was kept, and nothing of it asked again.
    page.__dict__.update(zip(_KEPT, value_of(row, _Row), strict=True), path=path, digest=digest)
    return page


# What ties pages, or tells how a target is measured.
_TYING = ("tags", "aliases", "alias", "target", "metric")


def head_of(page: Page) -> PageHead:
    """What the other pages may ask of a page."""
    front = {name: page.front[name] for name in _TYING if name in page.front}
    return PageHead(page.path, page.type, page.title, page.date, page.cited, front)
