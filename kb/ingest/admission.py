"""Drafts before the gate: page by page admitted whole or returned whole, with the reason for every claim.

Refuses to write: what is admitted is filed by `filing`.
"""

import posixpath
import re
from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from kb import store
from kb.claims import Captured, Claim, ClaimRuling, Quotable, StatedQuantity, ruling_on
from kb.ingest.packets import Packet
from kb.ingest.replies import ClaimedQuantity, Draft, DraftClaim
from kb.schema import TYPES, folders_of, type_of
from kb.text import numbers_in, one_line, unit_of, words_of

# Pages that a model may write: what was measured is the loop's own to say, what is compiled is code's.
WRITABLE = ("concept", "observation", "hypothesis", "codebase", "source", "analysis")


@dataclass(frozen=True, slots=True)
class Rejection:
    """One claim (or the page itself, where `claim` is empty) that does not enter, and why."""

    page: str
    claim: str
    reason: str


@dataclass(frozen=True, slots=True)
class Admission:
    """What the gate lets in of one reply, and what it returns."""

    drafts: tuple[Draft, ...]
    claims: tuple[Claim, ...]
    rejected: tuple[Rejection, ...]


@dataclass(frozen=True, slots=True)
class Wiki:
    """What the gate must know of the wiki: its pages by path, with their titles and types, and the folder that they stand in, empty or with a slash."""

    titles: dict[str, str]
    types: dict[str, str]
    home: str = "wiki/"


def admission_of(
    drafts: Iterable[Draft],
    *,
    passages: Iterable[Quotable],
    wiki: Wiki,
    packet: str,
    second: bool = False,
    entered_before: bool = False,
) -> Admission:
    """Admission of the drafts of one reply. A draft with one claim that fails is returned whole, its good claims with it.

    `second` says that a second reader has the last word on what rules cannot decide; `entered_before` that the reply was let in once:
    what the gate has learnt since does not put out a claim whose quote stands.
    """
    drafts, passages = tuple(drafts), tuple(passages)
    planned = Counter(d.path for d in drafts)
    entered: list[Draft] = []
    claims: list[Claim] = []
    rejected: list[Rejection] = []
    for draft in drafts:
        reasons = [Rejection(draft.path, "", reason) for reason in _page_reasons(draft, wiki)]
        if planned[draft.path] > 1:
            reasons.append(
                Rejection(
                    draft.path,
                    "",
                    f"{draft.path} stands {planned[draft.path]} times in the reply; put its claims into one draft",
                )
            )
        good: list[Claim] = []
        for item in draft.claims:
            ruling = ruling_on(item.claim, item.quote, origin=item.source, passages=passages)
            reason = (
                (
                    ""
                    if ruling.span and entered_before or second and ruling.undecided
                    else ruling.reason
                )
                or _place_reason(item, draft, wiki, planned)
                or _quantity_reason(item, ruling)
            )
            if reason:
                reasons.append(Rejection(draft.path, item.claim, reason))
            else:
                good.append(_claim(item, draft, ruling, packet))
        if reasons:
            held = f"stands, but its page is returned whole: {len(reasons)} of its claims do not"
            rejected += [*reasons, *(Rejection(draft.path, c.claim, held) for c in good)]
        else:
            entered.append(draft)
            claims += good
    return Admission(tuple(entered), tuple(claims), tuple(rejected))


def passages_of(packet: Packet) -> tuple[Quotable, ...]:
    """What a reply to a packet may quote: its material, and nothing else."""
    return tuple(Quotable(m.origin, Captured(m.text), m.start) for m in packet.material)


def _claim(item: DraftClaim, draft: Draft, ruling: ClaimRuling, packet: str) -> Claim:
    span = ruling.span
    assert span is not None
    stated = item.quantity
    quantity = (
        StatedQuantity(**{name: getattr(stated, name) for name in stated.__struct_fields__})
        if stated
        else None
    )
    return Claim(
        page=draft.path,
        section=" ".join(item.section.split()),
        claim=" ".join(item.claim.split()),
        quote=" ".join(item.quote.split()),
        source=ruling.origin,
        start=span.start,
        end=span.end,
        packet=packet,
        links=item.links,
        quantity=quantity,
    )


_SLUG = re.compile(r"[a-z0-9][a-z0-9._-]{0,80}\.md")
_TITLE = re.compile(r"[^\x00-\x1f<>\[\]|`]{2,120}")


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
    if not _TITLE.fullmatch(draft.title) or not draft.title.isprintable():
        reasons.append("a title is 2 to 120 plain characters on one line")
    reasons += [
        f"'{one_line(name)[:60]}' is no alias or lever: 2 to 120 plain characters"
        for name in (*draft.aliases, *draft.levers)
        if not _TITLE.fullmatch(name) or not name.isprintable()
    ]
    if not draft.claims:
        reasons.append("a page without a claim says nothing")
    return reasons


_HEADING = re.compile(r"[^\x00-\x1f<>\[\]|`#]{2,80}")


def _place_reason(item: DraftClaim, draft: Draft, wiki: Wiki, planned: Collection[str]) -> str:
    """What is wrong with where a claim stands and leads to."""
    if not _HEADING.fullmatch(item.section) or not item.section.isprintable():
        return f"goes under a heading of 2 to 80 plain characters, such as “{next(iter(TYPES[type_of(draft.type) or 'concept'].sections), 'What it is')}”"
    inline = re.findall(r"\]\(\s*([^)\s]+)", item.claim)
    if inline:
        return "holds a link; name pages under `links`"
    for link in item.links:
        path = link.partition("#")[0]
        if path not in wiki.titles and path not in planned:
            return f"links to {path}, which is no page"
        if path == draft.path:
            return "links to its own page"
    return ""


def _quantity_reason(item: DraftClaim, ruling: ClaimRuling) -> str:
    """What is wrong with the quantity of a claim: it repeats what the claim states, no more."""
    stated: ClaimedQuantity | None = item.quantity
    if stated is None:
        return ""
    numbers = list(numbers_in(item.claim))
    unit = unit_of(stated.unit)
    same = [
        n
        for n in numbers
        if stated.value in (n.value, n.high)
        and (n.unit == stated.unit or (u := unit_of(n.unit)) and unit and u.name == unit.name)
    ]
    if not same:
        return f"its quantity {stated.value:g} {stated.unit} is not what the claim states"
    context = f"{item.claim} {item.quote} {ruling.heading}"
    foreign = set(words_of(f"{stated.subject} {stated.condition}")) - set(words_of(context))
    if not stated.subject.strip() or not stated.quantity.strip():
        return "a quantity has a subject and a name"
    return (
        f"its quantity names {', '.join(sorted(foreign))}, which neither claim nor quote do"
        if foreign
        else ""
    )


def wiki_of(layout: store.Layout, db) -> Wiki:
    """Titles and types of the pages as built."""
    rows = db.execute("select path, title, type from standing").fetchall()
    titles, types = ({row[0]: row[n] for row in rows} for n in (1, 2))
    return Wiki(titles, types, layout.page(""))
