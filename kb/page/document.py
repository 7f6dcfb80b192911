"""The blocks of a page by pulldown-cmark: one parse, from which links, headings, sections, tables and every reader's text come.

Refuses to judge: a block says what stands where, not what it means. Cost is linear in the text, however hostile.
"""

import re
from bisect import bisect_left
from collections.abc import Iterator
from functools import lru_cache
from html import unescape
from operator import attrgetter
from typing import NamedTuple

import msgspec

from kb import regex
from kb.page.front import body_of
from kb.page.inline import PARSER, SPANS, Event, InlineSpan, Places, inline_of
from kb.page.text import Link, slug_of


class TableCell(msgspec.Struct, frozen=True):
    """One cell of a table: its place, what a reader sees of it (`plain`), and what is marked in it (`spans`)."""

    start: int
    end: int
    plain: str
    spans: tuple[InlineSpan, ...] = ()


class Row(NamedTuple):
    line: int
    cells: tuple[TableCell, ...]


class Block(msgspec.Struct, frozen=True):
    """One block. kind: heading, paragraph, fence, code (indented), html, table, rule; list, item and quote hold others.

    `start` and `end` are its place in the page's text, `line` and `stop` its lines (1-based, `stop` excluded). `parent` is the place of
    the block that holds it in `Document.blocks` (-1 at the top), `depth` how many do. `level` is that of a heading, or how many lists an
    item stands in; `info` a fence's info string, or an item's marker. `plain` is what a reader sees of a heading or paragraph; of a
    fence, code or html its content. `spans` is what is marked in it. The first of a table's `rows` is its header.
    """

    start: int
    end: int
    kind: str
    line: int
    stop: int
    parent: int = -1
    depth: int = 0
    level: int = 0
    info: str = ""
    plain: str = ""
    rows: tuple[Row, ...] = ()
    spans: tuple[InlineSpan, ...] = ()


class Document(NamedTuple):
    """A page's blocks in the order of the text, a container before what it holds; and what is gathered on the way.

    `links` are those of all blocks; `ids` explicit anchors, `open_fence` the line of
    a fence that never ends (0: none).
    """

    text: str
    blocks: tuple[Block, ...]
    links: tuple[Link, ...]
    ids: tuple[str, ...]
    open_fence: int

    def of(self, *kinds: str) -> Iterator[Block]:
        """Blocks of these kinds, in order, wherever they stand."""
        return (block for block in self.blocks if block.kind in kinds)

    def between(self, line: int, stop: int) -> tuple[Block, ...]:
        """Blocks that begin on lines `line` to `stop` (1-based, `stop` excluded): those of a `Section`, for one."""
        first = bisect_left(self.blocks, line, key=attrgetter("line"))
        return self.blocks[first : bisect_left(self.blocks, stop, lo=first, key=attrgetter("line"))]

    def source(self, piece: Block | TableCell | InlineSpan) -> str:
        """What was written there."""
        return self.text[piece.start : piece.end]


@lru_cache(maxsize=4)
def document_of(text: str) -> Document:
    """Document of a page's text, front matter included (its lines are counted, not read); the last few are kept."""
    offset, line = body_of(text)
    body = text[offset:].replace("\0", "\ufffd")
    return _DocumentReading(text, body, Places(body, offset, line)).document()


_SHOWN_HEADING = regex(r"<h([1-6])>([^<]*(?:<(?!/h)[^<]*)*)")


def skimmed(body: str) -> tuple[list[tuple[int, str]], list[str]] | None:
    """(level and shown text of each heading, destination of each link) of a body, in order: all that a build needs of a catalog.

    They are found in its HTML, many times faster than by events; None where HTML or a picture of its own, or an escaped address, leaves a doubt.
    """
    html = PARSER.html(body) if "<" not in body and "![" not in body else ""
    cited = [rest.partition('"')[0] for rest in html.split('<a href="')[1:]]
    if not html or any("%" in href or "&" in href for href in cited):
        return None
    levels, shown = [], []
    for level, inner in _SHOWN_HEADING.findall(html):
        levels.append(int(level))
        shown.append(inner.replace("\n", " "))
    texts = unescape(_TAG.sub("", "\n".join(shown))).split("\n")
    return list(zip(levels, texts, strict=False)), cited


