"""A slice while it is filled: brings pages in their own words and holds the budget. Refuses to choose: recipes choose."""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache

from kb import search
from kb.schema import FAILED
from kb.search.prose import SHORTEST, cut, sentences_of
from kb.slices.excerpt import excerpt_of
from kb.slices.question import Question
from kb.slices.request import LOOK as LOOK_TOKENS
from kb.slices.slice import PARTS, Item, Omitted, Slice, SlicePart, lines_of, name_of
from kb.slices.tokens import tokens_of
from kb.store import digest_of, packed
from kb.text import LOOK
from kb.trail import Facts
from kb.trail.handles import handle, label_of
from kb.trail.outcomes import measured

# The head of a printed slice (what it is, how to open more) beside the target's name, and the lines that say what was left out.
_HEAD, _HEAD_CHARACTERS = 90, 400
_MOST_OMITTED = 20
# As JSON an item has these characters beside its path, reason and text, and four of them are a token.
_FIELDS = 24
# More characters than any budget of tokens holds.
_UNBOUND = 10**9
_HANDLE = re.compile(r"(?<![\w.-])[\w.-]+~\w+")
# Less than this of a section is a pointer.
_SHORTEST = 120
# What a statement of the shortest kind costs at least.
_LEAST = 40
# Below this a claim does not tell one run from another; and of a title so much is told.
_SHORT_CLAIM, _LONGEST_TITLE = 40, 100
# Characters a token of a whole section is taken to hold: it is not counted, only warned of.
_CHARACTERS = 3


