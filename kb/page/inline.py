"""Runs of inline text: what a reader sees of one and what is marked in it. Refuses to look beyond the run."""

import re
from bisect import bisect_left, bisect_right
from itertools import accumulate
from typing import NamedTuple

import pyromark

PARSER = pyromark.Markdown(options=pyromark.Options.ENABLE_TABLES)
# What pulldown-cmark tells (`{"Text": "a"}`, `{"Start": {"Link": ...}}`, `"SoftBreak"`), and its place in bytes.
Event = tuple[str | dict, dict]


class InlineSpan(NamedTuple):
    """A marked stretch of a block: `start` to `end` of the page's text, `at` the place of its `text` in the block's plain text.

    kind: code, strong, emphasis, link, auto, image, html; `href` is where a link or picture leads. A picture's text is no part of the plain text.
    """

    kind: str
    start: int
    end: int
    at: int
    text: str
    href: str = ""


class Places:
    """Where pulldown-cmark's byte offsets stand: characters of the page's text and lines of its file."""

    def __init__(self, body: str, offset: int, line: int):
        self.offset, self.first = offset, line - 1
        self.beyond = (
            []
            if body.isascii()
            else [m.start() for m in _CONTINUED.finditer(body.encode("utf-8", "replace"))]
        )
        self.starts = list(accumulate((len(row) + 1 for row in body.split("\n")), initial=offset))

    def char(self, byte: int) -> int:
        return self.offset + byte - (bisect_left(self.beyond, byte) if self.beyond else 0)

    def line(self, char: int) -> int:
        return self.first + bisect_right(self.starts, char)


_CONTINUED = re.compile(rb"[\x80-\xbf]")
SPANS = {"Emphasis": "emphasis", "Strong": "strong", "Link": "link", "Image": "image"}
# What a stretch is until its text is known.
_OPEN = InlineSpan("", 0, 0, 0, "")
_SHOWN = frozenset(["Text", "Code", "SoftBreak", "HardBreak"])


def destination_of(name: str, link: dict) -> tuple[str, str]:
    """Where a link or picture leads, and the kind of its span."""
    if link["link_type"] in ("Autolink", "Email"):
        return ("mailto:" if link["link_type"] == "Email" else "") + link["dest_url"], "auto"
    return link["dest_url"], SPANS[name]


def inline_of(
    events: list[Event], at: int, places: Places
) -> tuple[str, tuple[InlineSpan, ...], int]:
    """Shown text and marked stretches of the run of inline events that begins at `at`, and the first event behind it."""
    if "Text" in events[at][0] and "End" in events[at + 1][0]:
        return events[at][0]["Text"], (), at + 1  # Most runs are plain text and no more.
    return _marked(events, at, places)


def _marked(
    events: list[Event], at: int, places: Places
) -> tuple[str, tuple[InlineSpan, ...], int]:
    char = places.char
    pieces: list[str] = []
    spans: list[InlineSpan] = []
    # Stretches that are open: place in `spans` (-1 inside a picture), where its text gathers and from which piece, and its own fields.
    begun: list[tuple[int, list[str], int, tuple]] = []
    shown, size = pieces, 0
    while True:
        event, place = events[at]
        ((kind, value),) = event.items() if type(event) is dict else ((event, " "),)
        pictured = shown is not pieces  # The text of a picture is no part of what is shown.
        if kind in _SHOWN:
            if kind == "Code" and not pictured:
                spans.append(
                    InlineSpan("code", char(place["start"]), char(place["end"]), size, value)
                )
            shown.append(value)
            size += 0 if pictured else len(value)
        elif kind == "InlineHtml":
            if not pictured:
                spans.append(
                    InlineSpan("html", char(place["start"]), char(place["end"]), size, value)
                )
        else:
            name = value if type(value) is str else next(iter(value), "")
            if name not in SPANS or kind == "Rule":
                return "".join(pieces), tuple(spans), at
            if kind == "Start":
                href, mark = (
                    destination_of(name, value[name]) if type(value) is dict else ("", SPANS[name])
                )
                shown = [] if name == "Image" and not pictured else shown
                opened = (mark, char(place["start"]), char(place["end"]), size, href)
                begun.append((-1 if pictured else len(spans), shown, len(shown), opened))
                if not pictured:
                    spans.append(_OPEN)
            else:
                slot, text, first, (mark, start, end, before, href) = begun.pop()
                if slot >= 0:
                    spans[slot] = InlineSpan(mark, start, end, before, "".join(text[first:]), href)
                    shown = begun[-1][1] if begun else pieces
        at += 1


def shown_text(inline: str) -> str:
    """What a reader sees of a run of inline markdown on its own; see `plain_text`."""
    # Behind a word it begins no block, and behind a blank marks of emphasis read as at the start of a line.
    line = "x " + " ".join(inline.split("\n"))
    events = list(PARSER.events_with_range(line))
    return inline_of(events, 1, Places(line, 0, 1))[0][1:].lstrip(" ")
