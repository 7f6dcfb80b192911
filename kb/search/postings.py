"""The words of the compiled tables with the pages that hold them, for a search that runs elsewhere.
Refuses to cut words by itself: they are what the tables hold, and texts from elsewhere are cut alike.
"""

import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from kb.search import chunks_in, columns_of
from kb.text.words import foreign_forms

_TOKENIZE = "unicode61 remove_diacritics 2"

# A word with the pages that hold it and how often.
Posting = tuple[str, Mapping[str, int]]


def postings_of(db: sqlite3.Connection, *, but: Iterable[str] = ()) -> Iterator[Posting]:
    """Every word of the pages of the tables, `but` some pages, words in order."""
    apart = set(but)
    pages = {str(id): path for id, path in db.execute("select id, path from searched")}
    yield from _words(db, "page_words", {id: "" if p in apart else p for id, p in pages.items()})


def postings_in(texts: Iterable[tuple[str, str]]) -> Iterator[Posting]:
    """Every word of other texts, given as (path, text), words in order."""
    aside = sqlite3.connect(":memory:")
    aside.execute(f"create virtual table more using fts5(body, content='', tokenize='{_TOKENIZE}')")
    paths: dict[str, str] = {}
    for number, (path, text) in enumerate(texts, 1):
        aside.execute("insert into more (rowid, body) values (?, ?)", (number, text))
        paths[str(number)] = path
    yield from _words(aside, "more", paths)
    aside.close()


def text_of_words(db: sqlite3.Connection, path: str) -> str:
    """A text that holds the words of a page of the tables; of a catalog, the names too that it lists."""
    head, body, names = columns_of(db, path)
    listed = "" if body else "\n".join(chunk.text for chunk in chunks_in(db, path))
    return "\n".join([head, body, names, listed, *foreign_forms(listed)])


def _words(db: sqlite3.Connection, table: str, paths: Mapping[str, str]) -> Iterator[Posting]:
    places = f"temp.{table}_places"
    listing = f"using fts5vocab(main, {table}, 'instance')"
    db.execute(f"create virtual table if not exists {places} {listing}")
    # One row a word: a row a page would be sorted anew, and takes four times as long.
    for word, ids in db.execute(f"select term, group_concat(doc, ' ') from {places} group by term"):
        yield word, Counter(map(paths.__getitem__, ids.split(" ")))
