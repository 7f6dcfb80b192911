"""kb claims [ask]: list claims on file about a subject, their sources, and where sources disagree."""

from contextlib import closing
from dataclasses import dataclass

from kb import KbError, store
from kb.claims import Claim, Conflict, about, conflicts, readable_claims
from kb.ingest.admission import wiki_of
from kb.ingest.filing import withdrawn
from kb.text import counted
from kb.verbs import FINDINGS, FINE, Caller, Result, argument, flag, option


@dataclass(frozen=True, slots=True, kw_only=True)
class ListClaims:
    """Which claims."""

    subject: tuple[str, ...] = argument(
        "words that a claim, its page or its quantity must hold", default=(), metavar="SUBJECT"
    )
    conflicts: bool = flag("only where sources disagree")
    withdraw: str = option(
        "take all claims of a source off file, and off the pages that hold them", metavar="SOURCE"
    )


def run(request: ListClaims, caller: Caller) -> Result:
    gone = _withdraw(request.withdraw, caller) if request.withdraw else 0
    held, damaged = readable_claims(caller.layout)
    chosen = about(held, " ".join(request.subject)) if request.subject else held
    shown, pairs = () if request.conflicts else chosen, conflicts(chosen)
    value = {"claims": shown, "conflicts": pairs, "withdrawn": gone, "damaged": damaged}
    lines = [f"{counted(gone, 'claims')} withdrawn"] if gone else []
    lines += [*map(_claim_text, shown), *map(_conflict_text, pairs), *damaged]
    text = "\n".join(lines) or "no claim on file says anything of it"
    return Result(value, text, FINDINGS if pairs or damaged else FINE)


def _claim_text(c: Claim) -> str:
    place = f"{c.source}, characters {c.start} to {c.end}"
    return f"{c.page}  {c.claim}\n    {place}: “{c.quote}”"


def _conflict_text(pair: Conflict) -> str:
    a, b = pair.first, pair.second
    figures = (f"{c.quantity.value:g} {c.quantity.unit} ({c.source})" for c in (a, b))
    return f"disputed: {a.quantity.subject}, {a.quantity.quantity}: {' against '.join(figures)}"


def _withdraw(name: str, caller: Caller) -> int:
    source = (
        name if name.startswith("sources/") or caller.layout.is_page(name) else f"sources/{name}"
    )
    caller.build()
    with closing(store.state(caller.layout)) as db, store.lock(caller.layout, "claims"):
        titles = wiki_of(caller.layout, db).titles
        gone, _ = withdrawn(caller.layout, source, titles=titles, today=caller.today)
    if not gone:
        raise KbError(f"{source}: no claim on file rests on it, so none was withdrawn")
    caller.build()
    return gone
