"""Pages in fields: what one says of levers, metrics, verdict, lesson and attempts, each with its quote, as somebody read it; and what
somebody who read a proposal beside what failed says of the two.

A record stands in `sources/records/<page path>.json` and takes the place of what patterns make of the bytes that it was read from; of a page
that changed since it says what its quotes still say (`standing`). What a page itself declares goes before it. A reading stands in
`sources/readings/<digest of its claim and levers>.json`, and says nothing of cards that its reader was not shown, or that changed since.
"""

from typing import TYPE_CHECKING

import msgspec

from kb import KbError
from kb.source.record_files import READINGS, path_of_record
from kb.store import Layout, digest_of, from_json, read_bytes, remove, to_json, write

if TYPE_CHECKING:
    from kb.source.quotation import Quotes


class QuotedLever(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A lever of an experiment. `role` is moved, held or mentioned; `before` and `after` are its values, empty where none is given."""

    name: str
    role: str
    quote: str
    before: str = ""
    after: str = ""


class QuotedMetric(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    name: str
    value: float
    unit: str
    quote: str


class QuotedText(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    text: str
    quote: str


class QuotedAttempt(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One thing that a page tells was tried (`what`), beside the run that it may be about. `outcome` is a verdict, `quote` says it."""

    what: str
    outcome: str
    quote: str
    because: str = ""


class PageRecord(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What one page says, each part with its quote. `verdict` is one of the vocabulary, or empty where the page is about no single run,
    or says none; `what` says in a few words what that run tried.
    """

    what: str = ""
    verdict: str = ""
    verdict_quote: str = ""
    levers: tuple[QuotedLever, ...] = ()
    metrics: tuple[QuotedMetric, ...] = ()
    because: QuotedText | None = None
    next: tuple[QuotedText, ...] = ()
    attempts: tuple[QuotedAttempt, ...] = ()


class FiledRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A record and the digest of the page that it was read from."""

    page: str
    digest: str
    record: PageRecord


class StandingRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A record without the parts whose quotes stand on its page no more; `gone` are these quotes. `whole`: it was read from these very
    bytes, all of it stands, and so it takes the place of what rules read.
    """

    record: PageRecord
    quotes: "Quotes"
    gone: tuple[str, ...]
    whole: bool


class CardReading(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How a proposal stands to what a page tells failed: `same` or `other` (the same lever at another value, way or place). `quote` are
    words of the page, `proposal_quote` those of the proposal that mean it.
    """

    page: str
    relation: str
    quote: str
    proposal_quote: str
    because: str


class ProposalReading(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The pages that a proposal repeats or comes near to; of the others that were shown it does neither."""

    pages: tuple[CardReading, ...]


class FiledReading(msgspec.Struct, frozen=True, kw_only=True):
    """What was read of each card that was shown beside a proposal, by the digest of the card; None where it is neither the same nor near."""

    proposal: str
    cards: dict[str, CardReading | None]


def path_of_reading(wording: str) -> str:
    """Path of the reading of a proposal, by the digest of its wording, relative to the root."""
    return f"sources/{READINGS}/{wording}.json"


def reading_of(layout: Layout, wording: str) -> FiledReading | None:
    """What was read of a proposal; None where nothing was."""
    return on_file(layout, path_of_reading(wording), FiledReading)


def file_reading(
    layout: Layout, wording: str, *, proposal: str, cards: dict[str, CardReading | None]
) -> str:
    """Put a reading on file, beside what was read of other cards before. Returns its path."""
    held = reading_of(layout, wording)
    cards = (held.cards if held else {}) | cards
    filed = FiledReading(proposal=proposal, cards=dict(sorted(cards.items())))
    path = path_of_reading(wording)
    write(layout.at(path), to_json(filed, order=None))
    return path


def filed_record(layout: Layout, page: str) -> FiledRecord | None:
    """The record of a page; None where there is none, or where the file is none: normalising the page makes it anew."""
    return on_file(layout, path_of_record(page), FiledRecord)


def record_of(layout: Layout, page: str, digest: str) -> PageRecord | None:
    """The record of a page that was read from these bytes."""
    filed = filed_record(layout, page)
    return filed.record if filed and filed.digest == digest else None


def readdress_record(layout: Layout, old: str, *, new: str, data: bytes) -> None:
    """File the record of the page at `old` as that of these bytes at `new`: the same page with links that kb mended."""
    filed = filed_record(layout, old)
    if filed and filed.digest == digest_of(read_bytes(layout, old)):
        filed = msgspec.structs.replace(filed, page=new, digest=digest_of(data))
        write(layout.at(path_of_record(new)), to_json(filed, order=None))
        if old != new:
            remove(layout.at(path_of_record(old)))


def on_file(layout: Layout, path: str, kind: type[msgspec.Struct]) -> msgspec.Struct | None:
    """What a file of JSON below `sources/` holds; None where there is none, or where it holds something else."""
    try:
        return from_json(read_bytes(layout, path), kind)
    except (KbError, OSError, ValueError):
        return None
