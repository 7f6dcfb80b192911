"""The refuted card: one thing that was tried and failed, with its evidence and its scope; why it failed, as a class of reasons that any
domain has, and what would have to change before it is worth another try.

Refuses to guess: a text that says none of them has no reason.
"""

import sqlite3
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TypeVar

from kb import regex
from kb.refuted.intent import Aim
from kb.run.record import Lever
from kb.schema import Verdict
from kb.store import digest_of, value_of
from kb.text import sentences_of
from kb.trail import Moment
from kb.trail.outline import Phrases, passages_of

# Cards that a page tells without a run behind them: they warn, and alone they make nothing a repeat.
_STATED_KINDS = frozenset(
    ("hypothesis", "bullet", "row", "principle", "attempt", "declined", "remark")
)
_T = TypeVar("_T")
# What only asks for a look.
_NO_FAILURE = ("unread", "tried")


@dataclass(frozen=True, slots=True)
class Card:
    """One refuted pattern. `evidence` is the page that shows it; `told_by` are pages that repeat it.

    kind: experiment, hypothesis, bullet, row, principle, attempt (a section that sets and measures something), declined, remark. status: standing, reopened
    (`by` is a later supported run in its scope), superseded (`by` is a later failed run of the same lever and value), unread (nobody can
    tell how the run came out), tried (no failure is told: met by the same value of its lever alone). `order` is the evidence's place in the trail.
    """

    id: str
    kind: str
    evidence: str
    anchor: str
    target: str
    variant: str
    date: str
    number: int
    title: str
    claim: str
    because: str
    delta: str
    verdict: str
    levers: tuple[Lever, ...]
    direction: str
    point: tuple[Lever, ...]
    reopen_if: str
    aim: Aim
    status: str = "standing"
    by: str = ""
    told_by: tuple[str, ...] = ()
    experiments: tuple[str, ...] = ()

    @property
    def order(self) -> tuple[str, int, str]:
        return self.date, self.number, self.evidence

    @property
    def matter(self) -> str:
        """Digest of where and what was tried: whoever read a card read that."""
        return digest_of(f"{self.evidence}\n{self.title}\n{self.claim}")

    @property
    def is_failure(self) -> bool:
        return self.status not in _NO_FAILURE

    @property
    def is_statement(self) -> bool:
        """Whether it is read from a statement and not from an experiment."""
        return self.kind in _STATED_KINDS


def as_of(card: Card, *, by_then: bool) -> Card:
    """A card as it stood at a moment: what reopened or superseded it may not have happened `by_then`."""
    return card if by_then or not card.by else replace(card, status="standing", by="")


# Why something failed, by the words any domain uses (in small letters), and what would reopen it; the first that fits names the reason.
_REASONS = tuple(
    (name, reopen_if, regex(words))
    for name, reopen_if, words in (
        (
            "out of memory",
            "memory is freed, or the shape is smaller",
            r"\booms?\b|out of memory|exceeds? (?:memory|capacity)|over capacity|does(?:n['’]t| not) fit|memory (?:limit|pressure|ceiling)",
        ),
        (
            "wrong result",
            "the numerics are mended",
            r"\b(?:nan|inf)\b|diverg\w+|numerics?\b|parity (?:fail|broke)|wrong (?:result|output)|incorrect|precision loss|accuracy drop",
        ),
        (
            "does not run",
            "the stack supports it",
            r"compile[- ]?(?:error|fail\w*|time)|unsupported|not supported|no (?:backward|gradient)\w*|api\b|crash\w*|deadlock\w*|"
            r"hang(?:s|ed)?\b|segfault|missing|unrecogni[sz]ed",
        ),
        (
            "slower",
            "the cost it ran into is gone",
            r"regress\w*|slower|worse|below the (?:baseline|parent|frontier)|% below|falls? to|−\s?\d|(?<![\w.])-\d+(?:\.\d+)?\s?%|"
            r"overhead|hurts?\b|costs? more",
        ),
        (
            "no effect",
            "the profile shows that it matters",
            r"no[- ]op|no (?:effect|gain|change|benefit|improvement)|within noise|flat\b|tie\b|neutral|already (?:optimal|effective|fus\w+)",
        ),
    )
)


def reason_of(text: str, verdict: str) -> str:
    """Class of why something failed, such as `out of memory`; empty where the text does not say."""
    lower = text.lower()
    return next(
        (name for name, _, words in _REASONS if words.search(lower)),
        "does not run" if verdict == Verdict.CRASH else "",
    )


def condition_of(point: tuple[Lever, ...], reason: str) -> str:
    """What would reopen what failed for a reason, and the point at which it was tried."""
    shape = ", ".join(f"{v.name.lstrip('-')} {v.value}" for v in point[:3])
    why = next(
        (reopen_if for name, reopen_if, _ in _REASONS if name == reason), "the stack changed"
    )
    return f"{why}{f' (tried at {shape})' if shape else ''}"


_REOPENS = Phrases(
    ", ".join(
        rf"{words} [^.;]{{0,40}}?\b(?:if|once|when|unless)\b"
        for words in ("re-?(?:open|visit|try(?:ing)?)", "try(?:ing)? (?:it|this|that) again")
    )
)


def reopening_in(text: str) -> str:
    """What a page says would open it again, in its own words ("worth retrying once the driver copies by itself")."""
    passages = passages_of(text) if _REOPENS.search(text) else ()
    sentences = (s for p in passages if p.kind == "paragraph" for s in sentences_of(p.text))
    conditions = (s[m.end() :] for s in sentences if (m := _REOPENS.search(s)))
    return next(conditions, "").strip(" .")


def cards(
    db: sqlite3.Connection, *, target: str | None = None, before: Moment | None = None
) -> tuple[Card, ...]:
    """Cards of what failed in trail order: of one target (with those that speak of no target) or of all, with evidence strictly earlier
    than `before`.
    """
    return tuple(c for c in _values(db, Card, target, before) if c.is_failure)


@dataclass(frozen=True, slots=True)
class _TitleRow:
    """What of a card's row names it: a row is read ten times as fast without its words."""

    evidence: str
    title: str
    status: str


def titles(
    db: sqlite3.Connection, *, target: str | None = None, before: Moment | None = None
) -> list[tuple[str, str]]:
    """(evidence, title) of the same cards."""
    named = _values(db, _TitleRow, target, before)
    return [(c.evidence, c.title) for c in named if c.status not in _NO_FAILURE]


def _values(
    db: sqlite3.Connection, kind: type[_T], target: str | None, before: Moment | None
) -> Iterator[_T]:
    where, values = [], []
    if target is not None:
        where.append("target in (?, '')")
        values.append(target)
    if before is not None:
        where.append("(date, serial, evidence) < (?, ?, ?)")
        values.extend(before)
    query = f"select row from card{' where ' + ' and '.join(where) if where else ''} order by date, serial, evidence, id"
    return (value_of(row, kind) for (row,) in db.execute(query, values))


def cards_at(db: sqlite3.Connection, pages: Iterable[str]) -> list[Card]:
    """Every card that rests on one of these pages, and what tells of no failure."""
    rows = (db.execute("select row from card where evidence = ? order by id", (p,)) for p in pages)
    return [value_of(row, Card) for listed in rows for (row,) in listed]
