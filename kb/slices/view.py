"""What may be seen at a moment: nothing later, nothing excluded, no word that was written down afterwards. Refuses to rank."""

import json
import posixpath
import re
import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase

from kb import trail
from kb.graph.paths import target_of
from kb.search import Chunk, updated
from kb.slices.request import Request

_DAY = re.compile(r"(?<!\d)(20\d\d-[01]\d-[0-3]\d)(?!\d)")
_HREF = re.compile(r"\]\(([^()\s]*)\)")

# Sections that tell how it ended. On a page that was touched after the moment they may have been written after it.
_OUTCOME = re.compile(
    r"verdict|outcome|results?\b|conclusion|status|retired|resolution|what happened|post-?mortem|update|changelog|history",
    re.IGNORECASE,
)
_OUTCOME_LINE = re.compile(
    r"^\s*>?\s*(?:\[!|\*\*(?:status|verdict|outcome|result|refuted|supported|update)|(?:status|verdict|outcome|update)\b\s*:)",
    re.IGNORECASE,
)

# Pages that give away how runs ended; a cold reader gets none of them.
_TELLS_OUTCOMES = frozenset(
    {"experiment", "target", "hypothesis", "analysis", "observation", "log", "index", "catalog"}
)


@dataclass(frozen=True, slots=True)
class Standing:
    """What the tables say of a page without opening it."""

    path: str
    type: str
    title: str
    date: str
    rank: float
    order: trail.Moment | None
    verdict: str


class View:
    """The knowledge base as one request may see it; open for the length of that request. `standing` holds what earlier ones looked up."""

    def __init__(
        self,
        db: sqlite3.Connection,
        request: Request,
        *,
        standing: dict[str, Standing | None] | None = None,
    ):
        self.db = db
        self.before = request.before
        self.moment = trail.moment(db, before=request.before or None, as_of=request.as_of or None)
        self.exclude = request.exclude
        self.cold = request.audience == "cold"
        self._standing = {} if standing is None else standing
        self._seen: dict[str, bool] = {}
        self._late: dict[str, bool] = {}

    def look_up(self, paths: Iterable[str]) -> None:
        """Fetch the standing of many pages at once."""
        missing = sorted(set(paths) - self._standing.keys())
        if not missing:
            return
        rows = self.db.execute(
            "select s.path, s.type, s.title, s.date, s.rank, e.date, e.number, e.verdict from json_each(?) j join standing s on s.path = j.value"
            " left join experiment e on e.path = s.path",
            (json.dumps(missing),),
        )
        self._standing.update(dict.fromkeys(missing))
        for path, kind, title, date, rank, day, number, verdict in rows:
            self._standing[path] = Standing(
                path,
                kind,
                title,
                date,
                rank,
                None if day is None else (day, number, path),
                verdict or "",
            )

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
            self._seen[path] = (
                page is not None
                and self._existed(page)
                and path != self.before
                and not self._excluded(path)
                and not (
                    self.cold
                    and (page.type in _TELLS_OUTCOMES or path.startswith("wiki/experiments/"))
                )
            )
        return self._seen[path]

    def _excluded(self, path: str) -> bool:
        return bool(self.exclude) and any(fnmatchcase(path, glob) for glob in self.exclude)

    def _existed(self, page: Standing) -> bool:
        if self.moment is None:
            return True
        return page.order < self.moment if page.order else page.date <= self.moment[0]

    def runs(self, target: str, *, last: int) -> list[str]:
        """Paths of the last experiments of a target (of all, without one) that may be seen, oldest first."""
        before = self.moment or ("9999", 0, "")
        rows = self.db.execute(
            "select path from experiment where (? = '' or target = ?) and (date, number, path) < (?, ?, ?)"
            " order by date desc, number desc, path desc limit ?",
            (target, target, *before, last),
        )
        paths = [path for (path,) in rows][::-1]
        self.look_up(paths)
        return [path for path in paths if self.sees(path)]

    def masked(self, chunk: Chunk) -> Chunk | None:
        """A chunk with everything left out that was written after the moment; None where nothing is left."""
        if self.moment is None and not self.cold:
            return chunk
        late = self._touched_later(chunk.path)
        if late and _OUTCOME.search(chunk.title):
            return None
        if not late and not self._names_later(chunk.text, chunk.path):
            return chunk
        text = "\n".join(
            line
            for line in chunk.text.split("\n")
            if not self._names_later(line, chunk.path) and not (late and _OUTCOME_LINE.match(line))
        )
        return (
            Chunk(chunk.path, chunk.anchor, chunk.title, chunk.line, text) if text.strip() else None
        )

    def _touched_later(self, path: str) -> bool:
        if self.cold:
            return True
        if path not in self._late:
            page = self.standing(path)
            self._late[path] = (
                page is not None and not page.order and updated(self.db, path) > self.moment[0]
            )
        return self._late[path]

    def _names_later(self, text: str, path: str) -> bool:
        """Whether a text names a later day, or cites a page that was not there yet."""
        if self.moment is not None and any(day > self.moment[0] for day in _DAY.findall(text)):
            return True
        if "](" not in text:
            return False
        folder = posixpath.dirname(path)
        cited = {
            where[0]
            for href in set(_HREF.findall(text))
            if (where := target_of(href, folder=folder)) and where[0].endswith(".md")
        }
        self.look_up(cited)
        return any(
            (page := self.standing(c)) is not None
            and not (self._existed(page) and not (self.cold and page.order))
            for c in cited
        )

    def is_masked(self, path: str, text: str) -> bool:
        """Whether a ready-made text of a page may hold what was written after the moment, so that it must be cut anew."""
        if self.moment is None:
            return self.cold
        return any(day > self.moment[0] for day in _DAY.findall(text)) or self._touched_later(path)
