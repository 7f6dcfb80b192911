"""A claim beside its quote and what stands around that in the source: what every check of the gate looks at."""

import re
from dataclasses import dataclass

from kb.text import STOP, stem, words_of


@dataclass(frozen=True, slots=True)
class ClaimCase:
    """A claim with its quote, the text that the quote was found in, and what stands around it there.

    `sentence` is the sentence of the source that holds the quote, `before` what that may refer to and `after` what refers to it, `block` its paragraph, `heading` the headings above it, `columns` the cells
    of a quoted table row with the headers above them and the label of the row, `known` the stems of words that the source writes in small letters.
    """

    claim: str
    quote: str
    sentence: str
    before: str
    after: str
    block: str
    heading: str
    columns: tuple[tuple[str, str, str], ...]
    known: frozenset[str]

    @property
    def about(self) -> str:
        """What the quote is about though it does not say so: the heading above it, and the headers of its columns."""
        return " · ".join([self.heading, *(header for _, header, _ in self.columns)])


_PART = re.compile(r"(?<=[.!?;:])\s+|\n\s*\n|,\s+(?=(?:but|while|whereas|yet|and|so)\b)|\s[–—]\s")
# Finer: a word such as "might" speaks of the clause between two commas.
CLAUSES = re.compile(_PART.pattern + r"|,\s+")
_BRACKETS = re.compile(r"\([^()]*\)")


def meant(case: ClaimCase, between: re.Pattern[str] = _PART) -> str:
    """Those parts of the sentence around the quote that the claim speaks of: that share most words and numbers with it."""
    wanted = telling(case.claim)
    sentence = _BRACKETS.sub(
        lambda m: m[0] if len(wanted & telling(m[0])) >= 2 else " ", case.sentence
    )
    parts = [(len(wanted & telling(part)), part) for part in between.split(sentence)]
    most = max(parts)[0]
    return " ".join(part for shared, part in parts if shared == most) if most else case.quote


def telling(text: str) -> set[str]:
    return {stem(w) for w in words_of(text) if (len(w) > 2 or w.isdigit()) and w not in STOP}
