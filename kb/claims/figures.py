"""Numbers of a claim: they stand in its quote, with their units and bounds, exact or rounded where the claim says so."""

import math
import re
from collections.abc import Iterator
from itertools import combinations

from kb.claims.bounds import BEFORE, LIMITS, bound_of
from kb.claims.captured import GROUPED
from kb.claims.case import REFERS, ClaimCase, clauses_of, parts_of, swapped, telling
from kb.text import STOP, Number, numbers_in, numbers_in_words, stem, unit_of, words_of
from kb.text.spelt import SCALE, SPELT

# Behind these "3 to 5" is a range; behind most other words it is a move.
_WITHIN = (" in", " of", " takes", " costs", " needs", " within", " about", " by")
# Words that stand for no number as often as for one.
IDLE = ("zero", "one", "once")
# How far a claim that says "about" may be off, in parts of the number that the quote gives: so far at all, and so far to the next
# number of as many digits as the claim writes (`about 40` for 37).
_OFF, _ROUNDED = 0.05, 0.1


def numbers(case: ClaimCase) -> str:
    """Every number of the claim stands in its quote, with its unit and its bound."""
    given = numbers_of(case.quote)
    stated = [tuple(_readings(n, case.quote, case)) for n in given]
    return next(
        (reason for n in numbers_of(case.claim) if (reason := _number(case, n, stated))), ""
    )


def _number(case: ClaimCase, number: Number, stated: list[tuple[Number, ...]]) -> str:
    written = case.claim[number.start : number.end].strip()
    if written.lower() in IDLE or _belongs_to_a_name(case, number):
        return ""
    mine = tuple(_readings(number, case.claim))
    loose = bound_of(case.claim, number.start, number) != ""
    same = [s for s in stated if any(_same_value(m, r, loose=loose) for m in mine for r in s)]
    if number.high is not None and not same:
        # Two numbers that the quote gives as a move, or apart, are the ends of a range as well.
        ends = (number._replace(high=None), number._replace(value=number.high, high=None))
        return next((r for end in ends if (r := _number(case, end, stated))), "")
    if not same:
        return _missing(case, number, written, stated)
    fitting = [s for s in same if _agree(mine, s, case, loose=loose)]
    if not fitting:
        units = " or ".join(sorted({s[-1].unit or "no unit" for s in same}))
        return f"{written}: the quote gives this number with {units}"
    reasons = [_bound(case, number, s[0]) for s in fitting]
    return reasons[0] if all(reasons) else ""


def _missing(
    case: ClaimCase, number: Number, written: str, stated: list[tuple[Number, ...]]
) -> str:
    """What to do about a number that does not stand in the quote."""
    if swapped(case.claim, case.quote) and any(
        _close(number.value * s[0].value, 1) for s in stated
    ):
        return ""  # Half as many on one side are twice as many on the other.
    if written.isalpha() and written.lower() in words_of(case.quote):
        return ""
    if _is_difference(case, number):
        return ""
    near = next((s[0] for s in stated for r in s if _same_value(number, r, loose=True)), None)
    if near:
        exact = case.quote[near.start : near.end].strip()
        return f"the quote says {exact}: write that, or “about {written}”"
    return f"“{written}” does not stand in the quote: quote the words that give it"


def _is_difference(case: ClaimCase, number: Number) -> bool:
    """Whether a number is what lies between two of the quote that are comparable: their difference, their ratio, or the change in percent."""
    loose = bound_of(case.claim, number.start, number) != ""
    for a, b in _comparable(case):
        if not a.value or not b.value:
            continue
        apart = f"{abs(a.value - b.value):.6g}"
        units = {"pp" if a.unit == "%" else a.unit} if a.unit else {"", *_units_around(a, case)}
        results = [Number(float(apart), unit, 0, 0) for unit in units]
        for over, under in ((a.value, b.value), (b.value, a.value)):
            ratio = over / under
            results += [Number(ratio, "×", 0, 0), Number(100 * abs(ratio - 1), "%", 0, 0)]
            results += [Number(abs(ratio - 1), "", 0, 0)]
        for result in results:
            unit = (_unit_name(r.unit) for r in _readings(number, case.claim))
            same = {"", result.unit} if result.unit in ("×", "") else {_unit_name(result.unit)}
            digits = f"{result.value:.{number.digits}f}"
            equal = _close(float(digits), abs(number.value))
            if not same.isdisjoint(unit) and (
                equal or loose and _rounds(number.value, result.value)
            ):
                return True
    return False


