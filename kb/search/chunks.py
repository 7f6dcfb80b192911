"""Pages cut into chunks: one section each, long sections in parts, tables with their header row. Refuses to rank."""

import re
from dataclasses import dataclass

from kb.page import Page

# A part of a long section: about 400 tokens, small enough that several fit a slice, large enough to be read alone.
_LONGEST = 1600

_TABLE_RULE = re.compile(r"^\s*\|?\s*:?-{2,}:?\s*(?:\|\s*:?-{2,}:?\s*)*\|?\s*$")


@dataclass(frozen=True, slots=True)
class Chunk:
    """One section (or a part of a long one) of a page: what is found and what goes into a slice. `line` is its first line, 1-based."""

    path: str
    anchor: str
    title: str
    line: int
    text: str


def chunks_of(page: Page, text: str) -> tuple[Chunk, ...]:
    """Chunks of one page, in page order. A heading with nothing below it is no chunk of its own: its words are in its children's titles."""
    if page.type == "catalog" and page.symbols:
        # Made by a machine from code, and most of a wiki by size: it is found by the names it lists.
        names = dict.fromkeys([*(h.text for h in page.headings), *page.symbols])
        return (Chunk(page.path, "", "", page.body_line, " · ".join(names)),)
    lines = text.split("\n")
    chunks: list[Chunk] = []
    trail: list[tuple[int, str]] = []
    for section in page.sections:
        if section.level:
            trail = [t for t in trail if t[0] < section.level] + [(section.level, section.title)]
        body = section.start + (1 if section.level else 0)
        title = " > ".join(t for level, t in trail if level > 1 and t)
        for line, part in _parts(lines, body, section.end):
            chunks.append(Chunk(page.path, section.anchor, title, line, part))
    return tuple(chunks)


def _parts(lines: list[str], start: int, end: int) -> list[tuple[int, str]]:
    """(first line, text) of lines start..end (1-based, end excluded) cut at blank lines, else at line ends, else inside an endless line."""
    block = lines[start - 1 : end - 1]
    if sum(map(len, block)) + len(block) <= _LONGEST:
        body = "\n".join(block).strip("\n")
        return [(start + _blank_head(block), body)] if body.strip() else []
    parts: list[tuple[int, str]] = []
    held: list[str] = []
    first, size, header = start, 0, ""

    def close(next_line: int) -> None:
        nonlocal held, first, size
        body = "\n".join(held).strip("\n")
        if body.strip():
            parts.append((first + _blank_head(held), body))
        held, first, size = [], next_line, 0

    for offset, line in enumerate(block):
        at = start + offset
        in_table = line.lstrip().startswith("|")
        if in_table and _TABLE_RULE.match(line) and offset and not header:
            header = f"{block[offset - 1]}\n{line}"
        elif not in_table:
            header = ""
        full = size + len(line) > _LONGEST
        if held and (full or (not line.strip() and size > _LONGEST * 0.6)):
            close(at)
            if in_table and header and not _TABLE_RULE.match(line):
                held, size = [header], len(header)
        while len(line) > _LONGEST:
            cut = line.rfind(" ", _LONGEST // 2, _LONGEST)
            cut = cut if cut > 0 else _LONGEST
            held.append(line[:cut])
            close(at)
            line = line[cut:]
        held.append(line)
        size += len(line) + 1
    close(end)
    return parts


def _blank_head(block: list[str]) -> int:
    return next((i for i, line in enumerate(block) if line.strip()), 0)
