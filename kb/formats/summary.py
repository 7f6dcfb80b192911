"""What one log amounts to: counts, segments, the best kept, and what is irregular about it. Refuses to write anything."""

import json
from collections import Counter
from dataclasses import dataclass

from kb.formats.reading import Ask, Remark, Segment
from kb.formats.registry import Located
from kb.run.direction import Direction
from kb.run.quantity import number_text
from kb.run.record import Outcome, Run


@dataclass(frozen=True, slots=True)
class Best:
    """The best value and the line where it stands."""

    value: float
    line: int


@dataclass(frozen=True, slots=True)
class Counts:
    """What a stretch of a log amounts to. A count is None where the log has no status that could say it."""

    runs: int
    kept: int | None
    discarded: int | None
    crashed: int | None
    checks_failed: int | None
    other: int | None
    best: Best | None


@dataclass(frozen=True, slots=True)
class Stretch:
    """One segment with its counts."""

    segment: Segment
    counts: Counts


@dataclass(frozen=True, slots=True)
class Summary:
    """What one log holds: the dry run of an import."""

    file: str
    format: str
    counts: Counts
    statuses: tuple[tuple[str, int], ...]
    segments: tuple[Stretch, ...]
    direction: Direction | None
    source: str
    warnings: tuple[str, ...]


@dataclass(slots=True)
class _Tally:
    segment: Segment
    runs: int = 0
    judged: bool = False
    outcomes: Counter[Outcome] | None = None
    best: Best | None = None

    def add(self, run: Run) -> None:
        self.runs += 1
        if run.outcome is not None:
            self.outcomes = self.outcomes if self.outcomes is not None else Counter()
            self.outcomes[run.outcome] += 1
        value, way = run.value, self.segment.direction
        wanted = (
            run.outcome in (None, Outcome.OTHER)
            if self.segment.search
            else run.outcome is Outcome.KEPT
        )
        if value is None or way is None or not wanted:
            return
        if self.best is None or (
            value < self.best.value if way == "lower" else value > self.best.value
        ):
            self.best = Best(value, run.origin.line)

    def counts(self) -> Counts:
        seen = self.outcomes or Counter()
        judged = self.segment.judged or any(o in seen for o in (Outcome.KEPT, Outcome.DISCARDED))
        known = judged or self.outcomes is not None
        return Counts(
            self.runs,
            seen[Outcome.KEPT] if judged else None,
            seen[Outcome.DISCARDED] if judged else None,
            seen[Outcome.CRASHED] if known else None,
            seen[Outcome.CHECKS_FAILED] if known else None,
            seen[Outcome.OTHER] if known else None,
            self.best,
        )


def summary(log: Located, *, ask: Ask) -> Summary:
    """What a log amounts to, without writing anything; the log is streamed."""
    tallies: list[_Tally] = []
    statuses: Counter[str] = Counter()
    remarks: dict[str, list[int]] = {}
    for event in log.events(ask):
        if isinstance(event, Segment):
            tallies.append(_Tally(event))
        elif isinstance(event, Remark):
            remarks.setdefault(event.kind, []).append(event.line)
        else:
            tallies[-1].add(event)
            if event.status:
                statuses[event.status] += 1
    parts = tuple(Stretch(t.segment, t.counts()) for t in tallies)
    ways = {
        (p.segment.direction, p.segment.source)
        for p in parts
        if p.segment.metric or len(parts) == 1
    }
    way, source = ways.pop() if len(ways) == 1 else (None, "")
    metrics = {p.segment.metric for p in parts}
    if len(parts) > 1 and len(metrics) > 1:
        way, source = None, ""
    warnings = [_told(kind, lines) for kind, lines in remarks.items()]
    return Summary(
        log.path.name,
        log.format.name,
        _together(parts),
        tuple(sorted(statuses.items(), key=lambda s: (-s[1], s[0]))),
        parts,
        way,
        source,
        tuple(
            warnings
            + _doubts(parts, statuses)
            + [f"also reads as {name}: {n} runs" for name, n in log.others]
        ),
    )


