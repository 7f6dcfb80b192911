"""Results tables in markdown: a simple loop's log.md, leaderboards, experiment summaries. Prose around them is not read.

A table of runs has statuses, or numbers its rows and states a quantity or a delta. Any other table is none.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from kb.formats.columns import Role, key_of
from kb.formats.reading import Ask, Line, Remark, Segment, text_lines
from kb.formats.registry import Event, Format
from kb.formats.table import Layout, Record, layout_of, runs_of
from kb.run.record import Outcome, outcome_of


@dataclass(frozen=True, slots=True)
class RunTable:
    """One table of a page: the heading above it, its header, its rows with their lines."""

    heading: str
    line: int
    names: list[str]
    rows: list[tuple[Line, list[str]]] = field(default_factory=list)

    def records(self) -> list[Record]:
        """Its rows as records; cells are cut or filled as markdown does. The heading says a status (`Rejected`) where no column does."""
        decided = outcome_of(self.heading) in (Outcome.KEPT, Outcome.DISCARDED)
        status = self.heading if decided and len(self.heading) < 40 else ""
        width = len(self.names)
        filled = [(line, [*cells, *[""] * width][:width]) for line, cells in self.rows if any(cells)]
        return [Record(line, dict(zip(self.names, cells, strict=True)), status) for line, cells in filled]


def cells_of(text: str) -> list[str]:
    """Cells of a table line; `\\|` is no border."""
    parts = re.split(r"(?<!\\)\|", text.strip().removeprefix("|"), maxsplit=1000)
    cells = [c.replace("\\|", "|").strip() for c in parts]
    return cells[:-1] if len(cells) > 1 and not cells[-1] and text.rstrip().endswith("|") else cells


def tables_of(path: Path) -> list[RunTable]:
    """Tables outside of fences, in order. Rows may lack their outer bars."""
    heading, fence, above = "", "", None
    tables: list[RunTable] = []
    open_ = False
    for line in text_lines(path):
        text = line.text.strip()
        mark = text[:3] if text.startswith(("```", "~~~")) else ""
        if mark and (not fence or mark == fence):
            fence = "" if fence else mark
        if fence or mark:
            above, open_ = None, False
            continue
        if open_ and "|" in text:
            tables[-1].rows.append((line, cells_of(text)))
            continue
        open_ = False
        if above is not None and "|" in above.text and text[:1] in ("|", ":", "-"):
            names, rules = cells_of(above.text), cells_of(text)
            if len(rules) == len(names) and all(len(r) > 0 and not r.strip(":-") and "-" in r for r in rules):
                names = [n.strip("*` ") or f"col{i + 1}" for i, n in enumerate(names)]
                names = [n if n not in names[:i] else f"{n} ({i + 1})" for i, n in enumerate(names)]
                tables.append(RunTable(heading, above.number, names))
                open_ = True
        if text.startswith("#"):
            heading = text.strip("# *")
        above = line
    return tables


def layout_of_runs(table: RunTable, *, ask: Ask, loose: bool = False) -> Layout | None:
    """Layout of a table of runs; None where it is some other table. `loose` accepts rows without numbers where a delta stands."""
    records = table.records()
    if not records or len(table.names) < 2:
        return None
    layout = layout_of(table.names, [r.cells for r in records], ask=ask)
    roles = set(layout.roles.values())
    numbered, delta = bool({Role.ID, Role.RANK} & roles), Role.DELTA in roles
    if layout.statuses and layout.tells:
        marks = not any(c.isalpha() for r in records for c in r.cells[layout.statuses[0]])
        return layout if layout.aim or delta or numbered or layout.text and not marks else None
    tuned = numbered and Role.LEVER in roles
    if not layout.text and not tuned and not (Role.RANK in roles and layout.aim):
        return None
    told = layout.direction or delta or layout.aim and Role.RANK in roles or records[0].status
    if numbered and told or records[0].status and layout.aim:
        return layout
    return layout if loose and layout.aim and delta else None


def _labels(table: RunTable, layout: Layout) -> list[str]:
    """What the rows of a table are numbered or called by."""
    named = [*layout.names(Role.ID), *layout.names(Role.RANK)][:1]
    return [r.cells[n] for n in named for r in table.records()]


def _in_order(table: RunTable, layout: Layout) -> list[Record]:
    """Records of a table; those of a leaderboard, which stand by rank, by the number of their experiment, as they were run."""
    records = table.records()
    ids = [r.cells[n] for n in layout.names(Role.ID)[:1] for r in records] if layout.ranked else []
    if not ids or not all(i.isascii() and i.isdigit() and len(i) < 16 for i in ids):
        return records
    return sorted(records, key=lambda r: int(r.cells[layout.names(Role.ID)[0]]))


def found_in(path: Path, ask: Ask) -> list[tuple[RunTable, Layout]]:
    """Tables of runs with their layouts."""
    tables = tables_of(path)
    found = [(t, layout) for t in tables if (layout := layout_of_runs(t, ask=ask))]
    return found or [(t, layout) for t in tables if (layout := layout_of_runs(t, ask=ask, loose=True))]


def read(path: Path, ask: Ask) -> Iterator[Event]:
    """Segments, runs and remarks. Tables of one header are one segment; another metric opens the next, and so does a ranking begun anew."""
    found = found_in(path, ask)
    if not found:
        yield Segment(0, 1, judged=False)
        yield Remark("no table of runs (statuses, or numbered rows with a quantity); read as text")
        return
    index, before, labels = -1, None, set()
    known: set[tuple[str, ...]] = set()
    for table, layout in found:
        keys = (layout.primary, tuple(map(key_of, table.names)) if not layout.primary else ())
        here = _labels(table, layout)
        anew = not layout.statuses and bool(here) and here[0] in labels
        records = [r for r in _in_order(table, layout) if tuple(r.cells.values()) not in known]
        known |= {tuple(r.cells.values()) for r in records}
        further = keys == before and not anew
        if not further:
            index, before, labels = index + 1, keys, set()
        labels |= set(here)
        segment = layout.segment(index, table.line, table.heading)
        if records and records[0].status:
            segment = replace(segment, judged=True)
        for event in runs_of(records, layout, segment, file=path.name, kind="logmd"):
            if not (further and isinstance(event, Segment)):
                yield event
        if further:
            yield Remark("a further table of the same metric; read as one segment with the one above", table.line)


def recognise(path: Path, head: Sequence[str]) -> bool:
    """Whether a file is markdown with a table that tells no ranks."""
    tabled = any(h.lstrip().startswith("|") for h in head) or path.suffix.lower() in (".md", ".markdown")
    return tabled and path.suffix.lower() not in (".tsv", ".csv") and not ranks(path)


def ranks(path: Path) -> bool:
    """Whether the tables of runs of a page are leaderboards."""
    if path.suffix.lower() not in (".md", ".markdown", ".txt", ""):
        return False
    return any(layout.ranked for _, layout in found_in(path, Ask()))


FORMATS = (
    Format("leaderboard", lambda path, head: ranks(path), read, order=30, aliases=("heygen", "auto-model-optim")),
    Format(
        "logmd",
        recognise,
        read,
        order=31,
        aliases=("markdown", "markdown-table", "log", "simple-loop"),
    ),
)
