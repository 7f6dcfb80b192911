"""Other loops' records: which format a file or folder is in, the one entry to all readers, and what a log amounts to.

Refuses to write: `kb.formats.filing` files runs as pages, `kb.formats.export` gives them back.
"""

import importlib
import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from kb import KbError
from kb.formats import autocomp, markdown, openevolve, pi, skypilot, tsv
from kb.formats.objects import objects_of
from kb.formats.reading import Ask, Remark, Segment, head_of
from kb.run.direction import Direction
from kb.run.record import Outcome, Run

# Format -> module that reads it. One object a loop: pi and interlab differ in spelling only, optuna is one kind of jsonl.
READERS = {
    "pi": "pi", "interlab": "pi", "pi-git": "git_trailers", "tsv": "tsv", "skypilot": "skypilot", "logmd": "markdown", "leaderboard": "markdown",
    "autocomp": "autocomp", "openevolve": "openevolve", "optuna": "jsonl", "jsonl": "jsonl", "prose": "prose",
}
ALIASES = {
    "autoresearch": "tsv", "autoresearch-tsv": "tsv", "karpathy": "tsv", "csv": "tsv", "table": "tsv", "results": "tsv", "pi-autoresearch": "pi",
    "markdown": "logmd", "markdown-table": "logmd", "log": "logmd", "simple-loop": "logmd", "heygen": "leaderboard", "auto-model-optim": "leaderboard",
    "autocomp-run": "autocomp", "optuna-jsonl": "optuna", "interlab-jsonl": "interlab", "prose-log": "prose", "text": "prose",
}
# A loop's folder: the log that counts, the most complete record first.
_LOGS = (".auto/log.jsonl", "autoresearch.jsonl", "log.jsonl", "results.jsonl", "results.tsv", "RESULTS.tsv", "results.csv", "leaderboard.md", "log.md",
         "results.md", "LOG.md", "PROGRESS.md")


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


def located(path: Path, name: str) -> tuple[str, Path]:
    """Format and log of a path: a file, or one loop's folder. Raises KbError where nothing there can be read as one."""
    if not path.exists():
        raise KbError(f"{path}: no such file or folder; name a loop's log or its folder")
    name = ALIASES.get(name, name)
    if name == "tpu-wiki":
        raise KbError("pages of a wiki are experiments already: `kb init --adopt` in its folder reads them in place")
    if name != "auto" and name not in READERS:
        raise KbError(f"no such format '{name}'; one of auto, {', '.join(READERS)}")
    if path.is_dir():
        return _located_in(path, name)
    return (detected(path) if name == "auto" else name), path


def _located_in(folder: Path, name: str) -> tuple[str, Path]:
    if name in ("pi-git", "autocomp", "openevolve"):
        return name, folder
    if name == "auto" and autocomp.holds(folder):
        return "autocomp", folder
    if name == "auto" and openevolve.holds(folder):
        return "openevolve", folder
    files = [folder / log for log in _LOGS if (folder / log).is_file()]
    if (folder / ".auto").is_dir() and any((folder / ".auto").iterdir()):
        # pi's own rule: where any current artefact exists, the legacy files are not read.
        files = [f for f in files if f.name != "autoresearch.jsonl"]
    for pattern in ("*.jsonl", "*.tsv", "*.log", "*.md"):
        files += [f for f in sorted(folder.glob(pattern)) if f not in files]
    for file in files:
        found = detected(file)
        if found != "prose" and name in ("auto", found) or READERS[found] == READERS.get(name):
            return (found if name == "auto" else name), file
    if name in ("auto", "pi") and (folder / ".git").exists():
        return "pi-git", folder
    raise KbError(f"{folder}: no log of a loop that can be read{'' if name == 'auto' else f' as {name}'}; name the file itself")


