"""What one log amounts to: counts, segments, the best kept, and what is irregular about it. Refuses to write anything."""

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from kb.formats.reading import Remark, Segment
from kb.formats.registry import Located
from kb.run.quantity import number_text
from kb.run.record import Outcome, Run
from kb.text import counted

# How many runs, and of each outcome how many; None where nothing in the log could say it.
Counts = dict[str, int | None]
_SHOWN = ("index", "line", "name", "metric", "unit", "direction")


@dataclass(slots=True)
class Stretch:
    """A segment as its runs pass by: how many came out how, and the best of them."""

    segment: Segment
    outcomes: Counter[Outcome | None] = field(default_factory=Counter)
    best: Run | None = None

    def add(self, run: Run) -> None:
        """Count a run. Of a search the best is any that ran, else one that was kept."""
        self.outcomes[run.outcome] += 1
        wanted = (None, Outcome.OTHER) if self.segment.search else (Outcome.KEPT,)
        way = self.segment.direction
        if way and run.value is not None and run.outcome in wanted:
            first = min if way == "lower" else max
            self.best = first(filter(None, (self.best, run)), key=lambda r: r.value)

    @property
    def counts(self) -> Counts:
        """What no run was called is not known where the log decides nothing; what broke, it tells."""
        stated = self.outcomes.keys() - {None}
        known = {o: o in stated or stated and o not in ("kept", "discarded") for o in Outcome}
        counts = {o: self.outcomes[o] if self.segment.judged or known[o] else None for o in Outcome}
        return {"runs": self.outcomes.total(), **counts}


@dataclass(frozen=True, slots=True)
class Summary:
    """What one log holds: the dry run of an import."""

    log: Located
    parts: Sequence[Stretch]
    statuses: Counter[str]
    warnings: Sequence[str]

    @property
    def counts(self) -> Counts:
        """Counts of all segments."""
        parts = [p.counts for p in self.parts]
        values = {n: [c[n] for c in parts if c[n] is not None] for n in ("runs", *Outcome)}
        return {name: sum(v) if v or name == "runs" else None for name, v in values.items()}

    @property
    def way(self) -> tuple[str | None, str | None]:
        """Direction and source where its segments have one metric in common."""
        named = [p.segment for p in self.parts if p.segment.metric or len(self.parts) == 1]
        ways = {(s.direction, s.source or None) for s in named}
        one = len(ways) == 1 and len({p.segment.metric for p in self.parts}) == 1
        return ways.pop() if one else (None, None)


def summary(log: Located, events: Iterable[Segment | Remark | Run]) -> Summary:
    """What a log amounts to, without writing anything; its events are streamed."""
    parts: list[Stretch] = []
    statuses: Counter[str] = Counter()
    remarks: dict[str, list[int]] = defaultdict(list)
    for event in events:
        if isinstance(event, Segment):
            parts.append(Stretch(event))
        elif isinstance(event, Remark):
            remarks[event.kind].append(event.line)
        else:
            parts[-1].add(event)
            statuses.update(filter(None, [event.status]))
    warnings = [_warning(kind, [n for n in lines if n]) for kind, lines in remarks.items()]
    return Summary(log, parts, statuses, [*warnings, *_doubts(parts, statuses), *log.remarks])


def _warning(kind: str, lines: Sequence[int]) -> str:
    if not lines:
        return kind
    more = f" and {len(lines) - 8} more" if len(lines) > 8 else ""
    where = "line" if len(lines) == 1 else f"{len(lines)} lines"
    return f"{kind}: {where} {', '.join(map(str, lines[:8]))}{more}"


def _doubts(parts: Sequence[Stretch], statuses: Counter[str]) -> list[str]:
    """What a reader of the summary must know though no line is at fault."""
    filled = [p.segment for p in parts if p.outcomes]
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
        "'ok' is a measured run without a verdict; counted as other": {"ok", "OK"} & {*statuses},
    }
    return [doubt for doubt, holds in doubts.items() if holds]


def to_json(summary: Summary) -> str:
    """A summary as the JSON object of `kb import --dry-run --format json`."""
    parts = [
        {
            **{name: getattr(p.segment, name) for name in _SHOWN},
            "direction_source": p.segment.source or None,
            **_amount(p.counts, p.best),
        }
        for p in summary.parts
    ]
    direction, source = summary.way
    alone = summary.parts[0].best if len(parts) == 1 else None
    statuses = sorted(summary.statuses.items(), key=lambda s: (-s[1], s[0]))
    whole = {
        **{"file": summary.log.path.name, "format": summary.log.format.name},
        **{**_amount(summary.counts, alone), "statuses": dict(statuses), "segments": parts},
        **{"direction": direction, "direction_source": source, "warnings": [*summary.warnings]},
    }
    return json.dumps(whole, ensure_ascii=False, indent=1)


def _amount(counts: Counts, best: Run | None) -> dict[str, object]:
    return {**counts, "best": {"value": best.value, "line": best.origin.line} if best else None}


def to_text(summary: Summary) -> str:
    """A summary for a person to read."""
    lines = [f"{summary.log.path.name}: {summary.log.format.name}, {_phrase(summary.counts)}"]
    for segment, best, counts in ((p.segment, p.best, p.counts) for p in summary.parts):
        if segment.metric:
            way = f"{segment.direction} is better ({segment.source})"
            kept = (
                f", best kept {number_text(best.value)} at line {best.origin.line}" if best else ""
            )
            name = f" '{segment.name}'" if segment.name else ""
            head = f"  segment {segment.index}{name} from line {segment.line}: {segment.metric}"
            way = way if segment.direction else "direction unknown"
            lines.append(f"{head}, {way}, {_phrase(counts)}{kept}")
    if summary.statuses:
        ranked = sorted(summary.statuses.items(), key=lambda s: (-s[1], s[0]))
        lines.append("  statuses: " + ", ".join(f"{status} {n}" for status, n in ranked))
    return "\n".join(lines + [f"  warning: {warning}" for warning in summary.warnings])


def _phrase(counts: Counts) -> str:
    named = [f"{counts[o]} {o.replace('_', ' ')}" for o in Outcome if counts[o]]
    return ", ".join([counted(counts["runs"], "runs"), *named])
