"""The words of the compiled tables with the pages that hold them, for a search that runs elsewhere.
Refuses to cut words by itself: they are what the tables hold, and texts from elsewhere are cut alike.
"""

import sqlite3
from collections.abc import Iterable, Iterator

from kb.search.chunks import Chunk
from kb.text import names_of
from kb.text.words import foreign_forms

_TOKENIZE = "unicode61 remove_diacritics 2"


def postings_of(
    db: sqlite3.Connection, more: Iterable[tuple[str, str]] = ()
) -> Iterator[tuple[str, str, int]]:
    """(word, path, how often) of every page, words in order; `more` are (path, text) of texts that
    the tables do not hold, whose words come last.
    """
    paths = dict(db.execute("select id, path from searched"))
    yield from _words(db, "main", "page_words", paths)

    aside = sqlite3.connect(":memory:")
    aside.execute(f"create virtual table more using fts5(body, content='', tokenize='{_TOKENIZE}')")
    texts: dict[int, str] = {}
    for number, (path, text) in enumerate(more, 1):
        words = " ".join([text, *names_of(text), *foreign_forms(text)])
        aside.execute("insert into more (rowid, body) values (?, ?)", (number, words))
        texts[number] = path
    yield from _words(aside, "main", "more", texts)
    aside.close()


def _words(
    db: sqlite3.Connection, schema: str, table: str, paths: dict[int, str]
) -> Iterator[tuple[str, str, int]]:
    listing = f"{table}_places"
    db.execute(
        f"create virtual table if not exists temp.{listing} using fts5vocab({schema}, {table}, 'instance')"
    )
    rows = db.execute(f"select term, doc, count(*) from temp.{listing} group by term, doc")
    for word, number, times in rows:
        yield word, paths[number], times


def every_chunk(db: sqlite3.Connection) -> Iterator[Chunk]:
    """All chunks of all pages, by path and in page order."""
    rows = db.execute("select path, anchor, title, line, text from chunk order by path, id")
    return (Chunk(*row) for row in rows)
