"""kb status, kb trail [ask]: say where the knowledge base and its trails stand: frontier, plateau, alarms, leads, what is in flight."""

import sqlite3
from dataclasses import dataclass

from kb import KbError, store, trail
from kb.page import text_of
from kb.run.noise import least_effect_text
from kb.run.quantity import number_text, unit_beside
from kb.text import counted, head_of
from kb.trail.handles import label_of
from kb.trail.progress import Progress, Step
from kb.trail.standing import Standing, standing_of, waiting_targets
from kb.verbs import Caller, Result, option

# Items of one list that the text shows.
_SHOWN = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """Of all targets, or everything about one."""

    target: str = option("everything about this target (default: a line for each target)")


def run(request: Status, caller: Caller) -> Result:
    db = caller.tables()
    names = (request.target,) if request.target else trail.targets(db)
    pages = dict(db.execute("select type, count(*) from standing group by type order by type"))
    standings = [standing_at(caller, db, name) for name in names]
    value = {"pages": pages, "targets": standings}
    if request.target:
        return Result(value, _whole(standings[0]))
    runs = sum(s.runs for s in standings)
    on = f" on {counted(len(names), 'targets')}" if any(names) else ""
    head = f"{counted(sum(pages.values()), 'pages')}, {counted(runs, 'experiments')}{on}"
    lines = (_line(s, trail.name_of(s.target, names)) for s in standings)
    waiting = (f"  {name}: no run yet" for name in waiting_targets(db))
    return Result(value, "\n".join([head, *lines, *waiting]))


def standing_at(caller: Caller, db: sqlite3.Connection, target: str) -> Standing:
    return standing_of(
        db, target, text_of=lambda path: text_of(store.read_bytes(caller.layout, path))
    )


def only_target(db: sqlite3.Connection, target: str, *, ask: str) -> str:
    """The target that was named, or the only one there is. Raises KbError with the words of `ask` where there are several."""
    known = trail.targets(db)
    if not target and len(known) != 1:
        raise KbError(f"{ask}; known: {', '.join(known) or 'none'}")
    return target or known[0]


def _line(standing: Standing, name: str) -> str:
    best = next((p for p in sorted(standing.progress, key=lambda p: -p.runs) if p.frontier), None)
    alarms = sorted({a.code for p in standing.progress for a in p.alarms})
    front = (
        f"{_figure(best, best.frontier)}, {counted(best.plateau, 'runs')} on the plateau"
        if best
        else f"no figure in common, kept last {label_of(standing.kept)}"
        if standing.kept
        else "none kept"
    )
    return f"  {name}: {counted(standing.runs, 'runs')}, {front}" + (
        f"; {', '.join(alarms)}" if alarms else ""
    )


def _figure(progress: Progress, step: Step) -> str:
    return f"{progress.metric} {number_text(step.value)} {unit_beside(progress.metric, progress.unit)}".rstrip()


def _variant(p: Progress) -> list[str]:
    lines = [
        f"\n{p.variant or '(no variant)'}: {counted(p.runs, 'runs')} ({', '.join(f'{n} {v}' for v, n in p.counts.items())})"
    ]
    if p.frontier:
        band = "noise unknown" if p.band is None else f"noise {p.band:.2%}"
        lines.append(f"  frontier: {_figure(p, p.frontier)} ({band}), {p.frontier.path}")
    if p.baseline and p.frontier and p.baseline.path != p.frontier.path:
        lines.append(f"  baseline: {_figure(p, p.baseline)}, {p.baseline.path}")
    lines.append(
        f"  plateau: {counted(p.plateau, 'runs')} since the frontier moved by {least_effect_text(p.metric)}"
    )
    return lines + [f"  ! {a.code}: {a.text}" for a in p.alarms]


def _whole(s: Standing) -> str:
    lines = [
        f"{s.target}: {counted(s.runs, 'runs')}, last {s.last or 'none'}",
        f"  page: {s.page or 'none'}",
        f"  balance: {s.settings} moved settings, {s.structural} changed structure",
    ]
    for progress in s.progress:
        lines += _variant(progress)
    for title, items in (
        (
            "closed topics",
            [f"{t.name}: refuted {t.failed} times, never supported" for t in s.closed],
        ),
        ("open leads", [f"{lead.path}: {lead.text[:160]}" for lead in s.leads]),
        ("in flight", list(s.in_flight)),
        ("runs in the log without a page", list(s.unfiled)),
    ):
        if items:
            shown = head_of(items, _SHOWN, "and {} more (--format json)")
            lines += [f"\n{title}:", *(f"  {item}" for item in shown)]
    retro = s.retrospective
    covers = "" if not retro or retro.covers_last else " (does not cover the last run)"
    return "\n".join([*lines, f"\nretrospective: {retro.path + covers if retro else 'none'}"])
