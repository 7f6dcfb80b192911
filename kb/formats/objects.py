"""Lines of JSON objects as loops leave them: damaged lines are mended where the meaning is certain, else reported, never fatal."""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from kb.formats.reading import Line, Remark, is_conflict_mark, lines_of, text_lines

Json = dict[str, object]

_DECODER = json.JSONDecoder()
# `"delta_pct":+170` is no JSON; the plus sign says nothing, so it is read over, as a last comma is.
_ODD = re.compile(r"(?<=[:\[,])(\s*)\+(?=[\d.])|,(?=\s*[}\]])")


@dataclass(frozen=True, slots=True)
class JsonRow:
    """One JSON object and the line it stands on."""

    line: Line
    value: Json


def rows_of(path: Path) -> Iterator[JsonRow | Remark]:
    """JSON objects of a log: one or several a line; a file that is one object or one array over many lines is read whole."""
    first = next((x.text.strip() for x in text_lines(path) if x.text.strip()), "")
    broken = first.startswith(("{", "[")) and path.suffix.lower() == ".json" and values_of(first) is None
    if first in ("{", "[") or broken:
        text = "\n".join(x.text for x in text_lines(path))
        rows = list(_rows_of_whole(text, 0))
        inner = _list_in(rows[0].value) if len(rows) == 1 and isinstance(rows[0], JsonRow) else ""
        if inner:
            yield from _rows_of_whole(text, text.find("[", text.find(f'"{inner}"')))
        else:
            yield from _named(rows)
        return
    for line in lines_of(path):
        if isinstance(line, Remark):
            yield line
            continue
        text = line.text.strip().rstrip(",")
        if not text or text in "[]" or text.startswith(("#", "//")):
            continue
        if is_conflict_mark(text):
            yield Remark("a merge left its marks; both sides are read", line.number)
        else:
            yield from _rows_of_line(line, text)


def _named(rows: list[JsonRow | Remark]) -> list[JsonRow | Remark]:
    """The rows of a file; where it is one object of objects alike, each of those under its name."""
    only = rows[0].value if len(rows) == 1 and isinstance(rows[0], JsonRow) else {}
    inner = {k: v for k, v in only.items() if isinstance(v, dict)}
    if len(inner) < 2 or len(inner) < len(only) or not set.intersection(*({*v} for v in inner.values())):
        return rows
    lines = {k: Line(rows[0].line.number, text_of({k: v})) for k, v in inner.items()}
    return [JsonRow(lines[k], {"id": k, **v}) for k, v in inner.items()]


def _list_in(value: Json) -> str:
    """The key under which an object of a whole file holds its runs: a list of several objects."""
    lists = {k: v for k, v in value.items() if isinstance(v, list) and len(v) > 1 and all(isinstance(x, dict) for x in v)}
    return max(lists, key=lambda k: len(lists[k]), default="")


def _rows_of_whole(text: str, at: int) -> Iterator[JsonRow | Remark]:
    """Objects one after the other, up to the end of the list that begins at `at`, if one does."""
    number, counted, listed = 1, 0, text[at : at + 1] == "["
    while (at := text.find("{", at)) >= 0:
        if listed and "]" in text[counted:at].rpartition("}")[2]:
            return
        number += text.count("\n", counted, at)
        start = at
        try:
            value, at = _DECODER.raw_decode(text, at)
        except (ValueError, RecursionError):
            yield Remark("not valid JSON from here on; the rest was skipped", number)
            return
        number += text.count("\n", start, at)
        counted = at
        yield JsonRow(Line(number - text.count("\n", start, at), text[start:at]), value)


def _rows_of_line(line: Line, text: str) -> Iterator[JsonRow | Remark]:
    values = values_of(text)
    if values is None:
        values = values_of(_ODD.sub(r"\1", text))
        if values is None:
            yield Remark("not valid JSON; the line was skipped", line.number)
            return
        yield Remark("not valid JSON, but certain in meaning; mended and read", line.number)
    for value in values:
        if isinstance(value, dict):
            yield JsonRow(line, value)
        else:
            yield Remark("JSON, but no object; the line was skipped", line.number)


def objects_in(head: Sequence[str]) -> list[Json]:
    """The JSON objects of the first lines of a file; empty where it is of another kind."""
    texts = [h.strip() for h in head if h.lstrip().startswith("{")]
    return [v for text in texts for v in values_of(text) or () if isinstance(v, dict)]


def is_json(head: Sequence[str]) -> bool:
    """Whether a file is of JSON, by its first line."""
    return bool(head) and head[0].lstrip().startswith(("{", "["))


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
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, list):
        return [_sound(v) for v in value]
    return {str(_sound(k)): _sound(v) for k, v in value.items()} if isinstance(value, dict) else value


def text_of(value: object) -> str:
    """A JSON value as text: strings as they are, everything else as JSON."""
    return value if isinstance(value, str) else "" if value is None else json.dumps(value, ensure_ascii=False)


def first_of(value: Json, names: Sequence[str]) -> object:
    """The first value among several keys that is there and not null."""
    return next((value[name] for name in names if value.get(name) is not None), None)
