"""The sense of a claim: what its quote denies, doubts, expects or ties to a condition, and which way a change goes.

Words are all there is to go by here; each list is closed and says what kind of word it holds.
"""

import re

from kb.claims.captured import REFERS
from kb.claims.case import CLAUSES, ClaimCase, meant, telling
from kb.claims.owners import clauses_of
from kb.text import STOP, numbers_in, stem, words_of

_NEGATIONS = frozenset("not no never neither nor none cannot cant without hardly rarely nothing nobody unless except barely scarcely fail fails failed "
                       "failing lack lacks lacking absent unable impossible".split())  # fmt: skip
_CONDITIONS = re.compile(
    r"\b(?:unless|except|only (?:if|when|for|on|with|in|at|after)|if|provided|as long as|otherwise|but not|assuming)\b",
    re.IGNORECASE,
)
_CONDITIONAL = re.compile(
    r"\b(?:unless|except|only|if|when|where|provided|as long as|once|without|otherwise|but|for|on|under|assuming|while|with|at)\b",
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
        ("before earlier older", "after later newer"),
        ("best highest fastest largest maximum", "worst lowest slowest smallest minimum"),
        ("above", "below"),
        ("always", "never sometimes"),
        ("all every", "some few none"),
        ("serial sequential", "parallel concurrent"),
    )
)


def negation(case: ClaimCase) -> str:
    """A claim denies what its quote denies, and nothing else: no negation dropped, and none put in."""
    mine, theirs = _negations(case.claim), _negations(meant(case))
    if theirs and not mine:
        return f"the quote denies (“{theirs[0]}”) what the claim asserts"
    if mine and not theirs and not _negations(case.quote):
        return f"the claim denies (“{mine[0]}”) what the quote asserts"
    return ""


def _negations(text: str) -> list[str]:
    flat = re.sub(r"n['’]t\b", " not", text.lower())
    # "Not only", "no later than" and "nothing but" assert.
    flat = re.sub(
        r"\bnot only\b|\bno (?:more|less|later|fewer|longer) than\b|\bnothing but\b|\bwhether or not\b|\bthan without\b",
        " ",
        flat,
    )
    return [w for w in re.findall(r"[a-z]+", flat) if w in _NEGATIONS]


def condition(case: ClaimCase) -> str:
    """What holds on a condition only is claimed with that condition: with a word of its kind, or with its own words."""
    found = _CONDITIONS.search(case.sentence)
    if found and not _CONDITIONAL.search(case.claim):
        return f"the source makes it depend (“{found[0]}”), the claim does not"
    if (
        REFERS.match(case.after)
        and _CONDITIONS.search(case.after)
        and not telling(case.after) & telling(case.claim)
    ):
        return f"the source makes it depend (“{case.after[:60]}”), the claim does not"
    for tie in _TIES.finditer(meant(case)):
        words = telling(tie["what"] or tie["when"])
        if words and not words & telling(case.claim):
            return f"the source ties it to “{' '.join(tie[0].split())[:60]}”, the claim does not"
    return ""


# What a sentence holds for: its opening "With …", "Without …" up to the next thing named, and everything behind a "when".
_TIES = re.compile(
    r"^(?:\W*\*\*[^*]+\*\*)?\W*(?:with|without|under)\s+(?![^,]*\b(?:this|these|those|such)\b)(?:(?:an?|the|our)\s)?(?P<what>.+?)(?=\s(?:an?|the|our|it|we|its|they)\s|,|$)"
    r"|\b(?:when|whenever|as soon as|as long as)\s(?P<when>[^,;]+)",
    re.IGNORECASE | re.DOTALL,
)


def certainty(case: ClaimCase) -> str:
    """What the source expects, suspects or hopes is not claimed as a fact."""
    if case.sentence.rstrip(' \n*_"”)').endswith("?"):
        return "the source asks, the claim asserts"
    # A quote of one clause is meant, whatever else of its sentence the claim takes up.
    whole = "" if CLAUSES.search(case.quote) else case.quote
    found = _OPEN.search(f"{meant(case, CLAUSES)} {whole}")
    if found and not _OPEN.search(case.claim) and not re.search(r"\bup to\b", case.claim):
        return f"the source says it as open (“{found[0]}”), the claim as a fact"
    return ""


_SIDES = re.compile(r";\s|,?\s\b(?:while|whereas|instead of)\b")
_YARDSTICK = re.compile(r"\b(?:than|compared (?:with|to))\s([^,;.]*)", re.IGNORECASE)


def sides(case: ClaimCase) -> str:
    """Of two things that a quote sets against each other, each keeps what is told of it."""
    parts = [_content(part) for part in _SIDES.split(case.quote)]
    for left, right in zip(parts, parts[1:], strict=False):
        if not left & right or 3 * len(left) > 4 * len(right):
            continue
        for clause in _SIDES.split(case.claim):
            for said in map(_content, clauses_of(clause)):
                if (here := said & (left - right)) and (there := said & (right - left)):
                    return f"the quote sets “{min(here)}” against “{min(there)}”, the claim puts them together"
    mine, theirs = _compared(case.claim), _compared(case.quote)
    if mine[0] & (theirs[1] - theirs[0]) and mine[1] & (theirs[0] - theirs[1]):
        return "the claim turns round what the quote compares"
    return ""


def _compared(text: str) -> tuple[set[str], set[str]]:
    """What a sentence compares, and with what."""
    with_what = " ".join(_YARDSTICK.findall(text))
    return _content(_YARDSTICK.sub(" ", text)) if with_what else set(), _content(with_what)


def _content(text: str) -> set[str]:
    return {stem(w) for w in words_of(text) if w not in STOP}


def direction(case: ClaimCase) -> str:
    """No word of the claim is the opposite of what the quote says of the same thing; a move between two values goes the same way."""
    pairs = [(case.claim, f"{meant(case)} {case.quote}")]
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
    for word in set(words_of(claim)) - set(words_of(quote)):
        for other in set(words_of(quote)) - set(words_of(claim)):
            if _prefixed(word, other) or _prefixed(other, word):
                return f"the claim says “{word}” where the quote says “{other}”"
    for left, right in _OPPOSITES:
        for this, other in ((left, right), (right, left)):
            if mine & this and theirs & other and not theirs & this and not mine & other:
                return f"the claim says “{min(mine & this)}” where the quote says “{min(theirs & other)}”"
    return ""


def _prefixed(word: str, other: str) -> bool:
    """Whether one word is the other turned by its prefix: unstable and stable, overestimate and underestimate."""
    tail = other.removeprefix("under")
    return (
        tail != other
        and word == f"over{tail}"
        or len(other) > 4
        and word in {f"{p}{other}" for p in ("un", "in", "im", "ir", "dis", "non")}
    )


def _order(case: ClaimCase) -> str:
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
