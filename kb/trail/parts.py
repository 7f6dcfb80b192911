"""One page with many experiments: a heading each, below sections that say how they came out ("Applied", "Rejected"), or with a verdict of its own.

Refuses a page whose sections measure nothing: plans and decisions are sorted by the same words.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import NamedTuple

from kb.page import Page, Section, read
from kb.schema import Verdict, names_run, outcome_verdict
from kb.text import numbers_in, one_line
from kb.text.reports import report_of
from kb.trail.facts import to_row
from kb.trail.outline import passages_of
from kb.trail.page_facts import read_facts
from kb.trail.verdicts import REPORTED, labelled_verdict

# Pages of other types are about one thing, and logs tell of runs that have pages; fewer headings than this are sections of one text.
_TYPES = ("page", "observation", "analysis")
_LEAST, _LONGEST_TITLE = 3, 4


class Part(NamedTuple):
    """One experiment of a page that holds many, as a page of its own at `path#anchor`; `facts` is its row."""

    page: Page
    text: str
    facts: bytes


def parts_of(page: Page, text: str) -> tuple[Part, ...]:
    """The experiments of a page that holds many; none for any other page."""
    if page.type not in _TYPES:
        return ()
    lines = text.split("\n")
    runs = [(s, raw, "\n".join(lines[s.start : s.end - 1])) for s, raw in _runs(page, text)]
    verdicts = {outcome_verdict(raw) for _, raw, _ in runs}
    measured = sum(any(n.unit for n in numbers_in(body)) for _, _, body in runs)
    if len(runs) < _LEAST or len(verdicts) < 2 or 2 * measured < len(runs):
        return ()
    return tuple(_part(page, place, *run) for place, run in enumerate(runs, 1))


def _runs(page: Page, text: str) -> Iterable[tuple[Section, str]]:
    """(section, what says how it came out) of every heading that is a run."""
    passages = passages_of(text) if any(names_run(s.title) for s in page.sections) else ()
    level, raw = 0, ""
    for section in page.sections:
        if level and section.level > level:
            if section.level == level + 1:
                yield section, raw
            continue
        raw = _outcome(section.title)
        level = section.level if raw else 0
        if not raw and section.level > 1 and names_run(section.title):
            own = [p for p in passages if section.start <= p.line < section.end]
            if saying := labelled_verdict(own):
                yield section, saying


def _outcome(title: str) -> str:
    """How a section's title of few words says that what stands below came out ("Applied", "What failed"); empty where it says nothing."""
    if len(title.split()) > _LONGEST_TITLE:
        return ""
    result = title.lower().removeprefix("what ").removeprefix("tried and ")
    return outcome_verdict(result) or REPORTED.get(report_of(title, is_try=True)[0], "")


def _part(page: Page, place: int, section: Section, raw: str, body: str) -> Part:
    target = page.field("target") or page.folder.partition("/")[2] or page.stem
    head = f"---\ntype: experiment\ntarget: {target}\n---\n# {one_line(section.title)}\n\n"
    text = f"{head}{body}"
    part_page = read(f"{page.path}#{section.anchor}", text.encode())
    facts = read_facts(part_page, text)
    verdict = replace(
        facts.verdict, canonical=outcome_verdict(raw) or Verdict.OTHER, raw=raw, source="section"
    )
    # What stands there was written afterwards, so that it tells why and not what was hoped for.
    facts = replace(
        facts,
        verdict=verdict,
        number=facts.number or place,
        date=facts.date or page.date,
        because=facts.because or facts.hypothesis,
        hypothesis="",
        places=(),
    )
    return Part(part_page, text, to_row(facts))
