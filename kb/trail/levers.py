"""Levers in free text of any domain: flags, `NAME=value`, identifiers, settings with numbers, and which way they are moved.

Refuses lists of one domain's words: what is written like a setting or a name of code is one.
"""

import re
from functools import lru_cache

from kb.run.direction import direction_of
from kb.run.record import Lever

_VALUE = r"[\w.+\-/:,%]*[\w%]"
# `=81920` to `65536`, 512 → 256, from 2 to 3: the value that is tried is the last one.
_THEN = r"(?:[`*\s]*(?:→|->|to)[\s`*]+(?P<then>\d[\d.,]*[kKMG]?)(?![\w.]*[%\w]))?"
# What a number behind a word says how much of; words of computing at large, in front of which any word may stand ("kv block
# size 512").
_SETTING = (
    "sizes?|counts?|length|limit|depth|factor|level|width|batch|block|tile|seq|sequence|threads?|workers?|heads?|stages?|"
    "warps?|unroll|window|chunk|rank|degree|rate|budget|"
    "capacity|queue|pool|cache|buffer|stride|groups?|splits?|bits?|interval|timeout|offset"
)
# Words that only join a setting to its sentence.
_JOIN = (
    r"(?:a|an|and|any|as|at|by|each|every|fits?|for|from|has|have|in|into|is|its|larger|next|of|on|only|or|per|same|"
    r"smaller|than|that|the|their|this|to|unblocks?|unlocks?|use|uses|"
    r"using|versus|vs|when|where|which|with)\b"
)
# bf16, int8, sha256: a format's name, not a setting.
_FORMAT = "bf|fp|f|tf|int|uint|i|u|float|x|e|v|h|a|q|s|p|ipv|utf|sha|md|mp|k|gpu|tpu|cpu"
_PATTERNS = (
    re.compile(
        rf"(?P<name>-(?<![\w-]-)-?[A-Za-z][\w.\-]*\w)(?:=|[ \t]+(?=[\d'\"]|true\b|false\b|on\b|"
        rf"off\b))(?P<value>['\"]?{_VALUE}['\"]?){_THEN}"
    ),
    re.compile(
        r"(?P<name>--(?<![\w-]--)[A-Za-z][\w.\-]*\w)[`*]*\s+from\s+[`*]*(?P<value>\d[\d.,]*[kKMG]?)[`*]*\s+to\s+[`*]*(?P<then>\d[\d.,]*[kKMG]?)"
    ),
    re.compile(
        r"\b(?:set|sets|setting|raise|raising|lower|lowering|increas(?:e|ing)|reduc(?:e|ing)|chang(?:e|ing)|"
        r"bump(?:ing)?)\s+[`*]*(?P<name>[A-Za-z_][\w.\-]*\w)[`*]*\s+"
        r"(?:from\s+[`*]*\S+\s+)?to\s+[`*]*(?P<value>\d[\d.,]*[kKMG]?|true|false|on|off)\b",
        re.IGNORECASE,
    ),
    re.compile(r"(?P<name>-(?<![\w-]-)(?:-[A-Za-z][\w.\-]*\w|[OfmWDgX][\w\-]*\w))"),
    re.compile(rf"(?<![\w-])(?P<name>[A-Za-z_][\w.]*\w|[A-Za-z])\s?(?:==|=)\s?(?P<value>{_VALUE}){_THEN}"),
    re.compile(
        r"(?<![\w.])(?P<name>[A-Za-z]+_\w*[A-Za-z0-9]|[a-z]\w*(?:\.[a-zA-Z_]\w+)+|"
        r"[A-Z][a-z0-9]+(?:[A-Z][a-z0-9]+)+)(?![\w.]*[/=])"
    ),
    re.compile(rf"(?<![\w-])(?=[a-z]{{1,7}}\d)(?P<name>(?!(?:{_FORMAT})\d)[a-z]{{1,7}})(?P<value>\d+[kKmMgG]?)(?!\w){_THEN}"),
    re.compile(
        rf"(?<![\w-])(?P<name>(?:(?!{_JOIN})[a-z][\w-]* )?(?:{_SETTING}))[ -](?:from\s+|of\s+|"
        rf"to\s+)?(?P<value>\d+(?:\.\d+)?[kKmMgG]?)(?![\w%]|\.\d){_THEN}",
        re.IGNORECASE,
    ),
)
# Files, hosts and figures are written like identifiers and settings, and are none.
_NO_LEVER = re.compile(
    r"\.(?:md|py|txt|json|tsv|csv|sh|cpp|cu|c|h|hpp|rs|go|toml|yaml|yml|png|pb|gz|com|org|io)$|^https?$|^(?:exp|run|rerun|"
    r"retry|attempt|trial|steps?|worker|page|version|item)$",
    re.IGNORECASE,
)

# What a text must hold for each of the patterns to find something, so that most are not tried: "0" a digit, "n" a setting with one,
# "t" a value behind "to", "_" an identifier.
_SIGNS = ("-", "-", "t", "-", "=", "_", "0", "n")
_DIGIT = re.compile(r"\d")
_NUMBERED = re.compile(rf"(?:{_SETTING})[ -](?:from\s+|of\s+|to\s+)?\d")
_TO = re.compile(r"\sto\s+[`*]*(?:\d|true|false|o)")
_IDENTIFIER = re.compile(r"[A-Za-z]_|[a-z]\w*\.[a-zA-Z_]|[a-z0-9][A-Z]")
# Without one of these a text names no lever; most clauses are plain prose.
_MAYBE = re.compile(r"[\d=_]|-[-A-Za-z]|[a-z]\.[A-Za-z_]|[a-z0-9][A-Z]|\b(?i:true|false|on|off)\b", re.ASCII)


