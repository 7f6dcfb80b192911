"""The fields of a request: help, choices, defaults, positional or not, one or several. Knows no verb."""

import types
from dataclasses import MISSING, dataclass, field, fields
from typing import get_args, get_origin

_KEY = "kb"


@dataclass(frozen=True, slots=True)
class Option:
    """One field of a request as a door sees it. `kind` is str, int, float or bool; `default` is MISSING where it must be given."""

    name: str
    kind: type
    many: bool
    positional: bool
    default: object
    help: str
    metavar: str
    choices: tuple[str, ...]

    @property
    def required(self) -> bool:
        return self.default is MISSING


def argument(help: str, *, default=MISSING, metavar: str = "", choices: tuple[str, ...] = ()):
    """A positional field; a tuple takes one or more words, or any number where it has a default."""
    return _field(help, default, metavar, choices, positional=True)


def option(help: str, *, default="", metavar: str = "", choices: tuple[str, ...] = ()):
    """A field with a name: `--name VALUE`."""
    return _field(help, default, metavar, choices)


def several(help: str, *, metavar: str = "", choices: tuple[str, ...] = ()):
    """A tuple: `--name A --name B`."""
    return _field(help, (), metavar, choices)


def flag(help: str):
    """A switch, off unless given."""
    return _field(help, False, "", ())


def _field(
    help: str, default: object, metavar: str, choices: tuple[str, ...], *, positional: bool = False
):
    return field(default=default, metadata={_KEY: (help, metavar, choices, positional)})


def options_of(request: type) -> tuple[Option, ...]:
    """The fields of a request class, in their order."""
    listed = []
    for item in fields(request):
        kind, many = item.type, get_origin(item.type) is tuple
        if many or isinstance(kind, types.UnionType):
            kind = next(k for k in get_args(kind) if k not in (Ellipsis, types.NoneType))
        help, metavar, choices, positional = item.metadata[_KEY]
        listed.append(
            Option(item.name, kind, many, positional, item.default, help, metavar, choices)
        )
    return tuple(listed)
