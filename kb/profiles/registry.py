"""Every profiler format kb reads, found in one place: objects of `kb.profiles.readers`, and of other packages under `kb.profiles`."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TextIO

from kb import KbError, registered
from kb.profiles.table import Reading


@dataclass(frozen=True, slots=True)
class Format:
    """One format, told by its content: the first of these that a file shows decides; of two on one line the lower `order`.

    `way_out` says how to get one that has times in it. `keys` stand at the top of a JSON object, or in the first object of a JSON list; `line` tells a line that only this tool writes,
    `text` all first lines together (asked last), `data` the first bytes. `read` is given the text (one character a byte where `data`
    tells the format), and the name for messages.
    """

    name: str
    about: str
    read: Callable[[TextIO, str], Reading]
    order: int = 50
    way_out: str = "was the profile taken while something ran?"
    keys: frozenset[str] = frozenset()
    line: Callable[[str], object] | None = None
    text: Callable[[Sequence[str]], bool] | None = None
    data: Callable[[bytes], bool] | None = None


@cache
def formats() -> tuple[Format, ...]:
    """All formats, in the order in which they are preferred. Raises KbError where two have one name."""
    listed = registered("kb.profiles.readers", "FORMATS", kind=Format, key="name")
    return tuple(sorted(listed, key=lambda f: (f.order, f.name)))


def format_names() -> tuple[str, ...]:
    """What `--kind` takes beside `auto`."""
    return tuple(f.name for f in formats())


def format_named(name: str) -> Format:
    """The format of a name. Raises KbError where there is none."""
    chosen = next((f for f in formats() if f.name == name), None)
    if chosen is None:
        raise KbError(f"no kind of profile '{name}'; there are auto, {', '.join(format_names())}")
    return chosen
