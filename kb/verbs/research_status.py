"""kb research status [bring]: list captures, what changed at its origin, what failed."""

from collections import Counter
from dataclasses import dataclass

from kb.research.freshness import Freshness, freshness_of
from kb.research.jobs import JobOutcome, journal_of
from kb.source import Source, damaged_sources, sources
from kb.text import counted, head_of, one_line
from kb.verbs import FINDINGS, FINE, Caller, Result, flag, option
from kb.verbs.research_access import Reach, session_of

_SHOWN = 60
_AGAIN = "run the same commands again: what is captured is recognised, what failed is tried anew"


@dataclass(frozen=True, slots=True, kw_only=True)
class ResearchStatus(Reach):
    """All captures; with --check what their origins give now."""

    check: bool = flag(
        "ask each origin whether it changed: one conditional request a page or fork, one for all papers"
    )
    api: str = option(
        "base address of arXiv's API", default="https://export.arxiv.org/api/query", metavar="URL"
    )
    rest: str = option(
        "base address of GitHub's REST interface", default="https://api.github.com", metavar="URL"
    )


# What is printed of a source, its marks being counted.
_PRINTED = ("id", "origin", "version", "retrieved", "licence", "marks", "previous")


def run(request: ResearchStatus, caller: Caller) -> Result:
    listed, damaged = list(sources(caller.layout)), list(damaged_sources(caller.layout))
    jobs = list(journal_of(caller.layout))
    origins = []
    if request.check:
        with session_of(request, caller, api=request.rest) as session:
            origins = list(freshness_of(session, listed, api=request.api, rest=request.rest))
    rows = [{name: getattr(s, name) for name in _PRINTED} | {"marks": len(s.marks)} for s in listed]
    value = {"sources": rows, "jobs": jobs, "damaged": damaged, "origins": origins}
    left = any(job.state in ("failed", "pending") for job in jobs)
    changed = any(o.state in ("changed", "gone") for o in origins)
    code = FINDINGS if left or changed or damaged else FINE
    lines = [*_lines(listed, jobs, damaged, origins), *([_AGAIN] if left else [])]
    return Result(value, "\n".join(map(one_line, lines)), code)


def _lines(
    listed: list[Source], jobs: list[JobOutcome], damaged: list[str], origins: list[Freshness]
) -> list[str]:
    sources = [
        f"{s.retrieved[:10]:<10}  {s.id}  {s.origin}  {s.version}  licence {s.licence}{f'  {len(s.marks)} marks' if s.marks else ''}{f'  after {s.previous}' if s.previous else ''}"
        for s in listed
    ]
    lines = head_of(sources, _SHOWN, "… and {} more: --format json")
    left = (j for j in jobs if j.state in ("failed", "pending", "refused"))
    open_jobs = [f"{j.state:<8}  {j.key}  {j.note}" for j in left]
    lines += head_of(open_jobs, _SHOWN, "… and {} more such: --format json")
    lines += damaged
    moved = [o for o in origins if o.state != "same"]
    lines += [f"{o.state:<8}  sources/{o.source}  {o.note}" for o in moved]
    lines += [f"at their origins: {_counts(origins)}"] if origins else []
    lines.append(
        f"{counted(len(listed), 'sources')}; asked for here: {_counts(jobs) or 'nothing yet'}"
    )
    return lines


def _counts(rows: list[JobOutcome] | list[Freshness]) -> str:
    counts = Counter(row.state for row in rows)
    return ", ".join(f"{n} {state}" for state, n in sorted(counts.items()))
