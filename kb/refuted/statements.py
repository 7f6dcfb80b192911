"""What pages say did not work: dead-end bullets and table rows, retired hypotheses, what notes report. And what an experiment's page
wants to move.

Read page by page. Refuses what is no failure: a remedy, a preference, a plan, a drawback, what was done or never tried. What cannot be
told is no statement.
"""

import re
from collections.abc import Iterator, Set
from dataclasses import replace
from itertools import chain, islice, takewhile

from kb.page import Page, document_of
from kb.page.document import Block, Document
from kb.page.seal import FIELD as SEAL
from kb.page.superseding import superseding
from kb.refuted.card import reopening_in
from kb.refuted.intent import aim_of_page, aim_of_text, labelled, readable
from kb.refuted.lists import ListPart, as_introduced, mode_of, parts_of
from kb.refuted.moves import Role, moves_in
from kb.refuted.quoted import failures_in
from kb.refuted.rows import failing_words, judged_failures, judges, table_failures
from kb.refuted.statement import (
    ADVICE,
    CROSSES,
    LONGEST,
    MOST,
    RunAim,
    Statement,
    behind_reason,
    behind_title,
    entry_of,
    fields_in,
    gives_figure,
    is_named,
    is_note,
    is_short,
    lead_of,
    names_try,
    own_failure,
    prose_of,
    reports_failure,
    statement_in,
    subject_at,
    tells_results,
    title_above,
    titled_failure,
)
from kb.run.rules import RULES
from kb.schema import (
    FAILED,
    OUTCOME_LABELS,
    TYPES,
    Verdict,
    is_pending,
    label_kind,
    outcome_verdict,
)
from kb.source import StandingRecord
from kb.store import row_of
from kb.text import cut, numbers_in, one_line, sentences_of
from kb.text.reports import ReportKind, is_referring, is_revived, is_settled, report_of
from kb.trail.facts import from_row
from kb.trail.outline import passages_between, passages_of
from kb.trail.reported import failure_in, report_in
from kb.trail.verdicts import labelled_verdict

# Headings of a page that tells of a decision: beside what came of it, of drawbacks, alternatives and interfaces.
_DECISION = {
    *"decision,consequences,alternatives,alternatives considered,considered options".split(",")
}
# A question whether something does harm, and an answer that says no.
_OF_HARM = re.compile(r"\b(?:hurt|cost|break|harm|slow|lose|need|drain|wast)\w*\b", re.IGNORECASE)
_ANSWERED_NO = re.compile(r"(?:no|nope|not really|nein|non)\b\W*(?=\w)", re.IGNORECASE)
_STRUCK = re.compile(r"\W{0,4}~~(.+?)~~\W*(?=\w)")
# Reports of what is no failure in a list, by what this is of; where all failed, what is said to have stayed is another thing.
_NONE_OF = {"failed": (ReportKind.STAYED, ReportKind.OPEN), "all-failed": (ReportKind.OPEN,)}
# What a page says where more of the same measurement would decide.
_MORE = "more samples of each side would decide"
_SETTLES = {rule.name: rule.settles for rule in RULES}
# A verdict of fewer words gives no reason; a longer section tells of more than one try.
_WORDS = 4
_LONGEST_ATTEMPT = 3000
# Fewer bytes of bold words in front of an item do not say by themselves what was tried.
_SHORTEST_LEAD = 20
# What stands on every page that may hold a table of verdicts, or a statement at all; most do not, and need not be read by blocks.
_VERDICTS = ("refuted", "rejected", "falsified", "invalid", "discard", "negative")
_MARKS = (*CROSSES, *_VERDICTS, "vs base", "delta", "speedup", "speed-up", "gain", "&#", "&cross")


