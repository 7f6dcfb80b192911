"""Where a target's time goes: the bucket tables of its runs, what each bucket takes, and what could at most be won in it. Refuses to add up what a page does not list."""

from collections.abc import Iterable, Sequence
from itertools import islice

from kb.text import cut, numbers_in, unit_of
from kb.trail.facts import Facts, Note
from kb.trail.frontier import kept, parents_of
from kb.trail.handles import handle
from kb.trail.leads import OpenLead, open_leads
from kb.trail.line import Line, quoted
from kb.trail.outcomes import Outcomes, is_repeat
from kb.trail.outline import Phrases

# A table of fewer rows is no breakdown; a row of all the time is its sum, and one of so little nothing to win by.
_ROWS, _ALL, _LITTLE = 4, 99.0, 5.0
# So many buckets are named; a shorter name than this stands in any text, and a smaller change of a share is noise.
_MOST_NAMED, _SHORTEST, _MOVED = 4, 4, 0.5
# Of shares that come to more with what is idle the rest is of the time that is not.
_WHOLE = 105.0
_CLAUSES = str.maketrans(";|", ",,")
# What a sentence says of a limit is read before what it says of a bucket.
_LIMITS = Phrases("idle, util\\w*, bound by, \\w+-bound, peak, roofline, headroom", whole=True)


def bottleneck_line(outcomes: Outcomes) -> Iterable[Line]:
    """What takes most of the time and took in the table before, with what a run could bring there and what those brought that aimed at it."""
    tables = [(e, rows) for e in _tables(outcomes) if (rows := _shares(e.account.buckets))][:2]
    before = {_plain(name): share for _, rows in tables[1:] for name, share in rows}
    for e, rows in tables[:1]:
        idle = _idle_beside(e, rows)
        large = [(s, name, s * (100 - idle) / 100) for name, s in rows if _LITTLE <= s < _ALL]
        large += [(idle, "idle beside them", idle)] * (idle >= _LITTLE)
        leads = open_leads(outcomes)
        prizes = (
            f"{cut(name, 60)} {s:.3g} % ({_prize(outcomes, leads, name, share=of_all, now=s, was=before.get(_plain(name), s))})"
            for s, name, of_all in sorted(large, reverse=True)[:_MOST_NAMED]
        )
        head = f"time goes to, by {handle(e.path)} (most to win without it, with half of it; runs that name it)"
        yield from [Line(f"{head}: {', '.join(prizes)}", e.path)] * bool(large)


def _idle_beside(e: Facts, rows: Sequence[tuple[str, float]]) -> float:
    """The share of the time that a device waits, where those of a table are of the time that it is busy."""
    texts = (n.text.lower().translate(_CLAUSES).split(", ") for n in e.account.profile)
    shares = (_first(clause, "%") for clauses in texts for clause in clauses if "idle" in clause)
    idle = next(filter(None, shares), 0.0)
    return idle if sum(share for _, share in rows if share < _ALL) + idle > _WHOLE else 0.0


def _prize(
    outcomes: Outcomes,
    leads: Sequence[OpenLead],
    name: str,
    *,
    share: float,
    now: float,
    was: float,
) -> str:
    """What a run would bring that did away with all or half of a bucket, and what those came to that name it."""
    calls = [c for part in name.split("(") if len(c := _plain(part)) >= _SHORTEST]
    aimed = ((e, _plain(f"{e.title} {e.hypothesis}")) for e in outcomes.runs)
    runs = [e for e, aim in aimed if any(c in aim for c in calls)]
    left = (x.run for x in leads if any(c in _plain(x.text) for c in calls))
    won = [(outcomes.gains.get(e.path, 0.0), handle(e.path)) for e in runs if kept(e)]
    gain, best = max(won, default=(0.0, ""))
    about = (
        ", ".join(f"+{100 * part / (100 - part):.0f} %" for part in (share, share / 2)),
        f"{was:.3g} % before" if abs(was - now) >= _MOVED else "",
        f"{len(won)}/{len(runs)} won" if runs else "",
        f"best {best} {100 * gain:+.1f} %" if gain > 0 else "",
        *(f"lead {handle(e.path)}" for e in islice(left, 1)),
    )
    return "; ".join(filter(None, about))


def _plain(text: str) -> str:
    return text.lower().replace("-", " ").replace("_", " ").strip(" )")


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


def differences(now: Sequence[Note], before: Sequence[Note]) -> list[str]:
    """What the buckets of two tables take, before and now, the largest difference first, with their times where both list them; nothing where
    they count different things or have no bucket in common.
    """
    (mine, counted), (theirs, counted_before) = _costs(now), _costs(before)
    if not mine.keys() & theirs.keys() or counted and counted_before and counted != counted_before:
        return []
    lines = []
    for key in {**mine, **theirs}:
        (name, share, spent), (old_name, was, spent_before) = (
            costs.get(key, ("", 0.0, "—")) for costs in (mine, theirs)
        )
        if max(share, was) >= _MOVED:
            times = f" ({spent_before} → {spent})" if counted and counted_before else ""
            text = f"{name or old_name} {was:.3g} % → {share:.3g} %, {share - was:+.1f}{times}"
            lines.append((-abs(share - was), text))
    return [text for _, text in sorted(lines)]


def _costs(rows: Sequence[Note]) -> tuple[dict[str, tuple[str, float, str]], str]:
    """(name, share, time) of each bucket of a table, and what its times are counted in, empty where it lists none."""
    header, *body = [n.text.split(" · ") for n in rows]
    # From the right: a row leaves out cells that say nothing, such as a top operation.
    at = [i - len(header) for i, name in enumerate(header) if _is_time(name) and "%" not in name]
    times = {row[0]: row[at[-1]] for row in body if at and len(row) > -at[-1]}
    costs = {_plain(name): (name, s, times.get(name, "—")) for name, s in _shares(rows)}
    unit = next(iter(times.values()), "").rpartition(" ")[2]
    known = unit_of(unit)
    return costs, known.dimension if known else unit


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
    """The frontier's buckets, those of its newest repeat first, else the latest, and what pages say of them."""
    if outcomes.best is None:
        return
    best, before = outcomes.best.run, []
    tables = _tables(outcomes)[:1]
    spoken = [e for e in _order(outcomes) if e.account.profile][:1]
    own = [best] if best.account.profile else []
    named = {e.path: " (the frontier run again)" for e in repeats_of(outcomes, best)}
    named |= {best.path: ""}
    for e in dict.fromkeys([*tables, *own, *spoken]):
        if e in tables:
            which = named.get(e.path, " (the newest table)")
            rows = [n.text for n in e.account.buckets]
            text = "\n".join([f"buckets of {handle(e.path)}{which}: {rows[0]}", *rows[1:]])
            yield Line(text, e.path)
        notes = sorted(e.account.profile, key=lambda n: not _LIMITS.search(n.text))
        yield from quoted(e, notes[: 5 if e is best else 2], before)
