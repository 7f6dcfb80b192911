"""The sense of a claim: what its quote denies, doubts, expects, ties to a condition or says of some only, and which way a change goes.

Words are all there is to go by here; each list is closed and says what kind of word it holds.
"""

import re

from kb.claims.case import (
    REFERS,
    ClaimCase,
    all_words,
    clauses_of,
    meant,
    parts_of,
    swapped,
    telling,
)
from kb.claims.cues import ADDED, LOST
from kb.claims.figures import numbers_of
from kb.text import STOP, numbers_in, stem, words_of

# What denies a sentence, and what says the same without a word of denial: "lacks" and "has no", "stayed" and "did not move".
# "Not only", "no later than" and "nothing but" assert, "none of six" counts.
_DENIAL = re.compile(
    r"\b(?:not only|no (?:more|less|later|fewer|longer) than|nothing but|whether or not|than without|none of)\b"
    r"|(?P<word>\b(?:not|no|never|neither|nor|none|cannot|without|hardly|rarely|nothing|nobody|barely|scarcely|fail(?:s|ed|ing)?|lack(?:s|ed|ing)?|absent|unable|impossible|rejected|refuses)\b|n['’]t\b)"
)
_NEGATIVE = re.compile(
    r"\b(?:unless|except|but|turned down|declin\w+|dismiss\w+|fail\w*|lack\w*|refus\w*|absen\w*|unable|impossible|left|leav\w+|stay\w*|remain\w*|same|still|kept|keeps?|stop\w*|remov\w+|delet\w+|discontinu\w+|wrong|incorrect|break\w*|broke|end(?:s|ed)|ceas\w+|drop(?:ped|s)|avoid\w*|prevent\w*|disappear\w*|"
    r"exclud\w*|reject\w*|only|below|at most|instead|rather|outside|free of|un(?:changed|affected|supported|able|tested|related|available|safe))\b",
    re.IGNORECASE,
)
_CONDITIONS = re.compile(
    r"\b(?:unless|except|only (?:if|when|where|for|on|with|in|at|after|below|above)|if|when|whenever|(?<!, )where|provided(?: that)?|(?<!times )as long as|as soon as|otherwise|but not|assuming|"
    r"during(?! which)|once|until)\b(?P<body>(?:(?! (?:if|unless|when)\b)[^;.:)])*)",
    re.IGNORECASE,
)
_SOME = re.compile(
    r"\b(?:a few|few|some|several|many|most|mostly|partly|sometimes|often|usually|typical(?:ly)?|occasionally|part of|one of|nearly|almost|only|up to|in one case)\b",
    re.IGNORECASE,
)
_FEW = re.compile(r"\b(?:a few|few|some|several|most)\b", re.IGNORECASE)
_WHOLE = re.compile(
    r"\b(?:always|irrespective|regardless|(?:every|all|any|each)(?: of)?(?: the)? (?P<of>[^\W\d]\w*))",
    re.IGNORECASE,
)
# Words of which a claim may not turn one into the other: each of the left against each of the right.
_OPPOSITES = tuple(
    (frozenset(map(stem, a.split())), frozenset(map(stem, b.split())))
    for a, b in (
        ("faster quicker speedup accelerates", "slower slowed slows slowdown"),
        (
            "increased rose grew raised gained climbed improved won doubled",
            "decreased fell dropped shrank lowered reduced cut declined lost worsened regressed slowed halved saved",
        ),
        (
            "increase rise grow raise gain climb improve win",
            "decrease fall drop shrink lower reduce decline lose loss worsen regress",
        ),
        ("rises grows gains", "falls drops shrinks loses"),
        ("higher larger bigger greater more twice", "lower fewer smaller less half"),
        ("doubled", "halved"),
        ("better", "worse lower"),
        ("hotter warmer", "cooler colder"),
        ("longer", "shorter"),
        ("cheaper", "dearer"),
        ("enabling enables enabled", "disabling disables disabled"),
        ("adding adds added", "removing removes removed dropping"),
        ("supported confirmed accepted kept", "refuted rejected reverted discarded"),
        ("before earlier older", "after later newer"),
        ("best highest fastest largest maximum", "worst lowest slowest smallest minimum"),
        ("above", "below"),
        ("always", "never sometimes"),
        ("all every", "some few none"),
        ("serial sequential", "parallel concurrent"),
        ("preserve preserves keeps", "breaks loses destroys"),
        ("exclusive", "shared"),
        ("old", "new"),
    )
)


def contrary(word: str, other: str) -> bool:
    """Whether one comparing word is the opposite of another."""
    mine, theirs = ({stem(w) for w in words_of(text)} for text in (word, other))
    return any(mine & a and theirs & b or mine & b and theirs & a for a, b in _OPPOSITES)


