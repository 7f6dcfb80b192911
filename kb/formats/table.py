"""Records of any log (rows of a table, objects of a file, entries of a journal) as runs, by the layout of their fields.

Records that tell neither a status nor a measurement are no runs; a total is none either.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import compress

from msgspec import structs

from kb.formats.columns import SETTINGS, ColumnRole, check_outcome, key_of, outcome_in, unit_of
from kb.formats.layout import Record, RecordLayout, RecordTable, layout_of
from kb.formats.reading import Ask, Remark, Segment, measured, moment, quantity_of
from kb.run.direction import direction_from, direction_of, word_set
from kb.run.quantity import Quantity, bare
from kb.run.record import Check, Lever, Metric, Origin, Outcome, Run
from kb.run.status import is_status, outcome_of, status_words
from kb.store import json_of
from kb.text.units import unit_of as known_unit

UNTOLD = (
    "nothing says that its lines are runs: no status, and no value under a name; name the columns in a "
    "first line, or say a status with every run; an import files none of them"
)
_NO_CODE = word_set("none tbd head n/a -")
# What a row sums up rather than ran.
_TOTALS = word_set(
    "total totals sum summe gesamt average mean avg median best overall 合计 总计 итого somme totale"
)
# Fields of a run that a table may have by name.
_STATED = {
    "hypothesis": "hypothesis",
    "mechanism": "mechanism",
    "next": "next_step",
    "parent": "parent",
}
# Fields that say a run broke, by yes, by a text of their own, or by an exit code that is not 0; and what of them says it did not.
_FAULTS = word_set(
    "error error_occurred error_message failed crashed timed_out oom exception exit_code returncode return_code"
)
_SOUND = word_set("- 0 false no off none null n")
_CALLED = ("experiment", "name", "label")


def run_of(record: Record, layout: RecordLayout, *, file: str, kind: str, segment: int) -> Run:
    """One record as a run."""
    status, outcome = _decided(record, layout)
    own = (layout.text, layout.reason, *layout.statuses[:1])
    values = {n: bare(_unquoted(raw)) for n, raw in record.cells.items() if n not in own}
    stated, fields = {}, defaultdict(list)
    for name, cell in values.items():
        role, key = layout.roles.get(name, "note"), key_of(name)
        if key in _STATED and role != "metric":
            stated[_STATED[key]] = cell
        elif role == "text" and key in _CALLED and not fields["id"]:
            fields["id"].append((name, cell))
        elif role == "metric" or cell and (role == "lever" or cell.strip("-–— ")):
            fields[role].append((name, cell))
    checks = tuple(Check(n, check_outcome(c)) for n, c in fields["check"])
    if outcome is None and any(c.outcome == "failed" for c in checks):
        outcome = Outcome.CHECKS_FAILED
    metrics = _metrics(fields, layout, outcome)
    if (
        outcome is Outcome.OTHER
        and not is_status(status)
        and any(m.name == layout.primary and m.raw.lower() == "nan" for m in metrics)
    ):
        # A word of its own beside a figure that is none: the run broke.
        outcome = Outcome.CRASHED
    levers = tuple(x for n, c in fields["lever"] for x in _levers(n.removeprefix("params_"), c))
    label, code, when = (fields[r][0][1] if fields[r] else "" for r in ("id", "code", "time"))
    text = _unquoted(record.cells.get(layout.text, ""))
    pulled = ", ".join(f"{x.name}={x.value}" if x.value else x.name for x in levers)[:300]
    return Run(
        Origin(file, record.line.number, record.line.digest),
        kind,
        label=label or code,
        segment=segment,
        status=status,
        outcome=outcome,
        description=text or (label if any(map(str.isalpha, label)) else "") or pulled,
        primary=layout.primary,
        metrics=metrics,
        levers=levers,
        checks=checks,
        reason=_unquoted(record.cells.get(layout.reason, "")),
        code="" if code.lower() in _NO_CODE else code,
        created=moment(when) or record.day,
        notes=tuple(_notes(fields)),
        **stated,
    )


def _notes(fields: Mapping[ColumnRole, list[tuple[str, str]]]) -> Iterator[tuple[str, str]]:
    """What of a record no field of a run took."""
    for role, cells in fields.items():
        if role in ("id", "code", "time"):
            yield from cells[1:]
        elif role not in ("metric", "lever", "check"):
            yield from cells


def _metrics(
    fields: Mapping[ColumnRole, list[tuple[str, str]]],
    layout: RecordLayout,
    outcome: Outcome | None,
) -> tuple[Metric, ...]:
    metrics = [_metric(n, c, layout, outcome) for n, c in fields["metric"]]
    if outcome is not Outcome.KEPT and any(
        m.name == layout.primary and m.value is None for m in metrics
    ):
        # Nothing was measured, so a 0 beside it measures nothing either.
        metrics = [
            structs.replace(m, value=None, raw=m.raw or "0") if m.value == 0 else m for m in metrics
        ]
    return tuple(metrics)


def _metric(name: str, cell: str, layout: RecordLayout, outcome: Outcome | None) -> Metric:
    quantity, primary = (quantity_of(cell, commas=name in layout.commas), name == layout.primary)
    mine, whole = known_unit(quantity.unit if quantity else ""), known_unit(layout.unit)
    if primary and mine and whole and mine.dimension == whole.dimension:
        value = quantity.value * mine.factor / whole.factor if mine != whole else quantity.value
        quantity = Quantity(value, quantity.stddev, layout.unit)
    return measured(
        layout.primary if primary else name,
        quantity,
        raw=cell,
        outcome=outcome,
        direction=layout.direction if primary else direction_of(name),
        unit=layout.unit if primary else unit_of(name),
        primary=primary,
    )


def _decided(record: Record, layout: RecordLayout) -> tuple[str, Outcome | None]:
    """Status of a record as written, and its outcome; a field that says it crashed goes before one that only says it was not kept."""
    stated = {n: record.cells.get(n, "").strip() for n in layout.statuses}
    cells = {n: c for n, c in stated.items() if c.strip(layout.blank)}
    if not cells:
        if layout.ranked:
            return "", Outcome.KEPT
        if record.status:
            return record.status, outcome_of(record.status)
        outcome = Outcome.OTHER if layout.statuses else None
        return _undeclared(record, layout) or (next(filter(None, stated.values()), ""), outcome)
    name, status = next(iter(cells.items()))
    outcome = layout.outcome(name, status)
    if outcome in (Outcome.OTHER, Outcome.DISCARDED):
        failed = (Outcome.CRASHED, Outcome.CHECKS_FAILED)
        other = next((c for n, c in cells.items() if n != name and outcome_in(n, c) in failed), "")
        if other:
            return other if outcome is Outcome.DISCARDED else status, outcome_of(bare(other))
    if layout.passes and status_words(status) == "pass":
        outcome = Outcome.KEPT
    answered = outcome_in(name, status) is not outcome_of(bare(status)) and not layout.passes
    return f"{name}: {status}" if answered else status, outcome


def _undeclared(record: Record, layout: RecordLayout) -> tuple[str, Outcome] | None:
    """What became of a record where no status says it: a field says that it broke, or a word stands in the place of its figure."""
    for name, cell in record.cells.items():
        if key_of(name) in _FAULTS and bare(cell).lower() not in {"", *_SOUND}:
            return "crash", Outcome.CRASHED
        if layout.roles.get(name) == "metric" and not quantity_of(cell):
            outcome = outcome_of(bare(cell))
            if outcome not in (Outcome.OTHER, Outcome.KEPT):
                return cell, outcome
    return None


def _unquoted(cell: str) -> str:
    """A cell without the quotes that a CSV writer put around it: `"{""a"": 1}"`; any other quote is a plain character."""
    cell = cell.strip()
    inner = cell[1:-1]
    if len(cell) > 1 and cell[0] == cell[-1] == '"' and '"' not in inner.replace('""', ""):
        return inner.replace('""', '"')
    return cell


def object_in(cell: str) -> dict[str, object]:
    """The JSON object that a cell holds; empty where it holds none."""
    try:
        value = json_of(cell)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _levers(name: str, cell: str) -> list[Lever]:
    """A setting; a field of many settings (`seq=1024|batch=1`, or a JSON object) gives one lever each."""
    if key_of(name) not in SETTINGS:
        return [Lever(name, cell)]
    if cell.startswith("{"):
        return [Lever(k, str(v)) for k, v in object_in(cell).items()] or [Lever(name, cell)]
    parts = [p.strip() for p in cell.replace(";", "|").replace(",", "|").split("|")]
    return [Lever(*p.split("=", 1)) if "=" in p else Lever(p) for p in parts if p]


def events_of(
    tables: Iterable[tuple[RecordTable, RecordLayout | None]], ask: Ask, *, file: str, kind: str
) -> Iterator[Segment | Run | Remark]:
    """Segments, what is doubtful about them, and their runs. Tables of one metric (of one header, where none is known) are one segment, but
    for a ranking that begins anew.
    """
    index, before, labels = -1, None, set()
    for table, known in tables:
        layout, records, skipped = _interpreted(table, known, ask)
        keys = (layout.primary, () if layout.primary else tuple(map(key_of, table.names)))
        named = [*layout.names("id"), *layout.names("rank")][:1]
        here = [r.cells.get(n, "") for n in named for r in records]
        further = keys == before and bool(layout.statuses or not here or here[0] not in labels)
        index, before = index + (not further), keys
        labels = {*here, *(labels if further else ())}
        segment = _segment_of(table, records, layout, index)
        if not further:
            yield segment
            yield from [Remark(layout.doubt, segment.line)] if layout.doubt else ()
        yield from skipped
        if table.names and not table.records:
            yield Remark("no rows below the header: 0 runs", table.line)
        if not layout.tells:
            yield Remark(UNTOLD, segment.line)
        for record in _in_order(records, layout) if layout.tells else ():
            yield from _run_or_remark(record, layout, index, file=file, kind=kind)
        if further:
            message = "a further table of the same metric; read as one segment with the one above"
            yield Remark(message, table.line)
    if index < 0:
        yield Segment(0, 1, judged=False)
        yield Remark("nothing in it tells of a run; read as text")


def _segment_of(
    table: RecordTable, records: Sequence[Record], layout: RecordLayout, index: int
) -> Segment:
    """The segment of a table; where most records say nothing and none was kept, what was kept is not known."""
    segment = layout.segment(index, table.line, table.heading)
    decided = [_decided(r, layout) for r in records]
    stated = sum(bool(status) for status, _ in decided)
    few = 2 * stated < len(records) and all(o is not Outcome.KEPT for _, o in decided)
    above = bool(records and records[0].status)
    return replace(segment, judged=above or segment.judged and not few)


def _interpreted(
    table: RecordTable, known: RecordLayout | None, ask: Ask
) -> tuple[RecordLayout, list[Record], list[Remark]]:
    """Layout of the records that are runs, these, and why others are none. What most runs do not have is nothing to judge by."""
    layout = known or layout_of(table, table.records, ask=ask)
    metrics = layout.names("metric")
    filled = Counter(n for r in table.records for n in metrics if r.cells.get(n))
    shared = {n for n in metrics if 2 * filled[n] > len(table.records) > 1}
    # One object alone is alike by itself: settings, or what describes another file.
    alone = bool(table.least) and len(table.records) == 1
    alike = not alone and all(len(r.cells) == len(table.names) for r in table.records)
    attempts = [alike or _is_run(r, layout, shared) for r in table.records]
    if all(attempts):
        return layout, table.records, []
    runs = [*compress(table.records, attempts)]
    others = [*compress(table.records, (not attempt for attempt in attempts))]
    message = "an object that is no run (no status, no number and measurement); skipped"
    remarks = [Remark(message, r.line.number) for r in others]
    return known or layout_of(table, runs, ask=ask), runs, remarks


def _is_run(record: Record, layout: RecordLayout, shared: set[str]) -> bool:
    """Whether a record is an attempt: it has a status, a number, or the measurement that most have."""
    named = {n: layout.roles.get(n) for n, cell in record.cells.items() if cell}
    if record.status or layout.ranked or any(n in named for n in layout.statuses):
        return True
    numbered = "id" in named.values()
    return numbered or bool(shared & named.keys())


def _in_order(records: list[Record], layout: RecordLayout) -> list[Record]:
    """Records as they were run: a leaderboard, which stands by rank, by their number."""
    name = next(iter(layout.names("id")), "")
    counted = layout.ranked and name and all(r.cells.get(name, "").isdecimal() for r in records)
    return sorted(records, key=lambda r: int(r.cells[name])) if counted else records


def _run_or_remark(
    record: Record, layout: RecordLayout, segment: int, *, file: str, kind: str
) -> Iterator[Run | Remark]:
    """A run, and what is doubtful about it; or why a record is none."""
    if _sums_up(record, layout):
        yield Remark("a row that sums up the others; skipped", record.line.number)
        return
    run = run_of(record, layout, file=file, kind=kind, segment=segment)
    content = [run.label, run.code, *(m.raw if m.value is None else "0" for m in run.metrics)]
    if layout.primary and run.outcome is None and not any(map(str.isdigit, "".join(content))):
        yield Remark("a row without a figure or an outcome; no run", record.line.number)
        return
    if run.primary and run.value is None:
        message = f"no measurement under '{run.primary}' (a sentinel or no plain number); left out of best"
        yield Remark(message, record.line.number)
    yield run


def _sums_up(record: Record, layout: RecordLayout) -> bool:
    """Whether a row is a total: nothing numbers it, and it is called one."""
    marks = [record.cells.get(n, "") for role in ("id", "code", "time") for n in layout.names(role)]
    called = next((c for c in record.cells.values() if c.strip(" *_")), "")
    named = _TOTALS.intersection(status_words(called).split("_")[:1])
    return bool(named) and not any(m.strip(" -–—") and m != called for m in marks)


def directive(text: str) -> tuple[str, str]:
    """What a comment line states: `# metric_direction: higher_is_better` gives direction, higher; empty where it states nothing."""
    name, _, value = text.lstrip("#/ ").partition(":")
    key = key_of(name) if len(name) < 40 else ""
    if key in ("direction", "metric_direction", "best_direction", "optimize") and direction_from(
        value.strip()
    ):
        return "direction", value.strip()
    named = key in ("metric", "primary_metric", "metric_name") and len(value.split()) == 1
    return ("metric", value.strip()) if named else ("", "")
