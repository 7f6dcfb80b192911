"""A claim beside its quote and what stands around that in the source: what every check of the gate looks at."""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache, reduce

from kb.claims.captured import Captured, Cell, Span
from kb.text import STOP, fold, stem, words_of


@dataclass(frozen=True)
class ClaimCase:
    """A claim with its quote, the text that the quote was found in, and what stands around it there.

    `sentence` is the sentence of the source that holds the quote, `after` the next one of its paragraph, `lead` its paragraph up to that,
    `before` what stands over a quoted table, `heading` the headings above, `table` the cells of a quoted table, `whole` all of the source.
    """

    claim: str
    quote: str
    sentence: str
    after: str
    lead: str
    before: str
    heading: str
    table: tuple[Cell, ...]
    whole: str

    @cached_property
    def about(self) -> str:
        """What the quote is about though it does not say so: the heading above it, the labels of its rows and the headers of its columns."""
        cells = [c for c in self.table if c.quoted]
        labels = dict.fromkeys(f"{c.of}: {c.label}" if c.of else c.label for c in cells)
        return " · ".join(dict.fromkeys([self.heading, *labels, *(c.header for c in cells)]))

    @cached_property
    def context(self) -> str:
        """All that the claim may draw its words from, abbreviations beside what they stand for."""
        around = (self.quote, self.sentence, self.lead, self.before, self.about)
        return self.spelt_out(" · ".join(around))

    def spelt_out(self, text: str) -> str:
        """A text with what its abbreviations stand for, and the abbreviations of what it spells."""
        words = set(map(stem, words_of(text)))
        more = [
            f"{short} {long}"
            for short, long in _abbreviations(self.whole)
            if stem(fold(short)) in words or {stem(w) for w in words_of(long)} <= words
        ]
        return " · ".join([text, *more])

    def shortened(self, text: str) -> str:
        """A text with abbreviations in the place of what they stand for."""
        pairs = ([w.lower() for w in pair] for pair in _abbreviations(self.whole))
        return reduce(lambda t, pair: t.replace(*pair[::-1]), pairs, text.lower())

    @cached_property
    def parts(self) -> list[str]:
        """Coordinate parts of the sentence that the quote touches."""
        start, within, at = self.sentence.find(self.quote), [], 0
        if start < 0:
            return parts_of(self.quote)
        for part in parts_of(self.sentence):
            at = self.sentence.find(part, at)
            if at < start + len(self.quote) and start < at + len(part):
                within.append(part)
            at += len(part)
        return within

    @cached_property
    def meant(self) -> str:
        """Those parts of the sentence around the quote that the claim speaks of: that share most words and numbers with it."""
        wanted = telling(self.claim)
        parts = [(weight_of(wanted & telling(part)), part) for part in self.parts]
        most = max(weight for weight, _ in parts)
        return " ".join(part for weight, part in parts if weight == most) if most else self.quote

    @cached_property
    def message(self) -> str:
        """What the source says there: the parts that are meant, with the quote."""
        return f"{self.meant} {self.quote}"


def case_of(claim: str, captured: Captured, span: Span) -> ClaimCase:
    """The claim beside what the text says at `span` and around it."""
    text = captured.text
    around, block = captured.sentence_around(span), captured.block_around(span)
    table = captured.table_around(span)
    above = captured.block_before(block)
    wrapped = _NOWHERE if table else WRAPPED
    return ClaimCase(
        unbroken(" ".join(claim.split())),
        wrapped.sub(" ", unbroken(text[span.start : span.end])),
        wrapped.sub(" ", unbroken(text[around.start : around.end])),
        wrapped.sub(" ", unbroken(captured.sentence_behind(around))),
        unbroken(text[block.start : around.start]),
        unbroken(text[above.start : above.end]) if table else "",
        captured.heading_above(span),
        table,
        unbroken(text),
    )


_LIGATURES = {ord(sign): text for sign, text in zip("ﬀﬁﬂﬃﬄﬅﬆ‐‑\u00ad", [*"ff fi fl ffi ffl st st - -".split(), ""], strict=True)}  # fmt: skip
_BROKEN = re.compile(r"(?<=[^\W\d_])[-\u00ad]\n\s*(?=[a-zß-öø-ÿﬀ-ﬆ])")


