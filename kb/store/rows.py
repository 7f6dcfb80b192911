"""Digests, what differs between two sets of them, and values as rows of a table. Knows no files."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Literal, TypeVar

if TYPE_CHECKING:
    import msgspec

_T = TypeVar("_T")


def packed(value: object) -> str:
    """A value as text on one line of JSON, for what is digested or read by SQL; rows of values are `row_of`'s."""
    import msgspec

    return msgspec.json.encode(value).decode()


def json_of(text: str | bytes) -> object:
    """What a text of JSON says that somebody else wrote. Raises JSONDecodeError, for one without end in its depth too."""
    try:
        return json.loads(text)
    except RecursionError as error:
        raise json.JSONDecodeError("nested too deeply", "", 0) from error


def from_json(data: bytes | str, kind: type[_T]) -> _T:
    """The value of this type that JSON of somebody else holds. Raises ValueError, whatever is wrong with it."""
    import msgspec

    try:
        return msgspec.json.decode(data, type=kind)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def to_json(value: object, *, order: Literal["sorted"] | None = "sorted") -> bytes:
    """A value as JSON that people may read: keys in order (None: as they are declared), a line each."""
    import msgspec

    return msgspec.json.format(msgspec.json.encode(value, order=order), indent=1) + b"\n"


def row_of(value: object) -> bytes:
    """A frozen value (dataclass, Struct, tuple of them) as one cell of a table; `value_of` reads it again."""
    return _encoder().encode(value)


def plain_of(value: object) -> object:
    """A frozen value in tables, lists, texts and numbers, as JSON holds it."""
    import msgspec

    return msgspec.to_builtins(value)


def value_of(row: bytes, kind: type[_T]) -> _T:
    """The value that `row_of` wrote: `value_of(row, Facts)`, `value_of(row, tuple[Statement, ...])`."""
    return _decoder(kind).decode(row)


@cache
def _encoder() -> "msgspec.msgpack.Encoder":
    import msgspec

    return msgspec.msgpack.Encoder()


@cache
def _decoder(kind: object) -> "msgspec.msgpack.Decoder":
    import msgspec

    return msgspec.msgpack.Decoder(kind)


def digest_of(data: bytes | str) -> str:
    """sha256 of bytes (or of UTF-8 text), first 16 hex digits: long enough to be a key, short enough to print."""
    return hashlib.sha256(
        data.encode("utf-8", "surrogatepass") if isinstance(data, str) else data
    ).hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class Diff:
    """What must be done to make `have` into `wanted`; sorted keys."""

    added: tuple[str, ...]
    changed: tuple[str, ...]
    removed: tuple[str, ...]

    def __bool__(self) -> bool:
        return bool(self.added or self.changed or self.removed)


def diff(wanted: Mapping[str, str], have: Mapping[str, str]) -> Diff:
    """The one place where increments are found: two maps key -> digest in, the difference out."""
    return Diff(
        tuple(sorted(wanted.keys() - have.keys())),
        tuple(sorted(k for k, digest in wanted.items() if have.get(k, digest) != digest)),
        tuple(sorted(have.keys() - wanted.keys())),
    )
