"""A claim beside its quote and what stands around that in the source: what every check of the gate looks at."""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from kb.claims.captured import Captured, Cell, Span
from kb.text import STOP, fold, sentences_of, stem, words_of


@dataclass(frozen=True, slots=True)
class ClaimCase:
    """A claim with its quote, the text that the quote was found in, and what stands around it there.

    `sentence` is the sentence of the source that holds the quote, `lead` its paragraph up to that, `before` the paragraph before where the sentence speaks of something named earlier, `after` the next sentence in it, `heading` the headings above it, `table` the cells of a quoted table, `replies` how a
    thread goes on behind it, `known` the stems of words that the source writes in small letters, `sentences` all of its sentences, `speaker` who says it and `speakers` who speaks there.
    """

    claim: str
    quote: str
    sentence: str
    after: str
    lead: str
    before: str
    heading: str
    table: tuple[Cell, ...]
    replies: tuple[str, ...]
    known: frozenset[str]
    abbreviations: tuple[tuple[str, str], ...]
    sentences: tuple[tuple[str, str], ...]
    speaker: str
    speakers: frozenset[str]

    @property
    def whole(self) -> str:
        """The source from end to end."""
        return _whole(self.sentences)

    @property
    def about(self) -> str:
        """What the quote is about though it does not say so: the heading above it, the headers of its columns and labels of its rows."""
        cells = [c for c in self.table if c.quoted]
        return " · ".join(
            [
                self.heading,
                self.speaker,
                *(c.header for c in cells),
                *dict.fromkeys(c.label for c in cells),
            ]
        )

    @property
    def context(self) -> str:
        """All that the claim may draw its words from, abbreviations beside what they stand for."""
        return self.spelt_out(
            f"{self.quote} · {self.sentence} · {self.lead} · {self.before} · {self.about}"
        )

    def spelt_out(self, text: str) -> str:
        """A text with what its abbreviations stand for, and the abbreviations of what it spells."""
        words = set(map(stem, words_of(text)))
        more = [
            f"{short} {long}"
            for short, long in (*self.abbreviations, *self.initials)
            if stem(fold(short)) in words or {stem(w) for w in words_of(long)} <= words
        ]
        return " · ".join([text, *more])

    @property
    def initials(self) -> list[tuple[str, str]]:
        """Abbreviations that one of claim and quote writes out, though the source says nowhere what they stand for."""
        sides = self.claim, self.quote
        return [p for short, long in (sides, sides[::-1]) for p in _initials(short, long)]


def case_of(claim: str, captured: Captured, span: Span) -> ClaimCase:
    """The claim beside what the text says at `span` and around it."""
    around = captured.sentence_around(span)
    block = captured.block_around(span)
    table = captured.table_around(span)
    # Above a table stands what its numbers are.
    refers = table or _PRONOUN.search(captured.text, around.start, around.end)
    before = captured.text[captured.block_before(block).start : block.start] if refers else ""
    return ClaimCase(
        unbroken(" ".join(claim.split())),
        unbroken(captured.text[span.start : span.end]),
        unbroken(captured.text[around.start : around.end]),
        unbroken(captured.sentence_behind(around)),
        unbroken(captured.text[block.start : around.start]),
        unbroken(before),
        captured.heading_above(span),
        table,
        tuple(map(unbroken, captured.replies_to(span))),
        _vocabulary(captured.text),
        _abbreviations(captured.text),
        _sentences(captured.text),
        captured.speaker_of(span),
        frozenset(name for *_, name in captured.speakers),
    )


@lru_cache(16)
def _whole(sentences: tuple[tuple[str, str], ...]) -> str:
    return " ".join(sentence for _, sentence in sentences)


_LIGATURES = {ord(sign): text for sign, text in zip("ﬀﬁﬂﬃﬄﬅﬆ‐‑\u00ad", [*"ff fi fl ffi ffl st st - -".split(), ""], strict=True)}  # fmt: skip
_BROKEN = re.compile(r"(?<=[^\W\d_])[-\u00ad]\n\s*(?=[a-zß-öø-ÿﬀ-ﬆ])")


def unbroken(text: str) -> str:
    """A text in which no word is broken by the end of a line, and no letters are joined, no accent stands apart and a hyphen is one."""
    return unicodedata.normalize("NFC", _BROKEN.sub("", text).translate(_LIGATURES))


@lru_cache(16)
def _abbreviations(text: str) -> tuple[tuple[str, str], ...]:
    """Abbreviations of a text with the words that they are made from, back to the one of their first letter: `write-ahead log (WAL)`."""
    pairs = {}
    for at in re.finditer(r"\(([A-Z][A-Za-z]{1,7}?)s?\)", text):
        words = re.findall(r"[^\W_]+", unbroken(text[max(0, at.start() - 120) : at.start()]))[-8:]
        opens = [n for n, word in enumerate(words) if word[0].casefold() == at[1][0].casefold()]
        if opens:
            pairs[at[1], " ".join(words[opens[-1] :])] = None
    return tuple(pairs)


@lru_cache(256)
def _initials(text: str, other: str) -> tuple[tuple[str, str], ...]:
    """Words in capitals of one text with the words that follow each other in another and begin with their letters: `SOC`, state of charge."""
    words = re.findall(r"[^\W\d_]+", other)
    letters = "".join(word[0] for word in words).lower()
    pairs = []
    for short in re.findall(r"\b[A-Z]{2,6}\b", text):
        at = letters.find(short.lower())
        if at >= 0:
            pairs.append((short, " ".join(words[at : at + len(short)])))
    return tuple(pairs)


