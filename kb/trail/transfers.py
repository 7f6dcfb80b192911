"""What sister targets won with and this one did not: nearest kin, largest gain and newest words first, with their settings."""

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import NamedTuple

from kb.schema import Verdict
from kb.text import cut, unit_of
from kb.trail.facts import Facts
from kb.trail.frontier import frontiers_of, kept, metric_of, points_of
from kb.trail.handles import handle
from kb.trail.levers import is_common, key_of, levers_in
from kb.trail.line import Line, repeats, words_of
from kb.trail.outcomes import Outcomes, is_repeat, measured, subject_of

_SHARE = re.compile(r"\+\s?~?(\d+(?:\.\d+)?)\s?%|(\d+(?:\.\d+)?)\s?[×x]\b")
# Larger gains are mostly a first repair; smaller ones are noise.
_LARGEST = 0.15
# A share in the midst of a page may be another run's.
_INSIDE = 0.05
# Wins that are told with their pages' words; of the others the figure says enough to open them.
_QUOTED = 4
# So many settings in common tell the same stack.
_SAME_STACK = 3
# The last runs kept that say what this target is set to; of the settings that differ so many are told.
_STANDS_ON, _MOST_OTHER = 4, 1
_WATCHED = re.compile(r"profil|dump|steps?$|warmup|seed", re.I)
_NUMBER = re.compile(r"[\d.,]+")
# Runs that carry over, check or watch what others won.
_NO_CHANGE = re.compile(
    r"\b(?:port(?:ed|ing)?|back-?port|validat\w+|reproduc\w+|sanity|(?:loss[- ])?curves?|equivalen\w+|parity|profiling|captur\w+|smoke)\b",
    re.I,
)
# What a title says was measured stands in the line's figures.
_FIGURES = re.compile(r"[:(]?\s*\d[\d,.]*\s?(?:tok/s\S*|ms\b|%|tps\b)[^)]*\)?", re.I)


@dataclass(frozen=True, slots=True)
class Win:
    """A kept run that brought something, as other targets may read of it: `place` counts the runs before it, `size` is its gain.

    `point` is its size of work, `settings` what it was set to, a `name=value` a line.
    """

    path: str
    target: str
    date: str
    number: int
    place: int
    size: float
    subject: str
    text: str
    quote: str
    point: str = ""
    settings: str = ""

    @property
    def order(self) -> tuple[str, int, str]:
        return self.date, self.number, self.path


class Traits(NamedTuple):
    """What tells the relatives of a target: shares of its tags, its variants, keys of its settings, the kind of its metric."""

    tags: dict[str, float]
    variants: tuple[str, ...]
    settings: tuple[str, ...]
    measures: str


def traits_of(runs: Sequence[Facts]) -> Traits:
    """Traits of a target from its runs."""
    tags = Counter(tag.lower() for e in runs for tag in e.tags)
    metric = metric_of(runs)
    unit = unit_of(metric.unit or metric.name.rpartition("_")[2]) if metric else None
    settings = {key_of(v.name) for e in runs for v in e.settings if not is_common(v.name)}
    return Traits(
        {tag: n / len(runs) for tag, n in tags.items()},
        tuple(sorted({e.variant for e in runs if e.variant})),
        tuple(sorted(settings)),
        unit.dimension if unit else "",
    )


def kinship_of(traits: Mapping[str, Traits]) -> dict[tuple[str, str], float]:
    """How near each two targets are: by the folders of their names, their variants, their tags, what both set, and what they measure.

    Targets that share none of these have nothing to learn from each other and stand in no pair.
    """
    kin: dict[tuple[str, str], float] = {}
    for one, other in permutations(sorted(traits), 2):
        mine, theirs = traits[one], traits[other]
        folders = len(set(one.split("/")) & set(other.split("/")))
        shared = sum(min(share, theirs.tags.get(tag, 0.0)) for tag, share in mine.tags.items())
        variants = not set(mine.variants).isdisjoint(theirs.variants)
        stack = len(set(mine.settings).intersection(theirs.settings)) >= _SAME_STACK
        alike = mine.measures and mine.measures == theirs.measures
        if folders or variants or shared or stack or alike:
            kin[one, other] = 0.5 + 0.5 * folders + 0.3 * variants + 0.5 * min(1.0, shared)
    return kin


