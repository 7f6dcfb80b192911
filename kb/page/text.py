"""Headings, links and anchors as values, and what a reader sees of inline markdown. Loads the parser only for text that needs it."""

import operator
import re
import unicodedata
from itertools import chain
from typing import NamedTuple

_MARKUP = re.compile(r"[`*_\[\]<&\\!~\n]")


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


_BAR = re.compile(r"(?<!\\)\|")


def cells_of(line: str) -> list[str]:
    """Cells of one pipe-table row, as written."""
    return [c.strip() for c in _BAR.split(line.strip().strip("|"))]


def plain_text(inline: str) -> str:
    """What a reader sees of an inline run: markup gone, code and link text kept, pictures left out."""
    if not _MARKUP.search(inline):
        return inline
    seen = _simply_seen(inline)
    if seen is not None:
        return seen
    from kb.page.markdown import seen_text

    return seen_text(inline)


# Stand for a code span and for the ends of a link while the rest is read: no words, no spaces, and in no text that this reads.
_HELD, _END = "\x01", "\x02"
_SPAN = re.compile(r"(`+)(?!`)((?s:.+?))(?<!`)\1(?!`)|`+")
_LINK = re.compile(r"""(?<!!)\[([^\[\]*]*)\]\([ \t]*(?:[^\s()<>\\&\x01]|&(?![#\w]+;))*(?:[ \t]+"[^"\\&\x01]*")?[ \t]*\)""")
_STRONG = re.compile(r"(?<![\w*])(\*\*?)(?=[^\s*])([^*]*)(?<=[^\s*])\1(?![\w*])")
# What only the parser can tell: escapes, entities, HTML and autolinks, pictures and other links, emphasis of any other shape.
# Every alternative starts with its character, which is found fast.
_HARD = re.compile(r"\\|&(?:#\w+|\w+);|<[A-Za-z/!?]|!\[|\]\(|\*(?:(?<!\s\*)|(?!\s|$))|_(?:(?<![^\W_]_)|(?![^\W_]))")
_inside = operator.itemgetter(2)
_BREAK = re.compile(r" *\n[ \t]*")


def _simply_seen(inline: str) -> str | None:
    """The same where patterns can tell it for certain, else None; a test holds it to the parser's reading."""
    if "\\" in inline or _HELD in inline or _END in inline:
        return None
    rest, spans = _without_code(inline) if "`" in inline else (inline, [])
    if "](" in rest:
        rest = _END.join(_LINK.split(rest))
    if "*" in rest:
        rest = _STRONG.sub(_inside, rest)
    if _HARD.search(rest.replace("__", "_") if "__" in rest else rest):
        return None
    rest = rest.replace(_END, "")
    if "\n" in rest:
        rest = _BREAK.sub(" ", rest)
    return "".join(chain.from_iterable(zip(rest.split(_HELD), [*spans, ""], strict=True))) if spans else rest


def _without_code(inline: str) -> tuple[str, list[str]]:
    """An inline run with _HELD for each code span, and what those show."""
    parts = inline.split("`")
    if len(parts) % 2 and "``" not in inline:
        return _HELD.join(parts[::2]), list(map(_shown, parts[1::2]))
    spans: list[str] = []

    def held(m: re.Match[str]) -> str:
        if not m[1]:
            return m[0]
        spans.append(_shown(m[2]))
        return _HELD

    return _SPAN.sub(held, inline), spans


def _shown(code: str) -> str:
    code = code.replace("\n", " ")
    return code[1:-1] if code[0] == code[-1] == " " and code.strip(" ") else code
