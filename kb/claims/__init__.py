"""Claims: sentences that stand on the words of a source. What lets one in, those on file, and where they contradict each other.

    ruling_on(claim, quote, origin=…, passages=[Quotable(origin, Captured(text))])   # its place in the source, or the reason why not
    claims_in(layout), file_claims(layout, claims), withdraw(layout, source)        # sources/claims/<source>.json
    conflicts(claims)                                                               # one quantity, one condition, two values

Refuses to know packets, models and pages: who drafts claims and where they stand is the matter of `ingest`.
"""

from kb.claims.captured import Captured, Span
from kb.claims.filed import (
    Claim,
    ClaimedQuantity,
    Conflict,
    about,
    claims_in,
    conflicts,
    file_claims,
    is_withdrawn,
    name_of_file,
    readable_claims,
    readdress,
    reorder,
    withdraw,
)
from kb.claims.gate import ClaimRuling, Quotable, ruling_on

__all__ = [
    "Captured",
    "Claim",
    "Conflict",
    "Quotable",
    "ClaimedQuantity",
    "ClaimRuling",
    "Span",
    "about",
    "claims_in",
    "conflicts",
    "file_claims",
    "is_withdrawn",
    "name_of_file",
    "readable_claims",
    "readdress",
    "reorder",
    "ruling_on",
    "withdraw",
]
