"""Records of any log (rows of a table, objects of a file, entries of a journal) as runs, by the layout of their fields.

Records that tell neither a status nor a measurement are no runs; a total is none either. Records are streamed: a sample says what their
fields are.
"""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import chain
from statistics import stdev
from typing import TypeVar

from msgspec import structs

from kb.formats.columns import (
    DECIDED,
    REASON,
    SETTINGS,
    check_outcome,
    key_of,
    outcome_in,
    own_word,
    unit_of,
)
from kb.formats.evidence import head_of, informed
from kb.formats.layout import Record, RecordLayout, RecordTable, layout_of
from kb.formats.outline import CLAUSES, closing
from kb.formats.reading import Ask, Remark, Segment, moment, quantity_of, split_sample
from kb.run.direction import direction_of, word_set, words_of
from kb.run.quantity import bare, is_sentinel, to_float
from kb.run.record import Check, Lever, Metric, Origin, Outcome, Run
from kb.run.status import fault_of, is_status, outcome_of
from kb.store import json_of
from kb.text.units import unit_of as known_unit

T = TypeVar("T")

UNTOLD = (
    "nothing says that its lines are runs: no status, and no value under a name, or they are steps of one; "
    "name the columns in a first line, or say a status with every run; an import files none of them"
)
_NO_RUN = "an object that is no run (no status, no number and measurement); skipped"
# One word in front of what is said of a run.
_OPENING = re.compile(r"\W*(\w+)(?:\s*:|\s+[—–-])\s")
_NO_CODE = word_set("none tbd head n/a -")
# Fields of a run that a role fills by its first cell; further cells of it are notes.
_FIELDS = {
    **{"id": "label", "text": "description", "reason": "reason", "code": "code", "time": "created"},
    **{"hypothesis": "hypothesis", "mechanism": "mechanism", "signal": "predicted_signal"},
    **{"next": "next_step", "parent": "parent"},
}
_OTHERWISE = ("metric", "lever", "check", "status", "models", "tokens")
# Fields that say a run broke, by yes, by a text of their own, or by an exit code that is not 0; and what of them says it did not.
_FAULTS = word_set(
    "error error_occurred error_message failed crashed timed_out oom exception exit_code returncode return_code"
)
_SOUND = word_set("- 0 false no off none null n")
# Beside `x`, or alone behind it: its spread over repeats, and the repeats themselves.
_SPREADS, _SAMPLES = ("_stddev", "_std", "_sd", "_stdev"), "samples"
# What a ranking begins with.
_FIRST = ("1", "1st", "#1", "🥇")
# Counts, where 0 is a result one can reach ("failures 0"), unlike a time or a loss.
_COUNTED = (
    "fail error crash violation mismatch miss stall spill conflict retr timeout alloc warning bug regress diff "
    "leak drop unmet issue todo gap remaining"
).split()


def run_of(record: Record, layout: RecordLayout, *, file: str, kind: str, segment: int) -> Run:
    """One record as a run."""
    status, outcome = _decided(record, layout)
    fields = _fields(record, layout)
    checks = tuple(Check(n, check_outcome(c)) for n, c in fields["check"])
    if outcome in (None, Outcome.OTHER) and any(c.outcome == "failed" for c in checks):
        outcome = Outcome.CHECKS_FAILED
    metrics = {n: _metric(n, c, layout, outcome) for n, c in fields["metric"]}
    _add_spreads(metrics, layout.primary, json_in(record.cells.get(_SAMPLES, ""), list))
    aim = metrics.get(layout.primary)
    if outcome is not Outcome.KEPT and aim and aim.value is None:
        # Nothing was measured, so a 0 beside it measures nothing either.
        unmeasured = {n: m for n, m in metrics.items() if m.value == 0}
        metrics |= {n: structs.replace(m, value=None, raw="0") for n, m in unmeasured.items()}
        if aim.raw.lower() == "nan" and outcome is Outcome.OTHER and not is_status(status):
            # A word of its own beside a figure that is none: the run broke.
            outcome = Outcome.CRASHED
    return Run(
        Origin(record.file or file, record.line.number, record.line.digest),
        kind,
        segment=segment,
        status=status,
        outcome=outcome,
        primary=layout.primary,
        metrics=tuple(metrics.values()),
        checks=checks,
        **_words(fields, record.day),
    )


