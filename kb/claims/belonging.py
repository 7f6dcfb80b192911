"""What belongs to what in a claim: each number keeps the names and words that it has in the quote, and what is compared keeps its sides."""

import re
from collections.abc import Iterable, Iterator

from kb.claims.captured import REFERS, Cell
from kb.claims.case import ClaimCase, clauses_of, telling
from kb.claims.figures import following, numbers_of
from kb.claims.names import names_in
from kb.claims.sense import contrary
from kb.text import STOP, Number, stem, words_of


def places(case: ClaimCase) -> str:
    """A number of the claim stands where the claim's words point to: no other row, column or clause of the source fits them better."""
    return _cell(case) if case.table else _segment(case)


def _cell(case: ClaimCase) -> str:
    claimed = {abs(n.value) for n in numbers_of(case.claim)}
    values = {cell: {abs(n.value) for n in numbers_of(cell.text)} for cell in case.table}
    words = _all(case.claim)
    for clause in clauses_of(case.claim):
        for number in numbers_of(clause):
            value = abs(number.value)
            at = [c for c in case.table if c.quoted and value in values[c]]
            # A cell that the claim states as well has its words in the claim too.
            others = [c for c in case.table if value not in values[c] and not values[c] & claimed]
            if not at or any(value in {abs(n.value) for n in numbers_of(c.label)} for c in at):
                continue
            row, rows = _best(at, words, "label"), _best(others, words, "label")
            if rows > row:
                return f"{number.value:g} stands in the row “{at[0].label}”"
            same_row = [c for c in others if c.quoted]
            lead = [_best(same_row, mine, "header") - _best(at, mine, "header") for mine in (_all(clause), words)]
            if (lead[0] or lead[1]) > 0:
                return f"{number.value:g} stands in the column “{at[0].header}”"
    return ""


def _best(cells: Iterable[Cell], words: set[str], part: str) -> float:
    """How well the words of a claim fit the best of some headers or labels: those it takes up, less half of what it leaves out."""
    return max(
        (
            len(own & words) - (0.5 if part == "label" else 0.1) * len(own - words) if own & words else 0
            for own in (_all(getattr(cell, part)) for cell in cells)
        ),
        default=0,
    )


def _all(text: str) -> set[str]:
    return {stem(w) for w in words_of(text.replace(",", "")) if w not in STOP}


# A clause that begins so goes on with what opened the clause before it.
_GOES_ON = re.compile(r"\W*(?:at|by|to|from|in|on|with|for|of|if|when|\d|up|about|roughly|only|(?:one|two|three|four|five|six|seven|eight|nine|ten|none)\b(?!-))", re.IGNORECASE)


def _segments(text: str) -> list[tuple[str, str, set[float]]]:
    """Clauses of a text: what they share with the one before, what they say, and their numbers."""
    found: list[tuple[str, str, set[float]]] = []
    lead = ""
    for clause in clauses_of(text):
        stated = numbers_of(clause)
        if not _GOES_ON.match(clause):
            lead = clause[: stated[0].start] if stated else clause
        found.append((lead, clause, {abs(n.value) for n in stated}))
    return found


def _segment(case: ClaimCase) -> str:
    stated = _segments(case.sentence if case.quote in case.sentence else case.quote)
    told = ""
    for clause in clauses_of(case.claim):
        for number in numbers_of(clause):
            value = abs(number.value)
            here = [s for s in stated if value in s[2]]
            there = [s for s in stated if s[2] and value not in s[2]]
            if not here or not there or _NAMED.search(clause[: number.start]):
                continue
            mine, own, other = telling(f"{told} {clause}"), _words(here), _words(there)
            own, foreign = own - other, other - own
            later = [s for s in there if stated.index(s) > max(stated.index(h) for h in here)]
            opened = _opening(later) - _words(here)
            named, rest = _keys(case, here), _keys(case, there)
            claimed = {n.key for n in names_in(clause, known=case.known) if not n.counted}
            own = own - {"our"}
            if own and not own & mine and foreign & telling(clause):
                return f"the quote says {number.value:g} of “{_shown(here)}”, the claim of {', '.join(sorted(foreign & mine)[:3])}"
            subject = next((stem(w) for w in words_of(clause) if stem(w) in telling(clause)), "")
            said = _opening(here) - telling(" ".join(text for _, text, _ in there))
            if subject in foreign and said and not said & mine or opened & telling(clause) and said - mine:
                return f"the quote says {number.value:g} of “{_shown(here)}”, the claim of {', '.join(sorted((opened | foreign) & mine)[:3])}"
            if claimed & rest - named and (named and not named & claimed or not named and claimed <= rest):
                return f"in the quote {number.value:g} belongs to {', '.join(sorted(named)) or 'something else'}, not to {', '.join(sorted(claimed & rest - named))}"
        told = f"{told} {clause}" if numbers_of(clause) else told
    return ""


