"""Words that turn what a sentence says, by kind, in one table; and pairs of words that say the contrary of each other.

Each kind is a closed list. A word that stands in none is evidence of nothing.
"""

import re

from kb.text import SPELT, stem, words_of

_TEXTS = r"(?:preprint|manuscript|data ?sheet|brochure|manual|guide|paper|notes?|editions?|versions?|drafts?|posts?|release|announcement|advertis\w+|vendor|leaflet|report|rev\.|revision)"
_COUNT = rf"(?:\d+|{'|'.join(SPELT)})"
_SAID = r"(?:said|says|gave|gives|listed|reported|stated|recommended|claimed|promised)"
_BEST = r"(?!(?:lat|t|requ|r|w|sugg|inter|for|gu|hon|dig|harv|manif|inv|cont|prot|qu|ch|n|arr|mod|earli)est\b)\w{2,}est|best|worst|most|least|only|sole|unique"

CUES = {
    kind: re.compile(rf"\b(?:{words})(?!\w)", re.IGNORECASE)
    for kind, words in {
        # What denies, or says the same without a word of denial: "has no" and "lacks", "did not move" and "stayed".
        "negative": r"less often|seldom|unless|except\w*|(?:is|are|was|were|turned|switched) off|disabl\w+|but|turned down|declin\w+|dismiss\w+|fail\w*|lack\w*|refus\w*|absen\w*|unable|impossible|left|leav\w+|stay\w*|remain\w*|same|still|kept|keeps?|stop\w*|remov\w+|delet\w+|"
        r"discontinu\w+|wrong|incorrect|break\w*|broke|end(?:s|ed)|ceas\w+|drop(?:ped|s)|avoid\w*|prevent\w*|disappear\w*|exclud\w*|reject\w*|only|below|at most|instead|rather|outside|free of|"
        r"un(?!it|iq|iv|ion|if|der|til|less)\w{4,}|non\w{4,}|in(?:active|valid|correct|effective|sufficient|complete|consistent)",
        "condition": r"(?:unless|except|^\W*without|only (?:if|when|where|for|on|with|in|at|after|below|above)|if|when|whenever|(?<!, )where|provided(?: that)?|(?<!times )as long as|as soon as|otherwise|but not|"
        r"assuming|once|until)\b(?P<body>(?:(?! (?:if|unless|when)\b)[^;.:)])*)",
        "exception": r"unless|without|except\w*|save for|other than|apart from|but for|excluding",
        # What is not known or not yet, and words that allow rather than doubt.
        "doubt": r"whether(?! or not)|may|might|should|(?:could|would)(?! not|n)|(?<!as )expect\w*|predict\w*|hypothesi[sz]e\w*|hypothetical\w*|hope\w*|estimat\w*|suspect\w*|believ\w*|likely|probably|perhaps|possibl[ey]|presumably|potential(?:ly)?|claim(?:s|ed)?|"
        r"suggest\w*|untested|projected|theoretical(?:ly)?|in theory|seem(?:s|ed)?|appear(?:s|ed)?|assum\w+|guess\w*|think|doubt\w*|as far as|apparently|to my knowledge|unconfirmed|unproven",
        "plan": r"plan(?:s|ned)?|working on|intend\w*|schedul\w+|going to|propose[sd]? to|aim(?:s|ed)?|next (?:year|month|week|quarter|spring|summer|autumn|winter)|upcoming|roadmap",
        "future": r"will|shall|(?:is|are) to|(?<=\w)['’]ll|set for|announced|promised|to be|due|future|(?:for|from) \d{4}",
        "allowed": r"according to|says?|thinks?|opinion|up to|at most|rated for|must|ha(?:s|ve) to|wrong|recommend\w*|allow\w*|permit\w*|can",
        # How much of it, and how often.
        "part": r"sometimes|(?<!less )(?<!more )often|usually|occasionally|at times|in some cases|in one case|mostly|generally|typical(?:ly)?|a few|few|some|several|(?<!at )most",
        "share": rf"{_COUNT} (?:out )?of (?:the |our |all )?{_COUNT}",
        "whole": r"always|irrespective|regardless|every|all|any|each|none|both|either",
        "best": rf"(?:the|its|their|of) (?:\w+ )?(?:{_BEST})|(?:is|was|are|were) (?!only|sole|unique)(?:{_BEST})|than any\w*",
        "ranked": rf"{_BEST}|max(?:imum|imal)|min(?:imum|imal)|peaks?|top|first|record|any|optim\w+|alone|exclusively|no other|never|none",
        # What brings something about, and looser ties.
        "cause": r"because|due to|owing to|thanks to|caus(?:e|es|ed)(?: by)?|leads? to|led to|explains?|responsible for|therefore|as a result|(?<!\bis )(?<!\bare )(?<!was )(?<!were )(?<!\bbe )(?:lower(?:s|ed)|raises?|raised|reduc(?:e|es|ed)|increas(?:e|es|ed)|decreas(?:e|es|ed)|improv(?:e|es|ed)|prevents?|prevented|speeds? up|slows?(?: down)?|"
        r"(?:makes?|made)(?! (?:no|an?|it|up|\d\S*)\b)|cuts?|boosts?|shortens?|lengthens?)",
        "so": r"so|as|since|hence|thus|for|which|by",
        # Whose word it is: an earlier text's, or somebody's.
        "others": rf"(?:\w+ )?{_TEXTS}(?: \d\S*| [a-z])?(?: (?:of|to) (?:this|the) \w+)?(?: also| still| once| had| \w+ly)? (?:said|gave|listed|reported|stated|recommended|claimed|promised)"
        rf"|(?:earl(?:y|ier)|previous|original|former|conference|first|second|old) (?:\w+ )?(?:{_TEXTS}|work|stud(?:y|ies))\b(?:(?! is | are )[^.;])*?\b{_SAID}|the \S*\d\S* (?:edition|notes?|version) (?:\w+ ){{0,3}}?{_SAID}"
        r"|(?:i|we)(?: had| also| once| first)* (?:wrote|written|claimed|said|stated|thought|read|praised|taught|recommended|advised)|in the \S+ version we|used to be|formerly|until (?:version|v?\d)"
        r"|(?:was|were) (?:given|quoted|listed|advertised|said)(?: \w+){0,4}? (?:as|to)|(?:someone|somebody|one user|a (?:user|reader)|everybody|everyone|people|some) (?:\w+ ){0,5}?(?:wrote|writes|says?|said|knows?|"
        r"claims?|claimed|measured|told|thinks?|reports?|reported)|according to (?:the|an?|its|their) \w+|(?:say|says|said|claim(?:s|ed)?|report(?:s|ed)?|writes?|wrote|argues?) that|my guess|guaranteed|allegedly|reportedly|supposedly|rumou?r\w*",
        "past": r"according to|by (?:its|the|their)|says?|wrote|claims|reports|guess\w*|told|was|were|had|did|from|before|until|previous\w*|formerly|earlier|instead|used to|fell|rose",
        # What says that something is, or was, wrong.
        "wrong": r"wrong|false|untrue|incorrect|mistake[ns]?|mistaken|misread|withdrawn|retracted|superseded|obsolete|disproved|corrected|corrects?|omitted|reverted|premature|doubt(?:s|ed) (?:the|that)|"
        r"disput\w+|question(?:s|ed) (?:the|that)|(?:is|was|are|were)(?: not|n['’]t) (?:true|right|correct)|not true|could not (?:be )?(?:reproduced?|confirm\w*)|nothing\b[^.]{0,30}\bsupports?|"
        r"take\b[^.]{0,10}\bback|takes? back|replaces? it|no longer (?:hold|true|valid|recommend|appl)\w*|in #\d+ i (?:wrote|said)|i had (?:written|read|said)|changed in",
    }.items()
}

