"""What a claim must hold to enter: its quote stands in the source, and says what the claim says.

Each check is one function from a `Case` to a reason, or nothing; `CHECKS` is their order. Refuses to weigh: one reason is enough, and
what rules cannot tell is left to a second reader. Nothing here reads the wiki; where claims go to is checked where pages are known.
"""

import math
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from kb.ingest.names import Name, names_in
from kb.ingest.quotes import Captured, Span
from kb.text import Number, numbers_in, stem, unit_of, words_of

# A quote of fewer words fits anywhere, one of more is a copy of its source and no evidence for one sentence.
SHORTEST_QUOTE, LONGEST_QUOTE = 2, 60
LONGEST_CLAIM = 60


@dataclass(frozen=True, slots=True)
class Case:
    """A claim with its quote, the text that the quote was found in, and what stands around it there.

    `sentence` is the sentence of the source that holds the quote, `heading` the heading above it, `columns` the cells of a quoted table row
    with the headers above them, `known` the stems of words that the source writes in small letters.
    """

    claim: str
    quote: str
    sentence: str
    heading: str
    columns: tuple[tuple[str, str], ...]
    known: frozenset[str]

    @property
    def about(self) -> str:
        """What the quote is about though it does not say so: the heading above it, and the headers of its columns."""
        return " · ".join([self.heading, *(header for _, header in self.columns)])


@dataclass(frozen=True, slots=True)
class Passage:
    """A stretch of captured text that claims may quote: the id of its source or page, and the character of that at which it begins."""

    origin: str
    captured: Captured
    start: int = 0


@dataclass(frozen=True, slots=True)
class Ruling:
    """Whether a claim stands: where its quote stands in which text, or the reason why not."""

    origin: str = ""
    span: Span | None = None
    reason: str = ""


def ruling_on(claim: str, quote: str, *, origin: str, passages: Iterable[Passage]) -> Ruling:
    """Ruling on one claim. `origin` names the text it cites; empty means the only one there is."""
    passages = tuple(passages)
    origins = dict.fromkeys(p.origin for p in passages)
    cited = [p for p in passages if p.origin == origin or not origin and len(origins) == 1]
    if not cited:
        named = ", ".join(origins)
        return Ruling(
            reason=f"cites '{origin}', which is not in the packet; it holds {named}"
            if origin
            else f"say which source: {named}"
        )
    if reason := _form(claim, quote):
        return Ruling(reason=reason)
    found = next(((p, span) for p in cited if (span := p.captured.find(quote))), None)
    if found is None:
        return Ruling(reason=_not_there(quote, cited[0], passages))
    passage, span = found
    case = case_of(claim, passage, span)
    reason = next((reason for check in CHECKS if (reason := check(case))), "")
    return (
        Ruling(reason=reason)
        if reason
        else Ruling(passage.origin, Span(passage.start + span.start, passage.start + span.end))
    )


def case_of(claim: str, passage: Passage, span: Span) -> Case:
    """The claim beside what the passage says at `span` and around it."""
    captured = passage.captured
    around = captured.sentence_around(span)
    return Case(
        " ".join(claim.split()),
        captured.text[span.start : span.end],
        captured.text[around.start : around.end],
        captured.heading_above(span),
        captured.columns_of(span),
        _vocabulary(captured.text),
    )


@lru_cache(16)
def _vocabulary(text: str) -> frozenset[str]:
    return frozenset(
        stem(word) for word in re.findall(r"\b[^\W\d_A-Z][^\W\d_]*", text) if word.islower()
    )


_MARKUP = re.compile(
    r"<[/!a-zA-Z]|^\s*(?:#|>|```|~~~)|kb:auto|kb:allow|\]\(\s*(?:javascript|data|file):",
    re.IGNORECASE,
)


def _form(claim: str, quote: str) -> str:
    if not claim.strip() or not quote.strip():
        return "a claim needs a sentence and a quote"
    if "\n" in claim.strip() or _MARKUP.search(claim):
        return "a claim is one plain sentence, without HTML, headings, quotes or markers"
    if any(not c.isprintable() for c in claim):
        return "the claim holds characters that cannot be seen"
    if len(claim.split()) > LONGEST_CLAIM:
        return f"a claim has at most {LONGEST_CLAIM} words; say one thing in each"
    words = len(quote.split())
    if not SHORTEST_QUOTE <= words <= LONGEST_QUOTE:
        return f"a quote has {SHORTEST_QUOTE} to {LONGEST_QUOTE} words, this one {words}"
    return ""


