"""How a sentence says that something tried went: it failed, it stayed, or it is still to be tried. Words of no field in particular."""

import re
from enum import StrEnum

from kb.text.sentences import sentences_of


class Report(StrEnum):
    FAILED = "failed"
    STAYED = "stayed"
    OPEN = "open"


_NOT = r"(?:n['’]t| not| never)(?: really| actually| even| any| much)?"
_THEM = r"(?: (?:it|them|that|this))?"
# It was of no use, or made things worse.
_OF_NO_USE = re.compile(
    rf"\b(?:did|has|have|had|was|were){_NOT} (?:help|pay|matter|improv|chang|gain|converge|scale|budge|fire|pan out|make [\w ]{{1,24}}? (?:difference|\w+er\b)|"
    rf"(?:any )?(?:faster|better|smaller)|worth)\w*|\bdid{_NOT} (?:work|lower|raise|reduce|cut|speed|save|bring)\b|\bnot worth (?:it|the)\b|"
    r"\b(?:never|hardly|barely) (?:helped|paid|fired|worked|moved|improved)\b|"
    r"\bno (?:\w+ ){0,2}?(?:effect|gain|improvement|difference|benefit|win|speed-?up|luck|joy|faster|better)\b|^\W*no change\b|"
    r"\b(?:brought|gained|bought|gave|saved|changed|achieved|yielded|made)(?: \w+)? (?:nothing|no (?:difference|sense))\b|\bnothing (?:chang|gain|mov)\w+|"
    r"\bwithout (?:any )?(?:effect|gain|benefit|improvement|success)\b|\b(?:to no avail|in vain|pointless|useless|unusable|nope|no-op|(?:with)?in (?:the )?noise)\b|"
    r"\b(?:regress(?:ed|es|ion)|hurts?|harmed|degraded|worsened|diverged?|overfit(?:s|ted)?|backfired|refuted|falsified|disproved|failed to (?:help|converge|improve|pay))\b|"
    r"\b(?:made (?:it|things|matters|[\w ]{1,30}?)|became|got|was|were|ran|came out|grew)(?: [\d.]+ ?%)? (?:\w+ )?(?:slower|worse|flat|noisier|more (?:frequent|often))\b|"
    r"(?:^|[,;:] )(?:\w+ )?(?:slower|worse)\b|\bworse than\b|\b[\d.]+ ?(?:%|x|×|times|pp|ms|s) (?:\w+ )?(?:slower|worse)\b|\btook (?:twice|\w+ times) as long\b",
    re.IGNORECASE,
)
# It was taken back.
_TAKEN_BACK = re.compile(
    r"(?:^\W*(?=\w+(?:\W*$|[.,;:]|\s+(?:it|after|because|as|since|by|on|again|the same|in|within|when)\b))|\b(?:we|was|were|been|and|then|so) |[,;] (?=\w+\W*$))(?:reverted|rejected|abandoned|withdrawn|undone|dropped|removed|scrapped|binned|given up|not used)\b|"
    rf"\b(?:rolled|backed|taken|took|taking|ripped|pulled|thrown|threw){_THEM} (?:out|back|away)\b|\btook [\w ]{{1,24}}? back\b|\bdid{_NOT} keep\b|"
    rf"\b(?:we reverted|reverted it|withdrew|(?:gave|given){_THEM} up|(?:went|gone|switched|turned|moved|came|fell|are|is|now)(?: \w+)? back (?:to|at|on)|back to (?:the|\W*\w+\W*$)|"
    rf"(?:on|off|out|removed|deleted|so we \w+{_THEM}) again|we (?:stay|stayed|remain|stick|stuck) (?:at|with|on|to)|(?:staying|stick|sticking) (?:at|with)|"
    r"so (?:no\b|we (?:dropped|removed)|(?:it|they) (?:was|were) (?:removed|dropped|deleted))|not (?:pursued|kept)|the (?:code|branch) is (?:gone|deleted))|\bnot used\W*$",
    re.IGNORECASE,
)
# What went wrong; of something that was tried only where the text says so otherwise.
_WENT_WRONG = re.compile(
    r"\b(?:crash(?:ed|es)|broke|hung|deadlocked|oom(?:ed|s)?|thrash\w*|stalled|corrupted|leaked|failed|out of memory|(?<!no )lost|logged out|ate (?:up )?the)\b",
    re.IGNORECASE,
)
# It is done, or in use.
_DONE = re.compile(
    r"✅|✔|\bDONE\b|\b(?:shipped|merged|adopted|landed|works now)\b|\(\s*\+?\d[\d.]*\s?[x×]\s*\)",
    re.IGNORECASE,
)
_IN_USE = re.compile(
    r"\b(?<!not )(?:stays(?! (?:at|with))|has stayed|kept|keeping it|in (?:production|use)|fixed|solved|supersed\w+|upgraded)\b",
    re.IGNORECASE,
)
_OF_USE = re.compile(
    r"\b(?:works|worked|helped|improved|paid off|good|gone down|better|faster)\b", re.IGNORECASE
)
_UNTRIED = re.compile(
    r"(?<!could )(?<!can )(?<!did )\b(?:not|never|nobody (?:has )?|hasn['’]t|has not|haven['’]t|have (?:not|never)|wasn['’]t|was not|un)[ -]?(?:yet |ever |been |really )*"
    r"(?:tried|tested|run|done|validated|measured|looked)\b|\bto be tried\b|\bTODO\b|\bTBD\b|\bpending\b|\bplanned\b|\b(?:could|might|may) be worth\b",
    re.IGNORECASE,
)
# What holds under a condition, or might, reports nothing.
_SUPPOSES = re.compile(
    r"^\W*(?:if|when|unless|where|wenn|si)\b|\b(?:would|might|may|maybe|perhaps|should|always|usually|typically|generally|makes)\b|"
    r"^\W*[^.:–—]{2,40}?[\s*]*[:–—-]\s*an? \w+ (?:that|which|of|for|where)\b",
    re.IGNORECASE,
)
# A sentence that opens so speaks of what the one before it names.
_REFERS = re.compile(
    r"\W*(?:that|this|it|we|they|these|those|no|nope|none|both|so|then|but|and|worse|slower|nothing|\w+ed|gave up|not|the (?:change|idea|result|gain))\b",
    re.IGNORECASE,
)


