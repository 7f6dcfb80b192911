"""What pages say did not work: dead-end bullets and table rows, retired hypotheses, what notes report. And what an experiment's page
wants to move.

Read page by page. Refuses what is no failure: a remedy, a preference, a plan, a drawback, what was done or never tried. What cannot be
told is no statement.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise

from kb import regex
from kb.page import Page, document_of
from kb.page.document import Block, Document
from kb.page.seal import FIELD as SEAL
from kb.page.superseding import superseding
from kb.refuted.intent import Aim, aim_of_page, aim_of_text, labelled, readable
from kb.refuted.moves import Role, moves_in
from kb.refuted.own_failure import own_failure
from kb.refuted.rows import CLAIM_HEAD, table_failures
from kb.refuted.statement import (
    ADVICE,
    CROSSES,
    LONGEST,
    MOST,
    Statement,
    entry_of,
    is_note,
    is_short,
    prose_of,
    reports_failure,
    statement_in,
)
from kb.refuted.values import plain_words
from kb.schema import FAILED, TYPES, label_kind, outcome_verdict
from kb.store import row_of
from kb.text import cut, numbers_in, one_line, sentences_of
from kb.text.reports import ReportKind, is_settled, names_failures, report_of
from kb.trail.facts import from_row
from kb.trail.outline import passages_of
from kb.trail.reported import failure_in, report_in
from kb.trail.verdicts import labelled_verdict


@dataclass(frozen=True, slots=True)
class RunAim:
    """The aim of an experiment's page, and what it states refuted besides; `measured`: kb itself measured it, by `rule`,
    and where that left it open, what `settles` it; `reopen_if` is its own word on what would open it again.
    """

    aim: Aim
    measured: bool = False
    rule: str = ""
    settles: str = ""
    reopen_if: str = ""
    statements: tuple[Statement, ...] = ()


# Headings that say that what stands below was tried and failed; a page of these words in its name may hold anything that was.
_JUDGED_LIST = regex(r"refuted|falsified|invalidated|retired", re.IGNORECASE)
_FAILED_LIST = regex(
    r"dead[- ]?ends?|negative results|what failed|what (?:did|does)(?:n['’]t| not)|failed (?:experiments?|attempts?|ideas?|levers?)|"
    r"\b(?:did|do|does|has|have)(?:n['’]t| not) (?:work|help|pay|matter|pan out)|graveyard|\bburied\b|went nowhere|"
    r"backfired|fell flat|\bno luck\b|in vain\b|\bflopped\b|\bduds?\b|lost causes?|"
    r"\b(?:tried|tested|attempted),? (?:and|but) (?:failed|rejected|killed|discarded|reverted|abandoned|dropped)\b",
    re.IGNORECASE,
)
# Headings of what was turned down, for whatever reason: an item counts where it reports an outcome itself.
_TURNED_DOWN = regex(
    r"reject|anti-?(?:recommend|pattern|playbook)|do(?:n['’]t| not) (?:pursue|retry|try|do)|not worth|ruled out|abandon|discard|reverted",
    re.IGNORECASE,
)
# Headings that only tell where to look, how, or what is still open.
_NO_LIST = re.compile(
    r"\bopen\b|^(?:when|if)\b|refuted when|refuted if|honestly|how to|next|criteri|accept|definition of done|\bgoal|\btraps?\b|remed|abnahme|acepta|条件|目的|目標|目标|注意|when to|\bcheck\b|\bgate\b|^(?:\w+ )?rules?\b|not (?:yet )?(?:tried|refuted|buried|dead|failed)",
    re.IGNORECASE,
)
# Headings of a page that tells of a decision: beside what came of it, of drawbacks, alternatives and interfaces.
_DECISION = {
    "decision",
    "consequences",
    "alternatives",
    "alternatives considered",
    "considered options",
}
# A question whether something does harm, and an answer that says no.
_OF_HARM = re.compile(r"\b(?:hurt|cost|break|harm|slow|lose|need|drain|wast)\w*\b", re.IGNORECASE)
_ANSWERED_NO = re.compile(r"(?:no|nope|not really|nein|non)\b\W*(?=\w)", re.IGNORECASE)
_STRUCK = re.compile(r"\W{0,4}~~(.+?)~~\W*(?=\w)")
# What a page says where more of the same measurement would decide.
_MORE = "more samples of each side would decide"
# A longer section tells of more than one try.
_LONGEST_ATTEMPT = 3000
# What stands on every page that may hold a table of verdicts, or a statement at all; most do not, and need not be read by blocks.
_VERDICTS = ("refuted", "rejected", "falsified", "invalid", "discard")
_MARKS = (*CROSSES, *_VERDICTS, "vs base", "delta", "speedup", "speed-up", "gain", "&#", "&cross")


def statements_of(page: Page, text: str, *, facts: str | None) -> bytes | None:
    """Refuted statements of one page as a row; for an experiment page (`facts`), what it wants to move. None if it has neither."""
    foreign = page.type in ("catalog", "program", "source", "codebase") and page.path.count("/") > 2
    if page.type == "catalog" and page.symbols or foreign:
        return None  # Made by a machine from code, or somebody else's matter.
    lower = text.lower()
    if facts is not None:
        aim = aim_of_page(page, text, because=from_row(facts).because)
        judged = _judged(page, text) if any(mark in lower for mark in _VERDICTS) else ()
        return row_of(RunAim(aim, *_measured(page, text), tuple(judged)[:MOST]))
    statements = [*_statements_in(page, text, lower)]
    # The wiki's own log tells of its pages.
    if is_note(page) or page.type == "log" and page.path.count("/") > 1:
        statements += _attempts(page, text, {s.anchor for s in statements})
    return row_of(tuple(statements[:MOST])) if statements else None


def _statements_in(page: Page, text: str, lower: str) -> Iterator[Statement]:
    """What a page that is no run says failed: itself, or what it lists; of a type that is nobody's but its owner's, else itself."""
    itself = [*own_failure(page, text)] if page.type == "hypothesis" else []
    marked = any(mark in lower for mark in _MARKS) or any(_mode(s.title) for s in page.sections)
    listed = [*_listed(page, text)] if marked or is_note(page) else []
    yield from itself + listed
    if not (itself or listed) and (page.type not in TYPES or is_note(page)):
        yield from own_failure(page, text)


def _measured(page: Page, text: str) -> tuple[bool, str, str, str]:
    """Of a run whether kb measured it, by which rule, what would settle it, and what would reopen it."""
    rule, measured = page.field("rule"), bool(page.field("measured"))
    notes = reversed(superseding(text, seal=page.field(SEAL)))
    lines = (*(note.because.rpartition("; ")[2] for note in notes), *text.split("\n"))
    settles = next(
        (line.strip() for line in lines if _MORE in line), f"ruled {rule}" if rule else ""
    )
    reopen_if = page.field("reopen_if") or labelled(text, "reopen if")
    return measured, rule, readable(settles) if measured else "", cut(one_line(reopen_if), 300)


def _judged(page: Page, text: str) -> Iterator[Statement]:
    """Rows of a run's own page that judge a claim each and say that it failed. Its other lists tell of runs, which have pages too."""
    anchors = {s.start: s.anchor for s in page.sections}
    anchor = ""
    for block in document_of(text).blocks:
        anchor = anchors.get(block.line, anchor) if block.kind == "heading" else anchor
        if block.rows and any(CLAIM_HEAD.match(c.plain) for c in block.rows[0].cells):
            yield from table_failures(page, block, anchor, "", judged=True)


