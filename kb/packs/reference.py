"""The reference part of an agent pack: entries of a documentation, copied line by line, with the symbols that they explain.

A model (or rules) only points at lines; code copies them. Refuses to let copied text become structure: every entry stands in a fence.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from kb.page import document_of, slug_of
from kb.source import fence_for
from kb.text import fold

# A heading that is a name of code, alone or with its arguments: `jax.lax.dot_general(lhs, rhs)`, pallas_call, class BlockSpec.
_NAME = re.compile(
    r"(?:(?:class|def|fn|func|function|struct|enum|macro|method)\s+)?`?((?:[A-Za-z_]\w*(?:\.|::))*[A-Za-z_]\w*)`?\s*(?:\(.*)?"
)
_IDENTIFIER = re.compile(r"[A-Za-z_]\w{2,}(?:(?:\.|::)[A-Za-z_]\w*)*")
_DEFINED = re.compile(
    r"^\s*(?:def|class|fn|func|function|struct|enum|#define)\s+([A-Za-z_]\w*)", re.MULTILINE
)
LONGEST = 400


@dataclass(frozen=True, slots=True)
class ReferenceEntry:
    """Lines `start` to `end` (1-based, both included) of a source under a name, and the symbols that they explain."""

    name: str
    source: str
    start: int
    end: int
    text: str
    symbols: tuple[str, ...]

    @property
    def id(self) -> str:
        return f"ref-{slug_of(self.name)}"


@dataclass(frozen=True, slots=True)
class Example:
    """A fenced piece of code of a source, under the heading that it stands below."""

    title: str
    source: str
    info: str
    code: str

    @property
    def id(self) -> str:
        return f"example-{slug_of(self.title)}"

    def shown(self) -> str:
        """The example as it stands in the pack, in a fence that its code cannot end."""
        fence = fence_for(self.code)
        head = f"## {self.title}\n\nSUMMARY: {self.title} ({self.source})"
        return f"{head}\n\n{fence}{self.info}\n{self.code}\n{fence}"


def entries_of(source: str, text: str) -> Iterator[ReferenceEntry]:
    """Entries by rule: the sections whose heading is a name of code."""
    document = document_of(text)
    headings = [b for b in document.of("heading") if b.depth == 0]
    lines = text.split("\n")
    for at, heading in enumerate(headings):
        name = _NAME.fullmatch(heading.plain.strip())
        if not name or not _looks_like_code(heading.plain, name[1]):
            continue
        end = next((h.line - 1 for h in headings[at + 1 :] if h.level <= heading.level), len(lines))
        yield entry(name[1], source, text, heading.line, min(end, heading.line + LONGEST - 1))


def _looks_like_code(heading: str, name: str) -> bool:
    return (
        "_" in name
        or "." in name
        or "::" in name
        or "(" in heading
        or "`" in heading
        or any(c.isupper() for c in name[1:])
    )


def entry(name: str, source: str, text: str, start: int, end: int) -> ReferenceEntry:
    """The entry of these lines, copied as they stand."""
    copied = "\n".join(text.split("\n")[start - 1 : end]).rstrip()
    symbols = dict.fromkeys([name, name.rpartition(".")[2], *_DEFINED.findall(copied)])
    return ReferenceEntry(name, source, start, end, copied, tuple(s for s in symbols if s))


def examples_of(source: str, text: str, *, fewest: int = 3) -> Iterator[Example]:
    """Fenced code of a source of at least so many lines, each once."""
    document = document_of(text)
    headings = [b for b in document.of("heading")]
    texts: set[str] = set()
    for fence in document.of("fence"):
        code = fence.plain.rstrip("\n")
        key = "".join(code.split())
        if code.count("\n") + 1 < fewest or key in texts:
            continue
        texts.add(key)
        above = [h.plain.strip() for h in headings if h.line < fence.line]
        yield Example(above[-1] if above else source, source, fence.info.split(" ")[0], code)


def without_copies(
    entries: Iterable[ReferenceEntry],
) -> tuple[tuple[ReferenceEntry, ...], tuple[str, ...]]:
    """Entries without those whose text stands whole in another; names of what was left out. One name in two sources stays twice, numbered."""
    listed = list(entries)
    texts = ["".join(e.text.split()) for e in listed]
    kept, left = [], []
    for at, item in enumerate(listed):
        within = any(
            texts[at] in other and (len(other) > len(texts[at]) or n < at)
            for n, other in enumerate(texts)
            if n != at
        )
        (left if within else kept).append(item)
    return tuple(kept), tuple(e.name for e in left)


def shown(item: ReferenceEntry) -> str:
    """An entry as it stands in the reference: symbols, place, and the copied text in a fence that it cannot end."""
    fence = fence_for(item.text)
    return f"### {item.name}\n\nSymbols: {', '.join(f'`{s}`' for s in item.symbols)} · {item.source}, lines {item.start} to {item.end}\n\n{fence}text\n{item.text}\n{fence}"


def sections_for(reference: str, code: str) -> tuple[str, ...]:
    """Sections of a reference (as `shown` writes them) that explain a symbol of a piece of code, most symbols first."""
    used = {
        fold(part)
        for name in _IDENTIFIER.findall(code)
        for part in (name, name.rpartition(".")[2].rpartition("::")[2])
    }
    ranked = []
    for at, section in enumerate(re.split(r"(?m)^(?=### )", reference)):
        head = re.search(r"(?m)^Symbols: (.*?) · ", section)
        hits = {s for s in re.findall(r"`([^`]+)`", head[1]) if fold(s) in used} if head else set()
        if hits:
            ranked.append((-len(hits), at, section.split("\n<!-- /kb:auto", 1)[0].rstrip()))
    return tuple(section for _, _, section in sorted(ranked))
