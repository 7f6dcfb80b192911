"""kb claims [ask]: list claims on file about a subject, their sources, and where sources disagree."""

from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kb import KbError, store
from kb.verbs import FINDINGS, FINE, Caller, Result, argument, flag, option

if TYPE_CHECKING:
    from kb.claims import Claim, Conflict


@dataclass(frozen=True, slots=True, kw_only=True)
class ListClaims:
    """Which claims."""

    subject: tuple[str, ...] = argument(
        "words that a claim, its page or its quantity must hold", default=(), metavar="SUBJECT"
    )
    quantities: bool = flag("only claims with a typed quantity")
    conflicts: bool = flag("only where sources disagree")
    withdraw: str = option(
        "take all claims of a source off file, and off the pages that hold them", metavar="SOURCE"
    )


@dataclass(frozen=True, slots=True)
class ClaimList(Result):
    """Claims, and the pairs of them that contradict each other."""

    claims: "tuple[Claim, ...]"
    conflicts: "tuple[Conflict, ...]"
    only_conflicts: bool
    withdrawn: int = 0
    damaged: tuple[str, ...] = ()

    @property
    def code(self) -> int:
        return FINDINGS if self.conflicts or self.damaged else FINE

    def to_json(self) -> object:
        from kb.claims import plain

        shown = () if self.only_conflicts else self.claims
        return {
            "claims": plain(shown),
            "conflicts": plain(self.conflicts),
            "withdrawn": self.withdrawn,
            "damaged": self.damaged,
        }

    def to_text(self) -> str:
        lines = [f"{self.withdrawn} claims were withdrawn"] if self.withdrawn else []
        for claim in () if self.only_conflicts else self.claims:
            lines += [
                f"{claim.page}  {claim.claim}",
                f"    {claim.source}, characters {claim.start} to {claim.end}: “{claim.quote}”",
            ]
        for pair in self.conflicts:
            a, b = pair.first, pair.second
            lines.append(
                f"disputed: {a.quantity.subject}, {a.quantity.quantity}: {a.quantity.value:g} {a.quantity.unit} ({a.source}) against {b.quantity.value:g} {b.quantity.unit} ({b.source})"
            )
        lines += self.damaged
        return "\n".join(lines) or "no claim on file says anything of it"


def run(request: ListClaims, caller: Caller) -> ClaimList:
    from kb.claims import about, conflicts, readable_claims

    layout = caller.layout()
    gone = _withdraw(request.withdraw, layout, caller) if request.withdraw else 0
    held, damaged = readable_claims(layout)
    chosen = about(held, " ".join(request.subject)) if request.subject else held
    chosen = tuple(c for c in chosen if c.quantity or not request.quantities)
    return ClaimList(chosen, conflicts(chosen), request.conflicts, gone, damaged)


def _withdraw(name: str, layout: store.Layout, caller: Caller) -> int:
    from kb.ingest.admission import wiki_of
    from kb.ingest.filing import withdrawn

    source = name if name.startswith("sources/") or layout.is_page(name) else f"sources/{name}"
    caller.build(layout)
    with closing(store.state(layout)) as db, store.lock(layout, "claims"):
        titles = wiki_of(layout, db).titles
        gone, _ = withdrawn(layout, source, titles=titles, today=caller.today)
    if not gone:
        raise KbError(f"{source}: no claim on file rests on it, so none was withdrawn")
    caller.build(layout)
    return gone
