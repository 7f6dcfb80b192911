"""Pages of text: tables of runs (a simple loop's log.md, leaderboards), entries (a heading, bold line, commit, message or list item a run:
`### Run 4: fuse the loops — total_ms=9.1 (KEEP)`), and journals in prose, in whose sentences no runs are looked for.

In plain text a record is a block of fields: some lines `name: value` between rules or blank lines, its title above them or in a rule. Blocks
that have no form in common, are called nothing or say nothing of how they came out are none: packages have fields too.

A table of runs has statuses, or numbers its rows and states a quantity or a delta; entries are a trail where most say how they came out.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import takewhile, zip_longest
from pathlib import Path

from kb import grouped
from kb.formats.columns import (
    DAYS,
    is_aim,
    is_held_out,
    key_of,
    key_words,
)
from kb.formats.entries import (
    BRACKETS,
    ORNAMENTS,
    TextEntry,
    entries_of,
    with_spoken,
)
from kb.formats.evidence import informed
from kb.formats.layout import Record, RecordLayout, RecordTable, layout_of
from kb.formats.markup import pages_of
from kb.formats.outline import (
    DASHES,
    DAY,
    DECIDED,
    KINDS,
    LONGEST_HEADING,
    RUNS,
    day_of,
    heading_unit,
    part_of,
    status_in,
    status_of,
)
from kb.formats.readers.jsonl import LISTS, opens_json
from kb.formats.reading import Ask, LogLine, Remark, Segment, quantity_of, text_lines
from kb.formats.registry import Event, LogFormat
from kb.formats.table import events_of
from kb.run.direction import direction_of, is_resource, word_set
from kb.run.quantity import bare
from kb.run.record import Outcome
from kb.run.status import NOT_BEGUN, outcome_of, status_words
from kb.schema import label_kind

_MACHINES = word_set("hardware machine device gpu cpu")
_TEXTS = (".md", ".markdown", ".rst", ".org")
# A line of signs, which may hold a title: `=====`, `--- Run 3 ---`. A longer line is none.
_RULE = re.compile(r"\s*([=*_~#+─━═-])\1{2,}\s*(?:([^\s=*_~#+─━═-].*?)\s*\1{2,}\s*)?$")
_LONGEST_RULE = 200
_FIELD = re.compile(
    r"[\s>*•-]{0,9}([^\W\d_][\w ./%()@°-]{0,40}?)\s{0,9}(?:[:：]\s|=)\s{0,40}(?=\S)"
)
_CALLED = {"id", "title", "date"}


def tables_of(path: Path) -> list[RecordTable]:
    """Tables of a page, in order; those of what is yet to be done (`Planned`) are none of runs. A heading may say a status (`Rejected`) and a day."""
    document, lines = pages_of(path)
    heading, prose, day, status, above = "", "", "", "", {}
    tables: list[RecordTable] = []
    for block in document.of("heading", "paragraph", "table"):
        if block.kind == "heading":
            heading = block.plain.strip("# *")
            day, aside = day_of(heading) or day, heading.partition(" (")[2].removesuffix(")")
            # `Changes that paid off (applied)`.
            above = {level: word for level, word in above.items() if level < block.level}
            # `(ALL FAILED)`: how much of it stands before the word.
            last = status_of(aside.rpartition(" ")[2]) * (aside.count(" ") == 1)
            own = status_of(heading) or aside * (outcome_of(aside) in DECIDED) or last
            status = above[block.level] = own or next(reversed(above.values()), "")
        elif block.kind == "paragraph":
            prose = prose if len(prose) > 20_000 else f"{prose} {block.plain}"
        elif status_words(status) not in NOT_BEGUN:
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
                tables.append(RecordTable(records, names, block.line, heading, stated))
    return tables


def tells_runs(layout: RecordLayout, records: Sequence[Record], *, loose: bool) -> bool:
    """Whether the layout of all tables of one header is that of runs; `loose` accepts rows without numbers where a delta stands."""
    roles, aim, status = set(layout.roles.values()), layout.primary, records[0].status
    change = any(key_of(n) in {*DAYS, "change"} for n in layout.roles)
    worded = (status or change or "time" in roles) and "text" in roles
    if layout.narrated or worded and _measures_in_words(layout, records):
        return True
    numbered = bool(roles & {"id", "rank"})
    if layout.statuses and layout.tells:
        marked = not any(c.isalnum() for r in records for c in r.cells[layout.statuses[0]])
        # Bare marks (✅, ❌) say what things can do as well: runs are called so, say what changed, or measure something.
        called = (
            change
            or status
            or any(key_of(n).partition("_")[0] in {*RUNS, "kept"} for n in layout.roles)
        )
        measured = layout.direction or "delta" in roles
        return bool(measured or (called if marked else layout.decided or numbered))
    # A score of any kind is one of runs where the rows are numbered as runs are, and one without a side where each names what it ran on.
    called = any(key_of(n).partition("_")[0] in RUNS for n in layout.names("id"))
    called = called and (is_held_out(aim) or is_aim(key_of(aim).rpartition("_")[2]))
    placed = any(_MACHINES & key_words(n) for n in layout.roles) and aim and is_aim(key_of(aim))
    # Numbered and dated rows with a score are a trail, whichever way the score goes.
    evidence = layout.direction or roles & {"delta", "rank"} or numbered and "time" in roles
    evidence = evidence or placed or called
    described = "text" in roles or numbered and "lever" in roles or "rank" in roles or called
    proven = numbered or aim and (status or loose)
    return bool(described and proven and (status or evidence))


def _measures_in_words(layout: RecordLayout, records: Sequence[Record]) -> bool:
    """Whether a result in words measures: it is one of runs where rows are changes, dated, or their heading says what became of them."""
    results = [n for n in layout.roles if part_of(n) == "result"]
    figures = sum(any(map(str.isdigit, r.cells[n])) for n in results[:1] for r in records)
    return 2 * figures >= len(records)


def tables_of_runs(tables: Sequence[RecordTable], ask: Ask) -> list[RecordTable]:
    """Tables of runs with their layouts, which those of one header share."""
    alike = grouped((tuple(table.names), record) for table in tables for record in table.records)
    first = {tuple(t.names): t for t in reversed(tables)}
    layouts = {n: informed(layout_of(t, alike[n], ask=ask), alike[n]) for n, t in first.items()}
    readings = (
        {n: x for n, x in layouts.items() if tells_runs(x, alike[n], loose=loose)}
        for loose in (False, True)
    )
    chosen = next(filter(None, readings), {})
    for board in [x for x in chosen.values() if x.ranked and x.primary][:1]:
        # What did not make it stands below a ranking, by the same figure and without a rank.
        stated = Ask(metric=board.primary)
        chosen |= {
            n: layout_of(replace(t, stated=stated), alike[n], ask=ask)
            for n, t in first.items()
            if n not in chosen and board.primary in n and alike[n][0].status
        }
    chosen = _of_one_trail(chosen)
    kept = [(t, chosen.get(tuple(t.names))) for t in tables]
    return [replace(t, layout=layout) for t, layout in kept if layout]


def _of_one_trail(
    layouts: dict[tuple[str, ...], RecordLayout],
) -> dict[tuple[str, ...], RecordLayout]:
    """Layouts by header; beside tables that mark their runs one that marks none and shares no column tells of other things."""
    marked = {
        name
        for names, x in layouts.items()
        if {"id", "code", "rank"} & {*x.roles.values()}
        for name in names
    }
    return {n: x for n, x in layouts.items() if not marked or marked & {*n}}


def read_tables(path: Path, ask: Ask) -> Iterator[Event]:
    """Segments, runs and remarks of the tables of runs."""
    yield from events_of(tables_of_runs(tables_of(path), ask), ask, file=path.name, kind="logmd")


def recognise_tables(path: Path, head: Sequence[str]) -> bool:
    """Whether a file is text that may have a table."""
    tabled = path.suffix.lower() in _TEXTS or any(h.lstrip().startswith("|") for h in head)
    return tabled and path.suffix.lower() not in (".tsv", ".csv")


def _title(entry: TextEntry) -> str:
    """What was tried: the heading without its label, status and figures; else the change that its body names."""
    plain = BRACKETS.sub(
        lambda m: "" if status_in(m[1]) or DAY.search(m[1]) else m[0], entry.unit.title
    )
    first, *rest = [p for p in DASHES.split(plain) if p.strip()] or [""]
    # A plain title may hold a dash of its own.
    more = takewhile(lambda p: not (status_in(p) or any(map(str.isdigit, p))), rest)
    title = bare(" - ".join([first, *more]).strip(f"{ORNAMENTS}: "))
    if not title or outcome_of(status_in(title)) is not Outcome.OTHER or quantity_of(title):
        parts = (entry.parts.get("change"), entry.parts.get("hypothesis"), *entry.other[:1], "")
        return next(p for p in parts if p is not None)
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


def _records(entries: Sequence[TextEntry], columns: Sequence[str]) -> list[Record]:
    """Entries as records."""
    figures = [
        {n: e.fields[n] for n in columns if n in e.fields} | spoken
        for e, spoken in zip(entries, with_spoken(entries), strict=True)
    ]
    tabled = bool(columns)
    return [_record(e, f, tabled=tabled) for e, f in zip(entries, figures, strict=True)]


def _tells(entries: Sequence[TextEntry]) -> bool:
    """Whether most entries say how they came out; numbered ones whether most measure the same."""
    decided = [e.outcome for e in entries if e.status]
    figures = with_spoken(entries)
    names = Counter(n for f in figures for n in f if direction_of(n))
    alike = 2 * max(names.values(), default=0) > len(entries) > 2
    if alike and all(e.unit.kind.startswith(("run", "list")) for e in entries):
        return True
    # Sentences of any document may close with such a word: most entries declare theirs, measure, or are numbered.
    proven = [
        e.declared or len(entries) > 1 and (f or e.unit.label)
        for e, f in zip(entries, figures, strict=True)
    ]
    if not decided or 2 * min(len(decided), sum(map(bool, proven))) < len(entries):
        return False
    return bool(set(decided) & set(DECIDED)) or 2 * sum(map(bool, figures)) >= len(entries)


def read(path: Path, ask: Ask) -> Iterator[Event]:
    """One segment, and one run an entry; a journal that begins with its newest run is read from its end."""
    entries, prose = entries_of(path)
    # Names under which most entries say something in a line of its own: their fields are a table.
    times = Counter(n for e in entries for n in e.fields)
    columns = [n for n in times if 2 * times[n] > len(entries) > 1]
    columns = columns if len(columns) > 1 else []
    if not columns and not _tells(entries):
        yield Segment(0, 1, judged=False)
        yield Remark("no units that say how they came out; read as text")
        return
    records = _records(entries, columns)
    falling = _falling(entries, prose)
    if falling:
        records.reverse()
    stated, line = Ask(prose=prose), records[0].line.number
    table = RecordTable(records, line=line, stated=stated, least=1 / 3)
    yield from events_of([table], ask, file=path.name, kind="worklog")
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
    return bool(head) and not known and not opens_json(head)


def blocks_of(lines: list[LogLine], rules: list[re.Match[str] | None]) -> Iterator[list[LogLine]]:
    """Lines that stand together: between rules, or between blank lines where nothing is ruled. What stands alone above a block, or above a
    rule, is its first line.
    """
    block, before = [], ""
    for line, rule in zip([*lines, LogLine(0, "")], [*rules, None], strict=True):
        if line.text.strip() and not rule:
            block.append(line)
            alone = not before
        elif (rule or not any(rules) or not line.number) and len(block) > 1:
            title = block[-1:] if rule and alone else []
            yield block[: len(block) - len(title)]
            block = title
        block = [LogLine(line.number, rule[2])] if rule and rule[2] else block
        before = line.text.strip() * (not rule)


def record_of(block: list[LogLine]) -> Record:
    """A block as a record: its title, numbered or not, and its fields; a line that is none goes on with the field above."""
    title = heading_unit(block[0], 2, block[0].text[:LONGEST_HEADING].strip())
    titled = bool(title.label) or not _FIELD.match(block[0].text)
    cells = {"id": title.label, "title": title.title, "date": title.day} if titled else {}
    name = ""
    for line in block[titled:]:
        field = _FIELD.match(line.text)
        name, value = field[1].strip() if field else name, line.text[field.end() if field else 0 :]
        # `82.1 +/- 32.3, LOS: 100 %`: a remark stands behind the comma.
        figure, _, remark = value.strip().partition(", ")
        parts = {name: figure, "notes": remark} if quantity_of(figure) else {name: value.strip()}
        cells |= {n: f"{cells.get(n, '')} {text}".strip() for n, text in parts.items()}
    return Record(block[0], {n: c for n, c in cells.items() if n and c})


def read_records(path: Path, ask: Ask) -> Iterator[Event]:
    """One segment, and one run a block that has two of the fields that most blocks have."""
    lines = [*text_lines(path)]
    rules = [_RULE.match(x.text[:_LONGEST_RULE]) for x in lines]
    rules = rules if len([*filter(None, rules)]) > 1 else [None] * len(lines)
    records = [record_of(block) for block in blocks_of(lines, rules)]
    times = Counter(n for r in records for n in r.cells)
    most = {n for n, t in times.items() if 2 * t > len(records) > 1}
    form = most - _CALLED
    judged = any(label_kind(n) == "outcome" or direction_of(n) and not is_resource(n) for n in form)
    called = any(rules) or any(n in _CALLED or key_of(n) in KINDS for n in most)
    if not judged or not called:
        form = set()
    runs = [r for r in records if len(form & {*r.cells}) > 1]
    yield from events_of([RecordTable(runs, least=1 / 2)], ask, file=path.name, kind="records")


def read_prose(path: Path, ask: Ask) -> Iterator[Event]:
    """No runs, and a remark that says so."""
    yield Segment(0, 1, judged=False)
    yield Remark(f"{path.name} is text without runs; keep it below sources/, and write from it")


_NAMES = "markdown markdown-table log simple-loop leaderboard heygen auto-model-optim"
FORMATS = (
    LogFormat("logmd", recognise_tables, read_tables, order=31, aliases=tuple(_NAMES.split())),
    LogFormat("worklog", recognise, read, order=32, aliases=("journal",)),
    LogFormat("records", recognise, read_records, order=33),
    LogFormat(
        "prose", lambda path, head: False, read_prose, order=99, aliases=("prose-log", "text")
    ),
)
