"""Where claim and quote word a thing differently, so that only a reader can tell whether they say the same: doubts, not refusals.

Which of two it is said of, who says it, how sure, how much of it, which way, and whether it is about that at all.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import pairwise

from kb.claims.case import (
    BRACKETED,
    ClaimCase,
    all_words,
    clauses_of,
    telling,
    weight_of,
)
from kb.claims.cues import CUES, OPPOSITES, bare, contrary, has
from kb.claims.figures import IDLE, numbers_of, stated_value, values_of
from kb.claims.names import forms_of
from kb.claims.sense import denials_of, depends, roots_of
from kb.text import SPELT, STOP, Number, numbers_in, numbers_in_words, stem, unit_of, words_of


@dataclass(frozen=True, slots=True)
class Turn:
    """Words of one `kind` that claim and source must both have: those of the source are not `lost`, or those of the claim are not added.
    Words of the kinds `kept` do as well.
    """

    kind: str
    reason: str
    lost: bool = True
    kept: tuple[str, ...] = ()


_OPEN = "the source says it as open (“{}”), the claim as a fact"
TURNS = (
    Turn("doubt", _OPEN, kept=("plan", "allowed")),
    Turn("plan", _OPEN, kept=("doubt", "future")),
    Turn("part", "the source says it of “{}”, the claim of all"),
    Turn("share", "the source says it of “{}”, the claim of all", kept=("part",)),
    Turn("others", "the source tells that of others or of an earlier text (“{}”)", kept=("past",)),
    Turn("whole", "the claim says “{}”, the quote does not", lost=False, kept=("part",)),
    Turn(
        "best",
        "the claim says “{}”, the quote compares with no others",
        lost=False,
        kept=("ranked",),
    ),
    Turn("cause", "the claim gives a cause (“{}”), the quote none", lost=False, kept=("so",)),
)


def turned(case: ClaimCase) -> str:
    """What the source asks, expects, plans, or says of some is not claimed as a fact, or of all; no cause and no yardstick is put in."""
    if case.sentence.rstrip(' \n*_"”)').endswith("?"):
        return "the source asks, the claim asserts"
    shown = f"{case.sentence} {case.quote} {case.about}"
    for turn in TURNS:
        if case.table and turn.lost:
            continue
        text, other = (case.message, case.claim) if turn.lost else (case.claim, shown)
        match = CUES[turn.kind].search(text)
        if match and not has(other, turn.kind, *turn.kept):
            return turn.reason.format(match[0])
    return ""


# How far it holds: a bound with its number behind what a preposition names (“on tables above 2 TiB”), behind what is done (“used
# below”, “works well up to”), or at the head of the sentence.
_LIMIT = re.compile(
    r"(?:^\W*|\b(?:for|on|in|with|at|from|of) (?:\w+ ){1,3}|(?<=\w\w)(?<!drop)(?<!lower)(?<!rais)(?<!reduc)(?<!limit)(?<!reach)(?<!exceed)(?:ed|ly) |(?:%|\b(?:off|out|well|only|percent)) |(?=up to an? (?:\w+ ){1,3}of ))"
    r"(?:up to|above|below|beyond|over|under|between|prior to|before|(?:more|fewer|less|larger|longer|smaller|older|newer|higher|lower) than) (?P<what>[^,;.:\d]{0,30}\d[\d.,]*)",
    re.IGNORECASE | re.MULTILINE,
)
# What it is quoted for: "with …", "on …", and what else opens a clause.
_PHRASE = re.compile(
    r"(?:\b(?:with|without|on)|^\W*(?:in|at|during|after|before|from))\s(?P<what>(?!(?:it|they|none|which|that|the order)\b|[^,.;]*\b(?:this|these|those|such)\b)[^,.;:()\d]+?)(?=\s(?:and|or|is|are|was|were|to|of|by|in|on|at|for|with|it|we|the|an?)\b|[,.;:()]|$)",
    re.IGNORECASE,
)


def tie(case: ClaimCase) -> str:
    """What the clause of the quote says it for ("with", "on", "above 1 MB") has a word in the claim."""
    wanted = roots_of(all_words(case.spelt_out(case.claim)))
    clauses = [(len(roots_of(all_words(c)) & wanted), c) for c in clauses_of(case.quote)]
    most = max(clauses)[0]
    # Where two clauses fit as well, the claim may be either's.
    best = [clause for shared, clause in clauses if shared == most > 0]
    parts = [p for part in case.parts for p in part.split(" and ")]
    inside = [p for p in parts if p.strip() in case.quote or case.quote in p]
    nearest = inside or [p for p in parts if roots_of(telling(p)) & wanted]
    ties = [*_LIMIT.finditer(" · ".join(nearest))]
    ties += _PHRASE.finditer(BRACKETED.sub(" ", best[0])) if len(best) == 1 else ()
    lost = (t[0] for t in ties if (own := all_words(t["what"])) and not roots_of(own) & wanted)
    return next(map(depends, lost), "")


# A number behind a capital is a part of a name: ISO 220.
_NAMED = re.compile(r"\b[A-Z]\w*[\s-]$")


def place(case: ClaimCase) -> str:
    """A number of the claim stands where the claim's words point to: no other row, column or clause of the source fits them better."""
    whole = all_words(case.spelt_out(_in_digits(case.claim)))
    claimed = {stated_value(n, case) for n in numbers_of(case.claim)}
    for clause in clauses_of(case.claim):
        for number in numbers_of(clause):
            value = stated_value(number, case)
            # "The old one" counts nothing, "one pass" does.
            idle = clause[number.start : number.end].lower() in IDLE
            if idle or _NAMED.search(clause[: number.start]):
                continue
            words = all_words(case.spelt_out(clause))
            about = (
                _row_reason(case, whole, words, value, claimed)
                if case.table
                else _clause_reason(case, words, value)
            )
            if about:
                return f"{number.value:g} {about}"
    return ""