WIKILINK = regex(r"\[\[([^\[\]\n]+)\]\](?![(\[])")
# Stand, sign for sign, for links and for code, HTML, an escape or a picture while references are looked for: the text of one may hold the
# latter, its label not.
_LINKED, _HELD = "\x00", "\x01"
# Not behind a word, which makes it an index (`a[i][j]`); an underscore that opens emphasis is none.
_UNRESOLVED = regex(r"(?<![^\W_])(?<![^\W_]_)(?<![\])])\[([^\[\]\x00]+)\]\[([^\[\]\x00\x01]+)?\]")
# Mathematics, and an escaped sign: what stands in them is no link.
_MATHEMATICS = r"\$\$[^$]{1,2000}\$\$|\$(?! )[^$\n]{1,400}(?<! )\$(?!\d)"
_FORMULA = regex(_MATHEMATICS)
_ESCAPE = regex(rf"\\[!-/:-@\[-`{{-~]|{_MATHEMATICS}")
_ID = regex(r"""<[a-zA-Z][^<>]*?\s(?:id|name)\s*=\s*["']?([^"'\s>]+)""")
_HEADING_TAG = regex(r"<(/?)h([1-6])\b[^<>]*>", re.IGNORECASE)
_TAG = regex(r"<[^<>]*>")
_MARKER = regex(r"[-*+]|\d{1,9}[.)]")
# Kinds of spans that lead somewhere, as a `Link` calls them.
_LINKS = {"link": "inline", "auto": "auto", "image": "image"}
_CONTAINERS = {"BlockQuote": "quote", "List": "list", "Item": "item"}


