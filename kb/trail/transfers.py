"""What sister targets won with and this one did not: nearest kin, largest gain and newest words first, with their settings."""

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import permutations
from typing import NamedTuple

from kb.schema import Verdict
from kb.text import cut
from kb.text import words_of as text_words
from kb.trail.configuration import is_handed
from kb.trail.facts import Facts, TableTry
from kb.trail.frontier import Frontier, frontiers_of, kept, points_of
from kb.trail.handles import handle
from kb.trail.levers import is_common, key_of, levers_in
from kb.trail.line import Line, repeats, words_of
from kb.trail.outcomes import Outcomes, is_repeat, measured, subject_of
from kb.trail.outline import Phrases

_SHARE = re.compile(r"\+\s?~?(\d+(?:\.\d+)?)\s?%|(\d+(?:\.\d+)?)\s?[×x](?!\w)")
# Larger gains are mostly a first repair; smaller ones are noise.
_LARGEST, _NOISE = 0.15, 0.002
# A share in the midst of a page may be another run's.
_INSIDE, _ASIDE = 0.05, 0.01
# Wins that are told with their pages' words; of the others the figure says enough to open them.
_SUBJECT, _QUOTE = 100, 170
# Nobody reads on, and each is held beside all before it.
_MOST_TOLD = 100
# So many wins next to each other in weight stand together by their target, whose name and size of work are told once.
_TOGETHER = 20
# A target of so few runs is a reference: how it was set is worth telling. A win at another size of work counts so much.
_REFERENCE, _OTHER_SIZE = 3, 0.6
# A reference stands at the end of somebody else's trail, which has about so many runs.
_RIPE = 20
# The last runs kept that say what this target is set to; of the settings that differ so many are told.
_STANDS_ON, _MOST_OTHER = 4, 1
# A target that shares no name, folder or variant is far; of all such together so many wins are told.
_NEAR, _MOST_FAR = 1.0, 3
# A run here that lost tried the same where it shares so much of the shorter title.
_ALIKE = 0.6
# A win is supported, and a reference a baseline, without saying.
_PLAIN = (Verdict.SUPPORTED, Verdict.BASELINE)
# Runs that carry over, check or watch what others won.
_NO_CHANGE = Phrases(
    "port(?:ed|ing)?, back-?port, validat\\w+, reproduc\\w+, sanity, (?:loss[- ])?curves?, equivalen\\w+, parity, profiling, captur\\w+, "
    "smoke",
    whole=True,
)