def _words(segments: list[tuple[str, str, set[float]]]) -> set[str]:
    return {w for w in telling(" ".join(f"{lead} {text}" for lead, text, _ in segments)) if not w[0].isdigit()}


# The verb that states a number, with what stands between them: it says nothing of whose the number is.
_STATING = re.compile(
    r"\b\w+\b(?=(?:\s+(?:at|to|by|of|in|from|about|up|only))*\s*[~≈<>≤≥]?\s*[-−+$]?\d)"
)


def _opening(segments: list[tuple[str, str, set[float]]]) -> set[str]:
    """What the clauses are about: their words before the number, without the verb that states it."""
    found: set[str] = set()
    for lead, text, _ in segments:
        stated = numbers_of(text)
        opening = text[: stated[0].start] if stated else ""
        whole = opening if opening.startswith(lead) else f"{lead} 0 {opening}"
        found |= telling(_STATING.sub(" ", f"{whole} 0"))
    return {w for w in found if not w[0].isdigit()}


def _keys(case: ClaimCase, segments: list[tuple[str, str, set[float]]]) -> set[str]:
    """Names of clauses; of one without any those of the clause before."""
    every = _segments(case.sentence)
    found: set[str] = set()
    for segment in segments:
        at = every.index(segment) if segment in every else -1
        own: set[str] = set()
        behind = every[at + 1 :] if _OPENS.match(segment[1]) and len(segment[1].split()) < 6 else []
        for _, text, _ in [*reversed(every[: at + 1] or [segment]), *behind]:
            own = {n.key for n in names_in(_ASIDE.sub(" ", text), known=case.known) if not n.counted}
            if own:
                break
        found |= own
    return found


# A number behind a capital is a part of a name: ISO 220.
_NAMED = re.compile(r"\b[A-Z]\w*[\s-]$")
# What opens a sentence before it says of what.
_OPENS = re.compile(r"\W*(?:after|before|at|with|in|on|for|under|during|when|if)\b", re.IGNORECASE)
# What stands in brackets without a number explains, and owns nothing.
_ASIDE = re.compile(r"\([^()\d]*\)")


def _shown(segments: list[tuple[str, str, set[float]]]) -> str:
    return " ".join(segments[0][1].split())[:60]


def counted(case: ClaimCase) -> str:
    """A number counts what it counts in the quote, and a change by a number is no change to it."""
    stated = numbers_of(case.quote)
    for number in numbers_of(case.claim):
        same = [n for n in stated if n.value == number.value]
        mine, theirs = (
            following(case.claim, number),
            {following(case.quote, n) for n in same} - {""},
        )
        others = {following(case.quote, n) for n in stated if n.value != number.value}
        if mine and theirs and mine not in theirs and mine in others:
            return f"{number.value:g} counts {', '.join(sorted(theirs))} in the quote, not {mine}"
        spans = {_span(case.quote, n) for n in same} - {""}
        if spans and _span(case.claim, number) not in {*spans, ""}:
            return f"{number.value:g} is “{min(spans)}” in the quote, not “{_span(case.claim, number)}”"
        ways = {_way(case.quote, n.start) for n in same}
        if len(ways) == 1 and {_way(case.claim, number.start), *ways} == {"by", "to"}:
            return f"the quote says “{ways.pop()} {number.value:g}”"
    return ""


# The time that a number counts, or that it is told for: "six weeks", "transforms per second".
_SPAN = re.compile(
    r"(?:\s*[^\s,.;\d]+){0,4}?(?:\s|/|-)(?P<per>per |an? |each |/)?(?P<time>(?:milli|micro|nano)?second|minute|hour|day|night|week|month|quarter|year|cycle)s?\b", re.IGNORECASE
)


def _span(text: str, number: Number) -> str:
    found = _SPAN.match(text, number.end)
    return f"{'per ' if found['per'] else ''}{found['time'].lower()}" if found else ""


def _way(text: str, start: int) -> str:
    found = re.search(r"\b(by|to)\s+(?:about |only |up to |less than |more than )?$", text[:start])
    return found[1] if found else ""


_YARDSTICK = re.compile(
    r"\b(?P<sign>half as \w+|twice as \w+|as \w+|more|less|fewer|worse|better|\w{2,}er)\b(?P<left>[^.;]{0,60}?)\b(?:than|as)\s(?P<right>[^,;.]*)"
    r"|\b(?:compared (?:with|to)|versus|vs\.?|against)\s(?P<set>[^,;.]*)",
    re.IGNORECASE,
)


