"""How rare each term and lever is among what was tried, in the whole wiki and on each target: what everybody names tells nothing.

Refuses to judge by few: a target of less than ten aims is judged as the wiki is.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from functools import cache

from kb.refuted.intent import REASON, Aim
from kb.refuted.moves import Move, pulled
from kb.text import words_of

# Few texts tell little of what is rare: a word counts as if so many more lacked it.
_MORE = 9
# From ten aims on a share says something; a lever that a fifth of them name, is a habit.
_ENOUGH, _HABIT = 10, 0.2
# How many aims there are, and how many of them hold each term.
Counts = tuple[int, Mapping[str, int]]


class Rarity:
    """`counts` gives those of a target, or of the whole wiki (''); `known` holds what was reckoned before."""

    def __init__(self, counts: Callable[[str], Counts], known: dict[tuple[str, str], float]):
        self.counts, self.known = counts, known
        self.known_pulls = cache(self._pulls)

    def _share(self, target: str) -> Counts:
        size, terms = self.counts(target)
        return (size, terms) if size >= _ENOUGH else self.counts("")

    def of(self, term: str, target: str = "") -> float:
        """How much a term tells: the log of how rare it is."""
        if (term, target) not in self.known:
            size, terms = self._share(target)
            self.known[term, target] = max(
                0.0, math.log((size + _MORE) / (terms.get(term, 0) + 0.5))
            )
        return self.known[term, target]

    def pulls(self, aim: Aim, target: str) -> dict[str, Move]:
        """The levers that an aim is about, by key and the most telling first: without those that runs of its target share by habit,
        unless it sets nothing else.
        """
        return self.known_pulls(aim.moves, target)

    def _pulls(self, moves: tuple[Move, ...], target: str) -> dict[str, Move]:
        # What names the target ("Llama 3" of llama3_8B) is what it is about, and no lever of it.
        named = words_of(target.replace("_", " "))
        own = pulled(m for m in moves if f"{m.key}{m.value}".lower() not in named)
        rare = [m for m in own if m.is_moved or not self._is_habit("=" + m.key, target)]
        if not any(m.is_setting or m.is_moved for m in rare):
            rare = own
        rank = lambda m: (-m.role, -self.of("=" + m.key, target), m.key)  # noqa: E731
        return {m.key: m for m in sorted(rare, key=rank)}

    def _is_habit(self, term: str, target: str) -> bool:
        size, terms = self._share(target)
        return size >= _ENOUGH and terms.get(term, 0) > _HABIT * size


def counts_of(
    aims: Iterable[tuple[str, Aim]], *, beside: Mapping[str, Counts] | None = None
) -> dict[str, Counts]:
    """Counts among (target, aim) pairs, by target and of all (''); `beside` those of runs, they are of statements, of which only what was
    tried counts, and not why it failed.
    """
    runs = beside or {}
    counts = defaultdict(Counter, {name: Counter(terms) for name, (_, terms) in runs.items()})
    sizes = Counter({name: size for name, (size, _) in runs.items()})
    for target, aim in aims:
        for name in {"", target}:
            counts[name].update(t for t, w in aim.terms.items() if beside is None or w != REASON)
            sizes[name] += 1
    return {name: (sizes[name], counts[name]) for name in sizes}


def rarity_of(counts: Mapping[str, Counts]) -> Rarity:
    return Rarity(lambda name: counts.get(name, (0, {})), {})
