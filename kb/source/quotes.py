"""Quoting captured text: normal, so that offsets stay; shown with every unseen character made visible,
inside a fence that it cannot end.
"""

import re
import unicodedata

from kb.source.marks import unseen

_LIGATURES = {
    ligature: unicodedata.normalize("NFKC", chr(ligature)) for ligature in range(0xFB00, 0xFB07)
}


def normal_text(text: str) -> str:
    """Text for quoting: one kind of line end, no ligatures of typesetting, no blanks at line ends.
    What is unseen stays, and is marked.

    The offsets of a captured text count characters (code points) of what this returns; applied
    twice it changes nothing.
    """
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\f", "\n").translate(_LIGATURES)
    text = text.encode("utf-8", "replace").decode("utf-8").replace("\0", "\ufffd")
    return "\n".join(line.rstrip(" \t") for line in text.strip("\n").split("\n")) + "\n"


def visible(text: str) -> str:
    """Text in which every character that is not seen stands as its number: `⟨U+202E⟩`."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(f"⟨U+{ord(char):04X}⟩" if unseen(char) else char for char in text)


def fence_for(text: str) -> str:
    """A fence that no run of backticks in a text can end."""
    return "`" * (max((len(run) for run in re.findall(r"`{3,}", text)), default=2) + 1)