class _DocumentReading:
    """One parse under way: what was gathered, and the containers that are open."""

    def __init__(self, text: str, body: str, places: Places):
        self.text, self.places = text, places
        self.refers = "[[" in body or "][" in body
        self.events: list[Event] = list(PARSER.events_with_range(body))
        self.blocks: list[Block] = []
        self.links: list[Link] = []
        self.ids: list[str] = []
        self.open_fence = 0
        self.holders: list[int] = []
        self.lists = 0

    def document(self) -> Document:
        events, at = self.events, 0
        while at < len(events):
            event, place = events[at]
            # A break of a line is text; a rule stands for itself.
            ((kind, value),) = event.items() if type(event) is dict else ((event, ""),)
            name = value if type(value) is str else next(iter(value), "")
            at += 1
            if kind == "End":
                self.lists -= name == "List"
                self.holders.pop()
            elif kind == "Rule":
                self._add("rule", place)
            elif kind != "Start" or name in SPANS:
                at = self._text(
                    "paragraph", place, at - 1
                )  # The text of a tight list item stands in no paragraph of its own.
            elif name in _CONTAINERS:
                self._open(name, place)
            elif name == "Heading":
                at = self._text("heading", place, at, level=int(value[name]["level"][1])) + 1
            elif name == "Paragraph":
                at = self._text("paragraph", place, at) + 1
            elif name == "CodeBlock":
                at = self._code(value[name], place, at)
            elif name == "Table":
                at = self._table(place, at)
            else:
                while events[at][0] != {"End": "HtmlBlock"}:
                    at += 1
                start, end = map(self.places.char, (place["start"], place["end"]))
                html = self._add("html", place, plain=self.text[start:end]).plain
                self.ids += (*_ID.findall(html), *_heading_slugs(html))
                at += 1
        return Document(
            self.text,
            tuple(self.blocks),
            tuple(self.links),
            tuple(self.ids),
            self.open_fence,
        )

    def _add(
        self,
        kind: str,
        place: dict,
        *,
        level: int = 0,
        info: str = "",
        plain: str = "",
        rows: tuple[Row, ...] = (),
        spans: tuple[InlineSpan, ...] = (),
    ) -> Block:
        start, end = self.places.char(place["start"]), self.places.char(place["end"])
        # What a block is followed by is no part of it.
        while end > start and self.text[end - 1] in "\n ":
            end -= 1
        line = self.places.line(start)
        stop = self.places.line(end - 1 if end > start else start) + 1
        holder = self.holders[-1] if self.holders else -1
        depth = len(self.holders)
        block = Block(start, end, kind, line, stop, holder, depth, level, info, plain, rows, spans)
        self.blocks.append(block)
        return block

    def _open(self, name: str, place: dict) -> None:
        self.lists += name == "List"
        start = self.places.char(place["start"])
        marker = _MARKER.match(self.text, start) if name == "Item" else None
        self._add(
            _CONTAINERS[name],
            place,
            level=self.lists if name == "Item" else 0,
            info=marker[0] if marker else "",
        )
        self.holders.append(len(self.blocks) - 1)

    def _text(self, kind: str, place: dict, at: int, *, level: int = 0) -> int:
        """Add a heading or paragraph; the place of the event behind its text."""
        plain, spans, after = inline_of(self.events, at, self.places)
        if place is self.events[at][1]:
            place = {"start": place["start"], "end": self.events[after - 1][1]["end"]}
        self._keep(self._add(kind, place, level=level, plain=plain, spans=spans))
        return after

    def _keep(self, piece: Block | TableCell) -> None:
        """Keep the links and explicit ids of a piece of text."""
        for span in piece.spans:
            if span.kind == "html":
                self.ids.extend(_ID.findall(span.text))
            elif span.kind in _LINKS and not self._is_formula(piece, span):
                self.links.append(
                    Link(span.href, span.text, self.places.line(span.start), _LINKS[span.kind])
                )
        if self.refers:
            self._references(piece)

    def _is_formula(self, piece: Block | TableCell, span: InlineSpan) -> bool:
        """Whether a link to one bare word is an index and a call within mathematics (`$f[x](y)$`)."""
        if not span.href.isalnum() or "$" not in self.text[piece.start : piece.end]:
            return False
        code = [range(s.start, s.end) for s in piece.spans if s.kind == "code"]
        formulas = _FORMULA.finditer(self.text, piece.start, piece.end)
        return any(
            f.start() < span.start < f.end()
            and not any(f.start() in c or f.end() - 1 in c for c in code)
            for f in formulas
        )

    def _code(self, kind: str | dict, place: dict, at: int) -> int:
        fenced = type(kind) is dict
        content: list[str] = []
        while (event := self.events[at][0]) != {"End": "CodeBlock"}:
            content.append(event["Text"])
            at += 1
        plain = "".join(content)
        block = self._add(
            "fence" if fenced else "code",
            place,
            info=kind["Fenced"] if fenced else "",
            plain=plain,
        )
        if fenced:
            if not self._closes(block) and (not block.depth or not self.text[block.end :].strip()):
                self.open_fence = block.line
        return at + 1

    def _closes(self, fence: Block) -> bool:
        """Whether the last line of a fence is its closing marker and no part of its content."""
        rows = self.text[fence.start : fence.end].split("\n")
        marker = rows[0][: len(rows[0]) - len(rows[0].lstrip(rows[0][:1]))]
        last = rows[-1].strip(" >\t")
        return (
            len(rows) > 1
            and len(last) >= len(marker)
            and set(last) == {marker[0]}
            and fence.plain.count("\n") < len(rows) - 1
        )

    def _table(self, place: dict, at: int) -> int:
        rows: list[Row] = []
        cells: list[TableCell] = []
        while True:
            event, spot = self.events[at]
            at += 1
            if event.get("Start") == "TableCell":
                plain, spans, at = inline_of(self.events, at, self.places)
                cell = TableCell(
                    self.places.char(spot["start"]),
                    self.places.char(spot["end"]),
                    plain.strip(),
                    spans,
                )
                at += 1
                cells.append(cell)
                self._keep(cell)
            elif event.get("End") in ("TableRow", "TableHead"):
                rows.append(Row(self.places.line(self.places.char(spot["start"])), tuple(cells)))
                cells = []
            elif event.get("End") == "Table":
                self._add("table", place, rows=tuple(rows))
                return at

    def _references(self, piece: Block | TableCell) -> None:
        """Keep the links of a piece that markdown sees as plain text: to the names of pages, and to definitions that are not there."""
        source = self.text[piece.start : piece.end]
        if "[[" not in source and "][" not in source:
            return
        rest = self._masked(source, piece.start, piece.spans)
        for kind, pattern in (("unresolved", _UNRESOLVED), ("wikilink", WIKILINK)):
            for m in pattern.finditer(rest):
                href, text = (
                    " ".join(source[slice(*m.span(group))].split()).replace("\\|", "|")
                    for group in (m.lastindex or 1, 1)
                )
                self.links.append(Link(href, text, self.places.line(piece.start + m.start()), kind))

    def _masked(self, source: str, start: int, spans: tuple[InlineSpan, ...]) -> str:
        """A run of text with everything that markdown recognised in it hidden, each sign in its place."""
        pieces: list[str] = []
        at = 0
        for span in spans:
            first, last = span.start - start, span.end - start
            if span.kind in ("strong", "emphasis") or first < at:
                continue
            pieces += [
                source[at:first],
                (_LINKED if span.kind in ("link", "auto") else _HELD) * (last - first),
            ]
            at = last
        pieces.append(source[at:])
        return _ESCAPE.sub(lambda held: _HELD * len(held[0]), "".join(pieces))


def _heading_slugs(html: str) -> Iterator[str]:
    """Anchors of the headings that stand in HTML, each from its tag to the next one that ends it."""
    begun: re.Match[str] | None = None
    for tag in _HEADING_TAG.finditer(html):
        if not tag[1]:
            begun = begun or tag
        elif begun and begun[2] == tag[2]:
            yield slug_of(_TAG.sub("", html[begun.end() : tag.start()]))
            begun = None