@dataclass(frozen=True, slots=True)
class Lesson:
    """What a run teaches other targets: `place` counts the runs before it, `size` is its gain.

    `point` is its size of work, `settings` what it was set to, a `name=value` a line; `upto` the highest number of a run that it names.
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
    upto: int = 0

    @property
    def order(self) -> tuple[str, int, str]:
        return self.date, self.number, self.path


class Traits(NamedTuple):
    """What tells the relatives of a target: shares of its tags, and its variants."""

    tags: dict[str, float]
    variants: tuple[str, ...]


def traits_of(runs: Sequence[Facts]) -> Traits:
    """Traits of a target from its runs."""
    tags = Counter(tag.lower() for e in runs for tag in e.tags)
    variants = sorted({e.variant for e in runs if e.variant})
    return Traits({tag: n / len(runs) for tag, n in tags.items()}, tuple(variants))


def kinship_of(traits: Mapping[str, Traits]) -> dict[tuple[str, str], float]:
    """How near each two targets are: by the folders and words of their names, their variants and their tags.

    Targets that share none of these have nothing to learn from each other and stand in no pair.
    """
    kin: dict[tuple[str, str], float] = {}
    names = {target: set(text_words(target)) for target in traits}
    # What all are called tells no kin.
    common = set.intersection(*names.values()) if names else set()
    for one, other in permutations(sorted(traits), 2):
        mine, theirs = traits[one], traits[other]
        folders = set(one.split("/")) & set(other.split("/"))
        called = names[one] & names[other] - common - set(text_words(" ".join(folders)))
        tags = sum(min(share, theirs.tags.get(tag, 0.0)) for tag, share in mine.tags.items())
        variants = not set(mine.variants).isdisjoint(theirs.variants)
        near = 0.8 * (len(folders) + bool(called)) + 0.5 * min(1.0, tags) + 0.3 * variants
        if near:
            kin[one, other] = 0.5 + near
    return kin


def lessons_of(runs: Sequence[Facts], *, stated: str = "") -> Iterable[Lesson]:
    """What others may learn of one target's runs, in trail order: what each did and what it brought, in its page's own words; `stated` is its metric."""
    outcomes = Outcomes(runs, frontiers_of(runs, stated=stated))
    points = points_of(runs)
    for place, e in enumerate(runs):
        if is_repeat(e) or _NO_CHANGE.search(e.title):
            continue
        gain = outcomes.gains.get(e.path) if len(runs) > _REFERENCE else None
        size = _size(e, gain) if kept(e) else 0.0
        tables = _tables(outcomes, e)
        if not (size or tables):
            continue  # Most runs teach nobody anything.
        settings = (
            f"{v.name}={v.value}".removesuffix("=")
            for v in e.settings
            if (v.value or v.name[0] == "-") and not is_common(v.name)
        )
        lesson = Lesson(
            e.path,
            e.target,
            e.date,
            e.number,
            place if len(runs) > _REFERENCE else _RIPE,
            round(size, 4),
            *_words(outcomes, e),
            points[e.path],
            "\n".join(dict.fromkeys(settings)),
        )
        # A baseline among many runs is what they left behind.
        if size and (e.verdict.canonical is not Verdict.BASELINE or len(runs) <= _REFERENCE):
            yield lesson
        for t in tables:
            size = round(min(_LARGEST, t.gain or 0.0), 4)
            yield replace(lesson, size=size, subject=t.subject, text=t.text, quote="", upto=t.upto)


def _words(outcomes: Outcomes, e: Facts) -> tuple[str, str, str]:
    """What a run did, the same with its figures, and its page's own words on what that brought."""
    subject = cut(subject_of(e), _SUBJECT)
    reference = e.verdict.canonical is Verdict.BASELINE or len(outcomes.runs) <= _REFERENCE
    figures = "" if reference else outcomes.result(e)
    if "%" not in figures and (figure := measured(e, 3 if reference else 1)) not in figures:
        figures = ", ".join(filter(None, (figures, figure)))
    own = e.account.as_of(e.number)
    if reference:
        # What a reference is worth to others is how it is set and what that needs.
        named = sorted(own.config, key=lambda n: -sum(is_handed(v.name) for v in levers_in(n.text)))
        quotes = [n.text for n in (*own.memory[:1], *named[:1])]
    else:
        named = sorted(own.gains, key=lambda n: -len(levers_in(n.text)) / (60 + len(n.text)))
        own_words = (n.text for n in named[:2] if not repeats(n.text, [subject]))
        quotes = [text for text in own_words if not repeats(subject, [text])]
    most = _QUOTE * (2 if reference else 1)
    quote = "; ".join(cut(q, most) for q in quotes) or outcomes.reason(e, _QUOTE)
    # What somebody kept all the same is told so.
    open_ = "" if e.verdict.canonical in _PLAIN else f" ({e.verdict.canonical or 'open'})"
    return subject, f"{subject}: {figures}{open_}", quote


def _tables(outcomes: Outcomes, e: Facts) -> Iterable[TableTry]:
    """Rows of a page's tables that won by a lever of theirs and have no page of their own: of those with the same first lever the best."""
    best: dict[str, TableTry] = {}
    for t in e.account.attempts:
        won = t.won is not False and 0.003 < (t.gain or 0.0)
        named = [v for v in levers_in(t.subject) if not is_common(v.name)] if won else ()
        if named and not outcomes.has_page(t.subject):
            key = key_of(named[0].name)
            best[key] = max(best.get(key, t), t, key=lambda t: (bool(t.won), t.gain))
    return best.values()


class _Here(NamedTuple):
    """What the target itself has: keys and words of what its runs pulled, its size of work, its settings, and its failed runs with their words and levers."""

    keys: set[str]
    words: set[str]
    point: str
    values: dict[str, str]
    lost: list[tuple[Facts, frozenset[str], set[str]]]


def _here(runs: Sequence[Facts], best: Frontier | None) -> _Here:
    held = [*([best.run] if best else []), *(e for e in reversed(runs) if kept(e))]
    settings = (f"{v.name} {v.value}".replace("_", " ") for e in runs for v in e.settings)
    stands_on = reversed(held[:_STANDS_ON])
    return _Here(
        {key_of(v.name) for e in runs for v in (*e.levers, *e.settings)},
        {w for text in (*(e.title for e in runs), *settings) for w in words_of(text)},
        points_of(runs)[held[0].path] if held else "",
        {key_of(v.name): v.value for e in stands_on for v in e.settings if v.value},
        [(e, words_of(subject_of(e)), keys_in(e.title)) for e in runs if not kept(e)],
    )


