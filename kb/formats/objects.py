"""Lines of JSON objects as loops leave them: damaged lines are mended where the meaning is certain, else reported, never fatal."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from kb.formats.reading import Line, Remark, is_conflict_mark, lines_of

Json = dict[str, object]

_DECODER = json.JSONDecoder()
# `"delta_pct":+170` is no JSON; the plus sign says nothing, so it is read over.
_PLUS = re.compile(r"([:\[,]\s*)\+(?=[\d.])")
_TRAILING_COMMA = re.compile(r",(\s*[}\]])")


@dataclass(frozen=True, slots=True)
class Row:
    """One JSON object and the line it stands on."""

    line: Line
    said: Json


def rows_of(path: Path) -> Iterator[Row | Remark]:
    """JSON objects of a log: one or several a line; a file that is one object or one array over many lines is read whole."""
    if _is_whole(path):
        yield from _rows_of_whole(path)
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
            continue
        yield from _rows_of_line(line, text)


def _is_whole(path: Path) -> bool:
    """Whether the file is one JSON value over many lines rather than a value a line."""
    first = next((x.text.strip() for x in lines_of(path) if isinstance(x, Line) and x.text.strip()), "")
    if first in ("{", "["):
        return True
    return first.startswith(("{", "[")) and path.suffix.lower() == ".json" and objects_of(first) is None


def _rows_of_whole(path: Path) -> Iterator[Row | Remark]:
    text = "\n".join(x.text for x in lines_of(path) if isinstance(x, Line))
    at = text.find("[") + 1 if text.lstrip().startswith("[") else 0
    number, counted = 1, 0
    while match := re.compile(r"[\s,]*(?=\{)").match(text, at):
        number += text.count("\n", counted, match.end())
        counted = match.end()
        try:
            said, at = _DECODER.raw_decode(text, match.end())
        except (ValueError, RecursionError):
            yield Remark("not valid JSON from here on; the rest was skipped", number)
            return
        yield Row(Line(number, text[match.end() : at]), said)


def _rows_of_line(line: Line, text: str) -> Iterator[Row | Remark]:
    found = objects_of(text)
    if found is None:
        found = objects_of(_TRAILING_COMMA.sub(r"\1", _PLUS.sub(r"\1", text)))
        if found is None:
            yield Remark("not valid JSON; the line was skipped", line.number)
            return
        yield Remark("not valid JSON, but certain in meaning; mended and read", line.number)
    for said in found:
        if isinstance(said, dict):
            yield Row(line, said)
        else:
            yield Remark("JSON, but no object; the line was skipped", line.number)


def objects_of(text: str) -> list[object] | None:
    """The JSON values that a line holds one after the other, or None where it is no JSON."""
    found: list[object] = []
    at = 0
    while at < len(text):
        try:
            value, at = _DECODER.raw_decode(text, at)
        except (ValueError, RecursionError):
            return None
        found.append(_sound(value) if "\\ud" in text.lower() else value)
        while at < len(text) and text[at] in " \t,":
            at += 1
    return found


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


def first_of(said: Json, names: tuple[str, ...]) -> object:
    """The first value among several keys that is there and not null."""
    return next((said[name] for name in names if said.get(name) is not None), None)
