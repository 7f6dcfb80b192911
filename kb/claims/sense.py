"""What a claim must keep of the sense of its quote: what is denied, on which condition it holds, what the source takes back, and that it orders nothing."""

import re

from kb.claims.case import BRACKETED, ClaimCase, all_words, telling
from kb.claims.cues import CUES, has
from kb.claims.figures import values_of
from kb.source import marks_of
from kb.text import stem, words_of

# "Not only", "no later than" and "nothing but" assert, "none of six" counts.
_DENIAL = re.compile(
    r"\b(?:not only|no (?:more|less|later|fewer|longer) than|nothing but|whether or not|than without|none of)\b"
    r"|(?P<word>\b(?:not|no|never|neither|nor|none|cannot|without|hardly|rarely|nothing|nobody|barely|scarcely|(?P<verb>fail(?:s|ed|ing)?|lack(?:s|ed|ing)?|rejected|refuses)|absent|unable|impossible)\b|n['’]t\b)"
)
# What stands between a denial and what it denies.
_IDLE = frozenset(
    "yet really actually quite always necessarily longer see saw observe observed find notice any".split()
)
# Where the clause of a word ends.
_ENDS = re.compile(r"[,;:.]\s|[()|]")
# A sentence that only says no: "It is not", "They do not".
_NO = re.compile(
    r"^\W*(?:@\w+\s+)?(?:no\b[.,]|not (?:with|if|on|in|for|when|since|any)\b|(?:fixed|resolved|corrected)\b|(?:(?:so|but|and)\s+)?(?:it|that|this|they|he|she|which)\s+(?:(?:is|was|are|were|does|do|did|has|have|can|would|will)\s?n(?:o|['’])t)\b\s*(?:[.,;:]|$|true|right|correct|so\b|the case)"
    r"|that is true of\b|(?:it|they|that|this) (?:do|does|did)\b(?! not)|(?:that|this|it) (?:is|was) (?:wrong|false|a mistake|untrue))",
    re.IGNORECASE,
)
_TAKES_BACK = re.compile(
    r"\W*(?:but |and |however, )?(?:(?:that|this|it|they|which|the (?:figure|value|number|claim|statement)s?)\b|superseded|changed|obsolete|reverted|nothing\b.*\bthis|we could not)",
    re.IGNORECASE,
)


# What a condition says up to its first comma, and the first three words of that.
_HEAD = re.compile(r"(?=((?:\s*[^\s,]+){0,3})).*?(?=, |$)", re.DOTALL)


def denials_of(text: str) -> list[tuple[str, frozenset[str]]]:
    """Words that deny, each with the stem of the first telling word behind it in its clause, or of two behind “no”: what it denies. Verbs
    deny all of it.
    """
    denials = []
    for match in _DENIAL.finditer(text.lower()):
        if match["word"]:
            # "No such overlap" denies the overlap.
            most = 0 if match["verb"] else 1 + (match["word"] == "no")
            denials.append((match["word"], frozenset(governed(text[match.end() :].lower())[:most])))
    return denials


def governed(behind: str) -> list[str]:
    """Stems of the telling words behind a word in its clause, in order: what it denies, or says it of."""
    clause = _ENDS.split(behind)[0]
    words = (stem(w) for w in words_of(clause) if w not in _IDLE)
    return [word for word in words if word in telling(clause)]


def _negatives_of(text: str) -> set[str]:
    """Stems of the words that say no in other words; a capital inside a sentence makes a name of one."""
    return {
        stem(m[0].lower())
        for m in CUES["negative"].finditer(text)
        if m[0].islower() or not any(map(str.isalpha, text[: m.start()]))
    }


def _shown_of(case: ClaimCase) -> str:
    """What the source says of what the claim is about: of a row those cells alone whose columns the claim names, or one that is quoted alone."""
    named, quote = all_words(case.spelt_out(case.claim)), case.quote.strip("| ")
    quoted = (c for c in case.table if c.quoted)
    cells = [c.text for c in quoted if all_words(c.header) & named or quote in c.text]
    aside = case.meant if "(" in case.quote else BRACKETED.sub(" ", case.meant)
    return " · ".join(cells) if case.table else aside