def negation(case: ClaimCase) -> str:
    """A claim denies what its quote denies, and nothing else: what one side denies the other does not assert in the same words."""
    meaning = meant(case)
    mine, theirs = _denials(case.claim), _denials(meaning)
    # A word that both have says nothing of either: “Deep Stop”.
    negative, denying = (
        {
            stem(m[0].lower())
            for m in _NEGATIVE.finditer(text)
            # A capital inside a sentence makes a name of it.
            if m[0].islower() or not any(map(str.isalpha, text[: m.start()]))
        }
        for text in (case.claim, f"{case.sentence} {case.quote}")
    )
    claimed, stated = (
        telling(case.spelt_out(text)) for text in (case.claim, f"{meaning} {case.quote}")
    )
    if not mine and not negative:
        parts = parts_of(case.sentence)
        for part in parts:
            alone = {
                w
                for w in telling(part) - telling(" ".join(p for p in parts if p != part))
                # Of a part of few words a number may be all that tells it from the others.
                if not w[0].isdigit() or len(part.split()) < 5
            } - {"abov", "below"}
            if alone & claimed:
                theirs = theirs or _denials(part)
    # A quote that begins behind the denial has cut it off.
    cut = not _denials(case.quote) and case.quote not in case.sentence[: len(case.quote) + 2]
    lost = [word for word, denied in theirs if cut or denied & claimed or not denied]
    if lost and not mine and not negative - denying:
        return f"the quote denies (“{lost[0]}”) what the claim asserts"
    added = [w for w, denied in mine if stem(w) not in denying and (denied & stated or not denied)]
    if added and not theirs and not _denials(case.quote) and not denying - negative:
        return f"the claim denies (“{added[0]}”) what the quote asserts"
    return ""


# What stands between a denial and what it denies, and verbs that are a denial of all that they are told of.
_IDLE = frozenset(
    "yet really actually quite always necessarily longer see saw observe observed find notice any".split()
)
_REFUSES = re.compile("fail|lack|reject|refus")


def _denials(text: str) -> list[tuple[str, frozenset[str]]]:
    """Words that deny, each with the stem of the first telling word behind it in its clause: what it denies."""
    denials = []
    for match in _DENIAL.finditer(text.lower()):
        if match["word"]:
            behind = re.split(r"[,;:.]\s", text[match.end() :])[0]
            words = [stem(w) for w in words_of(behind) if w not in _IDLE]
            whole = _REFUSES.match(match["word"])
            denied = [w for w in words if w in telling(behind)][: 0 if whole else 1]
            denials.append((match["word"], frozenset(denied)))
    return denials


def condition(case: ClaimCase) -> str:
    """What holds on a condition only is claimed with that condition: with a word of its kind and words of its own."""
    claimed = telling(case.spelt_out(case.claim))
    meaning = meant(case)
    for match in _CONDITIONS.finditer(meaning):
        # What opens its sentence ends at the comma.
        own = telling(match["body"].split(",")[0] if match.start() < 3 else match["body"])
        # What the main clause says as well does not tell that the condition was kept.
        own = own - telling(meaning[: match.start()]) or own
        exception = match[0].lower().startswith(("unless", "except"))
        turned = exception and not _denials(case.claim) and not _NEGATIVE.search(case.claim)
        if own and (not own & claimed or turned):
            return f"the source makes it depend (“{' '.join(match[0].split())[:60]}”): say so in the claim"
    if (
        REFERS.match(case.after)
        and _CONDITIONS.search(case.after)
        and not telling(case.after) & telling(case.claim)
    ):
        return f"the source makes it depend (“{case.after[:60]}”), the claim does not"
    wanted = all_words(case.spelt_out(case.claim))
    units = {n.value for n in numbers_of(case.claim) if n.unit}
    if units - {n.value for n in numbers_of(case.sentence)}:
        return ""  # A number in another unit may be that of the condition.
    near = _nearest(case.quote, wanted)
    ties = (
        _TIE.search(meaning),
        *(m for clause in near for m in _PHRASE.finditer(clause)),
        *_LIMIT.finditer(_quoted_parts(case)),
    )
    for tie in filter(None, ties):
        words = all_words(tie["what"])
        if words and not words & wanted:
            return f"the source ties it to “{' '.join(tie[0].split())[:60]}”: say so in the claim"
    return ""


