"""Captured text, and what stands around a quote in it: its sentence, its paragraph, the headings above it, its table. Finds quotes by `quotes`."""

import re
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, takewhile

from kb import grouped
from kb.source.quotation import Quotes, Span

__all__ = ["Captured", "Cell", "Span"]

# What is longer is no sentence, whatever stands in it.
_LONGEST = 2000
# Of its section a reader of a quote sees so many characters before and behind it; of a paragraph or table that begins before them so many
# on both sides of where it does.
_BEFORE, _BEHIND, _LEAD = 900, 400, 300
# A heading is a line of at most so many characters.
_TITLE = 80
# A blank line always ends a sentence; a mark does where a capital, a digit or a quote follows.
_SENTENCE_END = re.compile(
    r"(?<=[.!?…])[\"”’)\]]*\s+(?=[^\sa-z])|\n\s*\n|(?<=[。！？])|\n(?=\s*(?:[-*+•|>#]|\d+[.)]\s))"
)
_MARKED = re.compile(r"\s*(?:[-*+•]\s|[|>#]|\d+[.)]\s)")
# Bold words that open a line name what follows: a heading that runs into its paragraph.
_LABEL = re.compile(r"^[\s>+*-]*\*\*([^*\n]+)\*\*", re.MULTILINE)
# The line of dashes below the head of a table, and what parts columns that stand apart by blanks alone, as on a printed page.
_RULE = re.compile(r"[\s|:-]*-[\s|:-]*")
_GAP = re.compile(r"(?<=\S) {2,}(?=\S)")
_SECTIONS = tuple(f"\n{'#' * depth} " for depth in range(1, 7))
# Code in a line; and the paragraph that opens a message of a thread, each line a name with what it holds.
_CODE, _OPENED = (
    re.compile(r"`[^`\n]+`"),
    re.compile(r"(?:^\**[A-Z][\w-]*:\** \S.*\n){2,}(?=\s)", re.MULTILINE),
)
# A source marks no quote in itself.
_UNMARKED = str.maketrans("⟦⟧", "[]")
# Heads of a column that counts the rows of its table.
_COUNTS = ("", "#", "no", "nr", "id", "index")


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell of a table with the header of its column and the label of its row, `of` the header of labels; `quoted` marks the rows that
    a quote touches.
    """

    text: str
    header: str
    label: str
    quoted: bool
    of: str


class Captured(Quotes):
    """Captured text made ready for finding quotes in it and what stands around them."""

    def longest_head(self, quote: str) -> str:
        """The longest run of words that begins a quote and stands in the text: what a reader needs to mend one that does not."""
        words = quote.split()
        heads = (" ".join(words[:count]) for count in range(len(words), 0, -1))
        return next(filter(self.find, heads), "")

    def sentence_around(self, span: Span) -> Span:
        """The sentence or line that holds the quote: what stands before and behind it may turn its meaning."""
        earliest = max(0, span.start - _LONGEST)
        ends = (m.end() for m in _SENTENCE_END.finditer(self.text, earliest, span.start + 1))
        start = max((end for end in ends if end <= span.start), default=earliest)
        following = _SENTENCE_END.search(self.text, max(span.start, span.end - 1))
        lines = self._lines_around(span)
        if all(map(_is_row, self.text[lines.start : lines.end].split("\n"))):
            return lines
        return Span(start, following.start() if following else len(self.text))

    def sentence_behind(self, sentence: Span) -> str:
        """The next sentence of the same paragraph or list item, or nothing."""
        end = self.block_around(sentence).end
        rest = self.text[sentence.end : end].lstrip()
        start = end - len(rest)
        if not rest or _MARKED.match(rest):
            return ""
        return self.text[start : self.sentence_around(Span(start, start + 1)).end]

    def table_around(self, span: Span) -> tuple[Cell, ...]:
        """Every cell of the table that the quote touches, labels of rows apart; nothing outside tables."""
        around = self._lines_around(span)
        quoted = [*filter(_is_row, self.text[around.start : around.end].split("\n"))]
        if not quoted:
            return ()
        above = [*takewhile(_is_row, reversed(self.text[: around.start].split("\n")[:-1]))]
        below = [*takewhile(_is_row, self.text[around.end :].split("\n")[1:])]
        lines = [(line, line in quoted) for line in (*above[::-1], *quoted, *below)]
        rows = [(_cells(line), quoted) for line, quoted in lines if not _RULE.fullmatch(line)]
        headers = rows.pop(0)[0] if rows else []
        if rows and len(headers) + 1 == len(rows[0][0]):
            headers = ["", *headers]  # Nothing stands over the labels.
        while rows and _goes_below(rows[0][0]):
            # A header that spans columns stands over the first of them alone.
            spanning = accumulate(headers, lambda left, here: here or left)
            below_it = [cell.strip("*_ ") for cell in rows.pop(0)[0]]
            headers = [f"{a} {b}".strip() for a, b in zip(spanning, below_it, strict=False)]
        at = _counted([row[0] for row, _ in rows], "".join(headers[:1]))
        return tuple(
            Cell(text, header, _label_of(row[at:]), quoted, "".join(headers[at : at + 1]))
            for row, quoted in rows
            for text, header in zip(row[at + 1 :], headers[at + 1 :], strict=False)
        )

    def place_of(self, span: Span) -> str:
        """The quote between ⟦ and ⟧, with the whole of the code that it cuts, among the sentences and lines of its section, bounded; of a
        paragraph or table that begins before these its beginning, with what leads to it.
        """
        text, line = self.text, self._lines_around(span)
        codes = _CODE.finditer(text, line.start, line.end)
        cut = [
            at for m in codes if m.start() < span.end and span.start < m.end() for at in m.span()
        ]
        span = Span(min([span.start, *cut]), max([span.end, *cut]))
        low, high = span.start - _BEFORE, span.end + _BEHIND
        opening = max(text.rfind(mark, 0, span.start) for mark in _SECTIONS) + 1
        ends = (text.find(mark, span.end) for mark in _SECTIONS)
        closing = min((at for at in ends if at >= 0), default=len(text))
        cuts = [m.end() for m in _SENTENCE_END.finditer(text, max(low, opening), high)]
        start = (
            opening if low <= opening else min((c for c in cuts if c <= span.start), default=low)
        )
        end = closing if high >= closing else max((c for c in cuts if c >= span.end), default=high)
        block = self.block_around(span).start
        lead = (max(opening, block - _LEAD), min(start, block + _LEAD)) if block < start else (0, 0)
        bounds = (lead, (start, span.start), (span.start, span.end), (span.end, end))
        marked = "{}\n…\n{}⟦{}⟧{}".format(*(text[a:b].translate(_UNMARKED) for a, b in bounds))
        return marked.removeprefix("\n…\n")

    def _lines_around(self, span: Span) -> Span:
        end = self.text.find("\n", span.end)
        return Span(self.text.rfind("\n", 0, span.start) + 1, end if end >= 0 else len(self.text))

    def block_around(self, span: Span) -> Span:
        """The paragraph that holds the quote, to the blank lines around it."""
        start = self.text.rfind("\n\n", 0, span.start)
        end = self.text.find("\n\n", span.end)
        return Span(start + 2 if start >= 0 else 0, end if end >= 0 else len(self.text))

    def block_before(self, block: Span) -> Span:
        """The paragraph before another."""
        end = len(self.text[: block.start].rstrip())
        return self.block_around(Span(end, end))

    @cached_property
    def _openings(self) -> dict[int, list[str]]:
        """The fields that open each message of a thread by their first line: paragraphs of fields, where several begin with the same one."""
        by_first = grouped((m[0].split(":")[0], m) for m in _OPENED.finditer(self.text))
        return {
            self.text.count("\n", 0, m.start()): m[0].replace("*", "").splitlines()
            for alike in by_first.values()
            if len(alike) > 1
            for m in alike
        }

    def heading_above(self, span: Span) -> str:
        """The headings above the quote, nearest first: the bold words that open its paragraph, a short line alone that ends in no mark, what
        opens its message, a markdown heading with those over it; the title of the text last.
        """
        labels = _LABEL.findall(self.text, self.block_around(span).start, span.start)[-1:]
        lines = self.text[: span.start].split("\n")[:-1]
        level: float = 8
        for number in range(len(lines) - 1, -1, -1):
            # Fields stand below every heading and above a short line alone.
            if 0 < (depth := 6.5 if number in self._openings else _depth(lines, number)) < level:
                level = depth
                labels += self._openings.get(number) or [lines[number].strip().lstrip("# ")]
        title = next((line.strip("# ") for line in self.text.split("\n", 3) if line.strip()), "")
        if (
            title not in labels
            and 0 not in self._openings
            and len(title) <= _TITLE
            and span.start > len(title)
        ):
            labels.append(title)
        return " · ".join(labels)


def _depth(lines: list[str], number: int) -> int:
    """How deep the heading stands that a line is: 7 where it is a short line alone that ends in no mark, and leads to more than what it
    quotes; 0 for no heading.
    """
    line = lines[number].strip()
    if line.startswith("#"):
        return len(line.split()[0]) if set(line.split()[0]) == {"#"} else 0
    beside = "".join(lines[max(0, number - 1) : number] + lines[number + 1 : number + 2]).strip()
    plain = line and len(line) <= _TITLE and line[-1] not in '.,;!?”")'
    below = (s.startswith(">") for s in lines[number + 2 :] if line[-1:] == ":")
    return 7 * bool(
        plain
        and not beside
        and not line.startswith(("-", "* ", "|", ">"))
        and not (next(below, False) and not all(below))
    )


def _goes_below(row: list[str]) -> bool:
    """Whether a row goes on with the head of its table: what is not empty in it is emphasised, its label apart."""
    cells = [cell for cell in row[1:] if cell]
    return bool(cells) and all(cell[0] in "*_" and cell[0] == cell[-1] for cell in cells)


def _counted(firsts: list[str], head: str) -> int:
    """How many columns only count the rows of a table, given its first and its head: numbers from 0 or 1 up below a head that names
    nothing say nothing of a row.
    """
    counts = ([str(n + first) for n in range(len(firsts))] for first in (0, 1))
    return int(head.strip("*_. ").lower() in _COUNTS and len(firsts) > 1 and firsts in counts)


def _label_of(row: list[str]) -> str:
    """What a row is about: its first cell, with those behind it that hold words and no number."""
    return " ".join([row[0], *takewhile(lambda cell: cell[:1].isalpha(), row[1:])])


def _is_row(line: str) -> bool:
    # Prose that is filled to its margin has gaps of two blanks.
    apart = "   " in line.strip() and len(_GAP.findall(line)) > 1
    return apart or line.lstrip().startswith("|") or line.count(" | ") > 1


def _cells(row: str) -> list[str]:
    cells = row.strip().strip("|").split("|") if "|" in row else _GAP.split(row)
    return [cell.strip() for cell in cells]
