"""Front matter: the YAML block at the head of a page. Bad YAML becomes findings, never an exception; nothing is executed or expanded."""

import datetime
import math
import re
from dataclasses import dataclass

import yaml

from kb.schema import Finding

# A front matter that unfolds to more nodes than this is a YAML bomb, not a page's description.
_MOST_NODES = 200_000
_FENCE = re.compile(r"---[ \t]*(?:\n|\Z)")
# Patterns that start with the newline before a line are found many times faster than with `^`.
_CLOSE = re.compile(r"\n(?:---|\.\.\.)[ \t]*$", re.MULTILINE)
_KEY = re.compile(r"\n([A-Za-z_][\w .-]*?)[ \t]*:")
# A `symbols:` map of plain one-line entries, as machines write it: thousands of lines that need no YAML parser.
_UNTIL_COLON = r"[^\n:#]*+(?:(?::(?![ \n])|(?<! )#)[^\n:#]*+)*+"
_SYMBOLS = re.compile(rf"^symbols:[ \t]*\n((?:  [A-Za-z_]{_UNTIL_COLON}: [A-Za-z_(.]{_UNTIL_COLON}\n)++)(?=\S|\Z)", re.MULTILINE)
_SYMBOL = re.compile(r"\n  (.*?): ")


@dataclass(frozen=True, slots=True)
class Front:
    """Fields (JSON-safe values, dates as ISO text), the line of each field, and the line on which the body starts (1-based)."""

    fields: dict[str, object]
    lines: dict[str, int]
    body_line: int
    body_offset: int
    findings: tuple[Finding, ...]


_TEXT = "tag:yaml.org,2002:str"


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
    """The safe loader, which also remembers keys that stand twice."""

    def __init__(self, stream: str):
        super().__init__(stream)
        self.twice: list[tuple[str, int]] = []

    def construct_object(self, node, deep=False):
        # Most nodes are plain strings, which need none of the machinery for nodes that hold nodes.
        return node.value if node.tag == _TEXT and type(node) is yaml.ScalarNode else super().construct_object(node, deep)

    def construct_mapping(self, node, deep=False):
        seen = set()
        for key, _ in node.value:
            if key.value.__hash__ is not None:
                if key.value in seen:
                    self.twice.append((str(key.value), key.start_mark.line))
                seen.add(key.value)
        return super().construct_mapping(node, deep)


_Loader.add_constructor("tag:yaml.org,2002:map", lambda loader, node: loader.construct_mapping(node, True))


def body_of(text: str) -> tuple[int, int]:
    """Where the body of a page's text begins: its place in the text and its line (1-based)."""
    opening = _FENCE.match(text)
    closing = _CLOSE.search(text, opening.end() - 1) if opening else None
    end = min(closing.end() + 1, len(text)) if closing else 0
    return end, text.count("\n", 0, end) + 1


def front_of(text: str, path: str) -> Front:
    """Front matter of a page text (newlines already `\\n`, no byte-order mark)."""
    opening = _FENCE.match(text)
    closing = _CLOSE.search(text, opening.end() - 1) if opening else None
    if not closing:
        unclosed = Finding(path, 1, "front-matter", "the front matter opens with --- and never closes", hint="add a line ---")
        return Front({}, {}, 1, 0, (unclosed,) if opening else ())
    raw = text[opening.end() : closing.start() + 1]
    end = min(closing.end() + 1, len(text))
    body_line = text.count("\n", 0, end) + 1
    at = raw.find("symbols:")
    listed = _SYMBOLS.search(raw, at) if at >= 0 else None
    names = _SYMBOL.findall("\n" + listed[1]) if listed else []
    if len(set(names)) == len(names) and names:
        values, findings = _values(raw[: listed.start()] + "\n" * listed[0].count("\n") + raw[listed.end() :], path)
        values["symbols"] = dict.fromkeys(names)
    else:
        values, findings = _values(raw, path)
    below = "\n" + raw
    lines = {m[1]: 2 + below.count("\n", 0, m.start()) for m in _KEY.finditer(below)}
    return Front(values, lines, body_line, end, findings)


# One field on one line whose YAML reading leaves no doubt: a quoted text without escapes, a list of plain words, a date, a whole number, plain words.
_FIELD = re.compile(
    r"""([A-Za-z_][\w-]*):(?:[ ]+(?:"([^"\\\n]*)"|'([^'\n]*)'|\[([^\[\]{}"'#:&*!|>%@`?\n]*)\]|(\d{4}-\d\d-\d\d)|([1-9]\d{0,8}|0)|([A-Za-z][^:#\n]*)))?[ ]*\n"""
)
# What YAML 1.1 takes for a truth value or for nothing, however written.
_NO_WORDS = frozenset(["yes", "no", "true", "false", "on", "off", "null"])


