"""Passages of the pages that the next run stands on: whole sentences and rows, section by section. Refuses what the slice says already, and what was written later."""

import json
import re
from collections.abc import Iterator

from kb import search
from kb.page import document_of
from kb.search.gist import REFERENCES
from kb.slices.open_slice import OpenSlice
from kb.text import cut, sentences_of

# Sections of a run in the order in which they help the next one.
_PLACES = ("verdict", "profile", "next", "evidence", "mechanism", "results")
# Runs whose pages and citations are looked at, newest first.
_LAST = 8
# An item is read as one statement, table or section of at most so many characters; less than this is a pointer.
_LONGEST, _SHORTEST = 1000, 120
_SHARE = re.compile(r"\d\s?%")
# A run by its number, as pages name it.
_RUN = re.compile(
    r"(?<![\w.])(?:v|exps?\.? ?|experiments? |runs? )0*(\d{1,4})(?![\d.]*\d)", re.IGNORECASE
)


def bring_passages(into: OpenSlice) -> None:
    """Bring sections until the budget is full: the best of every page, then the next best."""
    pages = [(path, list(_sections(into, path))) for path in _pages(into)]
    for place in range(max((len(sections) for _, sections in pages), default=0)):
        for path, sections in pages:
            for chunk in sections[place : place + 1]:
                part = "refuted" if into.failed(path) else "pages"
                _bring(into, part, chunk)


def bring_breakdown(into: OpenSlice, *, most: int) -> bool:
    """The table of shares of an observation that the last runs cite; whether there is one."""
    for path in _cited(into):
        for chunk in search.chunks_in(into.view.db, path):
            rows = [line for line in chunk.text.split("\n") if line.lstrip().startswith("|")]
            if sum(bool(_SHARE.search(row)) for row in rows) > 3:
                return _bring(into, "state", chunk, why="buckets", most=most)
    return False


def _bring(
    into: OpenSlice, part: str, chunk: search.Chunk, *, why: str = "", most: int | None = None
) -> bool:
    seen = into.view.masked(chunk)
    text = _plain(seen.text, into.question.last) if seen else ""
    if len(text) < _SHORTEST or into.says(text):
        return False
    title = why or chunk.title.rpartition(" > ")[2].lower()[:40] or "page"
    return into.words(part, chunk.path, chunk.anchor, why=title, text=text, most=most)


def _pages(into: OpenSlice) -> list[str]:
    """The frontier, what the last runs cite of observations and analyses, and the last runs, newest first."""
    best = into.question.frontier
    own = [best.path] if best else []
    return list(dict.fromkeys([*own, *_cited(into), *into.runs[: -_LAST - 1 : -1]]))


def _cited(into: OpenSlice) -> list[str]:
    """Observations and analyses that the last runs cite or that cite them, the newest first."""
    best = into.question.frontier
    runs = [*into.runs[-_LAST:], *([best.path] if best else [])]
    rows = into.view.db.execute(
        "select n.cites, n.cited_by from json_each(?) j join neighbours n on n.path = j.value",
        (json.dumps(runs),),
    )
    paths = {p for both in rows for ends in both for p in json.loads(ends)}
    into.view.look_up(paths)
    pages = [into.view.standing(p) for p in sorted(paths) if into.view.sees(p)]
    found = [p for p in pages if p.type in ("observation", "analysis")]
    return [
        p.path
        for p in sorted(found, key=lambda p: (p.type != "observation", p.date), reverse=False)
    ]


def _sections(into: OpenSlice, path: str) -> Iterator[search.Chunk]:
    """Sections of a page, those of a run by what they tell."""
    chunks = search.chunks_in(into.view.db, path)
    facts = into.question.facts(path)
    places = [p for name in _PLACES for p in (facts.places if facts else ()) if p.name == name]
    for place in places:
        yield from (c for c in chunks if place.start <= c.line < place.end)
    if not facts:
        yield from (c for c in chunks if not REFERENCES.search(c.title))


def _plain(text: str, last: int) -> str:
    """Markdown as plain lines, as many whole sentences and rows as an item holds, without those that name a run after number `last`."""
    said: list[str] = []
    for block in document_of(text).blocks:
        pieces = []
        if block.kind == "table":
            pieces = [" · ".join(cell.plain for cell in row.cells) for row in block.rows]
        elif block.kind == "paragraph":
            pieces = sentences_of(block.plain)
        elif block.kind in ("fence", "code"):
            pieces = [line.strip() for line in block.plain.split("\n")]
        kept = [p for p in pieces if max(map(int, _RUN.findall(p)), default=0) <= last]
        own = ("\n" if block.kind == "table" else " ").join(filter(None, kept))
        if said and sum(map(len, said)) + len(own) > _LONGEST:
            break
        said += (
            [cut(own, _LONGEST)]
            if block.kind != "table"
            else [own[:_LONGEST].rpartition("\n")[0] if len(own) > _LONGEST else own]
        )
    return "\n".join(filter(None, said))
