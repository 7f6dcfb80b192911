"""What sister targets won with and this one did not: nearest kin, largest gain and newest words first, with their settings."""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations

from kb.schema import Verdict
from kb.text import cut
from kb.trail.facts import Facts
from kb.trail.frontier import frontiers_of, kept
from kb.trail.handles import handle
from kb.trail.levers import is_common, key_of, levers_in
from kb.trail.line import Line, repeats, words_of
from kb.trail.outcomes import Outcomes, measured, subject_of

_SHARE = re.compile(r"\+\s?~?(\d+(?:\.\d+)?)\s?%|(\d+(?:\.\d+)?)\s?[×x]\b")
# Larger gains are mostly a first repair; smaller ones are noise.
_LARGEST = 0.15
# A share in the midst of a page may be another run's.
_INSIDE = 0.05
# Wins that are told with their pages' words; of the others the figure says enough to open them.
_QUOTED = 4
# What a title says was measured stands in the line's figures.
_FIGURES = re.compile(r"[:(]?\s*\d[\d,.]*\s?(?:tok/s\S*|ms\b|%|tps\b)[^)]*\)?", re.I)


@dataclass(frozen=True, slots=True)
class Win:
    """A kept run that brought something, as other targets may read of it: `place` counts the runs before it, `size` is its gain."""

    path: str
    target: str
    date: str
    number: int
    place: int
    size: float
    subject: str
    text: str
    quote: str

    @property
    def order(self) -> tuple[str, int, str]:
        return self.date, self.number, self.path


def kinship_of(experiments: Sequence[Facts]) -> dict[tuple[str, str], float]:
    """How near each two targets are, above 0: by the folders of their names, their variants and their tags."""
    groups: dict[str, list[Facts]] = defaultdict(list)
    for e in experiments:
        groups[e.target].append(e)
    tags = {t: {tag: n / len(runs) for tag, n in Counter(tag.lower() for e in runs for tag in e.tags).items()} for t, runs in groups.items()}
    variants = {t: {e.variant for e in runs if e.variant} for t, runs in groups.items()}
    kin = {}
    for one, other in permutations(sorted(groups), 2):
        folders = len(set(one.split("/")) & set(other.split("/")))
        shared = sum(min(share, tags[other].get(tag, 0.0)) for tag, share in tags[one].items())
        kin[one, other] = 0.5 + 0.5 * folders + 0.3 * bool(variants[one] & variants[other]) + 0.5 * min(1.0, shared)
    return kin


def wins_of(runs: Sequence[Facts], *, stated: str = "") -> Iterable[Win]:
    """Wins of one target's runs, in trail order: what each did, what it brought, and its page's own words on that; `stated` is its metric."""
    told = Outcomes(runs, frontiers_of(runs, stated=stated))
    for place, e in enumerate(runs):
        if kept(e) and (size := _size(e, told.gains.get(e.path))) > 0:
            subject = cut(_FIGURES.sub("", subject_of(e)).strip(" :—-") or subject_of(e), 100)
            result = told.result(e)
            figures = ", ".join(dict.fromkeys(x for x in (result, measured(e, 1)) if x))
            named = sorted((n.text for n in e.account.gains), key=lambda t: -len(levers_in(t)) / (60 + len(t)))
            quotes = [cut(t, 190) for t in named[:2] if not repeats(t, [subject])] or [told.reason(e, 150)]
            yield Win(e.path, e.target, e.date, e.number, place, round(size, 4), subject, f"{_short(e.target)} {handle(e.path)} {subject}: {figures}", "; ".join(filter(None, quotes)))


def transfer_lines(runs: Sequence[Facts], wins: Iterable[Win], kin: Mapping[str, float], nearness: Mapping[str, float]) -> Iterable[Line]:
    """Wins of other targets by levers that this one's runs did not pull, by kinship, gain and newness."""
    here = {key_of(v.name) for e in runs for v in (*e.levers, *e.settings)}
    words_here = {w for e in runs for w in words_of(e.title)}

    def weight(win: Win) -> float:
        levers = {key_of(v.name) for v in levers_in(f"{win.subject} {win.quote}") if not is_common(v.name) and len(key_of(v.name)) > 2}
        words = words_of(win.subject)
        fresh = len(levers - here) / (len(levers) + 1) + 0.5 * sum(w not in words_here for w in words) / (len(words) or 1)
        late = (win.place + 1) / (win.place + 11)
        return kin.get(win.target, 0.5) * (0.1 + fresh) * (0.4 + late) * math.log1p(100 * win.size) * (1 + 2 * nearness.get(win.path, 0.0))

    before: list[str] = []
    for win in sorted(wins, key=lambda w: (-weight(w), w.order)):
        if not repeats(win.subject, before):
            before.append(win.subject)
            quoted = len(before) <= _QUOTED or "+" not in win.text.partition(": ")[2]
            yield Line(f"{win.text}; {win.quote}" if quoted and win.quote else win.text, win.path)


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