def _fields(record: Record, layout: RecordLayout) -> Mapping[str, list[tuple[str, str]]]:
    """What a record says, by the role of its fields; without what says nothing."""
    fields = defaultdict(list)
    for name, raw in record.cells.items():
        role = layout.roles.get(name, "note")
        cell = _unquoted(raw) if role in ("text", "reason") else bare(_unquoted(raw))
        role = "id" if role == "label" and not fields["id"] else role
        if role == "metric" or cell and (role == "lever" or cell.strip("-–— ")):
            fields[role].append((name, cell))
    return fields


def _words(fields: Mapping[str, list[tuple[str, str]]], day: str) -> dict[str, object]:
    """What a record says in words, and its settings; one that says nothing of itself is described by these. What no field took is a note."""
    notes = {r: cells[r in _FIELDS :] for r, cells in fields.items() if r not in _OTHERWISE}
    notes["time"] = [x for x in fields["time"] if x in notes.get("time", ()) or not moment(x[1])]
    words = {field: fields[role][0][1] for role, field in _FIELDS.items() if fields[role]}
    levers = tuple(x for n, c in fields["lever"] for x in _levers(n.removeprefix("params_"), c))
    code, label = words.get("code", ""), words.get("label", "") or words.get("code", "")
    called = label if any(map(str.isalpha, label)) else ", ".join(x.text for x in levers)[:300]
    return {
        **words,
        "label": label,
        "levers": levers,
        "code": "" if code.lower() in _NO_CODE else code,
        "created": moment(words.get("created")) or day,
        "description": words.get("description") or called,
        "models": tuple(c for _, c in fields["models"]),
        "tokens": next((int(c) for _, c in fields["tokens"] if c.isdecimal()), None),
        "notes": tuple(chain.from_iterable(notes.values())),
    }


def _add_spreads(metrics: dict[str, Metric], primary: str, samples: Sequence[object]) -> None:
    """`x_stddev` beside `x` is its spread, `stddev` alone that of the column before it, and so are the samples of what is judged."""
    for name in [n for n in metrics if f"_{n}".endswith(_SPREADS)]:
        before = [primary, *metrics][[*metrics].index(name)]
        of, spread = metrics.get(name.rpartition("_")[0] or before), metrics[name].value
        if of and of.value is not None and spread is not None:
            del metrics[name]
            metrics[of.name] = structs.replace(of, stddev=of.stddev or spread)
    aim, values = metrics.get(primary), [v for x in samples if (v := to_float(x)) is not None]
    if aim and aim.value is not None and len(values) > 1:
        metrics[primary] = structs.replace(aim, stddev=stdev(values), n=len(values))


def _metric(name: str, cell: str, layout: RecordLayout, outcome: Outcome | None) -> Metric:
    """One figure, the primary one in its own unit; a sentinel is a metric without value that keeps what the log shows."""
    quantity, primary = quantity_of(cell), name == layout.primary
    unit = layout.unit if primary else unit_of(name)
    direction = layout.direction if primary else direction_of(name)
    mine, whole = known_unit(quantity.unit if quantity else ""), known_unit(unit)
    if primary and mine and whole and mine.dimension == whole.dimension:
        value = quantity.value * mine.factor / whole.factor if mine != whole else quantity.value
        quantity = quantity._replace(value=value, unit=unit)
    unit = quantity and quantity.unit or unit
    counted = not primary or is_count(name)
    if not quantity or math.isnan(quantity.value):
        return Metric(name, None, unit, direction, raw=cell)
    if is_sentinel(quantity.value, outcome=outcome, direction=direction, counted=counted):
        return Metric(name, None, unit, direction, raw=cell)
    return Metric(name, quantity.value, unit, direction, stddev=quantity.spread)


@lru_cache(4096)
def is_count(name: str) -> bool:
    """Whether a metric counts something that may be none."""
    return any(word in "_".join(words_of(name)) for word in _COUNTED)


