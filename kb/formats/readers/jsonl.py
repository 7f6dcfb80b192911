"""JSON lines of any other loop: rounds, trials, sweeps. Keys are told by what they mean; what is not recognised becomes a note.

Optuna-style trials are of this kind. Refuses to name a primary metric that most rows do not have.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from kb.formats.columns import (
    BESIDE,
    DELTAS,
    SETTINGS,
    ColumnRole,
    is_held_out,
    key_words,
)
from kb.formats.layout import Record, RecordTable
from kb.formats.objects import LISTS, Json, JsonRow, is_chat, opens_json, rows_of, text_of, value_at
from kb.formats.reading import Ask, Remark
from kb.formats.registry import Event, LogFormat
from kb.formats.table import events_of
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


def read(path: Path, ask: Ask) -> Iterator[Event]:
    """One segment, and the runs and remarks of a log, in file order."""
    rows = list(rows_of(path))
    objects = [r for r in rows if isinstance(r, JsonRow)]
    records = [Record(o.line, cells_of(o.value)) for o in objects if o.line.number]
    names = sorted(
        dict.fromkeys(n for r in records for n in r.cells), key=lambda n: not is_held_out(n)
    )
    # What stands around a list of runs may say what they are judged by; a lone line only which way.
    head = cells_of(objects[0].value) if objects else {}
    stated = _ask_of(head, {*names}, around=bool(objects) and not objects[0].line.number)
    roles = {n: ColumnRole.LEVER for n in names if n.startswith("params_")}
    table = RecordTable(names, records, stated=stated, roles=roles, least=0.5)
    yield from events_of([(table, None)], ask, file=path.name, kind="jsonl")
    yield from (r for r in rows if isinstance(r, Remark))


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
