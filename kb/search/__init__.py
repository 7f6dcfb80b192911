"""Chunks of pages and the tables they are found in: pages and chunks by words (BM25). Refuses to rank by anything but words."""

import json
import math
import sqlite3
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

from kb.page import Page
from kb.search.chunks import Chunk, chunks_of
from kb.search.prose import gist_of
from kb.text import names_of, terms_of
from kb.text.words import foreign_forms, without_links

__all__ = [
    "TABLES",
    "Chunk",
    "Hit",
    "PageHit",
    "chunk_at",
    "chunks_in",
    "chunks_of",
    "columns_of",
    "find",
    "find_titled",
    "gist",
    "pages_like",
    "size_of",
    "sync",
    "terms_of",
    "updated",
    "weights",
    "without_links",
]

_CHUNK_WORDS = "create virtual table chunk_words using fts5(head, body, names, content='', tokenize='unicode61 remove_diacritics 2')"
# FTS5 keeps no text of its own here (the chunk table has it): a row is taken out by telling it what it held.
TABLES: tuple[str, ...] = (
    "create table searched (id integer primary key, path text not null unique, type text not null, updated text not null, head text not null, anchor text not null, gist text not null)",
    "create table chunk (id integer primary key, path text not null, anchor text not null, title text not null, line integer not null, text text not null)",
    "create index chunk_path on chunk (path)",
    "create virtual table page_words using fts5(head, body, names, content='', tokenize='unicode61 remove_diacritics 2')",
    _CHUNK_WORDS,
    # Words are gathered in memory and written once, not a megabyte at a time with merges between.
    "insert into page_words (page_words, rank) values ('hashsize', 67108864)",
    "insert into chunk_words (chunk_words, rank) values ('hashsize', 67108864)",
    "create virtual table page_terms using fts5vocab('page_words', 'row')",
)

# Columns head, body, names: a word of the title says more of what a page is about than one of its text, a whole identifier more than its parts.
_WEIGHTS = "2.0, 1.0, 2.0"

# Words of a query that are asked for: the rarest say most, and a proposal of three hundred words asks hardly better than its best few dozen.
_MOST_TERMS = 40  # of pages
_MOST_POSTINGS = 100_000  # pages that its words may stand on in all: a large wiki is asked by its rarer words, in bounded time
_MOST_CHUNK_TERMS = 20  # of chunks, of which there are ten times as many
_MOST_CHUNK_POSTINGS = 50_000
# Where its words stand on more pages than this, a query asks the sections of the pages that answer best: ranking a word of every section takes seconds.
_CROWD, _BEST_PAGES = 10_000, 200


@dataclass(frozen=True, slots=True)
class Hit:
    """One chunk found, best first; `score` is BM25, higher is better."""

    chunk: Chunk
    type: str
    page_title: str
    score: float


class PageHit(NamedTuple):
    """One page found; `score` is BM25 over the whole page, higher is better."""

    path: str
    type: str
    score: float


def sync(
    db: sqlite3.Connection,
    *,
    removed: Iterable[str],
    added: Iterable[tuple[Page, tuple[Chunk, ...]]],
) -> None:
    """Bring the search tables up to date: all chunks of `removed` paths out, those of `added` pages in."""
    for path in removed:
        known_row = db.execute(
            "select id, head, type from searched where path = ?", (path,)
        ).fetchone()
        if known_row:
            ids = [
                i for (i,) in db.execute("select id from chunk where path = ? order by id", (path,))
            ]
            whole, parts = _words(
                known_row[1], [chunk_at(db, i) for i in ids], catalog=known_row[2] == "catalog"
            )
            db.execute(
                "insert into page_words (page_words, rowid, head, body, names) values ('delete', ?, ?, ?, ?)",
                (known_row[0], *whole),
            )
            db.executemany(
                "insert into chunk_words (chunk_words, rowid, head, body, names) values ('delete', ?, ?, ?, ?)",
                [(i, *part) for i, part in zip(ids, parts, strict=True)],
            )
            db.execute("delete from chunk where path = ?", (path,))
            db.execute("delete from searched where path = ?", (path,))
    added = iter(added)
    row = db.execute("select coalesce(max(id), 0) from searched").fetchone()[0]
    part = db.execute("select coalesce(max(id), 0) from chunk").fetchone()[0]
    while some := list(islice(added, _AT_ONCE)):
        heads, wholes, texts, parts = [], [], [], []
        for page, chunks in some:
            row += 1
            head, catalog = _head(page), page.type == "catalog"
            gist = ("", "") if page.type in _NO_GIST else gist_of(chunks)
            heads.append((row, page.path, page.type, page.field("updated")[:10], head, *gist))
            whole, words = _words(head, chunks, catalog=catalog)
            wholes.append((row, *whole))
            for chunk, content in zip(chunks, words, strict=True):
                part += 1
                texts.append((part, chunk.path, chunk.anchor, chunk.title, chunk.line, chunk.text))
                parts.append((part, *content))
        db.executemany(
            "insert into searched (id, path, type, updated, head, anchor, gist) values (?, ?, ?, ?, ?, ?, ?)",
            heads,
        )
        db.executemany(
            "insert into page_words (rowid, head, body, names) values (?, ?, ?, ?)", wholes
        )
        db.executemany(
            "insert into chunk (id, path, anchor, title, line, text) values (?, ?, ?, ?, ?, ?)",
            texts,
        )
        db.executemany(
            "insert into chunk_words (rowid, head, body, names) values (?, ?, ?, ?)", parts
        )


