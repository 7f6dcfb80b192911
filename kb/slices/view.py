"""What may be seen at a moment: nothing later, nothing excluded, no word that was written down afterwards. Refuses to rank."""

import posixpath
import re
import sqlite3
from dataclasses import dataclass
from fnmatch import fnmatchcase

from kb import trail
from kb.graph import target_of
from kb.schema import FAILED
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
    digest: str
    type: str
    title: str
    date: str
    rank: float


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

    def standing(self, path: str) -> Standing | None:
        """Standing of a page, whether it may be seen or not; None for no page."""
        if path not in self._standing:
            row = self.db.execute("select s.path, p.digest, s.type, s.title, s.date, s.rank from standing s join page p on p.path = s.path"
                                  " where s.path = ?", (path,)).fetchone()
            self._standing[path] = Standing(*row) if row else None
        return self._standing[path]

    def sees(self, path: str) -> bool:
        """Whether a page existed at the moment and is not excluded."""
        if path not in self._seen:
            self._seen[path] = self._sees(path)
        return self._seen[path]

    def _sees(self, path: str) -> bool:
        page = self.standing(path)
        if page is None or path == self.before or any(fnmatchcase(path, glob) for glob in self.exclude):
            return False
        if self.moment is None:
            return True
        tried = self.db.execute("select date, number, path from experiment where path = ?", (path,)).fetchone()
        return tuple(tried) < self.moment if tried else page.date <= self.moment[0]

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
                if where and where[0] and self.standing(where[0]) and not self._existed(where[0]):
                    return True
        return False

    def _existed(self, path: str) -> bool:
        return self.sees(path) or any(fnmatchcase(path, glob) for glob in self.exclude)

    def failed(self, facts: trail.Facts) -> bool:
        return facts.verdict.canonical in FAILED
