"""Entries of any text: a heading, bold line, commit, message or list item a run: `### Run 4: fuse the loops — total_ms=9.1 (KEEP)`, `**Exp98 DISCARD** rsm=0.8`.

A text is a trail where most of its repeating units say how they came out.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from kb.formats.clauses import DECIDED, status_in
from kb.formats.columns import ColumnRole, LogColumn, status_weight
from kb.formats.entries import (
    BRACKETS,
    ORNAMENTS,
    TextEntry,
    common_figure,
    entries_of,
    with_spoken,
)
from kb.formats.layout import Record, RecordTable
from kb.formats.measuring import quantity_of
from kb.formats.objects import LISTS, is_chat, opens_json
from kb.formats.outline import DASHES, DAY
from kb.formats.reading import Ask, Remark, Segment
from kb.formats.registry import Event, LogFormat
from kb.formats.table import events_of
from kb.run.direction import direction_of
from kb.run.quantity import bare
from kb.run.record import Outcome
from kb.run.status import outcome_of

_FIXED = {
    **{
        "id": ColumnRole.ID,
        "commit": ColumnRole.CODE,
        "description": ColumnRole.TEXT,
        "reason": ColumnRole.TEXT,
    },
    **{"date": ColumnRole.TIME, "change": ColumnRole.NOTE, "result": ColumnRole.NOTE},
}


def _title(entry: TextEntry) -> str:
    """What was tried: the heading without its label, status and figures; else the change that its body names."""
    parts = [p for p in DASHES.split(entry.unit.title) if p.strip()]
    first = parts[:1]
    for part in (
        parts[1:] if first and not status_in(first[0]) and not BRACKETS.search(first[0]) else ()
    ):
        # A plain title may hold a dash of its own.
        words = BRACKETS.sub("", part)
        if not words.strip() or status_in(words) or any(map(str.isdigit, words)):
            break
        first.append(part)
    title = " - ".join(p.strip() for p in first)
    for bracket in BRACKETS.finditer(title):
        if status_in(bracket[1]) or DAY.search(bracket[1]):
            title = title.replace(bracket[0], "")
    title = bare(title.strip(f"{ORNAMENTS}:"))
    if not title or outcome_of(status_in(title)) is not Outcome.OTHER or quantity_of(title):
        return (
            entry.parts.get("change") or entry.parts.get("hypothesis") or " ".join(entry.other[:1])
        )
    return title


def _record(entry: TextEntry, figures: dict[str, str], *, tabled: bool) -> Record:
    parts, title, unit = entry.parts, _title(entry), entry.unit
    beside = (
        m[1].partition(",")[2] or m[1].partition(":")[2]
        for m in BRACKETS.finditer(unit.title)
        if status_in(m[1])
    )
    remark = next((t for t in beside if len(t) > 3), "")
    cells = {
        "id": unit.label,
        "commit": unit.code,
        "status": entry.declared if tabled else entry.status,
        "description": title,
        "hypothesis": parts.get("hypothesis", ""),
        "mechanism": parts.get("mechanism", ""),
        "reason": parts.get("reason", "") or remark.strip() or " ".join(entry.other[:3])[:600],
        "next": parts.get("next", ""),
        "date": entry.day,
        **{k: parts[k] for k in ("change", "result") if parts.get(k) and parts[k] != title},
    }
    return Record(unit.line, {**figures, **{k: v for k, v in cells.items() if v}})


def _columns(entries: Sequence[TextEntry]) -> list[str]:
    """Names under which most entries say something in a line of its own: their fields are a table."""
    names = Counter(n for e in entries for n in e.fields)
    common = [n for n, times in names.items() if 2 * times > len(entries) > 1]
    return common if len(common) > 1 else []


def _records(entries: Sequence[TextEntry], columns: Sequence[str]) -> list[Record]:
    """Entries as records. A column of statuses goes before what single lines close with."""
    figures = [
        {n: e.fields[n] for n in columns if n in e.fields} | spoken
        for e, spoken in zip(entries, with_spoken(entries), strict=True)
    ]
    tabled = bool(columns)
    records = [_record(e, f, tabled=tabled) for e, f in zip(entries, figures, strict=True)]
    if any(status_weight(LogColumn(n, [f.get(n, "") for f in figures])) for n in columns):
        for record in records:
            record.cells.pop("status", None)
    return records


def _tells(entries: Sequence[TextEntry]) -> bool:
    """Whether most entries say how they came out, or close with one figure; numbered ones whether most measure the same."""
    decided = [e.outcome for e in entries if e.status]
    figures = with_spoken(entries)
    names = Counter(n for f in figures for n in f if direction_of(n))
    alike = 2 * max(names.values(), default=0) > len(entries) > 2
    if alike and all(e.unit.kind.startswith("run") for e in entries):
        return True
    if not decided or 2 * len(decided) < len(entries) and not common_figure(entries):
        return False
    return bool(set(decided) & set(DECIDED)) or 2 * sum(map(bool, figures)) >= len(entries)


def read(path: Path, ask: Ask) -> Iterator[Event]:
    """One segment, and one run an entry; a journal that begins with its newest run is read from its end."""
    entries, prose = entries_of(path)
    columns = _columns(entries)
    if not columns and not _tells(entries):
        yield Segment(0, 1, judged=False)
        yield Remark("no units that say how they came out; read as text")
        return
    records = _records(entries, columns)
    names = list(dict.fromkeys(n for r in records for n in r.cells))
    falling = _falling(entries, prose)
    if falling:
        records.reverse()
    stated, line = Ask(prose=prose), records[0].line.number
    table = RecordTable(names, records, line, stated=stated, roles=_FIXED, least=1 / 3)
    yield from events_of([(table, None)], ask, file=path.name, kind="worklog")
    if falling:
        yield Remark("the newest run stands first; read from the end")


def _falling(entries: list[TextEntry], prose: str) -> bool:
    """Whether numbers, or else days, fall down the page, or its text says so."""
    days = [e.day for e in entries if e.day]
    labels = [] if any(e.unit.code for e in entries) else [e.unit.label for e in entries]
    numbers = [int(x) for x in labels if x.isdecimal() and len(x) < 9]
    order = numbers if len(numbers) > 2 else days if len(days) > 2 else []
    falls = 2 * sum(b < a for a, b in zip(order, order[1:], strict=False)) > len(order) - 1 > 0
    return falls or "newest first" in prose.lower()


def recognise(path: Path, head: Sequence[str]) -> bool:
    """Whether a file is text that may have headings, lists, blocks or commits."""
    known = path.suffix.lower() in (".tsv", ".csv", ".json", ".jsonl", *LISTS)
    return bool(head) and (not known and not opens_json(head) or is_chat(path))


FORMATS = (LogFormat("worklog", recognise, read, order=32, aliases=("journal",)),)
