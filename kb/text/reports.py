"""How a sentence says that something tried went: it failed, it stayed, or it is still to be tried. Words of no field in particular."""

import re
from enum import StrEnum
from functools import lru_cache
from itertools import chain
from typing import NamedTuple

from kb import grouped, languages, regex
from kb.languages import spellings


class ReportKind(StrEnum):
    FAILED = "failed"
    STAYED = "stayed"
    OPEN = "open"


_NOT = r"(?:n['’]t| not| never)(?: really| actually| even| any| much)?"
_THEM = r"(?: (?:it|them|that|this))?"
# It was of no use, or made things worse.
_OF_NO_USE = (
    rf"\b(?:(?:did|has|have|had|was|were){_NOT} (?:help|pay|matter|improv|chang|gain|converge|scale|budge|fire|pan out|make [\w ]{{1,24}}? (?:difference|\w+er\b)|"
    rf"(?:any )?(?:faster|better|smaller)|worth)\w*|did{_NOT} (?:work|lower|raise|reduce|cut|speed|save|bring)\b|not worth (?:it|the)\b|"
    r"(?:never|hardly|barely) (?:helped|paid|fired|worked|moved|improved|beats?|beaten)\b|\bunderperform(?:s|ed)\b|"
    r"no (?:\w+ ){0,2}?(?:effect|gain|improvement|difference|benefit|win|speed-?up|luck|joy|faster|better|advantage|payoff|upside)\b|(?:an? |total |complete )(?:disappointment|dead weight|dead end|mistake|wash|net loss|waste|failure|flop|dud|step back(?:ward)?s?|non-starter)\b|l(?:ost|oses|osing) (?:out )?to (?:the|our|a|an|plain)\b|(?:ate|eats|cancel(?:l?ed|s)|outweigh(?:ed|s)|swallow(?:ed|s)) (?:up )?(?:everything|any|all|the|every|whatever|most)\b|within (?:[\w-]+ )?(?:variance|error bars?|jitter|the margin)\b|"
    r"(?:brought|gained|bought|gave|saved|changed|achieved|yielded|made)(?: \w+)? (?:nothing|no (?:difference|sense))\b|nothing (?:chang|gain|mov)\w+|"
    r"without (?:any )?(?:effect|gain|benefit|improvement|success)\b|(?:to no avail|in vain|pointless|useless|unusable|nope|no-op|(?:with)?in (?:the )?noise)\b|"
    r"(?<!no )(?<!zero )(?<!without )(?:regress(?:ed|es|ion)|hurts?|harmed|degraded|worsened|diverged?|overfit(?:s|ted)?|backfired|refuted|falsified|disproved|failed to (?:help|converge|improve|pay))\b|"
    r"(?:made (?:it|things|matters|[\w ]{1,30}?)|became|got|was|were|ran|came out|grew)(?: [\d.]+ ?%)? (?:\w+ )?(?:slower|worse|flat|noisier|more (?:frequent|often))\b|"
    r"costs? (?:us )?[\d.]+ ?(?:%|pp\b)|too (?:slow|costly|expensive)\b|(?:is|are) (?:worse|slower)\b|(?:worse|weaker) than\b|[\d.]{1,12} ?(?:%|x|×|times|pp|ms|s) (?:\w+ )?(?:slower|worse)\b|took (?:twice|\w+ times) as long\b)|"
    r"^\W*no change\b|(?:^|[,;:] )(?:\w+ )?(?:slower|worse)\b|\bso no(?=\W*$)"
)
# What was there before stays, or the change does not go in.
_OLD = r"(?:default|baseline|control|current|existing|old|original|previous|shipped|vanilla|stock|status quo)"
_NOT_TAKEN = (
    rf"\b(?:(?:keep|keeps|kept|keeping|stays?|stick|remains?) (?!as )(?:(?:at|with|on|to|its|the|our) )*(?:[\w.-]+ )?{_OLD}\b|"
    rf"(?<!new ){_OLD}(?: \([^()]*\))?(?: [\w.=-]+){{0,2}} (?:stays?|remains?|is (?:kept|preferable|better|faster|superior)|does not need|wins|won)\b|"
    r"(?:not|never|no|none|won['’]t)(?: going to)?(?: be(?:ing)?| was| were)? (?:merg|promot|adopt|justif|ship(?:p|\b)|land(?:ing|ed)|enabl(?:ed|ing))\w*\b(?! (?:need|requir|conflict)))"
)
# What is done is of no use: of an action, or of what stands where something tried is spoken of.
_USELESS = (
    r"(?:do|does|can|could)(?:n['’]t|not| not) (?:really |actually |materially |meaningfully )?(?:help|work|pay|replace|exceed|outperform|transfer|fix|improve|matter|beat|speed|shorten|raise|reduce|lower|cut|move|change|be (?:ported|used))\b|"
    r"\b(?:is|are|was|were) not (?:the |a )?(?:levers?|bottleneck|answer)\b"
)
# It was taken back.
_TAKEN_BACK = (
    r"(?:^\W*(?=\w+(?:\W*$|[.,;:]|\s+(?:it|after|because|as|since|by|on|for|again|the same|in|within|when)\b))|\b(?:we|(?<!what )was|(?<!what )were|been|and|then|so|all)(?: nevertheless| therefore| finally)? |[,;] (?=\w+\W*$))(?:reverted|rejected|abandoned|withdrawn|undone|undid|dropped|removed|scrapped|shelved|killed|axed|nixed|binned|given up|left (?:it )?(?:off|out)|turned (?:it )?off|switched off|not used)\b|"
    rf"\b(?:(?:rolled(?!{_THEM} out)|backed|taken|took|taking|ripped|pulled|thrown|threw){_THEM} (?:out|back|away)\b|took [\w ]{{1,24}}? back\b|did{_NOT} keep\b|"
    rf"(?:we reverted|reverted it|withdrew|(?:gave|given){_THEM} up|(?:went|gone|switched|turned|moved|came|fell|are|is|now)(?: \w+)? back (?:to|at|on)|(?<!\w )back to (?:the|\W*\w+\W*$)|"
    rf"(?:on|off|out|removed|deleted|so we \w+{_THEM}) again|we (?:stay|stayed|remain|stick|stuck) (?:at|with|on|to)(?! (?:it|them|this)\b)|(?:staying|stick|sticking) (?:at|with)(?! (?:it|them|this)\b)|"
    r"so (?:we (?:dropped|removed)|(?:it|they) (?:was|were) (?:removed|dropped|deleted))|not kept|(?:the|that|this|my|our) (?:code|branch|patch|change|experiment|feature|prototype) (?:is|was|got|has been) (?:gone|deleted|removed|dropped|closed|abandoned)|no-go|won['’]t (?:do|fix|pursue))|not (?:used|selected|chosen|pursued|kept|adopted|merged)\W*$)|"
    # Behind a figure it says what follows from it; elsewhere what a thing spares ("one pass, so no copies").
    r"\d[^.]{0,60}?[,;] so no(?: [\w-]+){1,2}(?=\W*$)"
)
# What went wrong; of something that was tried only where the text says so otherwise.
_WENT_WRONG = r"\b(?:crash(?:ed|es)|broke|hung|deadlocked|oom(?:ed|s)?|thrash\w*|stalled|corrupted|leaked|(?<!no )(?<!none )(?<!0 )failed|out of memory|(?<!no )lost|logged out|ate (?:up )?the)\b"
# It is done, or in use.
_DONE = r"✅|✔|\b(?:done\b(?! (?:it|this|that))|(?:rolled out|shipped|merged|adopted|landed(?! (?:below|above|at|between|within|near|around|short)\b)|works now)\b)|\(\s*\+?\d[\d.]*\s?[x×]\s*\)"
_IN_USE = r"\b(?<!not )(?:stays(?! (?:at|with))|(?:stay|stick)(?:s|ing)? with (?:it|them|this)\b|has stayed|kept|keeping it|in (?:production|use)|(?<!a )(?<!-)fixed(?! \w|-)|solved|supersed\w+|upgraded)\b"
_OF_USE = r"\b(?:(?:was|is) an? (?:\w+ )?win|works|worked|beats|outperforms|the best|helped|improved|paid off|good|gone down|better|faster)\b"
_UNTRIED = (
    r"\b(?:(?<!could )(?<!can )(?<!did )(?:not|never|nobody (?:has )?|hasn['’]t|has not|haven['’]t|have (?:not|never)|wasn['’]t|was not|un)[ -]?(?:yet |ever |been |really )*"
    r"(?:tried|tested|run|done|validated|measured|looked)\b|(?:to be tried|todo|tbd|pending|planned|(?:could|might|may) be worth)\b)"
)
# A goal, and what was before the change, unless the sentence goes on to what came of it.
_BEFORE_IT = (
    r"^\W*(?:(?:(?:the|our) )?(?:goal|aim|objective)s?\b(?: \w+){0,4}[\s*_]*(?:[:–—]|(?:is|was)\b)|targets?[\s*_]*[:–—](?!.*,)|(?:before|until|prior to|previously)\b)"
    r"(?!.*(?:;|\b(?:after|now|but|yet|then|since|instead|got|reached|missed)\b))"
)
# What nothing became is no failure ("no stage got slower").
_NOT_WORSE = r"\b(?:no|none|neither|nothing|zero) (?:[\w-]+ ){0,3}?(?:(?:got|was|were|is|are|ran|became|grew) (?:any )?(?:slower|worse)|regressed|crashed|broke|failed|degraded|worsened)\b"
# What holds under a condition, or might, reports nothing.
_SUPPOSES = (
    r"^\W*(?:if|when|unless|where|wenn|si|do not|don['’]t|never)\b|\b(?:would|might|may|could be|maybe|perhaps|should|always|usually|typically|generally|makes)\b|"
    r"^\W*+[^.:–—]{2,40}?[\s*]*[:–—-]\s*an? \w+ (?:that|which|of|for|where)\b"
)


