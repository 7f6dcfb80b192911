"""Whether the source itself stands by what is quoted: not what it tells of others or of earlier editions, takes back, or orders its reader to do."""

import re

from kb.claims.case import ClaimCase, meant, telling
from kb.claims.cues import CUES, has
from kb.claims.figures import numbers_of
from kb.source import marks_of

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
    r"\W*(?:but |and |however, )?(?:(?:that|this|it|they|which|the (?:figure|value|number|claim|statement)s?)\b|superseded|changed|obsolete|reverted|nothing\b.*\bthis|we could not|.{0,40}\b(?:that|this) (?:is|was) )",
    re.IGNORECASE,
)


def attribution(case: ClaimCase) -> str:
    """What an earlier edition said, or somebody else, is claimed as theirs."""
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
    if has(case.after, "wrong") and _TAKES_BACK.match(case.after) and not _after_instead(case):
        return f"what follows takes it back: “{_start(case.after)}”"
    return ""


def taken_back(case: ClaimCase) -> str:
    """What the source takes back anywhere is no claim: a sentence there speaks of the same numbers, or in the same words, and says that it is wrong."""
    own = " ".join(case.sentence.split())
    settled = has(case.claim, "wrong") or _DENIES.search(case.claim)
    for before, sentence in case.sentences:
        beside = sentence in own or own in sentence
        if (
            not has(sentence, "wrong")
            or beside
            and (settled or has(case.quote, "wrong") or _after_instead(case))
        ):
            continue
        whole = f"{before} {sentence}" if _TAKES_BACK.match(sentence) else sentence
        if _speaks_of(whole, case.claim) and not has(case.claim, "wrong"):
            return f"the source takes it back: “{_start(sentence)}”"
    return ""


def _speaks_of(retraction: str, claim: str) -> bool:
    """Whether a retraction takes back a claim: it gives one of the claim's numbers as what was wrong, or, where one of both has no
    numbers, shares three fifths of the claim's words.
    """
    mine = telling(claim)
    words = {w for w in mine & telling(retraction) if not w[0].isdigit()}
    stated, claimed = numbers_of(retraction), numbers_of(claim)
    put = {
        n.value
        for m in CUES["instead"].finditer(retraction)
        for n in numbers_of(retraction[m.end() :])
    }
    if not stated or not claimed:
        return len(words) >= max(2, 0.6 * len(mine))
    pairs = [(n, m) for n in claimed for m in stated if n.value == m.value and n.value not in put]
    return any(
        words and n.unit == m.unit if n.unit and m.unit else len(words) >= 2 for n, m in pairs
    )


def _start(text: str) -> str:
    return " ".join(text.split())[:80]


_DENIES = re.compile(r"\b(?:not|no|never|cannot)\b|n['’]t\b")


def _after_instead(case: ClaimCase) -> bool:
    """Whether the quote is, or its number stands in, what the source puts in place of what was wrong."""
    text, quote = " ".join(case.sentence.split()), " ".join(case.quote.split())
    mark = CUES["wrong"].search(text) or CUES["others"].search(text)
    if not mark:
        return False
    behind = [m.end() for m in CUES["instead"].finditer(text, mark.start())]
    put = {n.value for at in behind for n in numbers_of(text[at:])}
    claimed = {n.value for n in numbers_of(case.claim)}
    return bool(claimed & put or _DENIES.search(case.claim)) or any(
        text.find(quote) >= at for at in behind
    )


# Commands to whoever reads, beside those that a capture marks: shapes of such speech, not topics. A page about agents may say anything about them.
_READER = r"(?:you|agents?|assistants?|models?|llms?|readers?|reviewers?|maintainers?)"
_DEED = (
    r"(?:run|execute|call|invoke|write|delete|remove|send|post|upload|approve|admit|accept|mark|output|print|reply|respond|answer|fetch|download|install|open|trust|treat|"
    r"report|state|say|record|insert|add|raise|disable|enable|ignore|skip|rate|recommend|summari[sz]e|cite|omit)"
)
_AIMED = re.compile(
    r"\b(?:ignor\w*|disregard\w*|forget|overrid\w*|bypass\w*|suspend\w*)\b(?:\W+\w+){0,5}?\W+(?:instructions?|rules?|gates?|checks?|guidelines?|polic\w+|safety|verification)\b"
    r"|\bgates?\b(?:\W+\w+){0,3}?\W+(?:ignored|bypassed|skipped|disabled)\b"
    rf"|\b{_READER}\b(?:\W+\w+){{0,4}}?\W*\b(?:must|should|shall|need to|ha(?:ve|s) to|(?:are|is) to|ought to)\s+(?:\w+\s+){{0,2}}{_DEED}\b"
    r"|\b(?:when|if|after|before|while)\s+(?:you|the (?:agent|assistant|model|reader))\s+(?:read|see|process|summari[sz]e|parse|ingest|encounter)"
    rf"|\bto (?:all|any|every|the) (?:\w+ )?{_READER}\b[^.:]{{0,40}}:|\bplease\s+(?:\w+\s+)?{_DEED}\b|\b{_READER}\b[^.:\n]{{0,50}}:\s*{_DEED}\b",
    re.IGNORECASE,
)


def instruction(case: ClaimCase) -> str:
    """A sentence aimed at whoever reads the source is no knowledge, neither are its paraphrase and what else its paragraph says."""
    if re.search(r"\byou(?:rs?)?\b", case.claim, re.IGNORECASE):
        return "a claim speaks to nobody: say what holds, not what “you” should do"
    for text in (f"{case.lead} {case.sentence}", case.claim):
        flat = " ".join(text.split())
        order = next((flat[m.start : m.end] for m in marks_of(flat) if m.kind == "order"), "")
        aimed = _AIMED.search(flat)
        if order or aimed:
            return f"“{(order or aimed[0]).strip()[:60]}” gives orders to whoever reads: an instruction is no claim"
    return ""
