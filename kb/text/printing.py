"""Captured text made safe to print. Refuses what no reader sees: it may steer a terminal, turn a line around or hide a command."""

import unicodedata
from collections.abc import Sequence
from shlex import quote

# Seen as nothing though they count as letters: fillers of Hangul and Braille.
_BLANK_LETTERS = "\u115f\u1160\u2800\u3164\uffa0"
# Of the characters that only format others these are drawn: signs before Arabic and Kaithi numbers.
_DRAWN = frozenset(
    "\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u0890\u0891\u08e2\U000110bd\U000110cd"
)


class _Safe(dict[int, str]):
    """A table for `str.translate`, filled in as characters are met."""

    def __missing__(self, number: int) -> str:
        char = chr(number)
        kind = unicodedata.category(char)
        if kind in ("Zl", "Zp") or char in "\x0b\x0c\x1c\x1d\x1e\x85":
            safe = "\n"
        elif kind == "Cs":
            safe = "\ufffd"
        elif kind == "Cc" or kind == "Cf" and char not in _DRAWN:
            safe = ""
        else:
            # A tag may also be spelled by variation selectors of the supplement, which no font draws.
            safe = "" if char in _BLANK_LETTERS or 0xE0100 <= number <= 0xE01EF else char
        self[number] = safe
        return safe


# Characters that an agent's harness leaves of what a command prints, with some to spare.
LOOK = 11_500
_PLAIN = bytes((*b"\n\t", *range(32, 127)))
_SAFE = _Safe({ord("\n"): "\n", ord("\t"): "\t"})


def printable(text: str) -> str:
    """Text whose lines end in `\\n` alone and hold nothing that commands: no control, no mark of direction, nothing unseen."""
    # Files of megabytes come through here: what is no plain ASCII is looked at alone, each character once.
    strange = text.encode("utf-8", "surrogatepass").translate(None, _PLAIN)
    if all(_SAFE[ord(char)] == char for char in set(strange.decode("utf-8", "surrogatepass"))):
        return text
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    return text.translate(_SAFE)


def one_line(text: str) -> str:
    """Text that is safe on one line of a terminal, a slice, an index or a page, single blanks between its words."""
    return " ".join(printable(text).split())


def command_of(words: str, *names: str) -> str:
    """A command of kb as it may be copied into a shell: each name behind its words is one word there, whatever it holds."""
    return " ".join([f"kb {words}", *map(shell_word, names)])


def shell_word(name: str) -> str:
    """A name as one word of a shell, on one line and without what would end a mark of code."""
    bare = name[:1] + name[1:].replace("~", "").replace("#", "")
    if quote(bare) == bare:
        return name  # These two command nothing within a word.
    if "`" not in name and name == one_line(name):
        return quote(name)
    # In no form would what ends a line of ours or its mark of code be read as it stands.
    hidden = "".join(f"\\x{byte:02x}" for byte in name.encode("utf-8", "surrogateescape"))
    return f"$'{hidden}'"


def counted(count: int, things: str) -> str:
    """How many of some things there are: of one, without the `s` of the plural."""
    return f"{count} {things[:-1] if count == 1 else things}"


def head_of(lines: Sequence[str], most: int, rest: str) -> list[str]:
    """The first lines and, where there are others, a last one that says how many, in place of `{}`."""
    left = len(lines) - most
    return [*lines[:most], *([rest.format(left)] if left > 0 else [])]