class OpenSlice:
    """The question, the items that answer it so far, and what was left out; open until it is closed."""

    def __init__(self, question: Question, *, budget: int, known: tuple[str, ...] = ()):
        self.question, self.view = question, question.view
        self.target, self.runs = question.target, question.runs
        self.budget = budget
        self.tokens = _HEAD + 2 * tokens_of(self.target)
        self.characters = 0
        # Plain prose has more characters a token: what is meant for one look holds that too.
        self.printable = LOOK - _HEAD_CHARACTERS if budget <= LOOK_TOKENS else _UNBOUND
        self.parts: dict[str, list[Item]] = {}
        self.heads: dict[str, str] = {}
        self.omitted: list[Omitted] = []
        self.paths: set[str] = set()
        # Pages that are told in full: a short page is so by little.
        self.full: set[str] = set()
        # Lines of the state, without what heads them.
        self.lines: set[str] = set()
        # A text in which runs of the target go by their number alone.
        self.named = self.view.once("named", self.target, lambda: _naming(self.runs))
        # What an earlier slice told is said already.
        self.beyond = bool(known)
        self._earlier = {line for text in known for line in text.split("\n")}
        self._stretches: set[tuple[str, ...]] = set().union(*map(_stretches, known))

    def page(
        self, part: str, path: str, why: str, *, closely: bool = True, size: int = SHORTEST
    ) -> bool:
        """Bring one page; false if it does not fit. A page that says nothing, or no run and the same as another, is passed over."""
        if self._is_full():
            self._leave(path, "", "over budget")
            return False
        anchor, text = self._words_of(path, closely, size)
        if not text.strip():
            return True
        facts = self.question.facts(path)
        if (self.beyond or not facts or facts.imported) and self.says(text):
            self._leave(path, anchor, "says the same as another")
            return True
        if not self.words(part, path, anchor, why=why or "page", text=text):
            return False
        self.full.add(path)
        return True

    def section(self, part: str, path: str, place: str, *, size: int, why: str = "") -> None:
        """Bring what a run says at one of its places, or any other page as a whole, cut to the question, as far as the slice does not say it already."""
        if self._is_full():
            return
        facts = self.question.facts(path)
        at = facts.place(place) if facts else None
        chunks = [] if facts and not at else self.view.chunks(path)
        chunks = [c for c in chunks if not at or at.start <= c.line < at.end]
        anchor, text = excerpt_of(chunks, self.question.weights, masked=self.view.masked, size=size)
        text = " ".join(s for s in sentences_of(text) if not self.says(s))
        if len(text) >= _SHORTEST:
            self.words(
                part, path, anchor, why=why or (place if facts else anchor or "page"), text=text
            )

    def words(
        self, part: str, path: str, anchor: str, *, why: str, text: str, most: int | None = None
    ) -> bool:
        """Bring words about a page or an index that were put together already; false if they do not fit the budget, or `most`, a ceiling of the slice so far."""
        page = self.view.standing(path)
        digest = page.digest if page else digest_of(text)
        quoted = page is not None and page.type == "source"
        name, text = self.named(name_of(path)), self.named(text)
        if self.beyond and self.says(text):
            return True
        item = Item(path, anchor, digest, 0, why, text, quoted, name)
        head, *printed = lines_of(item)
        # What heads an item is told once, and where the part is called so not at all.
        printed = printed if self.heads.get(part, f"- {part}") == head else [head, *printed]
        opening = [] if part in self.parts else [f"## {part}"]
        cost = tokens_of("\n".join(printed) + "\n")
        opened = sum(tokens_of(f"{line}\n") + 1 for line in opening)
        room = self.budget if most is None else min(most, self.budget)
        characters = self.characters + len(text) + len(path) + len(why) + _FIELDS
        printable = self.printable - sum(len(line) + 1 for line in (*opening, *printed))
        if characters > 4 * self.budget or printable < 0 or self.tokens + cost + opened > room:
            self._leave(path, anchor, "over budget")
            return False
        self.parts.setdefault(part, []).append(replace(item, tokens=cost))
        self.heads[part], self.characters, self.printable = head, characters, printable
        self.tokens += cost + opened
        self.paths.add(path)
        if len(text) >= SHORTEST:
            self.full.add(path)
        self._stretches |= _stretches(text)
        return True

    def _is_full(self) -> bool:
        """Whether there is no room for the shortest statement, so that none needs to be looked for."""
        return self.budget - self.tokens < _LEAST

    def says(self, text: str) -> bool:
        """Whether most of a text stands in the slice already, or in the one before it, by stretches of five words."""
        text = self.named(text)
        own = _stretches(text)
        is_short = len(own) <= 8
        return (
            bool(self._earlier) and all(line in self._earlier for line in text.split("\n"))
            if is_short
            else len(own & self._stretches) > 0.6 * len(own)
        )

    def failed(self, path: str) -> bool:
        facts = self.question.facts(path)
        return facts.failed if facts else self.view.standing(path).verdict in FAILED

    def closed(self, *, id: str, step: str, mode: str) -> Slice:
        """The slice, parts in their fixed order."""
        parts = tuple(
            SlicePart(name, sum(i.tokens for i in items), tuple(items))
            for name in PARTS
            if (items := self.parts.get(name))
        )
        omitted = tuple(o for o in self.omitted if o.path not in self.paths)
        content = [[i.path, i.anchor, i.digest, i.why, i.text] for p in parts for i in p.items]
        about = [step, self.target, mode, self.budget, content, [o.path for o in omitted]]
        # The first four characters tell the target, within which the number of a run names its page.
        digest = digest_of(self.target)[:4] + digest_of(packed(about))[:12]
        return Slice(id, step, self.target, mode, self.budget, self.tokens, digest, parts, omitted)

    def _leave(self, path: str, anchor: str, why: str) -> None:
        """Note what was left out, once a page, with about what `kb open` of its section would cost."""
        if (
            self.view.standing(path)
            and len(self.omitted) < _MOST_OMITTED
            and path not in self.paths
            and all(o.path != path for o in self.omitted)
        ):
            sizes = self.view.once("sizes", "", dict)
            if (path, anchor) not in sizes:
                sizes[path, anchor] = search.size_of(self.view.db, path, anchor)
            tokens = sizes[path, anchor] // _CHARACTERS
            self.omitted.append(Omitted(path, anchor, tokens, why))

    def _words_of(self, path: str, closely: bool, size: int) -> tuple[str, str]:
        """(anchor, text) of a page: an experiment as a card, any other by the words that answer or that say what it is."""
        facts = self.question.facts(path)
        lead = f"[{facts.verdict.canonical or 'no verdict'}] " if facts else ""
        if facts and facts.imported:
            # Its page says in many words what the line of a log says in few.
            return "", f"{lead}{facts.title}: {measured(facts)}"
        if facts and len(facts.hypothesis) < _SHORT_CLAIM:
            lead += cut(facts.title, _LONGEST_TITLE) + ": "
        if not closely:
            anchor, text = _card_of(facts, lead) if facts else search.gist(self.view.db, path)
            if len(text) >= SHORTEST and not self.view.is_masked(path, text):
                return anchor, text
        weights, masked = self.question.weights, self.view.masked
        return excerpt_of(self.view.chunks(path), weights, masked=masked, size=size, lead=lead)


def _naming(runs: Sequence[str]) -> Callable[[str], str]:
    """Turns handles of runs into their labels, where no other run has the same."""
    labels = Counter(map(label_of, runs))
    names = {handle(p): n for p in runs if labels[n := label_of(p)] == 1}

    @lru_cache(maxsize=1 << 11)
    def named(text: str) -> str:
        return _HANDLE.sub(lambda m: names.get(m[0], m[0]), text) if "~" in text else text

    return named


def _card_of(facts: Facts, lead: str) -> tuple[str, str]:
    """(anchor, text) of an experiment as a card: verdict, claim, because, in the page's own words; each half gives way to the other."""
    claim, because = " ".join(facts.hypothesis.split()), " ".join(facts.because.split())
    room = SHORTEST - len(lead)
    if facts.failed and because:
        # What was hoped for goes behind what was measured.
        claim, because = because, f"Tried: {claim}" if claim else ""
    mine = cut(claim, max(room // 2, room - len(because) - 1))
    between = " " if mine == claim else " … "
    place = facts.place("verdict") or facts.place("hypothesis")
    text = f"{lead}{mine}{between}{cut(because, room - len(mine) - len(between))}".rstrip()
    return (place.anchor if place else ""), text


@lru_cache(maxsize=1 << 11)
def _stretches(text: str) -> frozenset[tuple[str, ...]]:
    words = text.lower().split()
    return frozenset(zip(*(words[i:] for i in range(5)), strict=False))
