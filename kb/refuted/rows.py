"""Rows of a page's tables that tell of failures: by their column of verdicts, by a no where they say what was kept, in an owner's notes by
their figures; below a heading of failures any that does not say otherwise. Refuses rows that only weigh what was never run.
"""

import re
from collections.abc import Iterator, Mapping, Set
from functools import lru_cache
from itertools import chain

from kb.page import Page, document_of
from kb.page.document import Block
from kb.refuted.intent import readable
from kb.refuted.statement import (
    CROSSES,
    LONGEST,
    Statement,
    is_note,
    is_short,
    reports_failure,
    statement_in,
)
from kb.run.direction import direction_of
from kb.schema import FAILED, Verdict, canonical_verdict, heading_kind, label_kind, outcome_verdict
from kb.text.reports import is_settled
from kb.trail.attempts import are_tries, changes_in
from kb.trail.outline import Phrases
from kb.trail.reported import failure_in

_VERDICT_CELL = re.compile(
    r"\W*(?:(?:refuted|rejected|falsified)\b|(?:invalid|discard(?:ed)?)\b(?=\W*$|\s*[^\w\s]|\s+(?:or|and|by|because|as|since|at|in|on|due|after|with)\b))",
    re.IGNORECASE,
)
KEPT_HEADS = frozenset(("keep", "kept", "adopted", "in use"))
# Columns that weigh what may be done.
_RATES = Phrases("effort, risk, complexit, priorit, feasib, impact, benefit")
CLAIM_HEAD = re.compile(
    r"(?:sub-?)?hypothes|claim|expect|predict|finding|statement|assumption|\W*criteri",
    re.IGNORECASE,
)


def _heads(block: Block) -> list[str]:
    return [c.plain for row in block.rows[:1] for c in row.cells]


def judges(block: Block) -> bool:
    """Whether a block is a table whose rows judge a claim each, or say what was kept."""
    heads = _heads(block)
    return any(map(CLAIM_HEAD.match, heads)) or not KEPT_HEADS.isdisjoint(map(str.lower, heads))


def judged_failures(page: Page, table: Block, anchor: str) -> Iterator[Statement]:
    """Rows of such a table on a run's own page: claims that were refuted, and of what was not kept what says how it failed."""
    claims = any(map(CLAIM_HEAD.match, _heads(table)))
    for row in table_failures(page, table, anchor, "", judged=True):
        # A claim whose measurement was invalid may hold.
        holds = Verdict.INVALID in map(outcome_verdict, row.text.split(" · ")[1:])
        if not holds if claims else reports_failure(row.text):
            yield row


def table_failures(
    page: Page, table: Block, anchor: str, mode: str, *, judged: bool = False
) -> Iterator[Statement]:
    """Rows whose verdict is that of a failure, and (unless only these are asked for) any below a heading of failures that do not say
    otherwise.
    """
    head, notes = [c.plain[:80] for c in table.rows[0].cells], is_note(page)
    rows = [[readable(c.plain)[:LONGEST] for c in row.cells] for row in table.rows[1:]]
    outcomes, weighed = _outcomes(head, rows, notes=notes), _weighed(head, rows)
    kept = _kept_in(head)
    gains = changes_in(head, [[*cells, *[""] * len(head)] for cells in rows])
    # Elsewhere than in notes, and below a heading of failures, a row stands by itself unless its table only rates.
    stands = not weighed and any((mode, not notes))
    # What got worse of one run's metrics is no try, and of what no head names nobody knows which way is worse.
    compared = notes and any(map(direction_of, head)) and are_tries(head, rows)
    for row, cells, gain in zip(table.rows[1:], rows, gains, strict=True):
        verdicts = {i: outcome_verdict(c) for i, c in enumerate(cells) if i in outcomes}
        failing = _failing(cells, verdicts, kept, notes=notes) or _cross_of(cells) * notes
        # A bare number is told by the head of its column where it names what was tried, and by nothing else.
        text = " · ".join(filter(None, map(_shown, cells, [head[0], *[""] * len(cells)])))[:LONGEST]
        won = "✅" in text or {Verdict.SUPPORTED, Verdict.BASELINE} & {*verdicts.values()}
        lost = failing or not judged and _has_lost(text, mode, gain, compared=compared)
        if lost and not (won or is_short(text) or is_settled(text)):
            because = _reason(cells[min(failing, default=len(cells)) + 1 :])
            measured = _is_measured(cells, {*verdicts, *weighed})
            kind = ("remark", "row")[any((stands, measured))]
            yield statement_in(
                page, kind, range(row.line, row.line + 1), anchor, text, because=because
            )


def _kept_in(head: list[str]) -> set[int]:
    return {i for i, h in enumerate(head) if i and h.lower().rstrip("?") in KEPT_HEADS}