# Between these each figure has words of its own: “61.2 ms without tiling and 14.8 ms with”.
BETWEEN = re.compile(r"[;,·]\s|\.\s|\s(?:and|or|but|against|instead of)\s")
_APART = re.compile(r"\bwith\b.*\bwithout\b|\bwithout\b.*\bwith\b", re.DOTALL | re.IGNORECASE)


def _of_its_figures(case: ClaimCase, text: str) -> str:
    """A text without what belongs to other figures than the claim's; nothing of cases that it tells apart (“with”, “without”) where the
    claim has the figures of both.
    """
    claimed, parts = values_of(case.claim), [*map(str.strip, BETWEEN.split(text))]
    stated = [part for part in parts if values_of(part) & claimed]
    if len(set(stated)) > 1 and _APART.search(text):
        return ""
    own = [part for part in parts if part in stated or not values_of(part)]
    return " · ".join(own) if stated else text


def negation(case: ClaimCase) -> str:
    """What the quote, or the part of the sentence that it is cut from, denies the claim does not assert in the same words."""
    known = _negatives_of(f"{case.sentence} {case.quote}")
    if denials_of(case.claim) or _negatives_of(case.claim) - known:
        return ""
    claimed = telling(case.spelt_out(case.claim))
    shown = _shown_of(case) if case.table else f"{_shown_of(case)} · {case.quote}"
    denied = denials_of(_of_its_figures(case, shown))
    lost = [word for word, what in denied if not what or what & claimed]
    return f"the quote denies (“{lost[0]}”) what the claim asserts" if lost else ""


def condition(case: ClaimCase) -> str:
    """What holds on a condition only is claimed with that condition: with a word of its kind, or words of its own."""
    claimed = roots_of(telling(case.spelt_out(case.claim)))
    for match in CUES["condition"].finditer(case.meant):
        # What is excepted or lacks is named at once; behind that the sentence goes on.
        lacks = match[0].strip().lower().startswith(("except", "without"))
        own = telling(_HEAD.match(match["body"])[lacks])
        # What the main clause says as well does not tell that the condition was kept.
        own = own - telling(case.meant[: match.start()]) or own
        excepted = has(match[0], "exception") and has(case.claim, "exception")
        if own and not excepted and not roots_of(own) & claimed:
            return depends(match[0])
    return ""


def depends(words: str) -> str:
    """The reason that a claim left out words of its quote that limit it."""
    return f"the source makes it depend (“{' '.join(words.split())[:60]}”): say so in the claim"


def roots_of(words: set[str]) -> set[str]:
    """Words by what they begin with: `writ` of written and writes."""
    return {w[:4] for w in words}


def retraction(case: ClaimCase) -> str:
    """What the next sentence denies or takes back is no claim."""
    if _NO.match(case.after):
        return f"what follows denies it: “{case.after[:80]}”"
    behind = case.sentence.partition(case.meant)[2].strip()
    for text in (behind if behind[:1].isalpha() else "", case.after):
        if has(text, "wrong") and _TAKES_BACK.match(text) and not has(case.claim, "wrong"):
            return f"what follows takes it back: “{text[:80]}”"
    return ""


def instruction(case: ClaimCase) -> str:
    """A sentence aimed at whoever reads the source is no knowledge, neither are its paraphrase and what else its paragraph says."""
    if not {"you", "your", "yours"}.isdisjoint(words_of(case.claim)):
        return "a claim speaks to nobody: say what holds, not what “you” should do"
    return order_in(f"{case.lead} {case.sentence}", case.claim)


def order_in(*texts: str) -> str:
    """The order that one of some texts gives to whoever reads it, as a reason against it; nothing where none does."""
    texts = (" ".join(text.split()) for text in texts)
    orders = (t[m.start : m.end] for t in texts for m in marks_of(t) if m.kind == "order")
    order = next(orders, "").strip()[:60]
    return order and f"“{order}” gives orders to whoever reads: an instruction is no claim"
