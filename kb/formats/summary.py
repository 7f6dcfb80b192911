"""What one log amounts to: counts, segments, the best kept, and what is irregular about it. Refuses to write anything."""

import json
from collections import Counter, defaultdict
from dataclasses import asdict, dataclass, field

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
    outcomes: Counter[Outcome | None] = field(default_factory=Counter)
    best: Best | None = None

    def add(self, run: Run) -> None:
        self.runs += 1
        self.outcomes[run.outcome] += 1
        value, way = run.value, self.segment.direction
        wanted = (None, Outcome.OTHER) if self.segment.search else (Outcome.KEPT,)
        if value is None or way is None or run.outcome not in wanted:
            return
        if self.best is None or (
            value < self.best.value if way == "lower" else value > self.best.value
        ):
            self.best = Best(value, run.origin.line)

    def counts(self) -> Counts:
        outcomes = self.outcomes.keys() - {None}
        # What no run was called is not known where the log decides nothing; what broke, it tells.
        known = {
            o: self.segment.judged
            or o in outcomes
            or bool(outcomes)
            and o not in (Outcome.KEPT, Outcome.DISCARDED)
            for o in Outcome
        }
        return Counts(
            self.runs, *(self.outcomes[o] if known[o] else None for o in Outcome), self.best
        )


def summary(log: Located, *, ask: Ask) -> Summary:
    """What a log amounts to, without writing anything; the log is streamed."""
    tallies: list[_Tally] = []
    statuses: Counter[str] = Counter()
    remarks: dict[str, list[int]] = defaultdict(list)
    for event in log.events(ask):
        if isinstance(event, Segment):
            tallies.append(_Tally(event))
        elif isinstance(event, Remark):
            remarks[event.kind].append(event.line)
        else:
            tallies[-1].add(event)
            statuses.update([event.status] if event.status else ())
    parts = tuple(Stretch(t.segment, t.counts()) for t in tallies)
    ways = {
        (p.segment.direction, p.segment.source)
        for p in parts
        if p.segment.metric or len(parts) == 1
    }
    one = len(ways) == 1 and len({p.segment.metric for p in parts}) == 1
    warnings = [_warning(kind, lines) for kind, lines in remarks.items()] + _doubts(parts, statuses)
    warnings += log.remarks
    ranked = tuple(sorted(statuses.items(), key=lambda s: (-s[1], s[0])))
    way = ways.pop() if one else (None, "")
    return Summary(
        log.path.name, log.format.name, _together(parts), ranked, parts, *way, tuple(warnings)
    )


def _together(parts: tuple[Stretch, ...]) -> Counts:
    def total(name: str) -> int | None:
        values = [v for p in parts if (v := getattr(p.counts, name)) is not None]
        return sum(values) if values else None

    best = parts[0].counts.best if len(parts) == 1 else None
    return Counts(total("runs") or 0, *map(total, Outcome), best)


def _warning(kind: str, lines: list[int]) -> str:
    where = [str(n) for n in lines if n]
    if not where:
        return kind
    more = f" and {len(where) - 8} more" if len(where) > 8 else ""
    return f"{kind}: {'line' if len(where) == 1 else f'{len(where)} lines'} {', '.join(where[:8])}{more}"


def _doubts(parts: tuple[Stretch, ...], statuses: Counter[str]) -> list[str]:
    """What a reader of the summary must know though no line is at fault."""
    filled = [p.segment for p in parts if p.counts.runs]
    unsaid = sorted({s.metric for s in filled if s.metric and s.direction is None})
    doubts = {
        f"{len(parts)} segments, each with its own baseline; best is told per segment": len(parts)
        > 1,
        f"whether lower or higher {', '.join(unsaid)} is better is not said; tell it with --direction": unsaid,
        "no status column: what was kept is not known, so there is no best": any(
            not s.judged and not s.search for s in filled
        ),
        "'ok' is a measured run without a verdict; counted as other": statuses.get("ok")
        or statuses.get("OK"),
    }
    return [doubt for doubt, holds in doubts.items() if holds]


def to_json(summary: Summary) -> str:
    """A summary as the JSON object of `kb import --dry-run --format json`."""
    shown = ("index", "line", "name", "metric", "unit", "direction")
    parts = [
        {
            **{k: getattr(p.segment, k) for k in shown},
            "direction_source": p.segment.source or None,
            **asdict(p.counts),
        }
        for p in summary.segments
    ]
    whole = {
        **{"file": summary.file, "format": summary.format, **asdict(summary.counts)},
        **{"statuses": dict(summary.statuses), "segments": parts, "direction": summary.direction},
        **{"direction_source": summary.source or None, "warnings": list(summary.warnings)},
    }
    return json.dumps(whole, ensure_ascii=False, indent=1)


def to_text(summary: Summary) -> str:
    """A summary for a person to read."""
    lines = [f"{summary.file}: {summary.format}, {_phrase(summary.counts)}"]
    for part in summary.segments:
        segment, best = part.segment, part.counts.best
        if segment.metric:
            way = (
                f"{segment.direction} is better ({segment.source})"
                if segment.direction
                else "direction unknown"
            )
            kept = f", best kept {number_text(best.value)} at line {best.line}" if best else ""
            name = f" '{segment.name}'" if segment.name else ""
            head = f"  segment {segment.index}{name} from line {segment.line}: {segment.metric}"
            lines.append(f"{head}, {way}, {_phrase(part.counts)}{kept}")
    if summary.statuses:
        lines.append("  statuses: " + ", ".join(f"{status} {n}" for status, n in summary.statuses))
    return "\n".join(lines + [f"  warning: {warning}" for warning in summary.warnings])


def _phrase(counts: Counts) -> str:
    named = ((o.replace("_", " "), getattr(counts, o)) for o in Outcome)
    return ", ".join([f"{counts.runs} runs", *(f"{n} {name}" for name, n in named if n)])
