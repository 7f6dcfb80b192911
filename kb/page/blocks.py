"""The blocks of a markdown body that headings, links and fences come from: markdown-it-py's, found faster.

A body is cut where no container can be open: at a line in column 0 after a blank one, at a column-0 heading or fence. The simple pieces
(plain paragraphs, plain tables, plain lists) are read here; every other piece, and every body in which a cut could be wrong, goes to
markdown-it-py. A differential test holds the result to its full parse.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from markdown_it import MarkdownIt
from markdown_it.common.utils import mdTrim
from markdown_it.rules_block.table import escapedSplit, headerLineRe
from markdown_it.token import Token


class Block(NamedTuple):
    """One block: `kind` heading, inline, html, fence or list; `line` and `end` are 0-based in the body, `end` excluded.

    `level` is a heading's; `top` is false inside a container; `text` is inline or HTML source, for a fence its marker where it is never
    closed; a `list` is one that stands directly below a paragraph. A NamedTuple because a wiki holds half a million.
    """

    kind: str
    line: int
    end: int
    text: str = ""
    level: int = 0
    top: bool = True


_MARKERS = r"[ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+(?:>[ \t]*)?)*"
# What reaches over blank lines, or over the whole body: link definitions, and HTML that ends at its own marker only. Looked for behind a
# newline, for which the body gets one in front: a pattern that starts with a plain character passes over text many times faster.
RISKY = re.compile(
    rf"\n{_MARKERS}(?:\[(?:[^\]\n]*\\?\]:|[^\]\n]*$|[^\n]*\\\])|<(?:script|pre|style|textarea|!--(?!.*-->)|\?|![a-z]|!\[CDATA\[))",
    re.MULTILINE | re.IGNORECASE,
)
_ATX = re.compile(r"(#{1,6})(?=[ \t]|$)")
_FENCE = re.compile(r"(`{3,})[^`]*$|(~{3,})")
_RULE = r"([-*_])[ \t]*(?:\1[ \t]*){2,}$"
# The start of a line that may be anything but text.
_SPECIAL = re.compile(rf"[ \t]*(?:[-=|:><]|[*+](?:[ \t]|$)|\d{{1,9}}[.)](?:[ \t]|$)|#{{1,6}}(?:[ \t]|$)|```|~~~|{_RULE})")
_ITEM = re.compile(r"( *)(?:[-*+]|(\d{1,9})[.)]) (?=[^ \t])")
# An item of a flat list, of which most lists consist.
_FLAT = re.compile(rf"[-*+] (?=[^ \t])(?!{_SPECIAL.pattern})")
_DELIMITERS = re.compile(r"[|:-][|:\- \t]+$")


def blocks_of(body: str, parser: MarkdownIt, env: dict) -> list[Block]:
    """Blocks of a body in order; `parser` reads blocks only, and puts link definitions into `env`."""
    body = body.replace("\0", "\ufffd")
    if not RISKY.search("\n" + body):
        found: list[Block] = []
        if _cut(body.split("\n"), parser, found):
            return found
    return list(_parsed(body, parser, env, 0, last=True))


def _cut(lines: list[str], parser: MarkdownIt, found: list[Block]) -> bool:
    """Fill `found` piece by piece; False where a piece leaves something open, so that the cuts were wrong."""
    if not lines[-1].strip(" \t"):
        lines.pop()
    at, count = 0, len(lines)
    while at < count:
        line = lines[at]
        if not line or not line.strip(" \t"):
            at += 1
            continue
        if line[0] == "#" and (mark := _ATX.match(line)):
            found.append(Block("heading", at, at + 1, atx_text(line[mark.end() :]), len(mark[1])))
            at += 1
        elif line[0] in "`~" and (mark := _FENCE.match(line)):
            at = _fence(lines, at, mark[1] or mark[2], found)
        else:
            end = _piece_end(lines, at)
            if not _simple(lines, at, end, found) and not _fallback(lines, at, end, parser, found):
                return False
            at = end
    return True


def atx_text(rest: str) -> str:
    rest = rest.rstrip(" \t")
    bare = rest.rstrip("#")
    return (bare if bare != rest and bare[-1:] in (" ", "\t") else rest).strip()


def _fence(lines: list[str], at: int, marker: str, found: list[Block]) -> int:
    closing = re.compile(rf" {{0,3}}{re.escape(marker[0])}{{{len(marker)},}}[ \t]*$")
    for end in range(at + 1, len(lines)):
        if closing.match(lines[end]):
            found.append(Block("fence", at, end + 1))
            return end + 1
    found.append(Block("fence", at, len(lines), marker))
    return len(lines)


def _piece_end(lines: list[str], at: int) -> int:
    """The first line at or after `at + 1` where no container is open any more."""
    count = len(lines)
    html = lines[at].lstrip(" \t").startswith("<")
    end = at + 1
    while end < count:
        line = lines[end]
        if line and line[0] not in " \t#`~<":
            end += 1  # Most lines, and they change nothing.
            continue
        if not line or not line.strip(" \t"):
            after = end + 1
            while after < count and not lines[after].strip(" \t"):
                after += 1
            if after >= count or lines[after][0] not in " \t":
                return after
            end, html = after, False
            continue
        if not html and (line[0] == "#" and _ATX.match(line) or line[0] in "`~" and _FENCE.match(line)):
            return end
        html = html or line.lstrip(" \t").startswith("<")
        end += 1
    return count


def _simple(lines: list[str], at: int, end: int, found: list[Block]) -> bool:
    """Read one plain paragraph, table or list; False, with nothing found, where the piece is none of these."""
    while end > at + 1 and not lines[end - 1].strip(" \t"):
        end -= 1
    first = lines[at]
    if first[0] == "|":
        return _table(lines, at, end, found)
    if not _SPECIAL.match(first):
        if first[0] in " \t" or any(not lines[n].strip(" \t") or _SPECIAL.match(lines[n]) for n in range(at + 1, end)):
            return False
        found.append(Block("inline", at, end, "\n".join(lines[at:end]).strip()))
        return True
    return _list(lines, at, end, found) if _ITEM.match(first) else False


def _table(lines: list[str], at: int, end: int, found: list[Block]) -> bool:
    if end < at + 2 or not _DELIMITERS.match(lines[at + 1]) or any(lines[n][:1] != "|" for n in range(at, end)):
        return False
    shape = lines[at + 1].split("|")
    cells = [mdTrim(c) for c in shape]
    inner = [c for n, c in enumerate(cells) if c or n not in (0, len(cells) - 1)]
    header = _cells(lines[at])
    if not all(headerLineRe.search(c) for c in inner) or not header or len(header) != len(inner):
        return False
    for number in (at, *range(at + 2, end)):
        line = lines[number]
        if "[" in line or "<" in line:
            found.extend(
                Block("inline", number, number + 1, text) for cell in _cells(line)[: len(header)] if (text := mdTrim(cell))
            )
    return True


def _cells(line: str) -> list[str]:
    line = mdTrim(line)
    cells = escapedSplit(line) if "\\" in line else line.split("|")
    if cells and cells[0] == "":
        cells.pop(0)
    if cells and cells[-1] == "":
        cells.pop()
    return cells


def _list(lines: list[str], at: int, end: int, found: list[Block]) -> bool:
    """A list whose items hold nothing but text and lists of the same kind, each nested exactly at its parent's text."""
    made: list[Block] = []
    if all(map(_FLAT.match, lines[at:end])):
        found.extend(
            Block("inline", n, n + 1, line[2:].strip(), top=False)
            for n, line in enumerate(lines[at:end], at)
            if "[" in line or "<" in line
        )
        return True
    open_items: list[tuple[int, int]] = []
    parts: list[str] = []
    start, blank = at, False

    def close() -> None:
        if parts:
            made.append(Block("inline", start, start + len(parts), "\n".join(parts).strip(), top=False))
            parts.clear()

    for number in range(at, end):
        line = lines[number]
        if not line.strip(" \t"):
            close()
            blank = True
            continue
        item = _ITEM.match(line)
        if item:
            indent, popped = len(item[1]), False
            while open_items and indent < open_items[-1][1]:
                popped = open_items.pop()[0] == indent
            nested = bool(open_items) and indent == open_items[-1][1]
            if (
                not (popped or nested or not open_items and indent == 0)
                or nested
                and not popped
                and item[2] not in (None, "1")
                and not blank
            ):
                return False
            text = line[item.end() :]
            if _SPECIAL.match(text):
                return False
            close()
            open_items.append((indent, item.end()))
            parts.append(text)
            start = number
        elif blank or not parts:
            indent = len(line) - len(line.lstrip(" "))
            while open_items and indent < open_items[-1][1]:
                open_items.pop()
            if not open_items or indent - open_items[-1][1] > 3 or _SPECIAL.match(line) or line[indent] == "\t":
                return False
            parts.append(line.strip(" "))
            start = number
        elif _SPECIAL.match(line):
            return False
        else:
            parts.append(line)
        blank = False
    close()
    found.extend(made)
    return True


