"""What pages say did not work: dead-end bullets and table rows, retired hypotheses. And what an experiment's page wants to move.

Read page by page. Refuses what is no failure: a remedy, a preference, a plan, a drawback, what was done or never tried. What cannot be
told is no statement.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from kb.graph.paths import target_of
from kb.languages import FAILED_LISTS
from kb.page import Page, document_of
from kb.page.document import Block, Document, Row
from kb.refuted.aim import Aim, aim_of_page, aim_of_text, labelled, readable
from kb.run.direction import direction_of
from kb.schema import FAILED, Verdict, canonical_verdict, outcome_verdict
from kb.store import row_of
from kb.text import cut, number_of, one_line
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
# An outcome in the past tense, or a loss in figures.
_REPORTS = re.compile(
    r"\b(?:regress(?:ed|es|ion)|failed|crash(?:ed|es)|diverged|broke|hung|oom(?:ed|s)?|lost|(?:was|were|is|ran|came out) (?:\d[\d.]*\s?%? )?(?:slower|worse|flat)|"
    r"did(?:n['’]t| not)|never (?:helped|paid|fired)|no (?:gain|effect|improvement|change|difference|benefit|win)|no-op|(?:with)?in (?:the )?noise|refuted|"
    r"falsified|rejected|reverted|thrash\w*|out of memory)\b|\d\s?[a-zA-Z%]{0,3}\s(?:→|->|to)\s\d[\d.]*\s?(?:[kM%]|[mun]?s)\b|(?:[−-]\s?|\b)\d[\d.]*\s?(?:%|x|×|pp|ms)\s?(?:slower|worse|lower|below|loss|regression)|"
    r"(?<![\w.])[−-]\s?\d[\d.]*\s?(?:%|pp)|slower by|worse by",
    re.IGNORECASE,
)
# An entry of somebody's own notes that says so, in the past tense, tells of a failure wherever it stands.
_FAILED_ENTRY = re.compile(
    r"\b(?:did(?:n['’]t| not) (?:help|work|pay|matter)|no (?:effect|improvement|gain|change)\b|made (?:it|things|[\w ]{1,30}?) worse|removed again|rolled back|backfired|"
    r"failed to|gave up|(?:went|gone) back to|we reverted|taken back|not used|not kept|overfit(?:s|ted)?)\b|[,;] worse\b",
    re.IGNORECASE,
)
# What was done, won, or never run.
_NO_FAILURE = re.compile(
    r"✅|✔|\bDONE\b|\b(?:not|never|hasn['’]t|has not|wasn['’]t|was not|un)[ -]?(?:yet |been )*(?:tried|tested|run|done|validated|measured)\b|\bto be tried\b|"
    r"\bTODO\b|\bTBD\b|\bpending\b|\b(?:shipped|merged|adopted|landed|works now)\b|\(\s*[+]?\d[\d.]*\s?[x×]\s*\)",
)
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
_KEPT_HEAD = re.compile(r"(?:keep|kept|adopted|in use)\??", re.IGNORECASE)
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
_TEMPLATE = re.compile(r"template|boilerplate|example", re.IGNORECASE)
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
    if _TEMPLATE.search(page.stem):
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
    return marked or _is_note(page) and bool(_FAILED_ENTRY.search(text) or "| keep" in lower)


def _is_note(page: Page) -> bool:
    """Whether a page is of no type of its own: its owner's notes on what was done, where others tell what is known."""
    return page.type == "page"


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
    of an owner's notes every entry that says that it failed.
    """
    mode, level, anchor, silent = "", 0, "", False
    anchors = {s.start: s.anchor for s in page.sections}
    for at, block in enumerate(document.blocks):
        if block.kind == "heading":
            anchor, title = anchors.get(block.line, anchor), block.plain
            mode = "" if block.level <= level else mode
            # Below a list of failures a heading may say of its part that it is none.
            silent = bool(_NO_LIST.search(title))
            if mode and not silent and block.level == level + 1 and not _FURNITURE.fullmatch(title):
                later = (b.line for b in document.blocks[at + 1 :] if b.kind == "heading")
                end = next(later, page.lines + 1)
                prose = _prose(document, block.line + 1, end)[:400]
                yield from _item(page, block.line, end, anchor, prose, mode, subject=title)
            # A page's own title opens a list only where it is nothing else.
            elif not mode and _mode(title) and (block.level > 1 or len(title.split()) < 4):
                mode, level = _mode(title), block.level
        elif block.kind == "table" and block.rows:
            yield from _table(page, block, anchor, mode)
        elif text := _entry(document, at):
            tells = _is_note(page) and _FAILED_ENTRY.search(text)
            crossed = text[:8].lstrip("* ")[:1] in _CROSSES
            if tells or block.kind == "item" and (mode and not silent or crossed):
                own = "failed" if tells or mode == "failed" else "turned-down"
                yield from _item(page, block.line, block.stop, anchor, text, own)


def _entry(document: Document, at: int) -> str:
    """Text of an outer list item, or of a paragraph that stands in nothing."""
    block = document.blocks[at]
    if block.kind == "paragraph" and block.parent < 0:
        return " ".join(block.plain.split())
    if block.kind != "item" or block.level != 1:
        return ""
    held = (b for b in document.blocks[at + 1 :][:8] if b.parent == at and b.kind == "paragraph")
    return " ".join(" ".join(b.plain.split()) for b in held)


def _item(
    page: Page, start: int, end: int, anchor: str, text: str, mode: str, *, subject: str = ""
) -> Iterator[Statement]:
    """A list item, paragraph or (with a `subject`) sub-heading that names a failure."""
    text = readable(text)[:_LONGEST].strip("~ ").lstrip(_CROSSES + "️ *")
    whole = f"{subject}. {text}" if subject else text
    if len(whole) < _SHORTEST or _ADVICE.match(whole) or _NO_FAILURE.search(whole):
        return
    if mode == "failed" or _REPORTS.search(whole):
        statement = _statement(
            page, "principle" if subject else "bullet", start, end, anchor, whole
        )
        yield replace(statement, text=subject, because=text[:500]) if subject else statement


def _table(page: Page, table: Block, anchor: str, mode: str) -> Iterator[Statement]:
    head = [c.plain[:80] for c in table.rows[0].cells]
    columns = _log_columns(head)
    for row in table.rows[1:]:
        cells = [readable(c.plain)[:_LONGEST] for c in row.cells]
        if columns and not mode:
            yield from _logged(page, row, cells, head, columns, anchor)
        else:
            yield from _row(page, row, cells, head, anchor, mode)


def _row(
    page: Page, row: Row, cells: list[str], head: list[str], anchor: str, mode: str
) -> Iterator[Statement]:
    """A row whose verdict is that of a failure, or any row below a heading of failures that does not say otherwise."""
    verdicts = {
        i: outcome_verdict(c)
        for i, c in enumerate(cells)
        if i < len(head) and _VERDICT_HEAD.search(head[i])
    }
    failing = next(
        (
            i
            for i, c in enumerate(cells)
            if i and len(c) < 80 and _VERDICT_CELL.match(c.lstrip(_CROSSES + "️ "))
        ),
        0,
    )
    failing = failing or next((i for i, v in verdicts.items() if i and v in FAILED), 0)
    failing = failing or next(
        (i for i in verdicts if i and _is_note(page) and _FAILED_ENTRY.search(cells[i])), 0
    )
    kept = next((i for i, h in enumerate(head[: len(cells)]) if i and _KEPT_HEAD.fullmatch(h)), 0)
    failing = failing or (kept if re.match(r"no\b", cells[kept], re.IGNORECASE) else 0)
    won = any(v in (Verdict.SUPPORTED, Verdict.BASELINE) for v in verdicts.values()) or any(
        "✅" in c for c in cells
    )
    text = " · ".join(t for t in cells if t and not re.fullmatch(r"[\d#.]{1,4}", t))[:_LONGEST]
    if won or len(text) < _SHORTEST or _NO_FAILURE.search(text):
        return
    if not failing and not (mode == "failed" or mode == "turned-down" and _REPORTS.search(text)):
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
    if tie or worse and (direction is not None or _REPORTS.search(cells[note])):
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
