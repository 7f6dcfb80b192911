"""The sense of a claim: what its quote denies, doubts, expects, ties to a condition or says of some only, and which way a change goes.

Words are all there is to go by here; those that turn a sentence stand in `cues`, opposites and what is denied are read here.
"""

import re

from kb.claims.case import (
    BRACKETED,
    REFERS,
    ClaimCase,
    all_words,
    clauses_of,
    meant,
    parts_of,
    swapped,
    telling,
    touched,
)
from kb.claims.cues import ADDED, CUES, LOST, OPPOSITES, bare, contrary, has
from kb.claims.figures import numbers_of
from kb.text import STOP, numbers_in, stem, words_of
from kb.text.spelt import PARTS

# "Not only", "no later than" and "nothing but" assert, "none of six" counts.
_DENIAL = re.compile(
    r"\b(?:not only|no (?:more|less|later|fewer|longer) than|nothing but|whether or not|than without|none of)\b"
    r"|(?P<word>\b(?:not|no|never|neither|nor|none|cannot|without|hardly|rarely|nothing|nobody|barely|scarcely|(?P<verb>fail(?:s|ed|ing)?|lack(?:s|ed|ing)?|rejected|refuses)|absent|unable|impossible)\b|n['’]t\b)"
)
# What stands between a denial and what it denies.
_IDLE = frozenset(
    "yet really actually quite always necessarily longer see saw observe observed find notice any".split()
)


def negation(case: ClaimCase) -> str:
    """A claim denies what its quote denies, and nothing else: what one side denies the other does not assert in the same words."""
    mine, theirs = _denials(case.claim), _denials(_shown(case))
    beside = [] if theirs else _denied_beside(case)
    # A word that both have says nothing of either: “Deep Stop”.
    negative, denying = _negatives(case.claim), _negatives(f"{case.sentence} {case.quote}")
    if not mine and not negative - denying and (lost := _lost(case, theirs, beside)):
        return f"the quote denies (“{lost[0]}”) what the claim asserts"
    settled = theirs or beside or _denials(case.quote) or denying - negative
    stated = telling(case.spelt_out(f"{meant(case)} {case.quote}"))
    added = [w for w, denied in mine if stem(w) not in denying and (denied & stated or not denied)]
    if added and not settled and not has(case.quote, "wrong"):
        return f"the claim denies (“{added[0]}”) what the quote asserts"
    return ""


Denials = list[tuple[str, frozenset[str]]]


def _lost(case: ClaimCase, theirs: Denials, beside: Denials) -> list[str]:
    """Words of denial in the source of which a claim asserts what they deny; a quote that begins behind one has cut it off."""
    claimed = telling(case.spelt_out(case.claim))
    cut = not (
        case.table or _denials(case.quote) or case.quote in case.sentence[: len(case.quote) + 2]
    )
    # "That card splits …" speaks of what the part before it denied something else of.
    sides = (theirs, cut), (beside, cut and not REFERS.match(case.quote))
    return [
        w for side, whole in sides for w, denied in side if whole or denied & claimed or not denied
    ]


def _shown(case: ClaimCase) -> str:
    """What the source says of what the claim is about: of a row those cells alone whose columns the claim names."""
    named = all_words(case.spelt_out(case.claim))
    cells = [c.text for c in case.table if c.quoted and all_words(c.header) & named]
    return " · ".join(cells) if case.table else _level(case, meant(case))


def _level(case: ClaimCase, text: str) -> str:
    """What governs the quote: the brackets that it stands in, or the text around it without what stands in brackets."""
    inside = (aside for aside in BRACKETED.findall(case.sentence) if case.quote in aside)
    return next(inside, "") or (text if "(" in case.quote else BRACKETED.sub(" ", text))


def _negatives(text: str) -> set[str]:
    """Stems of the words that say no in other words; a capital inside a sentence makes a name of one."""
    return {
        stem(m[0].lower())
        for m in CUES["negative"].finditer(text)
        if m[0].islower() or not any(map(str.isalpha, text[: m.start()]))
    }


def _denied_beside(case: ClaimCase) -> Denials:
    """What is denied in a part of the sentence of which the claim has words that no other part has: “5.2 crashed; 5.3 does not”."""
    if case.table or _denials(case.claim) or _negatives(case.claim):
        return []
    for part in (parts := parts_of(_level(case, case.sentence))):
        others = telling(" ".join(p for p in parts if p != part)) | {"abov", "below"}
        if (telling(part) - others) & telling(case.claim) and _denials(part):
            return _denials(part)
    return []


