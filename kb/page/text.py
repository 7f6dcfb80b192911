"""Headings, links and anchors as values, and what a reader sees of inline markdown. Loads the parser only for text that needs it."""

import unicodedata
from typing import NamedTuple

from kb import regex

_MARKUP = regex(r"[`*_\[\]<&\\!~\n]")


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


class _Slug(dict[int, str]):
    """A table for `str.translate`: what an anchor has in place of each character, filled in as characters are met."""

    def __missing__(self, number: int) -> str:
        char = chr(number)
        kept = (
            char.isalnum()
            or char in "-_"
            or not char.isascii()
            and unicodedata.category(char) in ("Mn", "Mc", "Me", "Pc", "Nl", "No")
        )
        self[number] = char if kept else "-" if char == " " else ""
        return self[number]


_SLUG = _Slug()


def slug_of(text: str) -> str:
    """GitHub's anchor of a heading text, before numbering of repeats."""
    return text.strip().lower().translate(_SLUG)


def plain_text(inline: str) -> str:
    """What a reader sees of an inline run: markup gone, code and link text kept, pictures left out."""
    if not _MARKUP.search(inline):
        return inline
    from kb.page.inline import shown_text

    return shown_text(inline)
