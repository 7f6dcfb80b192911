"""kb research status [bring]: list captures, what changed at its origin, what failed."""

from collections import Counter
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from kb.verbs import FINDINGS, FINE, Caller, Result, option

if TYPE_CHECKING:
    from kb.research.jobs import JobState

_SHOWN = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class ResearchStatus:
    """All captures, or those in one state."""

    state: str = option(
        "only these", choices=("", "new", "changed", "same", "failed", "refused", "pending")
    )


@dataclass(frozen=True, slots=True)
class CaptureRow:
    """One source as it stands on the disk."""

    id: str
    origin: str
    version: str
    retrieved: str
    licence: str
    marks: int
    previous: str


@dataclass(frozen=True, slots=True)
class CaptureStatus(Result):
    """Sources, and what was asked for here."""

    sources: tuple[CaptureRow, ...]
    jobs: "tuple[JobState, ...]"

    @property
    def code(self) -> int:
        return FINDINGS if any(job.state in ("failed", "pending") for job in self.jobs) else FINE

    def to_json(self) -> object:
        return {
            "sources": [asdict(s) for s in self.sources],
            "jobs": [asdict(j) for j in self.jobs],
        }

    def to_text(self) -> str:
        from kb.text import one_line

        lines = [
            one_line(
                f"{s.retrieved[:10]:<10}  {s.id}  {s.origin}  {s.version}  licence {s.licence}{f'  {s.marks} marks' if s.marks else ''}{f'  after {s.previous}' if s.previous else ''}"
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
    from kb.source import sources

    layout = caller.layout()
    rows = tuple(
        CaptureRow(s.id, s.origin, s.version, s.retrieved, s.licence, len(s.marks), s.previous)
        for s in sources(layout)
    )
    jobs = tuple(
        job for job in journal_of(layout) if not request.state or job.state == request.state
    )
    return CaptureStatus(rows, jobs)