# Verbs that change what is measured: those that are nothing else, and those that may be nouns where no object follows. What one does
# to look at it ("use", "set up", "add", "apply") is no advice.
_CHANGE = (
    r"(?:(?:try|consider|avoid|prefer|reduce|raise|enable|disable|replace|remove|fuse|align|rewrite|unroll|vectori[sz]e|quanti[sz]e|move to|switch to|turn (?:\w+ )?(?:on|off))(?![-\w]| (?:across|and|ops?)\b| (?!what|that|which)\w+ (?:takes?|took|runs?|ran|costs?|spends?|spent|needs?|lasts?|is|are|was|were)\b)"
    r"|(?:prefetch|shard|pad|move|split|merge|cast|tile|pin|change|swap|drop|overlap|offload|cache|batch|prune|upgrade|downgrade|increase|decrease|lower|double|halve|tune|grow|shrink)"
    r"(?= (?:the|an?|its|their|these|those|each|every|all|both|more|less|fewer|larger|bigger|smaller|longer|shorter|higher|it|them|[a-z]*[\d_=]\w*)\b))"
)
# What advises to change something opens a clause with such a verb, or leads to one.
ADVICE = re.compile(
    rf"(?:^\W*|[:;→—–]\s|\b(?:if|when|where|once|for|to)\b[^.;:]*?,\s|\b(?:then|so|to|should|could|might|must)\s){_CHANGE}"
    r"|\bworth (?:a try|trying)|\b(?:should|could|must) be (?:\w+ly )?(?:tried|raised|lowered|increased|decreased|reduced|enabled|disabled|replaced|removed|fused|split|merged|doubled|halved|tuned|avoided|switched)\b|\bwe recommend\b|\buse\b[^.;]*\binstead\b",
    re.IGNORECASE,
)