def statements_of(
    page: Page, text: str, *, facts: str | None, record: StandingRecord | None = None
) -> bytes | None:
    """Refuted statements of one page as a row; for an experiment page (`facts`), what it wants to move. None if it has neither.

    What somebody read on the page (`record`) stands in the place of what rules read, or beside it where the page changed since.
    """
    foreign = page.type in ("catalog", "program", "source", "codebase") and page.path.count("/") > 2
    if page.type == "catalog" and page.symbols or foreign:
        return None  # Made by a machine from code, or somebody else's matter.
    lower = text.lower()
    if facts is not None:
        aim = aim_of_page(page, text, because=from_row(facts).because)
        judged = _judged(page, text, lower)
        judged = failures_in(page, text, record, judged) if record else judged
        return row_of(RunAim(aim, *_measured(page, text), tuple(islice(judged, MOST))))
    if record and record.whole:
        return row_of(tuple(islice(failures_in(page, text, record, ()), MOST)))
    statements = [*islice(_statements_in(page, text, lower), MOST)]
    # The wiki's own log tells of its pages.
    if is_note(page) or page.type == "log" and page.path.count("/") > 1:
        statements += _attempts(page, text, {s.anchor for s in statements})
    statements = [*failures_in(page, text, record, statements)] if record else statements
    return row_of(tuple(statements[:MOST])) if statements else None


def _statements_in(page: Page, text: str, lower: str) -> Iterator[Statement]:
    """What a page that is no run says failed: itself, or what it lists; of a type that is nobody's but its owner's, else itself."""
    itself = [*own_failure(page, text)] if page.type == "hypothesis" else []
    marked = any(mark in lower for mark in _MARKS) or any(mode_of(s.title) for s in page.sections)
    listed = _listed(page, text) if marked or is_note(page) else iter(())
    first = [*itself, *islice(listed, 1)]
    # What is called a list of failures says nothing of itself.
    alone = not first and mode_of(page.title) != "failed"
    if alone and (page.type not in TYPES or is_note(page)):
        first = own_failure(page, text)
    yield from chain(first, listed)


def _measured(page: Page, text: str) -> tuple[bool, str, str, str]:
    """Of a run whether kb measured it, by which rule, what would settle it, and what would reopen it."""
    rule, measured = page.field("rule"), bool(page.field("measured"))
    notes = superseding(text, seal=page.field(SEAL))[::-1]
    lines = (*(part for note in notes for part in note.because.split("; ")), *text.split("\n"))
    settles = next((line.strip() for line in lines if _MORE in line), _SETTLES.get(rule, ""))
    reopen_if = next((n.lesson[1] for n in notes if n.lesson[1]), page.field("reopen_if"))
    reopen_if = reopen_if or labelled(text, "reopen if") or reopening_in(text)
    return measured, rule, readable(settles) if measured else "", cut(one_line(reopen_if), 300)


def _judged(page: Page, text: str, lower: str) -> Iterator[Statement]:
    """What a run's own page says failed beside the run: items below a heading of failures, rows of a table that judges, and sections
    whose title does. Its other lists tell of runs, which have pages too.
    """
    lists = any(mode_of(s.title) for s in page.sections)
    document = document_of(text) if lists or any(mark in lower for mark in _VERDICTS) else None
    declares = lambda b: b.kind == "heading" and any(titled_failure(b.plain))  # noqa: E731
    # Most pages have none of these, and need not be parted.
    read = lists or document and any(declares(b) or judges(b) for b in document.blocks)
    for part in parts_of(page, document) if read else ():
        if because := behind_title(document, part.title, part.lines):
            yield _declared(page, part, because)
        for at in part.places:
            if judges(block := document.blocks[at]):
                yield from judged_failures(page, block, part.anchor)
            elif part.mode == "failed" and block.kind == "item":
                yield from _of_block(page, document, at, part, mentions=False, fields=frozenset())


