"""What runs left to try and none since tried, with who asked for it."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from kb import regex
from kb.text import STOP, cut, stem
from kb.text import words_of as text_words
from kb.trail.facts import Facts
from kb.trail.handles import handle, numbers_named
from kb.trail.line import Line, repeats, words_of
from kb.trail.outcomes import Outcomes, subject_of
from kb.trail.outline import Phrases

_NO_IDEA = Phrases(
    "^none\\b, ^n/?a\\b, ^(?:this|it) \\w+\\b(?!.*\\bnext\\b), ^no (?:further|more|follow), ^closed, ^(?:next: ?)?(?:stop\\b|do(?: not|n.t) (?:carry|re?-?try|treat|revisit|repeat))"
)
_LAST_RUNS = 40
# So much of the words of the shorter of two texts tell that they speak of one thing.
_SAME, _LEAST = 0.6, 3
# A lead's heading ends where its sentence turns. A run that says so much of it takes the lead, where so much stands in what it tried.
_TURN = regex(r"[:.;,]\s|\s[—–=-]\s|\s\(")
_TITLES = regex(r",\s(?=[A-Z][a-z])")
_SAYS, _TRIES, _CLAIM, _READ = 0.75, 0.4, 500, 240
# A word that more of a trail's titles carry tells none of its runs from another.
_USUAL = 1 / 3
_LONGEST = 320


class OpenLead(NamedTuple):
    """One thing that a run left to try and no later one made moot: its text, how many runs came after it, its place on its page."""

    run: Facts
    text: str
    age: int
    place: int


def leads_of(runs: Sequence[Facts], *, last: int) -> Iterator[OpenLead]:
    """What the last runs left to try and none since tried, newest run first, each said once."""
    before: list[str] = []
    heads: set[frozenset[str]] = set()
    counts = Counter(w for e in runs for w in _terms(subject_of(e)))
    plain = frozenset(w for w, n in counts.items() if n > max(_LEAST, _USUAL * len(runs)))
    for age, e in enumerate(reversed(runs[-last:])):
        for place, text in enumerate(t for n in e.account.leads for t in _each(n.text)):
            head = _terms(_TURN.split(text, maxsplit=1)[0])
            again = head in heads or repeats(text, before)
            if len(words_of(text)) >= _LEAST and not _NO_IDEA.search(text) and not again:
                before.append(text)
                heads.update([head] if len(head) > 1 else [])
                later, numbers = runs[len(runs) - age :], numbers_named(text)
                if not any(r.number in numbers or _takes(r, text, plain) for r in later):
                    yield OpenLead(e, text, age, place)


def lead_lines(outcomes: Outcomes) -> Iterable[Line]:
    """Open leads, those first that the newest runs told first."""
    leads = leads_of(outcomes.runs, last=_LAST_RUNS)
    for lead in sorted(leads, key=lambda lead: lead.age / 4 + lead.place / 8):
        name = f"{handle(lead.run.path)}: "
        yield Line(f"{name}{cut(lead.text, _LONGEST)}", lead.run.path, name)


def _each(text: str) -> list[str]:
    """The leads of a text that lists several by their titles, else the text."""
    titles = _TITLES.split(text)
    return titles if all(t.count(" ") > 1 for t in titles) else [text]


def _takes(run: Facts, text: str, plain: frozenset[str]) -> bool:
    """Whether a run does what a lead asks for: the lead says most of what it tried, `plain` words of the trail aside, or the
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
    return headed or named


@lru_cache(maxsize=1 << 12)
def _terms(text: str) -> frozenset[str]:
    return frozenset(stem(w) for w in text_words(text) if w not in STOP and len(w) > 1)