def has(text: str, *kinds: str) -> bool:
    """Whether a text holds words of one of some kinds."""
    return any(CUES[kind].search(text) for kind in kinds)


def bare(word: str) -> str:
    """The stem of a word in which its forms with and without an e meet: raise, raising."""
    return stem(stem(word)).rstrip("e")


# Words of which a claim may not turn one into the other: each of the left against each of the right.
OPPOSITES = tuple(
    tuple(frozenset(map(bare, side.split())) for side in row.split("|"))
    for row in """
faster quicker speedup accelerates | slower slowed slows slowdown
increased rose grew raised gained climbed improved won doubled | decreased fell dropped shrank lowered reduced cut declined lost worsened regressed slowed halved saved
increase rise grow raise gain climb improve win | decrease fall drop shrink lower reduce decline lose loss worsen regress
rises grows gains | falls drops shrinks loses
higher larger bigger greater more twice longer hotter warmer heavier | lower fewer smaller less half shorter cooler lighter
doubled | halved
better | worse lower
hotter warmer | colder
cheaper | dearer
fast quick | long slow
enabling enables enabled | disabling disables disabled
adding adds added | removing removes removed dropping
supported confirmed accepted kept | refuted rejected reverted discarded
before earlier older | after later newer since
with | without
best highest fastest largest maximum | worst lowest slowest smallest minimum
above | below
always | never sometimes
all every | some few none
serial sequential | parallel concurrent
preserve preserves keeps | breaks loses destroys
exclusive | shared
old | new
first | second third fourth last
second | third fourth last
inside internal inner indoor | outside external outer outdoor
upper top | lower bottom
left | right
front | rear back
horizontal | vertical
north | south
east | west
even | odd
open opens opened | closed closes shut
hot | cold cool
wet | dry
full | empty
wide | narrow
thick | thin
high | low
strong stronger | weak weaker
hard harder | soft softer easy easier
heavy | light
early | late
day | night
summer | winter
read reads | write writes written
send sends transmit | receive receives
start starts begin begins | end ends stop stops
input | output
allow allows allowed permits permitted | forbid forbids forbidden prohibits prohibited
include includes included | exclude excludes excluded
positive | negative
sender source | receiver destination
encode encoding | decode decoding
""".strip().splitlines()
)


def contrary(word: str, other: str) -> bool:
    """Whether one comparing word is the opposite of another."""
    mine, theirs = ({bare(w) for w in words_of(text)} for text in (word, other))
    return any(mine & a and theirs & b or mine & b and theirs & a for a, b in OPPOSITES)


def has_like(word: str, text: str) -> bool:
    """Whether a text moves a thing the same way as a word that moves it: lowered, dropped, reducing."""
    mine, theirs = ({bare(w) for w in words_of(t)} for t in (word, text))
    return any(mine & side and theirs & side for pair in OPPOSITES for side in pair)