@lru_cache(maxsize=4096)
def _mode(title: str) -> str:
    """What a heading says of the items below it: failed, turned-down or nothing."""
    if _NO_LIST.search(title):
        return ""
    lists = _FAILED_LIST.search(title) or _JUDGED_LIST.search(title)
    if lists or names_failures(title.lower()):
        return "failed"
    return "turned-down" if _TURNED_DOWN.search(title) else ""


def _attempts(page: Page, text: str, known: set[str]) -> Iterator[Statement]:
    """Sections that set something and give figures before and after, and of which no statement tells that it failed."""
    lines = text.split("\n")
    ends = [*(s.start for s in page.sections), len(lines) + 1][1:]
    for section, end in zip(page.sections, ends, strict=True):
        body = "\n".join(lines[section.start : end - 1])
        if section.anchor in known or len(body) > _LONGEST_ATTEMPT:
            continue
        figures = (n for n in numbers_in(body) if n.unit or "." in body[n.start : n.end])
        whole = readable(f"{section.title}. {body}") if len([*figures]) > 1 else ""
        if any(m.value and m.role >= Role.SET for m in moves_in(whole)):
            prose = readable(prose_of(document_of(text), range(section.start, end)))
            about = section.start, section.anchor, section.title, prose[:500]
            yield Statement("attempt", *about, "", (), aim_of_text(whole))


