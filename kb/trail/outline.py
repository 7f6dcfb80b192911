"""A page as the readers of this room walk it: one pass over its blocks, each passage with the headings above it and its label.

Refuses to judge what a passage means.
"""

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from functools import cached_property, lru_cache
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple

from kb import begun, regex
from kb.page import document_of, plain_text
from kb.schema import LABELS

if TYPE_CHECKING:
    from kb.page.document import Block, Document, Row

_LABEL_OF = {spelling: name for name, spellings in LABELS.items() for spelling in spellings}
_SHORTEST_LABEL, _LONGEST_LABEL = 3, 40
_KEYED = regex(r"^[>\s]*[A-Za-z][A-Za-z ]{2,39}:\s", re.MULTILINE)
# A line behind the first, without the marks of a quotation.
_LINE = regex(r"\n[> ]*([^\n]*)")


class Passage(NamedTuple):
    """One heading, paragraph, table or fence. `text` is what a reader sees; where it begins with a label ("**Verdict**: refuted"),
    that is `label` in small letters, and `behind` what follows it. `above` are the headings over it below the title, `item` the
    outermost list item that holds it (-1: none), `rows` those of a table; `bold` where its first words are.
    """

    kind: str
    text: str
    line: int
    above: tuple[str, ...] = ()
    label: str = ""
    behind: str = ""
    item: int = -1
    listed: bool = False
    rows: "tuple[Row, ...]" = ()
    bold: bool = False


# The facts of a run and its aim are read from the same text, one after the other.
@lru_cache(maxsize=2)
def passages_of(text: str) -> tuple[Passage, ...]:
    """Passages of a page's text, in order; comments and other HTML are none."""
    document = document_of(text)
    passages: list[Passage] = []
    titles: list[tuple[int, str]] = []
    above: tuple[str, ...] = ()
    item = -1
    for place, block in enumerate(document.blocks):
        if not block.depth:
            item = -1
        if block.kind == "heading":
            titles = [t for t in titles if t[0] < block.level]
            titles += [(block.level, block.plain)] if block.level > 1 else []
            above = tuple(title for _, title in titles)
            passages.append(Passage("heading", block.plain, block.line, above))
        elif block.kind == "item" and block.level == 1:
            item = place
        elif block.kind == "table":
            passages.append(Passage("table", "", block.line, above, item=item, rows=block.rows))
        elif block.kind in ("fence", "code"):
            passages.append(Passage("fence", block.plain, block.line, above, item=item))
        elif block.kind == "paragraph":
            listed = block.depth > 0 and document.blocks[block.parent].kind == "item"
            for text, label, behind in _pieces(document, block):
                bold = any(s.kind == "strong" and s.start == block.start for s in block.spans)
                passages.append(
                    Passage(
                        "paragraph", text, block.line, above, label, behind, item, listed, bold=bold
                    )
                )
    return tuple(passages)


def passages_between(text: str, lines: range) -> tuple[Passage, ...]:
    """Those that begin on some of its lines, in order."""
    passages, ends = passages_of(text), (lines.start, lines.stop)
    return passages[slice(*(bisect_left(passages, end, key=attrgetter("line")) for end in ends))]


def _pieces(document: "Document", block: "Block") -> Iterator[tuple[str, str, str]]:
    """A paragraph cut before each line that begins with a label, as (text, label, what stands behind it)."""
    source = document.source(block)
    bold = {s.start - block.start: s.text for s in block.spans if s.kind == "strong"}
    starts = [0]
    # Where most lines begin with a name and a colon, these are labels, however they are written.
    listing = "\n" in source and 2 * len(_KEYED.findall(source)) > source.count("\n") + 1
    for line in _LINE.finditer(source) if bold or ":" in source else ():
        mark = bold.get(line.start(1), "")
        text = plain_text(line[1]) if mark else line[1]
        if _labelled(text, mark, listing=listing)[0]:
            starts.append(line.start(1))
    if len(starts) == 1:
        yield block.plain, *_labelled(block.plain, bold.get(0, ""), listing=listing)
        return
    for start, stop in zip(starts, [*starts[1:], len(source)], strict=True):
        text = plain_text(source[start:stop].strip())
        yield text, *_labelled(text, bold.get(start, ""), listing=listing)


