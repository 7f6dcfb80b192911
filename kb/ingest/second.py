"""The second reader: whoever sees each claim that no rule refuses beside its quote, and what stands above that, and nothing else.

Its readings are recorded like every reply, and asked for once. What cannot be read, or was passed over, lets nothing in.
"""

import sqlite3
from collections.abc import Callable

import msgspec

from kb import store
from kb.ingest import questions
from kb.ingest.admission import Rejection, RuledClaim
from kb.ingest.material import Excerpt
from kb.ingest.packets import Packet
from kb.ingest.queue import ReplyAttempt, answers_to, offer, packet_at, record
from kb.ingest.replies import SecondReadings, Unreadable, read_reply
from kb.ingest.settling import SecondReader, Settlement, settle
from kb.model import ModelError

# Answers the question at once, or (None) leaves it to whoever takes it from the queue.
Ask = Callable[[Packet], ReplyAttempt | None]


def second_reader(layout: store.Layout, ask: Ask) -> SecondReader:
    """A reader who is asked by `ask`; where that leaves the question open, or fails, the claims wait undecided."""

    def doubts(packet: Packet, ruled: tuple[RuledClaim, ...]) -> tuple[Rejection, ...]:
        question = _question(layout, packet, ruled)
        known = answers_to(layout, question.id)
        try:
            attempt = known.attempts[-1] if known and known.entered else ask(question)
        except ModelError:
            attempt = None  # The reply that it was to read is kept; the next run with --verify asks again.
        if attempt is None:
            waits = "waits for the second reader"
            return tuple(
                Rejection(r.claim.page, r.claim.claim, waits, undecided=True) for r in ruled
            )
        reasons = _doubts(attempt.text, ruled)
        unread = tuple(r.reason for r in reasons if not r.page)
        record(layout, question, msgspec.structs.replace(attempt, reasons=unread))
        return reasons

    return doubts


def waiting_reader(layout: store.Layout) -> SecondReader:
    """A reader who takes the question from the queue (`kb packet next --task verify`)."""

    def ask(question: Packet) -> None:
        offer(layout, [question])

    return second_reader(layout, ask)


def settle_answer(
    layout: store.Layout,
    db: sqlite3.Connection,
    packet: Packet,
    attempt: ReplyAttempt,
    *,
    today: str,
) -> Settlement:
    """Settle what came from the queue; readings of a second reader settle the packet whose claims they read."""
    second = waiting_reader(layout)
    if packet.task != "verify":
        chosen = second if packet.verify else None
        return settle(layout, db, packet, attempt, today=today, second=chosen)
    done = settle(layout, db, packet, attempt, today=today)
    read = answers_to(layout, packet.subject)
    if done.rejected or read is None:
        return done
    return settle(
        layout, db, packet_at(layout, read.packet), read.attempts[-1], today=today, second=second
    )


def _question(layout: store.Layout, packet: Packet, ruled: tuple[RuledClaim, ...]) -> Packet:
    texts = (
        f"{r.claim.quote}\n\nIt stands under: {r.about}" if r.about else r.claim.quote
        for r in ruled
    )
    shown = (
        Excerpt(f"claim {n}", r.claim.claim, r.claim.start, r.claim.end, text)
        for n, (r, text) in enumerate(zip(ruled, texts, strict=True), 1)
    )
    return questions.packet(layout, "verify", packet.id, shown)


def _doubts(text: str, ruled: tuple[RuledClaim, ...]) -> tuple[Rejection, ...]:
    """What the second reader does not find in the quotes; one reason without a page where its reply cannot be read."""
    try:
        readings = {r.number: r for r in read_reply(text, SecondReadings).readings}
    except Unreadable as error:
        return (Rejection("", "", f"the second reader: {error}"),)
    read = ((r.claim, readings.get(number)) for number, r in enumerate(ruled, 1))
    return tuple(
        Rejection(
            claim.page,
            claim.claim,
            f"the second reader: {reading.because or 'not in the quote' if reading else 'passed it over'}",
        )
        for claim, reading in read
        if reading is None or not reading.holds
    )
