"""A quote found again in captured text, up to whitespace, hyphenation, Unicode forms and markup, with its place.

Refuses stitched quotes, quotes that begin or end inside a word or a number, and guesses: a quote stands there whole or it does not.
"""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, pairwise, takewhile

_QUOTES = str.maketrans("‘’‚‛“”„‟′″«»", '\'\'\'\'""""\'"""')
_DASHES = "‐‑‒–—―−"
_HIDDEN = ("Cf", "Mn")
# A link shows its text; its address is no part of what is read.
_ADDRESS = re.compile(r"(?<=\])\([^()\s]*(?:\s\"[^\"\n]*\")?\)")


@dataclass(frozen=True, slots=True)
class Span:
    """Where a quote stands: characters `start` to `end` (excluded) of the captured text."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell of a table with the header of its column and the label of its row; `quoted` marks the rows that a quote touches."""

    text: str
    header: str
    label: str
    quoted: bool


class Captured:
    """Captured text made ready for finding quotes in it: its plain form, and for each plain character the place it came from."""

    def __init__(self, text: str) -> None:
        self._raw = text
        marks = set(_NOTE.findall(text))
        self._notes = {ord(mark): " " for mark in marks}
        self.text = _without_furniture(text.translate(self._notes))
        self._plain, self._places = _plain(self.text)

    def find(self, quote: str) -> Span | None:
        """The first place where the whole quote stands by itself, or None."""
        if self.text == self._raw:
            return _place(quote, self._plain, self._places)
        # A quote may hold the numbers of its lines as well, or what stands between pages.
        first, *lines = quote.translate(self._notes).split("\n")
        bare = "\n".join([first, *(_COUNTED.sub("", line) for line in lines)])
        if span := _place(bare, self._plain, self._places):
            return span
        span = _place(quote, *self._printed)
        return span if span and self.text[span.start : span.end].strip() else None

    @cached_property
    def _printed(self) -> tuple[str, list[int]]:
        return _plain(self._raw)

    def longest_head(self, quote: str) -> str:
        """The longest run of words that begins the quote and stands in the text: what a reader needs to mend a quote that does not."""
        words = quote.split()
        low, high = 0, len(words)
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (middle, high) if self.find(" ".join(words[:middle])) else (low, middle - 1)
        return " ".join(words[:low])

    def sentence_around(self, span: Span) -> Span:
        """The sentence or line that holds the quote: what stands before and behind it may turn its meaning."""
        ends = (
            m.end()
            for m in _SENTENCE_END.finditer(
                self.text, max(0, span.start - _LONGEST), span.start + 1
            )
        )
        start = max(
            (end for end in ends if end <= span.start), default=max(0, span.start - _LONGEST)
        )
        following = _SENTENCE_END.search(self.text, max(span.start, span.end - 1))
        lines = self._lines_around(span)
        if all(map(_is_row, self.text[lines.start : lines.end].split("\n"))):
            return lines
        line = self.text.find("\n", start, span.start)
        if line >= 0 and self.text[start:line].lstrip().startswith("#"):
            start = line + 1  # A heading is no part of the sentence below it.
        return Span(start, following.start() if following else len(self.text))

    def sentence_behind(self, sentence: Span) -> str:
        """The next sentence of the same paragraph or list item, or nothing."""
        end = self.block_around(sentence).end
        rest = self.text[sentence.end : end].lstrip()
        start = end - len(rest)
        if not rest or _MARKED.match(rest):
            return ""
        return self.text[start : self.sentence_around(Span(start, start + 1)).end]

    def table_around(self, span: Span) -> tuple["Cell", ...]:
        """Every cell of the table that the quote touches, labels of rows apart; nothing outside tables."""
        around = self._lines_around(span)
        quoted = [*filter(_is_row, self.text[around.start : around.end].split("\n"))]
        if not quoted:
            return ()
        above = self.text[: around.start].split("\n")[:-1]
        below = self.text[around.end :].split("\n")[1:]
        rows_above = [*takewhile(_is_row, reversed(above))]
        if "|" not in quoted[0] and _GAP.search("".join(above[::-1][len(rows_above) :][:1])):
            rows_above.append(above[-1 - len(rows_above)])  # A head of two columns and no label.
        lines = [
            *((line, False) for line in rows_above[::-1]),
            *((line, True) for line in quoted),
            *((line, False) for line in takewhile(_is_row, below)),
        ]
        rows = [(_cells(line), quoted) for line, quoted in lines if not _RULE.fullmatch(line)]
        headers = rows.pop(0)[0] if rows else []
        if rows and len(headers) + 1 == len(rows[0][0]):
            headers = ["", *headers]  # Nothing stands over the labels.
        while rows and _goes_below(rows[0][0]):
            # A header that spans columns stands over the first of them alone.
            spanning = accumulate(headers, lambda left, here: here or left)
            below_it = [cell.strip("*_ ") for cell in rows.pop(0)[0]]
            headers = [f"{a} {b}".strip() for a, b in zip(spanning, below_it, strict=False)]
        return tuple(
            Cell(text, header, label, quoted)
            for row, quoted in rows
            for label in (_label_of(row),)
            for text, header in zip(row[1:], headers[1:], strict=False)
        )

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

    def replies_to(self, span: Span) -> Iterator[str]:
        """How a thread goes on behind a quote: how the next turn begins, and what stands below each line that quotes it again (`> …`)."""
        turns = (at for at, how, _ in self.speakers if how == "turn" and at.start >= span.end)
        starts = [at.end for at in turns][:1]
        cited = re.escape(self.text[span.start : span.end].split("\n")[0])
        for again in re.finditer(rf"^>.*{cited}.*\n(?:>.*\n|\s*\n)*", self.text, re.MULTILINE):
            starts.append(again.end())
        for start in starts:
            yield self.text[start : self.sentence_around(Span(start, start + 1)).end]

    @cached_property
    def speakers(self) -> list[tuple[Span, str, str]]:
        """Who speaks behind which place, as (place, how it is told, name), in order."""
        speakers = [
            (Span(*m.span()), m.lastgroup or "", m[m.lastgroup])
            for m in _SPEAKER.finditer(self.text)
        ]
        # Between mails bold words with a colon are fields of their heads.
        mails = any(how == "sender" for _, how, _ in speakers)
        return [speaker for speaker in speakers if not mails or speaker[1] != "turn"]

    def speaker_of(self, span: Span) -> str:
        """Who says what is quoted: the name below its paragraph or item, else the one that opens the turn, or the lines cited (`>`)."""
        line = self._lines_around(Span(span.start, span.start))
        ends = (self.text.find(mark, span.end) for mark in ("\n\n", "\n- "))
        end = min((at for at in ends if at >= 0), default=len(self.text))
        below = [
            name
            for at, how, name in self.speakers
            if how == "signed" and span.start <= at.start < end
        ]
        cited = self.text[line.start : line.end].startswith(">")
        above = [
            name
            for at, how, name in self.speakers
            if at.start < span.start and (how == "wrote") == cited and how != "signed"
        ]
        return (below[:1] or above[-1:] or [""])[0]

    def _footnote_words(self, span: Span) -> list[str]:
        """Words that bear the mark of the note in which a quote ends."""
        note = _NOTE.match(self._raw, self._raw.rfind("\n", 0, span.end) + 1)
        words = (w.strip("|,.;:()").partition(note[1]) for w in self._raw.split()) if note else ()
        return [word for word, mark, _ in words if word and mark]

    def heading_above(self, span: Span) -> str:
        """The headings above the quote, nearest first: the bold words that open its paragraph, a markdown heading with those over it,
        or a short line alone that ends in no mark.
        """
        labels = _LABEL.findall(self.text, self.block_around(span).start, span.start)[-1:]
        labels += self._footnote_words(span)
        lines = self.text[: span.start].split("\n")[:-1]
        level = 8
        for number in range(len(lines) - 1, -1, -1):
            if 0 < (depth := _depth(lines, number)) < level:
                level = depth if depth < 7 else 2
                labels.append(lines[number].strip().lstrip("# "))
            if level == 1:
                break
        title = next((line.strip("# ") for line in self.text.split("\n", 3) if line.strip()), "")
        if len(title) <= _TITLE and title not in labels and span.start > len(title):
            labels.append(title)
        return " · ".join(labels)


