"""What one page offers to an index: its gist, the figures it states, and the parts that teach how to read a profile."""

import re
from dataclasses import dataclass

from kb.page import Page, Section, plain_text
from kb.store import row_of

# Pages that are compiled from others say nothing of their own.
_SILENT = ("catalog", "index", "log", "program", "page")

_UNIT = r"(?:%|×|x|[kKMGTP]i?B(?:/s)?|[kKMGTP]?FLOPS?(?:/s)?|TOPS|[kKMG]?Hz|ns|us|µs|ms|s|min|h|pp|dB|bits?|bytes?|W|[a-zA-Z]{1,9}/(?:s|sec|step|token|chip|op|call)(?:/[a-z]+)?)"
# Starts with the digit, which is found fast; a sign before it changes nothing.
_FIGURE = re.compile(rf"\d(?<![\w.]\d)[\d,]*(?:\.\d+)?[ \u00a0]?{_UNIT}(?![\w%])")
# Headings under which pages of any domain say how a thing shows in a measurement.
_READING = re.compile(
    r"\b(?:profil\w*|trac(?:e|es|ing)|bucket\w*|counters?|roofline|utili[sz]ation|how to (?:read|see|recogni[sz]e|diagnose|measure)|signatures?|symptoms?|timeline|dumps?|hotspots?|bottleneck\w*)\b",
    re.IGNORECASE,
)
_APPARATUS = re.compile(
    r"^(?:see also|seen in|sources?|references?|techniques referenced|links?|connections?|related|gaps|changelog|history)\b",
    re.IGNORECASE,
)
# Types whose title says what all of the page is about; an observation's is a sentence, in which "traces" may be anything.
_TITLED = ("concept", "topic", "source", "codebase")
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
    lines = text.split("\n")
    coded = {n for start, end in page.fences for n in range(start, end)}
    return row_of(
        Notes(
            _gist(page, lines, coded),
            _figures(page, lines, coded) if page.type != "experiment" else (),
            _readings(page, lines, coded) if page.type not in ("experiment", "hypothesis") else (),
        )
    )


def cut(text: str, most: int) -> str:
    """A text of at most `most` characters, ended at a word."""
    text = " ".join(text.split())
    return text if len(text) <= most else text[: most - 1].rsplit(" ", 1)[0].rstrip(" ,;:") + "…"


def _paragraphs(section: Section, lines: list[str], coded: set[int]):
    """(first line, text) of the prose paragraphs and bullets of a section; headings, tables, quotes and code left out."""
    held: list[str] = []
    first = 0
    for number in range(section.start, section.end):
        line = lines[number - 1] if number <= len(lines) else ""
        plain = line.strip()
        other = (
            number in coded
            or not plain
            or plain.startswith(("#", "|", ">", "<", "```", "---", "===", "!["))
        )
        if held and (other or _BULLET.match(line)):
            yield first, " ".join(held)
            held = []
        if not other:
            if not held:
                first = number
            held.append(_BULLET.sub("", plain))
    if held:
        yield first, " ".join(held)


def _gist(page: Page, lines: list[str], coded: set[int]) -> str:
    for section in page.sections:
        for _, paragraph in _paragraphs(section, lines, coded):
            plain = plain_text(paragraph).strip()
            if len(plain) >= 40 and not plain.endswith(":"):
                return cut(plain, _GIST)
    return ""


def _figures(page: Page, lines: list[str], coded: set[int]) -> tuple[Figure, ...]:
    figures: list[Figure] = []
    for section in page.sections:
        for number in range(section.start, section.end):
            line = lines[number - 1] if number <= len(lines) else ""
            if number in coded or len(line) > 600 or not _FIGURE.search(line):
                continue
            row = line.strip().startswith("|")
            plain = plain_text(
                " · ".join(c.strip() for c in line.strip().strip("|").split("|"))
                if row
                else _BULLET.sub("", line.strip("#> "))
            )
            if _FIGURE.search(plain) and len(plain) > 15:
                figures.append(Figure(cut(plain, _LINE), number, section.anchor))
            if len(figures) == _MOST_FIGURES:
                return tuple(figures)
    return tuple(figures)


def _readings(page: Page, lines: list[str], coded: set[int]) -> tuple[SectionReading, ...]:
    readings: list[SectionReading] = []
    whole = page.type in _TITLED and bool(_READING.search(page.title))
    for section in page.sections:
        if (
            section.anchor
            and not _APPARATUS.match(section.title)
            and (_READING.search(section.title) or whole and section.level == 2)
        ):
            message = " ".join(plain_text(p) for _, p in _paragraphs(section, lines, coded))
            if len(message) >= 40:
                readings.append(
                    SectionReading(section.anchor, section.title, cut(message, 2 * _LINE))
                )
        if len(readings) == _MOST_READING:
            break
    return tuple(readings)
