"""What becomes of a reply: read, put before the gate, kept, and where it enters filed. The one way into the knowledge base for drafts.

A reply is kept before anything follows from it, and all that follows is made anew from what is kept: killed at any instant, the next
run files what entered and asks for nothing twice. A second reader sees each claim that no rule refuses, its quote marked in its place, and
what stands above that, and nothing else; it is asked by a packet of its own, and what it leaves unread lets nothing in.
"""

import sqlite3
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import chain

import msgspec

from kb import KbError, page, store
from kb.claims import Claim, Quotable, claims_in, file_claims, is_withdrawn, reorder
from kb.claims.sense import order_in
from kb.ingest import proposals, questions
from kb.ingest.admission import (
    Admission,
    Rejection,
    RuledClaim,
    admission_of,
    passages_of,
    wiki_of,
)
from kb.ingest.filing import file_pages, pages_with
from kb.ingest.material import Excerpt
from kb.ingest.packets import Packet
from kb.ingest.questions import file_notes, note_reasons
from kb.ingest.queue import ReplyAttempt, answers_to, offer, packet_at, record
from kb.ingest.tasks import Drafts, IndexNotes, SecondReadings, Unreadable, form_of, read_reply
from kb.packs import PackParts, strategy_reasons
from kb.refuted import statements_of
from kb.refuted.compile import ASKING
from kb.refuted.statement import Statement
from kb.schema import Verdict, outcome_verdict
from kb.source import (
    INDEXES,
    FiledRecord,
    PageRecord,
    ProposalReading,
    QuotedLever,
    QuotedMetric,
    path_of_record,
    source_at,
)
from kb.text import counted, cut, fold, numbers_in, unit_of

ROLES = ("moved", "held", "mentioned")
# So much of the beginning of a source is shown to a second reader: its title, who wrote it, when.
_OPENING = 300
# No sentence of a reader's own is longer; under these names stand quotes.
_LONGEST_OWN = 400
_QUOTES = ("quote", "verdict_quote", "proposal_quote", "quote_first", "quote_second")


def record_reasons(record: PageRecord) -> Iterator[str]:
    """Everything that keeps a record out: a value that its quote does not give, a word outside the vocabulary."""
    if record.verdict and record.verdict not in set(Verdict):
        yield f"'{record.verdict}' is no verdict; one of {', '.join(Verdict)}"
    elif record.verdict and not record.verdict_quote:
        yield "a verdict needs its quote"
    elif record.verdict:
        # What a whole sentence names ("without a crash") may be about anything.
        read = outcome_verdict(record.verdict_quote)
        if read not in (None, Verdict.OTHER, record.verdict):
            quoted = record.verdict_quote[:60]
            yield f"the page says “{quoted}”, which is {read}, not {record.verdict}"
    for lever in record.levers:
        yield from (f"lever {lever.name}: {reason}" for reason in _lever_reasons(lever))
    for metric in record.metrics:
        if reason := _metric_reason(metric):
            yield f"metric {metric.name}: {reason}"
    for attempt in record.attempts:
        if attempt.outcome not in set(Verdict):
            yield f"attempt {attempt.what}: '{attempt.outcome}' is no outcome; one of {', '.join(Verdict)}"
        elif not attempt.what.strip() or not attempt.quote:
            yield f"attempt {attempt.what or '?'}: say what was tried, and quote how it came out"


def _lever_reasons(lever: QuotedLever) -> Iterator[str]:
    if lever.role not in ROLES:
        yield f"'{lever.role}' is no role; one of {', '.join(ROLES)}"
    for part in (lever.name, lever.before, lever.after):
        if _flat(part) not in _flat(lever.quote):
            yield f"“{part}” does not stand in its quote"


def _flat(text: str) -> str:
    """Letters and digits alone: `block_k`, `block-k` and `BlockK` are one name."""
    return "".join(c for c in fold(text) if c.isalnum())


def _metric_reason(metric: QuotedMetric) -> str:
    # k and M before no unit are multiplied into a number; the record may keep them for its unit.
    stated = f"{metric.value:g}{metric.unit}"
    numbers = numbers_in(metric.quote)
    number = next(
        (n for n in numbers if n.value == metric.value or metric.quote[n.start : n.end] == stated),
        None,
    )
    if number is None:
        return f"{metric.value:g} does not stand in its quote"
    theirs, mine = unit_of(number.unit), unit_of(metric.unit)
    same = theirs and mine and theirs.name == mine.name
    if not number.unit or not metric.unit or number.unit == metric.unit or same:
        return ""
    return f"its quote gives {number.value:g} with {number.unit}"


