"""Claims on file: one JSON file a source below `sources/claims/`, and what follows from them together, conflicts of quantities first.

A claim is a sentence with the words of its source that say so. It enters by the gate alone. While its source is not there it is none; what
was withdrawn leaves where it stood, and no word of what it said.
"""

import math
from collections.abc import Iterable, Mapping
from itertools import combinations
from pathlib import Path

import msgspec

from kb import KbError, grouped, store
from kb.claims.figures import values_of
from kb.claims.names import forms_of
from kb.text import fold, unit_of, words_of

FOLDER = "claims"


class ClaimedQuantity(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True
):
    """A measured or specified value that a claim states. `subject` is what has it, `condition` under which it holds (empty: always)."""

    subject: str
    quantity: str
    value: float
    unit: str
    condition: str = ""

    @property
    def key(self) -> tuple[str, ...]:
        """What must be equal for two quantities to speak of one thing under one condition."""
        words = (words_of(text) for text in (self.quantity, self.condition))
        return " ".join(words_of(self.subject)), *(" ".join(sorted(w)) for w in words)


class Claim(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One admitted claim: where it stands in the wiki, and characters `start` to `end` of its source that it rests on. `joined` is the source
    of another claim of its page that says the same: while that is there, this one is not shown.
    """

    page: str
    section: str
    claim: str
    quote: str
    source: str
    start: int
    end: int
    packet: str
    links: tuple[str, ...] = ()
    quantity: ClaimedQuantity | None = None
    joined: str = ""

    @property
    def key(self) -> tuple[str, str, str]:
        """What makes two claims one: the same sentence of the same source on the same page."""
        return self.page, self.source, " ".join(words_of(self.claim))


class Conflict(msgspec.Struct, frozen=True):
    """Two claims that give one quantity of one subject two values under the same condition."""

    first: Claim
    second: Claim


def claims_in(layout: store.Layout, *, joined: bool = False) -> tuple[Claim, ...]:
    """Every claim on file whose source is there, by source and place; with those that others say as well (`joined`). Raises KbError at a
    file that is none.
    """
    held, damaged = readable_claims(layout, joined=joined)
    if damaged:
        raise KbError(damaged[0])
    return held


def readable_claims(
    layout: store.Layout, *, gone: bool = False, joined: bool = False
) -> tuple[tuple[Claim, ...], tuple[str, ...]]:
    """The claims of all files that read, and what is wrong with the others: for who reads and files nothing. `gone`: those that were
    withdrawn or whose source went.
    """
    claims = list[Claim]()
    damaged = list[str]()
    for file in sorted((layout.sources / FOLDER).glob("*.json")):
        try:
            claims += (
                c
                for c in _read(file)
                if gone is not (c.claim != "" and (layout.root / c.source).exists())
                and (
                    joined
                    or not c.joined
                    or is_withdrawn(layout, c.joined)
                    or not (layout.root / c.joined).exists()
                )
            )
        except KbError as error:
            damaged.append(str(error))
    return tuple(claims), tuple(damaged)


def _read(file: Path) -> list[Claim]:
    try:
        return store.from_json(store.bytes_of(file), list[Claim])
    except FileNotFoundError:
        return []
    except (OSError, ValueError) as error:
        raise KbError(
            f"sources/{FOLDER}/{file.name}: no list of claims: {error}; restore it, or remove it and ingest again"
        ) from error


def file_claims(layout: store.Layout, claims: Iterable[Claim]) -> None:
    """Put claims on file beside those that are there; a claim that is there already stays as it is."""
    by_source = grouped((claim.source, claim) for claim in claims)
    for source, new in by_source.items():
        held = [c for c in _read(_file(layout, source)) if c.claim]
        together = {c.key: c for c in (*new, *held)}
        if len(together) > len(held):
            _write(_file(layout, source), together.values())


def reorder(layout: store.Layout, page: str, claims: Iterable[Claim]) -> None:
    """Put the claims of a page under the headings of those written anew, and join to one of these each that says no number and no name
    which that does not say; what says none, or one of its own, stays as it is.
    """
    anew = {c.key: c for c in claims if c.page == page}
    for file in sorted((layout.sources / FOLDER).glob("*.json")):
        held = _read(file)
        wanted = [_reordered(c, anew) if c.page == page and c.claim else c for c in held]
        if wanted != held:
            _write(file, wanted)


def _reordered(claim: Claim, anew: Mapping[tuple[str, str, str], Claim]) -> Claim:
    if same := anew.get(claim.key):
        return msgspec.structs.replace(claim, section=same.section, joined="")
    own = _figures_and_names(claim)
    others = (c.source for c in anew.values() if set() < own <= _figures_and_names(c))
    return msgspec.structs.replace(claim, joined=next(others, ""))


def _figures_and_names(claim: Claim) -> set[object]:
    return {*values_of(claim.claim), *forms_of(claim.claim)}


def withdraw(layout: store.Layout, source: str) -> tuple[Claim, ...]:
    """Take the claims of one source off file. Returns them. The list stays, and says where they stood: what is replayed later does not
    put them back.
    """
    gone = tuple(c for c in _read(_file(layout, source)) if c.claim)
    if gone:
        _write(
            _file(layout, source),
            (msgspec.structs.replace(c, claim="", quote="", links=(), quantity=None) for c in gone),
        )
    return gone


def readdress(layout: store.Layout, old: str, *, new: str) -> None:
    """File the claims of a page that moves, and those that quote it or lead there, under its new path, and change no word that they quote.
    Raises KbError at a file that is none, before anything is written.
    """

    def to_new(path: str) -> str:
        return new + path[len(old) :] if path.partition("#")[0] == old else path

    def moved(c: Claim) -> Claim:
        page, source, links = to_new(c.page), to_new(c.source), tuple(map(to_new, c.links))
        return msgspec.structs.replace(
            c, page=page, source=source, links=links, joined=to_new(c.joined)
        )

    home = _file(layout, new)
    with store.lock(layout, "claims"):
        files = {file: _read(file) for file in sorted((layout.sources / FOLDER).glob("*.json"))}
        wanted = grouped(
            (home if c.source == old else file, moved(c)) for file in files for c in files[file]
        )
        for file, claims in wanted.items():
            if claims != files.get(file):
                # What a move that was killed filed there already is not filed twice.
                _write(file, dict.fromkeys(claims))
        for file in files.keys() - wanted.keys():
            if files[file]:
                store.remove(file)


def is_withdrawn(layout: store.Layout, source: str) -> bool:
    file = _file(layout, source)
    return file.is_file() and not any(c.claim for c in _read(file))


def _write(file: Path, held: Iterable[Claim]) -> None:
    ordered = sorted(held, key=lambda c: (c.start, c.end, c.page, c.claim))
    store.write(file, store.to_json(ordered, order=None))


def _file(layout: store.Layout, source: str) -> Path:
    return layout.sources / FOLDER / f"{name_of_file(source)}.json"


def name_of_file(source: str) -> str:
    """Name of the file that holds the claims of a source, or of a page that is quoted as one."""
    return source.removeprefix("sources/").removesuffix(".md").replace("/", "--")


def conflicts(claims: Iterable[Claim]) -> tuple[Conflict, ...]:
    """Claims that contradict each other: one subject, one quantity, equal conditions, values that no rounding makes equal."""
    alike = grouped((claim.quantity.key, claim) for claim in claims if claim.quantity)
    pairs = (pair for same in alike.values() for pair in combinations(same, 2))
    return tuple(Conflict(a, b) for a, b in pairs if _differ(a.quantity, b.quantity))


def _differ(a: ClaimedQuantity, b: ClaimedQuantity) -> bool:
    mine, theirs = unit_of(a.unit), unit_of(b.unit)
    same = mine.dimension == theirs.dimension if mine and theirs else fold(a.unit) == fold(b.unit)
    if not same:
        return False  # Two kinds of measure: other quantities under one name.
    left, right = (q.value * (u.factor if u else 1.0) for q, u in ((a, mine), (b, theirs)))
    return not math.isclose(left, right, rel_tol=max(_rounding(a.value), _rounding(b.value)))


def _rounding(value: float) -> float:
    """Relative half step of the last digit that is written: 1.6 may be anything from 1.55 to 1.65."""
    digits = f"{value:.10g}".replace("-", "").replace(".", "").lstrip("0")
    return 0.5 / max(1.0, float(digits.rstrip("0") or 1)) if value else 0.0


def about(claims: Iterable[Claim], subject: str) -> tuple[Claim, ...]:
    """Claims whose quantity or sentence speaks of a subject: all its words stand there."""
    wanted = set(words_of(subject))
    shown = (
        (
            c,
            f"{c.claim} {c.page}"
            + (f" {c.quantity.subject} {c.quantity.quantity}" if c.quantity else ""),
        )
        for c in claims
    )
    return tuple(c for c, text in shown if wanted <= set(words_of(text)))
