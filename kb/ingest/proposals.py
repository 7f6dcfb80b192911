"""A proposal beside what failed: the packet that lays them side by side, what keeps a reading of it out, and its filing.

Refuses to call anything the same: who reads says so, with the words of both.
"""

import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator

from kb import grouped, store
from kb.claims import Captured, Quotable
from kb.ingest.admission import passages_of
from kb.ingest.material import CHARS_PER_TOKEN, Excerpt
from kb.ingest.packets import Packet
from kb.ingest.questions import packet
from kb.refuted.card import Card, cards_at
from kb.refuted.gate import Gate, Proposal, wording_of
from kb.refuted.intent import aim_of_proposal
from kb.source import ProposalReading, file_reading
from kb.text import cut, one_line

# How a proposal stands to what failed: the same, or the same lever otherwise.
RELATIONS = ("same", "other")
# What names, in a packet, the proposal and the failures of one line each; and what parts page and line there.
PROPOSAL, OTHERS, LEADS_TO = "the proposal", "further failures", ": "


def repeat_packets(
    layout: store.Layout, db: sqlite3.Connection, name: str, proposal: Proposal, *, context: int
) -> Iterator[Packet]:
    """One packet that lays what failed beside a proposal: the nearest in full, a line for each other of its target while they fit; none
    where all of that was read before.
    """
    near, others = Gate(db, layout).unread(proposal)
    material = [Excerpt(PROPOSAL, name, 0, len(proposal.text), proposal.text)]
    for path, cards in grouped((c.evidence, c) for c in near).items():
        shown = "\n\n".join(map(_card_text, cards))
        material.append(Excerpt(path, cards[0].target, 0, len(shown), shown))
    left = int(context * CHARS_PER_TOKEN) - sum(len(m.text) for m in material)
    lines = list[str]()
    for card in reversed(others):  # What failed last is what is tried again.
        line = f"{card.evidence}{LEADS_TO}{_line(card)}"
        left -= len(line)
        lines += [line] if left > 0 else []
    if text := "\n".join(lines):
        material.append(Excerpt(OTHERS, "a page and what it tried, a line", 0, len(text), text))
    if len(material) > 1:
        yield packet(layout, "repeat", name, material)


def _matter(card: Card) -> str:
    """What was tried, by its title and in its words."""
    title = card.title.rstrip("…")
    if card.claim in title or card.claim.startswith(title):
        return max(card.title, card.claim, key=len)
    return f"{card.title}\n{card.claim}"


def _line(card: Card) -> str:
    return one_line(cut(_matter(card), 200))


def _shows(text: str, card: Card) -> bool:
    """Whether what a packet lays beside a proposal holds a card, in full or on a line."""
    return _card_text(card) in text or _line(card) in text


def _card_text(card: Card) -> str:
    levers = ", ".join(f"{v.name}={v.value}" if v.value else v.name for v in card.levers)
    parts = (card.verdict, card.delta, card.because * (card.because not in card.claim))
    came_out = ". ".join(part.rstrip(".") for part in parts if part)
    labelled = (f"{k}: {v}" for k, v in (("Levers", levers), ("Came out", came_out)) if v)
    return "\n".join([_matter(card), *labelled])


def pages_shown(passages: Iterable[Quotable]) -> dict[str, Quotable]:
    """The pages that a packet lays beside a proposal, with what it shows of each."""
    shown = dict[str, Quotable]()
    for passage in passages:
        if passage.origin == OTHERS:
            pages = grouped(line.split(LEADS_TO, 1) for line in passage.captured.text.split("\n"))
            for page, lines in pages.items():
                known = shown[page].captured.text if page in shown else ""
                shown[page] = Quotable(page, Captured("\n".join([known, *lines])), 0)
        elif passage.origin != PROPOSAL:
            shown[passage.origin] = passage
    return shown


def misread(reply: ProposalReading, passages: tuple[Quotable, ...]) -> Iterator[str]:
    """Pages that were not shown, or are named twice; relations that are none; quotes from elsewhere."""
    shown = pages_shown(passages)
    proposal = next(p for p in passages if p.origin == PROPOSAL)
    named = Counter(r.page for r in reply.pages)
    for read in reply.pages:
        if read.page not in shown or named[read.page] > 1:
            yield f"{read.page}: name each page once, by the path that stands over its material or begins its line"
        elif read.relation not in RELATIONS:
            yield f"{read.page}: '{read.relation}' is no relation; one of {', '.join(RELATIONS)}; leave out what has none"
        elif not read.quote or not shown[read.page].captured.find(read.quote):
            yield f"{read.page}: `quote` are words that the material shows of this page"
        elif not read.proposal_quote or not proposal.captured.find(read.proposal_quote):
            yield f"{read.page}: `proposal_quote` are words of the proposal"
        elif not read.because.strip():
            yield f"{read.page}: say in `because` why the two are the same, or what differs"


def file_read(
    db: sqlite3.Connection, layout: store.Layout, packet_read: Packet, reading: ProposalReading
) -> str:
    """Put a reading on file, with the cards that its packet showed. Returns its path."""
    text, pages = packet_read.material[0].text, pages_shown(passages_of(packet_read))
    readings = {r.page: r for r in reading.pages}
    cards = {
        card.matter: readings.get(card.evidence)
        for card in cards_at(db, pages)
        if _shows(pages[card.evidence].captured.text, card)
    }
    wording = wording_of(aim_of_proposal(text), text)
    return file_reading(layout, wording, proposal=text, cards=cards)
