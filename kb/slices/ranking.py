"""Which pages a question is about, best first: words, levers, time and links together. Refuses to cut: a budget is the recipe's matter."""

from dataclasses import dataclass

from kb import search
from kb.slices.view import View


@dataclass(frozen=True, slots=True)
class Ranked:
    """One page with the weight of what speaks for it, and the strongest reason."""

    path: str
    score: float
    why: str


def ranked(view: View, query: str, *, target: str, variant: str) -> list[Ranked]:
    """Pages that may be seen, best first, ties by path."""
    terms = search.terms_of(query)
    found = {}
    for types, limit in ((("experiment",), 150), ((), 150)):
        hits = [h for h in search.pages_like(view.db, terms, limit=limit, types=types) if view.sees(h.path)]
        for hit in hits:
            found[hit.path] = max(found.get(hit.path, 0.0), hit.score / hits[0].score)
    return [Ranked(p, s, "same words") for p, s in sorted(found.items(), key=lambda x: (-x[1], x[0]))]
