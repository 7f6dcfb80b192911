"""Topics, ladder and readings of the compiled indexes, as a slice finds those it touches in the tables that `indexes` writes."""

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from kb.schema import Verdict
from kb.slices.view import View


@dataclass(frozen=True, slots=True)
class Tried:
    """One experiment under a topic; `change` as its page states it, `size` to compare by (positive is better, None where unknown)."""

    path: str
    verdict: str
    target: str
    change: str
    title: str
    size: float | None


@dataclass(frozen=True, slots=True)
class TopicRow:
    """A topic as a request may see it: experiments of later days and excluded ones are gone."""

    anchor: str
    name: str
    hub: str
    tried: tuple[Tried, ...]

    def supported(self) -> tuple[Tried, ...]:
        return tuple(t for t in self.tried if t.verdict == Verdict.SUPPORTED)

    def failed(self) -> int:
        return sum(t.verdict in (Verdict.REFUTED, Verdict.INVALID, Verdict.CRASH) for t in self.tried)


def topic(view: View, anchor: str) -> TopicRow | None:
    """One topic; None where the index has none of that name."""
    found = view.db.execute("select name, row from topic where anchor = ?", (anchor,)).fetchone()
    if not found:
        return None
    row = json.loads(found[1])
    view.look_up(t[0] for t in row["tried"])
    return TopicRow(anchor, found[0], row["hub"], tuple(Tried(*t) for t in row["tried"] if view.sees(t[0])))


def touched(view: View, weighted: Iterable[tuple[str, float]], *, most: int) -> list[TopicRow]:
    """Topics that the best pages belong to, most touched first; a topic that holds everything is touched by chance and counts less."""
    weights = dict(weighted)
    votes: Counter[str] = Counter()
    for path, anchor in view.db.execute(
        "select t.path, t.anchor from json_each(?) j join topic_page t on t.path = j.value", (json.dumps(sorted(weights)),)
    ):
        votes[anchor] += weights[path]
    sizes = dict(
        view.db.execute(
            "select anchor, count(*) from topic_page where anchor in (select value from json_each(?)) group by anchor",
            (json.dumps(sorted(votes)),),
        )
    )
    best = sorted(votes, key=lambda a: (-votes[a] / sizes[a] ** 0.5, a))[:most]
    return [row for row in (topic(view, anchor) for anchor in best) if row]


def ladder(view: View) -> list[tuple[int, list[TopicRow]]]:
    """Phases in order, each with its leading topics."""
    phases = view.db.execute("select phase, row from ladder order by phase").fetchall()
    return [(phase, [t for t in (topic(view, anchor) for anchor in json.loads(row)) if t]) for phase, row in phases]
