"""What pages say did not work: dead-end bullets and table rows, retired hypotheses. And what an experiment's page wants to move.

Read page by page. Refuses what is no failure: a remedy, a preference, a plan, a drawback, what was done or never tried. What cannot be
told is no statement.
"""

import re
from collections import Counter, defaultdict
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
from kb.refuted.moves import Role
from kb.refuted.notes import NO_LIST, entry_failure, section_failure
from kb.refuted.rows import CLAIM_HEAD, table_failures
from kb.refuted.statement import (
    ADVICE,
    CROSSES,
    LONGEST,
    MOST,
    Statement,
    cites_on,
    is_note,
    is_short,
    prose_between,
    reports_failure,
    statement_in,
)
from kb.schema import FAILED, canonical_verdict, label_kind, outcome_verdict
from kb.store import row_of
from kb.text import cut, numbers_in, one_line
from kb.text.reports import ReportKind, is_settled, names_failures, report_of
from kb.trail.facts import from_row
from kb.trail.outline import passages_of
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


# Headings that say that what stands below was tried and failed.
_FAILED_LIST = regex(
    r"refuted|falsified|invalidated|retired|dead[- ]?ends?|negative results|what failed|tried and failed|what (?:did|does)(?:n['’]t| not)|failed (?:experiments?|attempts?|ideas?|levers?)|"
    r"\b(?:did|do|does|has|have)(?:n['’]t| not) (?:work|help|pay|matter|pan out)|graveyard|\bburied\b|went nowhere|"
    r"backfired|fell flat|\bno luck\b|in vain\b|\bflop(?:s|ped)\b|\bduds?\b|lost causes?",
    re.IGNORECASE,
)
# Headings of what was turned down, for whatever reason: an item counts where it reports an outcome itself.
_TURNED_DOWN = regex(
    r"reject|anti-?(?:recommend|pattern|playbook)|do(?:n['’]t| not) (?:pursue|retry|try|do)|not worth|ruled out|abandon|discard|reverted",
    re.IGNORECASE,
)
_DECISION = (
    "decision",
    "consequences",
    "alternatives",
    "alternatives considered",
    "considered options",
)


_BOXES = ("[ ] ", "[x] ", "[X] ", "[-] ")
# How long the name of a field of a record may be: what stands before the colon of a list item.
_LONGEST_LABEL = 24
# What a page says where more of the same measurement would decide.
# A longer section tells of more than one try.
_LONGEST_ATTEMPT = 3000
_MORE = "more samples of each side would decide"


def statements_of(page: Page, text: str, *, facts: str | None) -> bytes | None:
    """Refuted statements of one page as a row; for an experiment page (`facts`), what it wants to move. None if it has neither."""
    if facts is not None:
        aim = aim_of_page(page, text, because=from_row(facts).because)
        rule, measured = page.field("rule"), bool(page.field("measured"))
        notes = superseding(text, seal=page.field(SEAL))
        newest = (note.because.rpartition("; ")[2] for note in reversed(notes))
        settles = next(
            (line.strip() for line in (*newest, *text.split("\n")) if _MORE in line),
            f"ruled {rule}" if rule else "",
        )
        reopen_if = page.field("reopen_if") or labelled(text, "reopen if")
        settles = readable(settles) if measured else ""
        judged = _judged(page, text)
        return row_of(RunAim(aim, measured, rule, settles, cut(one_line(reopen_if), 300), judged))
    deep = page.path.count("/") > 2
    if (
        page.type == "catalog"
        and page.symbols
        or deep
        and page.type in ("catalog", "program", "source", "codebase")
    ):
        return None  # Made by a machine from code, or somebody else's matter.
    statements = _hypothesis(page, text) if page.type == "hypothesis" else []
    if _may_state(page, text):
        statements += _listed(page, text)
    if is_note(page) or page.type == "log" and page.path.count("/") > 1:
        statements += _attempts(page, text, {s.anchor for s in statements})
    statements = statements[:MOST]
    return row_of(tuple(statements)) if statements else None