def _depth(lines: list[str], number: int) -> int:
    """How deep the heading stands that a line is: 7 where it is a short line alone that ends in no mark, 0 for no heading."""
    line = lines[number].strip()
    if line.startswith(("#", "Subject: ")):
        return 2 if line[0] == "S" else len(line.split()[0]) if set(line.split()[0]) == {"#"} else 0
    beside = "".join(lines[max(0, number - 1) : number] + lines[number + 1 : number + 2]).strip()
    plain = line and len(line) <= _TITLE and line[-1] not in '.,;!?”")'
    return 7 if plain and not beside and not line.startswith(("-", "* ", "|", ">")) else 0


_MARKED = re.compile(r"\s*(?:[-*+•]\s|[|>#]|\d+[.)]\s)")
# A heading is a line of at most so many characters.
_TITLE = 80
# Bold words that open a line name what follows: a heading that runs into its paragraph.
_LABEL = re.compile(r"^[\s>+*-]*\*\*([^*\n]+)\*\*", re.MULTILINE)
# Who speaks: a mail's sender, whose lines are cited below, who wrote an answer, whose turn it is, who signs a comment.
_SPEAKER = re.compile(
    r"^\W*From:\W+(?P<sender>\w[^<\n]*\w)|^(?:On [^\n]*, )?(?P<wrote>\w[^,:<\n]{0,40}?) wrote:|^#+ [^\n]*\bby `?(?P<author>[^`\n]+)"
    r"|^\s*\*\*(?P<turn>[^*\n]{1,30}?)(?::\*\*\s+|\*\*(?:[^.\n]{0,40}:|,[^.\n]{0,40})$\s*)|^(?!#)[^\n]*(?:—|--) ?`?(?P<signed>[A-Z][\w. ]*\w|(?<=`)\w[\w.-]*)`?$",
    re.MULTILINE,
)
# What is longer is no sentence, whatever stands in it.
_LONGEST = 2000
# A blank line always ends one; a mark does where a capital, a digit or a quote follows.
_SENTENCE_END = re.compile(
    r"(?<=[.!?…])[\"”’)\]]*\s+(?=[^\sa-z])|\n\s*\n|(?<=[。！？])|\n(?=\s*(?:[-*+•|>#]|\d+[.)]\s))"
)