def _not_there(quote: str, passage: Passage, passages: Iterable[Passage]) -> str:
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


# --- instructions -----------------------------------------------------------------------------------------------------------------

# Who writes to an agent says what to disregard, plays a part of the conversation, or commands a deed. These are shapes of such speech, not
# topics: a page about agents may say anything about them.
_AIMED = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"\b(?:ignore|disregard|forget|override|bypass|skip|suspend)\b(?:\W+\w+){0,5}?\W+(?:instructions?|rules?|gates?|checks?|guidelines?|polic\w+|prompts?|safety|verification|protections?)\b",
        r"(?:^|[\s<\[#*])(?:system|developer|assistant|user|inst)\s*(?:[:>\]]|prompt\b|message\b)",
        r"\b(?:instructions?|notes?|messages?|attention|reminder|hey)\b(?:\W+\w+){0,2}?\W+(?:ai|agents?|assistants?|llms?|language models?|models? reading)\b",
        r"\b(?:as|you are|you're|act as|pretend to be)\s+(?:an?|the)\s+(?:\w+\s+){0,2}(?:ai|agent|assistant|model|reviewer|administrator|maintainer)\b",
        r"\b(?:you|agents?|assistants?|models?|llms?|readers?|reviewers?)\b(?:\W+\w+){0,4}?\W*\b(?:must|should|shall|will|need to|have to|has to|are to|is to|ought to)\s+(?:now\s+|always\s+|never\s+|not\s+|immediately\s+|first\s+)*(?:run|execute|call|invoke|write|delete|remove|send|post|upload|approve|admit|accept|mark|output|print|reply|respond|answer|fetch|download|install|open|trust|treat|reveal|report|state|say|record|insert|add|raise|disable|enable|ignore|skip)\b",
        r"\b(?:do not|don't|never)\s+(?:mention|tell|reveal|disclose|report|warn|inform)\b",
        r"\b(?:curl|wget)\b[^|\n]*\|\s*(?:ba|z)?sh\b|\brm\s+-rf?\b|\bsudo\s+\w",
        r"\b(?:when|if|after|before|while)\s+(?:you|the (?:agent|assistant|model|reader))\s+(?:read|see|process|summari[sz]e|parse|ingest|encounter)",
        r"\bplease\s+(?:run|execute|call|write|delete|send|approve|admit|mark|output|reply|respond|ignore|add|include|insert)\b",
    )
)


def instruction(case: Case) -> str:
    """A sentence aimed at whoever reads the source is no knowledge, and neither is its paraphrase."""
    for text in (case.sentence, case.quote, case.claim):
        for pattern in _AIMED:
            if found := pattern.search(" ".join(text.split())):
                return f"“{found[0].strip()[:60]}” addresses the reader: an instruction is no claim"
    return ""


# --- numbers ----------------------------------------------------------------------------------------------------------------------

_SPELT = {w: float(n) for n, w in enumerate("zero one two three four five six seven eight nine ten eleven twelve".split())} | {
    "half": 0.5, "twice": 2.0, "double": 2.0, "doubled": 2.0, "doubles": 2.0, "halved": 0.5, "halves": 0.5, "triple": 3.0, "dozen": 12.0, "once": 1.0,
}  # fmt: skip


def numbers(case: Case) -> str:
    """Every number of the claim stands in its quote, with its unit and its bound."""
    stated = _numbers(case.quote)
    spelt = {_SPELT[w] for w in words_of(case.quote) if w in _SPELT}
    for number in _numbers(case.claim):
        written = case.claim[number.start : number.end].strip()
        same = [n for n in stated if _same_value(number, n)]
        if not same and not (number.value in spelt and not number.unit):
            return f"the number {written} does not stand in the quote"
        if same and not any(_same_unit(number, n, case) for n in same):
            units = " or ".join(sorted({n.unit or "no unit" for n in same}))
            return f"{written}: the quote gives this number with {units}"
        if same and (reason := _bound(case, number, same[0])):
            return reason
    for word in words_of(case.claim):
        value = _SPELT.get(word)
        if (
            value is not None
            and word not in ("one", "once", "half")
            and value not in spelt
            and all(n.value != value for n in stated)
        ):
            return f"“{word}” does not stand in the quote"
    return ""