# Scripts that set no blanks: a word of theirs may stand anywhere.
_UNSPACED = "\u2e7f"


def _words(*notions: str) -> list[str]:
    """What other languages write for some notions, those of verdicts among them."""
    tables = (languages.REPORTS, languages.VERDICTS)
    return [word for name in notions for table in tables for word in spellings(table, name)]


def _stems(*notions: str) -> str:
    spaced = "|".join(w for w in _words(*notions) if w[0] <= _UNSPACED)
    # A participle that is inflected before a noun ("verworfene Ansätze") names things and reports nothing.
    denials = "".join(f"(?<!{word} )" for word in languages.DENIALS)
    spaced = rf"(?<![^\W_]){denials}(?:{spaced})(?!(?<=[nt])e[nrms]?\b)"
    before, behind = languages.DENIED_IN.split(), languages.DENIED_BEHIND.replace(" ", "|")
    unspaced = "|".join(w for w in _words(*notions) if w[0] > _UNSPACED)
    denied = "".join(f"(?<!{word})" for word in before)
    return rf"{spaced}|(?=[^\0-{_UNSPACED}]){denied}(?:{unspaced})(?!\w{{0,3}}? ?(?:{behind}))"


def _denied(*notions: str) -> str:
    """Some notions turned round: denied as their language does it, with two words between."""
    stems = "|".join(_words(*notions))
    before = "|".join(languages.DENIALS)
    return rf"(?<![^\W_])(?:{before})['’]? (?:\w+ ){{0,2}}?(?:{stems})|{languages.denied(stems)}"


