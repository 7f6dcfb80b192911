"""Rules on claims: what two sources measure differently, and claims whose source has gone. Refuses to pick a side."""

from collections.abc import Iterator

from kb.claims import Claim, conflicts, readable_claims
from kb.lint.matter import Matter
from kb.lint.registry import Rule, W
from kb.schema import Finding
from kb.text import command_of


def unread_claims(matter: Matter) -> Iterator[Finding]:
    for damaged in readable_claims(matter.layout)[1]:
        path, _, why = damaged.partition(": ")
        what, _, hint = why.rpartition("; ")
        yield Finding(path, 1, "unreadable-claims", what, hint=hint)


def disputed_quantities(matter: Matter) -> Iterator[Finding]:
    """One quantity of one subject under one condition, to which two sources give two values."""
    for pair in conflicts(readable_claims(matter.layout)[0]):
        first, second = pair.first, pair.second
        if first.source == second.source or not first.quantity or not second.quantity:
            continue
        mine, theirs = (f"{c.quantity.value:g} {c.quantity.unit}".strip() for c in (first, second))
        condition = f" ({first.quantity.condition})" if first.quantity.condition else ""
        yield Finding(
            *(first.page, _line(matter, first), "disputed-quantity"),
            f"{first.quantity.quantity} of {first.quantity.subject}{condition}: {mine} by {first.source}, {theirs} by {second.source}",
            target=second.page if second.page != first.page else second.source,
            hint="find out which holds, and say so on the page; a condition that differs belongs into both claims",
        )


def claims_without_source(matter: Matter) -> Iterator[Finding]:
    for claim in (
        c for gone in (False, True) for c in readable_claims(matter.layout, gone=gone)[0]
    ):
        if claim.claim and not matter.files.has(claim.source):
            yield Finding(
                *(
                    claim.page,
                    _line(matter, claim),
                    "claim-without-source",
                    f"rests on {claim.source}, which is gone: '{claim.claim}'",
                ),
                target=claim.source,
                hint=f"bring the folder back, or take its claims off file: {command_of('claims --withdraw', claim.source)}",
            )


def _line(matter: Matter, claim: Claim) -> int:
    """The line on which the claim stands, else that of its section's heading, else the first."""
    page = matter.pages.get(claim.page)
    if page is None:
        return 1
    words = " ".join(claim.claim.split())
    stated = next((n for n, line in enumerate(matter.lines(claim.page), 1) if words in line), 0)
    return stated or next((h.line for h in page.headings if h.text == claim.section), 1)


RULES = (
    Rule(
        "disputed-quantity",
        W,
        "two values of one quantity leave an agent to pick a side",
        "claims",
        disputed_quantities,
    ),
    Rule(
        "claim-without-source",
        W,
        "a claim whose source has gone can be checked by nobody",
        "claims",
        claims_without_source,
    ),
    Rule(
        "unreadable-claims",
        W,
        "claims that cannot be read are counted for none",
        "claims",
        unread_claims,
    ),
)
