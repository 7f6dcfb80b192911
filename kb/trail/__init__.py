"""The experiments in order: what each page says was tried, measured and decided.

A page is walked once (`outline`: passages with their headings and labels). From those `page_facts` puts together what it says:
`verdicts`, `levers`, `metrics` (`metric_tables`, `metric_sentences`, `metric_names`), `page_account` (configuration, buckets, memory,
leads); `parts` finds the pages that hold many experiments. From `facts` alone follow `frontier`, `progress`, `standing`, `retro`, and
`state` with its parts: `outcomes`, `dead`, `leads`, `disputed`, `transfers`.

Refuses to re-read pages: facts come from the tables.
"""

import sqlite3
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from typing import TYPE_CHECKING

from kb import KbError, exports, grouped, store
from kb.store import Kept, digest_of, row_of, value_of
from kb.trail.facts import Facts, Place, VerdictRead, from_row
from kb.trail.facts import from_row as facts_in

if TYPE_CHECKING:
    from kb.graph import Graph
    from kb.trail.frontier import metric_named
    from kb.trail.page_facts import facts_of, read_facts
    from kb.trail.parts import parts_of
    from kb.trail.transfers import Lesson

__all__ = [
    "TABLES",
    "Facts",
    "Moment",
    "Place",
    "Relatives",
    "Trail",
    "kin",
    "lessons",
    "VerdictRead",
    "experiment",
    "experiments",
    "facts_in",
    "facts_of",
    "is_day",
    "metric_named",
    "moment",
    "parts_of",
    "read_facts",
    "relatives_of",
    "save",
    "targets",
    "trail_of",
]

# Loaded when they are first asked for: most commands take facts from the tables and judge no frontier.
__getattr__ = exports(
    __name__,
    {
        "frontier": ("metric_named",),
        "page_facts": ("facts_of", "read_facts"),
        "parts": ("parts_of",),
    },
)

# Trail order of something: date, number, path. Experiments with a smaller one came before it.
Moment = tuple[str, int, str]
_LAST = "9999", 0, ""

TABLES: tuple[str, ...] = (
    """create table experiment (path text primary key, target text not null, variant text not null, date text not null,
    number integer not null, verdict text, row text not null) without rowid""",
    "create index experiment_order on experiment (target, date, number, path)",
    # What other targets may learn of a target's wins, and how near two targets are.
    "create table lesson (path text not null, subject text not null, target text not null, date text not null, number integer not null, "
    "row text not null, primary key (path, subject)) without rowid",
    "create table kin (target text not null, other text not null, nearness real not null, primary key (target, other)) without rowid",
)


@dataclass(frozen=True)
class Trail:
    """Experiments in trail order, their rows as stored, by path, and the metric that each target's page names, by target."""

    experiments: tuple[Facts, ...]
    rows: Mapping[str, bytes]
    metrics: Mapping[str, str]

    @cached_property
    def by_target(self) -> Mapping[str, tuple[Facts, ...]]:
        """Experiments of each target, in trail order."""
        by_target = grouped((e.target, e) for e in self.experiments)
        return {target: tuple(runs) for target, runs in sorted(by_target.items())}

    @cached_property
    def digests(self) -> Mapping[str, str]:
        """Digest of what each run says, by path."""
        return {e.path: digest_of(self.rows[e.path]) for e in self.experiments}

    @cached_property
    def target_digests(self) -> Mapping[str, str]:
        """By target, digest of what its runs say and of what its metric is called."""
        return {
            target: digest_of(
                "".join([self.metrics.get(target, ""), *(self.digests[e.path] for e in own)])
            )
            for target, own in self.by_target.items()
        }


@dataclass(frozen=True, slots=True)
class Relatives:
    """What targets may learn of each other: what the runs of each teach, in trail order, and how near each two are that are near at all."""

    lessons: "Mapping[str, tuple[Lesson, ...]]"
    kin: Mapping[tuple[str, str], float]


def relatives_of(trail: Trail, kept: Kept) -> Relatives:
    """Relatives of all targets; what a target's runs say is taken from `kept` while none of them changes."""
    from kb.trail.transfers import Lesson, Traits, kinship_of, lessons_of, traits_of

    def own_lessons(target: str) -> tuple[Lesson, ...]:
        return tuple(lessons_of(trail.by_target[target], stated=trail.metrics.get(target, "")))

    traits = kept.each(
        "traits", trail.target_digests, Traits, lambda target: traits_of(trail.by_target[target])
    )
    lessons = kept.each("lessons", trail.target_digests, tuple[Lesson, ...], own_lessons)
    return Relatives(lessons, kinship_of(traits))


