"""SkyPilot job logs: blocks of EXPERIMENT, METRIC and EXPERIMENT_STATUS lines among any output. The job's exit code says nothing.

METRIC lines appear in the benchmark's own output and again in the report; the last one of a block counts.
"""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from kb.formats.layout import Record, RecordTable
from kb.formats.reading import Ask, LogLine, Remark, text_lines
from kb.formats.registry import Event, LogFormat
from kb.formats.table import events_of

_NOISE = re.compile(r"\x1b\[[0-9;]*m|^\([^()]*pid=\d+[^()]*\)")
_METRIC = re.compile(r"METRIC\s+([^\s=]+)=(\S+)\s*$")
_FIELD = re.compile(r"(EXPERIMENT|DESC|CHECKS_STATUS|EXPERIMENT_(?:ID|STATUS|ERROR|DESC)):\s*(.*)$")
_ROLES = {
    **{"EXPERIMENT_ID": "id", "EXPERIMENT": "label", "EXPERIMENT_STATUS": "status"},
    **{"DESC": "text", "EXPERIMENT_DESC": "text", "EXPERIMENT_ERROR": "reason"},
    "CHECKS_STATUS": "check",
}


def _plain(text: str) -> str:
    return _NOISE.sub("", text).strip()


def recognise(path: Path, head: Sequence[str]) -> bool:
    """Whether a line belongs to the report of a job."""
    return any((mark := _FIELD.match(_plain(h))) and mark[1].startswith("EXPERIMENT") for h in head)


def read(path: Path, ask: Ask) -> Iterator[Event]:
    """One segment, and one run per finished or broken-off experiment."""
    records = _records(text_lines(path))
    table = RecordTable(records, roles=_ROLES, others="metric", search=True)
    yield from events_of([table], ask, file=path.name, kind="skypilot")


def _records(lines: Iterator[LogLine]) -> Iterator[Record | Remark]:
    """Experiments by the lines of their reports; figures stand first, under their own names."""
    start, cells, text = 0, {}, []
    for line in lines:
        plain = _plain(line.text)
        named = _FIELD.match(plain) or _METRIC.match(plain)
        if not named:
            continue
        if named.re is _FIELD and _begins(named[1], named[2], cells):
            yield from _record(start, cells, text)
            cells, text = {}, []
        start = start if text else line.number
        text.append(plain)
        cells[named[1]] = named[2].strip()
    if cells.keys() & _ROLES.keys():
        yield from _record(start, cells, text)


def _begins(name: str, value: str, cells: dict[str, str]) -> bool:
    """Whether a field line opens the next experiment: the one before has its status, or another id."""
    if name == "EXPERIMENT_ERROR":
        return False
    opens = name in ("EXPERIMENT", "EXPERIMENT_ID")
    if "EXPERIMENT_STATUS" in cells and name != "EXPERIMENT_STATUS":
        return opens or name in cells
    known = cells.get("EXPERIMENT") or cells.get("EXPERIMENT_ID")
    return opens and bool(known) and known != value.strip()


def _record(start: int, cells: dict[str, str], text: list[str]) -> Iterator[Record | Remark]:
    if "EXPERIMENT_STATUS" not in cells:
        yield Remark(
            "an experiment without EXPERIMENT_STATUS (broken off, or still running)", start
        )
    yield Record(LogLine(start, "\n".join(text)), cells)


FORMATS = (LogFormat("skypilot", recognise, read, order=9),)
