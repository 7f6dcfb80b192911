"""cProfile's dump (`python -m cProfile -o FILE`, pstats) to costs: self time by function. Runs nothing that stands in the file.

The dump is a marshalled table; only the few kinds of values that such a table holds are read, so that a file made to harm finds no door.
"""

import struct
from typing import TextIO

from kb import KbError
from kb.profiles.buckets import file_label
from kb.profiles.registry import Format
from kb.profiles.table import Cost, Reading

_REFERENCE = 0x80
# Kinds of text by how long their length is.
_TEXTS = {"u": 4, "t": 4, "a": 4, "A": 4, "s": 4, "z": 1, "Z": 1}
_TUPLES = {"(": 4, ")": 1}
_DEEPEST = 20


class _Table:
    """A marshalled value under reading."""

    def __init__(self, data: bytes):
        self.data, self.at = data, 0
        self.known: list[object] = []

    def take(self, size: int) -> bytes:
        if size < 0 or self.at + size > len(self.data):
            raise ValueError("it ends in the middle of a value")
        self.at += size
        return self.data[self.at - size : self.at]

    def number(self, size: int) -> int:
        return int.from_bytes(self.take(size), "little", signed=size == 4)

    def value(self, depth: int = 0) -> object:
        mark = self.take(1)[0]
        kind, place = chr(mark & ~_REFERENCE), len(self.known)
        if depth > _DEEPEST:
            raise ValueError("values nested too deeply")
        if mark & _REFERENCE:
            self.known.append(None)
        value = self._of(kind, depth)
        if mark & _REFERENCE:
            self.known[place] = value
        return value

    def _of(self, kind: str, depth: int) -> object:
        if kind in _TEXTS:
            return self.take(self.number(_TEXTS[kind])).decode(
                "utf-8" if kind in "ut" else "latin-1", "replace"
            )
        if kind in _TUPLES:
            return tuple(self.value(depth + 1) for _ in range(self.number(_TUPLES[kind])))
        if kind == "{":
            table = {}
            while (key := self.value(depth + 1)) is not _END:
                table[key] = self.value(depth + 1)
            return table
        match kind:
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
                digits = [self.number(2) for _ in range(abs(size))]
                return sum(digit << 15 * n for n, digit in enumerate(digits)) * (
                    1 if size > 0 else -1
                )
        raise ValueError(f"a value of kind {kind!r}, which no profile holds")


_END = object()


def is_dump(data: bytes) -> bool:
    """Whether bytes begin as a table whose keys are (file, line, function)."""
    keyed = (b")\x03", b"\xa9\x03", b"(\x03\0\0\0", b"\xa8\x03\0\0\0")
    return data[:1] in (b"{", b"\xfb") and data[1:6].startswith(keyed)


def cprofile(stream: TextIO, label: str) -> Reading:
    """Functions with their own time in ms. Raises KbError where the file holds another table, or is cut off."""
    try:
        table = _Table(stream.read().encode("latin-1")).value()
        costs = [_cost(key, row) for key, row in table.items()]
    except (ValueError, TypeError, AttributeError, IndexError) as error:
        raise KbError(
            f"{label}: no dump of cProfile ({error}); write it with `python -m cProfile -o FILE`"
        ) from error
    return Reading("cprofile", "host", "ms", tuple(costs))


def _cost(key: tuple[str, int, str], row: tuple) -> Cost:
    file, _, function = key
    calls, own = int(row[1]), float(row[2]) * 1000
    category = "" if file in ("~", "") else file_label(str(file))
    return Cost(
        f"{function} ({category})" if category else str(function), own, own, calls, category
    )


FORMATS = (Format("cprofile", "cProfile and pstats dumps", cprofile, data=is_dump),)
