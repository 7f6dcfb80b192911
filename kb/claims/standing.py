"""Whether the source itself stands by what is quoted: not what it tells of others or of earlier editions, takes back, or orders its reader to do."""

import re

from kb.claims.case import ClaimCase, telling
from kb.claims.figures import numbers_of
from kb.source import marks_of

# What says that something is, or was, wrong.
_WRONG = re.compile(
    r"\b(?:wrong|false|untrue|incorrect|mistake[ns]?|mistaken|misread|withdrawn|retracted|superseded|obsolete|disproved|corrected|corrects?|omitted|reverted|"
    r"no longer|(?:is|was|are|were)(?: not|n['’]t) (?:true|right|correct)|not true|could not (?:be )?(?:reproduced?|confirm\w*)|nothing\b[^.]{0,30}\bsupports?|take\b[^.]{0,10}\bback|takes? back|replaces? it|"
    r"in #\d+ i (?:wrote|said)|i had (?:written|read|said)|changed in)\b",
    re.IGNORECASE,
)
# What stands in its place, behind these.
_INSTEAD = re.compile(
    r"\b(?:actually|corrects? (?:this|it|that) to|corrected to|it (?:is|has|was)|(?:is|are) now|turned out to be|in fact)\b|[:;]\s", re.IGNORECASE
)
# A sentence that only says no: "It is not", "They do not".
_NO = re.compile(
    r"^\W*(?:@\w+\s+)?(?:no\b[.,]|(?:(?:so|but|and)\s+)?(?:it|that|this|they|he|she|which)\s+(?:(?:is|was|are|were|does|do|did|has|have|can|would|will)\s?n(?:o|['’])t)\b\s*(?:[.,;:]|$|true|right|correct|so\b|the case)"
    r"|that is true of\b|(?:that|this|it) (?:is|was) (?:wrong|false|a mistake|untrue))",
    re.IGNORECASE,
)
# What is told of an earlier text, or of what somebody said.
_OUTDATED = re.compile(
    r"\b(?:(?:earl(?:y|ier)|previous|original|former|conference|first|second|old) (?:\w+ )?(?:edition|version|draft|note|post|release|preprint|guide)s?\b(?:(?! is | are )[^.;])*?\b(?:said|says|gave|gives|listed|reported|stated|recommended|claimed)"
    r"|(?:version|edition) \d\S* of this|the \S*\d\S* (?:edition|notes?|version) (?:\w+ ){0,3}?(?:said|gave|listed|reported|stated|recommended)"
    r"|(?:i|we)(?: had| also| once| first)* (?:wrote|written|claimed|said|stated|thought|read)\b|in the \S+ version we|was given as|used to be|formerly|until (?:version|v?\d)"
    r"|(?:someone|somebody|one user|a (?:user|reader)|everybody|everyone|people|some) (?:\w+ ){0,5}?(?:wrote|writes|says?|said|knows?|claims?|claimed|measured|told|thinks?|reports?|reported)"
    r"|(?:everybody|everyone) knows|my guess|guaranteed|allegedly|reportedly|supposedly|rumou?r\w*)\b",
    re.IGNORECASE,
)
_ATTRIBUTED = re.compile(
    r"\b(?:according to|said|says|wrote|claim(?:s|ed)|report(?:s|ed)|guess\w*|stated|told|listed|earlier|formerly|previous\w*|used to|until|was given|were|was|had|did)\b",
    re.IGNORECASE,
)
# What a source sets a value against: the value that no longer holds.
_OLD_VALUE = re.compile(r"\b(?:instead of|rather than|down from|up from|formerly|previously|used to be)\s+[^,;.\d]{0,20}$", re.IGNORECASE)
_PAST = re.compile(r"\b(?:was|were|had|did|from|before|until|previous\w*|formerly|earlier|instead|used to|fell|rose|\w+ed)\b", re.IGNORECASE)


_TAKES_BACK = re.compile(
    r"\W*(?:but |and |however, )?(?:(?:that|this|it|they|which|the (?:figure|value|number|claim|statement)s?)\b|superseded|changed|obsolete|reverted|nothing\b.*\bthis|we could not|.{0,40}\b(?:that|this) (?:is|was) )",
    re.IGNORECASE,
)


def told(case: ClaimCase) -> str:
    """What an earlier edition said, or somebody else, is claimed as theirs."""
    found = _OUTDATED.search(case.sentence)
    own = found and telling(case.claim) & telling(found[0])
    if found and not _ATTRIBUTED.search(case.claim) and not _after_instead(case):
        return f"the source tells that of others or of an earlier text (“{' '.join(found[0].split())[:60]}”): say whose word it is, or leave it"
    old = [n for n in numbers_of(case.quote) if _OLD_VALUE.search(case.quote[: n.start])]
    claimed = {n.value for n in numbers_of(case.claim)}
    if any(n.value in claimed for n in old) and not _PAST.search(case.claim):
        return f"in the quote {next(n.value for n in old if n.value in claimed):g} is what held before"
    return ""


