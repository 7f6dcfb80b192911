"""Verdicts, decisions and what loops call them: the vocabulary of outcomes. Refuses to read files: it knows words, not pages."""

import re
from enum import StrEnum
from functools import lru_cache

from kb import languages, regex
from kb.languages import spellings


class Verdict(StrEnum):
    SUPPORTED = "supported"
    REFUTED = "refuted"
    INCONCLUSIVE = "inconclusive"
    INVALID = "invalid"
    CRASH = "crash"
    BASELINE = "baseline"
    OTHER = "other"


FAILED = frozenset({Verdict.REFUTED, Verdict.INVALID, Verdict.CRASH})
# Rules of kb's own verdicts by which a run is invalid for what the change itself broke; any other such run was misused and says nothing of its lever.
BROKEN = frozenset(("checks-failed", "parity-broken"))
# What kb writes of a change that crashed, before how it ended.
UNMEASURED = "the change did not measure: "

_DENIED = "".join(f"(?<!{word} )" for word in (*languages.DENIALS, "without")) + "(?<!non-)"
_DENIALS = "|".join(languages.DENIALS)
_SUPPORTED = spellings(languages.VERDICTS, "supported")


def _spelled(
    verdict: Verdict, stems: str, opening: str = r"(?!)"
) -> tuple[re.Pattern[str], Verdict]:
    """The pattern of a verdict: `stems` count wherever they stand, unless denied ("no crash", "not refuted"), `opening` only at the start,
    where all that is said is how it came out.
    """
    listed = "|".join([*stems.split(), *spellings(languages.VERDICTS, verdict)])
    # The stem first: few places have one, and whether it is denied is asked of these alone.
    return regex(rf"(?={listed}){_DENIED}|^\W*(?:{'|'.join(opening.split())})"), verdict


# How a verdict is spelled: first row wins, so `refuted/tie` is refuted and `invalid (crashed)` is invalid.
_VERDICT_RULES = [
    _spelled(Verdict.INVALID, "invalid retract"),
    _spelled(Verdict.CRASH, "crash", "failed"),
    _spelled(
        Verdict.REFUTED,
        r"refut reject falsif discard unsupported exhausted disapprov negative[\s-](?:\w+[\s-])?(?:result|finding|takeaway|experiment)",
        "revert dead",
    ),
    # A denial of support refutes, one that may still come does not; `kept` is a word of its own only.
    (
        regex(
            rf"\b(?:{_DENIALS})[ -](?:support|confirm|accept|(?:keep|kept|selec(?:t|ted))\b|merge|adopt|ship|{'|'.join(_SUPPORTED)})|"
            + languages.denied("|".join(_SUPPORTED))
        ),
        Verdict.REFUTED,
    ),
    (regex(r"\bnot yet\b"), Verdict.INCONCLUSIVE),
    _spelled(
        Verdict.INCONCLUSIVE,
        "inconclus potential parked neutral parity unconfirmed",
        "flat tie park\\b",
    ),
    _spelled(
        Verdict.SUPPORTED, "support accept keep confirm certif provisional", "banked approved"
    ),
    (regex(r"\bkept\b"), Verdict.SUPPORTED),
    _spelled(Verdict.BASELINE, r"^\W*baseline(?![\w-])"),
]
# Where a page is in its life says nothing of what came out of it; of these the first say that the run is still to end.
_RUNNING = (
    "running in_progress open pending active draft proposed planned queued todo new started wip"
)
_ENDED = "complete completed concluded filed done finished closed final executed measured tried tested analysed analyzed reviewed archived published ready implemented"
_EMPTY = "none null n/a na tbd"
RUNNING = frozenset((*_RUNNING.split(), *(w.replace("-", "_") for w in languages.RUNNING)))
_LIFE = "|".join(
    [
        *f"{_RUNNING} {_ENDED} {_EMPTY}".replace("_", "[_ -]?").split(),
        *(word.replace("-", " ") for word in languages.RUNNING),
    ]
)
_IN_LIFE = regex(rf"(?:{_LIFE})(?:\b|$)")
_SAYS_NOTHING = regex(rf"^\W*(?:(?:{_LIFE})\W*)?$")
_HAS_ENDED = regex(rf"(?:{_ENDED.replace(' ', '|')})\W*$")


# A clause of its own that says that nothing came out yet: "TBD", "draft / screen pending".
_PENDING = regex(
    rf"\W*(?:{'|'.join([*_RUNNING.split(), *languages.RUNNING, 'n/a', 'tbd'])})(?:\W*$|\s[-/—–]\s|[,;:])".replace(
        "_", "[_ -]?"
    )
)


def is_pending(raw: str) -> bool:
    """Whether what stands behind a label of an outcome says that there is none yet."""
    return bool(_PENDING.match(raw.lower()))


# Few spellings stand on many pages.
@lru_cache(maxsize=4096)
def canonical_verdict(raw: str | None) -> Verdict | None:
    """Canonical verdict of one raw spelling; None where the spelling says nothing (open, pending, filed ...), OTHER where it is not known."""
    text = (raw or "").strip().lower()
    if _SAYS_NOTHING.match(text):
        return None
    for pattern, verdict in _VERDICT_RULES:
        if pattern.search(text):
            return verdict
    return Verdict.OTHER