def _plain_fields(raw: str) -> dict[str, object] | None:
    """The fields where every line is such a one, else None; most front matter is, and a YAML parser takes ten times as long over it."""
    if not raw.replace("\n", "").isprintable():
        return None
    found: dict[str, object] = {}
    at, end = 0, len(raw)
    while at < end:
        if raw[at] == "\n":
            at += 1
            continue
        m = _FIELD.match(raw, at)
        if m is None or m[1] in found or m[1].lower() in _NO_WORDS:
            return None
        at = m.end()
        kind = m.lastindex
        text = m[kind].strip(" ") if kind in (4, 7) else m[kind]
        value: object = text
        if kind == 1:
            value = None
        elif kind == 4:
            items = [item.strip(" ") for item in text.split(",")] if text else []
            if not all(item[:1].isalpha() and item.isascii() and item.lower() not in _NO_WORDS for item in items):
                return None
            value = items
        elif kind == 5:
            try:
                datetime.date.fromisoformat(text)
            except ValueError:
                return None
        elif kind == 6:
            value = int(text)
        elif kind == 7 and text.lower() in _NO_WORDS:
            return None
        found[m[1]] = value
    return found


def _values(raw: str, path: str) -> tuple[dict[str, object], tuple[Finding, ...]]:
    fields = _plain_fields(raw)
    return (fields, ()) if fields is not None else _yaml_values(raw, path)


def _yaml_values(raw: str, path: str) -> tuple[dict[str, object], tuple[Finding, ...]]:
    def finding(line: int, message: str, hint: str, target: str = "", code: str = "front-matter") -> Finding:
        return Finding(path, 2 + line, code, message, target=target, hint=hint)

    plain_hint = "keep it to plain values, lists and short tables"
    if _nested_deeply(raw):
        return _line_by_line(raw), (finding(0, "the front matter is nested too deeply", plain_hint),)
    loader = None
    try:
        loader = _Loader(raw.replace("\0", "\ufffd"))
        value = loader.get_single_data()
        if value is None:
            return {}, ()
        if not isinstance(value, dict):
            return {}, (finding(0, f"the front matter is a {type(value).__name__}, not fields", "write `key: value` lines"),)
        fields = _plain(value, [_MOST_NODES])
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        problem = getattr(error, "problem", None) or str(error).splitlines()[0]
        hint = "quote values that hold ': ' or start with a special character"
        return _line_by_line(raw), (finding(mark.line if mark else 0, f"the front matter is not valid YAML: {problem}", hint),)
    except (ValueError, TypeError, RecursionError, OverflowError) as error:
        return _line_by_line(raw), (finding(0, f"the front matter cannot be read: {str(error)[:200]}", plain_hint),)
    finally:
        if loader is not None:
            loader.dispose()
    twice = (
        finding(line, f"the key '{key}' stands twice; the last one counts", "remove one", key, "duplicate-key")
        for key, line in loader.twice
    )
    return fields, tuple(twice)


# Deeper than this no page nests its fields, and a parser that calls itself for every level ends.
_DEEPEST = 60


def _nested_deeply(raw: str) -> bool:
    depth = deepest = 0
    for bracket in re.findall(r"[\[\]{}]", raw):
        depth += 1 if bracket in "[{" else -1
        deepest = max(deepest, depth)
    lines = raw.split("\n")
    inner = max(len(line) - len(line.lstrip(" ")) for line in lines)
    return max(deepest, inner // 2, *(line.count("- ") + line.count("? ") for line in lines)) > _DEEPEST * 4


_LINE = re.compile(r"([A-Za-z_][\w-]*):[ \t]+(\S.*)$")


def _line_by_line(raw: str) -> dict[str, object]:
    """The fields of a front matter that is no valid YAML, from the lines that hold a whole field each, where such a line is plain; else its
    value as written. So one `title: A: b` does not hide type, verdict and date of its page.
    """
    lines = [line for line in raw.split("\n") if line.strip() and not line.lstrip().startswith("#")]
    found: dict[str, object] = {}
    for line, below in zip(lines, [*lines[1:], ""], strict=True):
        field = _LINE.match(line)
        if field and below[:1] not in (" ", "\t", "-"):
            found[field[1]] = (_plain_fields(line + "\n") or {}).get(field[1], field[2].strip())
    return found


def _plain(value: object, budget: list[int]) -> object:
    """A value of YAML as JSON holds it: keys and dates as text, keys that are empty left out, no sign that cannot be saved."""
    budget[0] -= 1
    if budget[0] < 0:
        raise ValueError(f"it unfolds to more than {_MOST_NODES} values (a YAML bomb?)")
    match value:
        case None | bool():
            return value
        case int():
            return value if abs(value) < 1 << 63 else "a number of more digits than count"
        case float():
            return value if math.isfinite(value) else str(value)
        case datetime.date():
            return value.isoformat()
        case dict():
            return {key: _plain(v, budget) for k, v in value.items() if (key := _sayable(str(k)).strip())}
        case list() | tuple() | set():
            return [_plain(v, budget) for v in value]
    return _sayable(str(value))


def _sayable(text: str) -> str:
    return text if text.isprintable() else text.replace("\0", "\ufffd").encode("utf-8", "replace").decode("utf-8")
