"""What is known of each lever of a proposal: every attempt, its values, how it came out, and the answer of the gate in few lines."""

import sqlite3
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kb.refuted.moves import Move
from kb.refuted.values import same_value
from kb.text import cut, one_line, reasoned
from kb.trail import Moment, experiment

if TYPE_CHECKING:
    from kb.refuted.gate import Answer, Match


@dataclass(frozen=True, slots=True)
class LeverGroup:
    """One lever with all its attempts, oldest first: their pages, values as written and verdicts; why the newest came out so.

    `open` are attempts that kb measured too coarsely to decide, each with what would `settle` it; `has_tie`: one of the same value was decided as no effect.
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


def groups_of(
    db: sqlite3.Connection, moves: Iterable[Move], *, target: str, at: Moment | None
) -> tuple[LeverGroup, ...]:
    """The levers that were pulled before, on the target or (without one) anywhere, before a moment."""
    groups = []
    for move in moves:
        query, values = (
            "select path, value, verdict, measured, settles from attempt where key = ?",
            [move.key],
        )
        if target:
            query, values = query + " and target = ?", [*values, target]
        if at is not None:
            query, values = query + " and (date, serial, path) < (?, ?, ?)", [*values, *at]
        rows = db.execute(query + " order by date, serial, path", values).fetchall()
        if not rows:
            continue
        newest = experiment(db, rows[-1][0])
        coarse = [row for row in rows if row[3] and row[2] == "inconclusive"]
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
            )
        )
    return tuple(groups)


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
    lines = [one_line(line) for line in lines]
    return "\n".join(lines if every else _held(lines))


def _group_line(group: LeverGroup, differs: tuple[str, ...]) -> str:
    tally = ", ".join(f"{n} {verdict}" for verdict, n in group.tally.items())
    values = f" at {', '.join(group.values)}" if group.values else ""
    name = f"{group.lever}={group.value}" if group.value else group.lever
    coarse = "; ".join(
        f"{path} ({settle})" if settle else path
        for path, settle in zip(group.open, group.settle, strict=True)
    )
    notes = (
        ("newest", cut(group.because, 160)),
        ("differs", "; ".join(differs)),
        ("open, measured too coarsely", coarse),
    )
    noted = [f"{label}: {text}" for label, text in notes if text]
    return " | ".join([f"{name}: pulled {len(group.paths)}x{values}: {tally}", *noted])


def _match_line(match: "Match", longest: int) -> str:
    standing = [match.status] if match.status != "standing" else []
    source = ["a statement"] if match.source == "statement" else []
    verdict = [match.verdict] if match.verdict else []
    scope = ", ".join([*verdict, *standing, *source, match.date or "no date"])
    about = f"{match.lever} {match.value}".strip()
    notes = (("differs", "; ".join(match.scope_diff)), ("you say", match.acknowledged))
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
