"""Where each target stands: its lanes with best value, change and climb, its levers that failed, its
leads. Refuses to judge: figures are the trail's, reasons the cards'.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from markupsafe import Markup

from kb import trail
from kb.page import Page
from kb.refuted import Card
from kb.site.charts import climb_of, measured, scale_of, spark
from kb.site.runs import VERDICT_ORDER, FigureChange, RunRow, change_of, figure, runs_of
from kb.site.survey import Survey
from kb.trail.frontier import metric_of
from kb.trail.levers import key_of
from kb.trail.progress import Progress, progress_of
from kb.trail.standing import Standing

# Lanes on one axis whose ranges differ by more than this would be flat lines.
_WIDEST_AXIS = 8


@dataclass(frozen=True, slots=True)
class Standpoint:
    """Where one lane of a target stands: its best value with unit, and the change against its
    baseline, or against its first kept run where it has none (`since` says which).
    """

    name: str
    progress: Progress
    best: str
    base: str
    since: str
    change: FigureChange | None
    climb: Mapping[str, object] | None

    @property
    def spark(self) -> Markup:
        return spark(self.progress)

    @property
    def noise(self) -> str:
        return "" if self.progress.band is None else f"±{self.progress.band:.2%}"


@dataclass(frozen=True, eq=False)
class TargetView:
    """All that home and the pages of a target show of it."""

    survey: Survey
    target: str

    @property
    def name(self) -> str:
        return trail.name_of(self.target, self.survey.trails)

    @property
    def short(self) -> str:
        return short_names(self.survey.trails)[self.target] or self.name

    @property
    def folder(self) -> str:
        return self.survey.target_folders[self.target]

    @property
    def page(self) -> Page | None:
        return self.survey.target_pages.get(self.target)

    @property
    def runs(self) -> tuple[RunRow, ...]:
        return runs_of(self.survey, self.target)

    @property
    def standing(self) -> Standing | None:
        return self.survey.standings.get(self.target)

    @cached_property
    def points(self) -> tuple[Standpoint, ...]:
        """Every lane by itself: variants by runs, lanes of a variant by their best."""
        moved = [p for p in self.standing.progress if p.frontier] if self.standing else []
        moved.sort(key=lambda p: (-p.runs, p.variant))
        lanes = [lane for p in moved for lane in _lanes(self.survey, p, self.runs)]
        return tuple(
            _standpoint(*lane, scale) for lane, scale in zip(lanes, _scales(lanes), strict=True)
        )

    @cached_property
    def alarms(self) -> tuple[tuple[str, str], ...]:
        progress = self.standing.progress if self.standing else ()
        several = len([p for p in progress if p.frontier]) > 1
        alarms = {
            a.code: f"{p.variant}: {a.text}" if p.variant and several else a.text
            for p in progress
            if p.frontier
            for a in p.alarms
        }
        return tuple(sorted(alarms.items()))

    @cached_property
    def leads(self) -> tuple[tuple[str, str], ...]:
        """Open leads as (page, text), each text once."""
        leads = self.standing.leads if self.standing else ()
        once = {" ".join(lead.text.split()).casefold(): lead for lead in reversed(leads)}
        return tuple((lead.path, lead.text) for lead in reversed(once.values()))

    @cached_property
    def tally(self) -> tuple[tuple[str, int], ...]:
        return tally_of([r.verdict for r in self.runs])

    @cached_property
    def cards(self) -> tuple[Card, ...]:
        return tuple(c for c in self.survey.cards if c.target == self.target)

    @cached_property
    def levers(self) -> list[Mapping[str, object]]:
        return levers_of(self.survey, self.cards)

    @cached_property
    def more(self) -> tuple[Page, ...]:
        """What else is written of the target: pages beside its runs, then its hypotheses."""
        pages, own = self.survey.wiki.pages, {r.facts.path for r in self.runs}
        folders = {p.rpartition("/")[0] for p in own} - {self.survey.layout.page("experiments")}
        beside = [p for path, p in sorted(pages.items()) if p.folder in folders and path not in own]
        ideas = self.survey.by_type.get("hypothesis", ()) if self.target else ()
        named = [p for p in ideas if self.target in (p.field("target"), *p.words("targets"))]
        return (*beside, *named)


def short_names(targets: Iterable[str]) -> dict[str, str]:
    """Names of targets without the words that all of them have, as far as that tells them apart."""
    names = [t for t in targets if t]
    words = {name: re.findall(r"[/_.\- ]*[^/_.\- ]+", name) for name in names}
    bare = {name: [w.lstrip("/_.- ") for w in some] for name, some in words.items()}
    shared = set.intersection(*map(set, bare.values())) if len(names) > 2 else set()
    short = {
        name: "".join(
            w for w, plain in zip(words[name], bare[name], strict=True) if plain not in shared
        )
        for name in names
    }
    stripped = {name: text.lstrip("/_.- ") for name, text in short.items()}
    is_clear = all(stripped.values()) and len(set(stripped.values())) == len(names)
    return {"": "", **(stripped if is_clear else {name: name for name in names})}


def tally_of(verdicts: Sequence[str]) -> tuple[tuple[str, int], ...]:
    """Verdicts with their counts, in the order of the vocabulary."""
    counted = Counter(verdicts)
    return tuple((v, counted[v]) for v in (*VERDICT_ORDER, "no verdict") if counted[v])


def levers_of(survey: Survey, cards: Sequence[Card]) -> list[Mapping[str, object]]:
    """Cards by lever, the most refuted first, each with the tally of every run that moved it; a card of several
    levers stands under each, one of none under an empty name.
    """
    groups, names = defaultdict(list), {}
    for card in cards:
        if card.kind != "hypothesis" or card.because:
            for name in [lever.name for lever in card.levers[:3]] or [""]:
                names.setdefault(key_of(name), name)
                groups[key_of(name)].append(card)
    listed = [_lever_group(survey, key, names[key], members) for key, members in groups.items()]
    return sorted(listed, key=lambda g: (not g["name"], -len(g["cards"]), g["name"]))


def _lever_group(
    survey: Survey, key: str, name: str, cards: Sequence[Card]
) -> Mapping[str, object]:
    values = (v.value for c in cards for v in c.levers if key_of(v.name) == key and v.value)
    verdicts = (
        survey.lever_verdicts.get(key, []) if key else [c.verdict or "refuted" for c in cards]
    )
    return {
        "name": name,
        "cards": sorted(cards, key=lambda c: c.order, reverse=True),
        "tally": tally_of(verdicts),
        "targets": sorted({c.target for c in cards if c.target}),
        "moved": list(dict.fromkeys(values)),
    }


# A lane: its name, its progress, its runs.
_Lane = tuple[str, Progress, Sequence[RunRow]]


def _lanes(survey: Survey, progress: Progress, runs: Sequence[RunRow]) -> list[_Lane]:
    """The lanes of one variant. Agents that start from one parent climb side by side, and no line
    joins them.
    """
    own = [r for r in runs if r.facts.variant == progress.variant]
    lanes = _named_lanes(survey, own)
    metric = metric_of([r.facts for r in own], progress.metric)
    if len(lanes) < 2:
        return [(progress.variant, progress, own)]
    split = []
    for name, some in lanes.items():
        facts = [r.facts for r in some]
        moved = progress_of(facts, target=progress.target, variant=progress.variant, metric=metric)
        if moved.frontier:
            split.append((name, moved, some))
    sign = 1 if progress.direction == "lower" else -1
    return sorted(split, key=lambda lane: (sign * lane[1].frontier.value, lane[0]))


def _named_lanes(survey: Survey, runs: Sequence[RunRow]) -> Mapping[str, Sequence[RunRow]]:
    """Runs by the lane or agent that their pages name; those that name none belong to all."""
    lanes: dict[str, list[RunRow]] = defaultdict(list)
    for run in runs:
        page = survey.pages[run.facts.path]
        lanes[page.field("lane") or page.field("agent")].append(run)
    shared = lanes.pop("", [])
    return {n: sorted([*shared, *some], key=lambda r: r.facts.order) for n, some in lanes.items()}


def _scales(lanes: Sequence[_Lane]) -> list[tuple[float, float] | None]:
    """Value axis of each lane's chart: lanes of one metric share theirs, where that shows both."""
    own = [scale_of(p, runs) if measured(p, runs) else None for _, p, runs in lanes]
    shared = {}
    for metric in {progress.metric for _, progress, _ in lanes}:
        near = [s for s, lane in zip(own, lanes, strict=True) if s and lane[1].metric == metric]
        low, high = min((s[0] for s in near), default=0.0), max((s[1] for s in near), default=0.0)
        if near and high - low < _WIDEST_AXIS * min(s[1] - s[0] for s in near):
            shared[metric] = low, high
    return [shared.get(lane[1].metric, s) for s, lane in zip(own, lanes, strict=True)]


def _standpoint(
    name: str, progress: Progress, runs: Sequence[RunRow], scale: tuple[float, float] | None
) -> Standpoint:
    best, base = progress.frontier, progress.baseline
    since = "its baseline" if base else "its first kept run"
    base = base or (progress.steps[0] if progress.steps else None)
    moved = best and base and best.path != base.path
    return Standpoint(
        name,
        progress,
        figure(progress.metric, best.value, progress.unit) if best else "",
        figure(progress.metric, base.value, progress.unit) if base else "",
        since,
        change_of(best.value, base.value, progress.direction) if moved else None,
        climb_of(progress, runs, scale=scale),
    )