def _numbers(text: str) -> list[Number]:
    """Numbers of a text; one without a unit shares that of the next behind "and", "to", "or" or a comma (`from 67 to 65 t/s`)."""
    found = list(numbers_in(text))
    for at in range(len(found) - 2, -1, -1):
        this, following = found[at], found[at + 1]
        if (
            not this.unit
            and following.unit
            and re.fullmatch(r"\s*(?:and|to|or|,|→|->)\s*", text[this.end : following.start])
        ):
            found[at] = this._replace(unit=following.unit)
    return found


def _values(number: Number) -> Iterator[float]:
    yield number.value
    if number.high is not None:
        yield number.high


def _same_value(claimed: Number, stated: Number) -> bool:
    """Whether two numbers are one, as written or in another unit of the same kind; a sign may be told in words, and left out."""
    factor = _factor(claimed, stated)
    if claimed.signed and stated.signed and claimed.value * stated.value < 0:
        return False
    if claimed.spread is not None and (
        stated.spread is None or not _close(claimed.spread * factor, stated.spread)
    ):
        return False
    have = [abs(v) for v in _values(stated)]
    return all(any(_close(abs(v) * factor, h) for h in have) for v in _values(claimed))


def _close(a: float, b: float) -> bool:
    return math.isclose(a, b, rel_tol=1e-9)


def _factor(claimed: Number, stated: Number) -> float:
    mine, theirs = unit_of(claimed.unit), unit_of(stated.unit)
    return (
        mine.factor / theirs.factor
        if mine and theirs and mine.dimension == theirs.dimension
        else 1.0
    )


def _same_unit(claimed: Number, stated: Number, case: Case) -> bool:
    if not claimed.unit:
        # A number may leave a unit to its words; a rate or share that turns into a count is another statement.
        return (
            not stated.unit or stated.unit in words_of(case.claim) or unit_of(stated.unit) is None
        )
    mine, theirs = unit_of(claimed.unit), unit_of(stated.unit)
    if mine and theirs:
        return mine.dimension == theirs.dimension
    if claimed.unit == stated.unit:
        return True
    # A unit that only one side writes beside its number must stand in the quote as a word ("Latency (ms): 12").
    spelt = [unit_of(w) for w in re.findall(r"[A-Za-zµμ%×]+(?:/[A-Za-z]+)*", case.quote)]
    return not stated.unit and mine is not None and any(u and u.name == mine.name for u in spelt)


_UPPER = re.compile(
    r"\b(?:up to|at most|no more than|less than|fewer than|under|below|maximum|within|not more than|as much as)\s*$",
    re.IGNORECASE,
)
_LOWER = re.compile(
    r"\b(?:at least|more than|no less than|over|above|exceeds?|minimum|beyond)\s*$", re.IGNORECASE
)
_BETWEEN = 24


def _bound(case: Case, claimed: Number, stated: Number) -> str:
    mine, theirs = _bound_of(case.claim, claimed), _bound_of(case.quote, stated)
    if mine == theirs:
        return ""
    shown = {"": "as exact", "<": "as an upper bound", ">": "as a lower bound"}
    return f"the quote gives {case.quote[stated.start : stated.end].strip()} {shown[theirs]}, the claim {shown[mine]}"


def _bound_of(text: str, number: Number) -> str:
    before = text[max(0, number.start - _BETWEEN) : number.start]
    if number.bound:
        return number.bound[0]
    return "<" if _UPPER.search(before) else ">" if _LOWER.search(before) else ""


# --- names ------------------------------------------------------------------------------------------------------------------------


def names(case: Case) -> str:
    """Names and symbols of the claim stand in the quote, or in the heading that the quote stands under."""
    have = {n.key for n in names_in(case.quote)} | {n.key for n in names_in(case.about)}
    plain = f"{case.quote} {case.about}".casefold()
    for name in names_in(case.claim, known=case.known):
        if name.key not in have and name.text.casefold() not in plain:
            return f"“{name.text}” does not stand in the quote"
    return ""


def subjects(case: Case) -> str:
    """A number keeps the name that it belongs to: of several names in a quote the one of its own clause, in a table that of its column."""
    keys = {n.key for n in names_in(case.quote, known=case.known)} | {
        n.key for n in names_in(case.about)
    }
    stated = _owners(case.quote, case.known)
    columns = {
        abs(n.value): {m.key for m in names_in(header)}
        for cell, header in case.columns
        for n in numbers_in(cell)
    }
    headers = {n.key for _, header in case.columns for n in names_in(header)}
    for value, owners in _owners(case.claim, case.known).items():
        mine, theirs = owners & keys, stated.get(value, set())
        if value in columns:
            # The label of a row names its cells too; which of them it is, the header says.
            mine, theirs = owners & headers, columns[value]
        if mine and theirs and not mine & theirs:
            return f"in the quote {value:g} belongs to {', '.join(sorted(theirs))}, not to {', '.join(sorted(mine))}"
    return ""


