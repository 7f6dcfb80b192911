"""What may be seen at a moment: nothing later, nothing excluded, no word that was written down afterwards. Refuses to rank."""

import json
import posixpath
import re
import sqlite3
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar

from kb import trail
from kb.graph.paths import target_of
from kb.schema import TYPES, folders_of, place_of
from kb.search import Chunk, chunks_in, updated
from kb.slices.request import Request
from kb.trail.handles import numbers_named

if TYPE_CHECKING:
    from kb.slices.history import History

_T = TypeVar("_T")
# What loads looked up in the tables of one build, good as long as these stand; so many matters a batch or a server keeps for the questions to come.
Lookups = dict[Hashable, object]
_MOST_KEPT = 2048

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
class PageStanding:
    """What the tables say of a page without opening it; one that stands in another type's folder is a mirror of something else."""

    path: str
    type: str
    title: str
    date: str
    rank: float
    order: trail.Moment | None
    verdict: str
    digest: str
    is_mirror: bool


class View:
    """The knowledge base as one request may see it; open for the length of that request. `lookups` holds what earlier ones looked up, `history` reads when pages gained what."""

    def __init__(
        self,
        db: sqlite3.Connection,
        request: Request,
        *,
        lookups: Lookups | None = None,
        history: "Callable[[], History] | None" = None,
    ):
        self.db, self.before, self.exclude = db, request.before, request.exclude
        self.moment = trail.moment(db, before=request.before or None, as_of=request.as_of or None)
        # What two requests must share to see the same.
        self.limits = (self.before, self.moment, self.exclude, request.audience)
        self.cold = request.audience == "cold"
        self.lookups = {} if lookups is None else lookups
        self._history = history
        self._standing = self.always("standing", "", dict[str, PageStanding | None])
        self._visible = self.once("visible", "", dict[str, bool])
        self._late = self.once("late", "", dict[str, bool])

    def once(self, matter: str, of: Hashable, make: Callable[[], _T]) -> _T:
        """What follows from nothing but the tables, the limits of this view and what the matter is `of`: made once for all questions that share them."""
        return self.always(matter, (of, self.limits), make)

    def always(self, matter: str, of: Hashable, make: Callable[[], _T]) -> _T:
        """What follows from the tables alone, whoever asks."""
        key, known = (matter, of), self.lookups
        value = known.get(key, known)
        if value is known:
            if len(known) >= _MOST_KEPT:
                known.clear()
            value = known.setdefault(key, make())
        return value  # type: ignore[return-value]

    def look_up(self, paths: Iterable[str]) -> None:
        """Fetch the standing of many pages at once."""
        missing = sorted({path for path in paths if path not in self._standing})
        if not missing:
            return
        rows = self.db.execute(
            # A run that is a section of a page stands where its page does.
            "select j.value, s.type, s.title, s.date, s.rank, e.date, e.number, e.verdict, p.digest from json_each(?) j"
            " join standing s on s.path = substr(j.value, 1, instr(j.value || '#', '#') - 1)"
            " join page p on p.path = s.path left join experiment e on e.path = j.value",
            (json.dumps(missing),),
        )
        # Entered at once: a page that is half looked up would be none for whoever asks beside us.
        looked_up: dict[str, PageStanding | None] = dict.fromkeys(missing)
        for path, kind, title, date, rank, day, number, verdict, digest in rows:
            order = None if day is None else (day, number, path)
            mirror = kind not in TYPES or place_of(path)[0] not in folders_of(kind)
            looked_up[path] = PageStanding(
                path, kind, title, date, rank, order, verdict or "", digest, mirror
            )
        self._standing.update(looked_up)

    def standing(self, path: str) -> PageStanding | None:
        """Standing of a page, whether it may be seen or not; None for no page."""
        if path not in self._standing:
            self.look_up([path])
        return self._standing[path]

    def sees(self, path: str) -> bool:
        """Whether a page existed at the moment and is not excluded."""
        if path not in self._visible:
            page = self.standing(path)
            tells = self.cold and page and (page.type in _TELLS_OUTCOMES or page.order)
            hidden = tells or path == self.before or any(fnmatchcase(path, g) for g in self.exclude)
            self._visible[path] = page is not None and not hidden and self._existed(page)
        return self._visible[path]

    def visible(self, paths: Iterable[str]) -> dict[str, PageStanding]:
        """Standing of those of many pages that may be seen, in their order."""
        paths = list(paths)
        self.look_up(paths)
        return {path: self._standing[path] for path in paths if self.sees(path)}

    def _existed(self, page: PageStanding) -> bool:
        return self.moment is None or (
            page.order < self.moment if page.order else page.date <= self.moment[0]
        )

    def runs(self, target: str, *, last: int) -> list[str]:
        """Paths of the last experiments of a target (of all, without one) that may be seen, oldest first."""
        return self.once("runs", (target, last), lambda: self._runs(target, last))

    def _runs(self, target: str, last: int) -> list[str]:
        rows = self.db.execute(
            "select path from experiment where (? = '' or target = ?) and (date, number, path) < (?, ?, ?)"
            " order by date desc, number desc, path desc limit ?",
            (target, target, *(self.moment or ("9999", 0, "")), last),
        )
        return [*self.visible([path for (path,) in rows][::-1])]

    def trails(self) -> list[tuple[str, int]]:
        """(target, number of its experiments at the moment), the longest trail first."""
        query = "select target, count(*) from experiment where (date, number, path) < (?, ?, ?) group by target order by 2 desc, 1"
        return self.db.execute(query, self.moment or ("9999", 0, "")).fetchall()

    def links(self, paths: Iterable[str]) -> list[tuple[str, list[str], list[str]]]:
        """(page, pages that it cites, pages that cite it), by path."""
        rows = self.db.execute(
            "select n.path, n.cites, n.cited_by from json_each(?) j join neighbours n on n.path = j.value order by n.path",
            (json.dumps(list(paths)),),
        )
        return [(path, json.loads(cites), json.loads(cited_by)) for path, cites, cited_by in rows]

    def chunks(self, path: str) -> list[Chunk]:
        """The sections of a page, whatever of them may be seen."""
        return self.always("chunks", path, lambda: chunks_in(self.db, path))

    def masked(self, chunk: Chunk) -> Chunk | None:
        """A chunk with everything left out that was written after the moment; None where nothing is left."""
        late, gained = self._touched_later(chunk.path), self.gained(chunk.path)
        if late and _OUTCOME.search(chunk.title):
            return None
        if not (late or gained or self._names_later(chunk.text, chunk.path)):
            return chunk
        kept = [line for line in chunk.text.split("\n") if line.strip() not in gained and not self._names_later(line, chunk.path) and not (late and _OUTCOME_LINE.match(line))]  # fmt: skip
        return replace(chunk, text="\n".join(kept)) if any(kept) else None

    def is_masked(self, path: str, text: str) -> bool:
        """Whether a ready-made text of a page may hold what was written after the moment, so that it must be cut anew."""
        if self.moment is None:
            return self.cold
        late = self._touched_later(path) or self.gained(path) or self._names_later(text, path)
        # A ready-made text has no links; what its page cites tells when it was written.
        return bool(late) or any(self._hides(cites) for _, cites, _ in self.links([path]))

    @cached_property
    def history(self) -> "tuple[History, int] | None":
        """The wiki's history and the second of the moment in it; None for the present."""
        if self.moment is None or self._history is None:
            return None
        history = self._history()
        return history, history.moment(self.before, self.moment[0])

    def gained(self, path: str) -> frozenset[str]:
        """Lines that a page gained after the moment, by the wiki's history."""
        return self.history[0].since(path, self.history[1]) if self.history else frozenset()

    def _touched_later(self, path: str) -> bool:
        """Whether a page that is no run says that it was touched after the moment; to a cold reader all were."""
        if self.moment is not None and path not in self._late:
            page = self.standing(path)
            written_on = page is not None and not page.order
            self._late[path] = written_on and updated(self.db, path) > self.moment[0]
        return self.cold or self._late.get(path, False)

    def _names_later(self, text: str, path: str) -> bool:
        """Whether a text names a later day, cites a page that was not there yet or, on the moment's own day, names a run of its number or a higher one."""
        if self.moment is not None:
            page, (day, number, _) = self.standing(path), self.moment
            same_day = page and not page.order and page.date == day
            if same_day and max(numbers_named(text), default=-1) >= number:
                return True
            if any(d > day for d in _DAY.findall(text)):
                return True
        hrefs = set(_HREF.findall(text)) if (self.moment or self.cold) and "](" in text else ()
        places = (target_of(href, folder=posixpath.dirname(path)) for href in hrefs)
        ends = {place[0] for place in places if place and place[0].endswith(".md")}
        return bool(ends) and self._hides(ends)

    def _hides(self, paths: Iterable[str]) -> bool:
        """Whether one of the pages was not there yet, or tells a cold reader an outcome."""
        paths = set(paths)
        self.look_up(paths)
        pages = filter(None, map(self.standing, paths))
        return any(not self._existed(page) or (self.cold and page.order) for page in pages)
