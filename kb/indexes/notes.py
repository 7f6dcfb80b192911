"""What one page offers to an index: its gist, the figures it states, and the parts that teach how to read a profile."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from kb.page import Page, Section, plain_text
from kb.store import row_of

# Pages that are compiled from others say nothing of their own.
_SILENT = ("catalog", "index", "log", "program", "page")

_UNIT = r"(?:%|×|x|[kKMGTP]i?B(?:/s)?|[kKMGTP]?FLOPS?(?:/s)?|TOPS|[kKMG]?Hz|ns|us|µs|ms|s|min|h|pp|dB|bits?|bytes?|W|[a-zA-Z]{1,9}/(?:s|sec|step|token|chip|op|call)(?:/[a-z]+)?)"
# Starts with the digit, which is found fast; a sign before it changes nothing.
_FIGURE = re.compile(rf"\d(?<![\w.]\d)[\d,]*(?:\.\d+)?[ \u00a0]?{_UNIT}(?![\w%])")
# Headings (in small letters) under which pages of any domain say how a thing shows in a measurement.
READING = re.compile(
    r"\b(?:profil\w*|trac(?:e|es|ing)|bucket\w*|counters?|roofline|utili[sz]ation|how to (?:read|see|recogni[sz]e|diagnose|measure)|signatures?|symptoms?|timeline|dumps?|hotspots?|bottleneck\w*)\b"
)
_APPARATUS = re.compile(
    r"^(?:see also|seen in|sources?|references?|techniques referenced|links?|connections?|related|gaps|changelog|history)\b",
    re.IGNORECASE,
)
# Types whose title says what all of the page is about; an observation's is a sentence, in which "traces" may be anything.
_TITLED = ("concept", "topic", "source", "codebase")
_NO_PROSE = ("#", "|", ">", "<", "```", "---", "===", "![")
_BULLET = re.compile(r"^\s*(?:[-*+]|\d+[.)])\s+")
_MOST_FIGURES, _MOST_READING = 8, 12
_GIST, _LINE = 260, 220


@dataclass(frozen=True, slots=True)
class Figure:
    """One line of a page that states a measured quantity: plain text, line, anchor of its section."""

    text: str
    line: int
    anchor: str


@dataclass(frozen=True, slots=True)
class SectionReading:
    """One section that says how something shows in a profile: anchor, heading, its first sentences."""

    anchor: str
    title: str
    text: str


@dataclass(frozen=True, slots=True)
class Notes:
    """What one page offers to an index."""

    gist: str
    figures: tuple[Figure, ...]
    readings: tuple[SectionReading, ...]


def notes_of(page: Page, text: str) -> bytes | None:
    """Notes of a page as a row of the tables; None for pages that are compiled from others."""
    if page.type in _SILENT:
        return None
    coded = {n for start, end in page.fences for n in range(start, end)}
    matter = page, text.split("\n"), coded
    figures = _figures(*matter) if page.type != "experiment" else ()
    readings = _readings(*matter) if page.type not in ("experiment", "hypothesis") else ()
    listed = tuple(islice(figures, _MOST_FIGURES)), tuple(islice(readings, _MOST_READING))
    return row_of(Notes(_gist(*matter), *listed))


def cut(text: str, most: int) -> str:
    """A text of at most `most` characters, ended at a word."""
    text = " ".join(text.split())
    return text if len(text) <= most else text[: most - 1].rsplit(" ", 1)[0].rstrip(" ,;:") + "…"


def _prose(section: Section, lines: list[str], coded: set[int]) -> list[str]:
    """Prose paragraphs and bullets of a section; headings, tables, quotes and code left out."""
    paragraphs, goes_on = list[str](), False
    for number in range(section.start, min(section.end, len(lines) + 1)):
        plain = lines[number - 1].strip()
        other = number in coded or not plain or plain.startswith(_NO_PROSE)
        text = _BULLET.sub("", plain)
        if goes_on and not other and text == plain:
            paragraphs[-1] += f" {plain}"
        elif not other:
            paragraphs.append(text)
        goes_on = not other
    return paragraphs


def _gist(page: Page, lines: list[str], coded: set[int]) -> str:
    texts = (plain_text(p).strip() for s in page.sections for p in _prose(s, lines, coded))
    gist = next((text for text in texts if len(text) >= 40 and text[-1] != ":"), "")
    return cut(gist, _GIST)


def _figures(page: Page, lines: list[str], coded: set[int]) -> Iterator[Figure]:
    for section in page.sections:
        for number in range(section.start, min(section.end, len(lines) + 1)):
            line = lines[number - 1].strip()
            if number in coded or len(line) > 600 or not _FIGURE.search(line):
                continue
            cells = " · ".join(c.strip() for c in line.strip("|").split("|"))
            plain = plain_text(cells if line[0] == "|" else _BULLET.sub("", line.strip("#> ")))
            if _FIGURE.search(plain) and len(plain) > 15:
                yield Figure(cut(plain, _LINE), number, section.anchor)


def _readings(page: Page, lines: list[str], coded: set[int]) -> Iterator[SectionReading]:
    whole = page.type in _TITLED and READING.search(page.title.lower())
    for section in page.sections:
        reads = READING.search(section.title.lower()) or whole and section.level == 2
        if section.anchor and reads and not _APPARATUS.match(section.title):
            message = " ".join(map(plain_text, _prose(section, lines, coded)))
            if len(message) >= 40:
                yield SectionReading(section.anchor, section.title, cut(message, 2 * _LINE))