_CLAUSE = re.compile(
    r"[;:]\s|,\s|\s[-–—]\s|\b(?:while|whereas|but|and|versus|vs\.?|against|compared|than|over)\b|[.!?]\s|\||\n"
)


def _clauses(text: str) -> Iterator[str]:
    """Clauses of a text; what stands in brackets belongs to the clause before them."""
    start = 0
    for mark in _CLAUSE.finditer(text):
        if text.count("(", start, mark.start()) <= text.count(")", start, mark.start()):
            yield text[start : mark.start()]
            start = mark.end()
    yield text[start:]


def _owners(text: str, known: frozenset[str]) -> dict[float, set[str]]:
    """For each number of a text the names of its clause; where that has none, those of the clause before."""
    owners: dict[float, set[str]] = {}
    last: set[str] = set()
    for clause in _clauses(text):
        present = {n.key for n in names_in(clause, known=known) if not n.counted}
        last = present or last
        for number in numbers_in(clause):
            if last:
                owners.setdefault(abs(number.value), set()).update(last)
    return owners


# --- polarity ---------------------------------------------------------------------------------------------------------------------

_NEGATIONS = frozenset("not no never neither nor none cannot cant without hardly rarely nothing nobody unless except barely scarcely fail fails failed "
                       "failing lack lacks lacking absent unable impossible".split())  # fmt: skip
_CONDITIONS = re.compile(
    r"\b(?:unless|except|only (?:if|when|for|on|with|in|at|after)|if|provided|as long as|otherwise|but not|assuming)\b",
    re.IGNORECASE,
)
_CONDITIONAL = re.compile(
    r"\b(?:unless|except|only|if|when|where|provided|without|otherwise|but|for|on|under|assuming|while|with|at)\b",
    re.IGNORECASE,
)
_OPEN = re.compile(
    r"\b(?:may|might|could|would|should|expect\w*|predict\w*|hypothe\w*|hope\w*|plan(?:s|ned)?|estimat\w*|suspect\w*|believ\w*|likely|probably|perhaps|possibl[ey]|presumably|potential(?:ly)?|"
    r"claim(?:s|ed)?|suggest\w*|aim(?:s|ed)?|untested|projected|theoretical(?:ly)?|in theory|seem(?:s|ed)?|appear(?:s|ed)?)\b",
    re.IGNORECASE,
)
# Words of which a claim may not turn one into the other: each of the left against each of the right.
_OPPOSITES = tuple(
    (frozenset(map(stem, a.split())), frozenset(map(stem, b.split())))
    for a, b in (
        ("faster quicker speedup accelerates", "slower slowed slows slowdown"),
        (
            "increased rose grew raised gained climbed improved won",
            "decreased fell dropped shrank lowered reduced cut declined lost worsened regressed slowed",
        ),
        (
            "increase rise grow raise gain climb improve win",
            "decrease fall drop shrink lower reduce decline lose loss worsen regress",
        ),
        ("rises grows gains", "falls drops shrinks loses"),
        ("higher larger bigger greater more", "lower fewer smaller less"),
        ("better", "worse"),
        ("enabling enables enabled", "disabling disables disabled"),
        ("adding adds added", "removing removes removed dropping"),
        ("supported confirmed accepted kept", "refuted rejected reverted discarded"),
        ("before", "after"),
        ("best highest fastest largest maximum", "worst lowest slowest smallest minimum"),
        ("above", "below"),
        ("always", "never sometimes"),
        ("all every", "some few none"),
        ("serial sequential", "parallel concurrent"),
    )
)


def negation(case: Case) -> str:
    """A claim denies what its quote denies, and nothing else: no negation dropped, and none put in."""
    mine, theirs = _negations(case.claim), _negations(_meant(case))
    if theirs and not mine:
        return f"the quote denies (“{theirs[0]}”) what the claim asserts"
    if mine and not theirs and not _negations(case.quote):
        return f"the claim denies (“{mine[0]}”) what the quote asserts"
    return ""


