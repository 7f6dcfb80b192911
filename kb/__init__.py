"""kb: the knowledge-base compiler for loops in which an agent optimizes code."""

import re
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from typing import TypeVar, cast

__version__ = "0.1.0"
_Listed = TypeVar("_Listed")
_Key = TypeVar("_Key")
_Value = TypeVar("_Value")


class KbError(Exception):
    """A user's mistake or a broken input. The message says where, what, and what to do; doors print it and nothing else."""

    # Exit code of a command that ends with it: 2 is misuse; a gate that closes says 3.
    code = 2


def exports(package: str, modules: Mapping[str, tuple[str, ...]]) -> Callable[[str], object]:
    """The `__getattr__` of a package that loads its modules when one of the names that they export is first asked for."""
    homes = {name: module for module, names in modules.items() for name in names}

    def value(name: str) -> object:
        if name in modules:
            return import_module(f"{package}.{name}")
        if name not in homes:
            raise AttributeError(f"module '{package}' has no attribute '{name}'")
        exported = getattr(import_module(f"{package}.{homes[name]}"), name)
        setattr(sys.modules[package], name, exported)
        return exported

    return value


def registered(package: str, listing: str, *, kind: type[_Listed], key: str) -> list[_Listed]:
    """What the modules of a package name in their `listing`, then what other packages name under the entry point of its room.

    Raises KbError where one of these is of another kind, or its `key` is taken.
    """
    import pkgutil
    from importlib.metadata import entry_points

    modules = pkgutil.iter_modules(import_module(package).__path__, f"{package}.")
    listed = [item for m in modules for item in getattr(import_module(m.name), listing)]
    room = package.rpartition(".")[0]
    for point in entry_points(group=room):
        item = point.load()
        if not isinstance(item, kind) or getattr(item, key) in {getattr(i, key) for i in listed}:
            raise KbError(
                f"entry point {room} {point.name} = {point.value}: not a {kind.__name__} of a {key} of its own; name a {room}.{kind.__name__}"
            )
        listed.append(item)
    return listed


def grouped(pairs: Iterable[tuple[_Key, _Value]]) -> dict[_Key, list[_Value]]:
    """Values by key, both in the order in which they came; none where a key that did not come is asked for."""
    groups: dict[_Key, list[_Value]] = defaultdict(list)
    for key, value in pairs:
        groups[key].append(value)
    return groups


@contextmanager
def readable(what: object) -> Iterator[None]:
    """Says of what the disk refuses that it cannot be read, and why."""
    try:
        yield
    except OSError as error:
        raise KbError(f"{what}: cannot be read: {error.strerror or error}") from error


@contextmanager
def needing(extra: str) -> Iterator[None]:
    """Says of a package that is not here by which extra of kb it comes."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise KbError(
            f"this needs {error.name}, which is not installed; install it with: pip install 'kb[{extra}]'"
        ) from error


def begun(words: Iterable[str], *, sign: str, end: str = "") -> str:
    """A pattern of words that no `sign` stands before, each up to its `end`. Begun with their letters, those of one letter together, they are
    found many times faster than behind what stands before them.
    """
    heads = grouped((word[0], word[1:]) for word in words)
    return "|".join(rf"{h}(?<!{sign}{h})(?:{'|'.join(own)}){end}" for h, own in heads.items())


class _Lazy:
    """A regular expression that is compiled when one of its methods is first asked for."""

    def __init__(self, source: str, flags: int):
        self.source, self.flags = source, flags

    def __getattr__(self, name: str) -> object:
        compiled = re.compile(self.source, self.flags)
        for method in ("search", "match", "fullmatch", "finditer", "findall", "split", "sub"):
            setattr(self, method, getattr(compiled, method))
        return getattr(compiled, name)


def regex(source: str, flags: int = 0) -> re.Pattern[str]:
    """A regular expression for a module that many commands load and few of them search with: it costs nothing until it is used."""
    return cast(re.Pattern[str], _Lazy(source, flags))
