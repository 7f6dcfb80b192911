"""Pages in fields: what one says of levers, metrics, verdict, lesson and attempts, each with its quote, as somebody read it.

A record stands in `sources/records/<page path>.json` and holds for the bytes that it was read from: a page that changed since has none.
What a page itself declares goes before it, and it goes before what patterns make of the text.
"""

import msgspec

from kb import KbError
from kb.source.record_files import path_of_record
from kb.store import Layout, digest_of, from_json, read_bytes, remove, to_json, write


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


def record_of(layout: Layout, page: str, digest: str) -> PageRecord | None:
    """The record of a page with these bytes; None where there is none, or where the file is none: normalising the page makes it anew."""
    filed = on_file(layout, path_of_record(page), FiledRecord)
    return filed.record if filed and filed.digest == digest else None


def readdress_record(layout: Layout, old: str, *, new: str, data: bytes) -> None:
    """File the record of the page at `old` as that of these bytes at `new`: the same page with links that kb mended."""
    filed = on_file(layout, path_of_record(old), FiledRecord)
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