def _negations(text: str) -> list[str]:
    flat = re.sub(r"n['’]t\b", " not", text.lower())
    # "Not only", "no later than" and "nothing but" assert.
    flat = re.sub(
        r"\bnot only\b|\bno (?:more|less|later|fewer|longer) than\b|\bnothing but\b|\bwhether or not\b",
        " ",
        flat,
    )
    return [w for w in re.findall(r"[a-z]+", flat) if w in _NEGATIONS]


_PART = re.compile(r"(?<=[.!?;:])\s+|\n\s*\n|,\s+(?=(?:but|while|whereas|yet|and|so)\b)|\s[–—]\s")


def _meant(case: Case) -> str:
    """Those parts of the sentence around the quote that the claim speaks of: that share most words and numbers with it."""
    wanted = _telling(case.claim)
    parts = [part for part in _PART.split(case.sentence) if part.strip()]
    shared = [len(wanted & _telling(part)) for part in parts]
    most = max(shared, default=0)
    return (
        " ".join(part for n, part in zip(shared, parts, strict=True) if n == most)
        if most
        else case.quote
    )


def _telling(text: str) -> set[str]:
    return {stem(w) for w in words_of(text) if len(w) > 2 or w.isdigit()}


def condition(case: Case) -> str:
    """What holds on a condition only is claimed with a condition."""
    found = _CONDITIONS.search(case.sentence)
    if found and not _CONDITIONAL.search(case.claim):
        return f"the source makes it depend (“{found[0]}”), the claim does not"
    return ""


def certainty(case: Case) -> str:
    """What the source expects, suspects or hopes is not claimed as a fact."""
    found = _OPEN.search(_meant(case))
    if found and not _OPEN.search(case.claim) and not re.search(r"\bup to\b", case.claim):
        return f"the source says it as open (“{found[0]}”), the claim as a fact"
    return ""


def direction(case: Case) -> str:
    """No word of the claim is the opposite of what the quote says of the same thing; a move between two values goes the same way."""
    pairs = [(case.claim, _meant(case))]
    theirs = [
        (clause, {abs(n.value) for n in numbers_in(clause)}) for clause in _clauses(case.quote)
    ]
    for clause in _clauses(case.claim):
        values = {abs(n.value) for n in numbers_in(clause)}
        pairs += [(clause, other) for other, stated in theirs if values & stated]
    return next(
        (reason for mine, other in pairs if (reason := _turned(mine, other))), ""
    ) or _order(case)


def _turned(claim: str, quote: str) -> str:
    mine, theirs = ({stem(w) for w in words_of(text)} for text in (claim, quote))
    for left, right in _OPPOSITES:
        for this, other in ((left, right), (right, left)):
            if mine & this and theirs & other and not theirs & this and not mine & other:
                return f"the claim says “{min(mine & this)}” where the quote says “{min(theirs & other)}”"
    return ""


def _order(case: Case) -> str:
    mine = _moves(case.claim)
    theirs = _moves(case.quote)
    for start, end in mine:
        if (end, start) in theirs and (start, end) not in theirs:
            return f"the quote moves from {end:g} to {start:g}, the claim from {start:g} to {end:g}"
    return ""


def _moves(text: str) -> set[tuple[float, float]]:
    found = list(numbers_in(text))
    pairs = zip(found, found[1:], strict=False)
    return {
        (a.value, b.value)
        for a, b in pairs
        if re.fullmatch(
            r"[^.;,]{0,20}?(?:\bto\b|→|->|⇒)[^.;,]{0,20}?",
            text[a.end : b.start].strip(),
            re.IGNORECASE,
        )
    }


def support(case: Case) -> str:
    """A claim is about what its quote is about: more of its telling words stand there or above it than in the source at all."""
    have = {stem(w) for w in words_of(f"{case.sentence} {case.about} {case.quote}")}
    wanted = [
        w for w in dict.fromkeys(words_of(case.claim)) if len(w) > 3 or any(c.isdigit() for c in w)
    ]
    supported = [w for w in wanted if stem(w) in have or any(c.isdigit() for c in w)]
    foreign = [w for w in wanted if w not in supported and stem(w) not in case.known]
    if wanted and (not supported or len(foreign) > len(supported)):
        return f"the quote does not speak of {', '.join(foreign[:4]) or 'what the claim says'}"
    return ""


Check = Callable[[Case], str]
CHECKS: tuple[Check, ...] = (
    instruction,
    numbers,
    names,
    subjects,
    negation,
    condition,
    certainty,
    direction,
    support,
)
