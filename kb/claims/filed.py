"""Claims on file: one JSON file a source below `sources/claims/`, and what follows from them together, conflicts of quantities first.

A claim is a sentence with the words of its source that say so. It enters by the gate alone, and goes when its source goes.
"""

import math
from collections import defaultdict
from collections.abc import Iterable
from itertools import combinations
from pathlib import Path

import msgspec

from kb import KbError, store
from kb.text import fold, unit_of, words_of

FOLDER = "claims"


class StatedQuantity(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A value with its unit, of a subject, under a condition (empty: always)."""

    subject: str
    quantity: str
    value: float
    unit: str
    condition: str = ""

    @property
    def key(self) -> tuple[str, str]:
        """What must be equal for two quantities to speak of one thing."""
        return " ".join(words_of(self.subject)), " ".join(sorted(words_of(self.quantity)))


class Claim(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One admitted claim: where it stands in the wiki, and characters `start` to `end` of its source that it rests on."""

    page: str
    section: str
    claim: str
    quote: str
    source: str
    start: int
    end: int
    packet: str
    links: tuple[str, ...] = ()
    quantity: StatedQuantity | None = None

    @property
    def key(self) -> tuple[str, str, str]:
        """What makes two claims one: the same sentence of the same source on the same page."""
        return self.page, self.source, " ".join(words_of(self.claim))


class Conflict(msgspec.Struct, frozen=True):
    """Two claims that give one quantity of one subject two values under the same condition."""

    first: Claim
    second: Claim


def claims_in(layout: store.Layout) -> tuple[Claim, ...]:
    """Every claim on file, by source and place. Raises KbError at a file that is none."""
    held, damaged = readable_claims(layout)
    if damaged:
        raise KbError(damaged[0])
    return held


def readable_claims(layout: store.Layout) -> tuple[tuple[Claim, ...], tuple[str, ...]]:
    """The claims of all files that read, and what is wrong with the others: for who reads and files nothing."""
    claims: list[Claim] = []
    damaged: list[str] = []
    for file in sorted((layout.sources / FOLDER).glob("*.json")):
        try:
            claims.extend(_read(file))
        except KbError as error:
            damaged.append(str(error))
    return tuple(claims), tuple(damaged)


def _read(file: Path) -> list[Claim]:
    try:
        return store.from_json(store.bytes_of(file), list[Claim])
    except (OSError, ValueError) as error:
        raise KbError(
            f"sources/{FOLDER}/{file.name}: no list of claims: {error}; restore it, or remove it and ingest again"
        ) from error


def file_claims(layout: store.Layout, claims: Iterable[Claim]) -> tuple[Claim, ...]:
    """Put claims on file beside those that are there; a claim that is there already stays as it is. Returns those that are new."""
    new: list[Claim] = []
    claims = tuple(claims)
    for source in dict.fromkeys(c.source for c in claims):
        held = {c.key: c for c in _of_source(layout, source)}
        added = {c.key: c for c in claims if c.source == source and c.key not in held}
        if added:
            _write(layout, source, (*held.values(), *added.values()))
            new += added.values()
    return tuple(new)


def _of_source(layout: store.Layout, source: str) -> list[Claim]:
    file = layout.sources / FOLDER / file_name(source)
    return _read(file) if file.is_file() else []


def withdraw(layout: store.Layout, source: str) -> tuple[Claim, ...]:
    """Take the claims of one source off file. Returns them. The list stays, empty: what is replayed later does not put them back."""
    gone = tuple(_of_source(layout, source))
    if gone:
        _write(layout, source, ())
    return gone


def is_withdrawn(layout: store.Layout, source: str) -> bool:
    return (layout.sources / FOLDER / file_name(source)).is_file() and not _of_source(
        layout, source
    )


def _write(layout: store.Layout, source: str, held: Iterable[Claim]) -> None:
    ordered = sorted(held, key=lambda c: (c.start, c.end, c.page, c.claim))
    data = store.to_json(ordered, order=None)
    store.write(layout.sources / FOLDER / file_name(source), data)


def file_name(source: str) -> str:
    """Name of the file that holds the claims of a source, or of a page that is quoted as one."""
    return source.removeprefix("sources/").removesuffix(".md").replace("/", "--") + ".json"


def conflicts(claims: Iterable[Claim]) -> tuple[Conflict, ...]:
    """Claims that contradict each other: one subject, one quantity, equal conditions, values that no rounding makes equal."""
    alike: dict[tuple, list[Claim]] = defaultdict(list)
    for claim in claims:
        if claim.quantity:
            alike[(*claim.quantity.key, _condition(claim.quantity))].append(claim)
    return tuple(
        Conflict(a, b)
        for same in alike.values()
        for a, b in combinations(same, 2)
        if _differ(a.quantity, b.quantity)
    )


def _condition(quantity: StatedQuantity) -> str:
    return " ".join(sorted(words_of(quantity.condition)))


def _differ(a: StatedQuantity, b: StatedQuantity) -> bool:
    mine, theirs = unit_of(a.unit), unit_of(b.unit)
    if mine and theirs and mine.dimension != theirs.dimension or bool(mine) != bool(theirs):
        return False  # Two kinds of measure: other quantities under one name.
    if mine is None and fold(a.unit) != fold(b.unit):
        return False
    left, right = (
        a.value * (mine.factor if mine else 1.0),
        b.value * (theirs.factor if theirs else 1.0),
    )
    return not math.isclose(left, right, rel_tol=max(_rounding(a.value), _rounding(b.value)))


def _rounding(value: float) -> float:
    """Relative half step of the last digit that is written: 1.6 may be anything from 1.55 to 1.65."""
    digits = f"{value:.10g}".replace("-", "").replace(".", "").lstrip("0")
    return 0.5 / max(1.0, float(digits.rstrip("0") or 1)) if value else 0.0


def about(claims: Iterable[Claim], subject: str) -> tuple[Claim, ...]:
    """Claims whose quantity or sentence speaks of a subject: all its words stand there."""
    wanted = set(words_of(subject))
    return tuple(
        c
        for c in claims
        if wanted
        <= set(
            words_of(
                f"{c.claim} {c.quantity.subject + ' ' + c.quantity.quantity if c.quantity else ''} {c.page}"
            )
        )
    )
