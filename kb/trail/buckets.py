"""Where a target's time goes: the bucket tables of its runs, what each bucket takes, and what could at most be won in it. Refuses to add up what a page does not list."""

from collections.abc import Iterable, Sequence

from kb.text import cut, numbers_in, unit_of
from kb.trail.facts import Facts, Note
from kb.trail.frontier import kept, parents_of
from kb.trail.handles import handle
from kb.trail.line import Line, quoted
from kb.trail.outcomes import Outcomes, is_repeat
from kb.trail.outline import Phrases

# A table of fewer rows is no breakdown; a row of all the time is its sum, and one of so little nothing to win by.
_ROWS, _ALL, _LITTLE = 4, 99.0, 3.0
_MOST_NAMED = 5
# What a sentence says of a limit is read before what it says of a bucket.
_LIMITS = Phrases("idle, util\\w*, bound by, \\w+-bound, peak, roofline, headroom", whole=True)


def largest_buckets(outcomes: Outcomes) -> list[tuple[float, str, str]]:
    """(share in per cent, name, page that states it) of the buckets of the table that stands for the frontier, the largest first."""
    for e in _tables(outcomes):
        if rows := _shares(e.account.buckets):
            return sorted(((s, name, e.path) for name, s in rows if s < _ALL), key=lambda b: -b[0])
    return []


def bottleneck_line(outcomes: Outcomes) -> Iterable[Line]:
    """What takes most of the time, and what a run could at most bring that does away with all of a bucket."""
    large = [b for b in largest_buckets(outcomes) if b[0] >= _LITTLE][:_MOST_NAMED]
    prizes = (f"{cut(name, 60)} {s:.3g} % (+{100 * s / (100 - s):.0f} %)" for s, name, _ in large)
    if large:
        text = f"time goes to (at most to be won): {', '.join(prizes)}"
        yield Line(text, large[0][2])


def _shares(rows: Sequence[Note]) -> list[tuple[str, float]]:
    """(name, share in per cent) of the rows of a table, by the shares that they state, else by their times in the newest column."""
    header, *body = [n.text.split(" · ") for n in rows]
    stated = [_first(" ".join(row[1:]), "%") for row in body]
    if 2 * sum(map(bool, stated)) < len(body):
        timed = [i for i, name in enumerate(header) if i and _is_time(name)]
        times = [_first(" ".join(row[i : i + 1]), "") for row in body for i in timed[-1:]]
        # A row that states both tells what all take.
        whole = [100 * t / s for t, s in zip(times, stated, strict=False) if t and s]
        total = max([*whole, sum(times)][:1]) or 1.0
        stated = [100 * t / total for t in times]
    return [(row[0], s) for row, s in zip(body, stated, strict=False) if s]


def _first(text: str, unit: str) -> float:
    """The first number of a text in a unit, or in any; 0 for none."""
    return next((n.value for n in numbers_in(text) if not unit or n.unit == unit), 0.0)


def _is_time(name: str) -> bool:
    unit = unit_of(name.rpartition(" ")[2].rpartition("_")[2].strip("()[]"))
    return "Δ" not in name and (
        "time" in name.lower() or unit is not None and unit.dimension == "time"
    )


def repeats_of(outcomes: Outcomes, run: Facts) -> list[Facts]:
    """Runs that measure a run again, or profile it."""
    parents = parents_of(outcomes.runs)
    return [
        e
        for e in outcomes.runs
        if parents.get(e.path) == run.path and (is_repeat(e) or "profil" in e.title.lower())
    ]


def _order(outcomes: Outcomes) -> list[Facts]:
    """Runs in the order in which they stand for the frontier: its newest repeat, itself, those it stands on, those since."""
    if outcomes.best is None:
        return []
    runs, best = outcomes.runs, outcomes.best.run
    again = [e for e in reversed(repeats_of(outcomes, best)) if e.order > best.order]
    paths = {e.path for e in again}
    since = [e for e in reversed(runs) if e.order > best.order and e.path not in paths]
    before = [e for e in reversed(runs) if e.order < best.order]
    return [*again, best, *filter(kept, before), *since, *(e for e in before if not kept(e))]


def _tables(outcomes: Outcomes) -> list[Facts]:
    return [e for e in _order(outcomes) if len(e.account.buckets) >= _ROWS]


def bucket_lines(outcomes: Outcomes) -> Iterable[Line]:
    """The frontier's buckets, those of its newest repeat first, else the latest; what moved since the table before; what pages say of it."""
    if outcomes.best is None:
        return
    best, before = outcomes.best.run, []
    tables = _tables(outcomes)[:2]
    spoken = [e for e in _order(outcomes) if e.account.profile][:1]
    own = [best] if best.account.profile else []
    named = {e.path: " (the frontier run again)" for e in repeats_of(outcomes, best)}
    named |= {best.path: ""}
    for e in dict.fromkeys([*tables[:1], *own, *spoken]):
        if e in tables:
            which = named.get(e.path, " (the newest table)")
            rows = [n.text for n in e.account.buckets]
            text = "\n".join([f"buckets of {handle(e.path)}{which}: {rows[0]}", *rows[1:]])
            yield Line(text, e.path)
        notes = sorted(e.account.profile, key=lambda n: not _LIMITS.search(n.text))
        yield from quoted(e, notes[: 5 if e is best else 2], before)
    if len(tables) > 1:
        old, new = sorted(tables, key=lambda e: e.order)
        if moved := _share_moves(new.account.buckets, old.account.buckets):
            yield Line(
                f"from {handle(old.path)} to {handle(new.path)}: {'; '.join(moved)}", new.path
            )


def _share_moves(rows: Sequence[Note], before: Sequence[Note]) -> list[str]:
    """Buckets whose stated share differs by half a point or more between two tables."""
    now, then = (
        {name.split("(")[0].strip().lower(): _first(rest, "%") for name, _, rest in cells}
        for cells in ([n.text.partition(" · ") for n in table[1:]] for table in (rows, before))
    )
    return [
        f"{name} {then[name]:g} → {share:g} %"
        for name, share in now.items()
        if share and then.get(name) and abs(share - then[name]) >= 0.5
    ]