def _attempts(page: Page, text: str, known: set[str]) -> Iterator[Statement]:
    """Sections that set something and give figures before and after, and of which no statement tells that it failed."""
    lines = text.split("\n")
    ends = [*(s.start for s in page.sections), len(lines) + 1][1:]
    for section, end in zip(page.sections, ends, strict=True):
        body = "\n".join(lines[section.start : end - 1])
        if section.anchor in known or len(body) > _LONGEST_ATTEMPT:
            continue
        figures = (n for n in numbers_in(body) if n.unit or "." in body[n.start : n.end])
        whole = readable(f"{section.title}. {body}") if len([*islice(figures, 2)]) > 1 else ""
        if any(m.value and m.role >= Role.SET for m in moves_in(whole)):
            prose = readable(prose_of(document_of(text), range(section.start, end)))
            about = section.start, section.anchor, section.title, prose[:500]
            yield Statement("attempt", *about, "", (), aim_of_text(whole))


def _listed(page: Page, text: str) -> Iterator[Statement]:
    """Bullets, rows and sub-headings below headings of failures, crossed bullets that report an outcome, rows with a verdict; of an
    owner's notes every entry, answer or section that reports a failure first.
    """
    document, notes = document_of(text), is_note(page)
    titles = [b.plain for b in document.blocks if b.kind == "heading"]
    outcomes = any(label_kind(title) == "outcome" for title in titles)
    has_failed = outcomes and outcome_verdict(labelled_verdict(passages_of(text))) in FAILED
    of_decision = page.type == "analysis" or not _DECISION.isdisjoint(map(str.lower, titles))
    tells = notes and tells_results(document)
    mentions = tells and not of_decision
    fields = fields_in(text) if tells else set()
    for part in parts_of(page, document):
        reported, read_to = [], 0
        if part.kind == "item":
            prose = prose_of(document, part.lines[1:])[:400]
            about = part.lines, part.anchor, prose, part.mode
            why = behind_reason(document, part.lines)
            reported = [*_item(page, *about, subject=part.title, because=why)]
        elif part.kind == "section" and notes:
            tells_outcome = label_kind(part.title) == "outcome"
            mentions = tells and (tells_outcome or not of_decision)
            whole = has_failed if tells_outcome else mentions
            if whole or not of_decision:
                reported, read_to = _section(page, document, part, whole=whole)
        yield from reported
        for at in part.places:
            if document.blocks[at].line >= read_to:
                about = as_introduced(part, document, at)
                yield from _of_block(page, document, at, about, mentions=mentions, fields=fields)


def _of_block(
    page: Page, document: Document, at: int, part: ListPart, *, mentions: bool, fields: Set[int]
) -> Iterator[Statement]:
    """A table; an item of a list of failures, or struck by a cross; of an owner's notes any entry that reports one."""
    block, entry = document.blocks[at], entry_of(document, at)
    lines, crossed = range(block.line, block.stop), entry[:8].lstrip("* ").startswith((*CROSSES,))
    is_list = part.kind == "list"
    if block.rows:
        yield from table_failures(page, block, part.anchor, part.mode if is_list else "")
    elif not entry or part.kind == "closed" and not crossed:
        return
    elif is_list and len(part.leads) > 1:
        yield from _led(page, document, block, part) if block.line in part.leads else ()
    elif block.kind == "item" and part.kind == "loose":
        yield from _item(page, lines, part.anchor, f"{part.title}: {entry}", "")
    elif block.kind == "item" and (is_list or crossed):
        name = lead_of(document.blocks[at + 1]) if is_list else ""
        name *= len(name.encode()) > _SHORTEST_LEAD
        where, rest = (page, lines, part.anchor), entry.removeprefix(name)
        yield from _item(*where, rest, part.mode * is_list, subject=name.rstrip(" .。"))
    elif mentions:
        yield from _beside(page, lines, part, entry, is_field=block.line in fields)


