"""Results tables of a page: a simple loop's log.md, leaderboards, experiment summaries. Prose around them is not read.

A table of runs has statuses, or numbers its rows and states a quantity or a delta. Any other table is none.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import zip_longest
from pathlib import Path

from kb.formats.columns import ColumnRole
from kb.formats.layout import Record, RecordLayout, RecordTable, layout_of
from kb.formats.markup import pages_of
from kb.formats.outline import day_of
from kb.formats.reading import Ask
from kb.formats.registry import Event, LogFormat
from kb.formats.table import events_of
from kb.run.quantity import bare
from kb.run.record import Outcome
from kb.run.status import NOT_BEGUN, outcome_of, status_words

_TEXTS = (".md", ".markdown", ".rst", ".org")


def tables_of(path: Path) -> list[RecordTable]:
    """Tables of a page, in order; those of what is yet to be done (`Planned`) are none of runs. A heading may say a status (`Rejected`) and a day."""
    document, lines = pages_of(path)
    heading, prose, day, status = "", "", "", ""
    tables: list[RecordTable] = []
    for block in document.of("heading", "paragraph", "table"):
        if block.kind == "heading":
            heading = block.plain.strip("# *")
            day = day_of(heading) or day
            decided = outcome_of(heading) in (Outcome.KEPT, Outcome.DISCARDED)
            status = heading if decided and len(heading) < 40 else ""
        elif block.kind == "paragraph":
            prose = prose if len(prose) > 20_000 else f"{prose} {block.plain}"
        elif not NOT_BEGUN & {status_words(heading)}:
            header, *rows = block.rows
            names = [c.plain.strip("*` ") or f"col{i + 1}" for i, c in enumerate(header.cells)]
            names = [n if n not in names[:i] else f"{n} ({i + 1})" for i, n in enumerate(names)]
            records = []
            for row in rows:
                cells = [bare(document.source(c).strip().replace("\\|", "|")) for c in row.cells]
                if any(cells):
                    named = dict(zip_longest(names, cells[: len(names)], fillvalue=""))
                    records.append(Record(lines[row.line - 1], named, status, day))
            if records:
                stated = Ask(prose=prose)
                tables.append(RecordTable(names, records, block.line, heading, stated))
    return tables


def tells_runs(layout: RecordLayout, status: str, *, loose: bool) -> bool:
    """Whether the layout of all tables of one header is that of runs; `loose` accepts rows without numbers where a delta stands."""
    roles, aim = set(layout.roles.values()), layout.aim
    ranked = ColumnRole.RANK in roles
    numbered = ranked or ColumnRole.ID in roles
    if layout.statuses and layout.tells:
        return bool(layout.decided or layout.direction or numbered)
    # Numbered and dated rows with a score are a trail, whichever way the score goes.
    dated = numbered and aim and ColumnRole.TIME in roles
    evidence = layout.direction or ColumnRole.DELTA in roles or dated
    described = layout.text or numbered and ColumnRole.LEVER in roles or ranked and aim
    by_number = numbered and (evidence or ranked and aim or status)
    return bool(described and (by_number or aim and (status or loose and evidence)))


def tables_of_runs(
    tables: Sequence[RecordTable], ask: Ask
) -> list[tuple[RecordTable, RecordLayout]]:
    """Tables of runs with their layouts, which those of one header share."""
    alike: dict[tuple[str, ...], list[Record]] = {}
    for table in tables:
        alike.setdefault(tuple(table.names), []).extend(table.records)
    first = {tuple(t.names): t for t in reversed(tables)}
    layouts = {n: layout_of(t, alike[n], ask=ask) for n, t in first.items()}
    for loose in (False, True):
        chosen = {
            n: x for n, x in layouts.items() if tells_runs(x, alike[n][0].status, loose=loose)
        }
        for board in [x for x in chosen.values() if x.ranked and x.aim][:1]:
            # What did not make it stands below a ranking, by the same figure and without a rank.
            stated = Ask(metric=board.aim)
            chosen |= {
                n: layout_of(replace(t, stated=stated), alike[n], ask=ask)
                for n, t in first.items()
                if n not in chosen and board.aim in n and alike[n][0].status
            }
        if chosen:
            return [(t, chosen[tuple(t.names)]) for t in tables if tuple(t.names) in chosen]
    return []


def read(path: Path, ask: Ask) -> Iterator[Event]:
    """Segments, runs and remarks of the tables of runs."""
    yield from events_of(tables_of_runs(tables_of(path), ask), ask, file=path.name, kind="logmd")


def recognise(path: Path, head: Sequence[str]) -> bool:
    """Whether a file is text that may have a table."""
    tabled = path.suffix.lower() in _TEXTS or any(h.lstrip().startswith("|") for h in head)
    return tabled and path.suffix.lower() not in (".tsv", ".csv")


_NAMES = "markdown markdown-table log simple-loop leaderboard heygen auto-model-optim"
FORMATS = (LogFormat("logmd", recognise, read, order=31, aliases=tuple(_NAMES.split())),)
