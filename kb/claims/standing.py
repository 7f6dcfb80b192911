"""Whether the source itself stands by what is quoted: not what it tells of others or of earlier editions, takes back, or orders its reader to do."""

import re

from kb.claims.case import ClaimCase, meant, telling
from kb.claims.cues import CUES, has
from kb.claims.figures import numbers_of
from kb.source import marks_of
from kb.text import words_of

# A sentence that only says no: "It is not", "They do not".
_NO = re.compile(
    r"^\W*(?:@\w+\s+)?(?:no\b[.,]|not (?:with|if|on|in|for|when|since|any)\b|(?:fixed|resolved|corrected)\b|(?:(?:so|but|and)\s+)?(?:it|that|this|they|he|she|which)\s+(?:(?:is|was|are|were|does|do|did|has|have|can|would|will)\s?n(?:o|['’])t)\b\s*(?:[.,;:]|$|true|right|correct|so\b|the case)"
    r"|that is true of\b|(?:it|they|that|this) (?:do|does|did)\b(?! not)|(?:that|this|it) (?:is|was) (?:wrong|false|a mistake|untrue))",
    re.IGNORECASE,
)
# What a source sets a value against: the value that no longer holds.
_OLD_VALUE = re.compile(
    r"\b(?:instead of|rather than|down from|up from|formerly|previously|used to be)\s+[^,;.\d]{0,20}$",
    re.IGNORECASE,
)
_TAKES_BACK = re.compile(
    r"\W*(?:but |and |however, )?(?:(?:that|this|it|they|which|the (?:figure|value|number|claim|statement)s?)\b|superseded|changed|obsolete|reverted|nothing\b.*\bthis|we could not)",
    re.IGNORECASE,
)


def attribution(case: ClaimCase) -> str:
    """What an earlier edition said, or somebody else, is claimed as theirs."""
    opening = telling(" ".join(case.claim.split()[:2]))
    named = [name for name in case.speakers if opening & telling(name)]
    if case.speaker in named:
        return ""
    if named and case.speaker and not opening & telling(f"{case.quote} {case.sentence}"):
        return f"{case.speaker} says that, not {named[0]}"
    if has(case.claim, "others", "past"):
        return ""
    match = CUES["others"].search(f"{meant(case)} {case.quote}")
    if match and not _after_instead(case):
        return f"the source tells that of others or of an earlier text (“{_start(match[0])}”): say whose word it is, or leave it"
    claimed = {n.value for n in numbers_of(case.claim)}
    old = (n.value for n in numbers_of(case.quote) if _OLD_VALUE.search(case.quote[: n.start]))
    return next((f"in the quote {n:g} is what held before" for n in old if n in claimed), "")


def denied(case: ClaimCase) -> str:
    """What the next sentence, or the next speaker of a thread, denies or takes back is no claim."""
    for text in (case.after, *case.replies):
        if _NO.match(text):
            return f"what follows denies it: “{_start(text)}”"
    behind = case.sentence.partition(meant(case))[2].strip()
    for text in (
        behind if behind[:1].isalpha() and not has(case.claim, "wrong") else "",
        case.after,
    ):
        if has(text, "wrong") and _TAKES_BACK.match(text) and not _after_instead(case):
            return f"what follows takes it back: “{_start(text)}”"
    return ""


def _start(text: str) -> str:
    return " ".join(text.split())[:80]


def _after_instead(case: ClaimCase) -> bool:
    """Whether the quote is, or its number stands in, what the source puts in place of what was wrong."""
    text, quote = " ".join(case.sentence.split()), " ".join(case.quote.split())
    mark = CUES["wrong"].search(text) or CUES["others"].search(text)
    if not mark:
        return False
    behind = [m.end() for m in CUES["instead"].finditer(text, mark.start())]
    put = {n.value for at in behind for n in numbers_of(text[at:])}
    claimed = {n.value for n in numbers_of(case.claim)}
    return bool(claimed & put or has(case.claim, "denies")) or any(
        text.find(quote) >= at for at in behind
    )


def instruction(case: ClaimCase) -> str:
    """A sentence aimed at whoever reads the source is no knowledge, neither are its paraphrase and what else its paragraph says."""
    if not {"you", "your", "yours"}.isdisjoint(words_of(case.claim)):
        return "a claim speaks to nobody: say what holds, not what “you” should do"
    texts = (" ".join(t.split()) for t in (f"{case.lead} {case.sentence}", case.claim))
    orders = (t[m.start : m.end] for t in texts for m in marks_of(t) if m.kind == "order")
    order = next(orders, "").strip()[:60]
    return order and f"“{order}” gives orders to whoever reads: an instruction is no claim"
