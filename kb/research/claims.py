"""Figures that a change states: value, unit, place, and whether its author still holds it. Refuses
to judge whether they are true.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from kb.research.diffs import FileDiff
from kb.text import number_of, numbers_in, one_line

_LABELLED = re.compile(
    r"\b([A-Za-z][\w ]{0,30}?)[\"'`*]*\s*(?:=|:|of|to|→|->|~|\(|)\s*[`*~]*([-+]?\d+(?:\.\d+)?)(?![\w.]*\d)"
)
MEASURES = re.compile(
    r"(?i)\b\w*(bpb|loss|ppl|perplexity|acc|accuracy|vram|memory|mem|tok|speed|latency|throughput|time|seconds|steps|mfu|flops|params|experiments?|score)\w*\b"
)
_TAKEN_BACK = re.compile(
    r"(?i)\b(retract\w*|withdrawn?|was wrong|were wrong|incorrect|not reproducib\w+|does not reproduce|invalid(?:ated)?|bogus|measurement error|no longer holds?)\b"
)
_REVERT = re.compile(r"This reverts commit ([0-9a-f]{7,40})|^Revert \"(.+)\"", re.MULTILINE)
_ESTIMATE = re.compile(
    r"(?i)\b(should|expect(?:ed|s)?|estimat\w*|would|could|may|might|projected|theoretical)\b"
)
_DECIMAL = re.compile(r"(?<![\w.:-])[-+]?\d+\.\d{2,}(?![\w.])")
_MOST = 200


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


def claims_of(
    commits: Sequence[tuple[str, str]], changes: Iterable[FileDiff]
) -> tuple[StatedFigure, ...]:
    """Claims of commits (id, message; the newest first) and of the documents and logs that a fork
    adds.
    """
    later = [message for _, message in commits if _TAKEN_BACK.search(message)]
    undone = {m[1][:7] for _, message in commits for m in _REVERT.finditer(message) if m[1]}
    undone_subjects = {m[2] for _, message in commits for m in _REVERT.finditer(message) if m[2]}
    figures: list[StatedFigure] = []
    for commit, message in commits:
        back = commit[:7] in undone or message.partition("\n")[0] in undone_subjects
        others = [m for m in later if m is not message]
        for number, line in enumerate(message.splitlines(), 1):
            for value, unit in _figures(line):
                taken = back or any(
                    re.search(rf"(?<![\d.]){re.escape(value)}(?![\d.])", m) for m in others
                )
                status = "retracted" if taken else _status(line)
                figures.append(
                    StatedFigure(
                        value, unit, f"commit {commit[:7]}", number, one_line(line)[:300], status
                    )
                )
    figures += [figure for change in changes for figure in _of_file(change)]
    listed = {(f.value, f.unit, f.text): f for f in reversed(figures)}
    return tuple(reversed(listed.values()))[:_MOST]


def _status(line: str) -> str:
    return (
        "retracted"
        if _TAKEN_BACK.search(line)
        else "estimate"
        if _ESTIMATE.search(line)
        else "reported"
    )


def _of_file(change: FileDiff) -> Iterator[StatedFigure]:
    if change.role == "log" and change.path.endswith((".tsv", ".csv")):
        yield from _of_table(change)
    elif change.role in ("docs", "log"):
        for group in change.groups:
            for at, line in enumerate(group.added, group.line):
                for value, unit in _figures(line):
                    yield StatedFigure(
                        value, unit, change.path, at, one_line(line)[:300], _status(line)
                    )


def _of_table(change: FileDiff) -> Iterator[StatedFigure]:
    """The baseline, every row that was kept, and the last: the rows that a table of results is
    shown for.
    """
    rows = [
        (g.line + at, line)
        for g in change.groups
        for at, line in enumerate(g.added)
        if line.strip()
    ]
    if not rows:
        return
    cut = "\t" if change.path.endswith(".tsv") else ","
    header = rows[0][1].split(cut)
    columns = [
        i
        for i, name in enumerate(header)
        if MEASURES.search(name) or "_" in name and number_of(name) is None
    ]
    kept = [
        row for row in rows[1:] if re.search(r"(?i)\b(keep|kept|baseline|best|accepted)\b", row[1])
    ] or rows[1:]
    for number, line in [*kept[:15], *kept[15:][-15:]]:
        cells = line.split(cut)
        for column in columns:
            if column < len(cells) and (figure := number_of(cells[column])) and figure.value:
                yield StatedFigure(
                    cells[column].strip(),
                    header[column].strip(),
                    change.path,
                    number,
                    one_line(line)[:300],
                )


def _figures(line: str) -> Iterator[tuple[str, str]]:
    """Numbers with a unit, or behind a label that names a measure."""
    met: set[str] = set()
    for number in numbers_in(line):
        digits = re.search(r"\d[\d,]*(?:\.\d+)?", line[number.start : number.end])
        if digits and number.unit:
            value = ("-" if number.value < 0 else "") + digits[0].replace(",", "")
            met.add(value.lstrip("-"))
            yield value, number.unit
    for label in _LABELLED.finditer(line):
        measure = MEASURES.findall(label[1])
        if measure and label[2].lstrip("+-") not in met:
            met.add(label[2].lstrip("+-"))
            yield label[2].lstrip("+"), label[1].strip().split()[-1]
    if measures := MEASURES.search(line):
        for match in _DECIMAL.finditer(line):
            if match[0].lstrip("+-") not in met:
                met.add(match[0].lstrip("+-"))
                yield match[0].lstrip("+"), measures[0]
    for match in re.finditer(
        r"(\d+(?:\.\d+)?)[ -](steps|experiments|runs|params|layers|GPUs?)\b", line
    ):
        if match[1] not in met:
            yield match[1], match[2]
