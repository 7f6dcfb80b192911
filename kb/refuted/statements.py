"""What pages say did not work: dead-end bullets and table rows, retired hypotheses. And what an experiment's page wants to move.

Read page by page. Refuses what is no failure: a remedy, a preference, a plan, a drawback, what was done or never tried. What cannot be
told is no statement.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice, pairwise

from kb.graph.paths import target_of
from kb.languages import FAILED_LISTS
from kb.page import Page, document_of
from kb.page.document import Block, Document, Row
from kb.refuted.aim import Aim, aim_of_page, aim_of_text, labelled, readable
from kb.refuted.reports import Report, failure_in, is_settled, report_in, report_of
from kb.run.direction import direction_of
from kb.schema import FAILED, NOTES, Verdict, canonical_verdict, label_kind, outcome_verdict
from kb.store import row_of
from kb.text import cut, number_of, one_line, sentences_of
from kb.trail.facts import from_row


@dataclass(frozen=True, slots=True)
class Statement:
    """One refuted statement as written: `kind` is hypothesis, principle, bullet or row; `cites` are pages its links lead to;
    `has_verdict`: a cell of the row says that it failed.
    """

    kind: str
    line: int
    anchor: str
    text: str
    because: str
    delta: str
    cites: tuple[str, ...]
    aim: Aim
    has_verdict: bool = False


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
_FAILED_LIST = re.compile(
    r"refuted|falsified|invalidated|retired|dead[- ]?ends?|negative results|what failed|tried and failed|what (?:did|does)(?:n['’]t| not)|failed (?:experiments?|attempts?|ideas?|levers?)|"
    r"\b(?:did|do|does|has|have)(?:n['’]t| not) (?:work|help|pay|matter|pan out)|graveyard|\bburied\b|went nowhere|"
    r"backfired|fell flat|\bno luck\b|in vain\b|\bflop(?:s|ped)\b|\bduds?\b|lost causes?|"
    + "|".join(word.replace("-", " ") for word in FAILED_LISTS),
    re.IGNORECASE,
)
# Headings of what was turned down, for whatever reason: an item counts where it reports an outcome itself.
_TURNED_DOWN = re.compile(
    r"reject|anti-?(?:recommend|pattern|playbook)|do(?:n['’]t| not) (?:pursue|retry|try|do)|not worth|ruled out|abandon|discard|reverted",
    re.IGNORECASE,
)
# Headings that only tell where to look, how, or what is still open.
_NO_LIST = re.compile(
    r"\bopen\b|refuted when|refuted if|honestly|how to|next|falsif\w+ criteri|when to|\bcheck\b|\bgate\b|\brule|not (?:yet )?(?:tried|refuted|buried|dead|failed)",
    re.IGNORECASE,
)
_FURNITURE = re.compile(
    r"(?:see also|related\b.*|sources?|references|notes?|why|summary|background|context)\W*",
    re.IGNORECASE,
)
# A loss in figures, or from one figure to another.
_LOSS = re.compile(
    r"\d\s?[a-zA-Z%]{0,3}\s(?:→|->|to)\s\d[\d.]*\s?(?:[kM%]|[mun]?s)\b|(?:[−-]\s?|\b)\d[\d.]*\s?(?:%|x|×|pp|ms)\s?(?:lower|below|loss|regression)|"
    r"(?<![\w.])[−-]\s?\d[\d.]*\s?(?:%|pp)",
    re.IGNORECASE,
)
_DECISION = (
    "decision",
    "consequences",
    "alternatives",
    "alternatives considered",
    "considered options",
)
# A question whether something is of use, or does harm.
_OF_USE = re.compile(
    r"\b(?:help|improv|work|pay|worth|faster|better|smaller|cheaper|reliable|speed|gain|reduc|lower|cut|rais|sav|win|scale|fix|avoid|should)\w*\b",
    re.IGNORECASE,
)
_OF_HARM = re.compile(r"\b(?:hurt|cost|break|harm|slow|lose|need|drain|wast)\w*\b", re.IGNORECASE)
_ANSWERED_NO = re.compile(r"(?:no|nope|not really|nein|non)\b\W*(?=\w)", re.IGNORECASE)
_STRUCK = re.compile(r"\W{0,4}~~(.+?)~~\W*(?=\w)")
# An item that opens so says what to do, not what was done.
_ADVICE = re.compile(
    r"\W*(?:(?:use(?! of)|prefer|always|instead|ensure|make sure|remember|verify|check|consider|should|plan|fix|remedy|recommend\w*|solution|do)\b|"
    r"(?:incorrect|wrong|bad|good|correct|right)\s*:|n/?a\b|\(?none\b|no\W*$)",
    re.IGNORECASE,
)
# From here on an item speaks of the remedy.
_REMEDY = re.compile(
    r"(?:[.;]|\s[—–-])\s+(?:use|prefer|instead|fix|do|remedy|better)\b|\s(?:→|->)\s+(?:use|prefer)\b|\b(?:fix|remedy|instead)\s*:",
    re.IGNORECASE,
)
_VERDICT_CELL = re.compile(
    r"\W*(?:(?:refuted|rejected|falsified)\b|(?:invalid|discard(?:ed)?)\b(?=\W*$|\s*[^\w\s]|\s+(?:or|and|by|because|as|since|at|in|on|due|after|with)\b))",
    re.IGNORECASE,
)
_VERDICT_HEAD = re.compile(r"verdict|outcome|results?$|conclusion|worked|decision", re.IGNORECASE)
_KEPT_HEADS = ("keep", "kept", "adopted", "in use")
_REASON_HEAD = re.compile(
    r"notes?|reason|why|because|comment|lesson|mechanism|status|finding", re.IGNORECASE
)
_NAME_HEAD = re.compile(r"desc|change|experiment|what|lever|tried|idea|optimi", re.IGNORECASE)
_CLAIM_HEAD = re.compile(
    r"(?:sub-?)?hypothes|claim|expect|predict|finding|statement|assumption|\W*criteri",
    re.IGNORECASE,
)
_NUMBER_HEAD = re.compile(r"#|no\.?$|exp|id$|run|iter", re.IGNORECASE)
_DELTA_HEAD = re.compile(r"^(?:vs\b|Δ|delta|change|gain|diff|speed-?up)|vs base", re.IGNORECASE)
# A call in a heading, such as `.then(fulfilled, rejected)`: the names of its arguments say nothing of how it went.
_CALL = re.compile(r"(?<=\w)\([^()]*\)")
_DELTA = re.compile(r"[−\-+]\s?\d+(?:\.\d+)?\s?(?:%|pp\b)|~\s?0\s?%")
_BECAUSE = re.compile(r"\s(?:—|–|--|-|because|since|as)\s|[:;]\s|\.\s")
_TEMPLATES = ("template", "boilerplate", "example")
_CROSSES = "❌✗✘🚫"
# A statement that is longer than this many characters holds data, not words; a page with more dead ends than `_MOST` is a dump of data.
_LONGEST, _SHORTEST, _MOST = 700, 12, 500
# A loss within this share is a tie.
_TIE = 1.0


# What a page says where more of the same measurement would decide.
_MORE = "more samples of each side would decide"


def statements_of(page: Page, text: str, *, facts: str | None) -> bytes | None:
    """Refuted statements of one page as a row; for an experiment page (`facts`), what it wants to move. None if it has neither."""
    if facts is not None:
        aim = aim_of_page(page, text, because=from_row(facts).because)
        rule, measured = page.field("rule"), bool(page.field("measured"))
        settles = next(
            (line.strip() for line in text.split("\n") if _MORE in line),
            f"ruled {rule}" if rule else "",
        )
        reopen_if = page.field("reopen_if") or labelled(text, "Reopen if")
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
    if any(word in page.stem.lower() for word in _TEMPLATES):
        return None
    found = _hypothesis(page, text) if page.type == "hypothesis" else []
    if _may_state(page, text):
        found = [*found, *_listed(page, document_of(text))][:_MOST]
    return row_of(tuple(found)) if found else None


def _judged(page: Page, text: str) -> tuple[Statement, ...]:
    """Rows of a run's own page that judge a claim each and say that it failed. Its other lists tell of runs, which have pages too."""
    lower = text.lower()
    if not any(mark in lower for mark in _VERDICTS):
        return ()
    anchors = {s.start: s.anchor for s in page.sections}
    found: list[Statement] = []
    anchor = ""
    for block in document_of(text).blocks:
        anchor = anchors.get(block.line, anchor) if block.kind == "heading" else anchor
        if (
            block.kind == "table"
            and block.rows
            and any(_CLAIM_HEAD.match(c.plain) for c in block.rows[0].cells)
        ):
            found += [s for s in _table(page, block, anchor, "") if s.has_verdict]
    return tuple(found[:_MOST])


