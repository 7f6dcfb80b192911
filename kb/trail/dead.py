"""Levers that failed on a target, one line a family: tally, each try with its result, the newest because; then what tables of pages tell of
tries that have no page. A lever that won later is not dead.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

from kb import grouped
from kb.schema import Verdict
from kb.text import cut
from kb.trail.facts import Facts
from kb.trail.frontier import kept
from kb.trail.handles import handle
from kb.trail.levers import is_common, key_of, levers_in
from kb.trail.line import Line
from kb.trail.outcomes import DIGITS, Outcomes

# Tries of one family that are told, and of them those that are told with their reason.
_TRIES, _REASONS = 7, 3
# So many runs at the end say what is known now: their reasons are told at length.
_NEWEST = 2
# Rows of a page's tables that make a line.
_ROWS = 4
# Rules of kb's verdicts that leave open whether a lever works.
_OPEN_RULES = frozenset(("no-op", "undecided", "criterion-open", "noise-unknown"))


def families_of(
    runs: Sequence[Facts], names_of_targets: frozenset[str] = frozenset()
) -> list[tuple[str, list[Facts]]]:
    """Runs by the lever that they share; what is alone has an empty name."""
    names: dict[str, str] = {}
    counts: Counter[str] = Counter()
    keys: dict[str, list[str]] = {}
    for e in runs:
        levers = [
            v
            for v in (*levers_in(e.title), *e.levers[:4])
            if len(key_of(v.name)) >= 3 and not is_common(v.name)
        ]
        own = {
            key_of(v.name): v.name
            for v in levers
            if not any(t.startswith(v.name.lower()) for t in names_of_targets)
        }
        keys[e.path] = list(own)
        counts.update(own.keys())
        names = own | names
    most = max(3, len(runs) / 4)
    groups: dict[str, list[Facts]] = defaultdict(list)
    alone: list[tuple[str, list[Facts]]] = []
    for e in runs:
        shared = [k for k in keys[e.path] if 2 <= counts[k] <= most]
        if shared:
            groups[names[min(shared, key=lambda k: (counts[k], k))]].append(e)
        else:
            alone.append(("", [e]))
    return [*groups.items(), *alone]


def dead_lines(outcomes: Outcomes) -> Iterable[Line]:
    """One line a family with failures and one a page whose tables tell of failures, newest first."""
    age = {e.path: at for at, e in enumerate(reversed(outcomes.runs))}
    judged = [e for e in outcomes.runs if e.verdict.canonical not in (None, Verdict.BASELINE)]
    decided = [e for e in judged if _rule(e) not in _OPEN_RULES]
    families = []
    for name, group in families_of(decided, outcomes.names):
        lost = sorted((e for e in group if not kept(e)), key=lambda e: age[e.path])
        if lost:
            weight = 1 / (2 + age[lost[0].path]) + 0.02 * min(len(lost), 5)
            families.append((-weight, _family(outcomes, name, size=len(group), lost=lost)))
    for e in outcomes.runs:
        for place, line in enumerate(_tables(outcomes, e)):
            families.append((-1 / (2 + age[e.path] + place), line))
    yield from (line for _, line in sorted(families, key=lambda f: (f[0], f[1].text)))


def _rule(e: Facts) -> str:
    """The rule that a verdict of kb's own names; empty for any other verdict."""
    return e.because.rpartition("Rule: ")[2].strip("`. ")


def _family(outcomes: Outcomes, name: str, *, size: int, lost: Sequence[Facts]) -> Line:
    alike = grouped((DIGITS.sub("#", outcomes.change(e)), e) for e in lost)
    tries = [_try(outcomes, same, place) for place, same in enumerate([*alike.values()][:_TRIES])]
    more = f" | and {len(alike) - _TRIES} more" if len(alike) > _TRIES else ""
    head = f"{name} ({size - len(lost)} of {size} won): " if name and size > 1 else ""
    return Line(head + " | ".join(tries) + more, lost[0].path)


def _tables(outcomes: Outcomes, e: Facts) -> Iterable[Line]:
    """What a page's tables say failed beside the run itself, without what has a page of its own; a few rows a line."""
    rows = [
        t.text for t in e.account.attempts if t.won is False and not outcomes.has_page(t.subject)
    ]
    for at in range(0, len(rows), _ROWS):
        head = f"{handle(e.path)} also tried: "
        yield Line(f"{head}{' | '.join(rows[at : at + _ROWS])}", e.path, head)


def _try(outcomes: Outcomes, same: Sequence[Facts], place: int) -> str:
    """A try with its result and reason, and those that differ from it by figures alone by these and their results."""
    e, *others = same
    newest = e in outcomes.runs[-_NEWEST:]
    most = 640 if newest else 90 if place else 200
    reason = outcomes.reason(e, most) if newest or place < _REASONS else ""
    result = ", ".join(x for x in (str(e.verdict.canonical), outcomes.result(e)) if x)
    values = (
        f"{' '.join((handle(o.path), *DIGITS.findall(outcomes.change(o))))}: {outcomes.result(o) or o.verdict.canonical}"
        for o in others
    )
    other_values = f" (also {', '.join(values)})" if others else ""
    return f"{handle(e.path)} {cut(outcomes.change(e), 90)}: {result}{other_values}{f'; {reason}' if reason else ''}"
