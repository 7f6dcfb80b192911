"""Bringing pages into a slice, each in its own words: an experiment as a card, any other page by the words that answer or that say what it is."""

from kb import search, trail
from kb.search.gist import SHORTEST, cut
from kb.slices.asked import Asked
from kb.slices.excerpt import Excerpt, excerpt_of
from kb.slices.slice import Filling
from kb.store import digest_of

# Below this a claim does not tell one run from another; and of a title so much is told.
_SHORT_CLAIM, _LONGEST_TITLE = 40, 100

# Characters a token of a whole section is taken to hold: it is not counted, only warned of.
_CHARACTERS = 3


class Bringing:
    """One slice's hands: what is asked and what is filled; open as long as the filling."""

    def __init__(self, asked: Asked, filling: Filling):
        self.asked, self.filling = asked, filling
        self.view, self.weights, self.facts = asked.view, asked.weights, asked.facts
        self.target, self.variant, self.runs = asked.target, asked.variant, asked.runs

    def page(self, part: str, path: str, why: str, *, closely: bool = True) -> bool:
        """Bring one page; false if it does not fit. A page that says nothing, or no run and the same as another, is passed over."""
        found = self._words(path, closely)
        if not found or not found.text.strip():
            return True
        if not self.facts(path) and self.filling.says(found.text):
            self._leave(path, found.anchor, "says the same as another")
            return True
        brought = self.words(part, path, found.anchor, why=why, text=found.text)
        if brought:
            # A short page is told in full by little.
            self.filling.full.add(path)
        return brought

    def words(self, part: str, path: str, anchor: str, *, why: str, text: str, most: int | None = None) -> bool:
        """Bring words about a page or an index that were put together already; false if they do not fit."""
        page = self.view.standing(path)
        digest = self.view.digest(path) if page else digest_of(text)
        quoted = page is not None and page.type == "source"
        if self.filling.add(part, path=path, anchor=anchor, digest=digest, why=why, text=text, most=most, quoted=quoted):
            return True
        self._leave(path, anchor, "over budget")
        return False

    def _leave(self, path: str, anchor: str, why: str) -> None:
        """Note what was left out, with about what `kb open` of its section would cost."""
        if self.view.standing(path):
            self.filling.leave(
                path=path, anchor=anchor, tokens=search.size_of(self.view.db, path, anchor) // _CHARACTERS, why=why
            )

    def _words(self, path: str, closely: bool) -> Excerpt | None:
        facts = self.facts(path)
        lead = f"[{facts.verdict.canonical or 'no verdict'}] " if facts else ""
        if facts and len(facts.hypothesis) < _SHORT_CLAIM:
            # A run imported from a log says in its title what was tried.
            lead += cut(facts.title, _LONGEST_TITLE) + ": "
        if not closely:
            anchor, text = card_of(facts, lead) if facts else search.gist(self.view.db, path)
            if len(text) >= SHORTEST and not self.view.is_masked(path, text):
                return Excerpt(anchor, text)
        return excerpt_of(search.chunks_in(self.view.db, path), self.weights, masked=self.view.masked, lead=lead)


def card_of(facts: trail.Facts, lead: str) -> tuple[str, str]:
    """(anchor, text) of an experiment as a card: verdict, claim, because, in the page's own words; each half gives way to the other."""
    claim, because = " ".join(facts.hypothesis.split()), " ".join(facts.because.split())
    room = SHORTEST - len(lead)
    if facts.failed and because:
        # What was hoped for goes behind what was measured.
        claim, because = because, f"Tried: {claim}" if claim else ""
    mine = cut(claim, max(room // 2, room - len(because) - 1))
    between = " " if mine == claim else " … "
    text = f"{lead}{mine}{between}{cut(because, room - len(mine) - len(between))}".rstrip()
    place = facts.place("verdict") or facts.place("hypothesis")
    return (place.anchor if place else ""), text
