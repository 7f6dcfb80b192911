"""A claim beside its quote and what stands around that in the source: what every check of the gate looks at."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Case:
    """A claim with its quote, the text that the quote was found in, and what stands around it there.

    `sentence` is the sentence of the source that holds the quote, `heading` the heading above it, `columns` the cells of a quoted table row
    with the headers above them, `known` the stems of words that the source writes in small letters.
    """

    claim: str
    quote: str
    sentence: str
    heading: str
    columns: tuple[tuple[str, str], ...]
    known: frozenset[str]

    @property
    def about(self) -> str:
        """What the quote is about though it does not say so: the heading above it, and the headers of its columns."""
        return " · ".join([self.heading, *(header for _, header in self.columns)])
