"""Tables inside what NVIDIA's and XLA's tools print: CSV anywhere in a log, fixed-width text, and the cells' numbers and units.

Knows how tables look, not what their columns mean. Refuses nothing: lines outside a table are passed over.
"""

import csv
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain

from kb.text import unit_of

TITLE = re.compile(r"^\s*\*\*\s*(?P<title>.+?)\s*(?:\((?P<report>[\w:.\-]+)\))?:?\s*$")
DASHES = re.compile(r"^\s*-{2,}(?:\s+-+)*\s*$")
# Cells repeat (names, devices, units): so many different ones are kept once, and a table of 200 MB fits in memory.
CELLS_SHARED = 100_000


@dataclass(frozen=True, slots=True)
class Sheet:
    """One table: the report's name if the tool printed it, the header as printed, the rows as cells."""

    report: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def column(self, *names: str) -> int | None:
        """The place of the first of these columns, compared without case, unit and punctuation; None if there is none."""
        have = [plain(c) for c in self.columns]
        return next((have.index(plain(n)) for n in names if plain(n) in have), None)

    def has(self, *names: str) -> bool:
        """Whether there is one of these columns."""
        return self.column(*names) is not None

    def scale(self, *names: str, default: str) -> float:
        """Milliseconds in one of the unit that the header of a column names in brackets."""
        at = self.column(*names)
        match = (
            re.search(r"[(\[]\s*(\S+?)\s*[)\]]\s*$", self.columns[at]) if at is not None else None
        )
        return milliseconds(match[1] if match else "") or milliseconds(default)

    def records(self, roles: Mapping[str, tuple[str, ...]]) -> Iterator[dict[str, str]]:
        """Each row as its cells by role, the first of a role's columns that is there; empty where there is none."""
        places = {role: self.column(*names) for role, names in roles.items()}
        for row in self.rows:
            yield {
                role: row[at].strip() if at is not None and at < len(row) else ""
                for role, at in places.items()
            }


def milliseconds(unit: str) -> float:
    """Milliseconds in one of a unit of time, `nsecond` and `ns` alike; 0 for any other."""
    known = unit_of(unit.lower().removesuffix("ond"))
    return known.factor * 1e3 if known and known.dimension == "time" else 0.0


def plain(column: str) -> str:
    """A column's name without unit, case and punctuation: `Total self-time (us)` and `total_self_time` are the same."""
    bare = re.sub(r"[(\[].*?[)\]]\s*$", "", column).lower()
    return "".join(c for c in bare if c.isascii() and c.isalnum() or c == "%") or column.lower()


def number(cell: str) -> float | None:
    """A cell as a number, digits grouped or not; None for n/a and the like."""
    try:
        value = float(cell.replace(",", "").replace("%", "").strip())
    except ValueError:
        return None
    return value if abs(value) < 1e300 else None


def cells_at(line: str, spans: list[tuple[int, int]]) -> list[str]:
    """A line cut at the columns that marks above it drew; the last column goes on to the end."""
    ends = [*(end for _, end in spans[:-1]), None]
    return [line[start:end].strip() for (start, _), end in zip(spans, ends, strict=True)]


def _fixed_width(lines: Iterator[str], header: str, dashes: str) -> Iterator[list[str]]:
    spans = [m.span() for m in re.finditer(r"-+", dashes)]
    for line in chain([header], lines):
        if not line.strip():
            return
        yield cells_at(line, spans)


def sheets(lines: Iterable[str], *, is_header: Callable[[list[str]], bool]) -> list[Sheet]:
    """All tables of a text whose header is one by `is_header`. A table ends at an empty line, at a title or at another header."""
    tables: list[Sheet] = []
    known: dict[str, str] = {}
    report, rows, held = "", [], ""
    csv.field_size_limit(1 << 26)  # one cell may hold the whole text of an HLO operation
    flow = iter(line.rstrip("\r\n") for line in lines)

    def end() -> None:
        nonlocal rows
        if rows:
            tables.append(
                Sheet(report, tuple(c.strip() for c in rows[0]), tuple(tuple(r) for r in rows[1:]))
            )
        rows = []

    for line in flow:
        title = TITLE.match(line) if "**" in line else None
        if title or not line.strip():
            end()
            report = (title["report"] or title["title"]) if title else report
        elif held and not rows and DASHES.match(line):
            rows = list(_fixed_width(flow, held, line))
            if not is_header(rows[0]):
                rows = []
            end()
        else:
            cells = next(csv.reader([line]), [])
            if (not cells or number(cells[0]) is None) and is_header(cells):
                end()
                rows = [cells]
            elif rows and len(cells) > 1:
                rows.append(
                    [
                        known.setdefault(c, c) if len(known) < CELLS_SHARED else known.get(c, c)
                        for c in cells
                    ]
                )
        held = line
    end()
    return tables
