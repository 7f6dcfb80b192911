"""What is known of each lever of a proposal: every attempt, its values, how it came out, and the answer of the gate in few lines; and how
alike two texts are in what they pull: one lever by whatever name, with the same value or another, the same way or back.

Refuses to take a part for the whole: of several levers moved together, one alone is only similar.
"""

import sqlite3
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import starmap
from typing import TYPE_CHECKING

from msgspec.structs import replace

from kb.refuted.intent import terms_in
from kb.refuted.moves import (
    OFF,
    ON,
    Move,
    Role,
    canonical,
    initials,
    parts_of_name,
    same_value,
    way_of_numbers,
)
from kb.run.record import Lever
from kb.text import counted, cut, one_line, reasoned
from kb.trail import Moment, experiment
from kb.trail.levers import OPPOSITE, key_of, number_of, switch_of

if TYPE_CHECKING:
    from kb.refuted.answer import Answer, Match


@dataclass(frozen=True, slots=True)
class LeverGroup:
    """One lever with all its attempts, oldest first: their pages, values as written and verdicts; why the newest came out so.

    `open` are attempts that kb measured too coarsely to decide, each with what would `settle` it, `apart` those that were misuse (and what was wrong) or a
    no-op; `has_tie`: one of the same value was decided as no effect.
    """

    lever: str
    value: str
    paths: tuple[str, ...]
    values: tuple[str, ...]
    tally: dict[str, int]
    because: str = ""
    open: tuple[str, ...] = ()
    settle: tuple[str, ...] = ()
    has_tie: bool = False
    apart: tuple[str, ...] = ()


# What is said of attempts that tried nothing: the benchmark was not the parent's, or what was built was.
_APART = {"misuse": "misuse", "no-op": "no-op, nothing changed"}


def groups_of(
    db: sqlite3.Connection, moves: Iterable[Move], *, target: str, at: Moment | None
) -> tuple[LeverGroup, ...]:
    """The levers that were pulled before, on the target or (without one) anywhere, before a moment."""
    groups = []
    for move in moves:
        query, values = (
            "select path, value, verdict, left, settles from attempt where key = ?",
            [move.key],
        )
        if target:
            query, values = query + " and target = ?", [*values, target]
        if at is not None:
            query, values = query + " and (date, serial, path) < (?, ?, ?)", [*values, *at]
        rows = db.execute(query + " order by date, serial, path", values).fetchall()
        if not rows:
            continue
        newest = experiment(db, rows[-1][0]) if rows[-1][3] not in _APART else None
        coarse = [row for row in rows if row[3] == "open"]
        groups.append(
            LeverGroup(
                move.name,
                move.value,
                tuple(path for path, *_ in rows),
                tuple(dict.fromkeys(value for _, value, *_ in rows if value)),
                dict(sorted(Counter(verdict or "none" for _, _, verdict, *_ in rows).items())),
                cut(newest.because, 200) if newest else "",
                tuple(path for path, *_ in coarse),
                tuple(settles for *_, settles in coarse),
                any(
                    verdict == "tie" and (same_value(value, move.value) or value == move.value)
                    for _, value, verdict, *_ in rows
                ),
                tuple(filter(None, starmap(_apart, rows))),
            )
        )
    return tuple(groups)


def _apart(path: str, value: str, verdict: str, left: str, wrong: str) -> str:
    return f"{_APART[left]}: {path}{f' ({wrong})' if wrong else ''}" if left in _APART else ""


def answer_text(answer: "Answer", *, every: bool = False) -> str:
    """The answer as a person reads it: a line a lever, then a line a page, at most `MOST` characters unless `every` is asked for."""
    differs = {m.lever: m.scope_diff for m in reversed(answer.matches)}
    lines = [f"{answer.outcome}  {answer.receipt}"]
    lines += [_group_line(group, differs.get(group.lever, ())) for group in answer.levers]
    for match in answer.matches:
        lines.append(_match_line(match, 400 if every else 110))
        if every:
            lines += [f"    claim: {match.claim}", f"    reopen if {match.reopen_if}"]
    if answer.outcome != "clear":
        lines.append("Name the page and say what differs (or drop the proposal); then check again.")
    elif answer.matches:
        lines.append(
            f"Read beside {counted(answer.read, 'failures')}, and none is this."
            if answer.read
            else "Nearest by words, and too far to ask. Read them: if one is this idea in other words, it is a repeat."
        )
    if answer.further:
        newest = "; ".join(cut(title, 60) for title in answer.newest)
        lines.append(
            f"Further off: {counted(answer.further, 'other failures')}, the newest: {newest}"
        )
    lines = [one_line(line) for line in lines]
    return "\n".join(lines if every else _held(lines))


