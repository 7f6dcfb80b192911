"""A search as a person or an agent asks it: filters, one answer a section, a snippet around the words. Refuses to cut a budget: that is a slice."""

import re
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass

from kb import KbError
from kb.schema import PAGE_TYPES, Verdict, type_of
from kb.search import Hit, find, terms_of
from kb.text import fold

_SNIPPET = 200
# The type of what was captured, beside the types of pages.
CAPTURED = "captured"


@dataclass(frozen=True, slots=True)
class Query:
    """A query and what narrows it down: page types, target, verdicts, and a day before which pages must be dated."""

    words: str
    types: tuple[str, ...] = ()
    target: str = ""
    verdicts: tuple[str, ...] = ()
    before: str = ""
    limit: int = 10


@dataclass(frozen=True, slots=True)
class SearchAnswer:
    """One section found."""

    path: str
    anchor: str
    line: int
    title: str
    type: str
    date: str
    target: str
    verdict: str
    score: float
    snippet: str


def answers(
    db: sqlite3.Connection, query: Query, *, by: Callable[..., list[Hit]] = find
) -> list[SearchAnswer]:
    """Sections that answer, best first by words, or by another ranking that is called as `find` is. Raises KbError for a type or verdict that cannot be."""
    types = tuple(_known_type(t) for t in query.types if t != CAPTURED)
    for verdict in query.verdicts:
        if verdict not in list(Verdict):
            raise KbError(f"no such verdict '{verdict}'; one of {', '.join(Verdict)}")
    if query.limit < 1:
        raise KbError("--limit takes a number of 1 or more")
    if query.types and not types:
        return []
    terms = terms_of(query.words)
    hits = by(db, query.words, limit=query.limit, types=types, paths=_narrowed(db, query))
    listed = []
    for hit in hits:
        chunk = hit.chunk
        run = db.execute(
            "select target, verdict from experiment where path = ?", (chunk.path,)
        ).fetchone() or ("", "")
        dated = db.execute(
            "select date from standing where path = ?", (chunk.path,)
        ).fetchone() or ("",)
        title = (
            f"{hit.page_title} > {chunk.title}"
            if chunk.title and chunk.title != hit.page_title
            else hit.page_title
        )
        listed.append(
            SearchAnswer(
                chunk.path,
                chunk.anchor,
                chunk.line,
                title,
                hit.type,
                dated[0],
                run[0],
                run[1] or "",
                hit.score,
                snippet_of(chunk.text, terms),
            )
        )
    return listed


def _known_type(name: str) -> str:
    known = type_of(name)
    if not known:
        raise KbError(
            f"no such page type '{name}'; one of {', '.join([*(t.name for t in PAGE_TYPES), CAPTURED])}"
        )
    return known


def _narrowed(db: sqlite3.Connection, query: Query) -> set[str] | None:
    """Paths that the filters leave, None for all. The tables of experiments and dates are read by name: their rooms stand no lower."""
    filters = {
        "experiment where target = ?": (query.target,),
        f"experiment where verdict in ({', '.join('?' * len(query.verdicts))})": query.verdicts,
        "standing where date < ?": (query.before,),
    }
    active = [(where, values) for where, values in filters.items() if any(values)]
    fits = (db.execute(f"select path from {where}", values) for where, values in active)
    return set.intersection(*({p for (p,) in rows} for rows in fits)) if active else None


def snippet_of(text: str, terms: list[str], *, width: int = _SNIPPET) -> str:
    """The stretch of `width` characters that holds the most different words of a query, on one line, cut at words."""
    flat = " ".join(text.split())
    if len(flat) <= width:
        return flat
    wanted = set(terms)
    at = [(m.start(), fold(m[0])) for m in re.finditer(r"[^\W_]+", flat) if fold(m[0]) in wanted]
    # In scripts without blanks a word stands inside a run of signs.
    inside = [re.escape(term) for term in wanted if not term.isascii()]
    at += [(m.start(), m[0]) for m in re.finditer("|".join(inside), flat)] if inside else []
    at.sort()
    best, start = 0, 0
    for i, (first, _) in enumerate(at):
        held = {word for place, word in at[i : i + 40] if place < first + width}
        if len(held) > best:
            best, start = len(held), max(0, first - 30)
    start = 0 if start < 30 else flat.find(" ", start) + 1
    piece = flat[start : start + width]
    piece = piece.rsplit(" ", 1)[0] if start + width < len(flat) and " " in piece else piece
    return ("… " if start else "") + piece + (" …" if start + width < len(flat) else "")
