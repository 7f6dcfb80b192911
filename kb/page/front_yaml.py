"""Front matter that needs a YAML parser. Bad YAML becomes findings, never an exception; nothing is executed or expanded."""

import datetime
import math
import re

import yaml

from kb.page.front import plain_fields
from kb.schema import Finding

# A front matter that unfolds to more nodes than this is a YAML bomb, not a page's description.
_MOST_NODES = 200_000
_TEXT = "tag:yaml.org,2002:str"


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
    """The safe loader, which also remembers keys that stand twice."""

    def __init__(self, stream: str):
        super().__init__(stream)
        self.twice: list[tuple[str, int]] = []

    def construct_object(self, node, deep=False):
        # Most nodes are plain strings, which need none of the machinery for nodes that hold nodes.
        return (
            node.value
            if node.tag == _TEXT and type(node) is yaml.ScalarNode
            else super().construct_object(node, deep)
        )

    def construct_mapping(self, node, deep=False):
        keys = set()
        for key, _ in node.value:
            if key.value.__hash__ is not None:
                if key.value in keys:
                    self.twice.append((str(key.value), key.start_mark.line))
                keys.add(key.value)
        return super().construct_mapping(node, deep)


_Loader.add_constructor(
    "tag:yaml.org,2002:map", lambda loader, node: loader.construct_mapping(node, True)
)


def yaml_values(raw: str, path: str) -> tuple[dict[str, object], tuple[Finding, ...]]:
    """The fields of a front matter, and what is wrong with it; of one that no parser reads, those that stand on a line each."""
    try:
        if _nested_deeply(raw):
            raise ValueError("it is nested too deeply")
        loader = _Loader(raw.replace("\0", "\ufffd"))
        value = loader.get_single_data() or {}
        if not isinstance(value, dict):
            raise ValueError(f"it is a {type(value).__name__}, and no `key: value` lines")
        fields = _plain(value, [_MOST_NODES])
    except (yaml.YAMLError, ValueError, TypeError, RecursionError, OverflowError) as error:
        mark = getattr(error, "problem_mark", None)
        problem = getattr(error, "problem", None) or " ".join(str(error).split())[:200]
        message = f"the front matter cannot be read: {problem}"
        line = 2 + (mark.line if mark else 0)
        return _line_by_line(raw), (Finding(path, line, "front-matter", message, hint=_HINT),)
    twice = (
        Finding(
            path,
            2 + line,
            "duplicate-key",
            f"the key '{key}' stands twice; the last one counts",
            target=key,
            hint="remove one",
        )
        for key, line in loader.twice
    )
    return fields, tuple(twice)


_HINT = "keep it to plain values, lists and short tables; quote values that hold ': ' or begin with a bracket"
# Deeper than this no page nests its fields, and a parser that calls itself for every level ends.
_DEEPEST = 60


def _nested_deeply(raw: str) -> bool:
    depth = deepest = 0
    for bracket in filter("[]{}".__contains__, raw):
        depth += 1 if bracket in "[{" else -1
        deepest = max(deepest, depth)
    lines = raw.split("\n")
    inner = max(len(line) - len(line.lstrip(" ")) for line in lines)
    return (
        max(deepest, inner // 2, *(line.count("- ") + line.count("? ") for line in lines))
        > _DEEPEST * 4
    )


_LINE = re.compile(r"([A-Za-z_][\w-]*):[ \t]+(\S.*)$")


def _line_by_line(raw: str) -> dict[str, object]:
    """The fields of a front matter that is no valid YAML, from the lines that hold a whole field each, where such a line is plain; else its
    value as written. So one `title: A: b` does not hide type, verdict and date of its page.
    """
    lines = [line for line in raw.split("\n") if line.strip() and not line.lstrip().startswith("#")]
    fields: dict[str, object] = {}
    for line, below in zip(lines, [*lines[1:], ""], strict=True):
        field = _LINE.match(line)
        if field and below[:1] not in (" ", "\t", "-"):
            fields[field[1]] = (plain_fields(line + "\n") or {}).get(field[1], field[2].strip())
    return fields


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
            return {
                key: _plain(v, budget)
                for k, v in value.items()
                if (key := _sayable(str(k)).strip())
            }
        case list() | tuple() | set():
            return [_plain(v, budget) for v in value]
    return _sayable(str(value))


def _sayable(text: str) -> str:
    return (
        text
        if text.isprintable()
        else text.replace("\0", "\ufffd").encode("utf-8", "replace").decode("utf-8")
    )