def _decided(record: Record, layout: RecordLayout) -> tuple[str, Outcome | None]:
    """Status of a record as written, and its outcome."""
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
    outcome = layout.wins.get(head_of(status)) or outcome_in(name, status)
    answered = outcome is not outcome_of(bare(status)) and not layout.wins
    if outcome is Outcome.DISCARDED and name in layout.ends:
        # `KILLED` in a column of states says how the run ended.
        outcome = Outcome.OTHER
    if answered and outcome is Outcome.DISCARDED:
        # A `no` only says that it was not kept; its reason may say that it broke, or what stopped it.
        reasons = [c for n, c in record.cells.items() if own_word(key_of(n)) in REASON]
        reasons += [status.partition(" ")[2], *[*cells.values()][1:]]
        outcome = next(filter(None, map(fault_of, reasons)), outcome)
    # What broke or was stopped says so itself; below another name it would read as kept.
    return f"{name}: {status}" if answered and outcome in DECIDED else status, outcome


def _undeclared(record: Record, layout: RecordLayout) -> tuple[str, Outcome] | None:
    """What became of a record where no status says it: a field says that it broke, or a word stands in the place of its figure."""
    for name, cell in record.cells.items():
        if key_of(name) in _FAULTS and bare(cell).lower() not in {"", *_SOUND}:
            return "crash", Outcome.CRASHED
        if layout.roles.get(name) == "metric" and not quantity_of(cell):
            outcome = outcome_of(bare(cell))
            if outcome not in (Outcome.OTHER, Outcome.KEPT):
                return cell, outcome
    if layout.statuses:
        return None
    worded = [c for n, c in record.cells.items() if layout.roles.get(n) in ("text", "reason")]
    # `discard — overfits`, and `Tied the weights; diverged, reverted`, where no column decides.
    opening = next(
        (m[1] for c in worded if (m := _OPENING.match(c)) and outcome_of(m[1]) in DECIDED), ""
    )
    word = opening or closing([x for c in worded for x in CLAUSES.split(c)[1:]])
    return (word, outcome_of(word)) if word else None


def _unquoted(cell: str) -> str:
    """A cell without the quotes that a CSV writer put around it: `"{""a"": 1}"`; any other quote is a plain character."""
    cell = cell.strip()
    inner = cell[1:-1]
    if len(cell) > 1 and cell[0] == cell[-1] == '"' and '"' not in inner.replace('""', ""):
        return inner.replace('""', '"')
    return cell


def json_in(cell: str, kind: type[T]) -> T:
    """The JSON object or list that a cell holds; an empty one where it holds none of that kind."""
    try:
        value = json_of(cell) if cell else None
    except (ValueError, RecursionError):
        value = None
    return value if isinstance(value, kind) else kind()


def _levers(name: str, cell: str) -> list[Lever]:
    """A setting; a field of many settings (`seq=1024|batch=1`, or a JSON object) gives one lever each."""
    if key_of(name) not in SETTINGS:
        return [Lever(name, cell)]
    if cell.startswith("{"):
        return [Lever(k, str(v)) for k, v in json_in(cell, dict).items()] or [Lever(name, cell)]
    parts = [p.strip() for p in cell.replace(";", "|").replace(",", "|").split("|")]
    return [Lever(*p.split("=", 1)) if "=" in p else Lever(p) for p in parts if p]


def events_of(
    tables: Iterable[RecordTable], ask: Ask, *, file: str, kind: str
) -> Iterator[Segment | Run | Remark]:
    """Segments, what is doubtful about them, and their runs. Tables of one metric (of one header, where none is known) are one segment, but
    for a ranking that begins anew and where the notation itself parts them.
    """
    index, before, labels = -1, None, set()
    for table in tables:
        begun, events = split_sample(iter(table.records))
        sample = [e for e in begun if isinstance(e, Record)]
        names = table.names or list(dict.fromkeys(n for r in sample for n in r.cells))
        layout, attempt = _interpreted(replace(table, names=names), sample, ask)
        runs = [*filter(attempt, sample)]
        layout = informed(layout, runs, [_decided(r, layout)[1] for r in runs])
        keys = (layout.primary, () if layout.primary else tuple(map(key_of, names)))
        here = _labels(sample, layout)
        anew = here[0] in labels or layout.ranked and here[0] in _FIRST if here else False
        again = not anew or layout.statuses and not layout.ranked
        further = keys == before and bool(again) and not table.others
        index, before = index + (not further), keys
        labels = {*here, *(labels if further else ())}
        if further:
            message = "a further table of the same metric; read as one segment with the one above"
            yield Remark(message, table.line)
        else:
            yield _segment_of(table, runs, layout, index)
        doubts = {
            layout.doubt: bool(layout.doubt) and layout.tells and not further,
            layout.inferred: bool(layout.inferred),
            "no rows below the header: 0 runs": bool(table.names) and not sample,
            UNTOLD: not layout.tells,
        }
        yield from (Remark(doubt, table.line) for doubt, holds in doubts.items() if holds)
        for event in events:
            if isinstance(event, Record) and attempt(event) and layout.tells:
                yield from _run_or_remark(event, layout, index, file=file, kind=kind)
            elif isinstance(event, Remark):
                yield event
            elif not attempt(event):
                yield Remark(_NO_RUN, event.line.number)
    if index < 0:
        yield Segment(0, 1, judged=False)
        yield Remark("nothing in it tells of a run; read as text")