def _quoted_parts(case: ClaimCase) -> str:
    """The parts of the sentence, split at each "and" as well, that the quote touches."""
    parts = [p for part in parts_of(case.sentence) for p in part.split(" and ")]
    return " · ".join(p for p in parts if p.strip() in case.quote or case.quote in p)


# How far it holds: a bound with its number behind what a preposition names (“on tables above 2 TiB”), behind what is done (“used
# below”, “works well up to”), or at the head of the sentence.
_LIMIT = re.compile(
    r"(?:^\W*|\b(?:for|on|in|with|at|from|of) (?:\w+ ){1,3}|(?<=\w\w)(?<!drop)(?<!lower)(?<!rais)(?<!reduc)(?<!limit)(?<!reach)(?<!exceed)(?:ed|ly) |(?:%|\b(?:off|out|well|only|percent)) |(?=up to an? (?:\w+ ){1,3}of ))"
    r"(?:up to|above|below|beyond|over|under|between|(?:more|fewer|less|larger|longer|smaller|older|newer|higher|lower) than) (?P<what>[^,;.:\d]{0,30}\d[\d.,]*)",
    re.IGNORECASE | re.MULTILINE,
)
# What a sentence holds for: its opening "With …", "Without …" up to the next thing named.
_TIE = re.compile(
    r"^(?:\W*\*\*[^*]+\*\*)?\W*(?:with|without|under)\s+(?![^,]*\b(?:this|these|those|such)\b)(?:(?:an?|the|our)\s)?(?P<what>.+?)(?=\s(?:an?|the|our|it|we|its|they|i|you|there)\s|,(?!\d)|$)",
    re.IGNORECASE | re.DOTALL,
)
# What it is quoted for: "with …", "on …", "in …", and what else opens a clause.
_PHRASE = re.compile(
    r"(?:\b(?:with|without|on|in)|^\W*(?:at|during|after|before|for|from))\s(?P<what>(?!(?:it|they|none|which|that)\b)[^,.;:()\d]+?)(?=\s(?:and|or|is|are|was|were|to|of|by|in|on|at|for|with|it|we|the|an?)\b|[,.;:()]|$)",
    re.IGNORECASE,
)


def _nearest(text: str, wanted: set[str]) -> list[str]:
    """The clauses of a text that share most words with a claim."""
    clauses = [(len(all_words(clause) & wanted), clause) for clause in clauses_of(text)]
    most = max(shared for shared, _ in clauses)
    return [clause for shared, clause in clauses if shared == most and most]


def turned(case: ClaimCase) -> str:
    """What the source expects, plans, or says of some is not claimed as a fact, or of all; and no yardstick is claimed that it lacks."""
    if case.sentence.rstrip(' \n*_"”)').endswith("?"):
        return "the source asks, the claim asserts"
    for where, cue in () if case.table else LOST:
        match = cue.words.search(where(case))
        if match and not cue.kept.search(case.claim):
            return cue.reason.format(match[0])
    several = len({c.label for c in case.table if c.quoted}) > 1
    for cue in ADDED:
        match = cue.words.search(case.claim)
        if (
            match
            and not several
            and not cue.kept.search(f"{case.sentence} {case.quote} {case.about}")
        ):
            return cue.reason.format(match[0])
    return ""


def extent(case: ClaimCase) -> str:
    """What is said of some is not claimed of all, and what is said of one thing is not claimed of every one."""
    part = _FEW.search(meant(case))
    if part and not _same_measure(case) and not _SOME.search(case.claim):
        return f"the source says it of “{part[0]}”, the claim of all"
    for whole in _WHOLE.finditer(case.claim):
        same = re.search(
            rf"\b(?:every|all|any|each|both)\W+(?:\w+\W+){{0,3}}?{re.escape(whole['of'] or '')[:4]}",
            f"{case.context} {case.quote}",
            re.IGNORECASE,
        )
        if (
            not same
            and (whole["of"] or "") not in STOP
            and (_denials(case.claim) or not _denials(meant(case)))
        ):
            return f"the claim says “{whole[0]}”, the quote does not"
    return ""