def _group_line(group: LeverGroup, differs: tuple[str, ...]) -> str:
    tally = ", ".join(f"{n} {verdict}" for verdict, n in group.tally.items())
    values = f" at {', '.join(group.values)}" if group.values else ""
    name = f"{group.lever}={group.value}" if group.value else group.lever
    undecided = [
        (f"{path} ({settle})" if settle else path, "more samples" in settle)
        for path, settle in zip(group.open, group.settle, strict=True)
    ]
    coarse, left = (
        "; ".join(text for text, by_samples in undecided if by_samples == which)
        for which in (True, False)
    )
    notes = (
        ("newest", cut(group.because, 160)),
        ("differs", "; ".join(differs)),
        ("open, measured too coarsely", coarse),
        ("open", left),
    )
    noted = [f"{label}: {text}" for label, text in notes if text]
    head = f"{name}: pulled {len(group.paths)}x{values}: {tally}"
    return " | ".join([head, *noted, *group.apart])


def _match_line(match: "Match", longest: int) -> str:
    standing = [match.status] if match.status != "standing" else []
    source = ["a statement"] if match.source == "statement" else []
    verdict = [match.verdict] if match.verdict else []
    scope = ", ".join([*verdict, *standing, *source, match.date or "no date"])
    about = f"{match.lever} {match.value}".strip()
    notes = (
        ("differs", "; ".join(match.scope_diff)),
        ("you say", match.acknowledged),
        ("read", cut(match.reader, 160)),
    )
    noted = [f"{label}: {text}" for label, text in notes if text]
    text = reasoned(about, cut(match.because or match.claim, longest), ": ")
    return " | ".join([f"{match.score:.2f} {match.kind} {match.path} ({scope}) {text}", *noted])


# What an agent reads before each experiment.
MOST = 1500


def _held(lines: list[str]) -> list[str]:
    """Lines up to `MOST` characters; the last stays, and what is left out is counted."""
    first, *rest, last = lines if len(lines) > 1 else [*lines, ""]
    shown, left = [cut(first, 200)], MOST - len(first) - len(last) - 60
    for n, line in enumerate(rest):
        if len(line) + 1 > left:
            shown.append(f"… {len(rest) - n} more (--all)")
            break
        shown.append(line)
        left -= len(line) + 1
    return [*shown, *([last] if last else [])]


# Smaller whole numbers stand behind many settings at once.
_TELLING_NUMBER = 100


@dataclass(frozen=True, slots=True)
class Likeness:
    """kind: same-value, same-lever or similar; `lever` is the card's that makes it so; `decides`: by it alone the two are near."""

    kind: str = "similar"
    lever: Move | None = None
    decides: bool = False


def likeness_of(mine: Mapping[str, Move], theirs: Mapping[str, Move]) -> Likeness:
    """Likeness of what two texts pull, by key, or by a name that is the other's with its owner in front (`a.b.size`, `b.size`)."""
    owned = {
        key: next(
            (
                k
                for k, m in mine.items()
                if k not in theirs
                and (m.name.endswith("." + q.name) or q.name.endswith("." + m.name))
            ),
            key,
        )
        for key, q in theirs.items()
    }
    theirs = {owned[key]: replace(q, key=owned[key]) for key, q in theirs.items()}
    both = mine.keys() & theirs.keys()
    if not both:
        short = _short(mine, theirs)
        return Likeness(lever=short, decides=short is not None)
    # Of several that are as weighty the one that differs is what is tried.
    key = max(
        both,
        key=lambda k: (
            mine[k].is_setting + theirs[k].is_setting,
            mine[k].role + theirs[k].role,
            _kind(mine[k], theirs[k]) != "same-value",
            k,
        ),
    )
    # What a text names and says nothing else of may not be what it tries.
    bare = any(m.role is Role.NAMED and not m.value + m.way for m in (mine[key], theirs[key]))
    alone = 2 * len(both) >= max(_size(mine, mine[key]), _size(theirs, mine[key]))
    # Where a text says what changes, what it sets beside that is where it stands.
    mine_is_aim, theirs_is_aim = (
        s[key].is_moved or not any(m.is_moved for m in s.values()) for s in (mine, theirs)
    )
    return Likeness(
        _kind(mine[key], theirs[key]) if alone and mine_is_aim and not bare else "similar",
        theirs[key],
        alone and mine_is_aim and theirs_is_aim,
    )


