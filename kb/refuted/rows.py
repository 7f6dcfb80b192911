"""Refuted statements of tables: rows that a verdict fails, rows below a heading of failures."""

import re
from collections.abc import Iterator
from dataclasses import replace

from kb.page import Page
from kb.page.document import Block, Row
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
from kb.schema import FAILED, Verdict, canonical_verdict, label_kind, outcome_verdict
from kb.text.reports import failure_in, is_settled
from kb.trail.attempts import changes_in

_VERDICT_CELL = re.compile(
    r"\W*(?:(?:refuted|rejected|falsified)\b|(?:invalid|discard(?:ed)?)\b(?=\W*$|\s*[^\w\s]|\s+(?:or|and|by|because|as|since|at|in|on|due|after|with)\b))",
    re.IGNORECASE,
)
_VERDICT_HEAD = re.compile(r"verdict|outcome|results?$|conclusion|worked|decision", re.IGNORECASE)
_KEPT_HEADS = ("keep", "kept", "adopted", "in use")
CLAIM_HEAD = re.compile(
    r"(?:sub-?)?hypothes|claim|expect|predict|finding|statement|assumption|\W*criteri",
    re.IGNORECASE,
)


def table_failures(page: Page, table: Block, anchor: str, mode: str) -> Iterator[Statement]:
    head = [c.plain[:80] for c in table.rows[0].cells]
    rows = [(row, [readable(c.plain)[:LONGEST] for c in row.cells]) for row in table.rows[1:]]
    outcomes = {
        i for i, h in enumerate(head) if _VERDICT_HEAD.search(h) or label_kind(h) == "outcome"
    }
    if not outcomes and is_note(page):
        outcomes = _rated([cells for _, cells in rows])
    gains = changes_in(head, [[*cells, *[""] * len(head)] for _, cells in rows])
    for (row, cells), gain in zip(rows, gains, strict=True):
        yield from _row(page, row, cells, head, outcomes, anchor, mode, gain)


def _rated(rows: list[list[str]]) -> set[int]:
    """The one column most of whose cells say in words how something went. Two such columns rate choices and tell of no trial."""
    columns = set()
    for i in range(1, max(map(len, rows), default=0)):
        cells = [c for cells in rows if (c := "".join(cells[i : i + 1]).strip(" –—-✅❌✗✘✔"))]
        worded = [
            c for c in cells if outcome_verdict(c) and c.lower() not in ("yes", "no", "good", "bad")
        ]
        if len(worded) > 1 and len(worded) >= 0.6 * len(cells):
            columns.add(i)
    return columns if len(columns) == 1 else set()


def _row(
    page: Page,
    row: Row,
    cells: list[str],
    head: list[str],
    outcomes: set[int],
    anchor: str,
    mode: str,
    gain: float | None,
) -> Iterator[Statement]:
    """A row whose verdict is that of a failure, or any row below a heading of failures that does not say otherwise."""
    verdicts = {i: outcome_verdict(c) for i, c in enumerate(cells) if i in outcomes}
    # What a row is about stands first, unless it begins with how that came out.
    about = 1 if 0 in verdicts else 0
    kept = next(
        (i for i, h in enumerate(head[: len(cells)]) if i and h.lower().rstrip("?") in _KEPT_HEADS),
        0,
    )
    failing = next(
        (
            i
            for i, c in enumerate(cells)
            if i != about
            and (
                len(c) < 80
                and _VERDICT_CELL.match(c.lstrip(CROSSES + "️ "))
                or verdicts.get(i) in FAILED
                or i in verdicts
                and is_note(page)
                and failure_in(c)
                or i == kept
                and c.lower().partition(" ")[0].rstrip(",;.") == "no"
            )
        ),
        None,
    )
    won = any(v in (Verdict.SUPPORTED, Verdict.BASELINE) for v in verdicts.values()) or any(
        "✅" in c for c in cells
    )
    # A bare number is told by the head of its column where it names what was tried, and by nothing else.
    shown = [_shown(c, head[0] if not i else "") for i, c in enumerate(cells)]
    text = " · ".join(filter(None, shown))[:LONGEST]
    won = won or failing is None and gain is not None and gain > 0
    if won or is_short(text) or is_settled(text):
        return
    lost = gain is not None and gain < 0 and is_note(page)
    listed = mode == "failed" or mode == "turned-down" and reports_failure(text)
    # Where the cell of its outcome says only that it ended ("closed"), the rest of the row may tell how.
    ended = about and canonical_verdict(cells[0].partition("(")[0]) is None and failure_in(text)
    if failing is None and not (lost or listed or ended):
        return
    behind = [c for c in cells[failing + 1 :] if len(c) >= 20] if failing is not None else []
    reason = behind[-1] if behind else ""
    statement = statement_in(page, "row", row.line, row.line, anchor, text)
    yield replace(statement, because=reason or statement.because, has_verdict=failing is not None)


def _shown(cell: str, head: str) -> str:
    """A cell as a statement tells it: a number only in the first column, by what its head calls it."""
    if len(cell) > 4 or cell.strip("0123456789#."):
        return cell
    return f"{head} {cell}" if cell and head.isalpha() and len(head) > 2 else ""
