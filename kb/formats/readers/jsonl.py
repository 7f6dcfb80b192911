"""JSON lines of any other loop: rounds, trials, sweeps. Keys are told by what they mean; what is not recognised becomes a note.

Optuna-style trials are of this kind. Refuses to name a primary metric that most rows do not have.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from kb.formats.columns import (
    BESIDE,
    DELTAS,
    REASON,
    SETTINGS,
    TEXT,
    ColumnRole,
    is_held_out,
    key_words,
)
from kb.formats.layout import RecordLayout, layout_of
from kb.formats.objects import LISTS, Json, JsonRow, is_chat, opens_json, rows_of, text_of, value_at
from kb.formats.reading import Ask, Remark, split_sample
from kb.formats.registry import Event, LogFormat
from kb.formats.table import Record, runs_of
from kb.run.direction import direction_from, word_set

_MEASURES = "results metrics metrics_after after result scores values measurements".split()
# Words of a field that says which way is better.
_WAYS = word_set("direction mode goal better optimize optimise objective sense")
# What hyperfine measures of a command is seconds.
_TIMED = {"command", "mean", "stddev"}


def cells_of(value: Json) -> dict[str, str]:
    """An object as the cells of a table: what it measured first, nested objects by their own names, settings as `params_x`."""
    cells: dict[str, str] = {}
    if value.keys() >= _TIMED:
        value = {f"{k}_s" if isinstance(v, float) else k: v for k, v in value.items()}
    for key, raw in sorted(value.items(), key=lambda item: item[0] not in _MEASURES):
        if isinstance(raw, list) and raw and all(isinstance(x, dict) for x in raw):
            raw = raw[0]
        if not isinstance(raw, dict) or not raw:
            cells.setdefault(key, text_of(raw))
        elif key in SETTINGS:
            cells |= {f"params_{k}": text_of(v) for k, v in raw.items()}
        else:
            beside = (BESIDE | DELTAS) & key_words(key)
            cells |= {
                f"{key}_{k}" if beside or k in cells or k in value else k: v
                for k, v in cells_of(raw).items()
            }
    return cells


def layout_of_objects(cells: Sequence[dict[str, str]], stated: Ask, ask: Ask) -> RecordLayout:
    """Layout of a sample of objects."""
    names = sorted(dict.fromkeys(n for row in cells for n in row), key=lambda n: not is_held_out(n))
    forced = {n: ColumnRole.LEVER for n in names if n.startswith("params_")}
    return layout_of(names, cells, ask=ask, stated=stated, forced=forced, least=len(cells) / 2)


def _is_run(cells: dict[str, str], layout: RecordLayout, shared: frozenset[str]) -> bool:
    """Whether an object is an attempt: it has a status, or a name, number or date beside a measurement."""

    def says(role: ColumnRole) -> bool:
        return any(cells.get(n) for n in layout.names(role))

    if any(cells.get(n) for n in layout.statuses):
        return True
    measured = {n for n in layout.names(ColumnRole.METRIC) if cells.get(n)}
    if says(ColumnRole.ID) and (measured or says(ColumnRole.LEVER)):
        return True
    return bool(measured & shared)


def read(path: Path, ask: Ask) -> Iterator[Event]:
    """One segment, and the runs and remarks of a log, in file order."""
    sample, rows = split_sample(rows_of(path))
    objects = [r for r in sample if isinstance(r, JsonRow)]
    cells = [cells_of(o.value) for o in objects if o.line.number]
    # What stands around a list of runs may say what they are judged by; a lone line only which way.
    head = cells_of(objects[0].value) if objects else {}
    around = bool(objects) and not objects[0].line.number
    stated = _ask_of(head, {n for c in cells for n in c}, around=around)
    layout = layout_of_objects(cells, stated, ask)
    counts = {n: sum(bool(c.get(n)) for c in cells) for n in layout.names(ColumnRole.METRIC)}
    shared = frozenset(n for n, k in counts.items() if len(cells) > 1 and 2 * k > len(cells))
    # What most of the objects that are runs do not have is nothing to judge by.
    runs = [c for c in cells if _is_run(c, layout, shared)]
    layout = layout_of_objects(runs, stated, ask)
    in_prose = _tells_results(cells, runs)
    if in_prose:
        layout = replace(layout_of_objects(cells, stated, ask), tells=True)

    def records() -> Iterator[Record | Remark]:
        for row in rows:
            if isinstance(row, Remark):
                yield row
            elif not row.line.number:
                continue
            elif _is_run(mine := cells_of(row.value), layout, shared) or in_prose:
                yield Record(row.line, mine)
            else:
                message = "an object that is no run (no status, no number and measurement); skipped"
                yield Remark(message, row.line.number)

    segment = layout.segment(0, 1)
    yield from runs_of(records(), layout, segment, file=path.name, kind="jsonl")
    if layout.tells and not layout.aim:
        yield Remark("no metric that the rows have in common; best is left open")


def _tells_results(cells: Sequence[dict[str, str]], runs: Sequence[dict[str, str]]) -> bool:
    """Whether objects of which none is a run by its figures are entries in prose: each has a name, words on its result, and words on what was done or learned."""
    keys = set.intersection(*map(set, cells)) if len(cells) > 1 else set()
    results = [c[k] for k in keys & {"result", "results", "outcome"} for c in cells]
    beside = keys & {*REASON, *TEXT, "setup"}
    return (
        not runs and len(beside) > 1 and sum(len(r.split()) > 2 for r in results) * 2 > len(cells)
    )


def _ask_of(head: Mapping[str, str], names: set[str], *, around: bool) -> Ask:
    """What an object says of the runs beside or behind it: which way is better, and the one of their fields that it names."""
    ways = [direction_from(v) for n, v in head.items() if _WAYS & key_words(n)]
    named = [v for n, v in head.items() if v in names and n not in names] if around else []
    metric = text_of(value_at(head, "metric", "primary_metric", "metric_name")) if around else ""
    return Ask(next(filter(None, ways), None), next(iter(named), metric))


def _is_json(path: Path, head: Sequence[str]) -> bool:
    objects = path.suffix.lower() in LISTS or opens_json(head)
    return bool(head) and objects and not is_chat(path)


FORMATS = (LogFormat("jsonl", _is_json, read, order=14, aliases=("optuna", "optuna-jsonl")),)