def _denials(text: str) -> Denials:
    """Words that deny, each with the stem of the first telling word behind it in its clause: what it denies. Verbs deny all of it."""
    denials = []
    for match in _DENIAL.finditer(text.lower()):
        behind = re.split(r"[,;:.]\s", text[match.end() :])[0]
        words = (stem(w) for w in words_of(behind) if w not in _IDLE)
        first = None if match["verb"] else next((w for w in words if w in telling(behind)), None)
        if match["word"]:
            denials.append((match["word"], frozenset([first] if first else [])))
    return denials


def condition(case: ClaimCase) -> str:
    """What holds on a condition only is claimed with that condition: with a word of its kind and words of its own."""
    claimed = telling(case.spelt_out(case.claim))
    meaning = meant(case)
    for match in CUES["condition"].finditer(meaning):
        own = telling(match["body"].split(", ")[0])
        # What the main clause says as well does not tell that the condition was kept.
        own = own - telling(meaning[: match.start()]) or own
        exception = match[0].lower().startswith(("unless", "except"))
        reversed_ = exception and not _denials(case.claim) and not has(case.claim, "negative")
        if exception and has(case.claim, "exception"):
            continue
        if own and (not _roots(own) & _roots(claimed) or reversed_):
            return _depends(match[0])
    ties = _ties(case, _roots(all_words(case.spelt_out(case.claim))))
    return _depends(ties[0]) if ties else ""


def _depends(words: str) -> str:
    return f"the source makes it depend (“{' '.join(words.split())[:60]}”): say so in the claim"


def _roots(words: set[str]) -> set[str]:
    """Words by what they begin with: `writ` of written and writes."""
    return {w[:4] for w in words}


def _ties(case: ClaimCase, wanted: set[str]) -> list[str]:
    """What the sentence says it of, where the claim has no word of that."""
    clauses = [
        (len(_roots(all_words(clause)) & wanted), clause) for clause in clauses_of(case.quote)
    ]
    # Where two clauses fit as well, the claim may be either's.
    best = tuple(shared for shared, _ in clauses if shared and shared == max(clauses)[0])
    parts = [p for part in touched(case) for p in part.split(" and ")]
    inside = [p for p in parts if p.strip() in case.quote or case.quote in p]
    parts = inside or [p for p in parts if _roots(telling(p)) & wanted]
    ties = [*_LIMIT.finditer(" · ".join(parts))]
    for shared, clause in clauses:
        ties += _PHRASE.finditer(BRACKETED.sub(" ", clause)) if (shared,) == best else ()
    return [t[0] for t in ties if (words := all_words(t["what"])) and not _roots(words) & wanted]


# How far it holds: a bound with its number behind what a preposition names (“on tables above 2 TiB”), behind what is done (“used
# below”, “works well up to”), or at the head of the sentence.
_LIMIT = re.compile(
    r"(?:^\W*|\b(?:for|on|in|with|at|from|of) (?:\w+ ){1,3}|(?<=\w\w)(?<!drop)(?<!lower)(?<!rais)(?<!reduc)(?<!limit)(?<!reach)(?<!exceed)(?:ed|ly) |(?:%|\b(?:off|out|well|only|percent)) |(?=up to an? (?:\w+ ){1,3}of ))"
    r"(?:up to|above|below|beyond|over|under|between|(?:more|fewer|less|larger|longer|smaller|older|newer|higher|lower) than) (?P<what>[^,;.:\d]{0,30}\d[\d.,]*)",
    re.IGNORECASE | re.MULTILINE,
)
# What it is quoted for: "with …", "on …", and what else opens a clause.
_PHRASE = re.compile(
    r"(?:\b(?:with|without|on)|^\W*(?:in|at|during|after|before|from))\s(?P<what>(?!(?:it|they|none|which|that)\b|[^,.;]*\b(?:this|these|those|such)\b)[^,.;:()\d]+?)(?=\s(?:and|or|is|are|was|were|to|of|by|in|on|at|for|with|it|we|the|an?)\b|[,.;:()]|$)",
    re.IGNORECASE,
)


def turned(case: ClaimCase) -> str:
    """What the source expects, plans, or says of some is not claimed as a fact, or of all; and no yardstick is claimed that it lacks."""
    if case.sentence.rstrip(' \n*_"”)').endswith("?"):
        return "the source asks, the claim asserts"
    meaning = f"{meant(case)} {case.quote}"
    sides = [(turn, meaning, case.claim) for turn in LOST if not case.table]
    if len({c.label for c in case.table if c.quoted}) < 2:
        shown = f"{case.sentence} {case.quote} {case.about}"
        sides += [(turn, case.claim, shown) for turn in ADDED]
    for turn, text, other in sides:
        match = CUES[turn.kind].search(text)
        applies = match and (not turn.only or has(case.claim, turn.only))
        # Of one row of a table nothing says how the others stand but its header.
        kept = () if case.table else turn.kept
        if applies and not has(other, turn.kind, *kept):
            return turn.reason.format(match[0])
    return ""


