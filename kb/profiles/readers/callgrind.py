"""callgrind.out (valgrind, and what else writes the format) to costs: what a function itself cost, its calls left out.

Format: "Callgrind Format Specification" of valgrind's manual; names are compressed as `(7) name`, then `(7)`.
"""

import re
from collections import Counter
from typing import TextIO

from kb.profiles.buckets import file_label
from kb.profiles.registry import Format
from kb.profiles.table import Cost, Reading

_NAME = re.compile(
    r"(?P<key>ob|fl|fi|fe|fn|cob|cfi|cfl|cfn)=\s*(?:\((?P<id>\d{1,9})\))?\s*(?P<name>.*)"
)
# Names of one table share their numbers.
_TABLES = {"fn": "fn", "cfn": "fn", "ob": "ob", "cob": "ob"}
_COSTS = re.compile(r"(?:0x[0-9a-f]+|[+-]?\d+|\*)\s")


def callgrind(stream: TextIO, label: str) -> Reading:
    """Costs by the first event counted (`Ir`: instructions)."""
    names: dict[tuple[str, str], str] = {}
    now: dict[str, str] = {}
    files: dict[str, str] = {}
    own, calls = Counter(), Counter()
    event, positions, is_call = "events", 1, False
    for line in stream:
        words = line.split()
        if match := _NAME.match(line.strip()):
            place = _TABLES.get(match["key"], "fl"), match["id"]
            if match["id"] and match["name"]:
                names[place] = match["name"]
            now[match["key"]] = match["name"] or names.get(place, "")
            if match["key"] == "fn":
                files.setdefault(now["fn"], now.get("fl", ""))
        elif line.startswith("events:"):
            event = words[1] if len(words) > 1 else event
        elif line.startswith("positions:"):
            positions = max(1, len(words) - 1)
        elif line.startswith("calls="):
            calls[now.get("cfn", "")] += _count([words[0][6:]])
            is_call = True
        elif _COSTS.match(line):
            # The line below a call is what the callee cost, with all that it called.
            own[now.get("fn", "")] += 0 if is_call else _count(words[positions:])
            is_call = False
    costs = []
    for name, cost in own.items():
        file = files.get(name, "")
        label_of_file = file_label(file) if file != "???" else ""
        about = name or "(unknown)", cost, cost, calls[name], label_of_file
        costs += [Cost(*about, is_place=True)] if cost else []
    return Reading("callgrind", "host", event, tuple(costs))


def _count(cells: list[str]) -> int:
    return int(cells[0]) if cells and cells[0].isdecimal() else 0


def _begins(line: str) -> bool:
    return line.startswith(("# callgrind format", "creator: callgrind", "fn=(", "events: "))


_WAY_OUT = "write it with `valgrind --tool=callgrind PROGRAM`"
FORMATS = (
    Format("callgrind", "callgrind.out of valgrind", callgrind, way_out=_WAY_OUT, line=_begins),
)
