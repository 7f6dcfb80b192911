"""What a verb gives back: values, their text and JSON, and the exit code. Prints nothing."""

import json
from dataclasses import asdict
from typing import ClassVar

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


def json_text(value: object, *, indent: int | None = 1) -> str:
    return json.dumps(value, ensure_ascii=False, indent=indent)


def json_lines(values: tuple[object, ...]) -> str:
    return "".join(json_text(value, indent=None) + "\n" for value in values)
