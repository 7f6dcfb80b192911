"""Refuted cards: compiled from failed experiments, retired hypotheses and dead-end lists; matched against proposals. Refuses to forbid: it warns and asks what differs."""

import json
import sqlite3
from collections import Counter
from collections.abc import Iterable

from kb.graph import Graph
from kb.refuted.card import Card, from_row, to_row
from kb.refuted.compile import cards_of as compiled
from kb.refuted.compile import split
from kb.refuted.gate import Answer, Gate, Match, Proposal
from kb.refuted.statements import statements_of
from kb.store import diff, digest_of
from kb.trail import Trail

__all__ = ["TABLES", "Answer", "Card", "Gate", "Match", "Proposal", "cards", "cards_of", "save", "statements_of"]

TABLES: tuple[str, ...] = (
    """create table card (number integer primary key, id text not null unique, digest text not null, target text not null, date text not null, serial integer not null,
    evidence text not null, row text not null)""",
    "create index card_target on card (target, date, serial, evidence)",
    "create table card_term (term text not null, card integer not null, weight real not null, primary key (term, card)) without rowid",
    # How many aims (of all experiments and cards) hold a term: for all (target '') and for each target, as JSON.
    "create table card_frequency (target text primary key, aims integer not null, terms text not null) without rowid",
)


def cards_of(trail: Trail, statements: Iterable[tuple[str, str]], graph: Graph) -> tuple[Card, ...]:
    """Every card of the knowledge base, in trail order of its evidence."""
    aims, said = split(statements)
    return compiled(trail, aims, said, graph)


def save(db: sqlite3.Connection, trail: Trail, statements: Iterable[tuple[str, str]], cards: tuple[Card, ...]) -> None:
    """Write the cards so that a fresh process can match a proposal quickly; only what differs is written."""
    rows = {c.id: to_row(c) for c in cards}
    change = diff({i: digest_of(row) for i, row in rows.items()}, dict(db.execute("select id, digest from card")))
    gone = [(i,) for i in (*change.removed, *change.changed)]
    db.executemany("delete from card_term where card = (select number from card where id = ?)", gone)
    db.executemany("delete from card where id = ?", gone)
    wanted = {*change.added, *change.changed}
    for card in cards:
        if card.id in wanted:
            row = rows[card.id]
            made = db.execute("insert into card (id, digest, target, date, serial, evidence, row) values (?, ?, ?, ?, ?, ?, ?)",
                              (card.id, digest_of(row), card.target, card.date, card.number, card.evidence, row))
            db.executemany("insert into card_term values (?, ?, ?)", ((t, made.lastrowid, w) for t, w in card.aim.terms.items()))
    _save_frequencies(db, trail, statements, cards)


def _save_frequencies(db: sqlite3.Connection, trail: Trail, statements: Iterable[tuple[str, str]], cards: tuple[Card, ...]) -> None:
    aims, _ = split(statements)
    sets = [(e.target, aims[e.path].terms) for e in trail.experiments] + [(c.target, c.aim.terms) for c in cards if c.kind not in ("experiment", "principle")]
    counts: dict[str, Counter[str]] = {"": Counter()}
    sizes: Counter[str] = Counter()
    for target, terms in sets:
        for name in {"", target}:
            counts.setdefault(name, Counter()).update(terms.keys())
            sizes[name] += 1
    rows = {name: (sizes[name], json.dumps(dict(sorted(count.items())), ensure_ascii=False, separators=(",", ":"))) for name, count in counts.items()}
    have = {target: (aims, terms) for target, aims, terms in db.execute("select target, aims, terms from card_frequency")}
    db.executemany("delete from card_frequency where target = ?", [(t,) for t in have if rows.get(t) != have[t]])
    db.executemany("insert into card_frequency values (?, ?, ?)", [(t, *row) for t, row in sorted(rows.items()) if have.get(t) != row])


def cards(db: sqlite3.Connection, *, target: str | None = None, before: tuple[str, int, str] | None = None) -> tuple[Card, ...]:
    """Cards in trail order: of one target (with those that speak of no target) or of all, with evidence strictly earlier than `before`."""
    where, values = [], []
    if target is not None:
        where.append("target in (?, '')")
        values.append(target)
    if before is not None:
        where.append("(date, serial, evidence) < (?, ?, ?)")
        values.extend(before)
    query = f"select row from card{' where ' + ' and '.join(where) if where else ''} order by date, serial, evidence, id"
    return tuple(from_row(row) for (row,) in db.execute(query, values))
