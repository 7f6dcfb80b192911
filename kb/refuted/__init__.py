"""Refuted cards: compiled from failed experiments, retired hypotheses and dead-end lists; matched against proposals.

Refuses to forbid: it warns and asks what differs. The match itself, which a build has no use for, is `kb.refuted.gate`.
"""

import json
import sqlite3
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from kb.graph import Graph
from kb.refuted.aim import Aim
from kb.refuted.card import Card, aim_from_json, aim_to_json, from_row, to_row
from kb.refuted.compile import cards_of, split
from kb.refuted.statements import statements_of
from kb.store import diff, digest_of
from kb.trail import Moment, Trail

__all__ = ["TABLES", "Card", "Deck", "cards", "deck_of", "save", "statements_of"]

TABLES: tuple[str, ...] = (
    """create table card (number integer primary key, id text not null unique, digest text not null, target text not null, date text not null, serial integer not null,
    evidence text not null, row text not null, aim text not null)""",
    "create index card_target on card (target, date, serial, evidence)",
    "create table card_term (term text not null, card integer not null, weight real not null, primary key (term, card)) without rowid",
    # How many aims (of all experiments and cards) hold a term: for all (target '') and for each target, as JSON.
    "create table card_frequency (target text primary key, aims integer not null, terms text not null) without rowid",
)


@dataclass(frozen=True, slots=True)
class Deck:
    """Every card of a knowledge base, in trail order of its evidence, and the aims of all its experiments by path, as read
    and as stored.
    """

    cards: tuple[Card, ...]
    aims: Mapping[str, Aim]
    rows: Mapping[str, str]


def deck_of(trail: Trail, statements: Iterable[tuple[str, str]], graph: Graph) -> Deck:
    """Deck of a trail and of the (path, row) pairs that `statements_of` made of all pages."""
    rows = dict(statements)
    aims, said = split(rows.items())
    return Deck(cards_of(trail, aims, said, graph), aims, {path: rows[path] for path in aims})


def save(db: sqlite3.Connection, trail: Trail, deck: Deck) -> None:
    """Write the cards so that a fresh process can match a proposal quickly; only what differs is written."""
    rows = {
        c.id: (
            to_row(c),
            deck.rows[c.evidence]
            if c.kind == "experiment"
            else json.dumps(aim_to_json(c.aim), ensure_ascii=False, separators=(",", ":")),
        )
        for c in deck.cards
    }
    digests = {i: digest_of(row + aim) for i, (row, aim) in rows.items()}
    change = diff(digests, dict(db.execute("select id, digest from card")))
    for gone in (*change.removed, *change.changed):
        number, aim = db.execute("select number, aim from card where id = ?", (gone,)).fetchone()
        db.executemany(
            "delete from card_term where term = ? and card = ?", ((term, number) for term in aim_from_json(json.loads(aim)).terms)
        )
        db.execute("delete from card where number = ?", (number,))
    wanted = {*change.added, *change.changed}
    for card in deck.cards:
        if card.id in wanted:
            made = db.execute(
                "insert into card (id, digest, target, date, serial, evidence, row, aim) values (?, ?, ?, ?, ?, ?, ?, ?)",
                (card.id, digests[card.id], card.target, card.date, card.number, card.evidence, *rows[card.id]),
            )
            db.executemany("insert into card_term values (?, ?, ?)", ((t, made.lastrowid, w) for t, w in card.aim.terms.items()))
    _save_frequencies(db, trail, deck)


def _save_frequencies(db: sqlite3.Connection, trail: Trail, deck: Deck) -> None:
    sets = [(e.target, deck.aims[e.path].terms) for e in trail.experiments] + [
        (c.target, c.aim.terms) for c in deck.cards if c.kind not in ("experiment", "principle")
    ]
    counts: dict[str, Counter[str]] = {"": Counter()}
    sizes: Counter[str] = Counter()
    for target, terms in sets:
        for name in {"", target}:
            counts.setdefault(name, Counter()).update(terms.keys())
            sizes[name] += 1
    rows = {
        name: (sizes[name], json.dumps(dict(sorted(count.items())), ensure_ascii=False, separators=(",", ":")))
        for name, count in counts.items()
    }
    have = {target: (aims, terms) for target, aims, terms in db.execute("select target, aims, terms from card_frequency")}
    db.executemany("delete from card_frequency where target = ?", [(t,) for t in have if rows.get(t) != have[t]])
    db.executemany(
        "insert into card_frequency values (?, ?, ?)", [(t, *row) for t, row in sorted(rows.items()) if have.get(t) != row]
    )


def cards(db: sqlite3.Connection, *, target: str | None = None, before: Moment | None = None) -> tuple[Card, ...]:
    """Cards in trail order: of one target (with those that speak of no target) or of all, with evidence strictly earlier
    than `before`.
    """
    where, values = [], []
    if target is not None:
        where.append("target in (?, '')")
        values.append(target)
    if before is not None:
        where.append("(date, serial, evidence) < (?, ?, ?)")
        values.extend(before)
    query = f"select row, aim from card{' where ' + ' and '.join(where) if where else ''} order by date, serial, evidence, id"
    return tuple(from_row(row, aim) for row, aim in db.execute(query, values))