def _beside(
    page: Page, lines: range, part: ListPart, entry: str, *, is_field: bool
) -> Iterator[Statement]:
    """What an entry of an owner's notes that is no item of a list of failures reports."""
    label, _, says = entry.partition(":")
    is_outcome = label_kind(label) == "outcome"
    if part.kind in ("item", "inside", "list"):
        # In such a list only what moves a lever of its own is another.
        reported = _reported(page, lines, part.anchor, entry)
        yield from (s for s in reported if any(m.value and m.is_moved for m in moves_in(s.text)))
    elif not (is_outcome and is_pending(says)):
        # What stands behind a label of every section, or of an outcome, is said of what the section names.
        subject = subject_at(page, part.lines.start) * (is_field or is_outcome)
        yield from _reported(page, lines, part.anchor, entry, subject=subject)


def _led(page: Page, document: Document, block: Block, part: ListPart) -> Iterator[Statement]:
    """A paragraph that a name leads as an item; what stands below it, up to the next, is part of it."""
    behind = min((n for n in part.leads if n > block.line), default=part.lines.stop)
    about = range(block.line, block.stop), part.anchor, " ".join(block.plain.split()), part.mode
    yield from _item(page, *about, because=prose_of(document, range(block.line, behind)))


def _section(
    page: Page, document: Document, part: ListPart, *, whole: bool
) -> tuple[list[Statement], int]:
    """A section of notes that says behind a label, or (`whole`) in its title, its one paragraph or what answers it, that it failed, and up to where it says no more."""
    lines, title = part.lines, part.title
    because = _behind_label(document, part)
    if because := because or behind_title(document, title, lines) * whole:
        return [_declared(page, part, because)], lines.stop
    held = [b for b in document.between(lines.start + 1, lines.stop) if not b.depth]
    if "?" in title:
        # What stands first below a question is its answer.
        lines = range(lines.start, held[0].stop if held else lines.stop)
    if not whole or "?" not in title and sum(b.kind == "paragraph" for b in held) != 1:
        return [], 0
    subject, prose = subject_at(page, part.lines.start), prose_of(document, lines[1:])
    about = {"subject": subject, "whole": subject == title}
    reported = [*_reported(page, lines, part.anchor, prose, **about)]
    return reported, lines.stop if reported or "?" in title else 0


def _declared(page: Page, part: ListPart, because: str) -> Statement:
    """A section as a statement: what failed is its title."""
    # What it goes on to say speaks of much else.
    because = " ".join(sentences_of(readable(because))[:2])
    about = subject_at(page, part.lines.start)
    return replace(
        statement_in(
            page,
            "principle",
            part.lines,
            part.anchor,
            f"{about}. {because}",
            because=because,
            about=about,
        ),
        text=about,
    )


def _behind_label(document: Document, part: ListPart) -> str:
    """What a section says behind the first label of its outcome, where that is that it failed."""
    passages = passages_between(document.text, part.lines)
    for n, p in enumerate(passages, 1):
        if (p.label.partition(".")[0] or p.text.lower().rstrip(":：")) in OUTCOME_LABELS:
            # Below a label alone stands what it says.
            below = takewhile(lambda q: q.item >= 0 and not q.label, passages[n:])
            says = p.behind or ". ".join(q.text for q in below)
            stated = p.label.partition(".")[2], *sentences_of(says)
            failed = (
                next(filter(None, map(outcome_verdict, stated)), None) in FAILED
                or not is_pending(says)
                and failure_in(says)
                or says.lower().startswith(failing_words(document.text))
            )
            if not (p.behind or failed):
                continue
            # Of a verdict alone says what stands behind it how that came.
            start = p.line + 1 if p.behind.count(" ") < _WORDS else part.lines.stop
            behind = prose_of(document, range(start, part.lines.stop))
            return (behind or p.text) * bool(failed)
    return ""


