"""Results tables of a page: a simple loop's log.md, leaderboards, experiment summaries. Prose around them is not read.

A table of runs has statuses, or numbers its rows and states a quantity or a delta. Any other table is none.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from msgspec import structs

from kb.formats.columns import ColumnRole, key_of
from kb.formats.layout import RecordLayout, layout_of
from kb.formats.markup import pages_of
from kb.formats.outline import day_of
from kb.formats.reading import Ask, LogLine, Remark, Segment
from kb.formats.registry import Event, LogFormat
from kb.formats.table import Record, runs_of
from kb.run.quantity import bare
from kb.run.record import Outcome, Run
from kb.run.status import NOT_BEGUN, outcome_of, status_words

_TEXTS = (".md", ".markdown", ".rst", ".org")


@dataclass(frozen=True, slots=True)
class PageTable:
    """One table of a page: the heading and the text above it, its header, the day that a heading names, its rows with their lines."""

    heading: str
    prose: str
    line: int
    names: tuple[str, ...]
    day: str
    rows: list[tuple[LogLine, list[str]]] = field(default_factory=list)

    def records(self) -> list[Record]:
        """Its rows as records. The heading says a status (`Rejected`) where no column does."""
        decided = outcome_of(self.heading) in (Outcome.KEPT, Outcome.DISCARDED)
        status = self.heading if decided and len(self.heading) < 40 else ""
        return [
            Record(line, dict(zip(self.names, cells, strict=True)), status)
            for line, cells in self.rows
            if any(cells)
        ]


def tables_of(path: Path) -> list[PageTable]:
    """Tables of a page, in order; those of what is yet to be done (`Planned`) are none of runs."""
    document, lines = pages_of(path)
    heading, prose, day = "", "", ""
    tables: list[PageTable] = []
    for block in document.of("heading", "paragraph", "table"):
        if block.kind == "heading":
            heading = block.plain.strip("# *")
            day = day_of(heading) or day
        elif block.kind == "paragraph":
            prose = prose if len(prose) > 20_000 else f"{prose} {block.plain}"
        elif not NOT_BEGUN & {status_words(heading)}:
            header, *rows = block.rows
            names = [c.plain.strip("*` ") or f"col{i + 1}" for i, c in enumerate(header.cells)]
            names = [n if n not in names[:i] else f"{n} ({i + 1})" for i, n in enumerate(names)]
            table = PageTable(heading, prose, block.line, tuple(names), day)
            for row in rows:
                cells = [bare(document.source(c).strip().replace("\\|", "|")) for c in row.cells]
                table.rows.append((lines[row.line - 1], [*cells, *[""] * len(names)][: len(names)]))
            tables.append(table)
    return tables


def layout_of_runs(
    table: PageTable, records: Sequence[Record], *, ask: Ask, loose: bool = False
) -> RecordLayout | None:
    """Layout of a table of runs, by the records of all tables of its header; None where it is some other table.

    `loose` accepts rows without numbers where a delta stands.
    """
    layout = layout_of(
        table.names, [r.cells for r in records], ask=ask, stated=Ask(prose=table.prose)
    )
    roles, status, aim = set(layout.roles.values()), records[0].status, layout.aim
    ranked = ColumnRole.RANK in roles
    numbered = ranked or ColumnRole.ID in roles
    # Numbered and dated rows with a score are a trail, whichever way the score goes.
    evidence = (
        layout.direction
        or ColumnRole.DELTA in roles
        or numbered
        and aim
        and ColumnRole.TIME in roles
    )
    if layout.statuses and layout.tells:
        return layout if layout.decided or layout.direction or numbered else None
    described = layout.text or numbered and ColumnRole.LEVER in roles or ranked and aim
    tells = (
        numbered
        and (evidence or ranked and aim or status)
        or aim
        and (status or loose and evidence)
    )
    return layout if described and tells else None


def _in_order(records: list[Record], layout: RecordLayout) -> list[Record]:
    """Records of a table; those of a leaderboard, which stand by rank, by their number, as they were run."""
    name = next(iter(layout.names(ColumnRole.ID)), "")
    counted = layout.ranked and name and all(r.cells[name].isdecimal() for r in records)
    return sorted(records, key=lambda r: int(r.cells[name])) if counted else records


def run_tables(path: Path, ask: Ask) -> list[tuple[PageTable, RecordLayout]]:
    """Tables of runs with their layouts."""
    tables = tables_of(path)
    alike: dict[tuple[str, ...], list[Record]] = {}
    for table in tables:
        alike.setdefault(table.names, []).extend(table.records())
    for loose in (False, True):
        layouts = {
            t.names: layout_of_runs(t, alike[t.names], ask=ask, loose=loose)
            for t in reversed(tables)
        }
        board = next((x for x in layouts.values() if x and x.ranked and x.aim), None)
        if board:
            # What did not make it stands below a ranking, by the same figure and without a rank.
            beside = (n for n, x in layouts.items() if not x and board.aim in n and alike[n])
            layouts |= {
                n: layout_of(n, [r.cells for r in alike[n]], ask=ask, stated=Ask(metric=board.aim))
                for n in beside
                if alike[n][0].status
            }
        if any(layouts.values()):
            return [(t, layouts[t.names]) for t in tables if layouts[t.names]]
    return []


def read(path: Path, ask: Ask) -> Iterator[Event]:
    """Segments, runs and remarks. Tables of one header are one segment; another metric opens the next, and so does a ranking begun anew."""
    tables = run_tables(path, ask)
    if not tables:
        yield Segment(0, 1, judged=False)
        yield Remark("no table of runs (statuses, or numbered rows with a quantity); read as text")
        return
    index, before, labels = -1, None, set()
    for table, layout in tables:
        keys = (layout.primary, tuple(map(key_of, table.names)) if not layout.primary else ())
        named = [*layout.names(ColumnRole.ID), *layout.names(ColumnRole.RANK)][:1]
        here = [r.cells[n] for n in named for r in table.records()]
        anew = not layout.statuses and bool(here) and here[0] in labels
        records = _in_order(table.records(), layout)
        further = keys == before and not anew
        if not further:
            index, before, labels = index + 1, keys, set()
        labels |= set(here)
        segment = layout.segment(index, table.line, table.heading)
        if records and records[0].status:
            segment = replace(segment, judged=True)
        for event in runs_of(records, layout, segment, file=path.name, kind="logmd"):
            if isinstance(event, Run) and not event.created:
                event = structs.replace(event, created=table.day)
            if not (further and isinstance(event, Segment)):
                yield event
        if further:
            yield Remark(
                "a further table of the same metric; read as one segment with the one above",
                table.line,
            )


def recognise(path: Path, head: Sequence[str]) -> bool:
    """Whether a file is text that may have a table."""
    tabled = path.suffix.lower() in _TEXTS or any(h.lstrip().startswith("|") for h in head)
    return tabled and path.suffix.lower() not in (".tsv", ".csv")


_NAMES = "markdown markdown-table log simple-loop leaderboard heygen auto-model-optim"
FORMATS = (LogFormat("logmd", recognise, read, order=31, aliases=tuple(_NAMES.split())),)
