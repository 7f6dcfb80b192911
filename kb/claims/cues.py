"""Words that turn what a sentence says, by kind: those that a claim must not lose from its source, and those that it must not add.

One row a kind: where its words are looked for, the words, and the words that say as much on the other side. A word that no row knows is
evidence of nothing.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass

from kb.claims.case import ClaimCase, meant


@dataclass(frozen=True, slots=True)
class Cue:
    """`words` on one side ask for `kept` on the other; `reason` says what is wrong otherwise, `{}` in it being the words."""

    words: re.Pattern[str]
    kept: re.Pattern[str]
    reason: str


def _cue(words: str, kept: str, reason: str) -> Cue:
    return Cue(
        re.compile(rf"\b(?:{words})\b", re.IGNORECASE),
        re.compile(rf"\b(?:{words}|{kept})\b" if kept else rf"\b(?:{words})\b", re.IGNORECASE),
        reason,
    )


_FACT = "the source says it as open (“{}”), the claim as a fact"
_DOUBT = (
    r"may|might|could|would|should|expect\w*|predict\w*|hypothe\w*|hope\w*|estimat\w*|suspect\w*|believ\w*|likely|probably|perhaps|possibl[ey]|presumably|potential(?:ly)?|"
    r"claim(?:s|ed)?|suggest\w*|untested|projected|theoretical(?:ly)?|in theory|seem(?:s|ed)?|appear(?:s|ed)?|assum\w+|guess\w*|think|doubt\w*"
)
_PLAN = r"plan(?:s|ned)?|intend\w*|schedul\w+|going to|propose[sd]? to|aim(?:s|ed)?|next (?:year|month|week|quarter|spring|summer|autumn|winter)|upcoming|roadmap"
_SET = r"set for|announced|promised|is to|are to|to be|due|future|for \d{4}|from \d{4}"
_RARE = "sometimes|often|usually|occasionally|at times|in some cases|in one case|mostly|generally|typical(?:ly)?"
_PART = r"a few|few|some|several|many|most|partly|part of|one of|nearly|almost|only|up to|tends?|can|may"
LOST: tuple[tuple[Callable[[ClaimCase], str], Cue], ...] = (
    (
        lambda case: f"{meant(case)} {case.quote}",
        _cue(
            _DOUBT,
            rf"{_PLAN}|according to|says?|thinks?|opinion|up to|at most|rated for|must|ha(?:s|ve) to|wrong|recommend\w*|allow\w*|permit\w*|can",
            _FACT,
        ),
    ),
    (
        lambda case: f"{meant(case)} {case.quote}",
        _cue(_PLAN, rf"{_DOUBT}|{_SET}|will|shall", _FACT),
    ),
    (
        # What will be is told in the present of rules and versions as well; told as past it is a fact.
        lambda case: meant(case),
        Cue(
            re.compile(r"\b(?:will|shall|(?:is|are) to)\b|['’]ll\b", re.IGNORECASE),
            re.compile(
                rf"\b(?:{_PLAN}|{_DOUBT}|{_SET}|will|shall)\b|^(?!.*\b(?:has|have|had|was|were|did|took|available|now|already|\w+ed)\b)",
                re.IGNORECASE,
            ),
            _FACT,
        ),
    ),
    (
        lambda case: meant(case),
        _cue(_RARE, _PART, "the source says it of “{}”, the claim of always"),
    ),
)
# What is told of an earlier text, or of what somebody said.
_TEXTS = r"preprint|manuscript|data ?sheet|brochure|manual|guide|paper|notes?|editions?|versions?|drafts?|posts?|release|press release|announcement|advertis\w+|vendor|leaflet"
_SAID = "said|says|gave|gives|listed|reported|stated|recommended|claimed|promised"
_PEOPLE = r"someone|somebody|one user|a (?:user|reader)|everybody|everyone|people|some"
OTHERS = _cue(
    rf"(?:\w+ )?(?:{_TEXTS})(?: \d\S*)?(?: (?:of|to) (?:this|the) \w+)?(?: also| still| once| had| \w+ly)? (?:said|gave|listed|reported|stated|recommended|claimed|promised)"
    rf"|(?:earl(?:y|ier)|previous|original|former|conference|first|second|old) (?:\w+ )?(?:{_TEXTS})\b(?:(?! is | are )[^.;])*?\b(?:{_SAID})"
    rf"|the \S*\d\S* (?:edition|notes?|version) (?:\w+ ){{0,3}}?(?:{_SAID})"
    r"|(?:i|we)(?: had| also| once| first)* (?:wrote|written|claimed|said|stated|thought|read|praised|taught|recommended|advised)|in the \S+ version we|used to be|formerly|until (?:version|v?\d)"
    r"|(?:was|were) (?:given|quoted|listed|advertised|said)(?: \w+){0,4}? (?:as|to)"
    rf"|(?:{_PEOPLE}) (?:\w+ ){{0,5}}?(?:wrote|writes|says?|said|knows?|claims?|claimed|measured|told|thinks?|reports?|reported)"
    r"|according to (?:the|an?|its|their) \w+|my guess|guaranteed|allegedly|reportedly|supposedly|rumou?r\w*",
    r"according to|by (?:its|the|their)|says?|wrote|claims|reports|guess\w*|told|was|were|had|did|from|before|until|previous\w*|formerly|earlier|instead|used to|fell|rose|\w+ed",
    "the source tells that of others or of an earlier text (“{}”): say whose word it is, or leave it",
)
_BEST = r"(?!(?:lat|t|requ|r|w|sugg|inter|for|gu|hon|dig|harv|manif|inv|cont|prot|qu|ch|n|arr|mod|earli)est\b)\w{2,}est|best|worst|most|least|only|sole|unique"
ADDED = (
    _cue(
        rf"(?:the|its|their|of) (?:\w+ )?(?:{_BEST})|than any\w*",
        rf"{_BEST}|max(?:imum|imal)?|min(?:imum|imal)?|peaks?|top|first|single|record|any|optim\w+|limit\w*|at most|alone|all|every|exclusively|no other|never|none",
        "the claim says “{}”, the quote compares with no others",
    ),
)
