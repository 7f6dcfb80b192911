"""Levers in free text of any domain: flags, `NAME=value`, identifiers, named settings with numbers. Refuses lists of one domain's words."""

import re

from kb.run.record import Lever

_VALUE = r"[\w.+\-/:,%]*[\w%]"
_PATTERNS = (
    re.compile(rf"(?<![\w-])(?P<name>--?[A-Za-z][\w.\-]*[\w])(?:=|[ \t]+(?=[\d'\"]|true\b|false\b|on\b|off\b))(?P<value>['\"]?{_VALUE}['\"]?)"),
    re.compile(r"(?<![\w-])(?P<name>--[A-Za-z][\w.\-]*\w|-[OfmWDgX][\w\-]*\w)"),
    re.compile(rf"(?<![\w-])(?P<name>[A-Za-z_][\w.]*\w|[A-Za-z])\s?(?:==|=)\s?(?P<value>{_VALUE})"),
    re.compile(r"(?<![\w.])(?P<name>[A-Za-z]+_\w*[A-Za-z0-9]|[a-z][\w]*(?:\.[a-zA-Z_]\w+)+|[A-Z][a-z0-9]+(?:[A-Z][a-z0-9]+)+)(?![\w.]*[/=])"),
    re.compile(r"(?<![\w-])(?P<name>[a-z]{1,4})(?P<value>\d+[kKmMgG]?)(?![\w])"),
    re.compile(r"(?<![\w-])(?P<name>[A-Za-z]{3,}(?:[ -](?:size|count|length|limit|depth|factor|level|width))?)[ -](?P<value>\d+(?:\.\d+)?[kKmMgG]?)(?![\w.])"),
)


def levers_in(text: str) -> tuple[Lever, ...]:
    """Levers named in a text, in order of first mention; a name with a value wins over the bare name."""
    found: dict[str, str] = {}
    taken: list[tuple[int, int]] = []
    hits: list[tuple[int, str, str]] = []
    for pattern in _PATTERNS:
        for m in pattern.finditer(text):
            if any(a < m.end() and m.start() < b for a, b in taken):
                continue
            taken.append(m.span())
            groups = m.groupdict()
            hits.append((m.start(), groups["name"], (groups.get("value") or "").strip("'\"").rstrip(".,:")))
    for _, name, value in sorted(hits):
        if not found.get(name):
            found[name] = value
    return tuple(Lever(name, value) for name, value in found.items())


def levers_of(title: str, *, slug: str, stated: tuple[str, ...], hypothesis: str, mechanism: str) -> tuple[Lever, ...]:
    """Levers of an experiment: what its front matter states, else what title, hypothesis and mechanism name, in that order."""
    found: dict[str, Lever] = {}
    for text in stated or (title, slug if " " in slug else "", hypothesis, mechanism):
        for lever in (_stated(text),) if stated else levers_in(text):
            known = found.get(lever.name)
            if known is None or not known.value:
                found[lever.name] = lever
    return tuple(found.values())


def _stated(text: str) -> Lever:
    name, _, value = text.partition("=")
    return Lever(name.strip(), value.strip())
