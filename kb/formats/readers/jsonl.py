"""JSON lines of any other loop: rounds, trials, sweeps. Keys are told by what they mean; what is not recognised becomes a note.

Optuna-style trials are of this kind. Refuses to name a primary metric that most rows do not have.
"""

import json
import re
import tomllib
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

from kb import KbError, grouped
from kb.formats.columns import BESIDE, DELTAS, SETTINGS, ask_in, is_held_out, key_words
from kb.formats.layout import Record, RecordTable
from kb.formats.outline import KINDS
from kb.formats.reading import (
    Ask,
    LogLine,
    Remark,
    is_conflict_mark,
    lines_of,
    split_sample,
    text_lines,
)
from kb.formats.registry import Event, LogFormat
from kb.formats.table import events_of
from kb.run.direction import word_set
from kb.run.status import is_status

Json = dict[str, object]
# An object and the line that it stands on.
JsonRow = tuple[LogLine, Json]

_DECODER = json.JSONDecoder()
# `"delta_pct":+170` is no JSON; the plus sign says nothing, so it is read over, as a last comma is.
_ODD = re.compile(r"(?<=[:\[,])(\s*)\+(?=[\d.])|,(?=\s*[}\]])")
# YAML and TOML are read whole, and slowly; a larger log is no list that somebody wrote.
_LARGEST = 8_000_000
LISTS = (".yaml", ".yml", ".toml")


def opens_json(head: Sequence[str]) -> bool:
    """Whether the first line that says anything begins an object or a list of values, and no `[2026-01-05] …`."""
    return bool(head) and bool(re.match(r"\s*(?:\{|\[\s*(?:[\[{\"]|$))", head[0]))


def rows_of(path: Path) -> Iterator[JsonRow | Remark]:
    """Objects of a log: one or several a line; a file that is one object, array or list over many lines is read whole.

    What such a file says around its list of runs comes first, as an object on line 0.
    """
    first, *more = [*islice((x.text.strip() for x in text_lines(path) if x.text.strip()), 2), ""][
        :2
    ]
    opens = path.suffix.lower() == ".json" and opens_json([first])
    broken = opens and (not any(more) or values_of(first) is None)
    if path.suffix.lower() in LISTS:
        yield from _rows_of_list(path, path.suffix.lower())
    elif first in ("{", "[") or broken:
        text = "\n".join(x.text for x in text_lines(path))
        rows = list(_rows_of_whole(text))
        alone = rows[0][1] if len(rows) == 1 and isinstance(rows[0], tuple) else {}
        yield from _rows_within(alone, text) if _runs_in(alone) else rows
    else:
        for line in lines_of(path):
            yield from [line] if isinstance(line, Remark) else _rows_of_line(line)


def _rows_of_list(path: Path, suffix: str) -> Iterator[JsonRow | Remark]:
    """Rows of a list that somebody wrote in YAML or TOML."""
    import yaml

    if path.stat().st_size > _LARGEST:
        raise KbError(
            f"{path}: more than {_LARGEST // 1_000_000} MB; convert it to JSON lines first"
        )
    text = "\n".join(x.text for x in text_lines(path))
    try:
        value = tomllib.loads(text) if suffix == ".toml" else yaml.load(text, yaml.CSafeLoader)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        yield Remark(
            f"not valid {suffix[1:].upper()} ({' '.join(str(error).split())[:120]}); nothing was read"
        )
        return
    yield from _rows_within(value if isinstance(value, dict) else {"": value}, text)


# Under such a name stands what has not begun.
_AHEAD = word_set("queue planned plan todo backlog next ideas pending")


def _runs_in(value: object) -> object:
    """What of an object holds runs: objects that are alike, in a list or by name, those that are called runs before the most, at any depth, or
    the whole; None where nothing does.
    """
    if not isinstance(value, dict):
        return None
    begun = {k.lower(): v for k, v in value.items() if k.lower() not in _AHEAD}
    lists = {k: v for k, v in begun.items() if _alike(v)}
    inner = [v for k, v in lists.items() if k in KINDS] or [*lists.values()]
    further = filter(None, map(_runs_in, begun.values()))
    return max(inner or [value] * _alike(value) or further, key=len, default=None)


def _around(value: Json, runs: object) -> Json:
    """What an object says beside its runs."""
    beside = {k: v for k, v in value.items() if v is not runs}
    return {k: _around(v, runs) if isinstance(v, dict) else v for k, v in beside.items()}


def _alike(value: object) -> bool:
    """Whether a value is several objects with a key in common."""
    inner = (
        [*value.values()] if isinstance(value, dict) else value if isinstance(value, list) else []
    )
    return (
        len(inner) > 1
        and all(isinstance(x, dict) for x in inner)
        and bool(set.intersection(*({*x} for x in inner)))
    )


def _rows_within(value: Json, text: str) -> Iterator[JsonRow]:
    """What an object says around its runs, then its runs, each with the line where its first value stands."""
    runs = _runs_in(value) or {}
    yield LogLine(0, ""), _around(value, runs)
    at = next((max(0, text.find(k)) for k, v in value.items() if v is runs and k), 0)
    items = (
        runs.items() if isinstance(runs, dict) else ((None, x) for x in runs if isinstance(x, dict))
    )
    for key, item in items:
        fields = item if key is None else {"id": key, **item}
        first = text_of(next(iter(fields.values()), ""))
        start = text.find(first, at)
        at = start + len(first) if start >= 0 else at
        yield LogLine(text.count("\n", 0, at) + 1, text_of(fields)), fields