def _labels(sample: Sequence[Record], layout: RecordLayout) -> list[str]:
    """The numbers or ranks of some records."""
    named = [*layout.names("id"), *layout.names("rank")][:1]
    return [r.cells.get(n, "") for n in named for r in sample]


def _segment_of(
    table: RecordTable, sample: Sequence[Record], layout: RecordLayout, index: int
) -> Segment:
    """The segment of a table; where most records say nothing and none was kept, what was kept is not known."""
    decided = [_decided(r, layout) for r in sample]
    stated = sum(bool(status) for status, _ in decided)
    few = 2 * stated < len(sample) and all(o is not Outcome.KEPT for _, o in decided)
    above = bool(sample and sample[0].status)
    judged = above or bool(layout.statuses or layout.ranked) and not layout.search and not few
    aim = (layout.primary, layout.unit, layout.direction, layout.source)
    return Segment(index, table.line, table.heading, *aim, judged, layout.search)


def _interpreted(
    table: RecordTable, sample: Sequence[Record], ask: Ask
) -> tuple[RecordLayout, Callable[[Record], bool]]:
    """Layout of the records that are runs, and which these are. What most runs do not have is nothing to judge by."""
    layout = table.layout or layout_of(table, sample, ask=ask)
    filled = Counter(n for r in sample for n in layout.names("metric") if r.cells.get(n))
    shared = {n for n, times in filled.items() if 2 * times > len(sample) > 1}
    # One object alone is alike by itself: settings, or what describes another file.
    alone = bool(table.least) and len(sample) == 1
    if table.others or not alone and all(len(r.cells) == len(table.names) for r in sample):
        return layout, lambda record: True

    def attempt(record: Record) -> bool:
        return _is_run(record, layout, shared)

    runs = [*filter(attempt, sample)]
    anew = not table.layout and len(runs) < len(sample)
    return layout_of(table, runs, ask=ask) if anew else layout, attempt


def _is_run(record: Record, layout: RecordLayout, shared: set[str]) -> bool:
    """Whether a record is an attempt: it has a status, a number, or the measurement that most have."""
    filled = {n for n, cell in record.cells.items() if cell}
    if record.status or layout.ranked or filled & {*layout.statuses}:
        return True
    return bool(filled & (shared | {*layout.names("id")}))


def _run_or_remark(
    record: Record, layout: RecordLayout, segment: int, *, file: str, kind: str
) -> Iterator[Run | Remark]:
    """A run, and what is doubtful about it; or why a record is none."""
    if record.whole:
        yield record.whole
        return
    run = run_of(record, layout, file=file, kind=kind, segment=segment)
    content = [run.label, run.code, *(m.raw if m.value is None else "0" for m in run.metrics)]
    # `no effect at all` stands for a figure.
    says = any(ch.isdigit() or ch == " " for x in content for ch in x)
    unnumbered = "id" in layout.roles.values() and not any(map(str.isalnum, run.label))
    # On a leaderboard a row of figures that nothing names sums up the others.
    nameless = layout.ranked and unnumbered and not (run.description or run.code)
    if nameless or (
        layout.primary
        and (run.outcome is None or unnumbered and run.outcome is Outcome.OTHER)
        and not says
    ):
        lacks = "a name" if nameless else "a figure or an outcome"
        yield Remark(f"a row without {lacks}; no run", record.line.number)
        return
    if run.primary and run.value is None:
        message = f"no measurement under '{run.primary}' (a sentinel or no plain number); left out of best"
        yield Remark(message, record.line.number)
    yield run
