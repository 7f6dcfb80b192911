"""What a claim must hold to enter: its quote stands in the source, and says what the claim says.

Each check is one function from a `Case` to a reason, or nothing; `CHECKS` is their order. Refuses to weigh: one reason is enough, and
what rules cannot tell is left to a second reader. Nothing here reads the wiki; where claims go to is checked where pages are known.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from kb.claims.captured import Captured, Span
from kb.claims.case import ClaimCase
from kb.claims.figures import names, numbers
from kb.claims.owners import counted, reference, subjects
from kb.claims.sense import certainty, condition, direction, negation, sides
from kb.source import marks_of
from kb.text import fold, sentences_of, stem, words_of

# A quote of fewer words fits anywhere, one of more is a copy of its source and no evidence for one sentence.
SHORTEST_QUOTE, LONGEST_QUOTE = 2, 60
LONGEST_CLAIM = 60


@dataclass(frozen=True, slots=True)
class Quotable:
    """A stretch of captured text that claims may quote: the id of its source or page, and the character of that at which it begins."""

    origin: str
    captured: Captured
    start: int = 0


@dataclass(frozen=True, slots=True)
class ClaimRuling:
    """Whether a claim stands: where its quote stands in which text, or the reason why not."""

    origin: str = ""
    span: Span | None = None
    reason: str = ""


def ruling_on(claim: str, quote: str, *, origin: str, passages: Iterable[Quotable]) -> ClaimRuling:
    """Ruling on one claim. `origin` names the text it cites; empty means the only one there is."""
    passages = tuple(passages)
    origins = dict.fromkeys(p.origin for p in passages)
    cited = [p for p in passages if p.origin == origin or not origin and len(origins) == 1]
    if not cited:
        named = ", ".join(origins)
        return ClaimRuling(
            reason=f"cites '{origin}', which is not in the packet; it holds {named}"
            if origin
            else f"say which source: {named}"
        )
    if reason := _form(claim, quote):
        return ClaimRuling(reason=reason)
    found = next(((p, span) for p in cited if (span := p.captured.find(quote))), None)
    if found is None:
        return ClaimRuling(reason=_not_there(quote, cited[0], passages))
    passage, span = found
    case = case_of(claim, passage, span)
    reason = next((reason for check in CHECKS if (reason := check(case))), "")
    return (
        ClaimRuling(reason=reason)
        if reason
        else ClaimRuling(passage.origin, Span(passage.start + span.start, passage.start + span.end))
    )


def case_of(claim: str, passage: Quotable, span: Span) -> ClaimCase:
    """The claim beside what the passage says at `span` and around it."""
    captured = passage.captured
    around = captured.sentence_around(span)
    before, after = captured.neighbours(around)
    quote, sentence, block = (
        _unbroken(captured.text[s.start : s.end])
        for s in (span, around, captured.block_around(span))
    )
    return ClaimCase(
        " ".join(claim.split()),
        quote,
        sentence,
        _unbroken(before),
        _unbroken(after),
        block,
        captured.heading_above(span),
        captured.columns_of(span),
        _vocabulary(captured.text),
    )


def _unbroken(text: str) -> str:
    """A text in which no word is broken by the end of a line."""
    return re.sub(r"(?<=[^\W\d_])[-\u00ad]\n\s*(?=[a-zß-öø-ÿﬀ-ﬆ])", "", text)


@lru_cache(16)
def _vocabulary(text: str) -> frozenset[str]:
    """Stems of the words that a text uses as words: in small letters, or with a capital at the head of a sentence alone."""
    small, opening, inside = set(), set(), set()
    for word in re.finditer(r"\b[^\W\d_]+\b", text):
        if word[0].islower():
            small.add(stem(word[0]))
        elif word[0].istitle():
            head = not word.start() or re.search(
                r"[.!?:]\W*$|\n\W*$", text[max(0, word.start() - 6) : word.start()]
            )
            (opening if head else inside).add(stem(fold(word[0])))
    labels = {stem(fold(label)) for label in _LABEL_OF_ROW.findall(text)}
    return frozenset((small | opening - inside) - labels)


# A word alone in the first cell of a row of a table names what the row is about.
_LABEL_OF_ROW = re.compile(r"^\|\s*([^\W\d_]+)\s*\|", re.MULTILINE)


_MARKUP = re.compile(
    r"<[/!a-zA-Z]|^\s*(?:#|>|```|~~~)|kb:auto|kb:allow|\]\(\s*(?:javascript|data|file):",
    re.IGNORECASE,
)


def _form(claim: str, quote: str) -> str:
    if not claim.strip() or not quote.strip():
        return "a claim needs a sentence and a quote"
    if "\n" in claim.strip() or _MARKUP.search(claim):
        return "a claim is one plain sentence, without HTML, headings, quotes or markers"
    if len(sentences_of(claim)) > 1:
        return "a claim is one sentence; say each thing with its own quote"
    if any(not c.isprintable() for c in claim):
        return "the claim holds characters that cannot be seen"
    if len(claim.split()) > LONGEST_CLAIM or len(claim) > 20 * LONGEST_CLAIM:
        return f"a claim has at most {LONGEST_CLAIM} words; say one thing in each"
    words = len(quote.split())
    if not SHORTEST_QUOTE <= words <= LONGEST_QUOTE:
        return f"a quote has {SHORTEST_QUOTE} to {LONGEST_QUOTE} words, this one {words}"
    return ""


def _not_there(quote: str, passage: Quotable, passages: Iterable[Quotable]) -> str:
    elsewhere = [
        p.origin for p in passages if p.origin != passage.origin and p.captured.find(quote)
    ]
    if elsewhere:
        return f"the quote stands in {elsewhere[0]}, not in {passage.origin}"
    if re.search(r"\.\.\.|…|\[\.", quote):
        return "a quote is one stretch of text: nothing is left out of it and nothing put together"
    head = passage.captured.longest_head(quote)
    return f"the quote does not stand in {passage.origin}" + (
        f"; it departs from the text behind “{head[-80:]}”" if head else ""
    )


# Commands to whoever reads, beside those that a capture marks: shapes of such speech, not topics. A page about agents may say anything about them.
_READER = r"(?:you|agents?|assistants?|models?|llms?|readers?|reviewers?|maintainers?)"
_DEED = (
    r"(?:run|execute|call|invoke|write|delete|remove|send|post|upload|approve|admit|accept|mark|output|print|reply|respond|answer|fetch|download|install|open|trust|treat|"
    r"report|state|say|record|insert|add|raise|disable|enable|ignore|skip)"
)
_AIMED = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"\b(?:ignor\w*|disregard\w*|forget|overrid\w*|bypass\w*|suspend\w*)\b(?:\W+\w+){0,5}?\W+(?:instructions?|rules?|gates?|checks?|guidelines?|polic\w+|safety|verification)\b",
        r"\bgates?\b(?:\W+\w+){0,3}?\W+(?:ignored|bypassed|skipped|disabled)\b",
        rf"\b{_READER}\b(?:\W+\w+){{0,4}}?\W*\b(?:must|should|shall|need to|ha(?:ve|s) to|(?:are|is) to|ought to)\s+(?:\w+\s+){{0,2}}{_DEED}\b",
        r"\b(?:when|if|after|before|while)\s+(?:you|the (?:agent|assistant|model|reader))\s+(?:read|see|process|summari[sz]e|parse|ingest|encounter)",
        rf"\bto (?:all|any|every|the) (?:\w+ )?{_READER}\s*:",
        rf"\bplease\s+(?:\w+\s+)?{_DEED}\b",
    )
)


def _orders(text: str) -> Iterator[str]:
    return (text[m.start : m.end] for m in marks_of(text) if m.kind == "order")


def instruction(case: ClaimCase) -> str:
    """A sentence aimed at whoever reads the source is no knowledge, and neither is its paraphrase."""
    if re.search(r"\byou(?:rs?)?\b", case.claim, re.IGNORECASE):
        return "a claim speaks to nobody: say what holds, not what “you” should do"
    if any(_orders(case.block)) and re.search(
        rf"\b{_READER}\b.*?\b(?:must|should|shall|always|never)\b",
        case.sentence,
        re.IGNORECASE | re.DOTALL,
    ):
        return "its paragraph gives orders to whoever reads: an instruction is no claim"
    for text in (case.sentence, case.quote, case.claim):
        flat = " ".join(text.split())
        order = next(_orders(flat), "")
        aimed = next((found[0] for p in _AIMED if (found := p.search(flat))), "")
        if order or aimed:
            shown = (order or aimed).strip()[:60]
            return f"“{shown}” addresses the reader: an instruction is no claim"
    return ""


def support(case: ClaimCase) -> str:
    """A claim is about what its quote is about: more of its telling words stand there or above it than in the source at all."""
    have = {stem(w) for w in words_of(f"{case.before} {case.sentence} {case.about} {case.quote}")}
    wanted = [
        w for w in dict.fromkeys(words_of(case.claim)) if len(w) > 3 or any(c.isdigit() for c in w)
    ]
    supported = [w for w in wanted if stem(w) in have or any(c.isdigit() for c in w)]
    foreign = [w for w in wanted if w not in supported and stem(w) not in case.known]
    if wanted and (not supported or len(foreign) > len(supported)):
        return f"the quote does not speak of {', '.join(foreign[:4]) or 'what the claim says'}"
    return ""


Check = Callable[[ClaimCase], str]
CHECKS: tuple[Check, ...] = (
    instruction,
    numbers,
    names,
    subjects,
    counted,
    reference,
    negation,
    condition,
    certainty,
    direction,
    sides,
    support,
)
