"""What paid: topics of the compiled indexes that a question touches or that were tried most, each with how often it won, on the target and on its kin."""

import json
from collections import Counter
from collections.abc import Collection, Iterable
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from kb.schema import Verdict
from kb.slices.view import View
from kb.text import cut

if TYPE_CHECKING:
    from kb.slices.open_slice import OpenSlice

# Pages of the question and topics that they touch.
_PAGES, _TOUCHED = 25, 6
_LONGEST_NAME = 40


class Tried(NamedTuple):
    """One experiment under a topic; `change` as its page states it, `size` to compare by (positive is better, None where unknown)."""

    path: str
    verdict: str
    target: str
    change: str
    title: str
    size: float | None


class TopicRow(NamedTuple):
    """A topic as a request may see it: experiments of later days and excluded ones are gone."""

    name: str
    tries: tuple[Tried, ...]

    def tally(self, targets: Collection[str], own: str) -> str:
        """Wins and tries on some targets (on all, where none are named), in brackets those of the target itself, and the best gain; empty for less than two tries."""
        tries = [t for t in self.tries if not targets or t.target in targets]
        won = [t for t in tries if t.verdict == Verdict.SUPPORTED]
        here = (
            f" ({sum(t.target == own for t in won)}/{n})"
            if (n := sum(t.target == own for t in tries))
            else ""
        )
        best = max((t for t in won if t.size and t.size > 0), key=lambda t: (t.size, t.path), default=None)  # fmt: skip
        brought = f" best {best.change}" if best and "%" in best.change else ""
        name = cut(self.name.partition(" (")[0], _LONGEST_NAME)
        return f"{name} {len(won)}/{len(tries)}{here}{brought}" if len(tries) > 1 else ""


def bring_topics(into: "OpenSlice", *, most: int) -> None:
    """Topics that the question touches, then those that were tried most, in one line."""
    view, kin = into.view, {into.target, *into.question.kin} if into.runs else ()
    listed = dict.fromkeys(anchor for _, anchors in _phases(view) for anchor in anchors)
    rows = _topics(view, listed)
    by_tries = sorted(rows, key=lambda anchor: (-len(rows[anchor].tries), anchor))
    near = _topics(view, _touched(view, {p.path: p.score for p in into.question.pages[:_PAGES]}))
    tallies = ((near | rows)[a].tally(kin, into.target) for a in dict.fromkeys((*near, *by_tries)))
    if lines := list(islice(filter(None, tallies), most)):
        head = "won of tried on this target and its kin (here)" if kin else "won of tried"
        text = f"{head}: {'; '.join(lines)}"
        into.words("topics", "indexes/hypothesis.md", "", why="what paid", text=text)


def bring_blueprint(into: "OpenSlice", *, tokens: int) -> None:
    """Where a target that has no run begins: the first phase of the ladder."""
    for phase, anchors in _phases(into.view):
        rows = _topics(into.view, anchors).values()
        if lines := [text for row in rows if (text := row.tally((), ""))]:
            text, most = f"Start with phase {phase}. {'; '.join(lines)}", into.tokens + tokens
            into.words("blueprint", "indexes/blueprint.md", "", why="ladder", text=text, most=most)
            return


def _phases(view: View) -> list[tuple[int, list[str]]]:
    """Phases of the blueprint in order, each with the anchors of its leading topics."""
    rows = view.db.execute("select phase, row from ladder order by phase")
    return view.once("ladder", "", lambda: [(phase, json.loads(row)) for phase, row in rows])


def _topics(view: View, anchors: Iterable[str]) -> dict[str, TopicRow]:
    """Topics by their anchors, in that order."""
    every = view.once("topics", "", dict[str, TopicRow])
    for anchor in (anchors := list(anchors)):
        if anchor not in every:
            query = "select name, row from topic where anchor = ?"
            name, row = view.db.execute(query, (anchor,)).fetchone() or ("", '{"tried": []}')
            tries = [Tried(*t) for t in json.loads(row)["tried"]]
            visible = view.visible(t.path for t in tries)
            every[anchor] = TopicRow(name, tuple(t for t in tries if t.path in visible))
    return {anchor: every[anchor] for anchor in anchors}


def _touched(view: View, weights: dict[str, float]) -> list[str]:
    """Anchors of the topics that the best pages belong to, most touched first; a topic that holds everything is touched by chance and counts less."""
    votes: Counter[str] = Counter()
    for path, anchor in view.db.execute(
        "select t.path, t.anchor from json_each(?) j join topic_page t on t.path = j.value",
        (json.dumps(sorted(weights)),),
    ):
        votes[anchor] += weights[path]
    count = "select anchor, count(*) from topic_page group by anchor"
    sizes = view.once("topic sizes", "", lambda: dict(view.db.execute(count)))
    return sorted(votes, key=lambda a: (-votes[a] / sizes[a] ** 0.5, a))[:_TOUCHED]
