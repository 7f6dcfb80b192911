"""Drafts before the gate: what of each page enters, what is returned with the reason for every claim, and what a second reader decides.

Refuses to write: what is admitted is filed by `filing`.
"""

import posixpath
import re
from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from kb import store
from kb.claims import Captured, Claim, ClaimRuling, Quotable, ruling_on
from kb.claims.figures import numbers_of
from kb.ingest.packets import Packet
from kb.ingest.tasks import Draft, DraftClaim
from kb.schema import TYPES, folders_of, type_of
from kb.text import one_line, stem, unit_of, words_of

# Pages that a model may write: what was measured is the loop's own to say, what is compiled is code's.
WRITABLE = ("concept", "observation", "hypothesis", "codebase", "source", "analysis")
_SLUG = re.compile(r"[a-z0-9][a-z0-9._-]{0,80}\.md")
_TITLE = re.compile(r"[^\x00-\x1f<>\[\]|`]{2,120}")
_HEADING = re.compile(r"[^\x00-\x1f<>\[\]|`#]{2,80}")


@dataclass(frozen=True, slots=True)
class Rejection:
    """One claim (or the page itself, where `claim` is empty) that does not enter, and why; `undecided` where a second reader may tell."""

    page: str
    claim: str
    reason: str
    undecided: bool = False


@dataclass(frozen=True, slots=True)
class RuledClaim:
    """A claim that no rule refuses: what stands above its quote and around it, and the doubt that rules leave, or nothing."""

    claim: Claim
    place: str
    doubt: str


@dataclass(frozen=True, slots=True)
class Admission:
    """What the gate refuses of one reply, and the pages with their claims on which it refuses nothing."""

    drafts: tuple[Draft, ...] = ()
    ruled: tuple[RuledClaim, ...] = ()
    rejected: tuple[Rejection, ...] = ()

    @property
    def claims(self) -> tuple[Claim, ...]:
        return tuple(r.claim for r in self.ruled)

    @property
    def doubts(self) -> tuple[Rejection, ...]:
        """What stays out where nobody but rules decides."""
        return tuple(
            Rejection(r.claim.page, r.claim.claim, r.doubt, undecided=True)
            for r in self.ruled
            if r.doubt
        )

    def without(self, doubts: Iterable[Rejection]) -> "Admission":
        """Less the pages on which something is doubted, all of them by a doubt without a page: a page enters whole or not at all."""
        doubts = tuple(doubts)
        out = {d.page for d in doubts}
        if "" in out:
            out |= {d.path for d in self.drafts}
        certain = {d.page for d in doubts if not d.undecided}
        named = {(d.page, d.claim) for d in doubts}
        held = (
            Rejection(
                r.claim.page,
                r.claim.claim,
                r.doubt or "stands, but its page is returned whole",
                undecided=r.claim.page not in certain,
            )
            for r in self.ruled
            if r.claim.page in out and (r.claim.page, r.claim.claim) not in named
        )
        return Admission(
            tuple(d for d in self.drafts if d.path not in out),
            tuple(r for r in self.ruled if r.claim.page not in out),
            (*self.rejected, *doubts, *held),
        )


@dataclass(frozen=True, slots=True)
class Wiki:
    """What the gate must know of the wiki: its pages by path, with their titles and types, and the folder that they stand in, empty or with a slash."""

    titles: dict[str, str]
    types: dict[str, str]
    home: str = "wiki/"


def wiki_of(layout: store.Layout, db) -> Wiki:
    """Titles and types of the pages as built."""
    rows = db.execute("select path, title, type from standing").fetchall()
    titles, types = ({row[0]: row[n] for row in rows} for n in (1, 2))
    return Wiki(titles, types, layout.page(""))


def passages_of(packet: Packet) -> tuple[Quotable, ...]:
    """What a reply to a packet may quote: its material, and nothing else."""
    return tuple(Quotable(m.origin, Captured(m.text), m.start) for m in packet.material)


