"""What runs left to try, with who asked for it, and what made it moot since: a later run, a later page's word, a sister's failure."""

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from kb.text import cut, sentences_of
from kb.trail.facts import Facts
from kb.trail.handles import handle
from kb.trail.line import Line, repeats, words_of
from kb.trail.outcomes import Outcomes, subject_of
from kb.trail.outline import Phrases
from kb.trail.transfers import Lesson, keys_in

_NO_IDEA = Phrases(
    "^none\\b, ^n/?a\\b, ^no (?:further|more|follow), ^closed, ^(?:next: ?)?(?:stop\\b|do(?: not|n.t) (?:carry|re?-?try|treat|revisit|repeat))"
)
# A sentence that says how the run itself came out, and one that says what to do for all that.
_JUDGES = Phrases(
    "^(?:supported|refuted|invalid|inconclusive|crash(?:ed)?|tie[sd]?|accepted|rejected|kept|discarded)\\b(?! by), "
    "^(?:this|the) (?:run|result|flag|exact \\w+ rerun)\\b, ^(?:this|it) (?:ties|tied|does|did|is|was|tested|regress\\w*|beats?)\\b, "
    "not a (?:durable )?(?:win|improvement|frontier), (?:ties|tied) the"
)
_ASKS = Phrases(
    "next, try, retry, revisit, re-?test, should, could, worth, needs?, untried", whole=True
)
# A lead that its own page calls settled.
_SETTLED = Phrases(
    "moot, closed, already (?:in|done|covered), landed, superseded, no longer, de-?prioriti[sz]ed, out of scope, ruled out, not worth, "
    "result: (?:discard|reject|refut|crash)\\w*",
    whole=True,
)
_NUMBERED = re.compile(r"(?<![\w.])(?:v|exp ?)0*(\d{1,4})\b", re.I)
_LAST_RUNS = 40
# So much of the words of the shorter of two texts tell that they speak of one thing.
_SAME, _LEAST = 0.6, 3


class _Lead(NamedTuple):
    """One thing left to try: its text, its words, the runs after the one that left it."""

    text: str
    words: frozenset[str]
    later: Sequence[Facts]


def lead_lines(told: Outcomes, lessons: Sequence[Lesson]) -> Iterable[Line]:
    """Open leads, those of the newest runs and of the frontier first, then those that something since made moot or that failed on a sister target."""
    runs, before = told.runs, []
    ranked: list[tuple[float, int, Line]] = []
    best = told.best.run.path if told.best else ""
    failed = [(w, words_of(w.subject), set(keys_in(w.subject))) for w in lessons if w.size < 0]
    for age, e in enumerate(reversed(runs[-_LAST_RUNS:])):
        weight = 1 / (1 + age / 4) + 0.4 * (e.path == best)
        for place, note in enumerate(e.account.leads):
            text = _asked(note.text)
            words = words_of(text[:160])
            if len(words) < 3 or _NO_IDEA.search(text) or repeats(text, before):
                continue
            before.append(text)
            lead = _Lead(text, words, runs[len(runs) - age :] if age else ())
            settled = _settled(lead)
            sister = "" if settled else _failed_elsewhere(lead, failed)
            failed = [f for f in failed if handle(f[0].path) not in sister]
            score = weight - 0.03 * place - 0.2 * bool(sister)
            score -= 0.6 * bool(settled or _SETTLED.search(text))
            name = f"{handle(e.path)}: "
            text = f"{name}{cut(text, 320)}{settled or sister}"
            ranked.append((-score, len(ranked), Line(text, e.path, name)))
    yield from (line for *_, line in sorted(ranked, key=lambda r: r[:2]))


def _asked(text: str) -> str:
    """What a text leaves to do: without the sentences ahead of it that say how its run came out; empty where all do."""
    sentences = sentences_of(text)
    while sentences and _JUDGES.search(sentences[0]) and not _ASKS.search(sentences[0]):
        sentences = sentences[1:]
    return " ".join(sentences)


def _settled(lead: _Lead) -> str:
    """What came of a lead in the runs after it: who tried it, else who called it closed; empty where it is open."""
    # A number that a plan gave itself may have gone to another run since.
    numbers = {int(n) for n in _NUMBERED.findall(lead.text)}
    subjects = [(r, words_of(subject_of(r))) for r in lead.later]
    takers = [r for r, own in subjects if r.number in numbers and len(own & lead.words) > 1]
    takers = takers or [r for r, own in subjects if _meets(own, lead.words, whole=True)]
    if takers:
        verdict = takers[-1].verdict.canonical or "open"
        return f" (since tried: {handle(takers[-1].path)} {verdict})"
    for r in reversed(lead.later):
        for note in r.account.closed:
            if _meets(words_of(note.text), lead.words):
                return f" (since closed by {handle(r.path)}: {cut(note.text, 120)})"
    return ""


def _failed_elsewhere(
    lead: _Lead, failed: Sequence[tuple[Lesson, frozenset[str], set[str]]]
) -> str:
    """The newest failure of a sister target by the levers that a lead names, else in its words."""
    keys = set(keys_in(lead.text))
    for lesson, words, own in reversed(failed):
        if len(own) > 1 and own <= keys or _meets(words, lead.words, whole=True):
            name = lesson.target.split("/")[0].split("_")[0]
            return f" (failed on a sister: {name} {handle(lesson.path)}, {cut(lesson.text, 90)})"
    return ""


def _meets(one: frozenset[str], other: frozenset[str], *, whole: bool = False) -> bool:
    """Whether two texts speak of one thing: most words of the shorter, or of the `whole` first, stand in the other."""
    least = len(one) if whole else min(len(one), len(other))
    return len(one & other) >= max(_LEAST, _SAME * least)