def _together(parts: tuple[Stretch, ...]) -> Counts:
    def total(name: str) -> int | None:
        values = [v for p in parts if (v := getattr(p.counts, name)) is not None]
        return sum(values) if values else None

    best = parts[0].counts.best if len(parts) == 1 else None
    return Counts(
        sum(p.counts.runs for p in parts),
        total("kept"),
        total("discarded"),
        total("crashed"),
        total("checks_failed"),
        total("other"),
        best,
    )


def _told(kind: str, lines: list[int]) -> str:
    where = [str(n) for n in lines if n]
    if not where:
        return kind
    more = f" and {len(where) - 8} more" if len(where) > 8 else ""
    return f"{kind}: {'line' if len(where) == 1 else f'{len(where)} lines'} {', '.join(where[:8])}{more}"


def _doubts(parts: tuple[Stretch, ...], statuses: Counter[str]) -> list[str]:
    """What a reader of the summary must know though no line is at fault."""
    said = []
    if len(parts) > 1:
        said.append(f"{len(parts)} segments, each with its own baseline; best is told per segment")
    unsaid = sorted(
        {
            p.segment.metric
            for p in parts
            if p.segment.metric and p.segment.direction is None and p.counts.runs
        }
    )
    if unsaid:
        said.append(
            f"whether lower or higher {', '.join(unsaid)} is better is not said; tell it with --direction"
        )
    if any(not p.segment.judged and not p.segment.search and p.counts.runs for p in parts):
        said.append("no status column: what was kept is not known, so there is no best")
    if statuses.get("ok") or statuses.get("OK"):
        said.append("'ok' is a measured run without a verdict; counted as other")
    return said


def to_json(told: Summary) -> str:
    """A summary as the JSON object of `kb import --dry-run --format json`."""
    whole = _counts_said(told.counts)
    parts = [
        {
            "index": p.segment.index,
            "line": p.segment.line,
            "name": p.segment.name,
            "metric": p.segment.metric,
            "unit": p.segment.unit,
            "direction": p.segment.direction,
            "direction_source": p.segment.source or None,
            **_counts_said(p.counts),
        }
        for p in told.segments
    ]
    said = {
        "file": told.file,
        "format": told.format,
        **whole,
        "statuses": dict(told.statuses),
        "segments": parts,
        "direction": told.direction,
        "direction_source": told.source or None,
        "warnings": list(told.warnings),
    }
    return json.dumps(said, ensure_ascii=False, indent=1)


def _counts_said(counts: Counts) -> dict[str, object]:
    best = {"value": counts.best.value, "line": counts.best.line} if counts.best else None
    return {
        "runs": counts.runs,
        "kept": counts.kept,
        "discarded": counts.discarded,
        "crashed": counts.crashed,
        "checks_failed": counts.checks_failed,
        "other": counts.other,
        "best": best,
    }


def to_text(told: Summary) -> str:
    """A summary for a person to read."""
    lines = [f"{told.file}: {told.format}, {_phrase(told.counts)}"]
    for part in told.segments:
        segment = part.segment
        way = (
            f"{segment.direction} is better ({segment.source})"
            if segment.direction
            else "direction unknown"
        )
        best = (
            f", best kept {number_text(part.counts.best.value)} at line {part.counts.best.line}"
            if part.counts.best
            else ""
        )
        if segment.metric:
            name = f" '{segment.name}'" if segment.name else ""
            lines.append(
                f"  segment {segment.index}{name} from line {segment.line}: {segment.metric}, {way}, {_phrase(part.counts)}{best}"
            )
    if told.statuses:
        lines.append("  statuses: " + ", ".join(f"{status} {n}" for status, n in told.statuses))
    return "\n".join(lines + [f"  warning: {warning}" for warning in told.warnings])


def _phrase(counts: Counts) -> str:
    named = (
        ("kept", counts.kept),
        ("discarded", counts.discarded),
        ("crashed", counts.crashed),
        ("checks failed", counts.checks_failed),
        ("other", counts.other),
    )
    return ", ".join([f"{counts.runs} runs", *(f"{n} {name}" for name, n in named if n)])
