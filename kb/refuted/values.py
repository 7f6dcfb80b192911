"""Names and values of settings: when two spellings are one, and which way a number goes.

Refuses to guess: a value counts as another one unless it is known to be the same.
"""

import re
from functools import lru_cache

from kb.text import words_of
from kb.trail.levers import number_of

ON = frozenset(("1", "true", "on", "yes", "enabled"))
# What a program does by itself is no setting of it.
OFF = frozenset(("0", "false", "off", "no", "none", "disabled", "auto", "default"))


def way_of_numbers(before: str, after: str) -> str:
    """`raise` or `lower`, from one value to another; empty where the two are no numbers, or the same."""
    a, b = (
        1.0
        if v.lower() in ("true", "on")
        else 0.0
        if v.lower() in ("false", "off")
        else number_of(v)
        for v in (before, after)
    )
    return "" if a is None or b is None or a == b else "raise" if b > a else "lower"


# What a name may carry beside what it names: Hungarian k of constants, a count's n or num, the word size, what is counted.
_AROUND = re.compile(
    r"^(?:num(?=[a-z]{4})|n(?=(?:warps|splits|stages|layers?|heads?|threads|workers|blocks)\b))|"
    r"(?<=[a-z]{2})(?:size|factor)$|(?<=[a-z]{4})(?:steps|iters|iterations)$"
)


@lru_cache(maxsize=8192)
def canonical(key: str) -> str:
    """A key without what spellings add: `num_splits`, `nsplits` and `splits` are one, `batch_size` and `batch`, `kBlockK` and `BLOCK_K`."""
    bare = key[1:] if key.startswith(("kblock", "knum")) else key
    return _AROUND.sub("", bare) or key


def same_value(one: str, other: str) -> bool:
    """Whether two values are one: as numbers in whatever unit, else as words."""
    numbers = number_of(one), number_of(other)
    if None not in numbers:
        return numbers[0] == numbers[1]
    return one != "" and one.lower() == other.lower()


# The capital first: few places have one.
_HUMP = re.compile(r"(?=[A-Z])(?:(?<=[a-z0-9])|(?<=[A-Z])(?=.[a-z]))")


def plain_words(text: str) -> list[str]:
    """Words of a text in order, those of its names one by one."""
    return words_of(_HUMP.sub(" ", text.replace("_", " ")))


@lru_cache(maxsize=8192)
def parts_of_name(name: str) -> tuple[str, ...]:
    """Words of a name in small letters: `splitChunks.maxSize` → split, chunks, max, size."""
    return tuple(plain_words(name))


def initials(name: str) -> str:
    """First letters of the parts of a name: `--batch_size` gives `bs`."""
    parts = parts_of_name(name)
    return "".join(p[0] for p in parts) if len(parts) > 1 else ""
