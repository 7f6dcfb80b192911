"""Front matter: the YAML block at the head of a page. Bad YAML becomes findings, never an exception; nothing is executed or expanded."""

import datetime
import re
from dataclasses import dataclass

from kb import regex
from kb.schema import Finding

_FENCE = regex(r"---[ \t]*(?:\n|\Z)")
# Patterns that start with the newline before a line are found many times faster than with `^`.
_CLOSE = regex(r"\n(?:---|\.\.\.)[ \t]*$", re.MULTILINE)
_KEY = regex(r"\n([A-Za-z_][\w .-]*?)[ \t]*:")
# A `symbols:` map of plain one-line entries, as machines write it: thousands of lines that need no YAML parser.
_UNTIL_COLON = r"[^\n:#]*+(?:(?::(?![ \n])|(?<! )#)[^\n:#]*+)*+"
_SYMBOLS = regex(
    rf"^symbols:[ \t]*\n((?:  [A-Za-z_]{_UNTIL_COLON}: (?:'[^'\n]*'|[A-Za-z_(.]{_UNTIL_COLON})\n)++)(?=\S|\Z)",
    re.MULTILINE,
)
_SYMBOL = regex(r"\n  (.*?): ")


@dataclass(frozen=True, slots=True)
class Front:
    """Fields (JSON-safe values, dates as ISO text), the line of each field, and the line on which the body starts (1-based)."""

    fields: dict[str, object]
    lines: dict[str, int]
    body_line: int
    body_offset: int
    findings: tuple[Finding, ...]


def body_of(text: str) -> tuple[int, int]:
    """Where the body of a page's text begins: its place in the text and its line (1-based)."""
    opening = _FENCE.match(text)
    closing = _CLOSE.search(text, opening.end() - 1) if opening else None
    end = min(closing.end() + 1, len(text)) if closing else 0
    return end, text.count("\n", 0, end) + 1


def front_of(text: str, path: str) -> Front:
    """Front matter of a page text (newlines already `\\n`, no byte-order mark)."""
    end, body_line = body_of(text)
    if not end:
        message, hint = "the front matter opens with --- and never closes", "add a line ---"
        unclosed = Finding(path, 1, "front-matter", message, hint=hint)
        return Front({}, {}, 1, 0, (unclosed,) if _FENCE.match(text) else ())
    raw = text[text.index("\n") + 1 : end].rstrip().rpartition("\n")[0] + "\n"
    at = raw.find("symbols:")
    listed = _SYMBOLS.search(raw, at) if at >= 0 else None
    names = _SYMBOL.findall("\n" + listed[1]) if listed else []
    if len(set(names)) == len(names) and names:
        blank = "\n" * listed[0].count("\n")
        values, findings = _values(raw[: listed.start()] + blank + raw[listed.end() :], path)
        values["symbols"] = dict.fromkeys(names)
    else:
        values, findings = _values(raw, path)
    below = "\n" + raw
    lines = {m[1]: 2 + below.count("\n", 0, m.start()) for m in _KEY.finditer(below)}
    return Front(values, lines, body_line, end, findings)


# One field on one line whose YAML reading leaves no doubt: a quoted text without escapes, a list of plain words, a date, a whole number, plain words.
_FIELD = regex(
    r"""([A-Za-z_][\w-]*):(?:[ ]+(?:"([^"\\\n]*)"|'([^'\n]*)'|\[([^\[\]{}"'#:&*!|>%@`?\n]*)\]|(\d{4}-\d\d-\d\d)|([1-9]\d{0,8}|0)|([A-Za-z]"""
    rf"{_UNTIL_COLON})))?[ ]*\n"
)
# What YAML 1.1 takes for a truth value or for nothing, however written.
_NO_WORDS = frozenset(["yes", "no", "true", "false", "on", "off", "null"])


def plain_fields(raw: str) -> dict[str, object] | None:
    """The fields where every line is such a one, else None; most front matter is, and a YAML parser takes ten times as long over it."""
    if not raw.replace("\n", "").isprintable():
        return None
    fields: dict[str, object] = {}
    at, end = 0, len(raw)
    while at < end:
        if raw[at] == "\n":
            at += 1
            continue
        m = _FIELD.match(raw, at)
        if m is None or m[1] in fields or m[1].lower() in _NO_WORDS:
            return None
        at = m.end()
        try:
            fields[m[1]] = _READERS[m.lastindex](m[m.lastindex])
        except ValueError:
            return None
    return fields


def _words(text: str) -> str:
    text = text.strip(" ")
    if text.lower() in _NO_WORDS:
        raise ValueError(text)
    return text


def _list(text: str) -> list[str]:
    items = [_words(item) for item in text.split(",")] if text else []
    if not all(item[:1].isalpha() and item.isascii() for item in items):
        raise ValueError(text)
    return items


def _day(text: str) -> str:
    datetime.date.fromisoformat(text)
    return text


# By the group of `_FIELD` that matched; ValueError is a doubt, which YAML decides.
_READERS = {1: lambda name: None, 2: str, 3: str, 4: _list, 5: _day, 6: int, 7: _words}


def _values(raw: str, path: str) -> tuple[dict[str, object], tuple[Finding, ...]]:
    fields = plain_fields(raw)
    if fields is not None:
        return fields, ()
    # Most front matter is plain, and the YAML parser takes long to load.
    from kb.page.front_yaml import yaml_values

    return yaml_values(raw, path)
