"""What each run of a target came to, in one figure and one reason. Refuses a hopeful hypothesis: what was measured counts."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

from kb import regex
from kb.run.noise import gain_of
from kb.run.quantity import number_text, unit_beside
from kb.run.record import Metric
from kb.schema import Verdict
from kb.text import cut, sentences_of
from kb.trail.facts import Facts
from kb.trail.frontier import Frontier, kept, points_of
from kb.trail.handles import label_of, numbers_named
from kb.trail.line import repeats, words_of
from kb.trail.outline import Phrases

if TYPE_CHECKING:
    from kb.trail.transfers import Lesson

_LABEL = regex(
    r"^[^—–:|]{0,40}?\b(?:v|exp(?:eriment)?\.?|run|trial|iter)[-_ ]?\d+[a-z]?(?:/\w+)?\s*(?:[-—–:]+(?!\d)\s*|$)",
    re.I,
)
_OUTCOME = regex(
    r"\s*[(\[][^()\[\]]*\b(?:accept|reject|refut|potential|keep|kept|discard|crash|invalid|park|inconclus|support)\w*\b[^()\[\]]*[)\]]",
    re.I,
)
_LOSS = regex(
    r"(?<![\w.,/])[\-−–]\s?~?\d+(?:\.\d+)?\s?(?:%|pp\b)|\b\d+(?:\.\d+)?\s?[×x] (?:slower|worse|larger)|"
    r"\b(?:by|short)\s[+\-−~]*\d[\d.]*\s?[KMG]i?B?\b|\+?\d[\d.]*\s?[KMG]i?B? (?:over|short)\b",
    re.I,
)
_WIN = regex(
    r"(?<![\w.,/])\+\s?~?\d+(?:\.\d+)?(?:\s?(?:to|–|-)\s?\+?\d+(?:\.\d+)?)?\s?(?:%|pp\b)|\b\d+(?:\.\d+)?\s?[×x] (?:faster|less|fewer)?",
    re.I,
)
# Signs that a loop decorates its titles with: dear in tokens, and they say nothing.
_SIGN = regex("[\u2600-\u27bf\U0001f300-\U0001faff\ufe0f]+ ?")
# The last runs of which one may have lost to a run without a page, how much better than what was kept it is, and how it ended.
_LAST, _FAR, _LOST_TO = 6, 0.02, (Verdict.REFUTED, Verdict.INCONCLUSIVE)
# So many words that a title shares with the frontier's go without saying.
_PREFIX = 3
_OWN_NUMBER = regex(
    r"\W*(?:\w+\W+)?(?:v|exp|run|trial|iter)\w{0,8}[-_. ]?0*(\d{1,4}[a-z]?)\b", re.I
)
_VERDICT_WORD = regex(
    r"^(?:\W*(?:the loop's reason \(quoted|verdict|supported|refuted|rejected|inconclusive|invalid|accepted|discard(?:ed)?|kept|keep|crash|parked|potential|falsified)\b[\s.;:,)—–*-]*)+",
    re.I,
)


class Outcomes:
    """The runs of one target, with what follows from all of them together: gains, and sentences that many of them repeat. `lessons` are what
    other targets' runs teach, those of `kin` by how near they are.
    """

    def __init__(
        self,
        runs: Sequence[Facts],
        frontiers: Sequence[Frontier],
        *,
        lessons: "Iterable[Lesson]" = (),
        kin: Mapping[str, float] = {},
    ):
        self.runs, self.frontiers, self.kin, self.against = runs, frontiers, kin, ""
        lessons = tuple(lessons)
        self.lessons = [w for w in lessons if kin.get(w.target)]
        # Names of targets are written like settings (`llama3`) and are none.
        targets = {w.target for w in lessons} | {e.target for e in runs[:1]}
        self.names = frozenset(w for t in targets for w in words_of(t.replace("_", " ")))
        self.best = frontiers[0] if frontiers else None
        self.metric = self.best.metric if self.best else None
        self.gains = _gains(runs, self.metric)
        # Runs that lost, though far better than what was kept, to one that has no page tell of it alone: the best of them stands next to it.
        known, size = {e.number for e in runs}, self.best.point if self.best else ""
        lost = [
            (self.gains[e.path], sentence, e)
            for e in runs[-_LAST:]
            if self.gains.get(e.path, 0.0) > _FAR and e.verdict.canonical in _LOST_TO
            for sentence in sentences_of(e.falsification * (e.point in ("", size)))
            if numbers_named(sentence) - known
        ]
        for _, self.against, run in sorted(lost, key=lambda e: e[:2])[-1:]:
            self.best = replace(self.best, run=run)
            self.frontiers = (self.best, *frontiers[1:])
        self.numbers = frozenset(label_of(e.path).lstrip("expvrunti-_0") for e in runs)

    @cached_property
    def habits(self) -> set[str]:
        """What three runs say in the same words, whatever the figures: it tells none of them apart."""
        clauses = Counter(c for e in self.runs for c in {_shape(c) for c in _clauses(e.because)})
        return {c for c, n in clauses.items() if n >= 3}

    def has_page(self, subject: str) -> bool:
        """Whether a text begins with the number of a run that has a page of its own."""
        own = _OWN_NUMBER.match(subject)
        return own is not None and own[1].lower() in self.numbers

    def change(self, e: Facts) -> str:
        """What a run tried beside the frontier's: its subject without the words that both begin with."""
        words, best = subject_of(e).split(), subject_of(self.best.run).split() if self.best else []
        same = next(
            (i for i, (a, b) in enumerate(zip(words, best, strict=False)) if a != b), len(best)
        )
        return " ".join(words[same:] if same >= _PREFIX else words) or " ".join(words)

    def result(self, e: Facts) -> str:
        """What a run came to in one figure: the share that its title, verdict or memory states, else its metric and that against the best before it."""
        texts = (
            e.title,
            e.because[:400],
            *(n.text for n in e.account.memory[:2] if e.failed),
            *([e.hypothesis[:300]] if not e.because else []),
        )
        pattern = _WIN if kept(e) else _LOSS
        # What kb measured against the parent is told by its gain alone: a figure of another day is no yardstick.
        if e.gain is not None:
            return f"{100 * e.gain:+.1f} %"
        stated = next((m for t in texts if (m := pattern.search(t))), None)
        if stated:
            return _squeezed(stated[0])
        own = e.metric(self.metric.name) if self.metric else None
        if own and own.value is not None:
            gain = self.gains.get(e.path)
            return f"{_figure(own)}" + (
                f" ({100 * gain:+.1f} %)" if gain is not None and (gain > 0) == kept(e) else ""
            )
        return ""

    def reason(self, e: Facts, most: int) -> str:
        """Why a run came out as it did: the first sentences of its verdict that say more than a verdict, and that not every run says."""
        clauses = [
            c
            for c in _clauses(_VERDICT_WORD.sub("", _squeezed(e.because)))
            if not _BARE.fullmatch(c)
        ]
        is_habit = _shape(_squeezed(e.because)) in self.habits
        own = [c for c in clauses if not is_habit and _shape(c) not in self.habits]
        if not own:
            own = [n.text for n in e.account.memory[:1] if e.failed] or (
                [] if e.place("hypothesis") else sentences_of(_squeezed(e.hypothesis))[:2]
            )
        text = ""
        for sentence in (_beyond(c, subject_of(e)) for c in own):
            if text and len(text) + len(sentence) + 1 > most:
                break
            text = f"{text}{'' if not text or text[-1] in '.!?' else ';'} {sentence}".strip()
        return cut(text, most)