@lru_cache(maxsize=4096)
def _is_open(title: str) -> bool:
    hopeful = report_of(title)[0] in (ReportKind.STAYED, ReportKind.OPEN)
    return not (hopeful or _NO_LIST.search(title))


@dataclass(frozen=True, slots=True)
class _ListPart:
    """A heading (none before the first) with the blocks behind it, by their places; what it says of them (`mode`), and whether it is an
    item of the list of failures above it.
    """

    head: Block | None
    places: range
    lines: range
    anchor: str = ""
    mode: str = ""
    is_item: bool = False

    @property
    def title(self) -> str:
        return self.head.plain if self.head else ""

    @property
    def is_open(self) -> bool:
        """Whether what stands here may be a failure: below a list of failures a heading may say of its part that it is none."""
        return _is_open(self.title)

    @property
    def is_section(self) -> bool:
        """Whether what stands here tells of one thing, below its own heading."""
        return self.head is not None and self.head.level > 1 and self.is_open and not self.mode

    @property
    def lists(self) -> bool:
        """Whether each of its entries is an item; those of an item are part of it."""
        return self.mode != "" and not self.is_item and self.is_open


def _list_parts(page: Page, document: Document) -> Iterator[_ListPart]:
    blocks, anchors = document.blocks, {s.start: s.anchor for s in page.sections}
    heads = [n for n, block in enumerate(blocks) if block.kind == "heading"]
    yield _ListPart(None, range(heads[0] if heads else len(blocks)), range(1, 1))
    mode, level, anchor = "", 0, ""
    file = page.path.rpartition("/")[2].removesuffix(".md")
    name = " ".join(plain_words(file)) if page.type in ("page", "analysis", "observation") else ""
    name = name if _FAILED_LIST.search(name) else ""
    for at, stop in pairwise((*heads, len(blocks))):
        head, title = blocks[at], blocks[at].plain
        end = blocks[stop].line if stop < len(blocks) else page.lines + 1
        anchor, mode = anchors.get(head.line, anchor), mode if head.level > level else ""
        below = bool(mode) and head.level == level + 1
        is_item = below and not (_NO_LIST.search(title) or _mode(title))
        # A page's own title opens a list only where it, or the name of the page, is nothing else.
        says = title if head.level > 1 or len(title.split()) < 4 else name
        if not mode and _mode(says):
            mode, level = _mode(says), head.level
        places, lines = range(at + 1, stop), range(head.line, end)
        yield _ListPart(head, places, lines, anchor, mode, is_item)


def _listed(page: Page, text: str) -> Iterator[Statement]:
    """Bullets, rows and sub-headings below headings of failures, crossed bullets that report an outcome, rows with a verdict; of an
    owner's notes every entry, answer or section that reports a failure first.
    """
    document, notes = document_of(text), is_note(page)
    titles = [b.plain for b in document.blocks if b.kind == "heading"]
    has_failed = _has_failed(text, titles)
    of_decision = page.type == "analysis" or not _DECISION.isdisjoint(map(str.lower, titles))
    mentions = notes and not of_decision
    for part in _list_parts(page, document):
        reported, read_to = [], 0
        if part.is_item and part.is_open:
            reported = [*_of_heading(page, document, part)]
        elif part.is_section and notes:
            tells_outcome = label_kind(part.title) == "outcome"
            mentions = tells_outcome or not of_decision
            if mentions and (has_failed or not tells_outcome):
                reported, read_to = _section(page, document, part)
        yield from reported
        reports = mentions and part.is_open
        for at in part.places:
            if document.blocks[at].line >= read_to:
                yield from _of_block(page, document, at, part, mentions=reports)


def _has_failed(text: str, titles: list[str]) -> bool:
    """Whether the labels of a page that has a section for what came of it tell of a failure."""
    outcomes = any(label_kind(title) == "outcome" for title in titles)
    return outcomes and outcome_verdict(labelled_verdict(passages_of(text))) in FAILED


def _of_heading(page: Page, document: Document, part: _ListPart) -> Iterator[Statement]:
    """A sub-heading that is an item of a list of failures, with what stands below it."""
    prose = prose_of(document, part.lines[1:])[:400]
    return _item(page, part.lines, part.anchor, prose, part.mode, subject=part.title)