_VERDICTS = ("refuted", "rejected", "falsified", "invalid", "discard")
_MARKS = (
    *_CROSSES,
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


def is_note(page: Page) -> bool:
    """Whether a page holds its owner's notes on what was done: it is of no type of its own, or a note or decision as other wikis keep them."""
    if page.type == "page":
        return True
    words = {page.field("type").lower(), *page.folder.lower().split("/")}
    return any(words & {name, folder} for name, folder in NOTES.items())


def _mode(title: str) -> str:
    """What a heading says of the items below it: failed, turned-down or nothing."""
    title = _CALL.sub("()", title)
    if _NO_LIST.search(title):
        return ""
    return (
        "failed"
        if _FAILED_LIST.search(title)
        else "turned-down"
        if _TURNED_DOWN.search(title)
        else ""
    )


def _hypothesis(page: Page, text: str) -> list[Statement]:
    """A hypothesis page whose status says that it was refuted or retired."""
    status = page.field("status").lower()
    if not (status.startswith("retired") or canonical_verdict(status) in FAILED):
        return []
    document = document_of(text)
    bodies = {
        s.title.lower(): _prose(document, s.start, s.end)[:500]
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
            _cites(page, 1, page.lines + 1),
            aim_of_text(whole),
        )
    ]


def _prose(document: Document, start: int, end: int) -> str:
    return " ".join(
        " ".join(b.plain.split()) for b in document.between(start, end) if b.kind == "paragraph"
    )


