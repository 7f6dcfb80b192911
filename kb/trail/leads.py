"""What runs left to try, with who asked for it, and what made it moot since: a later run, a later page's word, a sister's failure."""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from kb.text import cut, sentences_of
from kb.trail.buckets import largest_buckets
from kb.trail.facts import Facts
from kb.trail.handles import handle, label_of
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
    for age, e in enumerate(reversed(runs[-last:])):
        for place, note in enumerate(e.account.leads):
            text = _asked(note.text)
            words = words_of(text[:160])
            if len(words) >= _LEAST and not _NO_IDEA.search(text) and not repeats(text, before):
                before.append(text)
                settled = _settled(text, words, runs[len(runs) - age :])
                yield OpenLead(e, text, words, age, place, settled)


def lead_lines(outcomes: Outcomes, lessons: Sequence[Lesson]) -> Iterable[Line]:
    """Open leads, each with the bucket of time that it names: those of the newest runs, of the frontier and on large buckets first, then those that something since made moot or that failed on a sister target."""
    ranked: list[tuple[float, int, Line]] = []
    best = outcomes.best.run.path if outcomes.best else ""
    buckets = largest_buckets(outcomes)
    failed = [(w, words_of(w.subject), keys_in(w.subject)) for w in lessons if w.size < 0]
    for lead in leads_of(outcomes.runs, last=_LAST_RUNS):
        sister = "" if lead.settled else _failed_elsewhere(lead, failed)
        failed = [f for f in failed if handle(f[0].path) not in sister]
        score = 1 / (1 + lead.age / 4) + 0.4 * (lead.run.path == best) - 0.03 * lead.place
        score -= 0.2 * bool(sister) + 0.6 * bool(lead.settled)
        # The largest of the buckets that it names is what it can win by.
        met = next((b for b in buckets if b.is_met(lead.text)), None)
        at = f" [{cut(met.name, 60)}, {met.share:.3g} %]" if met else ""
        score += met.share / 200 if met else 0.0
        name = f"{handle(lead.run.path)}: "
        text = f"{name}{cut(lead.text, 320)}{at}{lead.settled or sister}"
        ranked.append((-score, len(ranked), Line(text, lead.run.path, name)))
    yield from (line for *_, line in sorted(ranked, key=lambda r: r[:2]))


def _asked(text: str) -> str:
    """What a text leaves to do: without the sentences ahead of it that say how its run came out; empty where all do."""
    sentences = sentences_of(text)
    while sentences and _JUDGES.search(sentences[0]) and not _ASKS.search(sentences[0]):
        sentences = sentences[1:]
    return " ".join(sentences)


def _settled(text: str, words: frozenset[str], later: Sequence[Facts]) -> str:
    """What came of a lead in the runs after it: who tried it, else who called it closed; empty where it is open."""
    takers = [r for r in later if _takes(r, text, words)]
    if takers:
        verdict = takers[-1].verdict.canonical or "open"
        return f" (since tried: {handle(takers[-1].path)} {verdict})"
    for r in reversed(later):
        for note in r.account.closed:
            if _meets(words_of(note.text), words):
                return f" (since closed by {handle(r.path)}: {cut(note.text, 120)})"
    return ""


def _takes(run: Facts, text: str, words: frozenset[str]) -> bool:
    """Whether a run does what a lead asks for: in most of its words, or in half of them where the lead calls it by its number."""
    own = words_of(subject_of(run))
    named = label_of(run.path) in words and 2 * len(own & words_of(text)) >= len(own)
    return named or _meets(own, words, whole=True)


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
