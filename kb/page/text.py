"""Headings, links and anchors as values, and what a reader sees of inline markdown. Loads the parser only for text that needs it."""

import re
import unicodedata
from typing import NamedTuple

_MARKUP = re.compile(r"[`*_\[\]<&\\!~]")


class Heading(NamedTuple):
    """One heading; a NamedTuple because a wiki holds a hundred thousand and they are rebuilt on every start. `top` is false inside a quote or list."""

    level: int
    text: str
    slug: str
    line: int
    top: bool


class Link(NamedTuple):
    """One link as written. kind: inline, image, auto, wikilink, unresolved (a reference without a definition)."""

    href: str
    text: str
    line: int
    kind: str


def slug_of(text: str) -> str:
    """GitHub's anchor of a heading text, before numbering of repeats."""
    kept = []
    for char in text.strip().lower():
        if char.isalnum() or char in "-_":
            kept.append(char)
        elif char == " ":
            kept.append("-")
        elif not char.isascii() and unicodedata.category(char) in ("Mn", "Mc", "Me", "Pc", "Nl", "No"):
            kept.append(char)
    return "".join(kept)


def plain_text(inline: str) -> str:
    """What a reader sees of an inline run: markup gone, code and link text kept, pictures left out."""
    if not _MARKUP.search(inline):
        return inline
    from kb.page.markdown import seen_text

    return seen_text(inline)
