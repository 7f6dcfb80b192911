"""Where claim and quote word a thing differently, so that only a reader can tell whether they say the same: doubts, not refusals.

Which of two it is said of, who says it, how sure, how much of it, which way, and whether it is about that at all.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import pairwise, product

from kb.claims.case import (
    BRACKETED,
    ClaimCase,
    all_words,
    clauses_of,
    telling,
    weight_of,
)
from kb.claims.cues import CUES, OPPOSITES, bare, contrary, has, has_like
from kb.claims.figures import IDLE, numbers_of, stated_value, values_of
from kb.claims.names import forms_of
from kb.claims.sense import BETWEEN, denials_of, depends, governed, roots_of
from kb.text import SPELT, STOP, Number, stem, unit_of, words_of


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
    wanted = roots_of(telling(case.spelt_out(case.claim)))
    for turn in TURNS:
        if case.table and turn.lost:
            continue
        text, other = (case.message, case.claim) if turn.lost else (case.claim, shown)
        if has(other, turn.kind, *turn.kept):
            continue
        for match in CUES[turn.kind].finditer(text):
            # What the source says so of other things than the claim's, a share that the claim gives, and an effect in other words.
            of = roots_of(set(governed(text[match.end() :])[:2])) if turn.lost else set()
            given = (
                set() < values_of(match[0]) <= values_of(case.claim)
                if turn.lost
                else turn.kind == "cause" and has_like(match[0], shown)
            )
            if not (given or of and of.isdisjoint(wanted)):
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
    whole = all_words(case.spelt_out(case.claim))
    claimed = {stated_value(n, case) for n in numbers_of(case.claim)}
    for clause in clauses_of(case.claim):
        words = all_words(case.spelt_out(clause))
        # "The old one" counts nothing, "one pass" does.
        beside = {
            stated_value(n, case)
            for n in numbers_of(clause)
            if clause[n.start : n.end].lower() not in IDLE and not _NAMED.search(clause[: n.start])
        }
        for value in sorted(beside):
            about = (
                _row_reason(case, whole, words, value, claimed)
                if case.table
                else _clause_reason(case, words, value, beside)
            )
            if about:
                return f"{value:g} {about}"
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


# The verb that states a number, with what stands between them: it says nothing of whose the number is.
_STATING = re.compile(
    r"\b\w+\b(?=(?:\s+(?:at|to|by|of|in|from|about|up|only))*\s*[~≈<>≤≥]?\s*[-−+$]?\d)"
)


def _clause_reason(case: ClaimCase, words: set[str], value: float, beside: set[float]) -> str:
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
    rivals = [(w, text) for w, text, k in stated if not beside & k.keys() and kind in k.values()]
    around = [_beside(text, kind) for _, text in rivals]
    there = set().union(*(w for w, _ in rivals), *(lead for lead, _ in around))
    alone = words & there - own
    enough = weight_of(words & own - there) >= weight_of(alone)
    elided = _elided([w - there for w in _beside(clause, kind)], around, words, alone)
    if not own - there - words or enough and not elided:
        return ""
    return f"is told of “{' '.join(clause.split())[:60]}” in the quote, not of {', '.join(sorted(alone)[:3])}"


def _elided(
    own: list[set[str]], around: list[tuple[set[str], ...]], words: set[str], alone: set[str]
) -> bool:
    """Whether a claim takes what stands before, or behind, another's number, and nothing of that beside its own: one clause leaves out what it
    shares with the other, so that this tells the two apart.
    """
    pairs = [pair for rival in around for pair in zip(own, rival, strict=True)]
    return any(alone & theirs and mine and not mine & words for mine, theirs in pairs)


def _beside(clause: str, kind: str) -> tuple[set[str], set[str]]:
    """The words of a clause before its first number of a kind, the verb that states it apart, and behind the last."""
    numbers = [n for n in numbers_of(clause) if _kind(n) == kind]
    words = [w for w in clause[: numbers[0].start].split() if w.lower() not in STOP]
    lead = words[:-1] if words[1:] and words[-1].isalpha() else words
    return all_words(" ".join(lead)), all_words(clause[numbers[-1].end :])


def _kind(number: Number) -> str:
    """What a number measures."""
    unit = unit_of(number.unit)
    return unit.dimension if unit else number.unit


# What stands before and behind this is compared.
_THAN = re.compile(
    r"\b(?:than|as)\b(?! (?:well|long|soon|far|much)\b)|\b(?:compared (?:with|to)|versus|vs\.?|against|instead of)\b",
    re.IGNORECASE,
)
_SIGN = re.compile(
    r"\b(?:half as \w+|twice as \w+|as \w+|more|less|fewer|worse|better|(?!(?:ov|und|aft|oth|rath)er)\w{2,}er)\b(?=[^.;]{0,60}?\b(?:than|as)\s(?!\d))",
    re.IGNORECASE,
)


def sides(case: ClaimCase) -> str:
    """What is compared, or does a thing to another, keeps its side; the sides change only together with the word that compares."""
    turns = _changed_places(case)
    mine, theirs = _ends(case.claim), _ends(case.quote)
    if mine and theirs:
        one, other = theirs[0] - theirs[1], theirs[1] - theirs[0]
        straight = mine[0] & one and mine[1] & other
        # Where one side only refers (“this is faster than Spark”), the other tells.
        swapped = mine[0] & other and (mine[1] & one or not mine[0] & one and not mine[1] & other)
        opposed = contrary(
            *(m[0] if (m := _SIGN.search(t)) else "" for t in (case.claim, case.quote))
        )
        turns = turns or swapped and not opposed or straight and not swapped and opposed
    if turns:
        return "the claim turns round what the quote says of the one and the other"
    kinds = [_kind(n) for n in numbers_of(case.quote)]
    sign = _SIGN.search(case.claim) if len(kinds) > len(set(kinds)) else None
    if sign and not _SIGN.search(case.sentence) and sign[0].lower() not in case.sentence.lower():
        return (
            f"the claim compares (“{sign[0]}”), of which the quote gives no more than the numbers"
        )
    return ""


# Words that mean nothing and join what they stand between.
_JOINS = ("to", "not", "because")
# How many words on either side of a word are its own, and what stands there that tells who does a thing from whom it is done to.
_SIDE, _VOICE = 3, frozenset("is are was were be been being".split())


def _changed_places(case: ClaimCase) -> bool:
    """Whether what stands before a word and what stands behind it have changed places between claim and quote."""
    mine, theirs = ([*_sides_of(case.shortened(t))] for t in (case.claim, case.quote))
    return any(
        middle == other
        and min(map(weight_of, (a & d - c, b & c - d))) > 0
        and weight_of(a & d - c | b & c - d) >= weight_of(a & c - d | b & d - c)
        for (middle, a, b), (other, c, d) in product(mine, theirs)
    )


def _sides_of(text: str) -> Iterator[tuple[object, set[str], set[str]]]:
    """Each word of a clause that stands there once, with the small words that tell who acts, and what stands before and behind it."""
    for clause in (*clauses_of(text), f"{text}\0"):
        words = re.findall(r"\d[\d.,]*\d|\w[\w'’]*", clause.lower())
        own = [all_words(w) for w in words]
        for at, word in enumerate(words):
            stands = word in _JOINS if clause[-1:] == "\0" else own[at] and word.isalpha()
            if stands and words.count(word) == 1:
                voice = {*words[max(0, at - 3) : at]} & _VOICE | {*words[at + 1 : at + 2]} & STOP
                ends = [*filter(None, own[:at])][-_SIDE:], [*filter(None, own[at + 1 :])][:_SIDE]
                yield (word, word == "because" or voice), *(set().union(*end) for end in ends)


def _ends(text: str) -> tuple[set[str], ...]:
    before, _, behind = _THAN.sub("\0", _SIGN.sub(" ", text), count=1).partition("\0")
    return (all_words(before), all_words(_GOES_OTHERWISE.split(behind)[0])) if behind else ()


# Behind these something else is said.
_GOES_OTHERWISE = re.compile(r"[;,]\s|\.\s|\b(?:yet|but|and|while|whereas)\b")


def direction(case: ClaimCase) -> str:
    """No word of the claim is the opposite of what the quote says of the same thing."""
    denied, known = denials_of(case.claim), denials_of(f"{case.sentence} {case.quote}")
    added = [word for word, what in denied if what & telling(case.quote)]
    if added and not known and not has(case.message, "negative", "condition"):
        return f"the claim denies (“{added[0]}”) what the quote says"
    if bool(denied) != bool(denials_of(case.meant)):
        return ""
    pairs = [(case.claim, f"{case.message} {case.about}" if case.table else case.message)]
    parts = product(*map(BETWEEN.split, (case.claim, case.quote)))
    pairs += [pair for pair in parts if values_of(pair[0]) & values_of(pair[1])]
    return next((reason for pair in pairs if (reason := _contrary_words(*pair))), "")


def _contrary_words(claim: str, quote: str) -> str:
    mine, theirs = (set(words_of(text)) for text in (claim, quote))
    mine, theirs = ({bare(w) for w in words} for words in (mine - theirs, theirs - mine))
    for left, right in (*OPPOSITES, *(pair[::-1] for pair in OPPOSITES)):
        if mine & left and theirs & right and not theirs & left and not mine & right:
            return (
                f"the claim says “{min(mine & left)}” where the quote says “{min(theirs & right)}”"
            )
    return ""


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
    """A claim is about what its quote is about: two in five of its telling words stand there or around it, in whatever form."""
    have = roots_of(all_words(f"{case.context} {case.after}"))
    words = sorted(telling(case.claim))
    strange = [word for word in words if word[:4] not in have and not word[0].isdigit()]
    lost = 5 * len(strange) >= 3 * len(words)
    return (
        f"the quote does not speak of {', '.join(strange[:4])}: quote the words that do"
        if lost
        else ""
    )