def _reported(
    page: Page, lines: range, anchor: str, text: str, *, subject: str = "", whole: bool = True
) -> Iterator[Statement]:
    """A paragraph, item or section (below its `subject`) of somebody's notes: what was struck out with a reason, a question whether
    something is of use, answered by no and how it went, or a failure as it is told.
    """
    text = readable(text)[:LONGEST]
    # Where a link leads it is told, and not by the name of that page.
    if text.strip("![] ") in (link.text for link in page.links if link.line in lines):
        return
    asks, is_no = subject or text[:200], False
    if struck := _STRUCK.match(text):
        name, rest = about, _ = struck[1], text[struck.end() :]
        is_no = not (is_short(rest) or is_settled(rest))
    elif "?" in asks and (subject or "? " in asks):
        name, _, rest = map(str.strip, f"{subject} {text}".partition("?"))
        is_no = (_ANSWERED_NO.match(rest) or failure_in(rest)) and not _OF_HARM.search(name)
        about = " ".join((f"{name}?", *sentences_of(rest)[:2]))
    elif not (is_short(text) or text.endswith((":", "：")) or ADVICE.match(subject or text)):
        yield from _as_told(page, lines, anchor, text, subject, whole=whole)
    if is_no and report_in(rest, is_try=True)[0] in (ReportKind.FAILED, None):
        claim = f"{name}: {rest}"
        yield statement_in(page, "bullet", lines, anchor, claim, because=rest, about=about)


def _as_told(
    page: Page, lines: range, anchor: str, text: str, subject: str, *, whole: bool
) -> Iterator[Statement]:
    """A failure as it is told, where it tells of one try: by a figure, what was done in the end, a label, or of the sentence before."""
    claim, because = failure_in(text) or ("", "")
    declared = subject and label_kind(text.partition(":")[0]) == "outcome"
    # What opens a text refers to its subject, or to nothing.
    opens = not subject and text.startswith(because) and not any(map(str.isdigit, claim))
    refers = declared or not opens and is_referring("".join(sentences_of(because)[:1]))
    tells = refers or any(report_of(s)[1] for s in sentences_of(because))
    kind = "bullet" if declared or names_try(text, claim) else "remark"
    # What few letters lead, and say it all, is a label.
    is_label = not claim or is_short(subject + claim)
    if not (is_label or ADVICE.match(because)) and (tells or gives_figure(text, claim)):
        # A sentence further below that names its own subject tells of that one.
        subject *= any((refers, not whole, text.startswith(claim)))
        because = text if subject else because
        subject = subject or title_above(page, anchor, claim)
        claim = ". ".join(filter(None, (subject, claim if whole else "")))
        yield statement_in(page, kind, lines, anchor, claim, because=because)


def _item(
    page: Page,
    lines: range,
    anchor: str,
    text: str,
    mode: str,
    *,
    subject: str = "",
    because: str = "",
) -> Iterator[Statement]:
    """A list item, paragraph or (with a `subject`) sub-heading that names a failure."""
    text = readable(text)[:LONGEST].strip("~ ").lstrip(CROSSES + "️ *")
    first, is_section = "".join(sentences_of(text)[:1]), subject != ""
    whole, about = ". ".join([subject, text][not is_section :]), f"{subject}. {first}" * is_section
    # What a section goes on to tell below its heading may be of something else.
    if is_short(whole) or ADVICE.match(whole) or is_settled(about or text) or is_revived(because):
        return
    # What stayed, or was never tried, is none wherever it stands, unless its own heading says what it came to.
    report, _ = report_in(subject if reports_failure(subject) else first, is_try=True)
    if report in _NONE_OF.get(mode, ()):
        return
    # So is what came to nothing yet: "— deferred with analysis".
    stated = because * is_section, (subject or text).partition(" — ")[2]
    lists = mode.endswith("failed") and Verdict.INCONCLUSIVE not in map(outcome_verdict, stated)
    is_entry = any((subject, because, mode == "all-failed"))
    if reports_failure(whole) or lists and (is_entry or is_named(text, as_action=True)):
        # What an owner's notes turn down may never have been run.
        bare = mode == "turned-down" and is_note(page) and not [*numbers_in(whole)]
        kind = "remark" if bare else ("bullet", "principle")[is_section]
        because = because or text * is_section
        statement = statement_in(page, kind, lines, anchor, whole, because=because, about=about)
        yield replace(statement, text=subject or statement.text)
