"""kb research status [bring]: list captures, what changed at its origin, what failed."""

from collections import Counter
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from kb.verbs import FINDINGS, FINE, Caller, Result, flag, option
from kb.verbs.research_access import Reach, session_of

if TYPE_CHECKING:
    from kb.research.freshness import Freshness
    from kb.research.jobs import JobState
    from kb.source import Source

_SHOWN = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class ResearchStatus(Reach):
    """All captures, or those in one state; with --check what their origins give now."""

    state: str = option(
        "only these", choices=("", "new", "changed", "same", "failed", "refused", "pending")
    )
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


@dataclass(frozen=True, slots=True)
class CaptureStatus(Result):
    """Sources, and what was asked for here."""

    sources: "tuple[Source, ...]"
    jobs: "tuple[JobState, ...]"
    damaged: tuple[str, ...] = ()
    origins: "tuple[Freshness, ...]" = ()

    @property
    def code(self) -> int:
        left = any(job.state in ("failed", "pending") for job in self.jobs)
        moved = any(o.state in ("changed", "gone") for o in self.origins)
        return FINDINGS if left or moved or self.damaged else FINE

    def to_json(self) -> object:
        return {
            "sources": [
                {name: getattr(s, name) for name in _PRINTED} | {"marks": len(s.marks)}
                for s in self.sources
            ],
            "jobs": [asdict(j) for j in self.jobs],
            "damaged": self.damaged,
            "origins": [asdict(o) for o in self.origins],
        }

    def to_text(self) -> str:
        from kb.text import one_line

        lines = [
            one_line(
                f"{s.retrieved[:10]:<10}  {s.id}  {s.origin}  {s.version}  licence {s.licence}{f'  {len(s.marks)} marks' if s.marks else ''}{f'  after {s.previous}' if s.previous else ''}"
            )
            for s in self.sources[:_SHOWN]
        ]
        lines += (
            [f"… and {len(self.sources) - _SHOWN} more: --format json"]
            if len(self.sources) > _SHOWN
            else []
        )
        open_jobs = [j for j in self.jobs if j.state in ("failed", "pending", "refused")]
        lines += [one_line(f"{j.state:<8}  {j.key}  {j.note}") for j in open_jobs[:_SHOWN]]
        lines += [one_line(text) for text in self.damaged]
        lines += [
            one_line(f"{o.state:<8}  sources/{o.source}  {o.note}")
            for o in self.origins
            if o.state != "same"
        ]
        if self.origins:
            states = Counter(o.state for o in self.origins)
            lines.append(
                "at their origins: "
                + ", ".join(f"{n} {state}" for state, n in sorted(states.items()))
            )
        counts = Counter(j.state for j in self.jobs)
        lines.append(
            f"{len(self.sources)} sources; asked for here: {', '.join(f'{n} {state}' for state, n in sorted(counts.items())) or 'nothing yet'}"
        )
        if counts["failed"] or counts["pending"]:
            lines.append(
                "run the same commands again: what is captured is recognised, what failed is tried anew"
            )
        return "\n".join(lines)


def run(request: ResearchStatus, caller: Caller) -> CaptureStatus:
    from kb.research.jobs import journal_of
    from kb.source import damaged_sources, sources

    layout = caller.layout()
    listed = tuple(sources(layout))
    jobs = tuple(
        job for job in journal_of(layout) if not request.state or job.state == request.state
    )
    origins: "tuple[Freshness, ...]" = ()
    if request.check:
        from kb.research.freshness import freshness_of

        with session_of(request, caller, api=request.rest) as session:
            origins = tuple(freshness_of(session, listed, api=request.api, rest=request.rest))
    return CaptureStatus(listed, jobs, tuple(damaged_sources(layout)), origins)