_BECAUSE = re.compile(
    r"\b(?:because|due to|owing to|thanks to|caus(?:e|es|ed) by|caus(?:e|es|ed)|leads? to|led to|explains?|responsible for|therefore|as a result)\b",
    re.IGNORECASE,
)
_GROUNDS = re.compile(
    r"\b(?:because|since|as|due|owing|thanks|caus\w*|leads?|led|why|reason|thus|so|therefore|hence|explain\w*|responsible|which|culprit|makes?|made)\b",
    re.IGNORECASE,
)
# A verb that makes something more or less, and what only finds two things together.
_MAKES = re.compile(
    r"\b(?:lower(?:s|ed)|raises?|raised|reduc(?:e|es|ed)|increas(?:e|es|ed)|decreas(?:e|es|ed)|improv(?:e|es|ed)|caus(?:e|es|ed)|prevents?|prevented|speeds? up|slows?(?: down)?|"
    r"makes?|made|brings?|brought|cuts?|boosts?|drives?|leads? to|shortens?|lengthens?)\b",
    re.IGNORECASE,
)
_TOGETHER = re.compile(
    r"\bcorrelat\w+|\bassociat\w+|\bcoincid\w+|\balso (?:the|had|saw|reported|showed)\b|\b(?:fewer|less|more|lower|higher|faster|slower|better|worse)\b",
    re.IGNORECASE,
)


def cause(case: ClaimCase) -> str:
    """A cause is claimed only where the source gives one: what was found together did not bring each other about."""
    because = _BECAUSE.search(case.claim)
    message = f"{case.sentence} {case.quote}"
    if because and not (
        _GROUNDS.search(message)
        and (
            len(telling(case.claim[because.end() :])) < 2
            or telling(case.claim[because.end() :]) & telling(case.context)
        )
    ):
        return f"the claim gives a cause (“{because[0]}”), the quote none"
    makes = _MAKES.search(case.claim)
    together = _TOGETHER.search(meant(case))
    if (
        makes
        and together
        and not _MAKES.search(message)
        and not contrary(makes[0], together[0])
        and not _same_measure(case, units=True)
    ):
        return f"the quote finds two things together (“{together[0]}”), the claim says that one brings the other (“{makes[0]}”)"
    return ""


def _same_measure(case: ClaimCase, *, units: bool = False) -> bool:
    """Whether the claim gives a number (with a unit) of what its quote gives: a measured difference is told by any verb."""
    mine, theirs = (
        {n.value for n in numbers_of(text) if n.unit or not units}
        for text in (case.claim, case.quote)
    )
    return bool(mine & theirs)


_SAME = re.compile(r"\b(?:unchanged|the same|no (?:change|difference)|not (?:change|move))\b")
_CHANGED = re.compile(
    r"\b(?:rose|fell|grew|shrank|(?:dropp|increas|decreas|improv|worsen)ed)\b|\b(?:fast|slow|quick|high|low|larg|small|hott|warm|cool|long|short|bett|great|bigg|few)er\b|\b(?:more|less|worse|twice|half)\b"
)


def direction(case: ClaimCase) -> str:
    """No word of the claim is the opposite of what the quote says of the same thing; a move between two values goes the same way."""
    if swapped(case.claim, case.quote):
        return (
            ""  # Of two things that are compared either may come first: `comparison` looks at that.
        )
    meaning = f"{meant(case)} {case.quote}"
    same = _SAME.search(meaning)
    if (
        same
        and _CHANGED.search(case.claim)
        and not _CHANGED.search(meaning)
        and not _denials(case.claim)
    ):
        return f"the quote says that nothing changed (“{same[0]}”)"
    pairs = [(case.claim, meaning)]
    theirs = [
        (clause, {abs(n.value) for n in numbers_in(clause)}) for clause in clauses_of(case.quote)
    ]
    for clause in clauses_of(case.claim):
        values = {abs(n.value) for n in numbers_in(clause)}
        pairs += [(clause, other) for other, stated in theirs if values & stated]
    return next(
        (reason for mine, other in pairs if (reason := _turned(mine, other))), ""
    ) or _order(case)


_BOUNDS = re.compile(r"\b\w+ than (?:\d|(?:a|one|two|three|four|five|six|seven|eight|nine|ten)\b)")


def _turned(claim: str, quote: str) -> str:
    # "More than 90" bounds a number and goes no way.
    claim, quote = (_BOUNDS.sub(" ", text) for text in (claim, quote))
    mine, theirs = ({stem(w) for w in words_of(text)} for text in (claim, quote))
    for word in set(words_of(claim)) - set(words_of(quote)):
        for other in set(words_of(quote)) - set(words_of(claim)):
            if _prefixed(word, other) or _prefixed(other, word):
                return f"the claim says “{word}” where the quote says “{other}”"
    if bool(_denials(claim)) != bool(_denials(quote)):
        return ""
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
    numbers = list(numbers_in(text))
    pairs = zip(numbers, numbers[1:], strict=False)
    return {
        (a.value, b.value)
        for a, b in pairs
        if re.fullmatch(
            r"[^.;,]{0,20}?(?:\bto\b|→|->|⇒)[^.;,]{0,20}?",
            text[a.end : b.start].strip(),
            re.IGNORECASE,
        )
    }