@lru_cache(16)
def _sentences(text: str) -> tuple[tuple[str, str], ...]:
    """Sentences of a text in order, each behind the one before it in its paragraph."""
    sentences = []
    for block in re.split(r"\n\s*\n", unbroken(text)):
        lines = sentences_of(" ".join(block.split()) if "|" not in block else block)
        sentences += zip(["", *lines], lines, strict=False)
    return tuple(sentences)


@lru_cache(16)
def _vocabulary(text: str) -> frozenset[str]:
    """Stems of the words that a text uses as words: in small letters, or with a capital at the head of a sentence alone."""
    small, opening, inside = set(), set(), set()
    for word in re.finditer(r"\b[^\W\d_]+\b", text):
        if word[0].islower():
            small.add(stem(word[0]))
        elif word[0].istitle():
            head = not word.start() or re.search(
                r"[.!?:]\W*$|\n\W*$", text[max(0, word.start() - 6) : word.start()]
            )
            (opening if head else inside).add(stem(fold(word[0])))
    labels = {stem(fold(label)) for label in _LABEL_OF_ROW.findall(text)}
    return frozenset((small | opening - inside) - labels)


# A word alone in the first cell of a row of a table names what the row is about.
_LABEL_OF_ROW = re.compile(r"^\|\s*([^\W\d_]+)\s*\|", re.MULTILINE)
# What opens with one of these is told of something named before it.
REFERS = re.compile(
    r"\W*(?:(?:and|but|yet)\s+)?(?:it|its|they|their|which|that|this|these|those|both|so)\b",
    re.IGNORECASE,
)
# What stands in brackets is said of something else, or may be left out.
BRACKETED = re.compile(r"\([^()]*\)?")
_PRONOUN = re.compile(r"\b(?:it|its|they|them|their|this|these|there)\b", re.IGNORECASE)
_PART = re.compile(
    r"(?<=[.!?;:])\s+|\n\s*\n|,\s+(?=(?:but(?! only)|while|whereas|yet|and|so|because|since|as)\b)|(?<=\)),\s(?!but only)|\s[–—]\s|\s(?=but not\b)"
)


def meant(case: ClaimCase) -> str:
    """Those parts of the sentence around the quote that the claim speaks of: that share most words and numbers with it."""
    wanted = telling(case.claim)
    parts = [(weight_of(wanted & telling(part)), part) for part in touched(case)]
    most = max(weight for weight, _ in parts)
    return " ".join(part for weight, part in parts if weight == most) if most else case.quote


def touched(case: ClaimCase) -> list[str]:
    """Parts of the sentence that the quote stands in."""
    start, parts = case.sentence.find(case.quote), parts_of(case.sentence)
    if start < 0:
        return parts_of(case.quote)
    within, at = [], 0
    for part in parts:
        at = case.sentence.find(part, at)
        if at < start + len(case.quote) and start < at + len(part):
            within.append(part)
        at += len(part)
    return within


def weight_of(shared: set[str]) -> int:
    """How much words that two texts share say: a number says more than a word."""
    return sum(3 if word[0].isdigit() else 1 for word in shared)


def parts_of(sentence: str) -> list[str]:
    """Coordinate parts of a sentence."""
    return _PART.split(sentence)


def telling(text: str) -> set[str]:
    """Stems of the words of a text that say something, and its numbers."""
    words = words_of(_POINT.sub("p", text))
    return {stem(w) for w in words if (len(w) > 2 or w[0].isdigit()) and w not in STOP}


_CLAUSE = re.compile(
    r";\s|:\s(?!\W*\d)|,\s(?!from\b)|\s[-–—]\s|\b(?:while|whereas|but|and|versus|vs\.?|against|compared|(?:than|over)(?!\s+[\d~]))\b|[.!?]\s|\||\n"
)


# What opens a sentence and is set off by a comma is no clause: "On kernels before 5.15, …".
_LED = re.compile(
    r"\W*(?:on|in|at|with|without|for|before|after|until|since|under|above|below|during)\b[^,]*$",
    re.IGNORECASE,
)


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


def swapped(claim: str, quote: str) -> bool:
    """Whether a claim compares the two things that its quote compares, in the other order."""
    mine, theirs = (re.split(r"\b(?:than|as)\b", text) for text in (claim, quote))
    ends = [all_words(text) for text in (mine[0], mine[-1], theirs[0], theirs[-1])]
    return len(mine) > 1 and len(theirs) > 1 and turned_round(*ends)[1]


def turned_round(
    left: set[str], right: set[str], first: set[str], second: set[str]
) -> tuple[bool, bool]:
    """Whether two things stand to each other in a claim as in its quote, and whether they have changed places."""
    one, other = first - second, second - first
    return bool(left & one and right & other), bool(left & other and right & one)


_POINT = re.compile(r"(?<=\d)\.(?=\d)")


def all_words(text: str) -> set[str]:
    """Words and digits of a text: `ISO 320`, `radix-8`."""
    return {stem(w) for w in words_of(_POINT.sub("p", text.replace(",", ""))) if w not in STOP}