def _of_block(
    page: Page, document: Document, at: int, part: _ListPart, *, mentions: bool
) -> Iterator[Statement]:
    """A table; an item of a list of failures, or struck by a cross; of an owner's notes any entry that reports one."""
    block, entry = document.blocks[at], entry_of(document, at)
    lines, crossed = range(block.line, block.stop), entry[:8].lstrip("* ").startswith((*CROSSES,))
    if block.rows:
        yield from table_failures(page, block, part.anchor, part.mode)
    elif entry and block.kind == "item" and (part.lists or crossed):
        yield from _item(page, lines, part.anchor, entry, part.mode or "turned-down")
    elif entry and mentions:
        yield from _reported(page, lines, part.anchor, entry)


def _section(page: Page, document: Document, part: _ListPart) -> tuple[list[Statement], int]:
    """A section of one paragraph of an owner's notes, or what answers its heading, and up to which line it says nothing else: what
    failed is its title, or the page's where that says only that it tells the outcome.
    """
    lines, title = part.lines, part.head.plain
    held = [b for b in document.between(lines.start + 1, lines.stop) if not b.depth]
    if "?" in title:
        # What stands first below a question is its answer.
        lines = range(lines.start, held[0].stop if held else lines.stop)
    elif sum(b.kind == "paragraph" for b in held) != 1:
        return [], 0
    subject = page.title if label_kind(title) == "outcome" else title
    prose, whole = prose_of(document, lines[1:]), subject == title
    reported = [*_reported(page, lines, part.anchor, prose, subject=subject, whole=whole)]
    return reported, lines.stop if reported or "?" in title else 0


def _reported(
    page: Page, lines: range, anchor: str, text: str, *, subject: str = "", whole: bool = True
) -> Iterator[Statement]:
    """A paragraph, item or section (below its `subject`) of somebody's notes: what was struck out with a reason, a question whether
    something is of use, answered by no and how it went, or a failure as it is told.
    """
    text = readable(text)[:LONGEST]
    if struck := _STRUCK.match(text):
        rest = text[struck.end() :]
        report, _ = report_in(rest, is_try=True)
        if report in (ReportKind.FAILED, None) and not (is_short(rest) or is_settled(rest)):
            claim = f"{struck[1]}: {rest}"
            yield statement_in(page, "bullet", lines, anchor, claim, because=rest, about=struck[1])
        return
    asks = subject or text[:200]
    if "?" in asks and (subject or "? " in asks):
        question, _, answer = f"{subject} {text}".strip().partition("?")
        yield from _answered(page, lines, anchor, question, answer.strip())
    elif not is_short(text) and not ADVICE.match(subject or text) and (failure := failure_in(text)):
        claim = ". ".join(filter(None, (subject, failure[0] if whole else "")))
        because = text if subject else failure[1]
        yield statement_in(page, "bullet", lines, anchor, claim, because=because)


def _answered(
    page: Page, lines: range, anchor: str, question: str, answer: str
) -> Iterator[Statement]:
    is_no = _ANSWERED_NO.match(answer) or failure_in(answer)
    report, _ = report_in(answer, is_try=True)
    if is_no and not _OF_HARM.search(question) and report in (ReportKind.FAILED, None):
        claim, about = f"{question}: {answer}", " ".join(sentences_of(answer)[:2])
        about = f"{question}? {about}"
        yield statement_in(page, "bullet", lines, anchor, claim, because=answer, about=about)


def _item(
    page: Page, lines: range, anchor: str, text: str, mode: str, *, subject: str = ""
) -> Iterator[Statement]:
    """A list item, paragraph or (with a `subject`) sub-heading that names a failure."""
    text = readable(text)[:LONGEST].strip("~ ").lstrip(CROSSES + "️ *")
    whole = f"{subject}. {text}" if subject else text
    if is_short(whole) or ADVICE.match(whole) or is_settled(whole):
        return
    # What stayed, or was never tried, is none wherever it stands.
    first = "".join(sentences_of(text)[:1])
    if mode == "failed" and report_in(first, is_try=True)[0] in (
        ReportKind.STAYED,
        ReportKind.OPEN,
    ):
        return
    if mode == "failed" or reports_failure(whole):
        kind, because = ("principle", text) if subject else ("bullet", "")
        statement = statement_in(page, kind, lines, anchor, whole, because=because)
        yield replace(statement, text=subject) if subject else statement
