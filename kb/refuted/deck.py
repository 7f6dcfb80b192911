"""Every card of a knowledge base, and their tables. Refuses to match: that is `kb.refuted.gate`."""

import sqlite3
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kb.refuted.card import Card
from kb.refuted.compile import cards_of, reason_in, with_parents
from kb.refuted.rarity import Counts, counts_of, rarity_of
from kb.refuted.statement import RunAim, Statement
from kb.schema import BROKEN
from kb.store import Kept, diff, digest_of, packed, replace_rows, row_of, value_of
from kb.text import cut, words_of
from kb.trail import Facts, Trail

if TYPE_CHECKING:
    from kb.graph import Graph

TABLES: tuple[str, ...] = (
    """create table card (number integer primary key, id text not null unique, digest text not null, target text not null, date text not null, serial integer not null,
    evidence text not null, row blob not null)""",
    "create index card_target on card (target, date, serial, evidence)",
    "create table card_term (term text not null, card integer not null, weight real not null, primary key (term, card)) without rowid",
    # How many aims (of all experiments and cards) hold a term: for all (target '') and for each target, as JSON.
    "create table card_frequency (target text primary key, aims integer not null, terms text not null) without rowid",
    # Who pulled a lever, failed or not: what the gate tallies.
    """create table attempt (key text not null, path text not null, target text not null, date text not null, serial integer not null, name text not null,
    value text not null, verdict text not null, left text not null, settles text not null, primary key (key, path)) without rowid""",
)


@dataclass(frozen=True, slots=True)
class Deck:
    """Every card of a knowledge base, in trail order of its evidence; what all its experiments wanted to move, by path; how many of those hold each term."""

    cards: tuple[Card, ...]
    runs: Mapping[str, RunAim]
    counts: Mapping[str, Counts]

    @property
    def refuted(self) -> tuple[Card, ...]:
        """The cards of what failed, without those of runs of which nobody can tell how they came out."""
        return tuple(c for c in self.cards if c.is_failure)


# So much is told of what was wrong with a run.
_LONGEST_WRONG = 160
# What of a deck is kept run by run.
KEPT = ("card",)


def deck_of(
    trail: Trail, statements: Iterable[tuple[str, bytes]], graph: "Graph", kept: Kept
) -> Deck:
    """Deck of a trail and of the (path, row) pairs that `statements_of` made of all pages."""
    tries = {e.path for e in trail.experiments}
    runs: dict[str, RunAim] = {}
    stated: list[tuple[str, list[Statement]]] = []
    for path, row in statements:
        if path in tries:
            runs[path] = value_of(row, RunAim)
        else:
            stated.append((path, value_of(row, list[Statement])))
    runs = with_parents(trail, runs)
    counts = counts_of((e.target, runs[e.path].aim) for e in trail.experiments)
    return Deck(cards_of(trail, runs, stated, graph, counts, kept), runs, counts)


def save(db: sqlite3.Connection, trail: Trail, deck: Deck) -> None:
    """Write the cards so that a fresh process can match a proposal quickly; only what differs is written."""
    # `by` and status are kept as of all pages and read against the moment of the question.
    rows = {c.id: row_of(c) for c in deck.cards}
    digests = {i: digest_of(row) for i, row in rows.items()}
    change = diff(digests, dict(db.execute("select id, digest from card")))
    for gone in (*change.removed, *change.changed):
        number, row = db.execute("select number, row from card where id = ?", (gone,)).fetchone()
        terms = value_of(row, Card).aim.terms
        db.executemany(
            "delete from card_term where term = ? and card = ?", ((term, number) for term in terms)
        )
        db.execute("delete from card where number = ?", (number,))
    wanted = {*change.added, *change.changed}
    for card in deck.cards:
        if card.id in wanted:
            cursor = db.execute(
                "insert into card (id, digest, target, date, serial, evidence, row) values (?, ?, ?, ?, ?, ?, ?)",
                (
                    card.id,
                    digests[card.id],
                    card.target,
                    card.date,
                    card.number,
                    card.evidence,
                    rows[card.id],
                ),
            )
            db.executemany(
                "insert into card_term values (?, ?, ?)",
                (
                    (t, cursor.lastrowid, w)
                    for t, w in card.aim.terms.items()
                    if card.status != "tried" or t[0] == "="
                ),
            )
    _save_frequencies(db, deck)
    _save_attempts(db, trail, deck)


def _save_frequencies(db: sqlite3.Connection, deck: Deck) -> None:
    stated = (c for c in deck.cards if c.kind not in ("experiment", "principle"))
    counts = counts_of(((c.target, c.aim) for c in stated), beside=deck.counts)
    rows = (
        (name, size, packed(dict(sorted(terms.items())))) for name, (size, terms) in counts.items()
    )
    replace_rows(db, "card_frequency", rows)


def _save_attempts(db: sqlite3.Connection, trail: Trail, deck: Deck) -> None:
    rare = rarity_of(deck.counts)
    rows = []
    for e in trail.experiments:
        run, verdict = deck.runs[e.path], str(e.verdict.canonical or "")
        if verdict == "inconclusive" and (run.rule == "tie" or "tie" in words_of(e.verdict.raw)):
            verdict = "tie"
        about = (e.path, e.target, e.date, e.number)
        for m in () if e.first else rare.pulls(run.aim, e.target).values():
            rows.append((m.key, *about, m.name, m.value, verdict, *_left(e, run, verdict)))
    replace_rows(db, "attempt", rows)


def _left(e: Facts, run: RunAim, verdict: str) -> tuple[str, str]:
    """How a run that kb measured decides nothing of its levers (open, misuse, no-op; empty where it does), and what would settle it, or was wrong."""
    if run.measured and verdict == "inconclusive":
        return ("no-op", "") if run.rule == "no-op" else ("open", run.settles)
    if run.measured and verdict == "invalid" and run.rule not in BROKEN:
        because = " ".join(e.because.partition("Rule: ")[0].split())
        return "misuse", cut(reason_in(because), _LONGEST_WRONG)
    return "", ""