def _labelled(text: str, bold: str, *, listing: bool) -> tuple[str, str]:
    """(label, what stands behind it) of a run of text that begins with `bold` type: a bold run that ends or goes on with a colon or a
    dash, or a few plain words (in a `listing` of labels in small letters as well) and a colon; two empty texts where it has none.
    """
    name, colon, behind = (bold or text).partition(":")
    if bold:
        behind = (behind + text[len(bold) :]) if colon else text[len(bold) :].lstrip()
        if behind.startswith("(") and not colon:
            behind = behind.partition(")")[2].lstrip()
        if not colon and not name.endswith((".", "—", "–")) and behind[:1] not in tuple(":—–"):
            return "", ""
        name = name.rstrip(".—– ")
    elif (
        not colon
        or not (name[:1].isupper() or listing)
        or not behind[:1].isspace()
        or not name.replace(" ", "").isalpha()
    ):
        return "", ""
    is_label = _SHORTEST_LABEL <= len(name) <= _LONGEST_LABEL
    return (name.strip().lower(), behind.lstrip(":—– ").strip()) if is_label else ("", "")


def labels_of(passages: Iterable[Passage]) -> dict[str, str]:
    """Texts of the four labels of a hypothesis, each where it first stands, to the next label, heading or fence."""
    texts: dict[str, list[str]] = {}
    current: str | None = None
    for passage in passages:
        if passage.kind in ("heading", "fence"):
            current = None
        elif passage.label:
            name = _LABEL_OF.get(passage.label)
            current = name if name and name not in texts else None
            if current:
                texts[current] = [passage.behind]
        elif current and passage.kind == "paragraph":
            texts[current].append(passage.text)
    return {name: prose for name, parts in texts.items() if (prose := joined(parts))}


def prose_of(passages: Iterable[Passage], *, most: int = 2400) -> str:
    """Paragraphs and items a line each, without tables, fences, headings and bold labels that stand alone, cut at a word within `most`."""
    alone = lambda p: p.bold and p.label and not p.behind and p.text[-1] == ":"  # noqa: E731
    return joined((p.text for p in passages if p.kind == "paragraph" and not alone(p)), most=most)


class Phrases:
    """Finds any of some stems (`profil, hot-spot`) at the start of a word; one with `^` at the start of the text alone, `whole`: as a word
    of its own. Stems stand in small letters; the pattern is made when it is first asked for.
    """

    def __init__(self, stems: str, *, whole: bool = False):
        self.stems, self.whole = stems, whole

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        end, stems = r"\b" * self.whole, self.stems.split(", ")
        forms = [
            (rf"\A\W*(?:{stem[1:]})" if stem[0] == "^" else rf"(?<![^\W_])(?:{stem})") + end
            for stem in stems
            if not stem[0].isalpha()
        ]
        plain = begun((s for s in stems if s[0].isalpha()), sign=r"[^\W_]", end=end)
        return re.compile("|".join(filter(None, (plain, *forms))))

    def search(self, text: str) -> re.Match[str] | None:
        return self.pattern.search(text.lower())

    @lru_cache(maxsize=1 << 12)  # noqa: B019  As many as there are in the code, and they stay.
    def head(self, heading: str) -> bool:
        """Whether it finds one in a heading, of which there are many alike."""
        return bool(self.search(heading))


def joined(texts: Iterable[str], *, most: int = 2400) -> str:
    text = "\n".join(filter(None, (t.strip() for t in texts)))
    return text if len(text) <= most else text[:most].rsplit(" ", 1)[0] + " …"
