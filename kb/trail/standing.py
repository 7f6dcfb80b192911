"""Where a target stands as a whole: progress by variant, topics, leads, runs in flight or never filed, retrospective, and
whether the loop may stop.

Refuses to touch the disk: the text of logs and retrospectives comes through a function that the door gives.
"""

import json
import re
import sqlite3
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from kb import KbError
from kb.page import Page, from_row
from kb.run.noise import SMALLEST_GAIN_TEXT
from kb.schema import type_of_folder
from kb.trail.facts import Facts
from kb.trail.facts import from_row as facts_from_row
from kb.trail.frontier import metric_named
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
    """All of that for one target. `page` is empty where the target has none."""

    target: str
    page: str
    runs: int
    first: str
    last: str
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
    runs = tuple(
        facts_from_row(row)
        for (row,) in db.execute(
            "select row from experiment where target = ? order by date, number, path", (target,)
        )
    )
    home = target_page(db, target)
    if not runs and home is None:
        known = (
            ", ".join(
                t for (t,) in db.execute("select distinct target from experiment order by target")
            )
            or "none"
        )
        raise KbError(f"no target '{target}'; known: {known}")
    decided = [e for e in runs if not e.running]
    retrospective = _retrospective(db, target, decided[-1] if decided else None, text_of=text_of)
    settings, structural = balance_of(runs)
    stated = metric_named(home) if home else ""
    headroom = (home.field("headroom") if home else "") or (
        retrospective.headroom if retrospective else ""
    )
    return Standing(
        target=target,
        page=home.path if home else "",
        runs=len(runs),
        first=runs[0].path if runs else "",
        last=decided[-1].path if decided else "",
        progress=by_variant(decided, stated=stated),
        settings=settings,
        structural=structural,
        closed=tuple(t for t in topics_of(runs) if t.closed),
        leads=(*_open_hypotheses(db, target, home, runs), *_left(decided)),
        in_flight=tuple(e.path for e in runs if e.running),
        unfiled=unfiled(_log_of(db, target, text_of), runs),
        retrospective=retrospective,
        headroom=headroom,
    )


def target_page(db: sqlite3.Connection, target: str) -> Page | None:
    """The page of a target: the one whose `target:` says so, else the one whose file name does."""
    best = None
    for path, digest, row in db.execute(
        "select p.path, p.digest, p.row from page p join standing s on s.path = p.path where s.type = 'target' order by p.path"
    ):
        page = from_row(path, digest, row)
        if page.field("target") == target:
            return page
        if page.stem == target or page.stem == target.replace("/", "-"):
            best = best or page
    return best


def _cites(db: sqlite3.Connection, path: str) -> frozenset[str]:
    row = db.execute("select cites, cited_by from neighbours where path = ?", (path,)).fetchone()
    return frozenset((*json.loads(row[0]), *json.loads(row[1]))) if row else frozenset()


def is_open(page: Page) -> bool:
    """Whether a hypothesis page says that it waits to be tried."""
    return bool(re.match(r"open|in[_ -]progress|proposed|new\b", page.field("status").lower()))


def _open_hypotheses(
    db: sqlite3.Connection, target: str, home: Page | None, runs: tuple[Facts, ...]
) -> Iterable[Lead]:
    own = {e.path for e in runs} | ({home.path} if home else set())
    query = "select p.path, p.digest, p.row from page p join standing s on s.path = p.path where s.type = 'hypothesis' order by p.path"
    for path, digest, row in db.execute(query):
        page = from_row(path, digest, row)
        if not is_open(page):
            continue
        named = page.field("target")
        if named == target or not named and own & _cites(db, path):
            yield Lead(path, page.title)


def _left(decided: list[Facts]) -> Iterable[Lead]:
    """What the last runs left to try and nothing since made moot."""
    return (Lead(lead.run.path, lead.text) for lead in leads_of(decided, last=_LEADS_FROM))


def _log_of(db: sqlite3.Connection, target: str, text_of: Callable[[str], str]) -> str:
    """Text of the logs that stand in a target's own folders."""
    logs = [
        path for (path,) in db.execute("select path from standing where type = 'log' order by path")
    ]
    own = (
        p
        for p in logs
        if p.rsplit("/", 1)[-1].lower() == "log.md" and p.split("/", 2)[-1].startswith(f"{target}/")
    )
    return "\n".join(
        text_of(path) for path in own if type_of_folder(path.split("/")[1]) == "experiment"
    )


def _retrospective(
    db: sqlite3.Connection, target: str, last: Facts | None, *, text_of: Callable[[str], str]
) -> Retrospective | None:
    own = {
        path for (path,) in db.execute("select path from experiment where target = ?", (target,))
    }
    query = """select p.path, p.digest, p.row from page p join standing s on s.path = p.path
        where s.type = 'analysis' and (lower(s.title) like '%retrospective%' or lower(s.path) like '%retrospective%') order by s.date desc, p.path desc"""
    for path, digest, row in db.execute(query):
        page = from_row(path, digest, row)
        named = page.field("target")
        if named != target and (named or len(own & _cites(db, path)) < 2):
            continue
        cites = _cites(db, path)
        label = (
            rf"(?<![\w.])(?:v|exp\.? ?|run ?)0*{last.number}(?!\d)" if last and last.number else ""
        )
        covers = (
            last is None
            or last.path in cites
            or bool(label and re.search(label, text_of(path), re.IGNORECASE))
        )
        return Retrospective(path, page.date, covers, page.field("headroom"))
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
                f"no plateau{where}: {p.plateau} runs since the frontier moved by {SMALLEST_GAIN_TEXT}, {PLATEAU} are asked for"
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
