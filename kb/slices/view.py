"""What may be seen at a moment: nothing later, nothing excluded, no word that was written down afterwards. Refuses to rank."""

import json
import posixpath
import re
import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase

from kb import trail
from kb.graph import target_of
from kb.search import Chunk, chunks_in
from kb.slices.request import Request

_DAY = re.compile(r"(?<!\d)(20\d\d-[01]\d-[0-3]\d)(?!\d)")
_HREF = re.compile(r"\]\(([^()\s]*)\)")

# Sections that tell how it ended. On a page that was touched after the moment they may have been written after it.
_OUTCOME = re.compile(r"verdict|outcome|results?\b|conclusion|status|retired|resolution|what happened|post-?mortem|update|changelog|history", re.IGNORECASE)
_OUTCOME_LINE = re.compile(r"^\s*>?\s*(?:\[!|\*\*(?:status|verdict|outcome|result|refuted|supported|update)|(?:status|verdict|outcome|update)\b\s*:)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Standing:
    """What the tables say of a page without opening it."""

    path: str
    type: str
    title: str
    date: str
    rank: float
    order: trail.Moment | None


class View:
    """The knowledge base as one request may see it; open for the length of that request."""

    def __init__(self, db: sqlite3.Connection, request: Request):
        self.db = db
        self.before = request.before
        self.moment = trail.moment(db, before=request.before or None, as_of=request.as_of or None)
        self.exclude = request.exclude
        self.cold = request.audience == "cold"
        self._standing: dict[str, Standing | None] = {}
        self._seen: dict[str, bool] = {}

    def look_up(self, paths: Iterable[str]) -> None:
        """Fetch the standing of many pages at once."""
        missing = sorted(set(paths) - self._standing.keys())
        rows = self.db.execute("select s.path, s.type, s.title, s.date, s.rank, e.date, e.number from json_each(?) j join standing s on s.path = j.value"
                               " left join experiment e on e.path = s.path", (json.dumps(missing),))
        self._standing.update(dict.fromkeys(missing))
        for path, kind, title, date, rank, day, number in rows:
            self._standing[path] = Standing(path, kind, title, date, rank, None if day is None else (day, number, path))

    def standing(self, path: str) -> Standing | None:
        """Standing of a page, whether it may be seen or not; None for no page."""
        if path not in self._standing:
            self.look_up([path])
        return self._standing[path]

    def digest(self, path: str) -> str:
        return self.db.execute("select digest from page where path = ?", (path,)).fetchone()[0]

    def sees(self, path: str) -> bool:
        """Whether a page existed at the moment and is not excluded."""
        if path not in self._seen:
            page = self.standing(path)
            self._seen[path] = page is not None and self._existed(page) and path != self.before and not self._excluded(path)
        return self._seen[path]

    def _excluded(self, path: str) -> bool:
        return bool(self.exclude) and any(fnmatchcase(path, glob) for glob in self.exclude)

    def _existed(self, page: Standing) -> bool:
        if self.moment is None:
            return True
        return page.order < self.moment if page.order else page.date <= self.moment[0]

    def chunks(self, path: str) -> list[Chunk]:
        """Chunks of a page with everything left out that was written after the moment."""
        chunks = chunks_in(self.db, path)
        if self.moment is None:
            return chunks
        late = self._touched_later(path)
        kept = []
        for chunk in chunks:
            if late and _OUTCOME.search(chunk.title):
                continue
            text = "\n".join(line for line in chunk.text.split("\n") if not self._is_later(line, path) and not (late and _OUTCOME_LINE.match(line)))
            if text.strip():
                kept.append(Chunk(chunk.path, chunk.anchor, chunk.title, chunk.line, text))
        return kept

    def _touched_later(self, path: str) -> bool:
        page = self.standing(path)
        if page is None or page.type == "experiment":
            return False
        row = self.db.execute("select json_extract(row, '$[0].updated') from page where path = ?", (path,)).fetchone()
        return bool(row and row[0]) and str(row[0])[:10] > self.moment[0]

    def _is_later(self, line: str, path: str) -> bool:
        """Whether a line names a later day, or cites a page that was not there yet."""
        if any(day > self.moment[0] for day in _DAY.findall(line)):
            return True
        if "](" in line:
            folder = posixpath.dirname(path)
            for href in _HREF.findall(line):
                where = target_of(href, folder=folder)
                page = self.standing(where[0]) if where and where[0] else None
                if page and not self._existed(page):
                    return True
        return False

    def is_masked(self, path: str, text: str) -> bool:
        """Whether a ready-made text of a page may hold what was written after the moment, so that it must be cut anew."""
        if self.moment is None:
            return False
        return any(day > self.moment[0] for day in _DAY.findall(text)) or self._touched_later(path)
