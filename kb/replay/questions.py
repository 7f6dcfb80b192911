"""Past pages put again as questions: their own words before the outcome, without links and run numbers, and what they cited then."""

import json
import posixpath
import re
import sqlite3
from collections import Counter, defaultdict
from dataclasses import dataclass

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
_NUMBERED = re.compile(r"\b(?:exp(?:eriment)?\.?[ -]?\d{1,4}|v\d{2,4}|run[ -]?\d{1,4})[a-z]?\b", re.IGNORECASE)

_SHORTEST, _LONGEST = 40, 2400


@dataclass(frozen=True, slots=True)
class Question:
    """One past page put again; `cited` are pages that were there and that it cited before it knew its outcome."""

    path: str
    type: str
    target: str
    text: str
    cited: frozenset[str]


def questions(db: sqlite3.Connection, *, target: str = "") -> list[Question]:
    """Every experiment and hypothesis page that asks something and cited pages which were there already, by path.

    Indexes, catalogs and logs are no answer: citing one is a habit of the page, and what it names is asked for in its own right.
    """
    habits = _habits(db)
    found = []
    for path, digest, row, cites in db.execute(
        "select p.path, p.digest, p.row, n.cites from standing s join page p on p.path = s.path join neighbours n on n.path = s.path"
        " where s.type in ('experiment', 'hypothesis') order by p.path"
    ).fetchall():
        facts = trail.experiment(db, path)
        of = facts.target if facts else ""
        if target and of != target:
            continue
        page = from_row(path, digest, row)
        view = View(db, Request("hypothesis", before=path))
        cited = {
            c for c in _cited_before(page, set(json.loads(cites))) if view.sees(c) and view.standing(c).type not in LISTS
        } - habits.get(of, set())
        text = _asked(db, page, facts) if cited else ""
        if len(text) >= _SHORTEST:
            found.append(Question(path, page.type, of, text, frozenset(cited)))
    return found


def _habits(db: sqlite3.Connection) -> dict[str, set[str]]:
    runs: Counter[str] = Counter()
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for target, cites in db.execute(
        "select e.target, n.cites from experiment e join neighbours n on n.path = e.path order by e.path"
    ):
        runs[target] += 1
        counts[target].update(json.loads(cites))
    return {t: {p for p, n in c.items() if runs[t] >= _HABIT_FROM and n > _HABIT * runs[t]} for t, c in counts.items()}


def _asked(db: sqlite3.Connection, page: Page, facts: trail.Facts | None) -> str:
    if facts:
        text = " ".join(t for t in (facts.hypothesis, facts.mechanism, facts.predicted_signal) if t)
    else:
        text = " ".join(
            [page.title, *(search.without_links(c.text) for c in search.chunks_in(db, page.path) if not _AFTER.search(c.title))]
        )
    for label in sorted({link.text for link in page.links if len(link.text) > 2}, key=lambda t: (-len(t), t)):
        text = text.replace(label, " ")
    return " ".join(_NUMBERED.sub(" ", text).split())[:_LONGEST]


def proposal_of(db: sqlite3.Connection, path: str) -> str:
    """A run's page as its author would have handed it to the gate: its own markdown, without the sections that tell its outcome."""
    return "\n\n".join(
        f"{'#' * (1 + chunk.title.count(' > '))} {chunk.title.rpartition(' > ')[2]}\n\n{chunk.text}"
        for chunk in search.chunks_in(db, path)
        if not _AFTER.search(chunk.title.rpartition(" > ")[2])
    )


def _cited_before(page: Page, known: set[str]) -> set[str]:
    """Pages that a page links to outside the sections that tell its outcome."""
    after = [(s.start, s.end) for s in page.sections if s.level > 1 and _AFTER.search(s.title)]
    found = set()
    for link in page.links:
        where = target_of(link.href, folder=posixpath.dirname(page.path))
        if where and where[0] in known and not any(a <= link.line < b for a, b in after):
            found.add(where[0])
    return found