def transfer_lines(outcomes: Outcomes) -> Iterable[Line]:
    """Wins of other targets by levers that this one's runs did not pull or did not win with, by kinship, gain and newness."""
    here, spoken = _here(outcomes.runs, outcomes.best), set()
    best = _best(outcomes, here)
    for at in range(0, len(best), _TOGETHER):
        together = best[at : at + _TOGETHER]
        homes = [_home(win, here) for win in together]
        for place in sorted(range(len(homes)), key=lambda i: homes.index(homes[i])):
            win, head = together[place], homes[place]
            notes = [n for n in _conditions(win, here) if (win.target, n) not in spoken]
            spoken.update((win.target, n) for n in notes)
            notes += [win.quote] if win.quote and "+" not in win.text else []
            text = "; ".join((f"{handle(win.path)} {win.text}", *notes))
            yield Line(f"{head}{text}", win.path, head)


def _best(outcomes: Outcomes, here: _Here) -> list[Lesson]:
    """The wins that weigh most, each subject once; few of far targets, and these last."""
    wins = [w for w in outcomes.lessons if w.size > _NOISE]
    weights = {id(w): outcomes.kin[w.target] * _weight(w, here) for w in wins}
    best: dict[frozenset[str], Lesson] = {}
    for win in sorted(wins, key=lambda w: (-weights[id(w)], w.order)):
        if weights[id(win)]:
            best.setdefault(words_of(win.subject), win)
    near = {win: outcomes.kin[win.target] >= _NEAR for win in list(best.values())[:_MOST_TOLD]}
    far = [win for win in near if not near[win]][:_MOST_FAR]
    return [*filter(near.__getitem__, near), *far]


def _home(win: Lesson, here: _Here) -> str:
    """The target of a win by its short name, and its size of work."""
    name = "/".join(p.split("_")[0] for p in win.target.split("/"))
    elsewhere = f" (here {here.point})" if win.point != here.point else ""
    return f"{name}, size {win.point}{elsewhere}: " if win.point and here.point else f"{name}: "


def _weight(win: Lesson, here: _Here) -> float:
    """How much a win is worth here: for what is new in it, its gain, how late it was had, and whether the size of work is the same."""
    levers, words = keys_in(win.subject), words_of(win.subject)
    fresh = len(levers - here.keys) / (len(levers) + 1) + 0.5 * len(words - here.words) / (
        len(words) or 1
    )
    late = (win.place + 1) / (win.place + 11)
    same = _OTHER_SIZE if here.point and win.point and here.point != win.point else 1.0
    return same * fresh * (0.4 + late) * math.log1p(100 * win.size)


# What a run teaches is held beside each of the other targets.
@lru_cache(maxsize=8192)
def keys_in(text: str) -> frozenset[str]:
    """Keys of the settings that a text names, without those that any text may; a bare name is what is spoken of."""
    settings = (v for v in levers_in(text) if v.value or not v.name.isalpha())
    keys = (key_of(v.name) for v in settings if not is_common(v.name))
    return frozenset(key for key in keys if len(key) > 2)


def _conditions(win: Lesson, here: _Here) -> Iterator[str]:
    """Under what a win was had, and whether that holds here: settings that both targets state, and runs that lost by the same lever here."""
    own = (line.partition("=")[::2] for line in win.settings.split("\n"))
    other = [
        f"{name}={value}, here {here.values[key_of(name)]}"
        for name, value in own
        if is_handed(name)
        and here.values.get(key_of(name), value) != value != win.point
        and value.isdigit()
    ]
    yield from other[:_MOST_OTHER]
    keys, words = keys_in(win.subject), words_of(win.subject)
    lost = [
        e
        for e, w, k in here.lost
        if k and k <= keys or len(w & words) >= max(2, _ALIKE * min(len(w), len(words)))
    ]
    if lost:
        ends = (f"{handle(e.path)} {e.verdict.canonical or 'open'}" for e in lost[-2:])
        yield f"here {', '.join(ends)}"


def _size(e: Facts, gain: float | None) -> float:
    """How large a win was, within what tells wins apart; a baseline's page is worth a little by its configuration, a loss nothing."""
    if e.verdict.canonical is Verdict.BASELINE:
        return 0.08
    stated = [_share(m) for t in (e.title, e.because[:300]) if (m := _SHARE.search(t))]
    own = e.account.as_of(e.number)
    # On the page of a run that measured worse, a share speaks of something else.
    most = _INSIDE if (gain or 0.0) >= -_NOISE else _ASIDE
    inside = [min(most, _share(m)) for n in own.gains if (m := _SHARE.search(n.text))]
    return min(_LARGEST, max([*stated[:1], *inside, gain or 0.0, 0.0]))


def _share(match: re.Match[str]) -> float:
    return float(match[1]) / 100 if match[1] else float(match[2]) - 1