def _listed(page: Page, document: Document) -> Iterator[Statement]:
    """Bullets, rows and sub-headings below headings of failures, crossed bullets that report an outcome, rows with a verdict, logs of runs;
    of an owner's notes every entry, answer or section that reports a failure first.
    """
    mode, level, anchor, silent, read_to = "", 0, "", False, 0
    notes = is_note(page)
    own = _own_verdict(page, document) if notes else None
    # Beside what came of a decision, its pages tell of drawbacks, alternatives and interfaces.
    decision = page.type == "analysis" or any(s.title.lower() in _DECISION for s in page.sections)
    decided = decision
    anchors = {s.start: s.anchor for s in page.sections}
    for at, block in enumerate(document.blocks):
        if block.kind == "heading":
            anchor, title = anchors.get(block.line, anchor), block.plain
            mode = "" if block.level <= level else mode
            # Below a list of failures a heading may say of its part that it is none.
            silent = bool(_NO_LIST.search(title))
            later = (b.line for b in document.blocks[at + 1 :] if b.kind == "heading")
            end = next(later, page.lines + 1)
            if mode and not silent and block.level == level + 1 and not _FURNITURE.fullmatch(title):
                prose = _prose(document, block.line + 1, end)[:400]
                yield from _item(page, block.line, end, anchor, prose, mode, subject=title)
            # A page's own title opens a list only where it is nothing else.
            elif not mode and _mode(title) and (block.level > 1 or len(title.split()) < 4):
                mode, level = _mode(title), block.level
            elif notes and not mode and block.level > 1:
                outcome = label_kind(title) == "outcome"
                decided = decision and not outcome
                if outcome and own in FAILED or not decided and not outcome:
                    subject = page.title if outcome else title
                    if "?" in title:
                        # What stands first below a question is its answer.
                        end = next((b.stop for b in document.blocks[at + 1 :] if not b.depth), end)
                    listed = [*_section(page, document, block, end, anchor, subject, outcome)]
                    yield from listed
                    read_to = end if listed or "?" in title else read_to
        elif block.line < read_to:
            continue
        elif block.kind == "table" and block.rows:
            yield from _table(page, block, anchor, mode)
        elif text := _entry(document, at):
            crossed = text[:8].lstrip("* ")[:1] in _CROSSES
            if block.kind == "item" and (mode and not silent or crossed):
                yield from _item(page, block.line, block.stop, anchor, text, mode or "turned-down")
            elif notes and not decided:
                yield from _noted(page, block, anchor, text)