def _row_reason(
    case: ClaimCase, whole: set[str], words: set[str], value: float, claimed: set[float]
) -> str:
    at = [c for c in case.table if c.quoted and value in values_of(c.text)]
    # A cell that the claim states as well has its words in the claim too.
    others = [c for c in case.table if not values_of(c.text) & claimed]
    if not at or value in values_of(at[0].label):
        return ""
    if _fit((c.label for c in others), whole) > _fit((c.label for c in at), whole):
        return f"stands in the row “{at[0].label}”"
    heads, own = [c.header for c in others if c.quoted], [c.header for c in at]
    leads = (_fit(heads, w) - _fit(own, w) for w in (words, whole))
    return f"stands in the column “{at[0].header}”" if next(filter(None, leads), 0) > 0 else ""


def _fit(texts: Iterable[str], words: set[str]) -> float:
    """How well words fit the best of some texts: those it takes up, less a share of what it leaves out."""
    own = [all_words(BRACKETED.sub("", text)) for text in texts]
    return max(
        (weight_of(w & words) - 0.3 * weight_of(w - words) for w in own if w & words), default=0
    )


def _in_digits(text: str) -> str:
    """A text with its numbers in words beside it in digits."""
    return " ".join([text, *(f"{n.value:g}" for n in numbers_in_words(text))])


# The verb that states a number, with what stands between them: it says nothing of whose the number is.
_STATING = re.compile(
    r"\b\w+\b(?=(?:\s+(?:at|to|by|of|in|from|about|up|only))*\s*[~≈<>≤≥]?\s*[-−+$]?\d)"
)


def _clause_reason(case: ClaimCase, words: set[str], value: float) -> str:
    """Whether more words of a claim stand in clauses with other numbers of that kind than in the one that states its number alone."""
    stated = [
        (all_words(_STATING.sub(" ", clause)), clause, {abs(n.value): _kind(n) for n in numbers})
        for clause in clauses_of(case.sentence if case.quote in case.sentence else case.quote)
        if (numbers := numbers_of(clause))
    ]
    here = [(w, clause, kinds) for w, clause, kinds in stated if value in kinds]
    if not here:
        return ""
    mine, clause, kind = *here[0][:2], here[0][2][value]
    own = mine - {f"{value:g}"}
    rivals = [(w, text) for w, text, k in stated if value not in k and kind in k.values()]
    # A later clause leaves out what it shares with an earlier one: what stands before the numbers tells the two apart.
    leads = set().union(*(_lead(text, kind) for _, text in rivals))
    there = leads.union(*(w for w, _ in rivals))
    alone, lead = words & there - own, _lead(clause, kind) - there
    elided = alone & leads and lead and not lead & words
    enough = weight_of(words & own - there) >= weight_of(alone)
    if not own - there - words or enough and not elided:
        return ""
    about = " ".join(clause.split())[:60]
    return f"is told of “{about}” in the quote, not of {', '.join(sorted(alone)[:3])}"


