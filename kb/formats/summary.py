"""What one log amounts to: counts, segments, the best kept, and what is irregular about it. Refuses to write anything."""

import json
from collections import Counter, defaultdict
from dataclasses import asdict, dataclass

from kb.formats.reading import Ask, Remark, Segment
from kb.formats.registry import Located
from kb.run.direction import Direction
from kb.run.quantity import number_text
from kb.run.record import Outcome, Run

# How many runs, and of each outcome how many; None where nothing in the log could say it.
Counts = dict[str, int | None]


@dataclass(frozen=True, slots=True)
class Best:
    """The best value and the line where it stands."""

    value: float
    line: int


@dataclass(frozen=True, slots=True)
class Stretch:
    """One segment with its counts and its best."""

    segment: Segment
    counts: Counts
    best: Best | None


@dataclass(frozen=True, slots=True)
class Summary:
    """What one log holds: the dry run of an import. Without a direction its segments have none in common."""

    file: str
    format: str
    counts: Counts
    best: Best | None
    statuses: tuple[tuple[str, int], ...]
    segments: tuple[Stretch, ...]
    direction: Direction | None
    source: str
    warnings: tuple[str, ...]


def summary(log: Located, *, ask: Ask) -> Summary:
    """What a log amounts to, without writing anything; the log is streamed."""
    segments: list[Segment] = []
    outcomes: list[Counter[Outcome | None]] = []
    best: dict[int, Best] = {}
    statuses: Counter[str] = Counter()
    remarks: dict[str, list[int]] = defaultdict(list)
    for event in log.events(ask):
        if isinstance(event, Segment):
            segments.append(event)
            outcomes.append(Counter())
        elif isinstance(event, Remark):
            remarks[event.kind].append(event.line)
        else:
            at = len(segments) - 1
            outcomes[at][event.outcome] += 1
            statuses.update([event.status] if event.status else ())
            if _leads(event, segments[at], best.get(at)):
                best[at] = Best(event.value, event.origin.line)
    parts = tuple(
        Stretch(segment, _counts(segment, outcomes[at]), best.get(at))
        for at, segment in enumerate(segments)
    )
    named = [p.segment for p in parts if p.segment.metric or len(parts) == 1]
    ways = {(s.direction, s.source) for s in named}
    one = len(ways) == 1 and len({p.segment.metric for p in parts}) == 1
    warnings = [_warning(kind, lines) for kind, lines in remarks.items()]
    ranked = tuple(sorted(statuses.items(), key=lambda s: (-s[1], s[0])))
    return Summary(
        log.path.name,
        log.format.name,
        _total([p.counts for p in parts]),
        best.get(0) if len(parts) == 1 else None,
        ranked,
        parts,
        *(ways.pop() if one else (None, "")),
        (*warnings, *_doubts(parts, statuses), *log.remarks),
    )


def _leads(run: Run, segment: Segment, best: Best | None) -> bool:
    """Whether a run is better than the best so far: of a search any that ran, else what was kept."""
    wanted = (None, Outcome.OTHER) if segment.search else (Outcome.KEPT,)
    if run.value is None or segment.direction is None or run.outcome not in wanted:
        return False
    lower = segment.direction == "lower"
    return best is None or (run.value < best.value if lower else run.value > best.value)


def _counts(segment: Segment, outcomes: Counter[Outcome | None]) -> Counts:
    """What no run was called is not known where the log decides nothing; what broke, it tells."""
    stated = outcomes.keys() - {None}
    decided = (Outcome.KEPT, Outcome.DISCARDED)
    known = {o for o in Outcome if segment.judged or o in stated or stated and o not in decided}
    return {"runs": outcomes.total(), **{o: outcomes[o] if o in known else None for o in Outcome}}


def _total(counts: list[Counts]) -> Counts:
    names = ("runs", *Outcome)
    values = {name: [c[name] for c in counts if c[name] is not None] for name in names}
    return {name: sum(v) if v or name == "runs" else None for name, v in values.items()}


def _warning(kind: str, lines: list[int]) -> str:
    where = [str(n) for n in lines if n]
    if not where:
        return kind
    more = f" and {len(where) - 8} more" if len(where) > 8 else ""
    return f"{kind}: {'line' if len(where) == 1 else f'{len(where)} lines'} {', '.join(where[:8])}{more}"


def _doubts(parts: tuple[Stretch, ...], statuses: Counter[str]) -> list[str]:
    """What a reader of the summary must know though no line is at fault."""
    filled = [p.segment for p in parts if p.counts["runs"]]
    unsaid = sorted({s.metric for s in filled if s.metric and s.direction is None})
    doubts = {
        f"{len(parts)} segments, each with its own baseline; best is told per segment": len(parts)
        > 1,
        f"whether lower or higher {', '.join(unsaid)} is better is not said; tell it with --direction": unsaid,
        "no metric that the runs have in common; best is left open": not all(
            s.metric for s in filled
        ),
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
            **_amount(p),
        }
        for p in summary.segments
    ]
    whole = {
        **{"file": summary.file, "format": summary.format, **_amount(summary)},
        **{"statuses": dict(summary.statuses), "segments": parts, "direction": summary.direction},
        **{"direction_source": summary.source or None, "warnings": list(summary.warnings)},
    }
    return json.dumps(whole, ensure_ascii=False, indent=1)


def _amount(part: Stretch | Summary) -> dict[str, object]:
    return {**part.counts, "best": asdict(part.best) if part.best else None}


def to_text(summary: Summary) -> str:
    """A summary for a person to read."""
    lines = [f"{summary.file}: {summary.format}, {_phrase(summary.counts)}"]
    for part in summary.segments:
        segment, best = part.segment, part.best
        if segment.metric:
            way = "direction unknown"
            if segment.direction:
                way = f"{segment.direction} is better ({segment.source})"
            kept = f", best kept {number_text(best.value)} at line {best.line}" if best else ""
            name = f" '{segment.name}'" if segment.name else ""
            head = f"  segment {segment.index}{name} from line {segment.line}: {segment.metric}"
            lines.append(f"{head}, {way}, {_phrase(part.counts)}{kept}")
    if summary.statuses:
        lines.append("  statuses: " + ", ".join(f"{status} {n}" for status, n in summary.statuses))
    return "\n".join(lines + [f"  warning: {warning}" for warning in summary.warnings])


def _phrase(counts: Counts) -> str:
    named = [f"{counts[o]} {o.replace('_', ' ')}" for o in Outcome if counts[o]]
    return ", ".join([f"{counts['runs']} runs", *named])