def _own_verdict(page: Page, document: Document) -> Verdict | None:
    """How what a page is about came out, by its front matter or by a line at its head such as `Status: reverted`."""
    lines = (line for b in document.of("paragraph") for line in b.plain.split("\n")[:9])
    labels = (line.partition(":")[::2] for line in islice(lines, 9))
    below = {
        b.plain.lower(): after.plain
        for b, after in pairwise(document.blocks)
        if b.kind == "heading" and after.kind == "paragraph"
    }
    sayings = {
        **below,
        **{name.strip(" *").lower(): saying for name, saying in labels},
        **{name: page.field(name) for name in ("outcome", "result", "status") if page.field(name)},
    }
    verdicts = (
        outcome_verdict(sayings[name])
        for name in ("status", "outcome", "result")
        if name in sayings
    )
    return next(filter(None, verdicts), None)


def _section(
    page: Page, document: Document, head: Block, end: int, anchor: str, subject: str, outcome: bool
) -> Iterator[Statement]:
    """A section of one paragraph that reports a failure: what failed is its title, or the page's where the title says only that it tells the outcome."""
    held = [
        b for b in document.between(head.line + 1, end) if b.kind == "paragraph" and not b.depth
    ]
    prose = readable(_prose(document, head.line + 1, end))[:_LONGEST]
    if "?" in subject:
        yield from _answered(page, head.line, end, anchor, f"{subject.partition('?')[0]}? {prose}")
    elif (
        held
        and (len(held) == 1 or outcome)
        and not _FURNITURE.fullmatch(subject)
        and not _ADVICE.match(subject)
    ):
        failure = failure_in(prose)
        if failure:
            told = subject if outcome else f"{subject}. {failure[0]}"
            made = _statement(page, "bullet", head.line, end, anchor, told)
            yield replace(made, text=subject, because=prose[:500])


def _noted(page: Page, block: Block, anchor: str, text: str) -> Iterator[Statement]:
    """A paragraph or item of somebody's notes: an answered question, what was struck out with a reason, or a failure as it is told."""
    text = readable(text)[:_LONGEST]
    struck = _STRUCK.match(text)
    if struck:
        rest = text[struck.end() :]
        report, _ = report_in(rest, tried=True)
        if report is Report.FAILED or report is None and _LOSS.search(rest):
            made = _statement(
                page, "bullet", block.line, block.stop, anchor, f"{struck[1]}: {rest}"
            )
            yield replace(made, because=rest[:500], aim=aim_of_text(struck[1]))
    elif "? " in text[:200]:
        yield from _answered(page, block.line, block.stop, anchor, text)
    elif len(text) >= _SHORTEST and not _ADVICE.match(text) and (failure := failure_in(text)):
        made = _statement(page, "bullet", block.line, block.stop, anchor, failure[0])
        yield replace(made, because=failure[1][:500])


