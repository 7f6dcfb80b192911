"""A verdict that takes a filed page's place: `> 2026-05-01 supersedes verdict: supported, because … (receipt …)` below the sealed text.

The receipt binds day, verdict and reason to the seal of the page, so that a note which `kb experiment close` did not write is known.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from kb.store import digest_of

_NOTE = re.compile(
    r"^> (\d{4}-\d{2}-\d{2}) supersedes verdict:(?: ([a-z]+), because (.+?) \(evidence (\S+), receipt kb1-note-([0-9a-f]{16})\)[ \t]*|.*)$",
    re.MULTILINE,
)


@dataclass(frozen=True, slots=True)
class Superseding:
    """A later verdict of a filed page. `evidence` is the receipt of the measurement that it rests on."""

    date: str
    verdict: str
    because: str
    evidence: str

    @property
    def lesson(self) -> tuple[str, str]:
        """Why, and what would open the claim again, which stands last."""
        why, _, reopen_if = f"; {self.because}".partition("; reopen if ")
        return why.removeprefix("; "), reopen_if


def to_note(note: Superseding, *, seal: str) -> str:
    """The line below a page with this seal."""
    return (
        f"> {note.date} supersedes verdict: {note.verdict}, because {note.because} "
        f"(evidence {note.evidence}, receipt kb1-note-{_receipt(note, seal)})"
    )


def superseding(text: str, *, seal: str) -> tuple[Superseding, ...]:
    """Later verdicts of a page with this seal, in order; notes without a receipt of their own are only remarks."""
    return tuple(note for _, note in _notes(text, seal) if note)


def unreceipted(text: str, *, seal: str) -> tuple[int, ...]:
    """Lines that read as such a note and are not `close`'s: their receipt is missing, another's, or that of an earlier line."""
    return tuple(line for line, note in _notes(text, seal) if not note)


def _notes(text: str, seal: str) -> Iterator[tuple[int, Superseding | None]]:
    known = set[str]()
    for m in _NOTE.finditer(text) if seal else ():
        note = Superseding(m[1], m[2], m[3], m[4]) if m[5] else None
        own = note and m[5] == _receipt(note, seal) and m[5] not in known
        known.add(m[5])
        yield text.count("\n", 0, m.start()) + 1, note if own else None


def _receipt(note: Superseding, seal: str) -> str:
    return digest_of("\n".join((seal, note.date, note.verdict, note.because, note.evidence)))
