"""What a claim must hold to enter: its quote stands in the source, and says what the claim says.

Each check is one function from a `ClaimCase` to a reason, or nothing. `CHECKS` refuse a claim on evidence; `DOUBTS` leave it undecided, for
a second reader. Refuses to weigh: one reason is enough. Nothing here reads the wiki; where claims go to is checked where pages are known.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from kb.claims.captured import Captured, Span
from kb.claims.case import ClaimCase, case_of
from kb.claims.figures import number_readings, numbers
from kb.claims.names import names, nearest_names
from kb.claims.sense import condition, instruction, negation, retraction
from kb.claims.wording import direction, place, replaced, sides, support, tie, turned
from kb.text import sentences_of

# A quote of fewer words fits anywhere, one of more is a copy of its source and no evidence for one sentence.
SHORTEST_QUOTE, LONGEST_QUOTE = 2, 60
LONGEST_CLAIM = 60


@dataclass(frozen=True, slots=True)
class Quotable:
    """A stretch of captured text that claims may quote: the id of its source or page, and the character of that at which it begins."""

    origin: str
    captured: Captured
    start: int = 0


@dataclass(frozen=True, slots=True)
class ClaimRuling:
    """Whether a claim stands: where its quote stands in which text, what stands above that (`about`: headings, the head of a table) and
    around it (`place`), and the reason why it does not enter. `undecided` says that the reason is a doubt about the wording: a second
    reader may let it in.
    """

    origin: str = ""
    span: Span | None = None
    reason: str = ""
    about: str = ""
    undecided: bool = False
    place: str = ""


def ruling_on(claim: str, quote: str, *, origin: str, passages: Iterable[Quotable]) -> ClaimRuling:
    """Ruling on one claim. `origin` names the text it cites; empty means the only one there is."""
    passages = tuple(passages)
    origins = dict.fromkeys(p.origin for p in passages)
    cited = [p for p in passages if p.origin == origin or not origin and len(origins) == 1]
    if not cited:
        named = ", ".join(origins)
        return ClaimRuling(
            reason=f"cites '{origin}', which is not in the packet; it holds {named}"
            if origin
            else f"say which source: {named}"
        )
    if reason := _form(claim, quote):
        return ClaimRuling(reason=reason)
    place = next(((p, span) for p in cited if (span := p.captured.find(quote))), None)
    if place is None:
        return ClaimRuling(reason=_not_there(quote, cited[0], passages))
    passage, span = place
    case = case_of(claim, passage.captured, span)
    refusal = next(filter(None, (check(case) for check in CHECKS)), "")
    doubt = "" if refusal else next(filter(None, (check(case) for check in DOUBTS)), "")
    stands = Span(passage.start + span.start, passage.start + span.end)
    return ClaimRuling(
        passage.origin,
        stands,
        refusal or doubt,
        case.about,
        undecided=bool(doubt),
        place=passage.captured.place_of(span),
    )


_MARKUP = re.compile(
    r"<[/!a-zA-Z]|^\s*(?:#|>|```|~~~)|kb:auto|kb:allow|\]\(\s*(?:javascript|data|file):",
    re.IGNORECASE,
)


def _form(claim: str, quote: str) -> str:
    words = len(quote.split())
    long = len(claim.split()) > LONGEST_CLAIM or len(claim) > 20 * LONGEST_CLAIM
    faults = (
        (not claim.strip() or not quote.strip(), "a claim needs a sentence and a quote"),
        (
            "\n" in claim.strip() or _MARKUP.search(claim),
            "a claim is one plain sentence, without HTML, headings, quotes or markers",
        ),
        (
            len(sentences_of(claim)) > 1,
            "a claim is one sentence; say each thing with its own quote",
        ),
        (not claim.isprintable(), "the claim holds characters that cannot be seen"),
        (long, f"a claim has at most {LONGEST_CLAIM} words; say one thing in each"),
        (
            not SHORTEST_QUOTE <= words <= LONGEST_QUOTE,
            f"a quote has {SHORTEST_QUOTE} to {LONGEST_QUOTE} words, this one {words}",
        ),
    )
    return next((reason for holds, reason in faults if holds), "")


def _not_there(quote: str, passage: Quotable, passages: Iterable[Quotable]) -> str:
    elsewhere = [
        p.origin for p in passages if p.origin != passage.origin and p.captured.find(quote)
    ]
    if elsewhere:
        return f"the quote stands in {elsewhere[0]}, not in {passage.origin}"
    if any(mark in quote for mark in ("...", "…", "[.")):
        return "a quote is one stretch of text: nothing is left out of it and nothing put together"
    head = passage.captured.longest_head(quote)
    return f"the quote does not stand in {passage.origin}" + (
        f"; it departs from the text behind “{head[-80:]}”" if head else ""
    )


Check = Callable[[ClaimCase], str]
# Evidence that a claim says what its quote does not, one piece of which is enough.
CHECKS: tuple[Check, ...] = (instruction, numbers, names, negation, condition, retraction)
# What goes by the wording: claim and quote may say the same in other words, and a second reader tells.
DOUBTS: tuple[Check, ...] = (
    number_readings,
    nearest_names,
    place,
    sides,
    tie,
    turned,
    direction,
    replaced,
    support,
)