def admission_of(
    drafts: Collection[Draft], packet: Packet, wiki: Wiki, *, entered_before: bool = False
) -> Admission:
    """Admission of the drafts of one reply. A draft with one claim that is refused is returned whole, its good claims with it.

    `entered_before` says that the reply was let in once: what the gate has learnt since does not put out a claim whose quote stands.
    """
    passages = passages_of(packet)
    planned = Counter(d.path for d in drafts)
    ruled = list[RuledClaim]()
    refused = list[Rejection]()
    for draft in drafts:
        refused += (Rejection(draft.path, "", reason) for reason in _page_reasons(draft, wiki))
        if planned[draft.path] > 1:
            twice = f"{draft.path} stands {planned[draft.path]} times in the reply; put its claims into one draft"
            refused.append(Rejection(draft.path, "", twice))
        for item in draft.claims:
            ruling = ruling_on(item.claim, item.quote, origin=item.source, passages=passages)
            passes = ruling.undecided or ruling.span and entered_before
            reason = (
                ("" if passes else ruling.reason)
                or _place_reason(item, draft, wiki, planned)
                or _quantity_reason(item, ruling)
            )
            if reason:
                refused.append(Rejection(draft.path, item.claim, reason))
            else:
                doubt = "" if entered_before else ruling.reason
                place = f"under: {ruling.about}\n\n{ruling.place}"
                ruled.append(RuledClaim(_claim(item, draft, ruling, packet), place, doubt))
    return Admission(tuple(drafts), tuple(ruled)).without(refused)


def _claim(item: DraftClaim, draft: Draft, ruling: ClaimRuling, packet: Packet) -> Claim:
    span = ruling.span
    assert span is not None
    return Claim(
        page=draft.path,
        section=" ".join(item.section.split()),
        claim=" ".join(item.claim.split()),
        quote=" ".join(item.quote.split()),
        source=ruling.origin,
        start=span.start,
        end=span.end,
        packet=packet.id,
        links=item.links,
        quantity=item.quantity,
    )


def _page_reasons(draft: Draft, wiki: Wiki) -> list[str]:
    """What is wrong with the page that a draft names."""
    kind = type_of(draft.type)
    if kind not in WRITABLE:
        return [f"'{draft.type}' is no type of page that is drafted; one of {', '.join(WRITABLE)}"]
    reasons = []
    folder, name = posixpath.split(draft.path)
    allowed = [f"{wiki.home}{f}" for f in folders_of(kind)]
    if draft.path in wiki.types:
        if wiki.types[draft.path] != kind:
            reasons.append(f"{draft.path} is there and is a {wiki.types[draft.path]}, not a {kind}")
    elif folder not in allowed or not _SLUG.fullmatch(name):
        reasons.append(f"a {kind} is a page {allowed[0]}/<small-letters-and-dashes>.md")
    if not _is_plain(draft.title, _TITLE):
        reasons.append("a title is 2 to 120 plain characters on one line")
    reasons += [
        f"'{one_line(name)[:60]}' is no alias or lever: 2 to 120 plain characters"
        for name in (*draft.aliases, *draft.levers)
        if not _is_plain(name, _TITLE)
    ]
    if not draft.claims:
        reasons.append("a page without a claim says nothing")
    return reasons


def _is_plain(text: str, form: re.Pattern[str]) -> bool:
    return bool(form.fullmatch(text)) and text.isprintable()


def _place_reason(item: DraftClaim, draft: Draft, wiki: Wiki, planned: Collection[str]) -> str:
    """What is wrong with where a claim stands and leads to."""
    if not _is_plain(item.section, _HEADING):
        usual = next(iter(TYPES[type_of(draft.type) or "concept"].sections), "What it is")
        return f"goes under a heading of 2 to 80 plain characters, such as “{usual}”"
    if re.search(r"\]\(\s*[^)\s]", item.claim):
        return "holds a link; name pages under `links`"
    paths = [link.partition("#")[0] for link in item.links]
    dead = [path for path in paths if path not in wiki.titles and path not in planned]
    if dead:
        return f"links to {dead[0]}, which is no page"
    return "links to its own page" if draft.path in paths else ""


def _quantity_reason(item: DraftClaim, ruling: ClaimRuling) -> str:
    """What is wrong with the quantity of a claim: it repeats what the claim states, no more."""
    stated = item.quantity
    if stated is None:
        return ""
    unit, counted = unit_of(stated.unit), {*map(stem, words_of(stated.unit))}
    if not any(
        stated.value in (n.value, n.high)
        and (
            n.unit == stated.unit
            or ((u := unit_of(n.unit)) and unit and u.name == unit.name)
            # What is counted stands behind its number: two cores.
            or (
                not n.unit
                and counted
                and counted <= {*map(stem, words_of(item.claim[n.end :])[:3])}
            )
        )
        for n in numbers_of(item.claim)
    ):
        return f"its quantity {stated.value:g} {stated.unit} is not what the claim states"
    if not stated.subject.strip() or not stated.quantity.strip():
        return "a quantity has a subject and a name"
    shown = words_of(f"{item.claim} {item.quote} {ruling.about}")
    foreign = sorted(set(words_of(f"{stated.subject} {stated.condition}")).difference(shown))
    names = ", ".join(foreign)
    return f"its quantity names {names}, which neither claim nor quote do" if names else ""
