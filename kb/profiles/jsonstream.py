"""JSON read piece by piece: a trace of any size takes the memory of its largest value. Refuses what is no JSON, saying where.

`members` and `elements` walk an object and an array in place; a value the caller did not read is skipped. `value` reads one
whole.
"""

import json
import re
from collections.abc import Iterator
from typing import TextIO

from kb import KbError

CHUNK = 1 << 20
# One value longer than this is no event and no table row; it stops a broken file from being taken into memory whole.
LONGEST_VALUE = 1 << 26
_SPACE = re.compile(r"[ \t\r\n]*")

Json = dict[str, "Json"] | list["Json"] | str | int | float | bool | None


class Cursor:
    """An open JSON text and the place in it."""

    def __init__(self, stream: TextIO, *, label: str) -> None:
        self.label = label
        self._stream = stream
        self._decoder = json.JSONDecoder()
        self._text = ""
        self._at = 0
        self._dropped = 0
        self._ended = False

    def place(self) -> int:
        """Characters read so far."""
        return self._dropped + self._at

    def fail(self, what: str) -> KbError:
        return KbError(
            f"{self.label}: character {self.place()}: {what}; is the file whole? export it again"
        )

    def _fill(self, size: int) -> None:
        more = self._stream.read(size)
        self._ended = not more
        self._dropped += self._at
        self._text = self._text[self._at :] + more
        self._at = 0

    def peek(self) -> str:
        """The next character that is no white space, or nothing at the end."""
        while True:
            match = _SPACE.match(self._text, self._at)
            self._at = match.end() if match else self._at
            if self._at < len(self._text):
                return self._text[self._at]
            if self._ended:
                return ""
            self._fill(CHUNK)

    def value(self) -> Json:
        """The next value, whole."""
        if not self.peek():
            raise self.fail("the JSON ends where a value should stand")
        size = CHUNK
        while True:
            try:
                value, end = self._decoder.raw_decode(self._text, self._at)
            except ValueError as error:
                if self._ended or len(self._text) - self._at > LONGEST_VALUE:
                    raise self.fail(f"not valid JSON ({error})") from error
            except RecursionError as error:
                raise self.fail("JSON nested too deeply to be a profile") from error
            else:
                # A number at the edge of the text may go on in the next piece.
                if end < len(self._text) or self._ended:
                    self._at = end
                    return value
            self._fill(size)
            size *= 2

    def _expect(self, mark: str) -> None:
        if self.peek() != mark:
            raise self.fail(f"expected '{mark}', found {self.peek()!r}")
        self._at += 1

    def skip(self) -> None:
        """Past the next value; an array is never taken in whole."""
        if self.peek() == "[":
            for _ in self.elements():
                pass
        else:
            self.value()

    def elements(self, *, may_stay_open: bool = False) -> Iterator[None]:
        """Stands before each element of an array in turn. `may_stay_open`: the end of the file after an element ends it too."""
        self._expect("[")
        if self.peek() == "]":
            self._at += 1
            return
        while True:
            before = self.place()
            yield
            if self.place() == before:
                self.value()
            mark = self.peek()
            if mark == "," and may_stay_open:
                self._at += 1
                mark = self.peek()
                if mark not in ("", "]"):
                    continue
            if mark == "" and may_stay_open:
                return
            if mark == "]":
                self._at += 1
                return
            self._expect(",")

    def members(self) -> Iterator[str]:
        """Stands before the value of each member of an object in turn, and gives its key."""
        self._expect("{")
        if self.peek() == "}":
            self._at += 1
            return
        while True:
            key = self.value()
            if not isinstance(key, str):
                raise self.fail(f"expected a key in quotes, found {key!r}")
            self._expect(":")
            self.peek()
            before = self.place()
            yield key
            if self.place() == before:
                self.skip()
            if self.peek() == "}":
                self._at += 1
                return
            self._expect(",")
