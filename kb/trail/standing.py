"""Where a target stands as a whole: progress by variant, topics, leads, runs in flight or never filed, retrospective, and
whether the loop may stop.

Refuses to touch the disk: the text of logs and retrospectives comes through a function that the door gives.
"""

import json
import re
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from kb import KbError, trail
from kb.page import Page, from_row
from kb.run.noise import least_effect_text
from kb.schema import type_of_folder
from kb.text import counted
from kb.trail.facts import Facts
from kb.trail.frontier import kept, metric_named
from kb.trail.leads import leads_of
from kb.trail.progress import (
    PLATEAU,
    Progress,
    TopicCounts,
    balance_of,
    by_variant,
    topics_of,
    unfiled,
)

# Runs whose leads a loop has to answer for before it stops.
_LEADS_FROM = 3


@dataclass(frozen=True, slots=True)
class Lead:
    """Something nobody has tried yet: an open hypothesis page, or an idea that a run left."""

    path: str
    text: str


@dataclass(frozen=True, slots=True)
class Retrospective:
    """The newest retrospective of a target; `covers_last` is whether it speaks of the last run, `headroom` what it states."""

    path: str
    date: str
    covers_last: bool
    headroom: str


@dataclass(frozen=True, slots=True)
class Standing:
    """All of that for one target. `page` is empty where the target has none; `kept` is its last kept run."""

    target: str
    page: str
    runs: int
    first: str
    last: str
    kept: str
    progress: tuple[Progress, ...]
    settings: int
    structural: int
    closed: tuple[TopicCounts, ...]
    leads: tuple[Lead, ...]
    in_flight: tuple[str, ...]
    unfiled: tuple[str, ...]
    retrospective: Retrospective | None
    headroom: str


def standing_of(db: sqlite3.Connection, target: str, *, text_of: Callable[[str], str]) -> Standing:
    """Standing of one target; `text_of` gives the text of a page by its path. Raises KbError for a target nobody knows."""
    runs = trail.experiments(db, target=target)
    home = target_page(db, target)
    if not runs and home is None:
        raise KbError(f"no target '{target}'; known: {', '.join(trail.targets(db)) or 'none'}")
    decided = [e for e in runs if not e.running]
    retrospective = _retrospective(db, target, runs, text_of)
    settings, structural = balance_of(runs)
    left = (Lead(lead.run.path, lead.text) for lead in leads_of(decided, last=_LEADS_FROM))
    stated = home.field("headroom") if home else ""
    return Standing(
        target=target,
        page=home.path if home else "",
        runs=len(runs),
        first=runs[0].path if runs else "",
        last=decided[-1].path if decided else "",
        kept=_last_kept(decided),
        progress=by_variant(decided, stated=metric_named(home) if home else ""),
        settings=settings,
        structural=structural,
        closed=tuple(t for t in topics_of(runs) if t.closed),
        leads=(
            *_open_hypotheses(db, target, {home.path if home else "", *(e.path for e in runs)}),
            *left,
        ),
        in_flight=tuple(e.path for e in runs if e.running),
        unfiled=unfiled(_log_of(db, target, text_of), runs),
        retrospective=retrospective,
        headroom=stated or (retrospective.headroom if retrospective else ""),
    )


def _last_kept(runs: Sequence[Facts]) -> str:
    return next((e.path for e in reversed(runs) if kept(e)), "")


def _pages(db: sqlite3.Connection, kind: str) -> Iterator[Page]:
    """Pages of a type, by path."""
    query = "select p.path, p.digest, p.row from page p join standing s on s.path = p.path where s.type = ? order by p.path"
    return (from_row(*row) for row in db.execute(query, (kind,)))


def target_page(db: sqlite3.Connection, target: str) -> Page | None:
    """The page of a target: the one whose `target:` says so, else the one whose file name does."""
    pages = list(_pages(db, "target")) if target else []
    named = [p for p in pages if p.field("target") == target]
    return next(
        iter((*named, *(p for p in pages if p.stem in (target, target.replace("/", "-"))))), None
    )


def waiting_targets(db: sqlite3.Connection) -> tuple[str, ...]:
    """Targets that have a page, in a wiki without runs."""
    names = {page.field("target") or page.stem for page in _pages(db, "target")}
    return () if trail.targets(db) else tuple(sorted(names))


