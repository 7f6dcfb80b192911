"""callgrind.out (valgrind, and what else writes the format) to costs: what a function itself cost, its calls left out.

Format: "Callgrind Format Specification" of valgrind's manual; names are compressed as `(7) name`, then `(7)`.
"""

import re
from collections import defaultdict
from typing import TextIO

from kb import KbError
from kb.profiles.buckets import file_label
from kb.profiles.registry import Format
from kb.profiles.table import Cost, Reading

_NAME = re.compile(
    r"(?P<key>ob|fl|fi|fe|fn|cob|cfi|cfl|cfn)=\s*(?:\((?P<id>\d{1,9})\))?\s*(?P<name>.*)"
)
_TABLES = {"fn": "fn", "cfn": "fn", "ob": "ob", "cob": "ob"}
_COSTS = re.compile(r"(?:0x[0-9a-f]+|[+-]?\d+|\*)\s")


def callgrind(stream: TextIO, label: str) -> Reading:
    """Costs by the first event counted (`Ir`: instructions). Raises KbError where no function has any."""
    names: dict[tuple[str, str], str] = {}
    now: dict[str, str] = {}
    files: dict[str, str] = {}
    own: dict[str, float] = defaultdict(float)
    calls: dict[str, int] = defaultdict(int)
    event, positions, is_call = "events", 1, False
    for line in stream:
        text = line.strip()
        if match := _NAME.match(text):
            now[match["key"]] = _name(match, names)
            if match["key"] == "fn":
                files.setdefault(now["fn"], now.get("fl", ""))
        elif text.startswith("events:"):
            event = (text.split() + ["events"])[1]
        elif text.startswith("positions:"):
            positions = max(1, len(text.split()) - 1)
        elif text.startswith("calls="):
            calls[now.get("cfn", "")] += _count(text[6:].split())
            is_call = True
        elif _COSTS.match(text):
            # The line below a call is what the callee cost, with all that it called.
            own[now.get("fn", "")] += 0.0 if is_call else _count(text.split()[positions:])
            is_call = False
    costs = [
        Cost(
            n or "(unknown)",
            c,
            c,
            calls[n],
            file_label(f) if (f := files.get(n, "")) != "???" else "",
        )
        for n, c in own.items()
        if c
    ]
    if not costs:
        raise KbError(
            f"{label}: no function with any cost in it; write it with `valgrind --tool=callgrind PROGRAM`"
        )
    return Reading("callgrind", "host", event, tuple(costs))


def _name(match: re.Match[str], names: dict[tuple[str, str], str]) -> str:
    """The name that a line gives; where it is given by number, it is kept for the next time or was before."""
    if not match["id"]:
        return match["name"]
    place = _TABLES.get(match["key"], "fl"), match["id"]
    if match["name"]:
        names[place] = match["name"]
    return names.get(place, "")


def _count(cells: list[str]) -> int:
    return int(cells[0]) if cells and cells[0].isdecimal() else 0


def _begins(line: str) -> bool:
    return line.startswith(("# callgrind format", "creator: callgrind", "fn=(", "events: "))


FORMATS = (Format("callgrind", "callgrind.out of valgrind", callgrind, line=_begins),)
