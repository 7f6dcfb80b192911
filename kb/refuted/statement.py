"""One refuted statement as a page writes it, and what its parts are read by; that of a page that says of itself that it failed or was
declined.

What cannot be told to be a failure is no statement.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from kb.graph.paths import target_of
from kb.page import Page, document_of
from kb.page.document import Block, Document
from kb.refuted.intent import Aim, aim_of_text, readable
from kb.refuted.moves import moves_in
from kb.schema import (
    FAILED,
    NOTES,
    OUTCOME_FIELDS,
    Verdict,
    canonical_verdict,
    field_verdict,
    in_short,
    label_kind,
    outcome_verdict,
    type_of_place,
)
from kb.text import numbers_in, sentences_of
from kb.text.reports import ReportKind, report_of
from kb.trail.facts import Facts
from kb.trail.outline import passages_between, passages_of
from kb.trail.page_facts import place_named
from kb.trail.reported import report_in
from kb.trail.verdicts import labelled_verdict


@dataclass(frozen=True, slots=True)
class Statement:
    """One refuted statement as written: `kind` is hypothesis, principle, bullet, row or attempt; `cites` are pages its links lead to,
    `verdict` what somebody who read it says, if he did.
    """

    kind: str
    line: int
    anchor: str
    text: str
    because: str
    delta: str
    cites: tuple[str, ...]
    aim: Aim
    verdict: str = ""


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


# A statement that is longer than this many characters holds data, not words; a page with more dead ends than `MOST` is a dump of data.
LONGEST, MOST = 700, 500
# A shorter one says nothing; counted in bytes, for a sign of Chinese says as much as three letters.
_SHORTEST = 12
# A loss in figures, or from one figure to another.
LOSS = re.compile(
    r"\d\s?[a-zA-Z%]{0,3}\s(?:→|->|to)\s\d[\d.]*\s?(?:[kM%]|[mun]?s)\b|(?:[−-]\s?|\b)\d[\d.]*\s?(?:%|x|×|pp|ms)\s?(?:lower|below|loss|regression)|"
    r"(?<![\w.])[−-]\s?\d[\d.]*\s?(?:%|pp)",
    re.IGNORECASE,
)
# An item that opens so says what to do, not what was done.
ADVICE = re.compile(
    r"\W*(?:(?:use(?! of)|prefer|always|instead|ensure|make sure|remember|verify|check|consider|should|plan|fix|remedy|recommend\w*|solution|do|don['’]t|never|avoid)\b|"
    r"(?:incorrect|wrong|bad|good|correct|right)\s*[:–—]|n/?a\b|\(?(?:none|nothing)\b|no\W*$)",
    re.IGNORECASE,
)
# More words in front of a colon are a sentence.
_LONGEST_NAME, _LONGEST_LEAD = 6, 9
_LED = re.compile(r"([^.:–—!?]{6,90}?\w\w[^.:–—!?]{0,60}?[)`*\w])(?::| [–—-]) ")
# What parts a name from what is said of it.
_MARKS = (": ", "：", " — ", " – ", " - ", "——")
_DELTA = re.compile(r"[−\-+]\s?\d+(?:\.\d+)?\s?(?:%|pp\b)|~\s?0\s?%")
_BECAUSE = re.compile(r"\s(?:—|–|--|-|because|since|as)\s|[:;]\s|\.\s")
_BOXES = ("[ ] ", "[x] ", "[X] ", "[-] ")
# How headings and labels begin below which a page tells what came of it, and why.
REASONS = ("verdict", "outcome", "result", "why", "retired", "refuted", "status", "measurement")
CROSSES = "❌✗✘🚫"


def is_note(page: Page) -> bool:
    """Whether a page holds its owner's notes on what was done: it is of no type of its own, a note or decision as other wikis keep them,
    or the README of a folder of runs, where it has more sections than pages to lead to.
    """
    words = {page.field("type").lower(), *page.folder.lower().split("/")}
    tells = (
        page.type == "index"
        and type_of_place(page.path)[0] == "experiment"
        and sum(".md" in href for href in page.cited) < len(page.sections)
    )
    typed = any(words & {name, folder} for name, folder in NOTES.items())
    return page.type == "page" or tells or typed


def is_short(text: str) -> bool:
    # A template leaves it to be filled in.
    return len(text.encode()) < _SHORTEST or (text[0], text.rstrip("|")[-1]) == ("{", "}")


def is_named(text: str, *, as_action: bool = False) -> bool:
    """Whether an entry is a name, or begins with one (`as_action`: or names what was done, "Sorting the rows when ..."): no sentence, which
    may say anything.
    """
    first, *more = sentences_of(text)
    lead = min((first.partition(mark)[0] for mark in _MARKS), key=len)
    longest = (_LONGEST_NAME * bool(more), _LONGEST_LEAD)[lead != first]
    return (
        len(lead.partition(" (")[0].split()) < longest
        or text[-1] not in ".。"
        or (as_action and lead.partition(" ")[0].endswith("ing"))
    )


def names_try(text: str, claim: str) -> bool:
    """Whether a figure of what failed, a name in front of an entry, or how it went beside what was done with it ("slower, so it was
    reverted") tells it apart from prose that may be of anything.
    """
    says = {final for is_a, final in map(report_of, claim.split(", ")) if is_a is ReportKind.FAILED}
    return len(says) > 1 or any(n.unit or n.signed for n in numbers_in(claim)) or is_named(text)


def reports_failure(text: str) -> bool:
    return bool(LOSS.search(text)) or any(
        report_in(sentence, is_try=True)[0] is ReportKind.FAILED for sentence in sentences_of(text)
    )


def titled_failure(title: str) -> tuple[bool, bool]:
    """Whether a title begins and whether it ends with a failure ("Negative result — x", "x — rejected"); "findings" are a list."""
    head, *rest = title.replace(" — ", ": ").split(": ")
    return (
        bool(rest) and head[-1:] != "s" and canonical_verdict(head) is Verdict.REFUTED,
        outcome_verdict("".join(rest[-1:])) in FAILED,
    )


def gives_figure(text: str, claim: str) -> bool:
    """Whether the claim of an entry gives a figure of a try: where a few words lead this, something was set, or is held against something
    else.
    """
    figures = [*numbers_in(claim)]
    lead = text.replace(". ", ": ").partition(": ")[0]
    is_try = (
        lead != text
        and len(lead.split()) < _LONGEST_NAME
        or not {"than", "while"}.isdisjoint(claim.split())
        or any(m.value or m.is_moved for m in moves_in(claim))
    )
    return is_try and (len(figures) > 1 or any(n.unit or n.signed for n in figures))


def subject_at(page: Page, line: int) -> str:
    """What a section that begins on a line is about: its title, or where that only says that it tells the outcome, the nearest above that says more."""
    above, level = [s for s in page.sections if s.start <= line], 9
    for section in reversed(above):
        title, is_upper = section.title, 0 < section.level < level
        level = min(level, section.level)
        if is_upper and not (label_kind(title) == "outcome" or in_short(title)):
            return title
    return page.title


def title_above(page: Page, anchor: str, claim: str) -> str:
    """The title of its section for a claim that begins with a figure, and names nothing by itself."""
    titles = (s.title for s in page.sections if s.anchor == anchor and s.level > 1)
    return "" if any(map(str.isalpha, claim.partition(" ")[0])) else next(titles, "")


def statement_in(
    page: Page,
    kind: str,
    lines: range,
    anchor: str,
    text: str,
    *,
    because: str = "",
    about: str = "",
) -> Statement:
    """A statement that stands on some lines; why it failed stands behind its own dash or colon where nothing else tells, and so does
    what it is `about` in front of it ("Hash index: as slow").
    """
    # Not inside a bracket: the reason would lose its beginning.
    cuts = _BECAUSE.finditer(text, min(20, len(text)))
    whole = (m for m in cuts if text.count("(", 0, m.start()) <= text.count(")", 0, m.start()))
    ends = None if because else next(whole, None)
    return Statement(
        kind,
        lines.start,
        anchor,
        text[:LONGEST],
        (text[ends.end() :] if ends else because)[:500].strip(),
        delta[0] if (delta := _DELTA.search(text)) else "",
        cites_on(page, lines),
        aim_of_text(
            about or (led[1] if (led := _LED.match(text)) else text[:LONGEST]),
            because=f"{text} {because}"[:LONGEST],
        ),
    )


def cites_on(page: Page, lines: range) -> tuple[str, ...]:
    """Paths that links on these lines lead to, in order."""
    targets = (
        target_of(x.href, folder=page.folder)
        for x in page.links
        if x.line in lines and x.kind in ("inline", "auto")
    )
    return tuple(dict.fromkeys(t[0] for t in targets if t and t[0].endswith(".md")))


def prose_of(document: Document, lines: range) -> str:
    """What the paragraphs of some lines say, in one line."""
    return " ".join(
        " ".join(b.plain.split())
        for b in document.between(lines.start, lines.stop)
        if b.kind == "paragraph"
    )


def behind_title(document: Document, title: str, lines: range) -> str:
    """What a section says below a title that begins or ends with a failure."""
    begins, ends = titled_failure(title)
    prose = prose_of(document, lines[1:]) if begins or ends else ""
    return prose * (ends or reports_failure(prose))


def behind_reason(document: Document, lines: range) -> str:
    """What an item of labelled paragraphs says behind its last label of a reason."""
    passages = reversed(passages_between(document.text, lines))
    return next((readable(p.behind) for p in passages if p.label.startswith(REASONS)), "")


def entry_of(document: Document, at: int) -> str:
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


def _says_no(page: Page, text: str) -> str:
    """Where a page says of itself that it was refuted or retired: in front matter, else behind a label, else in its title's first word
    ("Reject string interning"), else nowhere.
    """
    stated = [page.field(name).lower() for name in ("status", "verdict", *OUTCOME_FIELDS)]
    if any(stated):
        failed = stated[0].startswith("retired") or any(
            field_verdict(s) in FAILED for s in stated if s
        )
        return "front matter" if failed else ""
    verdict = labelled_verdict(passages_of(text)).lower()
    if verdict:
        return "label" if field_verdict(verdict) in FAILED else ""
    first, _, subject = page.title.partition(" ")
    return "title" if subject and canonical_verdict(first) is Verdict.REFUTED else ""


def _is_declined(page: Page, place: str, prose: str) -> bool:
    """Whether a page that says no may tell of what was never run: one that says so in its title tells of it by what was measured."""
    if place == "title":
        return not reports_failure(prose) or not any(n.unit or n.signed for n in numbers_in(prose))
    return page.type == "analysis" or place == "label"


def _parts(page: Page, text: str, prose: str) -> tuple[str, str]:
    """(what was claimed, why it failed): what headings of such names hold, else how the page opens and what stands behind a verdict."""
    document = document_of(text)
    bodies = {
        s.title.lower(): body[:500]
        for s in page.sections
        if s.level > 1 and (body := prose_of(document, range(s.start, s.end)))
    }
    claim, because = (
        next(
            (
                b
                for name, b in bodies.items()
                if name.startswith(names) or place_named(name) == place
            ),
            "",
        )
        for names, place in ((("statement", "hypothesis", "claim"), ""), (REASONS, "verdict"))
    )
    starts = [s.start for s in page.sections if s.level > 1] if page.type == "hypothesis" else []
    opening = prose_of(document, range(1, min(starts))) if starts else prose
    led = (p.text.partition(": ") for p in passages_of(text))
    reports = (report for head, _, report in led if outcome_verdict(head) in FAILED)
    return claim or opening[:500], because or readable(next(reports, ""))[:500]


def own_failure(page: Page, text: str) -> Iterator[Statement]:
    """A hypothesis page that says of itself that it failed; a note or decision that does, which may have been declined untried."""
    if not (place := _says_no(page, text)):
        return
    prose = prose_of(document_of(text), range(1, page.lines + 1))
    claim, because = _parts(page, text, prose)
    whole = f"{page.title}. {claim}".strip()
    cites = cites_on(page, range(1, page.lines + 1))
    is_declined = page.type != "hypothesis" and _is_declined(page, place, prose)
    kind = "declined" if is_declined else "hypothesis"
    yield Statement(kind, page.body_line, "", whole, because, "", cites, aim_of_text(whole))
    for at, block in enumerate(document_of(text).blocks if is_declined else ()):
        if block.kind == "item" and (entry := readable(entry_of(document_of(text), at))[:LONGEST]):
            yield Statement(kind, block.line, "", entry, "", "", cites, aim_of_text(entry))


def tells_results(document: Document) -> bool:
    """Whether a page tells of tries: one entry in six, at least, reports how something went or gives a figure of a unit or a sign."""
    entries = [entry for at in range(len(document.blocks)) if (entry := entry_of(document, at))]
    telling = (
        entry
        for entry in entries
        if "~~" in entry
        or any(n.unit or n.signed for n in numbers_in(entry))
        or report_in(entry)[0] in (ReportKind.FAILED, ReportKind.STAYED)
    )
    # No more of them are read than are enough.
    enough = -(-len(entries) // 6)
    return len([*islice(telling, enough)]) == enough


def beside_runs(
    path: str, listed: Sequence[Statement], known: Mapping[str, Facts]
) -> Iterator[Statement]:
    """The statements of a page; of a section that is a run itself this says better how it went, and its words only ask for a look."""
    for statement in listed:
        run = known.get(f"{path}#{statement.anchor}") if statement.kind == "principle" else None
        judged = run and run.verdict.canonical not in (None, Verdict.OTHER)
        yield replace(statement, kind="remark") if judged else statement


def lead_of(block: Block) -> str:
    """The bold words that open a paragraph and are no name of a field, where they say it not all."""
    bold = next((s.text for s in block.spans if s.kind == "strong" and s.start == block.start), "")
    behind = block.plain[len(bold) :].lstrip()
    is_field = not {":", "："}.isdisjoint((bold[-1:], behind[:1]))
    return "" if is_field or is_short(behind) else bold


def fields_in(text: str) -> set[int]:
    """The lines that a label leads which stands more than once, and is not that of an outcome."""
    labels = [(p.label, p.line) for p in passages_of(text) if p.label and not label_kind(p.label)]
    counts = Counter(label for label, _ in labels)
    return {line for label, line in labels if counts[label] > 1}
