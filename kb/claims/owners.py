"""What belongs to what in a claim: each number keeps the names, the words and the thing counted that it has in the quote."""

import re
from collections import Counter
from collections.abc import Iterator

from kb.claims.captured import REFERS
from kb.claims.case import ClaimCase, telling
from kb.claims.figures import following, numbers_of
from kb.claims.names import names_in
from kb.text import STOP, stem, words_of


def subjects(case: ClaimCase) -> str:
    """A number keeps the name that it belongs to: of several names in a quote the one of its own clause; in a table the words of its column
    and of its row.
    """
    keys = {n.key for n in names_in(f"{case.quote} {case.sentence} {case.about}", known=case.known)}
    stated = _owners(case.sentence, case.known) | _owners(case.quote, case.known)
    cells = {abs(n.value) for cell, _, _ in case.columns for n in numbers_of(cell)}
    for value, owners in _owners(case.claim, case.known).items():
        mine, theirs = owners & keys, stated.get(value, set())
        if value not in cells and mine and theirs and not mine & theirs:
            return f"in the quote {value:g} belongs to {', '.join(sorted(theirs))}, not to {', '.join(sorted(mine))}"
        elsewhere = {name for other, names in stated.items() if other != value for name in names}
        if (
            mine
            and not theirs
            and mine <= elsewhere
            and any(abs(n.value) == value for n in numbers_of(case.quote))
        ):
            return f"in the quote {value:g} does not belong to {', '.join(sorted(mine))}"
    return _column(case) or _clause(case)


def _column(case: ClaimCase) -> str:
    """In a table a number keeps the words that tell its column from the others, and those of its row."""
    row = set(words_of(case.claim))
    counts = Counter(w for header in {h for _, h, _ in case.columns} for w in set(words_of(header)))
    headers = {w for w, count in counts.items() if count == 1}
    for clause in clauses_of(case.claim) if case.columns else ():
        mine = headers & set(words_of(clause))
        for number in numbers_of(clause):
            at = [
                c
                for c in case.columns
                if any(abs(n.value) == abs(number.value) for n in numbers_of(c[0]))
            ]
            if at and mine and not any(mine & set(words_of(header)) for _, header, _ in at):
                return f"{number.value:g} stands in the column “{at[0][1]}”"
            if at and not any(row & set(words_of(label)) for _, _, label in at):
                return f"{number.value:g} stands in the row “{at[0][2]}”"
    return ""


_CLAUSE = re.compile(
    r";\s|:\s(?!\W*\d)|,\s|\s[-–—]\s|\b(?:while|whereas|but|and|versus|vs\.?|against|compared|than|over)\b|[.!?]\s|\||\n"
)


def clauses_of(text: str) -> Iterator[str]:
    """Clauses of a text; what stands in brackets belongs to the clause before them."""
    start = 0
    for mark in _CLAUSE.finditer(text):
        if text.count("(", start, mark.start()) <= text.count(")", start, mark.start()):
            yield text[start : mark.start()]
            start = mark.end()
    yield text[start:]


# What stands in brackets without a number explains, and owns nothing.
_ASIDE = re.compile(r"\([^()\d]*\)")


def _owners(text: str, known: frozenset[str]) -> dict[float, set[str]]:
    """For each number of a text the names of its clause; where that has none, those of the clause before."""
    owners: dict[float, set[str]] = {}
    last: set[str] = set()
    for clause in clauses_of(text):
        present = {n.key for n in names_in(_ASIDE.sub(" ", clause), known=known) if not n.counted}
        last = present or last
        for number in numbers_of(clause):
            if last:
                owners.setdefault(abs(number.value), set()).update(last)
    return owners


# The verb that states a number, with what stands between them: it says nothing of whose the number is.
_STATING = re.compile(
    r"\b\w+(?=(?:\s+(?:at|to|by|of|in|from|about|up|only))*\s*[~≈<>≤≥]?\s*[-−+$]?\d)"
)


def _clause(case: ClaimCase) -> str:
    """A claim that gives a number of one clause to what opens another one, and takes up nothing that the number's own clause is about."""
    stated = [(clause, numbers_of(clause)) for clause in clauses_of(case.quote)]
    for clause in clauses_of(case.claim):
        values = {abs(n.value) for n in numbers_of(clause)}
        mine = [stem(w) for w in words_of(clause) if w not in STOP and not w[0].isdigit()]
        here, there, opening = "", "", ""
        for text, numbers in stated:
            same = [n.start for n in numbers if abs(n.value) in values]
            if same:
                here, opening = (
                    f"{here} {text}",
                    f"{opening} {_STATING.sub(' ', text[: same[0] + 1])}",
                )
            elif numbers:
                there = f"{there} {text}"
        own = telling(opening) - telling(there)
        if (
            mine
            and mine[0] in telling(there) - telling(here)
            and any(not w.isdigit() for w in own)
            and not own & set(mine)
        ):
            return f"the quote says that of “{' '.join(here.split())[:60]}”, not of “{mine[0]}”"
    return ""


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
        ways = {_way(case.quote, n.start) for n in same}
        if len(ways) == 1 and {_way(case.claim, number.start), *ways} == {"by", "to"}:
            return f"the quote says “{ways.pop()} {number.value:g}”"
    return ""


def _way(text: str, start: int) -> str:
    found = re.search(r"\b(by|to)\s+(?:about |only |up to |less than |more than )?$", text[:start])
    return found[1] if found else ""


def reference(case: ClaimCase) -> str:
    """Where the quote refers back, the claim speaks of what stands there."""
    if not REFERS.match(case.sentence) or not case.before:
        return ""
    told = telling(f"{case.before} {case.sentence} {case.about}")
    strange = telling(case.claim) - told
    taken = telling(case.claim) & telling(case.before)
    if len(strange) >= 2 and not taken:
        return f"the quote refers to “{' '.join(case.before.split())[:60]}”, the claim speaks of {', '.join(sorted(strange)[:3])}"
    return ""