def _rows_of_whole(text: str) -> Iterator[JsonRow | Remark]:
    """Objects one after the other, in a list or not."""
    at, number, counted = 0, 1, 0
    while (at := text.find("{", at)) >= 0:
        number += text.count("\n", counted, at)
        start = at
        try:
            value, at = _DECODER.raw_decode(text, at)
        except (ValueError, RecursionError):
            yield Remark("not valid JSON from here on; the rest was skipped", number)
            return
        yield LogLine(number, text[start:at]), value
        number += text.count("\n", start, at)
        counted = at


def _rows_of_line(line: LogLine) -> Iterator[JsonRow | Remark]:
    text = line.text.strip().rstrip(",")
    if not text or text in "[]" or text.startswith(("#", "//")):
        return
    if is_conflict_mark(text):
        yield Remark("a merge left its marks; both sides are read", line.number)
        return
    values = values_of(text)
    if values is None:
        values = values_of(_ODD.sub(r"\1", text))
        if values is None:
            yield Remark("not valid JSON; the line was skipped", line.number)
            return
        yield Remark("not valid JSON, but certain in meaning; mended and read", line.number)
    for value in values:
        if isinstance(value, dict):
            yield line, value
        else:
            yield Remark("JSON, but no object; the line was skipped", line.number)


def values_of(text: str) -> list[object] | None:
    """The JSON values that a line holds one after the other, or None where it is no JSON."""
    values: list[object] = []
    at = 0
    while at < len(text):
        try:
            value, at = _DECODER.raw_decode(text, at)
        except (ValueError, RecursionError):
            return None
        values.append(_sound(value) if "\\ud" in text.lower() else value)
        while at < len(text) and text[at] in " \t,":
            at += 1
    return values


def _sound(value: object) -> object:
    """A JSON value without halves of surrogate pairs, which no file can hold."""
    text = json.dumps(value, ensure_ascii=False).encode("utf-16", "surrogatepass")
    return json.loads(text.decode("utf-16", "replace"))


def objects_in(head: Sequence[str]) -> list[Json]:
    """The JSON objects of the first lines of a file; empty where it is of another kind."""
    texts = [h.strip().rstrip(",") for h in head if h.lstrip().startswith("{")]
    return [v for text in texts for v in values_of(text) or () if isinstance(v, dict)]


def text_of(value: object) -> str:
    """A JSON value as text: strings as they are, everything else as JSON."""
    if isinstance(value, str):
        return value
    return "" if value is None else json.dumps(value, ensure_ascii=False, default=str)


_MEASURES = "results metrics metrics_after after result scores values measurements".split()
# What hyperfine measures of a command is seconds.
_TIMED = {"command", "mean", "stddev"}


def cells_of(value: Json) -> dict[str, str]:
    """An object as the cells of a table: what it measured first, nested objects last and by their own names, settings as `params_x`."""
    cells: dict[str, str] = {}
    if value.keys() >= _TIMED:
        value = {f"{k}_s" if isinstance(v, float) else k: v for k, v in value.items()}
    for key, raw in sorted(
        value.items(), key=lambda field: (field[0] not in _MEASURES, isinstance(field[1], dict))
    ):
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
    sample, rows = split_sample(rows_of(path))
    objects = [r for r in sample if isinstance(r, tuple)]
    # Of a log of events, runs are those that say most.
    amounts = Counter(e for _, v in objects for e in [_event(v)] * len(v) if e)
    other = {e for e, _ in amounts.most_common()[1:]}
    names = {n: None for line, value in objects if line.number for n in cells_of(value)}
    names = sorted(names, key=lambda n: not is_held_out(n))
    # What stands around a list of runs may say what they are judged by; a lone line only which way.
    first, head = objects[0] if objects else (LogLine(1, ""), {})
    stated = ask_in(cells_of(head), names)
    stated = Ask(stated.direction) if first.number else stated
    rows = _entries_of(rows) if _is_ledger(objects) else rows
    records = (
        r if isinstance(r, Remark) else Record(r[0], cells_of(r[1]))
        for r in rows
        if isinstance(r, Remark) or r[0].number and _event(r[1]) not in other
    )
    table = RecordTable(records, names, stated=stated, least=0.5)
    yield from events_of([table], ask, file=path.name, kind="jsonl")


def _is_ledger(objects: Sequence[JsonRow]) -> bool:
    """Whether every id stands again with other fields: what was registered first is told later."""
    fields = grouped((text_of(value.get("id")), {*value}) for _, value in objects)
    return "" not in fields and all(f[0] - f[-1] and f[-1] - f[0] for f in fields.values())


def _entries_of(rows: Iterator[JsonRow | Remark]) -> Iterator[JsonRow]:
    """The rows of a ledger, one an id, as the last of them left it."""
    for same in grouped(
        (text_of(r[1].get("id")), r) for r in rows if isinstance(r, tuple)
    ).values():
        yield same[-1][0], {k: v for _, value in same for k, v in value.items()}


def _event(value: Json) -> str:
    """The kind of event that an object says it is, where that is no status."""
    event = text_of(value.get("event"))
    return "" if is_status(event) else event


def _is_json(path: Path, head: Sequence[str]) -> bool:
    return bool(head) and (path.suffix.lower() in LISTS or opens_json(head))


FORMATS = (LogFormat("jsonl", _is_json, read, order=14, aliases=("optuna", "optuna-jsonl")),)