def wins_of(runs: Sequence[Facts], *, stated: str = "") -> Iterable[Win]:
    """Wins of one target's runs, in trail order: what each did, what it brought, and its page's own words on that; `stated` is its metric."""
    told = Outcomes(runs, frontiers_of(runs, stated=stated))
    points = points_of(runs)
    for place, e in enumerate(runs):
        if (
            kept(e)
            and not is_repeat(e)
            and not _NO_CHANGE.search(e.title)
            and (size := _size(e, told.gains.get(e.path))) > 0
        ):
            subject = cut(_FIGURES.sub("", subject_of(e)).strip(" :—-") or subject_of(e), 100)
            result = told.result(e)
            figures = ", ".join(dict.fromkeys(x for x in (result, measured(e, 1)) if x))
            named = sorted(
                (n.text for n in e.account.gains), key=lambda t: -len(levers_in(t)) / (60 + len(t))
            )
            quotes = [cut(t, 190) for t in named[:2] if not repeats(t, [subject])] or [
                told.reason(e, 150)
            ]
            if e.verdict.canonical is Verdict.BASELINE:
                # What a reference is worth to others is how it is set and what that needs.
                quotes = [
                    cut(n.text, 190) for n in (*e.account.memory[:1], *e.account.config[:1])
                ] or quotes
            settings = "\n".join(
                dict.fromkeys(
                    f"{v.name.lstrip('-')}={v.value}"
                    for v in e.settings
                    if v.value and not is_common(v.name)
                )
            )
            yield Win(
                e.path,
                e.target,
                e.date,
                e.number,
                place,
                round(size, 4),
                subject,
                f"{_short(e.target)} {handle(e.path)} {subject}: {figures}",
                "; ".join(filter(None, quotes)),
                points[e.path],
                settings,
            )


def transfer_lines(
    runs: Sequence[Facts],
    wins: Iterable[Win],
    kin: Mapping[str, float],
    nearness: Mapping[str, float],
) -> Iterable[Line]:
    """Wins of other targets by levers that this one's runs did not pull, by kinship, gain and newness."""
    here = {key_of(v.name) for e in runs for v in (*e.levers, *e.settings)}
    words_here = {w for e in runs for w in words_of(e.title)}

    def weight(win: Win) -> float:
        levers = {
            key_of(v.name)
            for v in levers_in(f"{win.subject} {win.quote}")
            if not is_common(v.name) and len(key_of(v.name)) > 2
        }
        words = words_of(win.subject)
        fresh = len(levers - here) / (len(levers) + 1) + 0.5 * sum(
            w not in words_here for w in words
        ) / (len(words) or 1)
        late = (win.place + 1) / (win.place + 11)
        return (
            kin[win.target]
            * (0.1 + fresh)
            * (0.4 + late)
            * math.log1p(100 * win.size)
            * (1 + 2 * nearness.get(win.path, 0.0))
        )

    held = [e for e in reversed(runs) if kept(e)]
    point = points_of(runs)[held[0].path] if held else ""
    values = {
        key_of(v.name): v.value for e in reversed(held[:_STANDS_ON]) for v in e.settings if v.value
    }
    before: list[str] = []
    related = (w for w in wins if kin.get(w.target))
    for win in sorted(related, key=lambda w: (-weight(w), w.order)):
        if not repeats(win.subject, before):
            before.append(win.subject)
            quoted = len(before) <= _QUOTED or "+" not in win.text.partition(": ")[2]
            text = f"{win.text} {_conditions(win, point, values)}".rstrip()
            yield Line(f"{text}; {win.quote}" if quoted and win.quote else text, win.path)


def _conditions(win: Win, point: str, values: Mapping[str, str]) -> str:
    """Under what a win was had, and whether that holds here: its size of work, and settings that both targets state."""
    said = []
    if win.point and point:
        said.append("same size" if win.point == point else f"size {win.point}, here {point}")
    own = (line.partition("=")[::2] for line in win.settings.split("\n"))
    other = [
        f"{name}={value}, here {values[key_of(name)]}"
        for name, value in own
        if _tells(name, value, values.get(key_of(name), value), win)
    ]
    return f"({'; '.join([*said, *other[:_MOST_OTHER]])})" if said or other else ""


def _tells(name: str, value: str, here: str, win: Win) -> bool:
    """Whether a setting differs here, and is neither the size that is told already nor how a run is watched."""
    return (
        here != value
        and value != win.point
        and bool(_NUMBER.fullmatch(value))
        and not _WATCHED.search(name)
    )


def _size(e: Facts, gain: float | None) -> float:
    """How large a win was, within what tells wins apart; a baseline's page is worth a little by its configuration, a loss nothing."""
    if e.verdict.canonical is Verdict.BASELINE:
        return 0.03
    stated = [_share(m) for t in (e.title, e.because[:300]) if (m := _SHARE.search(t))]
    inside = [min(_INSIDE, _share(m)) for n in e.account.gains if (m := _SHARE.search(n.text))]
    return min(_LARGEST, max([*stated[:1], *inside, gain or 0.0, 0.0]))


def _share(match: re.Match[str]) -> float:
    return float(match[1]) / 100 if match[1] else float(match[2]) - 1


def _short(target: str) -> str:
    return "/".join(p.split("_")[0] for p in target.split("/"))
