"""Refuted statements of an owner's notes: questions answered by no, items struck out with a reason, sections and paragraphs that report
a failure, decisions taken back.
"""

import re
from collections.abc import Iterator
from dataclasses import replace

from kb.page import Page
from kb.page.document import Block, Document
from kb.refuted.intent import aim_of_text, readable
from kb.refuted.statement import (
    ADVICE,
    LONGEST,
    Statement,
    is_short,
    prose_between,
    statement_in,
)
from kb.schema import label_kind
from kb.text import sentences_of
from kb.text.reports import ReportKind, is_settled
from kb.trail.reported import failure_in, report_in

# A question whether something does harm.
_OF_HARM = re.compile(r"\b(?:hurt|cost|break|harm|slow|lose|need|drain|wast)\w*\b", re.IGNORECASE)
_ANSWERED_NO = re.compile(r"(?:no|nope|not really|nein|non)\b\W*(?=\w)", re.IGNORECASE)
_STRUCK = re.compile(r"\W{0,4}~~(.+?)~~\W*(?=\w)")
# Headings that only tell where to look, how, or what is still open.
NO_LIST = re.compile(
    r"\bopen\b|^(?:when|if)\b|refuted when|refuted if|honestly|how to|next|criteri|accept|definition of done|\bgoal|\btraps?\b|remed|abnahme|acepta|条件|目的|目標|目标|注意|when to|\bcheck\b|\bgate\b|^(?:\w+ )?rules?\b|not (?:yet )?(?:tried|refuted|buried|dead|failed)",
    re.IGNORECASE,
)


def section_failure(
    page: Page, document: Document, head: Block, end: int, anchor: str
) -> Iterator[Statement]:
    """A section of one paragraph that reports a failure: what failed is its title, or the page's where that says only that it tells the
    outcome.
    """
    outcome = label_kind(head.plain) == "outcome"
    subject = page.title if outcome else head.plain
    held = [
        b for b in document.between(head.line + 1, end) if b.kind == "paragraph" and not b.depth
    ]
    prose = readable(prose_between(document, head.line + 1, end))[:LONGEST]
    if "?" in subject:
        yield from answer_failure(
            page, head.line, end, anchor, f"{subject.partition('?')[0]}? {prose}"
        )
    elif len(held) == 1 and not ADVICE.match(subject) and (failure := failure_in(prose)):
        shown = subject if outcome else f"{subject}. {failure[0]}"
        statement = statement_in(page, "bullet", head.line, end, anchor, shown)
        yield replace(statement, because=prose[:500])


def entry_failure(page: Page, block: Block, anchor: str, text: str) -> Iterator[Statement]:
    """A paragraph or item of somebody's notes: an answered question, what was struck out with a reason, or a failure as it is told."""
    text = readable(text)[:LONGEST]
    struck = _STRUCK.match(text)
    if struck:
        rest = text[struck.end() :]
        report, _ = report_in(rest, is_try=True)
        if report in (ReportKind.FAILED, None) and not (is_short(rest) or is_settled(rest)):
            statement = statement_in(
                page, "bullet", block.line, block.stop, anchor, f"{struck[1]}: {rest}"
            )
            yield replace(statement, because=rest[:500], aim=aim_of_text(struck[1]))
    elif "? " in text[:200]:
        yield from answer_failure(page, block.line, block.stop, anchor, text)
    elif not is_short(text) and not ADVICE.match(text) and (failure := failure_in(text)):
        statement = statement_in(page, "bullet", block.line, block.stop, anchor, failure[0])
        yield replace(statement, because=failure[1][:500])


def answer_failure(page: Page, start: int, end: int, anchor: str, text: str) -> Iterator[Statement]:
    """A question whether something is of use, answered by no and how it went."""
    question, _, answer = text.partition("?")
    answer = answer.strip()
    if _OF_HARM.search(question) or not (_ANSWERED_NO.match(answer) or failure_in(answer)):
        return
    report, _ = report_in(answer, is_try=True)
    if report is ReportKind.FAILED or report is None:
        statement = statement_in(page, "bullet", start, end, anchor, f"{question}: {answer}")
        yield replace(
            statement,
            because=answer[:500],
            aim=aim_of_text(f"{question}? {' '.join(sentences_of(answer)[:2])}"),
        )
