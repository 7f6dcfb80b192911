"""Journals: one heading, bold line, commit or list item a run: `### Run 4: fuse the loops — total_ms=9.1 (KEEP)`, `**Exp98 DISCARD** rsm=0.8`.

A heading is a run if it carries a run's number, commit or day and most such headings of the page say
how it came out; an item of a list is one below a heading that is a status (`### Reverted`).
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from kb.formats.columns import Role
from kb.formats.journal import (
    BRACKETS,
    DASHES,
    DAY,
    ORNAMENTS,
    Entry,
    entries_of,
    figures_of,
    status_in,
)
from kb.formats.layout import layout_of
from kb.formats.measuring import quantity_of
from kb.formats.reading import Ask, Remark, Segment
from kb.formats.registry import Event, Format
from kb.formats.table import Record, runs_of
from kb.run.direction import direction_of
from kb.run.quantity import bare
from kb.run.record import Outcome
from kb.run.status import outcome_of

_FIXED = {
    **{"id": Role.ID, "commit": Role.CODE, "description": Role.TEXT, "reason": Role.TEXT},
    **{"date": Role.TIME, "change": Role.NOTE, "result": Role.NOTE},
}
_DECIDED = (Outcome.KEPT, Outcome.DISCARDED)


def _title(entry: Entry) -> str:
    """What was tried: the heading without its label, status and figures; else the change that its body names."""
    parts = [p for p in DASHES.split(entry.rest) if p.strip()]
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


def _record(entry: Entry, spoken: set[str]) -> Record:
    parts, title = entry.parts, _title(entry)
    beside = (
        m[1].partition(",")[2] or m[1].partition(":")[2]
        for m in BRACKETS.finditer(entry.rest)
        if status_in(m[1])
    )
    remark = next((t for t in beside if len(t) > 3), "")
    dated = DAY.search(parts.get("when", "")) or DAY.search(entry.rest)
    cells = {
        "id": entry.label,
        "commit": entry.code,
        "status": entry.status,
        "description": title,
        "hypothesis": parts.get("hypothesis", ""),
        "mechanism": parts.get("mechanism", ""),
        "reason": parts.get("reason", "") or remark.strip() or " ".join(entry.other[:3])[:600],
        "next": parts.get("next", ""),
        "date": dated[1] if dated else entry.day,
        **{k: parts[k] for k in ("change", "result") if parts.get(k) and parts[k] != title},
    }
    return Record(
        entry.line,
        {**{n: v for n, v in entry.spoken.items() if n in spoken}, **figures_of(entry), **cells},
    )


def read(path: Path, ask: Ask) -> Iterator[Event]:
    """One segment, and one run an entry; a journal that begins with its newest run is read from its end."""
    entries = entries_of(path)
    # A figure that opens a sentence is a metric where it does so again and again.
    told = Counter(name for e in entries for name in e.spoken)
    metrics = {
        n for n, k in told.items() if 2 * k > len(entries) or direction_of(n) and len(n.split()) < 3
    }
    records = [_record(e, metrics) for e in entries]
    decided = [outcome_of(e.status) for e in entries if e.status]
    figured = sum(bool(figures_of(e)) for e in entries)
    if (
        not decided
        or 2 * len(decided) < len(entries)
        or not set(decided) & set(_DECIDED)
        and 2 * figured < len(entries)
    ):
        yield Segment(0, 1, judged=False)
        yield Remark("no headings that number runs and say how they came out; read as text")
        return
    names = list(dict.fromkeys(n for r in records for n in r.cells))
    layout = layout_of(
        names, [r.cells for r in records], ask=ask, forced=_FIXED, least=len(records) / 3
    )
    falling = _falling(entries)
    if falling:
        records.reverse()
    yield from runs_of(
        records, layout, layout.segment(0, records[0].line.number), file=path.name, kind="worklog"
    )
    if falling:
        yield Remark("the newest run stands first; read from the end")


def _falling(entries: list[Entry]) -> bool:
    """Whether numbers, or else days, fall down the page."""
    days = [e.day for e in entries if e.day]
    numbers = (
        []
        if any(e.code for e in entries)
        else [int(e.label) for e in entries if e.label.isdecimal() and len(e.label) < 9]
    )
    order = numbers if len(numbers) > 2 else days if len(days) > 2 else []
    return 2 * sum(b < a for a, b in zip(order, order[1:], strict=False)) > len(order) - 1 > 0


def recognise(path: Path, head: Sequence[str]) -> bool:
    """Whether a file is text that may have headings, lists, blocks or commits."""
    known = path.suffix.lower() in (".tsv", ".csv", ".json", ".jsonl", ".yaml", ".yml", ".toml")
    return not known and bool(head) and not head[0].lstrip().startswith(("{", "["))


FORMATS = (Format("worklog", recognise, read, order=32, aliases=("journal",)),)