# Pages whose rows are written together.
_AT_ONCE = 64
# A catalog has no prose, and an experiment is told by its card.
_NO_GIST = ("catalog", "experiment")


def _head(page: Page) -> str:
    """What a page says of itself: its title on the first line, then file name, tags and the texts of its front matter."""
    texts = [
        v
        for k, v in page.front.items()
        if isinstance(v, str) and k not in ("title", "type", "created", "updated")
    ]
    lists = [" ".join(page.words(k)) for k, v in page.front.items() if isinstance(v, list)]
    return "\n".join([" ".join(page.title.split()), page.stem.replace("-", " "), *texts, *lists])


def _words(
    head: str, chunks: Sequence[Chunk], *, catalog: bool
) -> tuple[tuple[str, str, str], list[tuple[str, str, str]]]:
    """What the word tables hold of a page (head, body, identifiers) and of each of its chunks.

    A catalog, most of some wikis by size, is found section by section and by the parts of its names alone.
    """
    title = head.partition("\n")[0]
    bodies = [without_links(chunk.text) for chunk in chunks]
    names = [
        "" if catalog else " ".join([*names_of(body), *foreign_forms(body)]) for body in bodies
    ]
    heads = [f"{title}\n{chunk.title}" for chunk in chunks]
    parts = [
        (above, body, named if above.isascii() else " ".join([named, *foreign_forms(above)]))
        for above, body, named in zip(heads, bodies, names, strict=True)
    ]
    if catalog:
        return (head, "", ""), parts
    body = "\n".join(f"{chunk.title}\n{body}" for chunk, body in zip(chunks, bodies, strict=True))
    return (head, body, " ".join([*names_of(head), *foreign_forms(head), *names])), parts


def columns_of(db: sqlite3.Connection, path: str) -> tuple[str, str, str]:
    """What the word table of pages holds of one: head, body, identifiers."""
    head, kind = db.execute("select head, type from searched where path = ?", (path,)).fetchone()
    return _words(head, chunks_in(db, path), catalog=kind == "catalog")[0]


def weights(db: sqlite3.Connection, terms: Iterable[str]) -> dict[str, float]:
    """Inverse page frequency of every term that some page holds, ln(1 + N / df)."""
    total = db.execute("select count(*) from searched").fetchone()[0]
    rows = db.execute(
        "select t.term, t.doc from json_each(?) j join page_terms t on t.term = j.value",
        (json.dumps(sorted(set(terms))),),
    )
    return {term: math.log(1 + total / pages) for term, pages in rows}


def _match(
    db: sqlite3.Connection, question: str | Mapping[str, float], most: int, *, postings_most: int
) -> tuple[str, float]:
    """What the word tables are asked for, the rarest words first, and on how many pages these stand in all."""
    known = weights(db, terms_of(question)) if isinstance(question, str) else question
    total = db.execute("select count(*) from searched").fetchone()[0]
    best, postings = [], 0.0
    for term in sorted(known, key=lambda t: (-known[t], t))[:most]:
        pages = total / math.expm1(known[term])
        if best and postings + pages > postings_most:
            break
        postings += pages
        best.append(f'"{term}"')
    return " OR ".join(best), postings


def pages_like(
    db: sqlite3.Connection,
    question: str | Mapping[str, float],
    *,
    limit: int,
    types: Collection[str] = (),
    but: Collection[str] = (),
    most: int = _MOST_TERMS,
) -> list[PageHit]:
    """Pages by BM25 over their whole text for a text (or its ready-made `weights`), best first, ties by path; of `types` only, `but` some types."""
    match, _ = _match(db, question, most, postings_most=_MOST_POSTINGS)
    if not match:
        return []
    narrowed = f" and s.type in ({', '.join('?' * len(types))})" if types else ""
    narrowed += f" and s.type not in ({', '.join('?' * len(but))})" if but else ""
    rows = db.execute(
        f"select s.path, s.type, round(-bm25(page_words, {_WEIGHTS}), 6) as score from page_words join searched s on s.id = page_words.rowid "
        f"where page_words match ?{narrowed} order by score desc, s.path limit ?",
        (match, *sorted(types), *sorted(but), limit),
    )
    return list(map(PageHit._make, rows))


def updated(db: sqlite3.Connection, path: str) -> str:
    """Day on which a page says it was last touched; empty where it does not say."""
    return (db.execute("select updated from searched where path = ?", (path,)).fetchone() or ("",))[
        0
    ]


def gist(db: sqlite3.Connection, path: str) -> tuple[str, str]:
    """(anchor, text): what a page says of its matter in its own words; empty for a page that says nothing."""
    return db.execute("select anchor, gist from searched where path = ?", (path,)).fetchone() or (
        "",
        "",
    )