# The line of dashes below the head of a table.
_RULE = re.compile(r"[\s|:-]*-[\s|:-]*")
_EMPHASISED = re.compile(r"([*_]+)[^*_]+\1")


def _goes_below(row: list[str]) -> bool:
    """Whether a row goes on with the head of its table: what is not empty in it is emphasised, its label apart."""
    cells = [cell for cell in row[1:] if cell]
    return bool(cells) and all(map(_EMPHASISED.fullmatch, cells))


def _label_of(row: list[str]) -> str:
    """What a row is about: its first cell, with those behind it that hold words and no number."""
    words = takewhile(lambda cell: cell[:1].isalpha(), row[1:])
    return " ".join([row[0], *words])


# Between columns that stand apart by blanks alone, as a page that was printed shows them.
_GAP = re.compile(r"(?<=\S) {2,}(?=\S)")


def _is_row(line: str) -> bool:
    return line.lstrip().startswith("|") or len(_GAP.findall(line)) > 1


def _cells(row: str) -> list[str]:
    cells = row.strip().strip("|").split("|") if "|" in row else _GAP.split(row)
    return [cell.strip() for cell in cells]


# A number that opens a line and may count it, with the rest of that line.
_COUNTED = re.compile(r"^[ \t]*(\d{1,5})(?=[ \t]|$)", re.MULTILINE)
# The mark of a note that stands below what bears the same mark.
_NOTE = re.compile(r"^[ \t]*([¹²³⁴-⁹†‡])(?=[ \t]*[^\W\d])", re.MULTILINE)
# Fewer lines than these may be a list, or a column that counts.
_FEWEST_COUNTED = 12


def _without_furniture(text: str) -> str:
    """A text of the same length in which blanks stand for the numbers that count its lines, and for heads and feet of pages between them."""
    counts = list(_COUNTED.finditer(text))
    follow = [a for a, b in pairwise(counts) if int(b[1]) == int(a[1]) + 1]
    if len(follow) < _FEWEST_COUNTED or len(follow) < 0.9 * len(counts):
        return text
    ends = [*(count.start() for count in counts[1:]), len(text)]
    rows = [
        text[count.end() : end].partition("\n") for count, end in zip(counts, ends, strict=True)
    ]
    apart = [below for _, _, below in rows[:-1] if below.strip()]
    if len(apart) > len(rows) / 5 or not _runs_on([line.split() for line, _, _ in rows]):
        return text
    pieces = [text[: counts[0].start()]]
    for count, (line, end, below) in zip(counts, rows, strict=True):
        lines = below.split("\n")
        set_off = count is not counts[-1] and not "".join([lines[0], *lines[-2:]]).strip()
        pieces += [(" " if line else "\n") * len(count[0]), line, end]
        pieces.append(" " * len(below) if set_off and below.strip() else below)
    return "".join(pieces)