def _linked(db: sqlite3.Connection, path: str) -> frozenset[str]:
    """Pages that a page cites or that cite it."""
    row = db.execute("select cites, cited_by from neighbours where path = ?", (path,)).fetchone()
    return frozenset((*json.loads(row[0]), *json.loads(row[1]))) if row else frozenset()


def is_open(page: Page) -> bool:
    """Whether a hypothesis page says that it waits to be tried."""
    return bool(re.match(r"open|in[_ -]progress|proposed|new\b", page.field("status").lower()))


def _open_hypotheses(db: sqlite3.Connection, target: str, own: set[str]) -> Iterable[Lead]:
    """Open hypotheses that name the target, or name none and are linked with one of its `own` pages."""
    for page in filter(is_open, _pages(db, "hypothesis")):
        named = page.field("target")
        if named == target or not named and own & _linked(db, page.path):
            yield Lead(page.path, page.title)


def _log_of(db: sqlite3.Connection, target: str, text_of: Callable[[str], str]) -> str:
    """Text of the logs that stand in a target's own folders."""
    paths = (page.path for page in _pages(db, "log") if page.path.lower().endswith("/log.md"))
    steps = ((path, path.split("/", 2)) for path in paths)
    own = (path for path, (_, folder, *rest) in steps if rest and rest[0].startswith(f"{target}/") and type_of_folder(folder) == "experiment")  # fmt: skip
    return "\n".join(map(text_of, own))


def _retrospective(
    db: sqlite3.Connection, target: str, runs: Sequence[Facts], text_of: Callable[[str], str]
) -> Retrospective | None:
    """The newest retrospective that names the target, or names none and is linked with two of its runs."""
    own = {e.path for e in runs}
    last = next((e for e in reversed(runs) if not e.running), None)
    pages = (p for p in _pages(db, "analysis") if "retrospective" in f"{p.title} {p.path}".lower())
    for page in sorted(pages, key=lambda p: (p.date, p.path), reverse=True):
        named, linked = page.field("target"), _linked(db, page.path)
        if named == target or not named and len(own & linked) > 1:
            label = (
                rf"(?<![\w.])(?:v|exp\.? ?|run ?)0*{last.number}(?!\d)"
                if last and last.number
                else "(?!)"
            )
            covers = (
                last is None
                or last.path in linked
                or bool(re.search(label, text_of(page.path), re.I))
            )
            return Retrospective(page.path, page.date, covers, page.field("headroom"))
    return None


def reasons_to_go_on(standing: Standing) -> tuple[str, ...]:
    """Why a loop must not stop yet; empty where plateau, missing headroom and a fresh retrospective are all on file."""
    if not standing.runs:
        return (f"{standing.target}: nothing was run yet",)
    reasons: list[str] = []
    newest = [
        p for p in standing.progress if any(s.path == standing.last for s in p.steps)
    ] or sorted(standing.progress, key=lambda p: -p.runs)[:1]
    for p in newest:
        where = f" on {p.variant}" if p.variant else ""
        if p.plateau < PLATEAU:
            reasons.append(
                f"no plateau{where}: {counted(p.plateau, 'runs')} since the frontier moved by {least_effect_text(p.metric)}, {PLATEAU} are asked for"
            )
    if standing.in_flight:
        reasons.append(
            f"{len(standing.in_flight)} runs are in flight: {', '.join(standing.in_flight[:3])}"
        )
    if standing.leads:
        reasons.append(
            f"{len(standing.leads)} leads are open, such as {standing.leads[0].path}: {standing.leads[0].text[:120]}; try them, or retire them with a reason"
        )
    if not re.match(r"(?:none|no\b|0\b)", standing.headroom, re.IGNORECASE):
        reasons.append(
            "nobody states that no headroom is left: write `headroom: none` with the profile's evidence into the retrospective or the target page"
            + (f" (it says '{standing.headroom}')" if standing.headroom else "")
        )
    retro = standing.retrospective
    if retro is None:
        reasons.append("no retrospective is on file: `kb retro` computes its skeleton")
    elif not retro.covers_last:
        reasons.append(
            f"the retrospective {retro.path} does not cover the last run {standing.last}"
        )
    if standing.unfiled:
        reasons.append(f"runs in the log have no page: {', '.join(standing.unfiled[:8])}")
    return tuple(reasons)
