"""What becomes of a reply: read, put before the gate, kept, and where it enters filed. The one way into the knowledge base for drafts.

A reply is kept before anything follows from it, and all that follows is made anew from what is kept: killed at any instant, the next
run files what entered and asks for nothing twice.
"""

import sqlite3
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from kb import store
from kb.claims import Claim, Quotable, claims_in, file_claims, is_withdrawn
from kb.ingest.admission import Admission, Rejection, admission_of, passages_of, wiki_of
from kb.ingest.filing import file_pages, pages_with
from kb.ingest.notes import file_notes, note_reasons
from kb.ingest.packets import Packet
from kb.ingest.queue import ReplyAttempt, record
from kb.ingest.records import file_record, record_reasons
from kb.ingest.replies import Drafts, IndexNotes, Unreadable, read_reply
from kb.ingest.tasks import task_named
from kb.packs import PackParts, strategy_reasons
from kb.source import PageRecord


@dataclass(frozen=True, slots=True)
class Settlement:
    """What came of one reply. `state` is answered, returned or review; `pages` were written."""

    packet: str
    state: str
    admitted: tuple[Claim, ...]
    rejected: tuple[Rejection, ...]
    pages: tuple[str, ...]


# Says of the claims that passed the gate which ones a second reader does not find in their quotes.
SecondReader = Callable[[Packet, tuple[Claim, ...]], tuple[Rejection, ...]]


def settle(
    layout: store.Layout,
    db: sqlite3.Connection,
    packet: Packet,
    attempt: ReplyAttempt,
    *,
    today: str,
    second: SecondReader | None = None,
) -> Settlement:
    """Rule on a reply, keep it, and file what enters. `db` are the tables as built; they say which pages there are."""
    admission = preview(layout, db, packet, attempt.text, second=second is not None)
    if (
        second
        and admission.claims
        and not admission.rejected
        and (doubts := second(packet, admission.claims))
    ):
        admission = Admission((), (), doubts)
    reasons = tuple(
        f"{r.claim or r.page}: {r.reason}" if r.claim or r.page else r.reason
        for r in admission.rejected
    )
    kept = ReplyAttempt(
        by=attempt.by,
        text=attempt.text,
        tokens_in=attempt.tokens_in,
        tokens_out=attempt.tokens_out,
        reasons=reasons,
    )
    answers = record(layout, packet, kept)
    pages = _file(layout, db, packet, attempt.text, admission, today=today)
    return Settlement(packet.id, answers.state, admission.claims, admission.rejected, pages)


def preview(
    layout: store.Layout,
    db: sqlite3.Connection,
    packet: Packet,
    text: str,
    *,
    second: bool = False,
    entered_before: bool = False,
) -> Admission:
    """What the gate would say of a reply, with a `second` reader behind it or without, or let in before; keeps and files nothing."""
    form = task_named(packet.task).form
    try:
        reply = read_reply(text, form)
    except Unreadable as error:
        return Admission((), (), (Rejection("", "", str(error)),))
    passages = passages_of(packet)
    if isinstance(reply, Drafts):
        return admission_of(
            reply.drafts,
            passages=passages,
            wiki=wiki_of(layout, db),
            packet=packet.id,
            second=second,
            entered_before=entered_before,
        )
    reasons = _reasons(reply, passages, index=packet.task)
    return Admission((), (), tuple(Rejection(packet.subject, "", r) for r in reasons))


def _reasons(reply: object, passages: tuple[Quotable, ...], *, index: str) -> list[str]:
    """Everything that keeps a reply out which drafts no page."""
    match reply:
        case PageRecord():
            return record_reasons(reply, passages)
        case IndexNotes():
            return note_reasons(reply, passages, index=index)
        case PackParts():
            return strategy_reasons(reply, passages)
    quotes = (reply.quote_first, reply.quote_second)
    missing = [q for q in quotes if not any(p.captured.find(q) for p in passages)]
    return [f"the quote “{q[:80]}” does not stand in the material" for q in missing]


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
    if admission.rejected and not admission.claims:
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
    changed: list[str] = []
    for packet, text in settled:
        admission = preview(layout, db, packet, text, entered_before=True)
        if not admission.rejected and not any(
            is_withdrawn(layout, c.source) for c in admission.claims
        ):
            changed += _file(layout, db, packet, text, admission, today=today)
    return tuple(dict.fromkeys(changed))
