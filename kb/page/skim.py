"""Headings and links of a body as machines write catalogs of code, found without reading its blocks. Refuses every body that may hold more.

A catalog has a line for every symbol, and most of some wikis are catalogs; a build needs of them what they cite and name, and no more.
"""

import re

from kb.page.blocks import RISKY, atx_text

# A code span that ends on its own line; it leaves _HELD, so that a mark left over is one whose line has no partner for it.
_CODE = re.compile(r"`[^`\n]*`")
_HELD = "\0"
# What may make a line more than a heading, text or list item, or carry a link over a line end: HTML and autolinks, escapes, long code
# spans and fences, loose marks, deep indentation, ids of headings; then quotes, headings in items, rules, underlines, rulers of tables.
_MORE = ("<", "\\", "`", "~~~", "\n    ", "     ", "\t", "\v", "\f", "{#")
_MORE_LINES = re.compile(r"\n(?:(?: *+(?:(?:[-*+]|\d{1,9}[.)]) ++)*+)(?:>|(?<!\n)#)|[ *_=|:+-]++(?=\n))")
_LINK = re.compile(r"\[[^\[\]\n]*\]\(([^\s()&\x00-\x1f\x7f]*)\)")
_HEADING = re.compile(r"\n(#{1,6})(?![^ \n])(.*)")


def skimmed(body: str) -> tuple[list[tuple[int, str]], list[str]] | None:
    """(level and source of each heading, destination of each link), in order; None where only the whole reading can tell."""
    text = f"\n{body}\n"
    if _HELD in text or "``" in text:
        return None
    bare = _CODE.sub(_HELD, text)
    if any(mark in bare for mark in _MORE) or _MORE_LINES.search(bare) or RISKY.search(bare):
        return None
    cited = _LINK.findall(bare)
    if len(cited) != bare.count("]("):
        return None
    return [(len(marks), atx_text(rest)) for marks, rest in _HEADING.findall(text)], cited