def _comparable(case: ClaimCase) -> Iterator[tuple[Number, Number]]:
    """Pairs of numbers of the quote that measure one thing which the claim names: in one row of a table, else in one part of a sentence."""
    mine = telling(case.spelt_out(case.claim))
    given = {n.value for n in numbers_of(case.quote)}
    cells = [(c, n) for c in case.table if c.quoted for n in numbers_of(c.text)]
    for (left, a), (right, b) in combinations(cells, 2):
        heads = telling(f"{left.header} {right.header}")
        if (
            left.label == right.label
            and {a.value, b.value} <= given
            and mine & telling(left.label)
            and mine & heads
        ):
            yield a, b
    for part in parts_of(case.quote) if not cells else ():
        for a, b in combinations(numbers_of(part), 2):
            if mine & _owners(case, part, part[: a.start]) and _of_one_kind(a, b, part, mine):
                yield a, b


def _of_one_kind(a: Number, b: Number, text: str, wanted: set[str]) -> bool:
    """Whether two numbers have one unit and no owner of its own stands before the second ("and the queue 10 ms"), or are counts of one
    noun and the one becomes the other: "from 40 entries to 10".
    """
    between = text[a.end : b.start]
    if not a.unit and not b.unit:
        *noun, move = between.split() or [""]
        behind = [word for word in words_of(text[b.end :])[:1] if word not in STOP]
        same = not noun or not behind or words_of(noun[0]) == behind
        return move in ("to", "→", "->") and len(noun) < 2 and same
    *_, beside = clauses_of(between)
    owner = telling(beside) - {"down"}
    return _unit_name(a.unit) == _unit_name(b.unit) != "" and (not owner or bool(wanted & owner))


def _owners(case: ClaimCase, part: str, head: str) -> set[str]:
    """Words for what has the numbers of a part: those before them, the verb apart, else those of the text that it goes on from."""
    wanted = telling(head)
    words = [word for word in map(stem, words_of(head)) if word in wanted]
    if words and not REFERS.match(part):
        return set(words[:-1] or words)
    begun = (case.before, case.lead, case.sentence.partition(case.quote)[0], case.heading)
    return telling(" ".join([*begun, case.quote.partition(part)[0], " ".join(words[:-1])]))


def _belongs_to_a_name(case: ClaimCase, number: Number) -> bool:
    """Whether a number stands in the headings above the quote as it is written (the version that a release note is about), or before
    the quote beside the same word (`Osprey 2.3`; where the quote refers back, `512-bit`).
    """
    written = case.claim[number.start : number.end].strip()
    named = _WORD_BEFORE.search(case.claim[: number.start])
    counts = REFERS.match(case.sentence) and _WORD_BEHIND.match(case.claim, number.end)
    other_version = not case.table and any(
        not n.unit
        and n.digits == number.digits > 0
        and case.quote[n.start : n.end].strip() not in case.claim
        for n in numbers_in(case.quote)
    )
    shown = [] if other_version else [(written, case.about)]
    counted = any(
        n.unit for t in (case.claim, case.quote) for n in numbers_of(t) if n.value == number.value
    )
    if named and (named[0][0].isupper() or not counted):
        shown.append((f"{named[0]}{written}", f"{case.before} {case.lead} {case.sentence}"))
    if counts:
        shown.append((f"{written}{counts[0]}", case.lead))
    return any(
        re.search(rf"(?<![\w.]){re.escape(words)}(?!\w|,\d)", text, re.IGNORECASE)
        for words, text in shown
    )


_WORD_BEFORE = re.compile(r"\b[^\W\d_]{3,}[\s-]$")
_WORD_BEHIND = re.compile(r"[\s-][^\W\d_]{3,}")


def _agree(
    mine: tuple[Number, ...], stated: tuple[Number, ...], case: ClaimCase, *, loose: bool
) -> bool:
    """Whether one reading of a claimed number is one of a stated number; where both say per what, that must be the same."""
    if "/" in mine[-1].unit and "/" in stated[-1].unit:
        mine, stated = mine[-1:], stated[-1:]
    # What has a unit in words has no other one from elsewhere.
    stated = tuple(s for s in stated if s.unit) or stated
    return any(
        _same_value(m, s, loose=loose) and _same_unit(m, s, case) for m in mine for s in stated
    )