def detected(path: Path) -> str:
    """Format of a file, by what it holds; by its name only where it is empty."""
    head = head_of(path)
    said = [h for h in head if h.strip()]
    if not said:
        return {".jsonl": "pi", ".tsv": "tsv", ".csv": "tsv"}.get(path.suffix.lower(), "prose")
    if any("\0" in h for h in said[:5]):
        raise KbError(f"{path}: a binary file, no log; name a text file")
    objects = [o for h in said if h.lstrip().startswith("{") for o in objects_of(h.strip()) or () if isinstance(o, dict)]
    if objects or said[0].lstrip().startswith(("{", "[")):
        return _detected_json(path, objects)
    if any(skypilot.is_mark(h) for h in said):
        return "skypilot"
    if path.suffix.lower() not in (".tsv", ".csv") and any(h.lstrip().startswith("|") for h in said) or path.suffix.lower() in (".md", ".markdown"):
        if markdown.holds_runs(path):
            return "leaderboard" if _ranked(path) else "logmd"
        if path.suffix.lower() in (".md", ".markdown"):
            return "prose"
    return "tsv" if _tabular(path, said) else "prose"


def _detected_json(path: Path, objects: list[dict[str, object]]) -> str:
    if not objects:
        return "openevolve" if path.name.endswith(("program_info.json", "best_program.json")) else "jsonl"
    if any(pi.is_config(o) and "metric_name" in o for o in objects):
        return "interlab"
    if any(pi.is_config(o) or pi.is_run(o) for o in objects):
        return "pi"
    if sum(openevolve.is_program(o) for o in objects) * 2 > len(objects):
        return "openevolve"
    trials = sum(isinstance(o.get("params"), dict) or any(k.startswith("params_") for k in o) for o in objects)
    return "optuna" if trials * 2 > len(objects) else "jsonl"


def _ranked(path: Path) -> bool:
    return any(isinstance(event, Segment) and event.judged for event in markdown.read(path, Ask())) and any(
        isinstance(event, Run) and not event.status and event.outcome is Outcome.KEPT for event in markdown.read(path, Ask())
    )


def _tabular(path: Path, said: list[str]) -> bool:
    if path.suffix.lower() in (".tsv", ".csv"):
        return True
    delimiter = tsv.delimiter_of(said)
    wide = sum(h.count(delimiter) >= 2 for h in said)
    return wide * 2 > len(said) and wide > 1


def events(path: Path, name: str, *, ask: Ask) -> Iterator[Segment | Run | Remark]:
    """Segments, runs and remarks of one log, streamed. `name` is a format of READERS."""
    yield from importlib.import_module(f"kb.formats.{READERS[name]}").read(path, ask)


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
        wanted = run.outcome in (None, Outcome.OTHER) if self.segment.search else run.outcome is Outcome.KEPT
        if value is None or way is None or not wanted:
            return
        if self.best is None or (value < self.best.value if way == "lower" else value > self.best.value):
            self.best = Best(value, run.origin.line)

    def counts(self) -> Counts:
        seen = self.outcomes or Counter()
        judged = self.segment.judged or any(o in seen for o in (Outcome.KEPT, Outcome.DISCARDED))
        known = judged or self.outcomes is not None
        return Counts(self.runs, seen[Outcome.KEPT] if judged else None, seen[Outcome.DISCARDED] if judged else None,
                      seen[Outcome.CRASHED] if known else None, seen[Outcome.CHECKS_FAILED] if known else None,
                      seen[Outcome.OTHER] if known else None, self.best)