def _answered(page: Page, start: int, end: int, anchor: str, text: str) -> Iterator[Statement]:
    """A question whether something is of use, answered by no and how it went."""
    question, _, answer = text.partition("?")
    answer = answer.strip()
    if _OF_HARM.search(question) or not (_ANSWERED_NO.match(answer) or failure_in(answer)):
        return
    report, _ = report_in(answer, tried=True)
    if report is Report.FAILED or report is None and _OF_USE.search(question):
        made = _statement(page, "bullet", start, end, anchor, f"{question}: {answer}")
        yield replace(
            made,
            because=answer[:500],
            aim=aim_of_text(f"{question}. {' '.join(sentences_of(answer)[:2])}"),
        )


def _entry(document: Document, at: int) -> str:
    """Text of an outer list item, or of a paragraph that stands in nothing."""
    block = document.blocks[at]
    if block.kind == "paragraph" and block.parent < 0:
        return " ".join(block.plain.split())
    if block.kind != "item" or block.level != 1:
        return ""
    held = (b for b in document.blocks[at + 1 :][:8] if b.parent == at and b.kind == "paragraph")
    return " ".join(" ".join(b.plain.split()) for b in held)


def _fails(text: str) -> bool:
    reports = (report_of(sentence, tried=True)[0] for sentence in sentences_of(text))
    return bool(_LOSS.search(text)) or Report.FAILED in reports


def _item(
    page: Page, start: int, end: int, anchor: str, text: str, mode: str, *, subject: str = ""
) -> Iterator[Statement]:
    """A list item, paragraph or (with a `subject`) sub-heading that names a failure."""
    text = readable(text)[:_LONGEST].strip("~ ").lstrip(_CROSSES + "️ *")
    whole = f"{subject}. {text}" if subject else text
    if len(whole) < _SHORTEST or _ADVICE.match(whole) or is_settled(whole):
        return
    if mode == "failed" or _fails(whole):
        statement = _statement(
            page, "principle" if subject else "bullet", start, end, anchor, whole
        )
        yield replace(statement, text=subject, because=text[:500]) if subject else statement


def _table(page: Page, table: Block, anchor: str, mode: str) -> Iterator[Statement]:
    head = [c.plain[:80] for c in table.rows[0].cells]
    rows = [(row, [readable(c.plain)[:_LONGEST] for c in row.cells]) for row in table.rows[1:]]
    columns = _log_columns(head)
    outcomes = {i for i, h in enumerate(head) if _VERDICT_HEAD.search(h)}
    if not outcomes and is_note(page):
        outcomes = _rated([cells for _, cells in rows])
    for row, cells in rows:
        if columns and not mode:
            yield from _logged(page, row, cells, head, columns, anchor)
        else:
            yield from _row(page, row, cells, head, outcomes, anchor, mode)


def _rated(rows: list[list[str]]) -> set[int]:
    """The one column most of whose cells say in words how something went. Two such columns rate choices and tell of no trial."""
    columns = set()
    for i in range(1, max(map(len, rows), default=0)):
        cells = [c for cells in rows if (c := "".join(cells[i : i + 1]).strip(" –—-✅❌✗✘✔"))]
        told = [
            c for c in cells if outcome_verdict(c) and c.lower() not in ("yes", "no", "good", "bad")
        ]
        if len(told) > 1 and len(told) >= 0.6 * len(cells):
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
) -> Iterator[Statement]:
    """A row whose verdict is that of a failure, or any row below a heading of failures that does not say otherwise."""
    verdicts = {i: outcome_verdict(c) for i, c in enumerate(cells) if i in outcomes}
    kept = next(
        (i for i, h in enumerate(head[: len(cells)]) if i and h.lower().rstrip("?") in _KEPT_HEADS),
        0,
    )
    failing = next(
        (
            i
            for i, c in enumerate(cells)
            if i
            and (
                len(c) < 80
                and _VERDICT_CELL.match(c.lstrip(_CROSSES + "️ "))
                or verdicts.get(i) in FAILED
                or i in verdicts
                and is_note(page)
                and failure_in(c)
                or i == kept
                and c.lower().partition(" ")[0].rstrip(",;.") == "no"
            )
        ),
        0,
    )
    won = any(v in (Verdict.SUPPORTED, Verdict.BASELINE) for v in verdicts.values()) or any(
        "✅" in c for c in cells
    )
    text = " · ".join(t for t in cells if t and not (len(t) < 5 and not t.strip("0123456789#.")))[
        :_LONGEST
    ]
    if won or len(text) < _SHORTEST or is_settled(text):
        return
    if not failing and not (mode == "failed" or mode == "turned-down" and _fails(text)):
        return
    named = [
        i
        for i, h in enumerate(head)
        if _REASON_HEAD.match(h) and i < len(cells) and i and i != failing
    ]
    behind = [c for c in cells[failing + 1 :] if len(c) >= 20] if failing else []
    reason = cells[named[-1]] if named and cells[named[-1]] else behind[-1] if behind else ""
    made = _statement(page, "row", row.line, row.line, anchor, text)
    yield replace(made, because=reason or made.because, has_verdict=bool(failing))


