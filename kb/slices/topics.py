"""Topics and the ladder of the compiled indexes, as a slice finds those it touches: what paid how often, on the target and on all."""

import json
from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING

from kb.schema import Verdict
from kb.slices.view import View

if TYPE_CHECKING:
    from kb.slices.open_slice import OpenSlice


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
    tries: tuple[Tried, ...]

    def among(self, targets: Collection[str]) -> "TopicRow":
        """The same with what was tried on some targets; on all, where none are named."""
        return replace(
            self, tries=tuple(t for t in self.tries if not targets or t.target in targets)
        )

    def supported(self) -> tuple[Tried, ...]:
        return tuple(t for t in self.tries if t.verdict == Verdict.SUPPORTED)

    def best(self) -> Tried | None:
        """The largest gain that was reported."""
        wins = (t for t in self.supported() if t.size and t.size > 0)
        return max(wins, key=lambda t: (t.size, t.path), default=None)


def _topics(view: View, anchors: Iterable[str]) -> list[TopicRow]:
    """Topics by their anchors, in that order."""
    every = view.once("topics", "", dict)
    for anchor in (anchors := list(anchors)):
        if anchor not in every:
            every[anchor] = _topic(view, anchor)
    return [row for anchor in anchors if (row := every[anchor])]


def _topic(view: View, anchor: str) -> TopicRow | None:
    query = "select name, row from topic where anchor = ?"
    name, row = view.db.execute(query, (anchor,)).fetchone() or ("", "")
    run = [Tried(*t) for t in json.loads(row)["tried"]] if row else []
    visible = view.visible(t.path for t in run)
    return TopicRow(anchor, name, tuple(t for t in run if t.path in visible)) if row else None


def touched(view: View, weighted: Iterable[tuple[str, float]], *, most: int) -> list[TopicRow]:
    """Topics that the best pages belong to, most touched first; a topic that holds everything is touched by chance and counts less."""
    weights = dict(weighted)
    votes: Counter[str] = Counter()
    for path, anchor in view.db.execute(
        "select t.path, t.anchor from json_each(?) j join topic_page t on t.path = j.value",
        (json.dumps(sorted(weights)),),
    ):
        votes[anchor] += weights[path]
    count = "select anchor, count(*) from topic_page group by anchor"
    sizes = view.once("topic sizes", "", lambda: dict(view.db.execute(count)))
    return _topics(view, sorted(votes, key=lambda a: (-votes[a] / sizes[a] ** 0.5, a))[:most])


def ladder(view: View) -> list[tuple[int, list[TopicRow]]]:
    """Phases in order, each with its leading topics."""
    return view.once("ladder", "", lambda: _ladder(view))


def _ladder(view: View) -> list[tuple[int, list[TopicRow]]]:
    phases = view.db.execute("select phase, row from ladder order by phase").fetchall()
    return [(phase, _topics(view, json.loads(row))) for phase, row in phases]


def bring_topics(into: "OpenSlice", *, most: int) -> None:
    """What paid: topics that the question touches, then those that were tried most, each with how often it won of how many tries, here too, and the best that it brought."""
    question = into.question
    kin = {into.target, *question.kin} if into.runs else ()
    listed = (t for _, topics in question.ladder for t in topics)
    most_tried = sorted(listed, key=lambda t: (-len(t.tries), t.anchor))
    every = {t.anchor: t for t in (*question.topics, *most_tried)}.values()
    outcomes = (own for t in every if len((own := t.among(kin)).tries) > 1)
    tallies = [_tally(row, into.target) for row in islice(outcomes, most)]
    if tallies:
        head = "won of tried on this target and its kin (here)" if kin else "won of tried"
        text = f"{head}: {'; '.join(tallies)}"
        into.words("topics", "indexes/hypothesis.md", "", why="what paid", text=text)


def _tally(row: TopicRow, target: str) -> str:
    """A topic with its wins and tries, those of the target, and the best gain."""
    own = [t for t in row.tries if t.target == target]
    won = sum(t.verdict == Verdict.SUPPORTED for t in own)
    here = f" ({won}/{len(own)})" if own else ""
    best = row.best()
    brought = f" best {best.change}" if best and "%" in best.change else ""
    name = short(row.name.partition(" (")[0], 40)
    return f"{name} {len(row.supported())}/{len(row.tries)}{here}{brought}"


def bring_blueprint(into: "OpenSlice", *, tokens: int) -> None:
    """Where a target that has no run begins: the first phase of the ladder."""
    phases = ((n, [t for t in topics if t.tries]) for n, topics in into.question.ladder)
    phase, rows = next(((n, rows) for n, rows in phases if rows), (0, []))
    if rows:
        text = f"Start with phase {phase}. {'; '.join(_tally(t, '') for t in rows)}"
        into.words(
            "blueprint",
            "indexes/blueprint.md",
            "",
            why="ladder",
            text=text,
            most=into.tokens + tokens,
        )


def short(text: str, most: int) -> str:
    """A text on one line, cut behind a word."""
    text = " ".join(text.split())
    return text if len(text) <= most else text[:most].rsplit(" ", 1)[0] + " …"