def extent(case: ClaimCase) -> str:
    """What is said of some is not claimed of all, and what is said of one thing is not claimed of every one."""
    part = CUES["few"].search(meant(case))
    if part and not _same_measure(case) and not has(case.claim, "few", "rare"):
        return f"the source says it of “{part[0]}”, the claim of all"
    reworded = not _denials(case.claim) and _denials(meant(case))
    for whole in () if reworded else CUES["whole"].finditer(case.claim):
        nouns = "|".join(noun[:4] for noun in whole.group("of", "kind") if noun)
        same = re.search(
            rf"\b(?:every|all|any|each|per|both|no|none|n?either|never a)[^\w.,;:·]+(?:\w+[^\w.,;:·]+){{0,3}}?(?:{nouns})",
            f"{case.context} {case.quote}",
            re.IGNORECASE,
        )
        if not same and (whole["of"] or "") not in {*STOP, *PARTS}:
            return f"the claim says “{whole[0]}”, the quote does not"
    return ""


def cause(case: ClaimCase) -> str:
    """A cause is claimed only where the source gives one: what was found together did not bring each other about."""
    if case.table:
        return ""
    message = f"{case.sentence} {case.quote}"
    because, makes = (CUES[kind].search(case.claim) for kind in ("because", "makes"))
    given = telling(case.claim[because.end() :]) if because else set()
    if because and len(given) > 1 and not given & telling(case.context):
        return f"the claim gives a cause (“{because[0]}”), the quote none"
    together = CUES["together"].search(meant(case))
    if (
        makes
        and together
        and not has(message, "makes")
        and not contrary(makes[0], together[0])
        and not _same_measure(case)
    ):
        return f"the quote finds two things together (“{together[0]}”), the claim says that one brings the other (“{makes[0]}”)"
    return ""


def _same_measure(case: ClaimCase) -> bool:
    """Whether the claim gives a number with a unit, or a share, that its quote gives: a measured difference is told by any verb."""
    mine, theirs = (
        {n.value for n in numbers_of(t) if n.unit or n.value < 1} for t in (case.claim, case.quote)
    )
    return bool(mine & theirs)


def direction(case: ClaimCase) -> str:
    """No word of the claim is the opposite of what the quote says of the same thing; a move between two values goes the same way."""
    if swapped(case.claim, case.quote):
        return ""  # Of two that are compared either may come first: `comparison` looks at that.
    meaning = f"{meant(case)} {case.quote}"
    same = CUES["same"].search(meaning)
    if same and has(case.claim, "changed") and not has(meaning, "changed"):
        if not _denials(case.claim):
            return f"the quote says that nothing changed (“{same[0]}”)"
    pairs = [(case.claim, meaning)]
    for clause in clauses_of(case.claim):
        values = _values(clause)
        pairs += [(clause, other) for other in clauses_of(case.quote) if values & _values(other)]
    return next((reason for pair in pairs if (reason := _turned(*pair))), "") or _order(case)


def _values(text: str) -> set[float]:
    return {abs(n.value) for n in numbers_in(text)}


_BOUNDS = re.compile(r"\b\w+ than (?:\d|(?:a|one|two|three|four|five|six|seven|eight|nine|ten)\b)")


def _turned(claim: str, quote: str) -> str:
    # "More than 90" bounds a number and goes no way.
    claim, quote = _BOUNDS.sub(" ", claim), _BOUNDS.sub(" ", quote)
    mine, theirs = ({bare(w) for w in words_of(text)} for text in (claim, quote))
    if bool(_denials(claim)) != bool(_denials(quote)):
        return ""
    for word in set(words_of(claim)) - set(words_of(quote)):
        for other in set(words_of(quote)) - set(words_of(claim)):
            if _prefixed(word, other) or _prefixed(other, word):
                return f"the claim says “{word}” where the quote says “{other}”"
    for left, right in OPPOSITES:
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


_TO = re.compile(
    r"[^.;,]{0,20}?(?:\bto\b|→|->|⇒)[^.;,]{0,20}|\s\w*\s?before\b[^.;]{0,40}", re.IGNORECASE
)
_FROM = re.compile(
    r"[^.;]{0,12}\b(?:instead of|rather than|(?:down|up) from|after\b[^.;]{0,40})[^.;,]{0,12}",
    re.IGNORECASE,
)


def _moves(text: str) -> set[tuple[float, float]]:
    numbers = list(numbers_in(text))
    moves = set()
    for a, b in zip(numbers, numbers[1:], strict=False):
        between = text[a.end : b.start]
        if _TO.fullmatch(between):
            moves.add((a.value, b.value))
        elif _FROM.fullmatch(between):
            moves.add((b.value, a.value))
    return moves
