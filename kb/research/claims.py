"""Figures that a change states: value, unit, place, and whether its author still holds it. Refuses
to judge whether they are true.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from kb.research.diffs import FileDiff
from kb.run.direction import direction_of
from kb.text import number_of, numbers_in, one_line, unit_of

_LABELLED = re.compile(
    r"\b([A-Za-z][\w ]{0,30}?)[\"'`*]*\s*(?:=|:|of|to|→|->|~|\(|)\s*[`*~]*([-+]?\d+(?:\.\d+)?)(?![\w.]*\d)"
)
MEASURES = re.compile(
    r"(?i)\b\w*(bpb|loss|ppl|perplexity|acc|accuracy|vram|memory|mem|tok|speed|latency|throughput|time|seconds|steps|mfu|flops|params|experiments?|score|ratio|rate|quality|recall|allocs)\w*\b"
)
_TAKEN_BACK = re.compile(
    r"(?i)\b(retract\w*|withdrawn?|was wrong|were wrong|incorrect|not reproducib\w+|does not reproduce|invalid(?:ated)?|bogus|measurement error|no longer holds?)\b"
)
_REVERT = re.compile(r"This reverts commit ([0-9a-f]{7,40})|^Revert \"(.+)\"", re.MULTILINE)
_ESTIMATE = re.compile(
    r"(?i)\b(should|expect(?:ed|s)?|estimat\w*|would|could|may|might|projected|theoretical)\b"
)
# What stands between a figure before and the one after it.
_BECOMES = re.compile(r"\s*(?:->|-->|→|=>|⇒|to|before,(?: and)?)\s*(?:about |~)?", re.IGNORECASE)
_MOST = 200
_MOST_ROWS = 30


@dataclass(frozen=True, slots=True)
class StatedFigure:
    """One figure as written. `path` is a file at the head, or `commit ID`; `status` reported,
    estimate or retracted.
    """

    value: str
    unit: str
    path: str
    line: int
    text: str
    status: str = "reported"


@dataclass(frozen=True, slots=True)
class StatedChange:
    """A measure before and after, as one line states it; `name` is its label and its unit."""

    name: str
    unit: str
    before: float
    after: float
    digits: tuple[str, str]

    @property
    def is_result(self) -> bool:
        """Whether it measures what comes out, not what it costs: no time, size, rate or count."""
        unit = unit_of(self.unit) if self.unit else None
        if unit and unit.dimension not in ("share", "loss"):
            return False
        return "/" not in self.name and not _SPENT.search(self.name)

    @property
    def is_better(self) -> bool | None:
        """Whether it went to the better side; None where its name does not say which that is."""
        side = direction_of(self.name)
        return (side == "higher") == (self.after > self.before) if side else None


# Resources and rates by name, which a figure without a unit may have.
_SPENT = re.compile(
    r"(?i)\b\w*(vram|memory|mem|speed|latency|throughput|time|seconds|mfu|flops|alloc|cpu|util|steps|params|cycles|instructions|p99)"
)


def changes_in(line: str) -> Iterator[StatedChange]:
    """Figures of a line that became others: `1.4 -> 2.1 GB/s`, `from 9 ms to 7 ms`, `9 s before, 7 s after`."""
    numbers = list(numbers_in(line))
    for before, after in zip(numbers, numbers[1:], strict=False):
        # The head of an arrow before a figure reads as its bound.
        if _BECOMES.fullmatch(line[before.end : after.start + (after.bound == ">")]):
            unit = after.unit or before.unit
            label = re.split(r"[,;:|(]", line[: before.start])[-1]
            digits = tuple(_digits(line[n.start : n.end]) for n in (before, after))
            yield StatedChange(
                f"{label} {unit}".strip(), unit, before.value, after.value, (digits[0], digits[1])
            )


def claims_of(
    commits: Sequence[tuple[str, str]], changes: Iterable[FileDiff]
) -> tuple[StatedFigure, ...]:
    """Claims of commits (id, message; the newest first) and of the documents and logs that a fork
    adds.
    """
    reverts = [m for _, message in commits for m in _REVERT.finditer(message)]
    undone = {m[1][:7] if m[1] else m[2] for m in reverts}
    later = [message for _, message in commits if _TAKEN_BACK.search(message)]
    figures: list[StatedFigure] = []
    for commit, message in commits:
        gone = not undone.isdisjoint((commit[:7], message.partition("\n")[0]))
        against = " ".join(m for m in later if m is not message)
        for at, line in enumerate(message.splitlines(), 1):
            for figure in _figures(f"commit {commit[:7]}", at, line):
                taken = rf"(?<![\d.]){re.escape(figure.value)}(?![\d.])"
                back = gone or re.search(taken, against)
                figures.append(replace(figure, status="retracted") if back else figure)
    figures += [figure for change in changes for figure in _of_file(change)]
    listed = {(f.value, f.unit, f.text): f for f in reversed(figures)}
    return tuple(reversed(listed.values()))[:_MOST]


def _figure(value: str, unit: str, path: str, at: int, line: str) -> StatedFigure:
    retracted, estimate = _TAKEN_BACK.search(line), _ESTIMATE.search(line)
    status = "retracted" if retracted else "estimate" if estimate else "reported"
    return StatedFigure(value, unit, path, at, one_line(line)[:300], status)


def _of_file(change: FileDiff) -> Iterator[StatedFigure]:
    if change.role not in ("docs", "log"):
        return
    cut = {"tsv": "\t", "csv": ","}.get(change.path.rpartition(".")[2], "|")
    for group in change.groups:
        lines = [(at, line) for at, line in enumerate(group.added, group.line) if line.strip()]
        rows = [row for row in lines if cut != "|" or row[1].startswith("|")]
        yield from _of_table(change.path, rows, cut)
        for at, line in lines:
            if cut == "|" and not line.startswith("|"):
                yield from _figures(change.path, at, line)


def _of_table(path: str, rows: Sequence[tuple[int, str]], cut: str) -> Iterator[StatedFigure]:
    """Figures of a table's rows with their column's name."""
    header = rows[0][1].split(cut) if rows else []
    for at, line in rows[1:][:_MOST_ROWS]:
        for name, cell in zip(header, line.split(cut), strict=False):
            if name.strip() and (figure := number_of(cell)) and figure.value:
                value = "-" * (figure.value < 0) + _digits(cell)
                yield _figure(value, name.strip(), path, at, line)


def _figures(path: str, at: int, line: str) -> Iterator[StatedFigure]:
    """Numbers with a unit, that became another, or behind a label that names a measure."""
    stated = [
        ("-" * (n.value < 0) + digits, n.unit)
        for n in numbers_in(line)
        if n.unit and (digits := _digits(line[n.start : n.end]))
    ]
    stated += [(d, c.unit or c.name[-40:]) for c in changes_in(line) for d in c.digits if d]
    stated += [
        (label[2].lstrip("+"), label[1].split()[-1])
        for label in _LABELLED.finditer(line)
        if MEASURES.search(label[1])
    ]
    for value, unit in {value.lstrip("-"): (value, unit) for value, unit in stated[::-1]}.values():
        yield _figure(value, unit, path, at, line)


def _digits(text: str) -> str:
    match = re.search(r"\d[\d,]*(?:\.\d+)?", text)
    return match[0].replace(",", "") if match else ""