def is_settled(text: str) -> bool:
    """Whether a text says anywhere that a thing is done, or was never tried: then it names no failure, whatever else it says."""
    return bool(_UNTRIED.search(text) or _DONE.search(text))


def report_of(sentence: str, *, is_try: bool = False) -> tuple[Report | None, bool]:
    """(what one sentence reports, whether it says what was done with it in the end). `is_try`: it stands where something tried is
    spoken of, so that what went wrong is what it came to.
    """
    if _UNTRIED.search(sentence):
        return Report.OPEN, True
    if _SUPPOSES.search(sentence):
        return None, False
    if _TAKEN_BACK.search(sentence):
        return Report.FAILED, True
    if _DONE.search(sentence) or _IN_USE.search(sentence):
        return Report.STAYED, True
    if _OF_NO_USE.search(sentence) or is_try and _WENT_WRONG.search(sentence):
        return Report.FAILED, False
    return Report.STAYED if _OF_USE.search(sentence) else None, False


def report_in(text: str, *, is_try: bool = False) -> tuple[Report | None, int]:
    """(what a stretch reports, the place of the sentence that says so first): what was done in the end counts before what was measured."""
    reports = [report_of(sentence, is_try=is_try) for sentence in sentences_of(text)]
    last = next((report for report, final in reports if final), None)
    report = last or next((report for report, _ in reports if report), None)
    return report, next((at for at, (own, _) in enumerate(reports) if own is report), 0)


def failure_in(text: str) -> tuple[str, str] | None:
    """(what was tried, why it failed) of a stretch that reports a failure; None of any other."""
    report, at = report_in(text)
    if report is not Report.FAILED:
        return None
    sentences = sentences_of(text)
    refers = _REFERS.match(sentences[at]) or len(sentences[at].split()) < 6
    first = max(0, at - 2) if refers else at
    return " ".join(sentences[first : at + 1]), " ".join(sentences[at:])