# Symbols that name units behind a number alone.
_BARE = {"m": "metre", "g": "gram", "l": "litre", "V": "volt", "A": "ampere"}
_BEHIND = re.compile(r"(?:\s+|-)(per\s+|an?\s+)?([a-zA-Zµ%]+)\b(?:\s+(?:per|an?)\s+([a-z]+))?")


def _readings(number: Number, text: str, case: ClaimCase | None = None) -> Iterator[Number]:
    """A number as written, then with what the words behind it or the header of its column add to its unit."""
    yield number
    if number.value < 1 and not any(c.isdigit() for c in text[number.start : number.end]):
        yield number._replace(value=100 * number.value, unit="%")
    above = words_of(f"{case.before} {case.lead} {case.about}") if case and case.table else ()
    for scale in {"thousand", "million", "billion"} & {word.removesuffix("s") for word in above}:
        yield number._replace(value=number.value * SPELT[scale])
    behind = _BEHIND.match(text, number.end)
    unit = behind and _BARE.get(behind[2], behind[2])
    if behind and behind[2] not in STOP and unit_of(unit) and bool(behind[1]) == bool(number.unit):
        yield number._replace(unit=f"{number.unit}/{unit}" if number.unit else unit)
        if behind[3] and unit_of(behind[3]) and not number.unit:
            yield number._replace(unit=f"{behind[2]}/{behind[3]}")


def numbers_of(text: str) -> list[Number]:
    """Numbers of a text in order, in digits and in words; one without a unit shares that of the next behind "and", "to", "or" or a comma
    (`from 67 to 65 t/s`), and what stands "between" two is a range.
    """
    text = GROUPED.sub(lambda m: re.sub(r"[ \u00a0]", "\u2009", m[0]), text)
    numbers = [_scaled(number, text) for number in numbers_in(text)]
    for at in range(len(numbers) - 2, -1, -1):
        this, following = numbers[at], numbers[at + 1]
        joint = re.fullmatch(r"\s*(and|to|or|,|→|->)\s*", text[this.end : following.start])
        shared = joint is not None and not this.unit
        if shared and following.unit:
            this = numbers[at] = this._replace(unit=following.unit)
        before = text[max(0, this.start - 32) : this.start].rstrip()
        spans = joint and (
            joint[1] == "and"
            and before.endswith("between")
            or joint[1] == "to"
            and shared
            and before.endswith(_WITHIN)
            and " from " not in before
        )
        if spans and this.value < following.value:
            numbers[at : at + 2] = [this._replace(high=following.value, end=following.end)]
    return sorted([*numbers, *numbers_in_words(text)], key=lambda n: n.start)


def _scaled(number: Number, text: str) -> Number:
    """A number with the word behind it that multiplies it: 2.6 million."""
    scale = SCALE.match(text, number.end) or _SCALE_APART.match(text, number.end)
    if not scale or number.unit:
        return number
    factor = SPELT.get(scale[1]) or {"k": 1e3, "M": 1e6}[scale[1]]
    high = number.high and number.high * factor
    return number._replace(value=number.value * factor, high=high, end=scale.end())


_SCALE_APART = re.compile(r"[ \u00a0]([kM])\b(?=[ \u00a0][A-Za-z])")


def _values(number: Number) -> Iterator[float]:
    yield number.value
    if number.high is not None:
        yield number.high


def _same_value(claimed: Number, stated: Number, *, loose: bool = False) -> bool:
    """Whether two numbers are one, as written or in another unit of the same kind; a sign may be told in words, and left out."""
    factor = _factor(claimed, stated)
    if claimed.signed and stated.signed and claimed.value * stated.value < 0:
        return False
    if claimed.spread is not None and (
        stated.spread is None or not _close(claimed.spread * factor, stated.spread)
    ):
        return False
    have = [abs(v) for v in _values(stated)]
    return all(
        any(_close(abs(v) * factor, h) or loose and _rounds(abs(v) * factor, h) for h in have)
        for v in _values(claimed)
    )


def stated_value(claimed: Number, case: ClaimCase) -> float:
    """The number of the quote that a claimed one stands for: equal to it, in another unit, or rounded."""
    stated = numbers_of(case.quote)
    same = (
        n
        for loose in (False, True)
        for n in stated
        if any(_same_value(claimed, r, loose=loose) for r in _readings(n, case.quote, case))
    )
    return abs(next(same, claimed).value)


def _close(a: float, b: float) -> bool:
    return math.isclose(a, b, rel_tol=1e-9)