def _lead(clause: str, kind: str) -> set[str]:
    """The words before the first number of a kind in a clause, the verb that states it apart."""
    start = next((n.start for n in numbers_of(clause) if _kind(n) == kind), 0)
    words = [w for w in clause[:start].split() if w.lower() not in STOP]
    return all_words(" ".join(words[:-1] if words[1:] and words[-1].isalpha() else words))


def _kind(number: Number) -> str:
    """What a number measures."""
    unit = unit_of(number.unit)
    return unit.dimension if unit else number.unit


# What stands before and behind these is compared, or brings about the one the other; behind the group `back` they have changed places.
_RELATIONS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"\b(?:because(?: of)?|since|due to|owing to|thanks to|depends? on|stems? from|caused by)\b"
        r"|(?P<back>\b(?:therefore|hence|thus|so that|leads? to|led to|causes?|caused)\b)",
        r"(?:,|\band) (?:not|never)\b|\b(?:instead of|rather than)\b",
        r"\b(?:than|as)\b(?! (?:well|long|soon|far|much)\b)|\b(?:compared (?:with|to)|versus|vs\.?|against)\b",
    )
)
_SIGN = re.compile(
    r"\b(?:half as \w+|twice as \w+|as \w+|more|less|fewer|worse|better|(?!(?:ov|und|aft|oth|rath)er)\w{2,}er)\b(?=[^.;]{0,60}?\b(?:than|as)\s(?!\d))",
    re.IGNORECASE,
)


def sides(case: ClaimCase) -> str:
    """What is compared, or brings the other about, keeps its side; the sides change only together with the word that compares."""
    for relation in _RELATIONS:
        mine, theirs = _ends(case.claim, relation), _ends(case.quote, relation)
        if not mine or not theirs:
            continue
        one, other = theirs[0] - theirs[1], theirs[1] - theirs[0]
        straight = mine[0] & one and mine[1] & other
        swapped = mine[0] & other and mine[1] & one
        opposed = contrary(
            *(m[0] if (m := _SIGN.search(t)) else "" for t in (case.claim, case.quote))
        )
        if swapped and not opposed or straight and not swapped and opposed:
            return "the claim turns round what the quote says of the one and the other"
    kinds = [_kind(n) for n in numbers_of(case.quote)]
    sign = _SIGN.search(case.claim) if len(kinds) > len(set(kinds)) else None
    if sign and not _SIGN.search(case.sentence) and sign[0].lower() not in case.sentence.lower():
        return (
            f"the claim compares (“{sign[0]}”), of which the quote gives no more than the numbers"
        )
    return ""


def _ends(text: str, relation: re.Pattern[str]) -> tuple[set[str], ...]:
    match = relation.search(text)
    if not match:
        return ()
    behind = _GOES_OTHERWISE.split(text[match.end() :])[0]
    ends = all_words(text[: match.start()]), all_words(behind)
    return ends[::-1] if match.lastgroup else ends


# Behind these something else is said.
_GOES_OTHERWISE = re.compile(r"[;,]\s|\.\s|\b(?:yet|but|and|while|whereas)\b")
# "More than 90" bounds a number and goes no way.
_BOUNDS = re.compile(r"\b\w+ than (?:\d|(?:a|one|two|three|four|five|six|seven|eight|nine|ten)\b)")
_TO = re.compile(
    r"[^.;,]{0,20}?(?:\bto\b|→|->|⇒)[^.;,]{0,20}|\s\w*\s?before\b[^.;]{0,40}", re.IGNORECASE
)
_FROM = re.compile(
    r"[^.;]{0,12}\b(?:instead of|rather than|(?:down|up) from|after\b[^.;]{0,40})[^.;,]{0,12}",
    re.IGNORECASE,
)


