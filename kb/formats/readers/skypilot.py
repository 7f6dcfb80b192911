"""SkyPilot job logs: blocks of EXPERIMENT, METRIC and EXPERIMENT_STATUS lines among any output. The job's exit code says nothing.

METRIC lines appear in the benchmark's own output and again in the report; the last one of a block counts.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from kb.formats.columns import aim_of_figures
from kb.formats.readers.jsonl import JsonRow, run_of_object
from kb.formats.reading import Ask, LogLine, Remark, Segment, text_lines
from kb.formats.registry import Event, LogFormat
from kb.run.record import Check, Outcome, Run
from kb.run.status import outcome_of

_NOISE = re.compile(r"\x1b\[[0-9;]*m|^\([^()]*pid=\d+[^()]*\)")
_METRIC = re.compile(r"METRIC\s+([^\s=]+)=(\S+)\s*$")
_FIELD = re.compile(r"(EXPERIMENT|DESC|CHECKS_STATUS|EXPERIMENT_(?:ID|STATUS|ERROR|DESC)):\s*(.*)$")
_FORBIDDEN = frozenset(("__proto__", "constructor", "prototype"))
_KEYS = {
    "label": ("EXPERIMENT_ID", "EXPERIMENT"),
    "status": ("EXPERIMENT_STATUS",),
    "description": ("DESC", "EXPERIMENT_DESC"),
    "reason": ("EXPERIMENT_ERROR",),
    "figures": ("figures",),
    "ignored": ("EXPERIMENT", "DESC", "EXPERIMENT_DESC", "CHECKS_STATUS"),
}


@dataclass(slots=True)
class JobBlock:
    """What the lines of one experiment have said so far."""

    line: int
    fields: dict[str, str] = field(default_factory=dict)
    metrics: dict[str, str] = field(default_factory=dict)
    text: list[str] = field(default_factory=list)


def _plain(text: str) -> str:
    return _NOISE.sub("", text).strip()


def recognise(path: Path, head: Sequence[str]) -> bool:
    """Whether a line belongs to the report of a job."""
    return any((mark := _FIELD.match(_plain(h))) and mark[1].startswith("EXPERIMENT") for h in head)


def read(path: Path, ask: Ask) -> Iterator[Event]:
    """One segment, and one run per finished or broken-off experiment."""
    blocks = list(_blocks(text_lines(path)))
    metric = ask.metric or aim_of_figures([b.metrics for b in blocks])
    segment = Segment(0, 1, "", metric, "", *ask.way(metric), False, True)
    yield segment
    for block in blocks:
        if "EXPERIMENT_STATUS" not in block.fields:
            yield Remark(
                "an experiment without EXPERIMENT_STATUS (broken off, or still running)", block.line
            )
        yield _run(block, segment, path.name)


def _blocks(lines: Iterator[LogLine]) -> Iterator[JobBlock]:
    block: JobBlock | None = None
    for line in lines:
        text = _plain(line.text)
        named, metric = _FIELD.match(text), _METRIC.match(text)
        if not named and not metric:
            continue
        if named and block and _begins(named[1], named[2], block):
            yield block
            block = None
        block = block or JobBlock(line.number)
        block.text.append(text)
        if metric and metric[1] not in _FORBIDDEN:
            block.metrics[metric[1]] = metric[2]
        elif named:
            block.fields[named[1]] = named[2].strip()
    if block and block.fields:
        yield block


def _begins(name: str, value: str, block: JobBlock) -> bool:
    """Whether a field line opens the next experiment: the one before has its status, or another id."""
    if name == "EXPERIMENT_ERROR":
        return False
    opens = name in ("EXPERIMENT", "EXPERIMENT_ID")
    if "EXPERIMENT_STATUS" in block.fields and name != "EXPERIMENT_STATUS":
        return opens or name in block.fields
    known = block.fields.get("EXPERIMENT") or block.fields.get("EXPERIMENT_ID")
    return opens and bool(known) and known != value.strip()


def _run(block: JobBlock, segment: Segment, file: str) -> Run:
    checks, status = (
        block.fields.get("CHECKS_STATUS", ""),
        block.fields.get("EXPERIMENT_STATUS", ""),
    )
    outcome = outcome_of(status)
    if checks.startswith(("failed", "timeout")) and outcome is Outcome.OTHER and status:
        outcome = Outcome.CHECKS_FAILED
    state = next((word for word in ("passed", "skipped") if checks.startswith(word)), checks)
    row = JsonRow(
        LogLine(block.line, "\n".join(block.text)), {**block.fields, "figures": block.metrics}
    )
    checked = (Check("checks", state),) if checks else ()
    return run_of_object(
        row, _KEYS, segment, file=file, kind="skypilot", outcome=outcome, checks=checked
    )


FORMATS = (LogFormat("skypilot", recognise, read, order=9),)