def taken_back(case: ClaimCase) -> str:
    """What the source takes back, there or later, or the next speaker denies, is no claim."""
    if _WRONG.search(case.claim):
        return ""
    if _NO.match(case.after) or _NO.match(case.reply):
        return f"what follows denies it: “{' '.join((case.after if _NO.match(case.after) else case.reply).split())[:60]}”"
    wrong = _WRONG.search(case.after)
    if wrong and _TAKES_BACK.match(case.after) and not _after_instead(case):
        return f"what follows takes it back: “{' '.join(case.after.split())[:60]}”"
    mine = telling(case.claim)
    claimed = {abs(n.value) for n in numbers_of(case.claim)}
    for before, sentence in case.sentences:
        if not _WRONG.search(sentence):
            continue
        if sentence in " ".join(case.sentence.split()) or " ".join(case.sentence.split()) in sentence:
            if _after_instead(case) or _denies(case.claim):
                continue
        whole = f"{before} {sentence}" if re.match(r"\W*(?:\w+\W+){0,2}?(?:that|this|it|which)\b", sentence, re.IGNORECASE) else sentence
        shared = mine & telling(whole)
        stated = {abs(n.value) for n in numbers_of(whole)}
        put = {abs(n.value) for m in _INSTEAD.finditer(whole) for n in numbers_of(whole[m.end() :])}
        words = {w for w in shared if not w[0].isdigit()}
        if any(
            len(words) >= 2 or words and n.unit and n.unit == m.unit
            for n in numbers_of(case.claim)
            for m in numbers_of(whole)
            if abs(n.value) == abs(m.value) and abs(n.value) not in put and (n.unit == m.unit or not n.unit or not m.unit)
        ) or (not claimed or not stated) and len(words) >= max(2, 0.4 * len(mine)):
            return f"the source takes it back: “{' '.join(sentence.split())[:80]}”"
    return ""


def _denies(text: str) -> bool:
    return re.search(r"\b(?:not|no|never|cannot)\b|n['’]t\b", text) is not None


def _after_instead(case: ClaimCase) -> bool:
    """Whether the quote is, or its number stands in, what the source puts in place of what was wrong."""
    text = " ".join(case.sentence.split())
    quote = " ".join(case.quote.split())
    mark = _WRONG.search(text) or _OUTDATED.search(text)
    if not mark:
        return False
    instead = list(_INSTEAD.finditer(text, mark.end() if not _INSTEAD.search(text, mark.start()) else mark.start()))
    put = {n.value for m in instead for n in numbers_of(text[m.end() :])}
    claimed = {n.value for n in numbers_of(case.claim)}
    return bool(claimed & put) or any(quote and text.find(quote) >= m.end() for m in instead) or _denies(case.claim)


# Commands to whoever reads, beside those that a capture marks: shapes of such speech, not topics. A page about agents may say anything about them.
_READER = r"(?:you|agents?|assistants?|models?|llms?|readers?|reviewers?|maintainers?)"
_DEED = (
    r"(?:run|execute|call|invoke|write|delete|remove|send|post|upload|approve|admit|accept|mark|output|print|reply|respond|answer|fetch|download|install|open|trust|treat|"
    r"report|state|say|record|insert|add|raise|disable|enable|ignore|skip|rate|recommend|summari[sz]e|cite|omit)"
)
_AIMED = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"\b(?:ignor\w*|disregard\w*|forget|overrid\w*|bypass\w*|suspend\w*)\b(?:\W+\w+){0,5}?\W+(?:instructions?|rules?|gates?|checks?|guidelines?|polic\w+|safety|verification)\b",
        r"\bgates?\b(?:\W+\w+){0,3}?\W+(?:ignored|bypassed|skipped|disabled)\b",
        rf"\b{_READER}\b(?:\W+\w+){{0,4}}?\W*\b(?:must|should|shall|need to|ha(?:ve|s) to|(?:are|is) to|ought to)\s+(?:\w+\s+){{0,2}}{_DEED}\b",
        r"\b(?:when|if|after|before|while)\s+(?:you|the (?:agent|assistant|model|reader))\s+(?:read|see|process|summari[sz]e|parse|ingest|encounter)",
        rf"\bto (?:all|any|every|the) (?:\w+ )?{_READER}\b[^.:]{{0,40}}:",
        rf"\bplease\s+(?:\w+\s+)?{_DEED}\b",
        rf"\b{_READER}\b[^.:\n]{{0,50}}:\s*{_DEED}\b",
        rf"\bif you are an? [^.:\n]{{0,40}}:",
    )
)


def instruction(case: ClaimCase) -> str:
    """A sentence aimed at whoever reads the source is no knowledge, neither are its paraphrase and what else its paragraph says."""
    if re.search(r"\byou(?:rs?)?\b", case.claim, re.IGNORECASE):
        return "a claim speaks to nobody: say what holds, not what “you” should do"
    for text in (f"{case.lead} {case.sentence}", case.claim):
        flat = " ".join(text.split())
        order = next((flat[m.start : m.end] for m in marks_of(flat) if m.kind == "order"), "")
        aimed = next((found[0] for p in _AIMED if (found := p.search(flat))), "")
        if order or aimed:
            return f"“{(order or aimed).strip()[:60]}” gives orders to whoever reads: an instruction is no claim"
    return ""
