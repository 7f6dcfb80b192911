"""What a verb gives back: values, their text and JSON, and the exit code. Prints nothing."""

import json
from dataclasses import asdict, dataclass
from typing import ClassVar

from kb.text import printable

FINE, FINDINGS, MISUSE, CLOSED = 0, 1, 2, 3


class Result:
    """Base of every result: a frozen dataclass whose fields are the data. The first of `formats` is the usual one."""

    __slots__ = ()
    formats: ClassVar[tuple[str, ...]] = ("text", "json")

    @property
    def code(self) -> int:
        return FINE

    def to_json(self) -> object:
        return asdict(self)

    def to_text(self) -> str:
        raise NotImplementedError(f"{type(self).__name__} has no text")

    def to_format(self, name: str) -> str:
        return json_text(self.to_json()) if name == "json" else self.to_text()


@dataclass(frozen=True, slots=True)
class TextAnswer(Result):
    """A text and no values, in whatever way it shall be printed."""

    formats: ClassVar[tuple[str, ...]] = ("text",)
    text: str = ""

    def to_text(self) -> str:
        return self.text

    def to_format(self, name: str) -> str:
        return self.text


def json_text(value: object, *, indent: int | None = 1) -> str:
    text = json.dumps(value, ensure_ascii=False, indent=indent)
    # What a terminal would obey or nobody sees stands escaped, so that nothing is lost.
    safe = printable(text)
    return (
        text
        if safe == text
        else "".join(c if c == "\n" or c.isprintable() else json.dumps(c)[1:-1] for c in text)
    )


def json_lines(values: tuple[object, ...]) -> str:
    return "".join(json_text(value, indent=None) + "\n" for value in values)