def _judged(page: Page, text: str) -> tuple[Statement, ...]:
    """Rows of a run's own page that judge a claim each and say that it failed. Its other lists tell of runs, which have pages too."""
    lower = text.lower()
    if not any(mark in lower for mark in _VERDICTS):
        return ()
    anchors = {s.start: s.anchor for s in page.sections}
    judged: list[Statement] = []
    anchor = ""
    for block in document_of(text).blocks:
        anchor = anchors.get(block.line, anchor) if block.kind == "heading" else anchor
        if (
            block.kind == "table"
            and block.rows
            and any(CLAIM_HEAD.match(c.plain) for c in block.rows[0].cells)
        ):
            judged += [s for s in table_failures(page, block, anchor, "") if s.has_verdict]
    return tuple(judged[:MOST])


_VERDICTS = ("refuted", "rejected", "falsified", "invalid", "discard")
_MARKS = (
    *CROSSES,
    *_VERDICTS,
    "vs base",
    "delta",
    "speedup",
    "speed-up",
    "gain",
    "&#",
    "&cross",
)


def _may_state(page: Page, text: str) -> bool:
    """Whether a page may hold a statement at all; most do not, and need not be read by blocks."""
    lower = text.lower()
    marked = any(mark in lower for mark in _MARKS) or any(_mode(s.title) for s in page.sections)
    return marked or is_note(page)


@lru_cache(maxsize=4096)
def _mode(title: str) -> str:
    """What a heading says of the items below it: failed, turned-down or nothing."""
    if NO_LIST.search(title):
        return ""
    return (
        "failed"
        if _FAILED_LIST.search(title) or names_failures(title)
        else "turned-down"
        if _TURNED_DOWN.search(title)
        else ""
    )


def _attempts(page: Page, text: str, known: set[str]) -> Iterator[Statement]:
    """Sections that set something and give figures before and after, and of which no statement tells that it failed."""
    lines = text.split("\n")
    for section, after in pairwise([*page.sections, None]):
        body = "\n".join(lines[section.start : (after.start if after else len(lines) + 1) - 1])
        if section.anchor in known or len(body) > _LONGEST_ATTEMPT:
            continue
        figures = [n for n in numbers_in(body) if n.unit or "." in body[n.start : n.end]]
        aim = aim_of_text(f"{section.title}. {body}") if len(figures) > 1 else Aim({})
        if any(m.is_setting and m.value and m.role >= Role.SET for m in aim.moves):
            shown = readable(
                prose_between(
                    document_of(text), section.start, section.start + len(body.split("\n"))
                )
            )
            yield Statement(
                "attempt", section.start, section.anchor, section.title, shown[:500], "", (), aim
            )


def _hypothesis(page: Page, text: str) -> list[Statement]:
    """A hypothesis page whose status says that it was refuted or retired."""
    status = page.field("status").lower()
    if not (status.startswith("retired") or canonical_verdict(status) in FAILED):
        return []
    document = document_of(text)
    bodies = {
        s.title.lower(): prose_between(document, s.start, s.end)[:500]
        for s in page.sections
        if s.level > 1
    }
    claim = next(
        (
            t
            for name, t in bodies.items()
            if name.startswith(("statement", "hypothesis", "claim")) and t
        ),
        "",
    )
    reasons = ("verdict", "outcome", "result", "why", "retired", "refuted", "status", "measurement")
    because = next((t for name, t in bodies.items() if name.startswith(reasons) and t), "")
    whole = f"{page.title}. {claim}".strip()
    return [
        Statement(
            "hypothesis",
            page.body_line,
            "",
            whole,
            because,
            "",
            cites_on(page, 1, page.lines + 1),
            aim_of_text(whole),
        )
    ]


