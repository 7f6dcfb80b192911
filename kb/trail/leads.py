"""What runs left to try and none since tried, with who asked for it."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
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
# A word as long as this may stand for a longer one that it begins.
_ROOT = 5


class _Try(NamedTuple):
    """What a run tried, by the words of its title and of its hypothesis."""

    number: int
    subject: frozenset[str]
    claim: frozenset[str]


class OpenLead(NamedTuple):
    """One thing that a run left to try and no later one made moot: its text, how many runs came after it, its place on its page."""

    run: Facts
    text: str
    age: int
    place: int


def leads_of(runs: Sequence[Facts], *, last: int = _LAST_RUNS) -> Iterator[OpenLead]:
    """What the last runs left to try and none since tried, newest run first, each said once."""
    before: list[str] = []
    heads: list[frozenset[str]] = []
    terms = _terms_of(runs)
    counts = Counter(w for e in runs for w in terms(subject_of(e)))
    plain = frozenset(w for w, n in counts.items() if n > max(_LEAST, _USUAL * len(runs)))
    tries = [_Try(e.number, terms(subject_of(e)), terms(e.hypothesis[:_CLAIM])) for e in runs]
    for age, e in enumerate(reversed(runs[-last:])):
        for place, text in enumerate(t for n in e.account.leads for t in _each(n.text)):
            head = terms(_TURN.split(text, maxsplit=1)[0])
            # Two headings speak of one thing where most of the shorter stands in the longer.
            again = repeats(text, before) or any(
                len(head & other) >= max(_SAYS * min(len(head), len(other)), 2) for other in heads
            )
            if len(words_of(text)) >= _LEAST and not _NO_IDEA.search(text) and not again:
                before.append(text)
                heads.append(head)
                numbers, named = numbers_named(text), terms(text[:_READ])
                if not any(
                    t.number in numbers or _takes(t, head, named, plain)
                    for t in tries[len(runs) - age :]
                ):
                    yield OpenLead(e, text, age, place)


# Leads, and what the time goes to, are told of the same runs.
@lru_cache(maxsize=1)
def open_leads(outcomes: Outcomes) -> tuple[OpenLead, ...]:
    """All open leads of a target."""
    return tuple(leads_of(outcomes.runs))


def lead_lines(outcomes: Outcomes) -> Iterable[Line]:
    """Open leads, those first that the newest runs told first."""
    for lead in sorted(open_leads(outcomes), key=lambda lead: lead.age / 4 + lead.place / 8):
        name = f"{handle(lead.run.path)}: "
        yield Line(f"{name}{cut(lead.text, _LONGEST)}", lead.run.path, name)


def _each(text: str) -> list[str]:
    """The leads of a text that lists several by their titles, else the text."""
    titles = _TITLES.split(text)
    return titles if all(t.count(" ") > 1 for t in titles) else [text]


def _takes(run: _Try, head: frozenset[str], named: frozenset[str], plain: frozenset[str]) -> bool:
    """Whether a run does what a lead asks for: the lead names most of what it tried, `plain` words of the trail aside, or the
    run says what heads the lead, in part as what it tried and the rest in its hypothesis.
    """
    own = run.subject - plain
    headed = len(head & run.subject) >= max(_TRIES * len(head), 1) and (
        len(head & (run.subject | run.claim)) >= max(_SAYS * len(head), 2)
    )
    return headed or len(own & named) >= max(_SAME * len(own), min(len(own), _LEAST), 2)


def _terms_of(runs: Sequence[Facts]) -> Callable[[str], frozenset[str]]:
    """Turns a text into its words, each as the shortest word of the trail's titles that begins it: `remat` for `rematerialization`."""
    titles = {w for e in runs for w in _stems(subject_of(e)) if len(w) >= _ROOT}

    @lru_cache(maxsize=None)
    def root(word: str) -> str:
        return next((word[:n] for n in range(_ROOT, len(word)) if word[:n] in titles), word)

    return lambda text: frozenset(map(root, _stems(text)))


@lru_cache(maxsize=1 << 12)
def _stems(text: str) -> frozenset[str]:
    return frozenset(stem(w) for w in text_words(text) if w not in STOP and len(w) > 1)
