"""The words of the compiled tables with the pages that hold them, for a search that runs elsewhere.
Refuses to cut words by itself: they are what the tables hold, and texts from elsewhere are cut alike.
"""

import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from kb.search.chunks import Chunk
from kb.text.words import foreign_forms

_TOKENIZE = "unicode61 remove_diacritics 2"


def postings_of(
    db: sqlite3.Connection, more: Iterable[tuple[str, str]] = ()
) -> Iterator[tuple[str, Mapping[str, int]]]:
    """Every word with the pages that hold it and how often, words in order; `more` are (path, text)
    of texts that the tables do not hold whole, whose words come last.
    """
    ids = db.execute("select id, path from searched")
    yield from _words(db, "main", "page_words", {str(id): path for id, path in ids})
    aside = sqlite3.connect(":memory:")
    aside.execute(f"create virtual table more using fts5(body, content='', tokenize='{_TOKENIZE}')")
    texts: dict[str, str] = {}
    for number, (path, text) in enumerate(more, 1):
        body = " ".join([text, *foreign_forms(text)])
        aside.execute("insert into more (rowid, body) values (?, ?)", (number, body))
        texts[str(number)] = path
    yield from _words(aside, "main", "more", texts)
    aside.close()


def _words(
    db: sqlite3.Connection, schema: str, table: str, paths: Mapping[str, str]
) -> Iterator[tuple[str, Mapping[str, int]]]:
    places = f"temp.{table}_places"
    listing = f"using fts5vocab({schema}, {table}, 'instance')"
    db.execute(f"create virtual table if not exists {places} {listing}")
    # One row a word: a row a page would be sorted anew, and takes four times as long.
    for word, ids in db.execute(f"select term, group_concat(doc, ' ') from {places} group by term"):
        yield word, Counter(map(paths.__getitem__, ids.split(" ")))


def every_chunk(db: sqlite3.Connection) -> Iterator[Chunk]:
    """All chunks of all pages, by path and in page order."""
    rows = db.execute("select path, anchor, title, line, text from chunk order by path, id")
    return (Chunk(*row) for row in rows)