def summary(path: Path, name: str, *, ask: Ask) -> Summary:
    """What a log amounts to, without writing anything; the log is streamed."""
    tallies: list[_Tally] = []
    statuses: Counter[str] = Counter()
    remarks: dict[str, list[int]] = {}
    for event in events(path, name, ask=ask):
        if isinstance(event, Segment):
            tallies.append(_Tally(event))
        elif isinstance(event, Remark):
            remarks.setdefault(event.kind, []).append(event.line)
        else:
            tallies[-1].add(event)
            if event.status:
                statuses[event.status] += 1
    parts = tuple(Stretch(t.segment, t.counts()) for t in tallies)
    ways = {(p.segment.direction, p.segment.source) for p in parts if p.segment.metric or len(parts) == 1}
    way, source = ways.pop() if len(ways) == 1 else (None, "")
    metrics = {p.segment.metric for p in parts}
    if len(parts) > 1 and len(metrics) > 1:
        way, source = None, ""
    warnings = [_told(kind, lines) for kind, lines in remarks.items()]
    return Summary(path.name, name, _together(parts), tuple(sorted(statuses.items(), key=lambda s: (-s[1], s[0]))), parts, way, source,
                   tuple(warnings + _doubts(parts, statuses)))


def _together(parts: tuple[Stretch, ...]) -> Counts:
    def total(name: str) -> int | None:
        values = [v for p in parts if (v := getattr(p.counts, name)) is not None]
        return sum(values) if values else None

    best = parts[0].counts.best if len(parts) == 1 else None
    return Counts(sum(p.counts.runs for p in parts), total("kept"), total("discarded"), total("crashed"), total("checks_failed"), total("other"), best)


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
    unsaid = sorted({p.segment.metric for p in parts if p.segment.metric and p.segment.direction is None and p.counts.runs})
    if unsaid:
        said.append(f"whether lower or higher {', '.join(unsaid)} is better is not said; tell it with --direction")
    if any(not p.segment.judged and not p.segment.search and p.counts.runs for p in parts):
        said.append("no status column: what was kept is not known, so there is no best")
    if statuses.get("ok") or statuses.get("OK"):
        said.append("'ok' is a measured run without a verdict; counted as other")
    return said


def to_json(told: Summary) -> str:
    """A summary as the JSON object of `kb import --dry-run --format json`."""
    whole = _counts_said(told.counts)
    parts = [
        {"index": p.segment.index, "line": p.segment.line, "name": p.segment.name, "metric": p.segment.metric, "unit": p.segment.unit,
         "direction": p.segment.direction, "direction_source": p.segment.source or None, **_counts_said(p.counts)}
        for p in told.segments
    ]
    said = {"file": told.file, "format": told.format, **whole, "statuses": dict(told.statuses), "segments": parts, "direction": told.direction,
            "direction_source": told.source or None, "warnings": list(told.warnings)}
    return json.dumps(said, ensure_ascii=False, indent=1)


def _counts_said(counts: Counts) -> dict[str, object]:
    best = {"value": counts.best.value, "line": counts.best.line} if counts.best else None
    return {"runs": counts.runs, "kept": counts.kept, "discarded": counts.discarded, "crashed": counts.crashed,
            "checks_failed": counts.checks_failed, "other": counts.other, "best": best}


def to_text(told: Summary) -> str:
    """A summary for a person to read."""
    lines = [f"{told.file}: {told.format}, {_phrase(told.counts)}"]
    for part in told.segments:
        segment = part.segment
        way = f"{segment.direction} is better ({segment.source})" if segment.direction else "direction unknown"
        best = f", best kept {part.counts.best.value:g} at line {part.counts.best.line}" if part.counts.best else ""
        if segment.metric:
            name = f" '{segment.name}'" if segment.name else ""
            lines.append(f"  segment {segment.index}{name} from line {segment.line}: {segment.metric}, {way}, {_phrase(part.counts)}{best}")
    if told.statuses:
        lines.append("  statuses: " + ", ".join(f"{status} {n}" for status, n in told.statuses))
    return "\n".join(lines + [f"  warning: {warning}" for warning in told.warnings])


def _phrase(counts: Counts) -> str:
    named = (("kept", counts.kept), ("discarded", counts.discarded), ("crashed", counts.crashed), ("checks failed", counts.checks_failed),
             ("other", counts.other))
    return ", ".join([f"{counts.runs} runs", *(f"{n} {name}" for name, n in named if n)])
