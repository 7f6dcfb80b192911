"""cProfile's dump (`python -m cProfile -o FILE`, pstats) to costs: self time by function. Runs nothing that stands in the file.

The dump is a marshalled table; only the few kinds of values that such a table holds are read, so that a file made to harm finds no door.
"""

import io
import struct
from typing import TextIO

from kb import KbError
from kb.profiles.buckets import file_label
from kb.profiles.registry import Format
from kb.profiles.table import Cost, Reading

_REFERENCE = 0x80
# Kinds of text and of tuples by how many bytes tell their length.
_TEXTS = {"u": 4, "t": 4, "a": 4, "A": 4, "s": 4, "z": 1, "Z": 1}
_TUPLES = {"(": 4, ")": 1}
_DEEPEST = 20
_END = object()


class _Table(io.BytesIO):
    """A marshalled value under reading."""

    def __init__(self, data: bytes):
        super().__init__(data)
        self.known: list[object] = []

    def take(self, size: int) -> bytes:
        data = self.read(max(0, size))
        if len(data) != size:
            raise ValueError("it ends in the middle of a value")
        return data

    def number(self, size: int) -> int:
        return int.from_bytes(self.take(size), "little", signed=size == 4)

    def value(self, depth: int = 0) -> object:
        mark, place = self.take(1)[0], len(self.known)
        if depth > _DEEPEST:
            raise ValueError("values nested too deeply")
        self.known += [None] if mark & _REFERENCE else []
        value = self.plain_value(chr(mark & ~_REFERENCE), depth + 1)
        if mark & _REFERENCE:
            self.known[place] = value
        return value

    def plain_value(self, kind: str, depth: int) -> object:
        if kind in _TEXTS:
            encoding = "utf-8" if kind in "ut" else "latin-1"
            return self.take(self.number(_TEXTS[kind])).decode(encoding, "replace")
        if kind in _TUPLES:
            return tuple(self.value(depth) for _ in range(self.number(_TUPLES[kind])))
        match kind:
            case "{":
                return dict(iter(lambda: self.pair(depth), _END))
            case "0":
                return _END
            case "r":
                return self.known[self.number(4)]
            case "i":
                return self.number(4)
            case "g":
                return struct.unpack("<d", self.take(8))[0]
            case "l":
                size = self.number(4)
                whole = sum(self.number(2) << 15 * n for n in range(abs(size)))
                return whole if size > 0 else -whole
        raise ValueError(f"a value of kind {kind!r}, which no profile holds")

    def pair(self, depth: int) -> object:
        key = self.value(depth)
        return _END if key is _END else (key, self.value(depth))


def is_dump(data: bytes) -> bool:
    """Whether bytes begin as a table whose keys are (file, line, function)."""
    keyed = (b")\x03", b"\xa9\x03", b"(\x03\0\0\0", b"\xa8\x03\0\0\0")
    return data[:1] in (b"{", b"\xfb") and data[1:6].startswith(keyed)


def cprofile(stream: TextIO, label: str) -> Reading:
    """Functions with their own time in ms. Raises KbError where the file holds another table, or is cut off."""
    costs = []
    try:
        for (file, _, function), row in _Table(stream.read().encode("latin-1")).value().items():
            own, category = float(row[2]) * 1000, file_label(file) if file not in ("~", "") else ""
            name = f"{function} ({category})" if category else str(function)
            costs.append(Cost(name, own, own, int(row[1]), category, is_place=True))
    except (ValueError, TypeError, AttributeError, IndexError) as error:
        raise KbError(
            f"{label}: no dump of cProfile ({error}); write it with `python -m cProfile -o FILE`"
        ) from error
    return Reading("cprofile", "host", "ms", tuple(costs))


FORMATS = (Format("cprofile", "cProfile and pstats dumps", cprofile, data=is_dump),)