def direction(case: ClaimCase) -> str:
    """No word of the claim is the opposite of what the quote says of the same thing; a move between two values goes the same way."""
    mine, theirs = _moves(case.claim), _moves(case.quote)
    for start, end in mine - theirs:
        if (end, start) in theirs:
            return f"the quote moves from {end:g} to {start:g}, the claim from {start:g} to {end:g}"
    denied, known = denials_of(case.claim), denials_of(f"{case.sentence} {case.quote}")
    added = [word for word, what in denied if what & telling(case.quote)]
    if added and not known and not has(case.message, "negative", "condition"):
        return f"the claim denies (“{added[0]}”) what the quote says"
    if bool(denied) != bool(denials_of(case.meant)):
        return ""
    pairs = [(case.claim, f"{case.message} {case.about}" if case.table else case.message)]
    for clause in clauses_of(case.claim):
        values = values_of(clause)
        pairs += [(clause, other) for other in clauses_of(case.quote) if values & values_of(other)]
    return next((reason for pair in pairs if (reason := _contrary_words(*pair))), "")


def _contrary_words(claim: str, quote: str) -> str:
    mine, theirs = (set(words_of(_BOUNDS.sub(" ", text))) for text in (claim, quote))
    mine, theirs = ({bare(w) for w in words} for words in (mine - theirs, theirs - mine))
    for left, right in (*OPPOSITES, *(pair[::-1] for pair in OPPOSITES)):
        if mine & left and theirs & right and not theirs & left and not mine & right:
            return (
                f"the claim says “{min(mine & left)}” where the quote says “{min(theirs & right)}”"
            )
    return ""


def _moves(text: str) -> set[tuple[float, float]]:
    """Moves from one number to the next."""
    numbers = list(numbers_in(text))
    moves = set()
    for a, b in zip(numbers, numbers[1:], strict=False):
        between = text[a.end : b.start]
        if _TO.fullmatch(between):
            moves.add((a.value, b.value))
        elif _FROM.fullmatch(between):
            moves.add((b.value, a.value))
    return moves


def replaced(case: ClaimCase) -> str:
    """Where claim and quote go word by word, no name, counted number or unit stands in the place of another."""
    words, mine = words_of(case.quote), words_of(case.claim)
    runs = SequenceMatcher(None, [*map(stem, words)], [*map(stem, mine)], autojunk=False)
    for (i, j, before), (k, m, behind) in pairwise(runs.get_matching_blocks()):
        if m - j - before == 1 < before + behind and 0 < k - i - before < 4:
            old, new = _meaning(words[k - 1], case.quote), _meaning(mine[m - 1], case.claim)
            if old[0] == new[0] != "" and old != new:
                return f"the claim says “{mine[m - 1]}” where the quote says “{words[k - 1]}”"
    return ""


def _meaning(word: str, text: str) -> tuple[str, object]:
    """What a word of a text counts, measures or names, behind which of these; behind nothing for any other word."""
    unit = unit_of(word)
    if word in forms_of(text) or word not in SPELT and not unit:
        return "name" * (word in forms_of(text)), word
    return (unit.dimension, unit.name) if unit else ("count", SPELT[word])


def support(case: ClaimCase) -> str:
    """A claim is about what its quote is about: most of its telling words stand there or around it."""
    have = {stem(w) for w in words_of(f"{case.context} {case.after}")}
    # Another form of a word that stands there is no other word (`compress` and `compression`).
    have |= {w[:5] for w in have if len(w) > 4}
    words = [w for w in words_of(case.claim) if len(w) > 3 and not w.isdigit() and w not in STOP]
    strange = [w for w in words if {stem(w), w[:5]}.isdisjoint(have)]
    # Numbers and names were looked at one by one.
    known = len(words) - len(strange) + len(numbers_of(case.claim)) + len(forms_of(case.claim))
    if len(strange) > known:
        return f"the quote does not speak of {', '.join(strange[:4])}: quote the words that do"
    return ""