class _Reading(NamedTuple):
    """What words report: `final` where they say what was done in the end, `wrong` where they count of something tried alone."""

    report: ReportKind | None
    final: bool
    words: re.Pattern[str]
    wrong: bool = False


# In the order in which they count: other languages by their stems, and by what they deny. Looked for in lower case.
_READINGS = tuple(
    _Reading(report, final, regex(words), wrong)
    for report, final, wrong, words in (
        # Nobody is to try it once more.
        (
            ReportKind.FAILED,
            True,
            False,
            r"\b(?:do not|don['’]t|never) (?:re-?(?:propose|attempt|visit|introduce)|try (?:it|this|that) again)\b",
        ),
        (ReportKind.OPEN, True, False, _UNTRIED),
        (None, False, False, _SUPPOSES),
        (ReportKind.FAILED, True, False, f"{_TAKEN_BACK}|{_NOT_TAKEN}"),
        (ReportKind.STAYED, True, False, f"{_DONE}|{_IN_USE}"),
        (None, False, False, f"{_BEFORE_IT}|{_NOT_WORSE}"),
        (ReportKind.FAILED, False, False, _OF_NO_USE),
        (ReportKind.FAILED, False, True, f"{_WENT_WRONG}|{_USELESS}"),
        (ReportKind.STAYED, False, False, _OF_USE),
        (ReportKind.OPEN, True, False, _stems("open")),
        (None, False, False, _stems("supposed")),
        (ReportKind.FAILED, True, False, _stems("refuted", "failed")),
        (
            ReportKind.FAILED,
            False,
            False,
            f"{_stems('worse')}|{_denied('better', 'use', 'kept', 'supported')}",
        ),
        (ReportKind.STAYED, True, False, _stems("kept", "supported")),
        (ReportKind.STAYED, False, False, _stems("better")),
        (ReportKind.FAILED, False, True, "|".join(_words("refuted", "failed", "wrong"))),
    )
)
_ENGLISH = 9
# Every reading of another language holds one of these: looked for where four letters (of the shorter ones, which are no Latin, two) are theirs.
_FOREIGN = grouped((tuple(word[: 4 if len(word) > 3 else 2]), word) for word in {*_words("open", "refuted", "failed", "wrong", "worse", "better", "use", "kept", "supported")})  # fmt: skip
_SETTLED = regex(f"{_UNTRIED}|{_DONE}")
# What was turned down or failed, and was taken up again with success.
_REVIVED = ("retried successfully", "retried with success", "overturned", "reinstated")
# A sentence that opens so speaks of what the one before it names.
_REFERS = regex(
    r"\W*(?:(?:that|this|it|we|they|these|those|no|nope|none|both|so|then|but|and|worse|slower|nothing|\w+ed|gave up|not|the (?:change|idea|result|gain))\b|[^\W\d]{3,}[:：])",
    re.IGNORECASE,
)


