"""The sense of a claim: what its quote denies, doubts, expects or ties to a condition, and which way a change goes.

Words are all there is to go by here; each list is closed and says what kind of word it holds.
"""

import re

from kb.claims.case import Case
from kb.claims.figures import clauses_of
from kb.text import numbers_in, stem, words_of

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
# Finer: a word such as "might" speaks of the clause between two commas.
_CLAUSES = re.compile(_PART.pattern + r"|,\s+")


_BRACKETS = re.compile(r"\([^()]*\)")


def _meant(case: Case, between: re.Pattern[str] = _PART) -> str:
    """Those parts of the sentence around the quote that the claim speaks of: that share most words and numbers with it."""
    wanted = _telling(case.claim)
    aside = [m[0] for m in _BRACKETS.finditer(case.sentence) if len(wanted & _telling(m[0])) < 2]
    sentence = case.sentence
    for text in aside:
        sentence = sentence.replace(text, " ")
    parts = [part for part in between.split(sentence) if part.strip()]
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
    found = _OPEN.search(_meant(case, _CLAUSES))
    if found and not _OPEN.search(case.claim) and not re.search(r"\bup to\b", case.claim):
        return f"the source says it as open (“{found[0]}”), the claim as a fact"
    return ""


def direction(case: Case) -> str:
    """No word of the claim is the opposite of what the quote says of the same thing; a move between two values goes the same way."""
    pairs = [(case.claim, _meant(case))]
    theirs = [
        (clause, {abs(n.value) for n in numbers_in(clause)}) for clause in clauses_of(case.quote)
    ]
    for clause in clauses_of(case.claim):
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