def find(
    db: sqlite3.Connection,
    question: str | Mapping[str, float],
    *,
    limit: int,
    types: Collection[str] = (),
    paths: Collection[str] | None = None,
    most: int = _MOST_CHUNK_TERMS,
) -> list[Hit]:
    """Chunks by BM25 for a text (or its ready-made `weights`), best first, ties by path and line; `types` and `paths` narrow down which pages are asked."""
    match, postings = _match(db, question, most, postings_most=_MOST_CHUNK_POSTINGS)
    if not match:
        return []
    if paths is None and postings > _CROWD:
        pages = pages_like(db, question, limit=_BEST_PAGES, types=types)
        return _hits_on(db, match, pages, limit=limit)
    narrowed, values = "", [match]
    if types:
        narrowed += f" and s.type in ({', '.join('?' * len(types))})"
        values += sorted(types)
    if paths is not None:
        narrowed += " and c.path in (select value from json_each(?))"
        values.append(json.dumps(sorted(paths)))
    pages = "join chunk c on c.id = w.rowid join searched s on s.path = c.path" if narrowed else ""
    # Only what the types and paths leave is weighed, and only of the best is the text read.
    ranked = (
        f"select w.rowid as id, -bm25(chunk_words, {_WEIGHTS}) as score from chunk_words w {pages} "
        f"where chunk_words match ?{narrowed} order by score desc limit -1"
    )
    rows = db.execute(
        f"select c.path, c.anchor, c.title, c.line, c.text, s.type, s.head, r.score from ({ranked}) r "
        "cross join chunk c on c.id = r.id cross join searched s on s.path = c.path",
        values,
    )
    hits: list[Hit] = []
    for *chunk, kind, head, exact in rows:
        score = round(exact, 6)
        # Ties are told apart by their places.
        if len(hits) >= limit and score < hits[-1].score:
            break
        hits.append(Hit(Chunk(*chunk), kind, head.partition("\n")[0], score))
    return _best(hits, limit)


def _best(hits: list[Hit], limit: int) -> list[Hit]:
    return sorted(hits, key=lambda h: (-h.score, h.chunk.path, h.chunk.line))[:limit]


def _hits_on(
    db: sqlite3.Connection, match: str, pages: Sequence[PageHit], *, limit: int
) -> list[Hit]:
    """Chunks of these pages alone that match, ranked among each other."""
    aside = sqlite3.connect(":memory:")
    aside.execute(_CHUNK_WORDS)
    listed = []
    for page in pages:
        query = "select head from searched where path = ?"
        head, chunks = db.execute(query, (page.path,)).fetchone()[0], chunks_in(db, page.path)
        parts = _words(head, chunks, catalog=page.type == "catalog")[1]
        listed += [
            (chunk, page.type, head.partition("\n")[0], words)
            for chunk, words in zip(chunks, parts, strict=True)
        ]
    aside.executemany(
        "insert into chunk_words (rowid, head, body, names) values (?, ?, ?, ?)",
        ((n, *words) for n, (*_, words) in enumerate(listed)),
    )
    ranked = aside.execute(
        f"select rowid, round(-bm25(chunk_words, {_WEIGHTS}), 6) from chunk_words where chunk_words match ?",
        (match,),
    )
    hits = [Hit(*listed[n][:3], score) for n, score in ranked]
    return _best(hits, limit)


def find_titled(
    db: sqlite3.Connection, words: Iterable[str], *, limit: int, types: Collection[str]
) -> list[Chunk]:
    """Chunks of some types whose titles (page and section) hold any of these words, best first, ties by path and line."""
    match = "head : (" + " OR ".join(f'"{w}"' for w in words) + ")"
    rows = db.execute(
        f"select c.id from chunk_words join chunk c on c.id = chunk_words.rowid join searched s on s.path = c.path "
        f"where chunk_words match ? and s.type in ({', '.join('?' * len(types))}) order by round(bm25(chunk_words), 6), c.path, c.line limit ?",
        (match, *sorted(types), limit),
    ).fetchall()
    return [chunk_at(db, row) for (row,) in rows]


def chunk_at(db: sqlite3.Connection, row: int) -> Chunk:
    """The chunk of one row of the table."""
    return Chunk(
        *db.execute(
            "select path, anchor, title, line, text from chunk where id = ?", (row,)
        ).fetchone()
    )


def chunks_in(db: sqlite3.Connection, path: str) -> list[Chunk]:
    """All chunks of one page, in page order."""
    return [
        Chunk(*row)
        for row in db.execute(
            "select path, anchor, title, line, text from chunk where path = ? order by id", (path,)
        )
    ]


def size_of(db: sqlite3.Connection, path: str, anchor: str) -> int:
    """Characters of one section of a page, of the whole page without an anchor."""
    return db.execute(
        "select coalesce(sum(length(text)), 0) from chunk where path = ? and (? = '' or anchor = ?)",
        (path, anchor, anchor),
    ).fetchone()[0]