@lru_cache(maxsize=4096)
def _is_no_lever(name: str) -> bool:
    return _NO_LEVER.search(name) is not None


# The facts of an experiment and its aim are read from the same texts, one after the other.
@lru_cache(maxsize=512)
def levers_in(text: str) -> tuple[Lever, ...]:
    """Levers named in a text, in order of first mention; a name with a value wins over the bare name."""
    if not _MAYBE.search(text):
        return ()
    found: dict[str, str] = {}
    taken = bytearray(len(text))
    hits: list[tuple[int, str, str]] = []
    # In lower case, because a pattern that heeds case is many times faster.
    lower = text.lower()
    signs = {
        "-": "-" in text,
        "=": "=" in text,
        "0": _DIGIT.search(text) is not None,
        "t": _TO.search(lower) is not None,
        "_": _IDENTIFIER.search(text) is not None,
    }
    signs["n"] = signs["0"] and _NUMBERED.search(lower) is not None
    for sign, pattern in zip(_SIGNS, _PATTERNS, strict=True):
        for m in pattern.finditer(text) if signs[sign] else ():
            start, end = m.span()
            name = m["name"]
            if taken.find(1, start, end) >= 0 or _is_no_lever(name):
                continue
            taken[start:end] = b"\1" * (end - start)
            groups = m.groupdict()
            value = groups.get("then") or groups.get("value") or ""
            hits.append((start, name, value.strip("'\"").rstrip(".,:")))
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


def key_of(name: str) -> str:
    """A lever's name without dashes, case and separators: `--batch-size`, `BATCH_SIZE` and `batchSize` are one."""
    return re.sub(r"[^a-z0-9]", "", name.lower())


def number_of(value: str) -> float | None:
    """Number of a lever's value: `8k` is 8192 as sizes of code are, `1,024` is 1024; None for any other word."""
    m = re.fullmatch(r"[+-]?(\d[\d,]*(?:\.\d+)?)([kKMG]?)", value.strip())
    return float(m[1].replace(",", "")) * {"": 1, "k": 1024, "K": 1024, "M": 1 << 20, "G": 1 << 30}[m[2]] if m else None


_CUES = {
    "raise": r"increas\w*|rais(?:e|es|ed|ing)|bump\w*|bigger|larger|grow(?:s|ing)?|higher|doubl\w+|more of|deeper|longer|widen\w*|"
    r"maximi[sz]\w*",
    "lower": r"reduc(?:e|es|ed|ing)|decreas\w*|shrink\w*|smaller|lower(?:s|ed|ing)?|halv\w+|fewer|shorter|tighten\w*|minimi[sz]\w*|less",
    "disable": r"disabl\w*|remov\w*|dropp?(?:ing|ed)?|without|turn(?:ing|ed)? off|skip\w*|eliminat\w*|no longer|unset",
    "enable": r"enabl\w*|add(?:s|ing)?|turn(?:ing|ed)? on|introduc\w*|adopt\w*|forc(?:e|ing)|integrat\w*|try|use|using",
    "replace": r"replac\w*|swap\w*|switch\w*|port(?:s|ing)?|migrat\w*|instead of",
}
# Looked for in lower case.
_CUE = {name: re.compile(rf"\b(?:{words})\b") for name, words in _CUES.items()}
_ARROW = re.compile(
    r"(\d[\d.,]*[kKMG]?)\s*[`*]*\s*(?:→|->)\s*[`*]*(\d[\d.,]*[kKMG]?)|"
    r"from\s+[`*]*(\d[\d.,]*[kKMG]?)[\w\s`*]{0,12}?\s+to\s+[`*]*(\d[\d.,]*[kKMG]?)|=(\d[\d.,]*)[`*]*\s+to\s+[`*]*(\d[\d.,]*)"
)
OPPOSITE = {"raise": "lower", "lower": "raise", "enable": "disable", "disable": "enable"}


def _of_effect(text: str, at: int) -> bool:
    """Whether the words from `at` on name something measured: "raises the token rate" says what a change does, not which
    way its lever goes.
    """
    return direction_of(" ".join(re.findall(r"[A-Za-z/]+", text[at : at + 40])[:4])) is not None


def direction_in(title: str, statement: str) -> str:
    """`raise`, `lower`, `enable`, `disable` or `replace`, as title and statement say a lever is moved; empty where they do
    not, or say both ways.
    """
    for text in (title, statement):
        numbers = [tuple(number_of(g.rstrip(".,")) for g in m.groups() if g) for m in _ARROW.finditer(text)]
        moved = {"raise" if b > a else "lower" for a, b in (n for n in numbers if len(n) == 2 and None not in n) if a != b}
        if len(moved) == 1:
            return moved.pop()
        lower = text.lower()
        text = text if len(text) == len(lower) else lower
        cues = {name: sum(not _of_effect(text, m.end()) for m in pattern.finditer(lower)) for name, pattern in _CUE.items()}
        size = cues["raise"] - cues["lower"]
        if size and (not cues["raise"] or not cues["lower"]):
            return "raise" if size > 0 else "lower"
        if cues["raise"] and cues["lower"]:
            return ""
        for name in ("disable", "replace", "enable"):
            if cues[name]:
                return name
    return ""