@dataclass(frozen=True, slots=True)
class _ListPart:
    """A heading (none before the first) with the blocks up to the next one, by their places `start` to `stop`; it ends before line `end`.

    `mode`: of the list of failures that it stands in. Whether the heading is an item of it (`is_item`), or may report a failure itself
    (`tells`); whether its entries are items of it (`lists`), or may report one in passing (`mentions`).
    """

    head: Block | None
    start: int
    stop: int
    end: int
    anchor: str = ""
    mode: str = ""
    is_item: bool = False
    tells: bool = False
    lists: bool = False
    mentions: bool = False


def _sections(page: Page, document: Document, records: frozenset[int]) -> Iterator[_ListPart]:
    blocks, notes = document.blocks, is_note(page)
    anchors = {s.start: s.anchor for s in page.sections}
    mode, level, anchor = "", 0, ""
    decided = decision = _tells_decision(page)
    heads = [(n, block.line) for n, block in enumerate(blocks) if block.kind == "heading"]
    heads.append((len(blocks), page.lines + 1))
    yield _ListPart(None, 0, heads[0][0], 0, mentions=notes and not decided)
    for (at, _), (stop, end) in pairwise(heads):
        head, title = blocks[at], blocks[at].plain
        anchor = anchors.get(head.line, anchor)
        mode = mode if head.level > level else ""
        # Below a list of failures a heading may say of its part that it is none.
        fails = not NO_LIST.search(title)
        is_item = fails and _is_item(head, mode, level, records)
        if not mode and _opens(head):
            mode, level = _mode(title), head.level
        tells = notes and fails and not mode and head.level > 1
        decided = decision and label_kind(title) != "outcome" if tells else decided
        mentions = notes and fails and not decided and not _is_hopeful(title)
        flags = is_item, tells and not decided, fails and not records, mentions
        yield _ListPart(head, at + 1, stop, end, anchor, mode, *flags)


def _tells_decision(page: Page) -> bool:
    """Whether a page tells of a decision: beside what came of it, of drawbacks, alternatives and interfaces."""
    return page.type == "analysis" or any(s.title.lower() in _DECISION for s in page.sections)


def _is_item(head: Block, mode: str, level: int, records: frozenset[int]) -> bool:
    return mode != "" and (head.line in records if records else head.level == level + 1)


def _opens(head: Block) -> bool:
    """Whether a heading opens a list of failures; a page's own title does only where it is nothing else."""
    return bool(_mode(head.plain)) and (head.level > 1 or len(head.plain.split()) < 4)


def _is_hopeful(title: str) -> bool:
    """Whether a heading tells of what stayed, or is to come: what stands below is no failure in passing."""
    return report_of(title)[0] in (ReportKind.STAYED, ReportKind.OPEN)


def _listed(page: Page, text: str) -> Iterator[Statement]:
    """Bullets, rows and sub-headings below headings of failures, crossed bullets that report an outcome, rows with a verdict, logs of runs;
    of an owner's notes every entry, answer or section that reports a failure first.
    """
    document = document_of(text)
    records = _records(document)
    outcomes = (b.kind == "heading" and label_kind(b.plain) == "outcome" for b in document.blocks)
    has_failed = any(outcomes) and outcome_verdict(labelled_verdict(passages_of(text))) in FAILED
    for section in _sections(page, document, records):
        read_to = 0
        if section.is_item:
            yield from _heading_statements(page, document, section, is_record=bool(records))
            read_to = section.end if records else 0
        elif section.tells:
            reported, read_to = _section_report(page, document, section, has_failed=has_failed)
            yield from reported
        for at in range(section.start, section.stop):
            block = document.blocks[at]
            if block.line < read_to:
                continue
            if block.kind == "table" and block.rows:
                yield from table_failures(page, block, section.anchor, section.mode)
            elif entry := _entry(document, at):
                yield from _of_entry(page, block, section, entry)