def _weighed(head: list[str], rows: list[list[str]]) -> set[int]:
    """The columns that rate what may be done (its effort, its risk) and give no figure."""
    columns = (i for i, h in enumerate(head) if i and _RATES.search(h))
    return {
        i
        for i in columns
        if not any(map(str.isdigit, "".join("".join(r[i : i + 1]) for r in rows)))
    }


def _is_measured(cells: list[str], beside: Set[int]) -> bool:
    """Whether a row gives a figure or names a run, or reports `beside` its verdict and what rates it how it went: what was only weighed does
    neither.
    """
    spoken = [c for i, c in enumerate(cells) if i not in beside]
    return any(map(str.isdigit, "".join(cells[1:]))) or any(map(reports_failure, spoken))


def _outcomes(head: list[str], rows: list[list[str]], *, notes: bool) -> set[int]:
    """The columns of verdicts, by their heads; of an owner's notes also the one most of whose cells say in words how something went.
    Two such columns rate choices and tell of no trial.
    """
    columns = {i for i, h in enumerate(head) if heading_kind(h) == "outcome"}
    if columns or not notes:
        return columns
    for i in range(1, max(map(len, rows), default=0)):
        cells = [c for cells in rows if (c := "".join(cells[i : i + 1]).strip(" –—-✅❌✗✘✔"))]
        worded = [
            c for c in cells if outcome_verdict(c) and c.lower() not in ("yes", "no", "good", "bad")
        ]
        # What no head names may tell what a part of something is.
        if len(worded) > 1 and "".join(head[i : i + 1]).strip():
            living = sum(canonical_verdict(c) is None for c in cells if c not in worded)
            columns |= {i} if len(worded) + living >= 0.6 * len(cells) else set()
    return columns if len(columns) == 1 else set()


def _shown(cell: str, head: str) -> str:
    # A figure with a sign or a unit says by itself how it went; a bare one, and a day, does not.
    if cell.strip("0123456789#.,/-") or cell[:1] == "-":
        return cell
    return f"{head} {cell}" if head.isalpha() and cell.strip("#").replace(".", "").isdigit() else ""


def _has_lost(text: str, mode: str, gained: float | None, *, compared: bool) -> bool:
    """Whether a row of which no cell says so failed: by the heading that it stands below, or in notes by its figures."""
    return (gain := gained or 0.0) <= 0 and (
        mode.endswith("failed")
        or mode == "turned-down"
        and reports_failure(text)
        or compared
        and gain < 0
    )


def _reason(behind: list[str]) -> str:
    """The last cell that is long enough for a reason."""
    return next((c for c in reversed(behind) if len(c) >= 20), "")


def _cross_of(cells: list[str]) -> list[int]:
    """The one cell of a row that a cross begins, where the row reports a failure behind it: several rate what something can do."""
    marked = [i for i, cell in enumerate(cells) if i and cell.startswith((*CROSSES,))]
    reports = (cell.lstrip(CROSSES + "️ ") for cell in cells[1:])
    return marked if len(marked) == 1 and any(map(reports_failure, reports)) else []


def _failing(
    cells: list[str], verdicts: Mapping[int, Verdict | None], kept: set[int], *, notes: bool
) -> list[int]:
    """The cells that say that a row failed: by the verdict that they hold, by themselves, by a no where they say what was kept, or as an
    owner's note on how it came out.
    """
    return [
        i
        for i, cell in enumerate(cells)
        # What a row is about stands first, unless it begins with how that came out.
        if i != int(0 in verdicts)
        and (
            verdicts.get(i) in FAILED
            or len(cell) < 80
            and _VERDICT_CELL.match(cell.lstrip(CROSSES + "️ "))
            or i in kept
            and cell.lower().partition(" ")[0].rstrip(",;.:") == "no"
            or i in verdicts
            and notes
            # What stands in brackets or behind its first clause may speak of something else.
            and failure_in(cell.partition(";")[0].partition(" (")[0], is_try=True)
        )
    ]


@lru_cache(maxsize=1)
def failing_words(text: str) -> tuple[str, ...]:
    """The words that a page's own table of verdicts and what they mean explains as failures."""
    tables = (b.rows for b in document_of(text).blocks if b.rows and 1 < len(b.rows[0].cells) < 4)
    legends = (rows[1:] for rows in tables if label_kind(rows[0].cells[0].plain) == "outcome")
    words = ((r.cells[0].plain.lower(), r.cells[-1].plain) for r in chain.from_iterable(legends))
    return tuple(
        word
        for word, means in words
        if not FAILED.isdisjoint(map(outcome_verdict, means.split(", ")))
        or outcome_verdict(word) is None
        and failure_in(means, is_try=True)
    )