def comparison(case: ClaimCase) -> str:
    """What is compared keeps its sides: they are changed only together with the word that compares, and none is put in from elsewhere."""
    mine, theirs = _YARDSTICK.search(case.claim), _YARDSTICK.search(case.quote)
    if not mine:
        return ""
    left, right = _sides(case.claim, mine)
    if not theirs:
        return ""
    first, second = _sides(case.quote, theirs)
    turned = contrary(mine["sign"] or "", theirs["sign"] or "")
    if left & (second - first) and right & (first - second) and not (left & (first - second) and right & (second - first)):
        return "" if turned else "the claim turns round what the quote compares"
    if turned and left & (first - second) and right & (second - first):
        return f"the claim says “{mine['sign']}” where the quote says “{theirs['sign']}”"
    strange = right - _all(case.spelt_out(f"{case.quote} {case.sentence}"))
    both = {w for w in right & second if len(w) > 2 and not w.isdigit()}
    if second and not both and strange & (case.known | _all(case.lead)):
        return f"the quote compares with “{(theirs['right'] or theirs['set'])[:60]}”, the claim with {', '.join(sorted(right)[:3])}"
    return ""


def _sides(text: str, found: re.Match[str]) -> tuple[set[str], set[str]]:
    """What a sentence compares, and with what."""
    yardstick = found["right"] or found["set"] or ""
    yardstick = re.split(r"\b(?:yet|but|and|while|whereas)\b", yardstick)[0]
    # What opens the sentence with its yardstick says behind it what is compared.
    left = f"{text[: found.start()]} {found['left'] or ''}" if found.start() > 3 else text[found.end() :]
    return _all(left), _all(yardstick)


_SIDES = re.compile(r";\s|,?\s\b(?:while|whereas|instead of)\b")


def sides(case: ClaimCase) -> str:
    """Of two things that a quote sets against each other, each keeps what is told of it."""
    parts = [_all(part) for part in _SIDES.split(case.quote)]
    for left, right in zip(parts, parts[1:], strict=False):
        if not left & right or 3 * len(left) > 4 * len(right):
            continue
        for clause in _SIDES.split(case.claim):
            for said in map(_all, clauses_of(clause)):
                if (here := said & (left - right)) and (there := said & (right - left)):
                    return f"the quote sets “{min(here)}” against “{min(there)}”, the claim puts them together"
    return ""


def reference(case: ClaimCase) -> str:
    """Where the quote refers back, the claim speaks of what stands there."""
    if not REFERS.match(case.sentence) or not case.before:
        return ""
    strange = telling(case.claim) - telling(case.context)
    taken = telling(case.claim) & telling(case.spelt_out(case.before))
    if len(strange) >= 2 and not taken:
        return f"the quote refers to “{' '.join(case.before.split())[:60]}”, the claim speaks of {', '.join(sorted(strange)[:3])}"
    return ""


def support(case: ClaimCase) -> str:
    """A claim is about what its quote is about, and adds nothing: most of its telling words stand there or around it, and no two that
    follow each other stand nowhere.
    """
    have = set(map(stem, words_of(f"{case.context} {case.before} {case.after}")))
    # Numbers and names were looked at one by one.
    strange, known = [], len(numbers_of(case.claim)) + len(list(names_in(case.claim, known=case.known)))
    for run in _runs(case.claim, have):
        strange += run if isinstance(run, list) else []
        known += not isinstance(run, list)
    longest = max((run for run in _runs(case.claim, have) if isinstance(run, list)), key=len, default=[])
    foreign = [w for w in strange if stem(w) not in case.known]
    if strange and (not known or len(foreign) > known or len(longest) > 2):
        return f"the quote does not speak of {', '.join((foreign or longest)[:4])}"
    return ""


def _runs(claim: str, have: set[str]) -> Iterator[list[str] | str]:
    """The telling words of a claim in order, those that stand nowhere near the quote in runs."""
    run: list[str] = []
    for word in words_of(claim):
        if len(word) <= 3 or word in STOP or word in _JOINTS or word.isdigit():
            continue
        if not _stands(stem(word), have):
            run.append(word)
            continue
        if run:
            yield run
        run = []
        yield word
    if run:
        yield run


_JOINTS = frozenset("against within across along versus whereas although because during until unless".split())


def _stands(word: str, have: set[str]) -> bool:
    """Whether a word stands among others, in another form of itself too (`compress` and `compression`)."""
    return word in have or len(word) > 4 and any(h[:5] == word[:5] and len(h) > 4 for h in have)
