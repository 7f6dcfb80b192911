"""What runs left to try, with who asked for it, and what made it moot since: a later run, a later page's word, a sister's failure."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from kb import regex
from kb.text import STOP, cut, sentences_of, stem
from kb.text import words_of as text_words
from kb.trail.buckets import largest_buckets
from kb.trail.facts import Facts
from kb.trail.handles import handle, numbers_named
from kb.trail.levers import key_of, levers_in
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
_LAST_RUNS = 40
# So much of the words of the shorter of two texts tell that they speak of one thing.
_SAME, _LEAST = 0.6, 3
# A lead's heading ends where its sentence turns. A run that says so much of it takes the lead, where so much stands in what it tried.
_TURN = regex(r"[:.;,]\s|\s[—–=-]\s|\s\(")
_TITLES = regex(r",\s(?=[A-Z])")
_SAYS, _TRIES, _CLAIM, _READ = 0.75, 0.4, 500, 240
# A word that more of a trail's titles carry tells none of its runs from another.
_USUAL = 1 / 3
# Of a lead that is settled so much is told: enough to know it again.
_OPEN, _SETTLED = 320, 120


class OpenLead(NamedTuple):
    """One thing that a run left to try: its text and its words, how many runs came after it, its place on its page, and what made it moot since."""

    run: Facts
    text: str
    words: frozenset[str]
    age: int
    place: int
    settled: str


def leads_of(runs: Sequence[Facts], *, last: int) -> Iterator[OpenLead]:
    """What the last runs left to try, newest run first, each said once."""
    before: list[str] = []
    heads: set[frozenset[str]] = set()
    counts = Counter(w for e in runs for w in _terms(subject_of(e)))
    plain = frozenset(w for w, n in counts.items() if n > max(_LEAST, _USUAL * len(runs)))
    for age, e in enumerate(reversed(runs[-last:])):
        for place, lead in enumerate(t for n in e.account.leads for t in _each(n.text)):
            text = _task_of(lead)
            words = words_of(text[:160])
            head = _terms(_TURN.split(text, maxsplit=1)[0])
            again = head in heads or repeats(text, before)
            if len(words) >= _LEAST and not _NO_IDEA.search(text) and not again:
                before.append(text)
                heads.update([head] if len(head) > 1 else [])
                settled = _settled(text, words, runs[len(runs) - age :], plain)
                yield OpenLead(e, text, words, age, place, settled)


def lead_lines(outcomes: Outcomes, lessons: Sequence[Lesson]) -> Iterable[Line]:
    """Open leads: those of the newest runs, of the frontier and on large buckets of time first, then those that failed on a sister target."""
    ranked: list[tuple[tuple[float, int], Line]] = []
    best = outcomes.best.run.path if outcomes.best else ""
    buckets = largest_buckets(outcomes)
    failed = [(w, words_of(w.subject), keys_in(w.subject)) for w in lessons if w.size < 0]
    for lead in leads_of(outcomes.runs, last=_LAST_RUNS):
        if lead.settled:
            continue
        sister = _failed_elsewhere(lead, failed)
        failed = [f for f in failed if handle(f[0].path) not in sister]
        score = 1 / (1 + lead.age / 4) + 0.4 * (lead.run.path == best) - 0.03 * lead.place
        score -= 0.2 * bool(sister)
        # The largest of the buckets that it names is what it can win by.
        score += next((b.share for b in buckets if b.is_met(lead.text)), 0.0) / 200
        name = f"{handle(lead.run.path)}: "
        text = f"{name}{cut(lead.text, _OPEN)}{sister}"
        ranked.append(((-score, len(ranked)), Line(text, lead.run.path, name)))
    yield from (line for _, line in sorted(ranked, key=lambda r: r[0]))


def _each(text: str) -> list[str]:
    """The leads of a text that lists several by their titles, else the text."""
    titles = _TITLES.split(text)
    return titles if all(t.count(" ") > 1 for t in titles) else [text]


def _task_of(text: str) -> str:
    """What a text leaves to do: without the sentences ahead of it that say how its run came out; empty where all do."""
    sentences = sentences_of(text)
    while sentences and _JUDGES.search(sentences[0]) and not _ASKS.search(sentences[0]):
        sentences = sentences[1:]
    return " ".join(sentences)


def _settled(
    text: str, words: frozenset[str], later: Sequence[Facts], plain: frozenset[str]
) -> str:
    """What came of a lead in the runs after it: who tried it, else who called it closed; empty where it is open."""
    numbers = numbers_named(text)
    takers = [r for r in later if r.number in numbers] or [
        r for r in later if _takes(r, text, plain)
    ]
    if takers:
        ends = (f"{handle(r.path)} {r.verdict.canonical or 'open'}" for r in takers[-2:])
        return f" (since tried: {', '.join(ends)})"
    for r in reversed(later):
        for note in r.account.closed:
            if _meets(words_of(note.text), words):
                return f" (since closed by {handle(r.path)}: {cut(note.text, 120)})"
    return ""


def _takes(run: Facts, text: str, plain: frozenset[str]) -> bool:
    """Whether a run does what a lead asks for, at no other value: the lead says most of what it tried, `plain` words of the trail aside, or the
    run says what heads the lead, in part as what it tried and the rest in its hypothesis.
    """
    head = _TURN.split(text, maxsplit=1)[0]
    subject, heading = _terms(subject_of(run)), _terms(head)
    own = subject - plain
    rest = heading & (subject | _terms(run.hypothesis[:_CLAIM]))
    headed = len(heading & subject) >= max(_TRIES * len(heading), 1) and (
        len(rest) >= max(_SAYS * len(heading), 2)
    )
    least = max(_SAME * len(own), min(len(own), _LEAST), 2)
    named = len(own & _terms(text[:_READ])) >= least
    return (headed or named) and not _at_other_value(run, head)


def _at_other_value(run: Facts, head: str) -> bool:
    """Whether a run sets what a lead's heading sets, and none of it to the same value."""
    wanted, own = _values(head), _values(subject_of(run))
    both = wanted.keys() & own.keys()
    return bool(both) and all(wanted[key] != own[key] for key in both)


@lru_cache(maxsize=1 << 12)
def _values(text: str) -> dict[str, str]:
    return {key_of(v.name): v.value for v in levers_in(text) if v.value}


@lru_cache(maxsize=1 << 12)
def _terms(text: str) -> frozenset[str]:
    return frozenset(stem(w) for w in text_words(text) if w not in STOP and len(w) > 1)


def _failed_elsewhere(
    lead: OpenLead, failed: Sequence[tuple[Lesson, frozenset[str], frozenset[str]]]
) -> str:
    """The newest failure of a sister target by the levers that a lead names, else in its words."""
    keys = keys_in(lead.text)
    for lesson, words, own in reversed(failed):
        if own <= keys if own else _meets(words, lead.words, whole=True):
            name = lesson.target.split("/")[0].split("_")[0]
            return f" (failed on a sister: {name} {handle(lesson.path)}, {cut(lesson.text, 90)})"
    return ""


def _meets(one: frozenset[str], other: frozenset[str], *, whole: bool = False) -> bool:
    """Whether two texts speak of one thing: most words of the shorter, or of the `whole` first, stand in the other."""
    least = len(one) if whole else min(len(one), len(other))
    return len(one & other) >= max(_LEAST, _SAME * least)