def _heading_statements(
    page: Page, document: Document, section: _ListPart, *, is_record: bool
) -> Iterator[Statement]:
    """A heading that is an item of a list of failures; what a record is about stands in its first entry too."""
    head, end = section.head, section.end
    title, prose = head.plain, prose_between(document, head.line + 1, end)[:400]
    if is_record:
        entries = (_entry(document, n) for n in range(section.start, len(document.blocks)))
        title = f"{title}. {next(filter(None, entries))}"[:LONGEST]
    return _item(page, head.line, end, section.anchor, prose, section.mode, subject=title)


def _section_report(
    page: Page, document: Document, section: _ListPart, *, has_failed: bool
) -> tuple[list[Statement], int]:
    """What a section of an owner's notes (by whose labels what they tell of `has_failed`) reports to have failed, and up to which line it says nothing else."""
    head, end = section.head, section.end
    if label_kind(head.plain) == "outcome" and not has_failed:
        return [], 0
    if "?" in head.plain:
        # What stands first below a question is its answer.
        end = next((b.stop for b in document.blocks[section.start :] if not b.depth), end)
    reported = [*section_failure(page, document, head, end, section.anchor)]
    return reported, end if reported or "?" in head.plain else 0


def _of_entry(page: Page, block: Block, section: _ListPart, entry: str) -> Iterator[Statement]:
    """An item of a list of failures, or struck by a cross; of an owner's notes any entry that reports one."""
    crossed = entry[:8].lstrip("* ")[:1] in CROSSES
    if block.kind == "item" and (section.lists and section.mode or crossed):
        mode = section.mode or "turned-down"
        yield from _item(page, block.line, block.stop, section.anchor, entry, mode)
    elif section.mentions:
        yield from entry_failure(page, block, section.anchor, entry)


def _records(document: Document) -> frozenset[int]:
    """Lines of the headings that hold one record each: two labels or more ("Tried:", "Measured:") that items of other sections bear as well."""
    labels: dict[int, set[str]] = defaultdict(set)
    line = 0
    for at, block in enumerate(document.blocks):
        if block.kind == "heading":
            line = block.line
        elif block.kind == "item":
            head = _entry(document, at)[: _LONGEST_LABEL + 1].replace("：", ":")
            labels[line] |= {head.partition(":")[0].strip(" *_").lower()} if ":" in head else set()
    shared = Counter(label for own in labels.values() for label in own)
    return frozenset(
        line for line, own in labels.items() if sum(shared[label] > 1 for label in own) > 1
    )


def _entry(document: Document, at: int) -> str:
    """Text of an outer list item, or of a paragraph that stands in nothing."""
    block = document.blocks[at]
    if block.kind == "paragraph" and block.parent < 0:
        return " ".join(block.plain.split())
    if block.kind != "item" or block.level != 1:
        return ""
    held = (b for b in document.blocks[at + 1 : at + 9] if b.parent == at and b.kind == "paragraph")
    entry = " ".join(" ".join(b.plain.split()) for b in held)
    # An open box is a plan, unless it is struck out.
    is_plan = entry.startswith(_BOXES[0]) and "~~" not in entry
    return "" if is_plan else entry[4 * entry.startswith(_BOXES) :]


def _item(
    page: Page, start: int, end: int, anchor: str, text: str, mode: str, *, subject: str = ""
) -> Iterator[Statement]:
    """A list item, paragraph or (with a `subject`) sub-heading that names a failure."""
    text = readable(text)[:LONGEST].strip("~ ").lstrip(CROSSES + "️ *")
    whole = f"{subject}. {text}" if subject else text
    if is_short(whole) or ADVICE.match(whole) or is_settled(whole):
        return
    if mode == "failed" or reports_failure(whole):
        statement = statement_in(
            page, "principle" if subject else "bullet", start, end, anchor, whole
        )
        yield replace(statement, text=subject, because=text[:500]) if subject else statement