def _log_columns(head: list[str]) -> tuple[int, int, int] | None:
    """Columns of delta, note and description where a header is that of a log of runs."""
    delta = next((i for i, h in enumerate(head) if i and _DELTA_HEAD.search(h)), 0)
    note = next((i for i, h in enumerate(head) if i != delta and _REASON_HEAD.match(h)), 0)
    name = next((i for i, h in enumerate(head) if i != delta and _NAME_HEAD.match(h)), 0)
    return (delta, note, name) if delta and note and name and _NUMBER_HEAD.match(head[0]) else None


def _logged(
    page: Page,
    row: Row,
    cells: list[str],
    head: list[str],
    columns: tuple[int, int, int],
    anchor: str,
) -> Iterator[Statement]:
    """A row of a log of runs that tied, or went the wrong way by the direction of its metric; where that is unknown, by its note."""
    delta, note, name = columns
    if len(cells) <= max(columns):
        return
    change = number_of(cells[delta])
    if change is None or change.unit != "%":
        return
    direction = next((d for h in head[:delta] if (d := direction_of(h))), None)
    tie = abs(change.value) <= _TIE and (change.about or change.value == 0 or change.value < 0)
    worse = (
        change.value < 0 if direction is None or str(direction) == "higher" else change.value > 0
    )
    if tie or worse and (direction is not None or _fails(cells[note])):
        text = cells[name][:_LONGEST]
        yield Statement(
            "row",
            row.line,
            anchor,
            text,
            cells[note][:_LONGEST],
            cells[delta],
            _cites(page, row.line, row.line + 1),
            aim_of_text(text),
        )


def _statement(page: Page, kind: str, start: int, end: int, anchor: str, text: str) -> Statement:
    # Not inside a bracket: the reason would lose its beginning.
    cuts = _BECAUSE.finditer(text, min(20, len(text)))
    ends = next(
        (m for m in cuts if text.count("(", 0, m.start()) <= text.count(")", 0, m.start())), None
    )
    delta, remedy = _DELTA.search(text), _REMEDY.search(text, min(20, len(text)))
    return Statement(
        kind,
        start,
        anchor,
        text[:_LONGEST],
        text[ends.end() :][:500].strip() if ends else "",
        delta[0] if delta else "",
        _cites(page, start, max(start + 1, end)),
        aim_of_text(text[: remedy.start() if remedy else _LONGEST][:_LONGEST]),
    )


def _cites(page: Page, start: int, end: int) -> tuple[str, ...]:
    """Paths that links on lines `start` to `end` (excluded) lead to, in order."""
    found: dict[str, None] = {}
    for link in page.links:
        if start <= link.line < end and link.kind in ("inline", "auto"):
            where = target_of(link.href, folder=page.folder)
            if where and where[0].endswith(".md"):
                found[where[0]] = None
    return tuple(found)