# Fields of the front matter, and labels of the body, under which loops of other habits say how a run came out, in the order in which they count.
OUTCOME_FIELDS = ("outcome", "conclusion", "disposition", "result", "call", "ruling", "judgement")
OUTCOME_LABELS = (
    *(
        "verdict",
        *spellings(languages.LABELS, "verdict"),
        *OUTCOME_FIELDS,
        *spellings(languages.LABELS, "result"),
    ),
    *("status", *spellings(languages.LABELS, "status"), "decision", "what happened", "fate"),
)

# What was done with a change, in words that a log's status and a page's outcome share.
ADOPTED = "adopted merged promoted shipped landed rolled_out in_production applied selected".split()
UNDONE = (
    "dropped killed scrapped binned thrown_away thrown_out switched_off turned_off taken_out removed "
    "backed_out rolled_back withdrawn not_worth no_use"
).split()


def _phrases(words: list[str], orders: str) -> str:
    # An order names other things too ("drop-in", "kill switch"), unless it is all that is said, or says to do it.
    ordered = rf"(?:{orders.replace(' ', '|')})(?=\W*$|\W+(?:it|them|this|that)\b)"
    return f"{'|'.join(words)}|{ordered}".replace("_", " ")


# What was set before a run for it to reach.
_GATE = "(?:gate|criteri(?:on|a)|bar|threshold)"
# Words that say how it came out only where they are all, or the first, that is said: in running text they speak of other things.
_OUTCOMES = (
    (
        regex(
            r"(?:fail(?:s|ure)?|error|oom|out of memory|time(?:d )?-?out|(?:build|compile|compilation) (?:error|fail\w*))\b"
        ),
        Verdict.CRASH,
    ),
    (
        regex(
            r"(?:regress(?:e[sd]|ions?)?|negative|negativ[oa]?|négati(?:f|ve)|worse|slower|no[- ]go|abandon\w*|contradict\w*|disproved|disproven|lost|loss(?=\W*$)|hurts?|nope|bad|busted|debunked|disproven|harmful|wrong|useless|pointless|broken|vetoed|"
            rf"turned down|red(?=\W*$)|{_GATE} (?:was )?(?:failed|missed|not (?:met|passed|reached|cleared))|not (?:better|faster|good)|{_phrases(UNDONE, 'drop kill scrap bin remove withdraw switch_off turn_off take_out throw_out back_out roll_back')})\b"
        ),
        Verdict.REFUTED,
    ),
    (
        regex(
            r"(?:no (?:significant |measurable |clear |real )?(?:change|effect|difference|gain|improvement|win|benefit)|mixed|partial(?:ly)?|noise|"
            r"(?:with)?in (?:the )?noise|unclear|no-?op|deferred|wash|undecided|shrug|meh|unsure|can(?:not|.t) (?:say|tell)|too (?:noisy|close)|on ice|shelved|postponed)\b"
        ),
        Verdict.INCONCLUSIVE,
    ),
    (
        regex(
            r"(?:success\w*|win|won(?!.t\b)|improve[ds]?|improvement|validated|positive|pass(?:ed|es)?|faster|go$|works|worked|good|great|better|keeper|holds|held|proven|confirmed|"
            rf"green(?=\W*$)|{_GATE} (?:was )?(?:passed|met|reached|cleared)|in use|live|stays?|adopt|{_phrases(ADOPTED, 'merge promote ship land roll_out apply select')})\b"
        ),
        Verdict.SUPPORTED,
    ),
)
# A longer clause is a sentence, in which a verdict's word may be about anything.
_LONGEST_OUTCOME = 6
_MARKS = (("❌✗✘👎🔴🚫⛔", Verdict.REFUTED), ("✅✔✓👍🟢", Verdict.SUPPORTED), ("💥", Verdict.CRASH))
# The mark that ends a line of one figure, a remark in brackets apart.
_FIGURE_MARK = regex(
    rf"\D*\d[\d.,–-]*\D*?([{''.join(marks for marks, _ in _MARKS)}])\W*(?:\(.*\)\W*)?$"
)
_CLAUSE, _LEAD = regex(r"[.;:,(\n—–（，。；：]|\s-\s"), regex(r"\A\W+")


_TICK = regex(r"(?<!\w)\[[xX]\]\s+([^\[]*)")


def ticked(text: str) -> str:
    """What a form says: what stands behind the box that is ticked, up to the next that is not."""
    ticks = _TICK.search(text) if "[" in text else None
    return (ticks[1] if ticks else text).partition("[ ]")[0]


def marked_verdict(line: str) -> Verdict | None:
    """Verdict of the mark that stands behind a line's figure ("accuracy 53.7 % ❌"); None without one."""
    mark = _FIGURE_MARK.match(line)
    return mark and next(v for marks, v in _MARKS if mark[1] in marks)


