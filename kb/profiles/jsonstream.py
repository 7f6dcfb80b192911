"""JSON read piece by piece: a trace of any size takes the memory of its largest value. Refuses what is no JSON, saying where."""

import json
import re
from collections.abc import Iterator
from typing import TextIO

from kb import KbError

CHUNK = 1 << 20
# One value longer than this is no event and no table; it stops a broken file from being taken into memory whole.
LONGEST_VALUE = 1 << 27
_SPACE = re.compile(r"[ \t\r\n]*")

Json = dict[str, "Json"] | list["Json"] | str | int | float | bool | None


def pieces(stream: TextIO, *, label: str) -> Iterator[tuple[str, Json]]:
    """(key, value) of each member of an object; of an array, also where it is all there is (its key is empty, and it may stay open),
    each element by itself, and an empty one whole.
    """
    cursor = _Cursor(stream, label)
    if cursor.peek() == "[":
        yield from (("", item) for item in cursor.elements(may_stay_open=True))
        return
    mark = cursor.past("{")
    while mark != "}" and cursor.peek() != "}":
        key = str(cursor.value())
        cursor.past(":")
        if cursor.peek() == "[":
            yield from ((key, item) for item in cursor.elements())
        else:
            yield key, cursor.value()
        mark = cursor.past(",}")


class _Cursor:
    """An open JSON text and the place in it."""

    def __init__(self, stream: TextIO, label: str):
        self.stream, self.label, self.decode = stream, label, json.JSONDecoder().raw_decode
        self.text, self.at, self.dropped, self.ended = "", 0, 0, False

    def fail(self, what: str) -> KbError:
        place = f"{self.label}: character {self.dropped + self.at}"
        return KbError(f"{place}: {what}; is the file whole? export it again")

    def fill(self, size: int) -> None:
        more = self.stream.read(size)
        self.dropped += self.at
        self.text, self.at, self.ended = self.text[self.at :] + more, 0, not more

    def peek(self) -> str:
        """The next character that is no white space, or nothing at the end."""
        while True:
            self.at = _SPACE.match(self.text, self.at).end()
            if self.at < len(self.text) or self.ended:
                return self.text[self.at : self.at + 1]
            self.fill(CHUNK)

    def past(self, marks: str) -> str:
        """The next character, which is one of these."""
        mark = self.peek()
        if not mark or mark not in marks:
            raise self.fail(f"expected '{marks[0]}', found {mark!r}")
        self.at += 1
        return mark

    def value(self) -> Json:
        """The next value, whole."""
        size = CHUNK
        while self.peek():
            try:
                value, end = self.decode(self.text, self.at)
            except ValueError as error:
                if self.ended or len(self.text) - self.at > LONGEST_VALUE:
                    raise self.fail(f"not valid JSON ({error})") from error
            except RecursionError as error:
                raise self.fail("JSON nested too deeply to be a profile") from error
            else:
                # A number at the edge of the text may go on in the next piece.
                if end < len(self.text) or self.ended:
                    self.at = end
                    return value
            self.fill(size)
            size *= 2
        raise self.fail("the JSON ends where a value should stand")

    def elements(self, *, may_stay_open: bool = False) -> Iterator[Json]:
        """The elements of an array, or it whole where it has none. `may_stay_open`: the end of the file ends it too."""
        self.past("[")
        if self.peek() == "]":
            self.at += 1
            yield []
            return
        while True:
            yield self.value()
            if may_stay_open and not self.peek() or self.past(",]") == "]":
                return
            if may_stay_open and self.peek() in ("", "]"):
                return