def is_settled(text: str) -> bool:
    """Whether a text says anywhere that a thing is done, or was never tried: then it names no failure, whatever else it says."""
    return bool(_SETTLED.search(text.lower()))


def is_revived(text: str) -> bool:
    """Whether a text says that what it tells of was taken up again with success."""
    lower = text.lower()
    return any(words in lower for words in _REVIVED)


def _readings_of(lower: str) -> tuple[_Reading, ...]:
    fours, twos = zip(lower, lower[1:], lower[2:], lower[3:]), zip(lower, lower[1:])  # noqa: B905
    heads = _FOREIGN.keys() & (fours if lower.isascii() else chain(fours, twos))
    foreign = heads and any(word in lower for head in heads for word in _FOREIGN[head])
    return _READINGS if foreign else _READINGS[:_ENGLISH]


# Cards, notes and leads ask for the same sentences, one after the other.
@lru_cache(maxsize=4096)
def report_of(sentence: str, *, is_try: bool = False) -> tuple[ReportKind | None, bool]:
    """(what one sentence reports, whether it says what was done with it in the end). `is_try`: it stands where something tried is
    spoken of, so that what went wrong is what it came to.
    """
    for reading in _readings_of(lower := sentence.lower()):
        if (is_try or not reading.wrong) and reading.words.search(lower):
            return reading.report, reading.final
    return None, False


def names_failures(title: str) -> bool:
    """Whether a heading (in small letters) of another language than English says that what stands below failed."""
    foreign = _readings_of(title)[_ENGLISH:]
    return any(r.report is ReportKind.FAILED and r.words.search(title) for r in foreign)


def is_supposed(sentence: str) -> bool:
    """Whether a sentence (in small letters) holds under a condition, might, is a goal or tells of before the change, and reports nothing."""
    return any(r.words.search(sentence) for r in _READINGS if r.report is None)


def is_referring(sentence: str) -> bool:
    """Whether a sentence speaks of what the one before it names."""
    return bool(_REFERS.match(sentence)) or len(sentence.split()) < 6
