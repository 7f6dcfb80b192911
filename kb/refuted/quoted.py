"""What somebody read on a page as statements. Refuses to read the page: that was whoever filed the record."""

from collections.abc import Iterator
from dataclasses import replace

from kb.page import Page
from kb.refuted.statement import Statement, statement_in
from kb.schema import FAILED
from kb.source import PageRecord, QuotedAttempt
from kb.text import one_line, reasoned


def failures_in(page: Page, text: str, record: PageRecord) -> Iterator[Statement]:
    """The failures that somebody read on a page, each on the line where its quote begins: the page itself, if it is no run, and attempts."""
    # Loaded late: of few pages a reading is on file, and what looks for quotes takes long to load.
    from kb.claims.quotes import Quotes

    quotes = Quotes(text)
    because = record.because.text if record.because else ""
    whole = QuotedAttempt(
        what=record.what or page.title,
        outcome=record.verdict,
        quote=record.verdict_quote,
        because=because,
    )
    own = () if page.type == "experiment" else (whole,)
    for attempt in (*own, *record.attempts):
        if attempt.outcome in FAILED:
            at = quotes.find(attempt.quote)
            line = text.count("\n", 0, at.start) + 1 if at else page.body_line
            anchor = next((s.anchor for s in reversed(page.sections) if s.start <= line), "")
            quote = one_line(attempt.quote)
            claim = reasoned(attempt.what, quote, ": ")
            place = range(line, line + 1), anchor, claim
            because = attempt.because or quote
            statement = statement_in(page, "bullet", *place, because=because, about=attempt.what)
            yield replace(statement, verdict=attempt.outcome)
