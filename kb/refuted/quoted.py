"""What somebody read on a page as statements. Refuses to read the page: that was whoever filed the record."""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from kb.page import Page, document_of
from kb.refuted.intent import Aim, aim_of_text
from kb.refuted.moves import united
from kb.refuted.statement import LONGEST, Statement, statement_in
from kb.schema import FAILED
from kb.source import QuotedAttempt, StandingRecord
from kb.text import one_line, reasoned


def failures_in(
    page: Page, text: str, read: StandingRecord, ruled: Iterable[Statement]
) -> Iterator[Statement]:
    """The failures that somebody read on a page, each on the line where its quote begins: the page itself, if it is no run, and attempts.
    Where they do not take the place of what is `ruled`, those of it come behind that speak of nothing that was read.
    """
    record, lines = read.record, set[int]()
    because = record.because.text if record.because else ""
    whole = QuotedAttempt(
        what=record.what or page.title,
        outcome=record.verdict,
        quote=record.verdict_quote,
        because=because,
    )
    own = () if page.type == "experiment" or not record.verdict else (whole,)
    for attempt in (*own, *record.attempts):
        line = text.count("\n", 0, read.quotes.find(attempt.quote).start) + 1
        lines.add(line)
        if attempt.outcome in FAILED:
            anchor = next((s.anchor for s in reversed(page.sections) if s.start <= line), "")
            quote = one_line(attempt.quote)
            claim = reasoned(attempt.what, quote, ": ")
            place = range(line, line + 1), anchor, claim
            because = attempt.because or quote
            statement = statement_in(page, "bullet", *place, because=because, about=attempt.what)
            aim = _with_levers(statement.aim, aim_of_text(quote[:LONGEST]))
            yield replace(statement, verdict=attempt.outcome, aim=aim)
    if not (read.whole and (own or record.attempts)):
        yield from (s for s in ruled if lines.isdisjoint(_lines_of(page, text, s, own)))


def _with_levers(aim: Aim, quoted: Aim) -> Aim:
    """What was tried, in a reader's words, with the levers that the page itself gives it: by these alone a setting is met."""
    terms = aim.terms | {t: 0.0 for t in quoted.terms if t[0] == "="}
    return replace(aim, terms=dict(sorted(terms.items())), moves=united([aim.moves, quoted.moves]))


def _lines_of(page: Page, text: str, statement: Statement, own: tuple[object, ...]) -> range:
    """The lines that say what a statement says: its block, its section where it stands in the heading; the page where it speaks of that."""
    if statement.kind in ("hypothesis", "declined"):
        return range(page.lines + 1 if own else 0)
    held = (b for b in document_of(text).blocks if b.kind in ("item", "paragraph"))
    blocks = (b.stop for b in held if b.line == statement.line)
    ends = (s.end for s in page.sections if s.start == statement.line)
    return range(statement.line, max((*blocks, *ends), default=statement.line + 1))
