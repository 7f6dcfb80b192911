"""How alike two texts are in what they pull: one lever by whatever name, with the same value or another, the same way or back.

Refuses to take a part for the whole: of several levers moved together, one alone is only similar.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache

from msgspec.structs import replace

from kb.refuted.intent import terms_in
from kb.refuted.moves import Move, Role
from kb.refuted.values import (
    OFF,
    ON,
    canonical,
    initials,
    parts_of_name,
    same_value,
    way_of_numbers,
)
from kb.run.record import Lever
from kb.trail.levers import OPPOSITE, key_of, number_of, switch_of

# Smaller whole numbers stand behind many settings at once.
_TELLING_NUMBER = 100


@dataclass(frozen=True, slots=True)
class Likeness:
    """kind: same-value, same-lever or similar; `lever` is the card's that makes it so; `decides`: by it alone the two are near."""

    kind: str = "similar"
    lever: Move | None = None
    decides: bool = False


def likeness_of(mine: Mapping[str, Move], theirs: Mapping[str, Move]) -> Likeness:
    """Likeness of what two texts pull, by key, or by a name that is the other's with its owner in front (`a.b.size`, `b.size`)."""
    owned = {
        key: next(
            (
                k
                for k, m in mine.items()
                if k not in theirs
                and (m.name.endswith("." + q.name) or q.name.endswith("." + m.name))
            ),
            key,
        )
        for key, q in theirs.items()
    }
    theirs = {owned[key]: replace(q, key=owned[key]) for key, q in theirs.items()}
    both = mine.keys() & theirs.keys()
    if not both:
        short = _short(mine, theirs)
        return Likeness(lever=short, decides=short is not None)
    key = max(
        both,
        key=lambda k: (mine[k].is_setting + theirs[k].is_setting, mine[k].role + theirs[k].role, k),
    )
    # What a text names and says nothing else of may not be what it tries.
    bare = any(m.role is Role.NAMED and not m.value + m.way for m in (mine[key], theirs[key]))
    alone = 2 * len(both) >= max(_size(mine, mine[key]), _size(theirs, mine[key]))
    return Likeness(
        _kind(mine[key], theirs[key]) if alone and not bare else "similar",
        theirs[key],
        alone and (theirs[key].is_moved or not any(m.is_moved for m in theirs.values())),
    )


def _size(pulls: Mapping[str, Move], lever: Move) -> int:
    """How many levers are pulled together; names of code on which nothing is set count only beside another of these."""
    return sum(m.is_setting or not lever.is_setting for m in pulls.values())


def _kind(mine: Move, theirs: Move) -> str:
    """same-value, same-lever or similar, of one lever that two texts pull."""
    switches = {mine.switch, theirs.switch}
    if (
        switches == {"on", "off"}
        or "off" in switches
        and (mine.value or theirs.value)
        and "" in switches
    ):
        return "similar"
    if (
        mine.value
        and theirs.value
        and same_value(mine.value, theirs.value)
        or switches in ({"on"}, {"off"})
    ):
        return "same-value"
    way = mine.way or way_of_numbers(theirs.before, mine.value)
    other = theirs.way or way_of_numbers(mine.before, theirs.value)
    if OPPOSITE.get(way) == other != "":
        return "similar"
    numbers = number_of(mine.value), number_of(theirs.value)
    # Of two numbers of one knob something must say that both lie on the same side of where it stood.
    return "same-lever" if None in numbers or way and way == other else "similar"


@lru_cache(maxsize=1 << 16)
def short_for(one: str, other: str) -> bool:
    """Whether one of two names may be short for the other: its initials (`bs`, `batch_size`; `peak lr`, `learning_rate`), its last
    word (`lr`, `peak lr`) or its first letter (`b`).
    """
    short, long = sorted((one, other), key=lambda name: len(key_of(name)))
    forms = (
        initials(long),
        initials(f"{long}_size"),
        key_of(long)[:1],
        (parts_of_name(long) or ("",))[-1],
    )
    last = (parts_of_name(short) or ("",))[-1]
    return (
        key_of(short) in forms
        or len(last) > 1
        and last in (initials(long), initials(f"{long}_size"))
    )


def by_value(
    mine: Mapping[str, Move], theirs: Mapping[str, Move], terms: Mapping[str, float]
) -> Likeness:
    """Likeness to a lever that a text does not name: it goes between the same numbers, with no other lever; or it sets nothing and
    holds all of its value (`zstd at level six`, `codec=ZSTD(6)`), where that tells.
    """
    own = {_pair(m) for m in mine.values()} | {frozenset()}
    free = not any(m.is_setting for m in mine.values())
    spans = (m for m in theirs.values() if _pair(m) not in own and _pair(m) <= terms.keys())
    values = (m for m in theirs.values() if free and _telling(m.value) & terms.keys())
    names = (
        m for m in theirs.values() if free and _name(m.value) and _name(m.value) <= terms.keys()
    )
    lever = next((m for levers in (spans, values, names) for m in levers), None)
    return Likeness(lever=lever, decides=lever is not None)


def _pair(move: Move) -> frozenset[str]:
    """The terms of both numbers between which a lever goes, unless both are counts as small as many settings have."""
    numbers = {number_of(move.before), number_of(move.value)} - {None}
    large = any(not n.is_integer() or n >= _TELLING_NUMBER for n in numbers)
    return frozenset(f"#{n:g}" for n in numbers if large and len(numbers) > 1)


@lru_cache(maxsize=1 << 12)
def _name(value: str) -> set[str]:
    """The terms of a value that is a name; none of a number and of a switch."""
    words = terms_in(value) if number_of(value) is None else set()
    return words if any(len(w) > 2 and w[0] != "#" and w not in ON | OFF for w in words) else set()


def _telling(value: str) -> set[str]:
    """The term of a number that stands behind few settings: a hundred and more, or a fraction of two digits."""
    number = number_of(value)
    tells = number is not None and (number >= _TELLING_NUMBER or not (number * 10).is_integer())
    return {f"#{number:g}"} if tells else set()


def _short(mine: Mapping[str, Move], theirs: Mapping[str, Move]) -> Move | None:
    """A card's lever that one of a proposal may be short for: too little for the same lever."""
    pairs = (
        (p, q) for p in mine.values() for q in theirs.values() if min(len(p.key), len(q.key)) > 1
    )
    return next(
        (q for p, q in pairs if short_for(p.name, q.name) and same_value(p.value, q.value)), None
    )


def differences(
    card: Iterable[Lever], proposal: Iterable[Lever], *, leaving_out: str = ""
) -> list[str]:
    """Settings that both name with other numbers, as `batch_size 3 → 4`; the lever itself is not compared.

    A short name that may stand for several settings (`bs` for batch size and for block size) is compared with all of them.
    """
    lines: list[str] = []
    theirs = [(canonical(switch_of(v.name)[0]), v) for v in card]
    for mine in proposal:
        key = canonical(switch_of(mine.name)[0])
        meant = [v for k, v in theirs if k == key] or [
            v for _, v in theirs if short_for(mine.name, v.name)
        ]
        other = next((v for v in meant if number_of(v.value) != number_of(mine.value)), None)
        if other and leaving_out not in (key, canonical(switch_of(other.name)[0])):
            name = max(mine.name, other.name, key=len) if len(meant) == 1 else mine.name
            lines.append(f"{name.lstrip('-')} {other.value} → {mine.value}")
    return lines
