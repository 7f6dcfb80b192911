"""Topics and the ladder of the compiled indexes, as a slice finds those it touches, and what of them no run of the target has pulled."""

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kb.schema import FAILED, Verdict
from kb.slices.view import View
from kb.trail.line import words_of

if TYPE_CHECKING:
    from kb.slices.open_slice import OpenSlice
    from kb.trail import Facts

# So many letters of a word tell it: "rematerialization" is pulled by `use_remat`.
_STEM = 5


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
    tried: tuple[Tried, ...]

    def supported(self) -> tuple[Tried, ...]:
        return tuple(t for t in self.tried if t.verdict == Verdict.SUPPORTED)

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


def bring_topics(into: "OpenSlice", *, most: int, tokens: int, any_topic: bool = False) -> None:
    """Rows of the hypothesis index: what was tried under a topic, here and elsewhere, and the best that was reported.

    `any_topic`: where the question touches none, those that were tried most.
    """
    ceiling, question = into.tokens + tokens, into.question
    rows, why = question.topics, "touched"
    if not rows:
        every = {t.anchor: t for _, topics in question.ladder for t in topics if t.tried}
        rows = sorted(every.values(), key=lambda t: (-len(t.tried), t.anchor)) if any_topic else []
        why = "tried most"
    for row in rows[:most]:
        here = f", {_here(row, into.target)} here" if into.target else ""
        failed = sum(t.verdict in FAILED for t in row.tried)
        text = f"{row.name}: tried {len(row.tried)}{here}; {len(row.supported())} supported, {failed} failed"
        if into.target and (best := row.best()):
            text += f"; best {best.change} {short(best.title, 80)}"
        into.words("topics", "indexes/hypothesis.md", row.anchor, why=why, text=text, most=ceiling)


def bring_blueprint(into: "OpenSlice", *, tokens: int, first: bool = False) -> None:
    """The ladder: per phase what this target tried and won, whether it is saturated, and the first phase that is not (or the `first` of all) in full."""
    lines, full = [], ""
    for phase, topics in into.question.ladder:
        rows = [t for t in topics if t.tried]
        here = {t.path: t.verdict for r in rows for t in r.tried if into.target in ("", t.target)}
        untouched = [r for r in rows if not any(t.path in here for t in r.tried)]
        won = sum(v == Verdict.SUPPORTED for v in here.values())
        left = f"{len(untouched)} topic{'s' * (len(untouched) != 1)} open"
        if rows:
            lines.append(
                f"Phase {phase} ({short(', '.join(t.name for t in topics), 50)}): {len(here)} tried, {won} supported, "
                + ("saturated" if here and not untouched else left)
            )
        if rows and not full and (untouched or first):
            full = f"{'Start with' if first else 'Current:'} phase {phase}. {'; '.join(map(_ladder_row, rows))}"
    ceiling = into.tokens + tokens
    for text in ("\n".join([*lines, full]) if full else "", "\n".join(lines)):
        if text and into.words(
            "blueprint", "indexes/blueprint.md", "", why="ladder", text=text, most=ceiling
        ):
            return


def _ladder_row(row: TopicRow) -> str:
    best = row.best()
    message = f"{short(row.name, 40)} {len(row.supported())}/{len(row.tried)} supported"
    return f"{message}, best {best.change}" if best and best.change else message


def bring_untried(into: "OpenSlice", *, most: int) -> None:
    """Topics that paid elsewhere and that no run's title or setting names, each with the best that it brought."""
    question = into.question
    pulled = into.view.once("pulled", into.target, lambda: _pulled(question.tried))
    rows = (*question.topics, *(row for _, rows in question.ladder for row in rows))
    for row in {r.anchor: r for r in rows}.values() if into.target else ():
        named = {w[:_STEM] for w in words_of(row.name)} & pulled
        best = row.best()
        if most and best and not named and not _here(row, into.target):
            text = f"{row.name}: no run here; elsewhere {len(row.supported())} of {len(row.tried)} supported, such as {best.change} {short(best.title, 90)}"
            most -= into.words("untried", best.path, "", why="untried here", text=text)


def _pulled(runs: "Iterable[Facts]") -> set[str]:
    """Stems of the words in titles and settings of runs."""
    texts = (f"{f.title} {' '.join(v.name for v in f.settings)}" for f in runs)
    return {w[:_STEM] for text in texts for w in words_of(text)}


def _here(row: TopicRow, target: str) -> int:
    return sum(t.target == target for t in row.tried)


def short(text: str, most: int) -> str:
    """A text on one line, cut behind a word."""
    text = " ".join(text.split())
    return text if len(text) <= most else text[:most].rsplit(" ", 1)[0] + " …"