def _runs_on(lines: list[list[str]]) -> bool:
    """Whether lines are running text: many go on in small letters with what the line above began, and few of their words are figures."""
    lines = [line for line in lines if line]
    words = [word for line in lines for word in line]
    figures = [word for word in words if not any(map(str.isalpha, word))]
    small = [line for line in lines if line[0][0].islower()]
    return len(small) > len(lines) / 4 and len(figures) < len(words) / 4


def _place(quote: str, plain: str, places: list[int]) -> Span | None:
    """The first place where the whole quote stands by itself in a plain form."""
    wanted = _plain(quote)[0].strip()
    at = plain.find(wanted) if wanted else -1
    while at >= 0:
        end = at + len(wanted)
        if not _cut_into(plain, at, end):
            return Span(places[at], places[end - 1] + 1)
        at = plain.find(wanted, at + 1)
    return None


def _plain(text: str) -> tuple[str, list[int]]:
    """The plain form of a text, and where each of its characters stands in it."""
    hidden = {n for m in _ADDRESS.finditer(text) for n in range(*m.span())}
    hidden |= {n for m in GROUPED.finditer(text) for n in range(*m.span()) if not text[n].isdigit()}
    plain: list[str] = []
    places: list[int] = []
    for place, sign in enumerate(text):
        if place in hidden:
            continue
        for form in _forms(sign):
            if form == " " and (not plain or plain[-1] == " "):
                continue
            plain.append(form)
            places.append(place)
    return _joined(plain, places)


def _forms(sign: str) -> str:
    if sign.isascii():
        return " " if sign.isspace() or sign in "|\0" else "" if sign in "`[]" else sign
    if sign in _DASHES:
        return "-"
    if sign == "×":
        return "x"
    if unicodedata.category(sign) in _HIDDEN:
        return ""
    if sign.isspace():
        return " "
    # A superscript is no digit of the number before it; ligatures and full-width forms are the letters they show, and an accent that
    # stands apart is the one of the letter before it.
    form = sign if unicodedata.category(sign)[0] == "N" else unicodedata.normalize("NFKD", sign)
    return "".join(c for c in form if unicodedata.category(c) not in _HIDDEN).translate(_QUOTES)


# No part of the plain form: hyphens inside words (with the line break behind them), blanks before % and ×, stars of emphasis, second blanks.
_DROPPED = re.compile(
    r"(?<=[^\W\d_])-(?=[^\W\d_])|(?<=[^\W\d_])- (?=[a-zß-öø-ÿ])|(?<=\d) (?=%|x(?![^\W\d_]))|(?<!\w)\*|\*(?!\w)|(?<= )\*? "
)


def _joined(plain: list[str], places: list[int]) -> tuple[str, list[int]]:
    """Without what is no part of the plain form."""
    text = "".join(plain)
    dropped = {at for match in _DROPPED.finditer(text) for at in range(*match.span())}
    kept = [at for at in range(len(text)) if at not in dropped]
    kept = [
        at for n, at in enumerate(kept) if not (text[at] == " " and n and text[kept[n - 1]] == " ")
    ]
    return "".join(text[at] for at in kept), [places[at] for at in kept]


def _cut_into(plain: str, start: int, end: int) -> bool:
    """Whether a quote begins or ends inside a word or a number, or leaves the sign of its first number behind."""
    before, first = plain[start - 1 : start], plain[start]
    after, last = plain[end : end + 1], plain[end - 1]
    if before and (
        before.isalnum() and first.isalnum() or before == "_" or first == "_" and before.isalnum()
    ):
        return True
    if after and (
        after.isalnum() and last.isalnum() or after == "_" or last == "_" and after.isalnum()
    ):
        return True
    if first.isdigit() and (
        before in ("-", "+", "±", "~", "<", ">", "≤", "≥", "≈")
        or before in (".", ",")
        and plain[start - 2 : start - 1].isdigit()
    ):
        return True
    return last.isdigit() and after in (".", ",") and plain[end + 1 : end + 2].isdigit()


# Thousands set apart by blanks or commas.
GROUPED = re.compile(r"(?<![\w.,])\d{1,3}(?:[ ,\u00a0\u2009\u202f]\d{3})+(?![\w.,]*\d)")
