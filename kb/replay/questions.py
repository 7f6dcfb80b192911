"""Past pages put again as questions: their own words before the outcome, without links and run numbers, and what they cited then."""

import json
import posixpath
import re
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from kb import search, trail
from kb.graph.paths import target_of
from kb.page import Page, from_row
from kb.slices import Request
from kb.slices.ranking import LISTS
from kb.slices.view import View

# A page that more than this share of a target's runs cite is cited by habit and says nothing about one question.
_HABIT, _HABIT_FROM = 0.25, 8

# Sections written once the result was in.
_AFTER = re.compile(
    r"verdict|result|outcome|profil|next|follow|conclusion|lesson|finding|analysis|observ|post-?mortem|status|update|ledger|history",
    re.IGNORECASE,
)
_NUMBERED = re.compile(
    r"\b(?:exp(?:eriment)?\.?[ -]?\d{1,4}|v\d{2,4}|run[ -]?\d{1,4})[a-z]?\b", re.IGNORECASE
)

_SHORTEST, _LONGEST = 40, 2400
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class PastQuestion:
    """One past page put again; `cited` are pages that were there and that it cited before it knew its outcome."""

    path: str
    type: str
    target: str
    text: str
    cited: frozenset[str]


def questions(db: sqlite3.Connection, *, target: str = "") -> list[PastQuestion]:
    """Every experiment and hypothesis page that asks something and cited pages which were there already, by path.

    Indexes, catalogs and logs are no answer: citing one is a habit of the page, and what it names is asked for in its own right.
    """
    habits = _habits(db)
    listed = []
    for path, digest, row, cites in db.execute(
        "select p.path, p.digest, p.row, n.cites from standing s join page p on p.path = s.path join neighbours n on n.path = s.path"
        " where s.type in ('experiment', 'hypothesis') order by p.path"
    ).fetchall():
        facts = trail.experiment(db, path)
        of = facts.target if facts else ""
        if target not in ("", of):
            continue
        page, view = from_row(path, digest, row), View(db, Request("hypothesis", before=path))
        visible = filter(view.sees, _cited_before(page, set(json.loads(cites))))
        cited = {c for c in visible if view.standing(c).type not in LISTS} - habits.get(of, set())
        text = _words(db, page, facts)
        if cited and len(text) >= _SHORTEST:
            listed.append(PastQuestion(path, page.type, of, text, frozenset(cited)))
    return listed


def spread(all_of: Sequence[_T], sample: int) -> list[_T]:
    """About `sample` of them, evenly spread; all of them for 0."""
    step = max(1.0, len(all_of) / sample) if sample else 1.0
    return [all_of[int(i * step)] for i in range(int(len(all_of) / step))]


def _habits(db: sqlite3.Connection) -> dict[str, set[str]]:
    cited: dict[str, list[str]] = defaultdict(list)
    runs: Counter[str] = Counter()
    for target, cites in db.execute(
        "select e.target, n.cites from experiment e join neighbours n on n.path = e.path order by e.path"
    ):
        runs[target] += 1
        cited[target] += json.loads(cites)
    return {
        t: {p for p, n in Counter(paths).items() if n > _HABIT * runs[t]}
        for t, paths in cited.items()
        if runs[t] >= _HABIT_FROM
    }


def _words(db: sqlite3.Connection, page: Page, facts: trail.Facts | None) -> str:
    texts = [page.title, *(search.without_links(c.text) for c in _before_outcome(db, page.path))]
    if facts:
        texts = [facts.hypothesis, facts.mechanism, facts.predicted_signal]
    text = " ".join(filter(None, texts))
    labels = {link.text for link in page.links if len(link.text) > 2}
    for label in sorted(labels, key=lambda t: (-len(t), t)):
        text = text.replace(label, " ")
    return " ".join(_NUMBERED.sub(" ", text).split())[:_LONGEST]


def _before_outcome(db: sqlite3.Connection, path: str) -> Iterable[search.Chunk]:
    chunks = search.chunks_in(db, path)
    return (c for c in chunks if not _AFTER.search(c.title.rpartition(" > ")[2]))


def proposal_of(db: sqlite3.Connection, path: str) -> str:
    """A run's page as its author would have handed it to the gate: its own markdown, without the sections that tell its outcome."""
    return "\n\n".join(
        f"{'#' * (1 + chunk.title.count(' > '))} {chunk.title.rpartition(' > ')[2]}\n\n{chunk.text}"
        for chunk in _before_outcome(db, path)
    )


def _cited_before(page: Page, known: set[str]) -> set[str]:
    """Pages that a page links to outside the sections that tell its outcome."""
    after = [(s.start, s.end) for s in page.sections if s.level > 1 and _AFTER.search(s.title)]
    folder = posixpath.dirname(page.path)
    early = (x for x in page.links if not any(a <= x.line < b for a, b in after))
    places = (target_of(link.href, folder=folder) for link in early)
    return {place[0] for place in places if place and place[0] in known}