def _fallback(lines: list[str], at: int, end: int, parser: MarkdownIt, found: list[Block]) -> bool:
    """Let markdown-it-py read one piece; False where a fence of the piece could go on behind it."""
    last = end >= len(lines)
    made = list(_parsed("\n".join(lines[at:end]) + "\n", parser, {}, at, last=last))
    if not last and any(b.kind == "fence" and b.top and b.text for b in made):
        return False
    found.extend(made)
    return True


def _parsed(text: str, parser: MarkdownIt, env: dict, first: int, *, last: bool) -> Iterator[Block]:
    tokens = parser.parse(text, env)
    lines = text.split("\n")
    if not lines[-1].strip(" \t"):
        lines.pop()
    for position, token in enumerate(tokens):
        kind = token.type
        if not token.map:
            continue
        line, end = first + token.map[0], first + token.map[1]
        before = tokens[position - 1] if position else None
        if kind == "inline":
            if before.type == "heading_open":
                yield Block("heading", line, end, token.content, int(before.tag[1]), before.level == 0)
            elif token.content:
                yield Block("inline", line, end, token.content, top=token.level <= 1)
        elif kind == "html_block":
            yield Block("html", line, end, token.content, top=token.level == 0)
        elif kind == "fence":
            closed = _closes(lines[token.map[1] - 1], token)
            reaches = token.level == 0 or last and token.map[1] >= len(lines)
            yield Block("fence", line, end, token.markup if reaches and not closed else "", top=token.level == 0)
        elif (
            kind in ("bullet_list_open", "ordered_list_open")
            and token.level == 0
            and position >= 3
            and before.type == "paragraph_close"
        ):
            paragraph = tokens[position - 3]
            if paragraph.map and paragraph.map[1] == token.map[0]:
                yield Block("list", line, end)


def _closes(last: str, fence: Token) -> bool:
    """Whether `last`, the last line of a fence, is its closing marker and no part of its content."""
    inner = fence.map[1] - fence.map[0] - 1
    bare = last.strip(" >\t")
    return inner >= 1 and len(bare) >= len(fence.markup) and set(bare) == {fence.markup[0]} and fence.content.count("\n") < inner
