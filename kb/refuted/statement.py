"""One refuted statement as a page writes it, and what its parts are read by.

What cannot be told to be a failure is no statement.
"""

import re
from dataclasses import dataclass

from kb.graph.paths import target_of
from kb.page import Page
from kb.page.document import Document
from kb.refuted.intent import Aim, aim_of_text
from kb.schema import NOTES, type_of_place
from kb.text import sentences_of
from kb.text.reports import ReportKind
from kb.trail.reported import report_in


@dataclass(frozen=True, slots=True)
class Statement:
    """One refuted statement as written: `kind` is hypothesis, principle, bullet, row or attempt; `cites` are pages its links lead to."""

    kind: str
    line: int
    anchor: str
    text: str
    because: str
    delta: str
    cites: tuple[str, ...]
    aim: Aim


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
    r"\W*(?:(?:use(?! of)|prefer|always|instead|ensure|make sure|remember|verify|check|consider|should|plan|fix|remedy|recommend\w*|solution|do)\b|"
    r"(?:incorrect|wrong|bad|good|correct|right)\s*:|n/?a\b|\(?none\b|no\W*$)",
    re.IGNORECASE,
)
_LED = re.compile(r"([^.:–—!?]{6,90}?\w\w[^.:–—!?]{0,60}?[)`*\w])(?::| [–—-]) ")
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
    tells = page.type == "index" and type_of_place(page.path)[0] == "experiment"
    tells = tells and sum(".md" in href for href in page.cited) < len(page.sections)
    typed = any(words & {name, folder} for name, folder in NOTES.items())
    return page.type == "page" or tells or typed


def is_short(text: str) -> bool:
    return len(text.encode()) < _SHORTEST


def reports_failure(text: str) -> bool:
    reports = (report_in(sentence, is_try=True)[0] for sentence in sentences_of(text))
    return bool(LOSS.search(text)) or ReportKind.FAILED in reports


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
    delta = _DELTA.search(text)
    led = _LED.match(text)
    return Statement(
        kind,
        lines.start,
        anchor,
        text[:LONGEST],
        (text[ends.end() :] if ends else because)[:500].strip(),
        delta[0] if delta else "",
        cites_on(page, lines),
        aim_of_text(
            about or (led[1] if led else text[:LONGEST]), because=f"{text} {because}"[:LONGEST]
        ),
    )


def cites_on(page: Page, lines: range) -> tuple[str, ...]:
    """Paths that links on these lines lead to, in order."""
    hrefs = (x.href for x in page.links if x.line in lines and x.kind in ("inline", "auto"))
    targets = (target_of(href, folder=page.folder) for href in hrefs)
    return tuple(dict.fromkeys(t[0] for t in targets if t and t[0].endswith(".md")))


def prose_of(document: Document, lines: range) -> str:
    """What the paragraphs of some lines say, in one line."""
    blocks = document.between(lines.start, lines.stop)
    return " ".join(" ".join(b.plain.split()) for b in blocks if b.kind == "paragraph")


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
