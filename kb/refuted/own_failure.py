"""Pages that say of themselves that they failed or were declined. Refuses to judge what a page lists."""

from collections.abc import Iterator

from kb.page import Page, document_of
from kb.refuted.intent import aim_of_text, readable
from kb.refuted.statement import (
    LONGEST,
    REASONS,
    Statement,
    cites_on,
    entry_of,
    prose_of,
    reports_failure,
)
from kb.schema import (
    FAILED,
    OUTCOME_FIELDS,
    Verdict,
    canonical_verdict,
    field_verdict,
    outcome_verdict,
)
from kb.text import numbers_in
from kb.trail.outline import passages_of
from kb.trail.verdicts import labelled_verdict


def _says_no(page: Page, text: str) -> str:
    """Where a page says of itself that it was refuted or retired: in front matter, else behind a label, else in its title's first word
    ("Reject string interning"), else nowhere.
    """
    stated = [page.field(name).lower() for name in ("status", "verdict", *OUTCOME_FIELDS)]
    if any(stated):
        failed = any(field_verdict(s) in FAILED for s in stated if s)
        return "front matter" if failed or stated[0].startswith("retired") else ""
    verdict = labelled_verdict(passages_of(text)).lower()
    if verdict:
        return "label" if field_verdict(verdict) in FAILED else ""
    first, _, subject = page.title.partition(" ")
    return "title" if subject and canonical_verdict(first) is Verdict.REFUTED else ""


def _is_declined(page: Page, place: str, prose: str) -> bool:
    """Whether a page that says no may tell of what was never run: one that says so in its title tells of it by what was measured."""
    if place == "title":
        figures = any(n.unit or n.signed for n in numbers_in(prose))
        return not (figures and reports_failure(prose))
    return page.type == "analysis" or place == "label"


def _parts(page: Page, text: str, prose: str) -> tuple[str, str]:
    """(what was claimed, why it failed): what headings of such names hold, else how the page opens and what stands behind a verdict."""
    document = document_of(text)
    bodies = {
        s.title.lower(): body[:500]
        for s in page.sections
        if s.level > 1 and (body := prose_of(document, range(s.start, s.end)))
    }
    claims = ("statement", "hypothesis", "claim")
    claim, because = (
        next((body for name, body in bodies.items() if name.startswith(names)), "")
        for names in (claims, REASONS)
    )
    starts = [s.start for s in page.sections if s.level > 1] if page.type == "hypothesis" else []
    opening = prose_of(document, range(1, min(starts))) if starts else prose
    led = (p.text.partition(": ") for p in passages_of(text))
    reports = (report for head, _, report in led if outcome_verdict(head) in FAILED)
    return claim or opening[:500], because or readable(next(reports, ""))[:500]


def own_failure(page: Page, text: str) -> Iterator[Statement]:
    """A hypothesis page that says of itself that it failed; a note or decision that does, which may have been declined untried."""
    place = _says_no(page, text)
    if not place:
        return
    document, is_hypothesis = document_of(text), page.type == "hypothesis"
    prose = prose_of(document, range(1, page.lines + 1))
    claim, because = _parts(page, text, prose)
    whole = f"{page.title}. {claim}".strip()
    cites = cites_on(page, range(1, page.lines + 1))
    is_declined = not is_hypothesis and _is_declined(page, place, prose)
    kind = "declined" if is_declined else "hypothesis"
    yield Statement(kind, page.body_line, "", whole, because, "", cites, aim_of_text(whole))
    for at, block in enumerate(document.blocks if is_declined else ()):
        if block.kind == "item" and (entry := readable(entry_of(document, at))[:LONGEST]):
            yield Statement(kind, block.line, "", entry, "", "", cites, aim_of_text(entry))