def _size(pulls: Mapping[str, Move], lever: Move) -> int:
    """How many levers are pulled together; names of code on which nothing is set count only beside another of these."""
    return sum(m.is_setting or not lever.is_setting for m in pulls.values())


def _kind(mine: Move, theirs: Move) -> str:
    """same-value, same-lever or similar, of one lever that two texts pull."""
    switches = {mine.switch, theirs.switch}
    if (
        switches == {"on", "off"}
        or "off" in switches
        and (mine.value or theirs.value)
        and "" in switches
    ):
        return "similar"
    if (
        mine.value
        and theirs.value
        and same_value(mine.value, theirs.value)
        or switches in ({"on"}, {"off"})
    ):
        return "same-value"
    way = mine.way or way_of_numbers(theirs.before, mine.value)
    other = theirs.way or way_of_numbers(mine.before, theirs.value)
    if OPPOSITE.get(way) == other != "":
        return "similar"
    numbers = number_of(mine.value), number_of(theirs.value)
    # Of two numbers of one knob something must say that both lie on the same side of where it stood.
    return "same-lever" if None in numbers or way and way == other else "similar"


@lru_cache(maxsize=1 << 16)
def short_for(one: str, other: str) -> bool:
    """Whether one of two names may be short for the other: its initials (`bs`, `batch_size`; `peak lr`, `learning_rate`), its last
    word (`lr`, `peak lr`) or its first letter (`b`).
    """
    short, long = sorted((one, other), key=lambda name: len(key_of(name)))
    forms = (
        initials(long),
        initials(f"{long}_size"),
        key_of(long)[:1],
        (parts_of_name(long) or ("",))[-1],
    )
    last = (parts_of_name(short) or ("",))[-1]
    return (
        key_of(short) in forms
        or len(last) > 1
        and last in (initials(long), initials(f"{long}_size"))
    )


def by_value(
    mine: Mapping[str, Move], theirs: Mapping[str, Move], terms: Mapping[str, float]
) -> Likeness:
    """Likeness of a text that sets nothing to a lever that it does not name: it holds all of its value (`zstd at level six`,
    `codec=ZSTD(6)`), where that tells.
    """
    free = not any(m.is_setting for m in mine.values())
    values = ((m, word) for word in (_telling, _name) for m in theirs.values() if free)
    lever = next((m for m, word in values if word(m.value) and word(m.value) <= terms.keys()), None)
    return Likeness(lever=lever, decides=lever is not None)


@lru_cache(maxsize=1 << 12)
def _name(value: str) -> set[str]:
    """The terms of a value that is a name; none of a number and of a switch."""
    words = terms_in(value) if number_of(value) is None else set()
    return words if any(len(w) > 2 and w[0] != "#" and w not in ON | OFF for w in words) else set()


def _telling(value: str) -> set[str]:
    """The term of a number that stands behind few settings: a hundred and more, or a fraction of two digits."""
    number = number_of(value)
    tells = number is not None and (number >= _TELLING_NUMBER or not (number * 10).is_integer())
    return {f"#{number:g}"} if tells else set()


def _short(mine: Mapping[str, Move], theirs: Mapping[str, Move]) -> Move | None:
    """A card's lever that one of a proposal may be short for: too little for the same lever."""
    pairs = (
        (p, q) for p in mine.values() for q in theirs.values() if min(len(p.key), len(q.key)) > 1
    )
    return next(
        (q for p, q in pairs if short_for(p.name, q.name) and same_value(p.value, q.value)), None
    )


def differences(
    card: Iterable[Lever], proposal: Iterable[Lever], *, leaving_out: str = ""
) -> list[str]:
    """Settings that both name with other numbers, as `batch_size 3 → 4`; the lever itself is not compared.

    A short name that may stand for several settings (`bs` for batch size and for block size) is compared with all of them.
    """
    lines: list[str] = []
    theirs = [(canonical(switch_of(v.name)[0]), v) for v in card]
    for mine in proposal:
        key = canonical(switch_of(mine.name)[0])
        meant = [v for k, v in theirs if k == key] or [
            v for _, v in theirs if short_for(mine.name, v.name)
        ]
        other = next((v for v in meant if number_of(v.value) != number_of(mine.value)), None)
        if other and leaving_out not in (key, canonical(switch_of(other.name)[0])):
            name = max(mine.name, other.name, key=len) if len(meant) == 1 else mine.name
            lines.append(f"{name.lstrip('-')} {other.value} → {mine.value}")
    return lines