@lru_cache(maxsize=4096)
def outcome_verdict(raw: str) -> Verdict | None:
    """Verdict of what stands in a field or behind a label such as outcome, result or status: its first clause, else the mark before it.

    A clause of more than a few words, and one that says no verdict, is None.
    """
    text = ticked(raw).strip().lower()
    if text.count(" | ") > 1:
        return None  # A form that names what may be said.
    clauses = [c.strip(" *_`") for c in _CLAUSE.split(_LEAD.sub("", text), maxsplit=2)]
    # That it ended ("closed, slower") leaves the next clause to say how; what runs, or is planned, has no outcome yet.
    # What it is called stands before a sign of equality ("gate 3 = PASS").
    opening = ((_HAS_ENDED.match(clauses[0]) and "".join(clauses[1:2])) or clauses[0]).rpartition(
        " = "
    )[2]
    marked = next((v for marks, v in _MARKS if text and text[0] in marks), None)
    if not opening:
        return marked
    if len(opening.split()) > _LONGEST_OUTCOME:
        return None
    verdict = canonical_verdict(opening)
    # What is confirmed may be that it failed: "confirmed (negative result)", "confirmed; not adopted".
    if opening.startswith("confirm") and canonical_verdict(text) is Verdict.REFUTED:
        return Verdict.REFUTED
    # A sentence that begins with the baseline tells what it does.
    if verdict is not Verdict.OTHER and (verdict is not Verdict.BASELINE or opening.count(" ") < 2):
        return verdict
    return _worded(opening) or (None if _IN_LIFE.match(opening) else marked)


def _worded(opening: str) -> Verdict | None:
    """Verdict of the word with which a clause begins; of two words, of the last ("close negative"), unless that is yet to be done ("to merge")."""
    first, _, last = opening.partition(" ")
    begun = next((v for pattern, v in _OUTCOMES if pattern.match(opening)), None)
    if begun or first in languages.DENIALS or last in _DONE_WITH:
        return begun
    return next((v for pattern, v in _OUTCOMES if pattern.fullmatch(last)), None)


def shouted_verdict(text: str) -> Verdict | None:
    """Verdict of the words in capitals with which a text begins ("**SUCCESS**: 18 % less time", "NOT WORTH IT. Twice the code."); else None."""
    opening, *behind = _CLAUSE.split(text.strip(" *_`"), maxsplit=1)
    # Several words in capitals, alone, are a name; Chinese has no capitals, and a name in a sentence of it may be in these.
    shouts = all(c.isupper() for c in opening if c.isalpha()) and (behind or " " not in opening)
    return outcome_verdict(opening) if shouts and len(opening) > _SHORTEST_SHOUT else None


# Shorter names in capitals are of things: GO, EMA, TPU.
_SHORTEST_SHOUT = 3


# What answers a question that a name asks ("kept: no").
_ANSWERS = {
    word: answer
    for answer, plain in (("yes", "yes true"), ("no", "no false"))
    for word in f"{plain} {languages.ANSWERS[answer]}".split()
}
# Whole words: `dropout` and `mergesort` are techniques.
_DONE_WITH = {
    **dict.fromkeys([*ADOPTED, *"keep kept accept accepted merge ship adopt".split()], "supported"),
    **dict.fromkeys(
        [*UNDONE, *"drop kill revert reverted discard discarded reject rejected refuted".split()],
        "refuted",
    ),
    **{verdict: verdict for verdict in ("invalid", "crash", "inconclusive")},
}


def decision_word(word: str) -> Verdict | None:
    """Verdict of one word that says what became of a change ("dropped", "inconclusive"), whatever the field is called that holds it."""
    done = _DONE_WITH.get("_".join(word.strip(" *_`?.").lower().split()))
    return Verdict(done) if done else None


def answered_verdict(name: str, raw: str) -> Verdict | None:
    """Verdict of a yes or no behind a name that asks what became of a change ("decision: NO. Too dear", `adopted: true`)."""
    answer = _ANSWERS.get(_CLAUSE.split(raw.strip(" *_`").lower(), maxsplit=1)[0].strip(" *_`"))
    yes = Verdict.SUPPORTED if name.strip(" ?").lower() == "decision" else decision_word(name)
    if not answer or yes not in (Verdict.SUPPORTED, Verdict.REFUTED):
        return None
    no = Verdict.REFUTED if yes is Verdict.SUPPORTED else None
    return yes if answer == "yes" else no


def field_verdict(raw: str) -> Verdict | None:
    """Verdict of a `verdict:` or `status:` field: by its first clause, else by any word of a verdict; OTHER where neither is known."""
    return outcome_verdict(raw) or canonical_verdict(raw)


def canonical_decision(raw: str | None) -> str | None:
    """`keep` or `revert` of a loop's own spelling of what it did with a change; None where it says neither."""
    text = (raw or "").strip().lower()
    if text.startswith(("keep", "kept", "accept", "merge", "promot")):
        return "keep"
    if text.startswith(("revert", "discard", "reject", "drop", "kill", "rolled")):
        return "revert"
    return None