# The end of a line inside a paragraph, where nothing ends.
WRAPPED, _NOWHERE = re.compile(r"(?<=\S)[ \t]*\n[ \t]*(?=[^\s\-*+•|>#\d])"), re.compile(r"(?!)")
_POWER = re.compile(r"(?<=\d) ?[×x·] ?10([⁻⁺]?[⁰¹²³⁴⁵⁶⁷⁸⁹]+)")


@lru_cache(64)
def unbroken(text: str) -> str:
    """A text in which no word is broken by the end of a line, and no letters are joined, no accent stands apart and a hyphen is one."""
    text = _POWER.sub(lambda m: f"e{unicodedata.normalize('NFKC', m[1])}", _BROKEN.sub("", text))
    return unicodedata.normalize("NFC", text.translate(_LIGATURES))


@lru_cache(16)
def _abbreviations(text: str) -> tuple[tuple[str, str], ...]:
    """Abbreviations of a text with the words that they are made from, back to the one of their first letter: `write-ahead log (WAL)`."""
    pairs = {}
    for at in re.finditer(r"\(([A-Z][A-Za-z]{1,7}?)s?\)", text):
        words = re.findall(r"[^\W_]+", text[max(0, at.start() - 120) : at.start()])[-8:]
        opens = [n for n, word in enumerate(words) if word[0].casefold() == at[1][0].casefold()]
        if opens:
            pairs[at[1], " ".join(words[opens[-1] :])] = None
    return tuple(pairs)


# What opens with one of these is told of something named before it.
REFERS = re.compile(
    r"\W*(?:(?:and|but|yet)\s+)?(?:it|its|they|their|which|that|this|these|those|both|so)\b",
    re.IGNORECASE,
)
# What stands in brackets is said of something else, or may be left out.
BRACKETED = re.compile(r"\([^()]*\)?")
_PART = re.compile(
    r"(?<=[.!?;:])(?<!\be\.g\.)(?<!\bi\.e\.)\s+|\n\s*\n|,\s+(?=(?:but(?! only)|while|whereas|yet|and|so|because|since|as)\b)|(?<=\)),\s(?!but only)|\s[–—]\s|\s(?=but not\b)"
)
_CLAUSE = re.compile(
    r";\s|:\s(?!\W*\d)|,\s(?!from\b)|\s[-–—]\s|\b(?:while|whereas|but|and|versus|vs\.?|against|compared|(?:than|over)(?!\s+[\d~]))\b|[.!?]\s|\||\n"
)
# What opens a sentence and is set off by a comma is no clause: "On kernels before 5.15, …".
_LED = re.compile(
    r"\W*(?:on|in|at|with|without|for|before|after|until|since|under|above|below|during)\b[^,]*$",
    re.IGNORECASE,
)
_POINT = re.compile(r"(?<=\d)\.(?=\d)")


def parts_of(sentence: str) -> list[str]:
    """Coordinate parts of a sentence."""
    return _PART.split(sentence)


def clauses_of(text: str) -> Iterator[str]:
    """Clauses of a text; what stands in brackets belongs to the clause before them."""
    start = 0
    for mark in _CLAUSE.finditer(text):
        opening = "," in mark[0] and _LED.match(text, start, mark.start())
        closed = text.count("(", start, mark.start()) <= text.count(")", start, mark.start())
        if closed and not opening:
            yield text[start : mark.start()]
            start = mark.end()
    yield text[start:]


def all_words(text: str) -> set[str]:
    """Stems of the words of a text that say something, and its digits: `ISO 320`, `radix-8`."""
    return {stem(w) for w in words_of(_POINT.sub("p", text.replace(",", ""))) if w not in STOP}


def telling(text: str) -> set[str]:
    """Those of three letters and more, and numbers."""
    return {w for w in all_words(text) if len(w) > 2 or w[0].isdigit()}


def weight_of(shared: set[str]) -> int:
    """How much words that two texts share say: a number says more than a word."""
    return sum(3 if word[0].isdigit() else 1 for word in shared)
