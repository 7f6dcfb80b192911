"""SkyPilot job logs: blocks of EXPERIMENT, METRIC and EXPERIMENT_STATUS lines among any output. The job's exit code says nothing.

METRIC lines appear in the benchmark's own output and again in the report; the last one of a block counts.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from kb.formats.reading import Ask, Line, Remark, Segment, lines_of, measured
from kb.run.direction import direction_of
from kb.run.quantity import to_float
from kb.run.record import Check, Metric, Origin, Outcome, Run, outcome_of
from kb.store import digest_of

_PREFIX = re.compile(r"^(?:\x1b\[[0-9;]*m|\([^()]*pid=\d+[^()]*\)\s?|\x1b\[[0-9;]*m)*")
_ANSI = re.compile(r"\x1b\[[0-9;]*m")
_METRIC = re.compile(r"^METRIC\s+([^\s=]+)=(\S+)\s*$")
_FIELD = re.compile(r"^(EXPERIMENT|DESC|CHECKS_STATUS|EXPERIMENT_ID|EXPERIMENT_STATUS|EXPERIMENT_ERROR|EXPERIMENT_DESC):\s*(.*)$")
_FORBIDDEN = frozenset(("__proto__", "constructor", "prototype"))


@dataclass(slots=True)
class Block:
    """What the lines of one experiment have said so far."""

    line: int
    fields: dict[str, str] = field(default_factory=dict)
    metrics: dict[str, str] = field(default_factory=dict)
    text: list[str] = field(default_factory=list)


def is_mark(text: str) -> bool:
    """Whether a line belongs to the report of a job."""
    match = _FIELD.match(_plain(text))
    return bool(match) and match[1].startswith("EXPERIMENT")


def _plain(text: str) -> str:
    return _ANSI.sub("", _PREFIX.sub("", text)).strip()


def read(path: Path, ask: Ask) -> Iterator[Segment | Run | Remark]:
    """One segment, and one run per finished or broken-off experiment."""
    blocks: list[Block | Remark] = list(_blocks(lines_of(path)))
    names = [n for b in blocks if isinstance(b, Block) for n in b.metrics if not n.endswith(("_stddev", "_std"))]
    metric = ask.metric or next((n for n in names if direction_of(n)), names[0] if names else "")
    direction, source = (ask.direction, "asked") if ask.direction else (direction_of(metric) if metric else None, "name")
    yield Segment(0, 1, "", metric, "", direction, source if direction else "", False, True)
    for block in blocks:
        if isinstance(block, Remark):
            yield block
            continue
        status = block.fields.get("EXPERIMENT_STATUS", "")
        if not status:
            yield Remark("an experiment without EXPERIMENT_STATUS (broken off, or still running)", block.line)
        yield _run(block, metric, path, status)


def _blocks(lines: Iterator[Line | Remark]) -> Iterator[Block | Remark]:
    block: Block | None = None
    for line in lines:
        if isinstance(line, Remark):
            yield line
            continue
        text = _plain(line.text)
        said, metric = _FIELD.match(text), _METRIC.match(text)
        if not said and not metric:
            continue
        if said and block and _begins(said[1], said[2], block):
            yield block
            block = None
        block = block or Block(line.number)
        block.text.append(text)
        if metric and metric[1] not in _FORBIDDEN:
            block.metrics[metric[1]] = metric[2]
        elif said:
            block.fields[said[1]] = said[2].strip()
    if block and block.fields:
        yield block


def _begins(name: str, value: str, block: Block) -> bool:
    """Whether a field line opens the next experiment: the one before has its status, or another id."""
    if name == "EXPERIMENT_ERROR":
        return False
    if "EXPERIMENT_STATUS" in block.fields and name != "EXPERIMENT_STATUS":
        return name in ("EXPERIMENT", "EXPERIMENT_ID") or name in block.fields
    known = block.fields.get("EXPERIMENT") or block.fields.get("EXPERIMENT_ID")
    return name in ("EXPERIMENT", "EXPERIMENT_ID") and bool(known) and known != value.strip()


def _run(block: Block, metric: str, path: Path, status: str) -> Run:
    outcome = outcome_of(status) if status else Outcome.OTHER
    checks = block.fields.get("CHECKS_STATUS", "")
    if checks.startswith(("failed", "timeout")) and outcome is Outcome.OTHER:
        outcome = Outcome.CHECKS_FAILED
    spreads = {
        n.removesuffix("_stddev").removesuffix("_std"): to_float(v)
        for n, v in block.metrics.items()
        if n.endswith(("_stddev", "_std"))
    }
    metrics: list[Metric] = []
    for name, raw in block.metrics.items():
        if not name.endswith(("_stddev", "_std")):
            metrics.append(
                measured(
                    name,
                    to_float(raw),
                    raw=raw,
                    outcome=outcome,
                    direction=direction_of(name),
                    stddev=spreads.get(name),
                    primary=name == metric,
                )
            )
    described = block.fields.get("DESC") or block.fields.get("EXPERIMENT_DESC", "")
    return Run(
        Origin(path.name, block.line, digest_of("\n".join(block.text))),
        "skypilot",
        label=block.fields.get("EXPERIMENT_ID") or block.fields.get("EXPERIMENT", ""),
        status=status,
        outcome=outcome,
        description=described,
        primary=metric,
        metrics=tuple(metrics),
        reason=block.fields.get("EXPERIMENT_ERROR", ""),
        checks=(
            Check("checks", "passed" if checks.startswith("passed") else "skipped" if checks.startswith("skipped") else checks),
        )
        if checks
        else (),
    )
