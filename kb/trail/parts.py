"""One page with many experiments: a heading each, below sections that say how they came out ("Applied", "Rejected"), or with a verdict of its own.

Refuses a page whose sections measure nothing: plans and decisions are sorted by the same words.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from kb import regex
from kb.page import Page, Section, read
from kb.schema import (
    Verdict,
    calls_run,
    heading_kind,
    label_kind,
    names_run,
    outcome_verdict,
)
from kb.text import numbers_in, one_line
from kb.text.reports import report_of
from kb.trail.facts import Facts, VerdictRead, to_row
from kb.trail.outline import passages_of
from kb.trail.page_facts import read_facts, target_of_page
from kb.trail.verdicts import REPORTED, labelled_verdict

_VERSION = regex(r"\W*v?\d+\.\d", re.IGNORECASE)
_DATED = regex(r"\W*\d{2,4}[-./]\d")
_WORD = regex(r"[^\W\d_]{3}")
# Pages of other types are about one thing, and logs tell of runs that have pages.
_TYPES = ("page", "observation", "analysis")
# Fewer headings that a section sorts are parts of one text; a heading named as a run says by itself that it is one.
_LEAST_SORTED, _LEAST_NAMED, _LONGEST_TITLE = 3, 2, 4


class Part(NamedTuple):
    """One experiment of a page that holds many, as a page of its own at `path#anchor`; `facts` is its row."""

    page: Page
    text: str
    facts: bytes


def parts_of(page: Page, text: str, words: Mapping[str, str] = {}) -> tuple[Part, ...]:
    """The experiments of a page that holds many; none for any other page. `words` are an owner's own for verdicts."""
    if page.type not in _TYPES:
        return ()
    judged = _judged(page, text)
    runs = list(_runs(page.sections, judged))
    if not _are_runs(runs, sorted_once=bool(judged)):
        return ()
    lines = text.split("\n")
    bodies = ["\n".join(lines[s.start : s.end - 1]) for s, _ in runs]
    # What stands below a heading that sorts and says behind a label how it came out was tried.
    measures = [
        raw and s.start in judged or any(n.unit for n in numbers_in(body))
        for (s, raw), body in zip(runs, bodies, strict=True)
    ]
    if 2 * sum(map(bool, measures)) < len(runs):
        return ()
    parts = [_part(page, *run, body, words) for run, body in zip(runs, bodies, strict=True)]
    known = [
        p
        for p, (_, raw), was in zip(parts, runs, measures, strict=True)
        if raw or was and _is_run(p[1], p[0][1])
    ]
    if 2 * len(known) < len(runs) or len(known) < _LEAST_NAMED:
        return ()
    return tuple(
        Part(own, part, to_row(replace(facts, number=facts.number or place)))
        for place, ((own, part), facts) in enumerate(known, 1)
    )


def _are_runs(runs: Sequence[tuple[Section, str]], *, sorted_once: bool) -> bool:
    """Whether headings are enough to be runs: what sorts them has two sides, unless one is enough (`sorted_once`)."""
    sorts = {outcome_verdict(raw) for _, raw in runs if raw}
    least = _LEAST_SORTED if sorts else _LEAST_NAMED
    return len(runs) >= least and (len(sorts) != 1 or sorted_once)


def _is_run(facts: Facts, text: str) -> bool:
    """Whether a heading of figures is a run: where it calls itself one, where it dates one that says how it came out, and behind a number
    alone, which may be that of a chapter, where a label says so.
    """
    return (
        calls_run(facts.title)
        if facts.verdict.canonical in (None, Verdict.OTHER)
        else bool(_DATED.match(facts.title) or labelled_verdict(passages_of(text)))
    )


def _judged(page: Page, text: str) -> set[int]:
    """First lines of the sections that say behind a label how they came out, where several of one level do; a heading that is such a label
    itself is part of a run.
    """
    labelled = {p.line for p in passages_of(text) if label_kind(p.label) == "outcome"}
    own = [s for s in page.sections if s.level > 1 and not heading_kind(s.title)]
    own = [s for s in own if any(s.start < line < s.end for line in labelled)]
    levels = Counter(s.level for s in own)
    return {s.start for s in own if levels[s.level] > 1}


def _runs(sections: Sequence[Section], judged: set[int]) -> Iterator[tuple[Section, str]]:
    """(section with all that is below it, what the heading above it says of how it came out) of every heading that is a run: one below
    a heading that sorts ("Applied") or only dates, one that is named as runs are, and one of those `judged`, by their first lines.
    """
    tops = sum(s.level == 1 for s in sections)
    group, run, raw = 0, 0, ""
    for place, section in enumerate(sections):
        if run and section.level > run:
            continue
        run = 0
        if section.level <= group:
            group = 0
        ends = (s.start for s in sections[place + 1 :] if s.level <= section.level)
        whole = replace(section, end=next(ends, sections[-1].end))
        if group:
            run = section.level
            yield whole, raw
        elif section.level > (tops == 1):
            # What was released under a number is no run.
            named = names_run(section.title) and not _VERSION.match(section.title)
            raw = "" if named else _outcome(section.title)
            is_date = not _WORD.search(section.title)
            below = sum(section.end <= line < whole.end for line in judged)
            if raw or below > 1 or whole.end > section.end and named and is_date:
                group = section.level
            elif named or section.start in judged:
                run = section.level
                yield whole, ""


def _outcome(title: str) -> str:
    """How a section's title of few words says that what stands below came out ("Applied", "What failed"); empty where it says nothing."""
    if len(title.split()) > _LONGEST_TITLE:
        return ""
    result = title.lower().removeprefix("what ").removeprefix("tried and ")
    # A run whose status is "failed" broke; what a heading calls so was tried and did not pay.
    if result.startswith("failed"):
        return Verdict.REFUTED
    return outcome_verdict(result) or REPORTED.get(report_of(title, is_try=True)[0], "")


def _part(
    page: Page, section: Section, raw: str, body: str, words: Mapping[str, str]
) -> tuple[tuple[Page, str], Facts]:
    """((page of one run, its text), its facts); its own verdict where `raw` says none."""
    # Right below the wiki a page of many runs is called as what they are about.
    target = target_of_page(page) or ("" if "/" in page.folder else page.stem)
    head = f"---\ntype: experiment\ntarget: {target}\n---\n# {one_line(section.title)}\n\n"
    part_page = read(f"{page.path}#{section.anchor}", (head + body).encode())
    facts = read_facts(part_page, head + body, words)
    if raw:
        sorted_as = VerdictRead(outcome_verdict(raw) or Verdict.OTHER, raw, "section")
        # What stands there was written afterwards, so that it tells why and not what was hoped for.
        because = facts.because or facts.hypothesis
        facts = replace(facts, verdict=sorted_as, because=because, hypothesis="")
    return (part_page, head + body), replace(facts, date=facts.date or page.date, places=())