def _rounds(claimed: float, stated: float) -> bool:
    """Whether a claimed number is a stated one with fewer digits."""
    digits = len(f"{claimed:.6g}".replace(".", "").strip("0"))
    if digits >= len(f"{stated:.6g}".replace(".", "").strip("0")):
        return False
    nearest = _close(float(f"{stated:.{max(digits, 1)}g}"), claimed)
    return math.isclose(claimed, stated, rel_tol=_ROUNDED if nearest else _OFF)


def _factor(claimed: Number, stated: Number) -> float:
    mine, theirs = unit_of(claimed.unit), unit_of(stated.unit)
    return (
        mine.factor / theirs.factor
        if mine and theirs and mine.dimension == theirs.dimension
        else 1.0
    )


def _same_unit(claimed: Number, stated: Number, case: ClaimCase) -> bool:
    if not claimed.unit:
        # A number may leave a unit to its words, or abbreviate it as the quote does (`41 LMH`); a rate or share that turns into a count
        # is another statement.
        behind = _BEHIND.match(case.claim, claimed.end)
        short = (
            behind and behind[2].isupper() and not unit_of(behind[2]) and behind[2] in case.quote
        )
        worded = (
            stated.unit in words_of(case.claim)
            or unit_of(stated.unit) is None
            or any(_unit_name(n.unit) == _unit_name(stated.unit) for n in numbers_of(case.claim))
        )
        return bool(not stated.unit or worded or short)
    mine, theirs = unit_of(claimed.unit), unit_of(stated.unit)
    if mine and theirs:
        # A share is no difference of shares.
        return mine.dimension == theirs.dimension and (
            mine.dimension != "share" or mine.name == theirs.name
        )
    if claimed.unit == stated.unit:
        return True
    # A unit that only one side writes beside its number must stand in the quote as a word ("Latency (ms): 12").
    return not stated.unit and mine is not None and mine.name in _units_around(stated, case)


def _units_around(stated: Number, case: ClaimCase) -> set[str]:
    """Names of the units that a number without one may have: those in the header of its column, else those of the words around it."""
    columns = " ".join(
        c.header
        for c in case.table
        if c.quoted and stated.value in [n.value for n in numbers_of(c.text)]
    )
    around = f"{case.quote} {case.sentence} {case.lead} {case.before} {case.heading}"
    texts = (set(map(_unit_name, _UNITS.findall(text))) - {""} for text in (columns, around))
    return next(filter(None, texts), set())


_UNITS = re.compile(r"(?<!\w)[A-Za-zµμ×]+(?:/[A-Za-z]+)*(?!\w)|%")


def _unit_name(spelling: str) -> str:
    # What is counted per run or per epoch has the unit that it is counted in.
    whole, _, per = spelling.partition("/")
    unit = unit_of(spelling if unit_of(per) else whole)
    return unit.name if unit else ""


_SHOWN = {
    "": "as exact",
    "<": "as an upper bound",
    ">": "as a lower bound",
    "~": "as approximate",
    "≈": "as approximate",
}


def _bound(case: ClaimCase, claimed: Number, stated: Number) -> str:
    mine = bound_of(case.claim, claimed.start, claimed)
    # What bounds a number may stand before the quote.
    at = max(case.sentence.find(case.quote), 0)
    whole = case.sentence if case.quote in case.sentence else case.quote
    theirs = bound_of(whole, at + stated.start, stated)
    shown = case.quote[stated.start : stated.end].strip()
    if stated.high is not None and claimed.high is None:
        both = {stated.value, stated.high} <= {n.value for n in numbers_of(case.claim)}
        end = {">": stated.value, "<": stated.high}.get(mine, math.inf)
        if both or _close(claimed.value, end):
            return ""
        return f"the quote gives the range {shown}, the claim one end of it"
    # "A little under forty" is about forty, and less.
    if mine == theirs or (theirs, mine) == ("", "~") or mine and "≈" in (mine, theirs):
        return ""
    limit = LIMITS.get(mine or theirs) if "" in (mine, theirs) else None
    bounding = BEFORE.search(case.claim[: claimed.start])
    named = limit and limit.search(case.claim if theirs else f"{whole} {case.about}")
    if named or bounding and bounding[0].strip().lower() in case.quote.lower():
        return ""
    return f"the quote gives {shown} {_SHOWN[theirs]}, the claim {_SHOWN[mine]}"
