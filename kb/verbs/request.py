"""The fields of a request: help, choices, defaults, positional or not, one or several. Knows no verb."""

import types
from collections import ChainMap
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, field, fields
from difflib import get_close_matches
from typing import get_args, get_origin

from kb import KbError

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


def argument(
    help: str | Callable[[], str],
    *,
    default=MISSING,
    metavar: str = "",
    choices: tuple[str, ...] = (),
):
    """A positional field; a tuple takes one or more words, or any number where it has a default. `help` may be looked up late."""
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
    help: str | Callable[[], str],
    default: object,
    metavar: str,
    choices: tuple[str, ...],
    *,
    positional: bool = False,
):
    return field(default=default, metadata={_KEY: (help, metavar, choices, positional)})


def options_of(request: type) -> tuple[Option, ...]:
    """The fields of a request class, in their order."""
    # Of a field that a room declares the request that takes it in says the help, in its `HELPS`; without one no door asks for it.
    helps = ChainMap(*(kind.__dict__.get("HELPS", {}) for kind in request.__mro__))
    listed = []
    for item in (f for f in fields(request) if f.metadata or f.name in helps):
        kind, many = item.type, get_origin(item.type) is tuple
        if many or isinstance(kind, types.UnionType):
            kind = next(k for k in get_args(kind) if k not in (Ellipsis, types.NoneType))
        help, metavar, choices, positional = (item.metadata or helps[item.name].metadata)[_KEY]
        help = help() if callable(help) else help
        listed.append(
            Option(item.name, kind, many, positional, item.default, help, metavar, choices)
        )
    return tuple(listed)


# NUL, and halves of pairs of surrogates: no path, no row of a table and no page takes them.
_NO_TEXT = frozenset(map(chr, (0, *range(0xD800, 0xE000))))


def request_from(request: type, values: Mapping[str, object]):
    """A request of `values` by field name, as a program says them. Raises KbError where a field is unknown, missing or wrong."""
    options = {o.name: o for o in options_of(request)}
    for name in values:
        if name not in options:
            near = get_close_matches(name, options, n=1)
            raise KbError(
                f"no such argument '{name}'"
                + (f"; did you mean '{near[0]}'?" if near else f"; known: {', '.join(options)}")
            )
    missing = [o.name for o in options.values() if o.required and values.get(o.name) is None]
    if missing:
        raise KbError(f"argument '{missing[0]}' is missing")
    return request(
        **{
            name: _value(options[name], value)
            for name, value in values.items()
            if value is not None
        }
    )


def _value(option: Option, value: object) -> object:
    listed = value if option.many and isinstance(value, (list, tuple)) else [value]
    for item in listed:
        number = option.kind is float and isinstance(item, int)
        if isinstance(item, bool) != (option.kind is bool) or not (
            isinstance(item, option.kind) or number
        ):
            raise KbError(
                f"argument '{option.name}' takes {'a list of ' if option.many else ''}{option.kind.__name__}, not {item!r:.80}"
            )
        if isinstance(item, str) and not _NO_TEXT.isdisjoint(item):
            raise KbError(f"argument '{option.name}' is no text: {item!r:.80}")
        if option.choices and item not in (*option.choices, option.default):
            raise KbError(
                f"argument '{option.name}' is one of {', '.join(option.choices)}, not '{item!s:.80}'"
            )
    return tuple(listed) if option.many else value
