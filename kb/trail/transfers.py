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
from kb.trail.levers import levers_in
from kb.trail.line import Line, repeats, words_of
from kb.trail.outcomes import Outcomes, measured, subject_of

_SHARE = re.compile(r"\+\s?~?(\d+(?:\.\d+)?)\s?%|(\d+(?:\.\d+)?)\s?[×x]\b")
# Larger gains are mostly a first repair; smaller ones are noise.
_LARGEST, _LEAST = 0.15, 0.003


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
            subject = cut(subject_of(e), 130)
            figures = ", ".join(dict.fromkeys(x for x in (told.result(e), measured(e, 1)) if x))
            named = sorted((n.text for n in e.account.gains), key=lambda t: -len(levers_in(t)))
            quotes = [cut(t, 200) for t in named[:2] if not repeats(t, [subject])] or [told.reason(e, 170)]
            text = f"{_short(e.target)} {handle(e.path)} {subject}: {'; '.join(x for x in (figures, *quotes) if x)}"
            yield Win(e.path, e.target, e.date, e.number, place, round(size, 4), subject, text)


def transfer_lines(runs: Sequence[Facts], wins: Iterable[Win], kin: Mapping[str, float], nearness: Mapping[str, float]) -> Iterable[Line]:
    """Wins of other targets whose words are new to this one's runs, by kinship, gain and newness."""
    here = {w for e in runs for w in words_of(f"{e.title} {' '.join(f'{v.name} {v.value}' for v in e.settings) if kept(e) else ''}")}

    def weight(win: Win) -> float:
        words = words_of(win.subject)
        fresh = sum(w not in here for w in words) / (len(words) or 1)
        late = (win.place + 1) / (win.place + 11)
        return kin.get(win.target, 0.5) * (0.25 + fresh) * (0.4 + late) * math.log1p(100 * win.size) * (1 + 2 * nearness.get(win.path, 0.0))

    before: list[str] = []
    for win in sorted(wins, key=lambda w: (-weight(w), w.order)):
        if not repeats(win.subject, before):
            before.append(win.subject)
            yield Line(win.text, win.path)


def _size(e: Facts, gain: float | None) -> float:
    """How large a win was, within what tells wins apart; a baseline's page is worth a little by its configuration, a loss nothing."""
    if e.verdict.canonical is Verdict.BASELINE:
        return 0.03
    stated = _SHARE.search(e.title) or _SHARE.search(e.because[:300])
    if not stated and (gain or 0.0) <= 0:
        return _LEAST if any(_SHARE.search(n.text) for n in e.account.gains) else 0.0
    size = (float(stated[1]) / 100 if stated[1] else float(stated[2]) - 1) if stated else gain or 0.0
    return min(_LARGEST, max(0.0, size))


def _short(target: str) -> str:
    return "/".join(p.split("_")[0] for p in target.split("/"))
