"""What becomes of a reply: read, put before the gate, kept, and where it enters filed. The one way into the knowledge base for drafts.

A reply is kept before anything follows from it, and all that follows is made anew from what is kept: killed at any instant, the next
run files what entered and asks for nothing twice.
"""

import sqlite3
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

import msgspec

from kb import store
from kb.claims import Claim, Quotable, claims_in, file_claims, is_withdrawn
from kb.ingest.admission import (
    Admission,
    Rejection,
    RuledClaim,
    admission_of,
    passages_of,
    wiki_of,
)
from kb.ingest.filing import file_pages, pages_with
from kb.ingest.notes import file_notes, note_reasons
from kb.ingest.packets import Packet
from kb.ingest.queue import ReplyAttempt, answers_to, record
from kb.ingest.records import file_record, record_reasons
from kb.ingest.replies import Drafts, IndexNotes, Unreadable, read_reply
from kb.ingest.tasks import task_named
from kb.packs import PackParts, strategy_reasons
from kb.source import INDEXES, PageRecord


@dataclass(frozen=True, slots=True)
class Settlement:
    """What came of one reply. `state` is answered, returned, undecided or review; `pages` were written."""

    packet: str
    state: str
    admitted: tuple[Claim, ...]
    rejected: tuple[Rejection, ...]
    pages: tuple[str, ...]


# Says of the claims that no rule refuses which ones do not enter.
SecondReader = Callable[[Packet, tuple[RuledClaim, ...]], tuple[Rejection, ...]]


def settle(
    layout: store.Layout,
    db: sqlite3.Connection,
    packet: Packet,
    attempt: ReplyAttempt,
    *,
    today: str,
    second: SecondReader | None = None,
    decided: bool = False,
) -> Settlement:
    """Rule on a reply, keep it, and file what enters. `db` are the tables as built; they say which pages there are.

    A `second` reader has the last word on what rules do not refuse; without one their doubts have it, until a person has `decided`. What
    they doubt of an index's prose is asked once more before.
    """
    admission = ruling_of(layout, db, packet, attempt.text)
    unread = any(not (r.page or r.claim) for r in admission.rejected)
    if decided:
        certain = tuple(r for r in admission.rejected if not r.undecided)
        admission = replace(admission, rejected=certain)
    elif second and admission.ruled:
        admission = admission.without(second(packet, admission.ruled))
    else:
        admission = admission.without(admission.doubts)
    rejected = admission.rejected
    # What waits for a second reader is not returned before that has spoken; what only rules doubt is, beside what they refuse.
    again = packet.task not in INDEXES or answers_to(layout, packet.id) is not None
    open_ones = [r.undecided and again for r in rejected]
    kept = msgspec.structs.replace(
        attempt,
        reasons=tuple(": ".join(filter(None, (r.claim or r.page, r.reason))) for r in rejected),
        undecided=any(open_ones) if second else bool(open_ones) and all(open_ones),
        unread=unread,
    )
    answers = record(layout, packet, kept)
    pages = _file(layout, db, packet, attempt.text, admission, today=today)
    return Settlement(packet.id, answers.state, admission.claims, rejected, pages)


def ruling_of(
    layout: store.Layout,
    db: sqlite3.Connection,
    packet: Packet,
    text: str,
    *,
    entered_before: bool = False,
) -> Admission:
    """What rules say of a reply; keeps and files nothing. `entered_before`: it was let in once, and stays while its quotes stand."""
    try:
        reply = read_reply(text, task_named(packet.task).form)
    except Unreadable as error:
        return Admission(rejected=(Rejection("", "", str(error)),))
    if isinstance(reply, Drafts):
        wiki = wiki_of(layout, db)
        return admission_of(reply.drafts, packet, wiki, entered_before=entered_before)
    passages = passages_of(packet)
    reasons = [(r, False) for r in _missing_quotes(reply, passages)]
    if isinstance(reply, IndexNotes):
        objections = note_reasons(reply, passages, index=packet.task)
        reasons += (r for r in objections if not (entered_before and r[1]))
    reasons += ((r, False) for r in _reasons(reply, passages))
    return Admission(rejected=tuple(Rejection(packet.subject, "", *r) for r in reasons))


def _reasons(reply: object, passages: tuple[Quotable, ...]) -> Iterable[str]:
    """What else keeps a reply out which drafts no page."""
    match reply:
        case PageRecord():
            return record_reasons(reply)
        case PackParts():
            return strategy_reasons(reply, passages)
    return ()


def _missing_quotes(reply: object, passages: tuple[Quotable, ...]) -> Iterator[str]:
    """Quotes of a reply, wherever in it they are, that do not stand in the material."""
    for quote in dict.fromkeys(_quotes_in(msgspec.to_builtins(reply))):
        if not any(p.captured.find(quote) for p in passages):
            yield f"the quote “{quote[:80]}” does not stand in the material"


def _quotes_in(value: object) -> Iterator[str]:
    match value:
        case dict():
            for name, part in value.items():
                quoted = "quote" in name and isinstance(part, str)
                yield from filter(None, [part]) if quoted else _quotes_in(part)
        case list() | tuple():
            for part in value:
                yield from _quotes_in(part)


def _file(
    layout: store.Layout,
    db: sqlite3.Connection,
    packet: Packet,
    text: str,
    admission: Admission,
    *,
    today: str,
) -> tuple[str, ...]:
    """What follows from a reply that entered. Filing the same again changes nothing."""
    if admission.rejected and not admission.ruled:
        return ()
    reply = read_reply(text, task_named(packet.task).form)
    if isinstance(reply, PageRecord):
        return (file_record(layout, packet.subject, reply),)
    if isinstance(reply, IndexNotes):
        return (file_notes(layout, packet, reply),)
    if not isinstance(reply, Drafts):
        return ()
    with store.lock(layout, "claims"):
        file_claims(layout, admission.claims)
        pages = pages_with(
            layout,
            claims_in(layout),
            [d.path for d in admission.drafts],
            drafts=admission.drafts,
            titles=wiki_of(layout, db).titles,
            today=today,
        )
        return file_pages(layout, pages)


def refile(
    layout: store.Layout,
    db: sqlite3.Connection,
    settled: Iterable[tuple[Packet, str]],
    *,
    today: str,
) -> tuple[str, ...]:
    """File replies that are kept as entered, as their first filing may have been cut short, but none of a source whose claims
    were withdrawn. Returns the pages that this changed."""
    changed = list[str]()
    for packet, text in settled:
        admission = ruling_of(layout, db, packet, text, entered_before=True)
        if not admission.rejected and not any(
            is_withdrawn(layout, c.source) for c in admission.claims
        ):
            changed += _file(layout, db, packet, text, admission, today=today)
    return tuple(dict.fromkeys(changed))