def trail_of(rows: Iterable[tuple[str, bytes]], graph: "Graph") -> Trail:
    """Trail of all (path, facts row) pairs."""
    from kb.trail.frontier import metric_named

    stored = dict(rows)
    metrics = {
        p.field("target") or p.stem: metric_named(p)
        for p in graph.pages.values()
        if p.type == "target"
    }
    return Trail(
        tuple(sorted(map(from_row, stored.values()), key=lambda e: e.order)), stored, metrics
    )


def save(db: sqlite3.Connection, trail: Trail, relatives: Relatives) -> None:
    """Write what a fresh process needs to load the trail of one target quickly."""
    runs = (
        (e.path, e.target, e.variant, e.date, e.number, e.verdict.canonical, trail.rows[e.path])
        for e in trail.experiments
    )
    store.replace_rows(db, "experiment", runs)
    taught = (
        (w.path, w.subject, w.target, w.date, w.number, row_of(w))
        for own in relatives.lessons.values()
        for w in own
    )
    store.replace_rows(db, "lesson", taught)
    store.replace_rows(db, "kin", ((*pair, near) for pair, near in relatives.kin.items()))


def experiments(
    db: sqlite3.Connection, *, target: str | None = None, before: Moment | None = None
) -> tuple[Facts, ...]:
    """Experiments in trail order: of one target or of all, strictly earlier than `before`."""
    own = "" if target is None else "target = ? and "
    query = f"select row from experiment where {own}(date, number, path) < (?, ?, ?) order by date, number, path"
    rows = db.execute(query, (*([target] if own else []), *(before or _LAST)))
    return tuple(from_row(row) for (row,) in rows)


def experiment(db: sqlite3.Connection, path: str) -> Facts | None:
    """The experiment at a path, or None."""
    row = db.execute("select row from experiment where path = ?", (path,)).fetchone()
    return from_row(row[0]) if row else None


def targets(db: sqlite3.Connection) -> tuple[str, ...]:
    """Targets that have experiments, sorted."""
    return tuple(t for (t,) in db.execute("select distinct target from experiment order by target"))


def name_of(target: str, known: Collection[str]) -> str:
    """What a target is called; runs that name none are only experiments where nothing names one."""
    return target or ("without a target" if any(known) else "experiments")


def is_day(text: str) -> bool:
    """Whether a text is a day of the calendar, written YYYY-MM-DD."""
    try:
        return date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


def moment(
    db: sqlite3.Connection, *, before: str | None = None, as_of: str | None = None
) -> Moment | None:
    """The moment just before a page, or the end of a day; None where neither is given.

    For a page that is no experiment, that day's experiments count as earlier. Raises KbError for a page or a day that is not
    there.
    """
    if as_of is not None and not is_day(as_of):
        raise KbError(f"'{as_of}' is no day; write it as YYYY-MM-DD")
    if before is not None:
        row = db.execute(
            "select date, number, path from experiment where path = ?", (before,)
        ).fetchone()
        if row:
            return row
        row = db.execute("select date from standing where path = ?", (before,)).fetchone()
        if not row:
            raise KbError(
                f"no such page '{before}'; give its path from the root of the knowledge base, such as wiki/experiments/…md"
            )
        as_of = row[0] or "0000-00-00"
    return None if as_of is None else (as_of, 1 << 31, "")


def lessons(
    db: sqlite3.Connection, target: str, *, before: Moment | None = None
) -> "tuple[Lesson, ...]":
    """What all targets but one teach, strictly earlier than `before`, without what names a run that was later."""
    from kb.trail.transfers import Lesson

    query = "select row from lesson where target <> ? and (date, number, path) < (?, ?, ?) order by path, subject"
    rows = db.execute(query, (target, *(before or _LAST)))
    taught = tuple(value_of(row, Lesson) for (row,) in rows)
    if before is None:
        return taught
    # What a page of a trail that went on names was written there when it was run; else its own day is the limit.
    query = "select target, max(number * was), min(was) from (select target, number, (date, number, path) < (?, ?, ?) as was from experiment) group by target"
    known = {name: (last, bool(ended)) for name, last, ended in db.execute(query, before)}
    return tuple(
        w
        for w in taught
        for last, ended in (known[w.target],)
        if w.upto <= last or ended and w.date < before[0]
    )


def kin(db: sqlite3.Connection, target: str) -> dict[str, float]:
    """How near each other target is to one."""
    return dict(db.execute("select other, nearness from kin where target = ?", (target,)))
