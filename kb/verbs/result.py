"""What a verb gives back: a value, how it reads, and the exit code. Prints nothing."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from kb.store import plain_of
from kb.text import printable

FINE, FINDINGS, MISUSE, CLOSED = 0, 1, 2, 3
_Value = TypeVar("_Value")


@dataclass(frozen=True, slots=True)
class Result(Generic[_Value]):
    """A value, of which JSON holds all, and the text that says it to a reader; `forms` write it in other ways, by their names."""

    value: _Value
    text: str
    code: int = FINE
    forms: Mapping[str, Callable[[], str]] = field(default_factory=dict)

    @property
    def plain(self) -> object:
        return plain_of(self.value)

    def to_format(self, name: str) -> str:
        if name in self.forms:
            return self.forms[name]()
        return json_text(self.plain) if name == "json" else self.text


def text_result(text: str = "") -> Result[None]:
    """A text and no values, in whatever way it shall be printed."""
    return Result(None, text, forms={"json": lambda: text})


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
    return "".join(json_text(plain_of(value), indent=None) + "\n" for value in values)
