"""How rare each term and lever is among what was tried, in the whole wiki and on each target: what everybody names tells nothing.

Refuses to judge by few: a target of less than ten aims is judged as the wiki is.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from types import MappingProxyType

from msgspec.structs import replace

from kb.refuted.intent import Aim
from kb.refuted.moves import Move, Role, pulled
from kb.refuted.values import canonical
from kb.run.record import Lever
from kb.trail.levers import number_of, switch_of

# Few texts tell little of what is rare: a word counts as if so many more lacked it.
_MORE = 9
# From ten aims on a share says something; a lever that a fifth of them name, or a value at which a fifth stand, is a habit.
_ENOUGH, _HABIT = 10, 0.2
# At a value of its own stands one run alone.
_OTHERS = 2
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
            rarity = math.log((size + _MORE) / (terms.get(term, 0) + 0.5))
            self.known[term, target] = max(0.0, rarity)
        return self.known[term, target]

    def pulls(self, aim: Aim, target: str) -> dict[str, Move]:
        """The levers that an aim is about, by key and the most telling first: without those that runs of its target share by habit,
        unless it sets nothing else.
        """
        return self.known_pulls(aim.moves, aim.command, target)

    def _pulls(
        self, moves: tuple[Move, ...], command: tuple[Lever, ...], target: str
    ) -> dict[str, Move]:
        roles = self._roles(command, target)
        own = pulled(replace(m, role=roles[m.key]) if m.key in roles else m for m in moves)
        rare = [m for m in own if m.is_moved or not self._is_habit("=" + m.key, target)]
        if not any(m.is_setting or m.is_moved for m in rare):
            rare = own
        return {
            m.key: m
            for m in sorted(rare, key=lambda m: (-m.role, -self.of("=" + m.key, target), m.key))
        }

    def _roles(self, command: tuple[Lever, ...], target: str) -> dict[str, Role]:
        """The settings of a whole command by key: moved where no other run of its target stands, where runs stand at most of the others."""
        _, terms = self.counts(target)
        settings = {canonical(switch_of(v.name)[0]): v.value for v in command}
        stands = {k for k, v in settings.items() if terms.get(_point(k, v), 0) >= _OTHERS}
        if len(stands) == len(settings) or 2 * len(stands) < len(settings):
            return {}
        return {key: Role.HELD if key in stands else Role.MOVED for key in settings}

    def _is_habit(self, term: str, target: str) -> bool:
        size, terms = self._share(target)
        return size >= _ENOUGH and terms.get(term, 0) > _HABIT * size


def _point(key: str, value: str) -> str:
    if not value:
        return "=" + key
    number = number_of(value)
    return f"@{key}={value if number is None else f'{number:g}'}"


def terms_of(aim: Aim) -> set[str]:
    """What of an aim is counted: its terms, and the values at which it stands without moving them."""
    moved = {m.key for m in aim.moves if m.is_moved}
    at = ((canonical(switch_of(v.name)[0]), v.value) for v in aim.point)
    return {*aim.terms, *(_point(key, value) for key, value in at if key not in moved)}


def counts_of(
    aims: Iterable[tuple[str, Aim]], *, beside: Mapping[str, Counts] = MappingProxyType({})
) -> dict[str, Counts]:
    """Counts among (target, aim) pairs, by target and of all (''); `beside` are those of others that count as well."""
    counts = defaultdict(Counter, {name: Counter(terms) for name, (_, terms) in beside.items()})
    sizes = Counter({name: size for name, (size, _) in beside.items()})
    for target, aim in aims:
        terms = terms_of(aim)
        for name in {"", target}:
            counts[name].update(terms)
            sizes[name] += 1
    return {name: (sizes[name], counts[name]) for name in sizes}


def rarity_of(counts: Mapping[str, Counts]) -> Rarity:
    return Rarity(lambda name: counts.get(name, (0, {})), {})
