"""What the figures of a log say where its words do not: which words of a column keep a run, and which way kept runs went. Refuses weak evidence."""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product, zip_longest

from kb import grouped
from kb.formats.columns import DECIDED
from kb.formats.layout import Record, RecordLayout
from kb.formats.reading import quantity_of
from kb.run.direction import Direction
from kb.run.quantity import bare
from kb.run.record import Outcome
from kb.run.status import status_words

_SIGNS: Mapping[Direction, int] = {"lower": -1, "higher": 1}
# Three runs that agree are by chance one in eight, and the others must agree as well.
_WON, _LOST = 3, 2


def head_of(cell: str) -> str:
    """What a cell opens with: its first word, or its sign."""
    return status_words(cell).partition("_")[0] or bare(cell)[:1]


def _gains(
    values: Sequence[float | None], sign: int, outcomes: Sequence[Outcome | None]
) -> Iterator[float | None]:
    """By how much each value beats the best before it that was not discarded; None where there is no value or none before."""
    best = None
    for value, outcome in zip_longest(values, outcomes):
        gain = None if value is None or best is None else sign * (value - best)
        yield gain
        if value is not None and (gain is None or gain > 0 and outcome is not Outcome.DISCARDED):
            best = value


def winners(labels: Sequence[Hashable], gains: Sequence[float | None]) -> Mapping[Hashable, bool]:
    """Which labels stand on runs that gained and which on runs that did not; empty where one stands on both, or there are few of either."""
    rows = grouped((x, g) for x, g in zip(labels, gains, strict=False) if x and g is not None)
    won = {x: min(g) >= 0 and 2 * sum(y > 0 for y in g) > len(g) for x, g in rows.items()}
    clear = all(won[x] or 2 * sum(y <= 0 for y in g) > len(g) for x, g in rows.items())
    whole, gained = (sum(map(len, rows.values())), sum(len(g) for x, g in rows.items() if won[x]))
    enough = gained >= _WON and whole - gained >= _LOST and whole > 2 * len(rows)
    return won if clear and enough else {}


def _labels_of(
    layout: RecordLayout,
    sample: Sequence[Record],
    outcomes: Sequence[Outcome | None],
    *,
    decided: bool,
) -> Mapping[str, Sequence[Hashable]]:
    """What was decided, or, where nothing was, what the cells of each column in words open with."""
    if decided:
        return {"": [o if o in DECIDED else None for o in outcomes]}
    worded = (n for role in ("status", "note", "text", "reason") for n in layout.names(role))
    return {n: [head_of(r.cells.get(n, "")) for r in sample] for n in worded}


def informed(
    layout: RecordLayout, sample: Sequence[Record], outcomes: Sequence[Outcome | None] = ()
) -> RecordLayout:
    """A layout with what the figures say: which words decide where no run is decided, and which way is better where no name says it.

    Without `outcomes` a layout that decides is left as it is.
    """
    aim, decided = layout.primary, layout.decided or not DECIDED.isdisjoint(outcomes)
    if not layout.tells or layout.ranked or decided and layout.direction:
        return layout
    values = [q and q.value for q in (quantity_of(r.cells.get(aim, "")) for r in sample)]
    labels = _labels_of(layout, sample, outcomes, decided=decided)
    ways = {w: sign for w, sign in _SIGNS.items() if layout.direction in (w, None)}
    for (way, sign), (name, column) in product(ways.items(), labels.items()):
        won = winners(column, [*_gains(values, sign, outcomes)])
        if won and won.get(Outcome.KEPT, not decided):
            best = "', '".join(str(w) for w in won if won[w])
            doubt = f"{way} {aim} is better, by what was kept: '{best}' stands on runs that beat those before, and on no other"
            layout = replace(layout, direction=way, source=layout.source or "kept", inferred=doubt)
            wins = {w: Outcome.KEPT if k else Outcome.DISCARDED for w, k in won.items()}
            roles = {**layout.roles, name: "status"}
            return layout if decided else replace(layout, roles=roles, statuses=(name,), wins=wins)
    return layout