def _beyond(text: str, subject: str) -> str:
    """What a sentence says of a subject that heads it."""
    parts = (text.partition(mark) for mark in (" — ", " – ", ": "))
    return next((rest for head, _, rest in parts if rest and repeats(head, [subject])), text)


_REPEAT = Phrases(
    "re-?(?:run|peat|measure|valid|check)\\w*, bound (?:run-to-run )?noise", whole=True
)


def is_repeat(e: Facts) -> bool:
    """Whether a run measures again what was measured before."""
    return bool(_REPEAT.search(e.title))


DIGITS = regex(r"\d[\d.,]*")
_BARE = regex(r"[\W\d]*(?:\w+[\W\d]*){0,2}|\([^()]*\)\W*")


def _clauses(text: str) -> list[str]:
    """Sentences of a text, those of several clauses cut at semicolons."""
    return [c for s in sentences_of(_squeezed(text)) for c in s.split("; ")]


def _shape(clause: str) -> str:
    """A clause without its figures and the marks at its ends."""
    return DIGITS.sub("#", _VERDICT_WORD.sub("", clause)).strip(" .;,").lower()


def _squeezed(text: str) -> str:
    return " ".join(text.split())


def _gains(runs: Sequence[Facts], metric: Metric | None) -> dict[str, float]:
    """How much better each run is than the best that was kept before it at its size of work, relative; of runs that report the metric."""
    points, best = points_of(runs, metric), {}
    gains = {e.path: e.gain for e in runs if e.gain is not None}
    for e in runs:
        own = e.metric(metric.name) if metric and metric.direction else None
        if own is None or own.value is None:
            continue
        before = best.get(points[e.path])
        if (
            before is not None
            and e.gain is None
            and (gain := gain_of(own.value, before, direction=metric.direction)) is not None
        ):
            gains[e.path] = gain
        if kept(e) and (before is None or (own.value > before) == (metric.direction == "higher")):
            best[points[e.path]] = own.value
    return gains


def subject_of(e: Facts) -> str:
    """What a run tried, in its title's words: without its number and its verdict."""
    return _bare(e.title) or e.slug


@lru_cache(maxsize=1 << 12)
def _bare(title: str) -> str:
    title = _OUTCOME.sub("", _SIGN.sub("", title))
    return _LABEL.sub("", title).strip(" -—–:") or title


def _figure(m: Metric) -> str:
    spread = f" ± {number_text(m.stddev)}" if m.stddev is not None else ""
    return f"{m.name} {number_text(m.value)}{spread} {unit_beside(m.name, m.unit)}".rstrip()


def measured(e: Facts, most: int = 4) -> str:
    """A run's figures in one line, with spread where it is known."""
    # Of several figures a zero is mostly one that nobody took, unless it says from how many samples.
    zeros = len(e.metrics) == 1
    own = [m for m in e.metrics if m.value or m.value is not None and (zeros or m.n)]
    return ", ".join(map(_figure, own[:most]))