def file_record(layout: store.Layout, page: str, record: PageRecord) -> str:
    """Put a record on file. Returns its path. Raises KbError where the page is gone."""
    file = layout.root / page
    if not layout.is_page(page) or not file.is_file():
        raise KbError(f"{page}: no page to keep a record of")
    filed = FiledRecord(page=page, digest=store.file_digest(file), record=record)
    path = path_of_record(page)
    store.write(layout.root / path, store.to_json(filed, order=None))
    return path


@dataclass(frozen=True, slots=True)
class Settlement:
    """What came of one reply. `state` is answered, returned, undecided or review; `pages` were written."""

    packet: str
    state: str
    admitted: tuple[Claim, ...]
    rejected: tuple[Rejection, ...]
    pages: tuple[str, ...]


def settle(
    layout: store.Layout,
    db: sqlite3.Connection,
    packet: Packet,
    attempt: ReplyAttempt,
    *,
    today: str,
    verify: bool = False,
    decided: bool = False,
) -> Settlement:
    """Rule on a reply, keep it, and file what enters. `db` are the tables as built; they say which pages there are.

    Where it is to `verify`, a second reader has the last word on what rules do not refuse, and all of it waits for that; else their doubts
    have it, until a person has `decided`. What they doubt of an index's prose is asked once more before.
    """
    admission = ruling_of(layout, db, packet, attempt.text)
    unread = any(not (r.page or r.claim) for r in admission.rejected)
    if decided:
        certain = tuple(r for r in admission.rejected if not r.undecided)
        admission = replace(admission, rejected=certain)
    elif verify and admission.ruled:
        admission = admission.without(_second_reading(layout, packet, admission.ruled))
    else:
        admission = admission.without(admission.doubts)
    rejected = admission.rejected
    # What waits for a second reader is not returned before that has spoken; what only rules doubt is, beside what they refuse.
    again = packet.task not in INDEXES or answers_to(layout, packet.id) is not None
    open_ones = [r.undecided and again for r in rejected]
    kept = msgspec.structs.replace(
        attempt,
        reasons=tuple(": ".join(filter(None, (r.claim or r.page, r.reason))) for r in rejected),
        undecided=any(open_ones) if verify else bool(open_ones) and all(open_ones),
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
        reply = read_reply(text, form_of(packet.task))
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
            return chain(record_reasons(reply), _ill_worded(reply), _passed_over(reply, *passages))
        case PackParts():
            return strategy_reasons(reply, passages)
        case ProposalReading():
            return chain(proposals.misread(reply, passages), _ill_worded(reply))
        case SecondReadings():
            return _unread(reply, passages)
    return ()


def _ill_worded(reply: PageRecord | ProposalReading) -> Iterator[str]:
    """What a reader says in words of his own and no index could show: longer than a sentence, or an order to whoever reads that."""
    own = ("what", "because", "text", "name")
    for text in dict.fromkeys(_strings_in(msgspec.to_builtins(reply), own)):
        if len(text) > _LONGEST_OWN:
            yield f"“{text[:80]}…”: say it in a sentence, of {_LONGEST_OWN} characters at most"
        elif order := order_in(text):
            yield order


def _passed_over(record: PageRecord, whole: Quotable) -> Iterator[str]:
    """The first failure that rules read on a page, where its reader names nothing: it would be gone with all others."""
    if record.what.strip() or record.verdict or record.attempts:
        return
    text = whole.captured.text
    row = statements_of(page.read(whole.origin, text.encode()), text, facts=None)
    listed = store.value_of(row, list[Statement]) if row else ()
    if failed := [s for s in listed if s.kind not in ASKING]:
        yield f"rules read {counted(len(failed), 'failures')} on this page, the first on line {failed[0].line}: “{cut(failed[0].text, 120)}”; name it among the `attempts`, or say in `what` what the page is, if it tells of no try"


def _unread(reply: SecondReadings, passages: tuple[Quotable, ...]) -> Iterator[str]:
    """Claims that a second reader passes over, reads twice, or denies without a word that their writer could act on."""
    for name in (p.origin for p in passages if p.origin.startswith("claim ")):
        read = [r.holds or r.because.strip() for r in reply.readings if f"claim {r.number}" == name]
        if len(read) != 1 or not all(read):
            yield f"{name}: say once whether it holds, and where it does not, because of what"


def _missing_quotes(reply: object, passages: tuple[Quotable, ...]) -> Iterator[str]:
    """Quotes of a reply, wherever in it they are, that do not stand in the material."""
    for quote in dict.fromkeys(_strings_in(msgspec.to_builtins(reply), _QUOTES)):
        if not any(p.captured.find(quote) for p in passages):
            yield f"the quote “{quote[:80]}” does not stand in the material"


def _strings_in(value: object, names: Collection[str]) -> Iterator[str]:
    """Every text that stands in a reply, wherever, under one of these names."""
    match value:
        case dict():
            for name, part in value.items():
                wanted = name in names and isinstance(part, str)
                yield from filter(None, [part]) if wanted else _strings_in(part, names)
        case list() | tuple():
            for part in value:
                yield from _strings_in(part, names)


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
    reply = read_reply(text, form_of(packet.task))
    if isinstance(reply, PageRecord):
        return (file_record(layout, packet.subject, reply),)
    if isinstance(reply, IndexNotes):
        return (file_notes(layout, packet, reply),)
    if isinstance(reply, ProposalReading):
        return (proposals.file_read(db, layout, packet, reply),)
    if not isinstance(reply, Drafts):
        return ()
    with store.lock(layout, "claims"):
        file_claims(layout, admission.claims)
        if packet.task == "concept" and admission.claims:
            reorder(layout, packet.subject, admission.claims)
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


def settle_answer(
    layout: store.Layout,
    db: sqlite3.Connection,
    packet: Packet,
    attempt: ReplyAttempt,
    *,
    today: str,
) -> Settlement:
    """Settle what came from the queue; readings of a second reader settle the packet whose claims they read."""
    done = settle(layout, db, packet, attempt, today=today, verify=packet.verify)
    read = answers_to(layout, packet.subject) if packet.task == "verify" else None
    if done.rejected or read is None or read.entered:
        return done
    of = packet_at(layout, read.packet)
    return settle(layout, db, of, read.attempts[-1], today=today, verify=True)


def _second_reading(
    layout: store.Layout, packet: Packet, ruled: tuple[RuledClaim, ...]
) -> tuple[Rejection, ...]:
    """What the second reader does not find in the quotes; all of it where that was not read yet: the question goes on the queue."""
    question = _question(layout, packet, ruled)
    known = answers_to(layout, question.id)
    if known is None or not known.entered:
        offer(layout, [replace(packet, verify=True), question])
        waits = "waits for the second reader"
        return tuple(Rejection(r.claim.page, r.claim.claim, waits, undecided=True) for r in ruled)
    readings = read_reply(known.attempts[-1].text, SecondReadings).readings
    because = {r.number: r.because for r in readings if not r.holds}
    return tuple(
        Rejection(r.claim.page, r.claim.claim, f"the second reader: {because[number]}")
        for number, r in enumerate(ruled, 1)
        if number in because
    )


def _question(layout: store.Layout, packet: Packet, ruled: tuple[RuledClaim, ...]) -> Packet:
    openings = {m.origin: _opening(layout, m) for m in reversed(packet.material)}
    claims = (
        Excerpt(
            f"claim {n}",
            r.claim.source,
            r.claim.start,
            r.claim.end,
            f"Claim: {r.claim.claim}\n\nIts quote stands {r.place}",
        )
        for n, r in enumerate(ruled, 1)
    )
    shown = (openings[origin] for origin in sorted({r.claim.source for r in ruled}))
    return questions.packet(layout, "verify", packet.id, (*shown, *claims))


def _opening(layout: store.Layout, material: Excerpt) -> Excerpt:
    """What names the source of a material: its title, its authors where they are known, and the beginning of its text where it is there."""
    parts = [material.title]
    with suppress(KbError):
        parts.append(source_at(layout, material.origin.removeprefix("sources/")).authors)
    text = material.text[:_OPENING] if material.start == 0 else ""
    head = "\n".join([*filter(None, parts), "", text]).rstrip()
    return replace(material, title="the source", end=material.start + len(text), text=head)
