"""Tables inside what NVIDIA's and XLA's tools print: CSV anywhere in a log, fixed-width text, and the cells' numbers and units.

Knows how tables look, not what their columns mean. Refuses nothing: lines outside a table are passed over.
"""

import csv
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from sys import intern

from kb.text import unit_of

DASHES = re.compile(r"^\s*-{2,}(?:\s+-+)*\s*$")


@dataclass(frozen=True, slots=True)
class Sheet:
    """One table: the header as printed, the rows as cells."""

    columns: list[str]
    rows: list[list[str]]

    def column(self, *names: str) -> int | None:
        """The place of the first of these columns, compared without case, unit and punctuation; None if there is none."""
        have = [plain(c) for c in self.columns]
        return next((have.index(plain(n)) for n in names if plain(n) in have), None)

    def scale(self, *names: str, default: str) -> float:
        """Milliseconds in one of the unit that the header of a column names in brackets."""
        at = self.column(*names)
        unit = re.search(r"[(\[]\s*(\S+?)\s*[)\]]\s*$", "" if at is None else self.columns[at])
        return milliseconds(unit[1] if unit else "") or milliseconds(default)

    def records(self, roles: dict[str, tuple[str, ...]]) -> Iterator[dict[str, str]]:
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


def number(cell: object) -> float | None:
    """A cell as a number, digits grouped or not; None for n/a and the like."""
    try:
        value = float(str(cell).replace(",", "").replace("%", ""))
    except ValueError:
        return None
    return value if abs(value) < 1e300 else None


def cells_at(line: str, spans: list[tuple[int, int]]) -> list[str]:
    """A line cut at the columns that marks above it drew; the last column goes on to the end."""
    ends = [*(end for _, end in spans[:-1]), None]
    return [line[start:end].strip() for (start, _), end in zip(spans, ends, strict=True)]


def heads(is_header: Callable[[list[str]], bool]) -> Callable[[str], bool]:
    """Whether a line of comma-separated cells is a header."""
    return lambda line: "," in line and is_header(next(csv.reader([line]), []))


def sheets(lines: Iterable[str], is_header: Callable[[list[str]], bool]) -> list[Sheet]:
    """All tables of a text whose header is one. A table ends at an empty line or at another header."""
    tables: list[Sheet] = []
    csv.field_size_limit(1 << 26)  # one cell may hold the whole text of an HLO operation
    rows, spans, above = None, [], ""
    for line in (line.rstrip("\r\n") for line in lines):
        if rows is None and DASHES.match(line):
            spans = [m.span() for m in re.finditer(r"-+", line)]
            cells = cells_at(above, spans)
            spans = spans if is_header(cells) else []
        else:
            cells = cells_at(line, spans) if spans else next(csv.reader([line]), [])
        if not line.strip():
            rows, spans = None, []
        elif number(cells[0]) is None and is_header(cells):
            rows = []
            tables.append(Sheet([c.strip() for c in cells], rows))
        elif rows is not None and len(cells) > 1:
            # Cells repeat (names, devices, units): each is kept once, and a table of 200 MB fits in memory.
            rows.append([*map(intern, cells)])
        above = line
    return tables
