"""Levers in free text of any domain: flags, `NAME=value`, identifiers, settings with numbers, and which way they are moved.

Refuses lists of one domain's words: what is written like a setting or a name of code is one.
"""

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple

from kb import regex
from kb.run.direction import direction_of
from kb.run.record import Lever
from kb.text import one_line, unit_of


class Mention(NamedTuple):
    """A lever where a text names it, from `start` to `end`: the value it is set to, and the one it had `before` where that is said."""

    start: int
    end: int
    name: str
    value: str
    before: str = ""


# A number as code and prose write it: 4096, 1,024, 0.1, 6e-4, 64k, 64 KiB, 8GB, 2**19.
_NUMBER = r"\d[\d.,_]*(?:(?:\*\*|\^)\d+)?(?:[eE]-?\d+)?(?:\s?(?:[kKMGT]i?B|[KMGT]i)\b|[kKMG]\b)?"
# What stands behind a name: a word of code, 1 << 16, 64*1024, 64 KiB.
_VALUE = r"(?P<value>\d[\d_]*(?:\s?<<\s?|\*\*?|\^)\d[\d_]*(?![\w%])|\d[\d.,_]*\s(?:[kKMGT]i?B|[KMGT]i)\b|['\"]?[\w.+\-/:,%]*[\w%]['\"]?)"
# `=81920` to `65536`, 512 → 256, from 2 to 3: the value that is tried is the last one.
_SWITCHED = "True|False|true|false|on|off"
_THEN = rf"(?:[`*\s]*(?:→|->|to)[\s`*]+(?:(?P=name)[=\s]+|=)?(?P<then>{_NUMBER}|{_SWITCHED})(?![\w.]*[%\w]))?"
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
    # -XX:+UseX, -XX:-UseX, -XX:X=64: the switches of a JVM.
    regex(r"-XX:(?P<sign>[+-])?(?P<name>[A-Z]\w+)(?:=(?P<value>[\w.%]+))?"),
    regex(
        rf"(?P<name>-(?<![\w-]-)-?[A-Za-z][\w.\-]*\w)(?:=|[ \t]+(?=[\d'\"]|true\b|false\b|on\b|off\b|auto\b|none\b|"
        rf"(?!v\d|exp|run)[A-Za-z]+_?[a-z]*\d)){_VALUE}{_THEN}"
    ),
    regex(
        r"(?P<name>(?<![\w-])--?[A-Za-z][\w.\-]*\w|(?<![\w.-])(?:[A-Za-z]+_\w*[A-Za-z0-9]|[A-Z]{2,}\w*|[a-z]+[A-Z]\w*|[a-z]\w*(?:\.\w+)+))=?[`*:]*\s+"
        rf"(?:from\s+)?[`*]*=?(?P<value>{_NUMBER}|{_SWITCHED})[`*]*\s*(?:to|→|->)\s*[`*]*=?(?P<then>{_NUMBER}|{_SWITCHED})(?![\w%])"
    ),
    regex(
        r"\b(?:set|sets|setting|rais(?:e|ing)|lower|lowering|increas(?:e|ing)|reduc(?:e|ing)|chang(?:e|ing)|bump(?:ing)?|"
        r"doubl(?:e|ing)|halv(?:e|ing)|grow(?:ing)?|shrink(?:ing)?)\s+(?:the\s+)?"
        r"[`*]*(?P<name>(?:(?!the |its )[a-z]+ )?[A-Za-z_][\w.\-]*\w)[`*]*\s+"
        rf"(?:from\s+[`*]*(?P<before>\S+?(?:\s[kKMGT]i?B)?)[`*]*\s+)?to\s+[`*]*(?P<value>{_NUMBER}|true|false|on|off)(?![\w%]|\.\d|\s?%)",
        re.IGNORECASE,
    ),
    # -j8, -Xmx4g: a short flag and its number in one. -O3 is a name of its own.
    regex(
        rf"(?P<name>-(?<![\w-]-)(?!O|(?:{_FORMAT})\d)[A-Za-z]{{1,3}})(?P<value>\d+[kKmMgG]?)(?![\w.%\-])"
    ),
    regex(r"(?P<name>-(?<![\w-]-)(?:-[A-Za-z][\w.\-]*\w|[OfmWDgX][\w\-]*\w))"),
    regex(
        rf"(?<![\w-])(?P<macro>#define\s+)?(?P<name>(?>[A-Za-z_][\w.]*\w|[A-Za-z]))(?(macro)\s+|\s?(?:==|=)\s?){_VALUE}{_THEN}"
    ),
    # A key with its value, as JSON and Python write one; a constant with its number.
    regex(rf"""["'](?P<name>[A-Za-z]\w*)["']\s*:\s*{_VALUE}"""),
    regex(
        rf"(?<![\w.-])(?P<name>[A-Za-z]++_\w*[A-Za-z0-9])[`*]*\s(?:to\s)?[`*]*(?P<value>{_NUMBER})(?!\.?\w|\s?[%×x]\b|-\w)(?:\s\(?from\s(?P<before>{_NUMBER})(?![\w%]))?"
    ),
    # A name that only code writes, `a_b`, `a.b`, `AbCd`, `abCd`, and what stands behind its colon.
    regex(
        r"(?<![\w.])(?P<name>[A-Za-z]++_\w*[A-Za-z0-9]|[a-z]\w*+(?:\.[a-zA-Z_]\w+)+|[A-Z][a-z0-9]++(?:[A-Z][a-z0-9]+)+|"
        r"[a-z][a-z0-9]*+(?:[A-Z][a-z0-9]+)+)(?![\w.]*[/=])"
        rf"(?::[ \t](?P<value>{_NUMBER}|true\b|false\b|on\b|off\b)(?![\w%]|[./]\d|\s?%){_THEN})?"
    ),
    # bs4, seq8192; not qwen3-8b, not clock64(), which is called, and not l2, which is a name.
    regex(
        rf"(?<![\w-])(?=[a-z]{{1,7}}\d)(?P<name>(?!(?:{_FORMAT})\d)(?:[a-z]{{2,7}}|[a-z](?=\d\d)))(?P<value>\d+[kKmMgG]?)(?!\w|-\d|\()"
        rf"{_THEN}"
    ),
    regex(
        rf"(?<![\w-])(?P<name>(?:(?!{_JOIN})[a-z][\w-]*+ )?(?:{_SETTING}))(?::\s|[ -](?:from\s+|of\s+|"
        rf"to\s+)?)(?P<value>\d+(?:\.\d+)?(?:e-?\d+|(?:\*\*|\^)\d+)?(?:\s?[kKMGT]i?B\b|[kKmMgG])?)(?![\w%]|\.\d|['’]s){_THEN}",
        re.IGNORECASE,
    ),
)
# Files, hosts and figures are written like identifiers and settings, and are none.
_NO_LEVER = regex(
    r"\.(?:md|py|txt|json|tsv|csv|sh|cpp|cu|c|h|hpp|rs|go|toml|yaml|yml|png|pb|gz|com|org|io)$|^https?$|^(?:exp|run|rerun|"
    r"retry|attempt|trial|steps?|worker|page|version|item)$",
    re.IGNORECASE,
)

# What a text must hold for each of the patterns to find something, so that most are not tried: "X" a switch of a JVM, "0" a digit behind
# a letter, "a_0" a number behind an identifier, "_" an identifier, "→" a change; of "n" (a setting with a digit) and "t" (a value behind "to")
# also where to look.
_SIGNS = ("X", "-", "→", "t", "-", "-", "=", "q", "a_0", "_", "0", "n")
_DIGIT = regex(r"\d")
# What stands between a setting and its number is found fast, and the setting, no longer than eight letters, by looking back from there.
_NUMBERED = regex(r"[: -](?<=[a-z].)(?:(?<=:)\s|(?<!:)(?:(?:from|of|to)\s+)?)\d")
_SETTING_BEFORE, _LONGEST_SETTING = regex(rf"(?:{_SETTING})\Z"), 8
_TO = regex(r"\sto\s+[`*]*(?:\d|true|false|o)")
_CHANGED = regex(r"(?:to|→|->)[\s`*]*=?(?:\d|true|false|on|off)")
_VALUED = regex(r"_\w*+[`*]*\s(?:to\s)?[`*]*\d")
_SWITCHES = {"+": "true", "-": "false"}
_AROUND = 60
_LETTERED = regex(r"[a-z]\d")
_CODED = regex(r"[_.A-Z](?:(?<=[A-Za-z]_)|(?<=\w\.)[A-Za-z_]|(?<=[a-z0-9][A-Z]))")
# Without one of these a text names no lever; most clauses are plain prose.
_MAYBE = regex(
    r"[\d=_]|-[-A-Za-z]|[a-z]\.[A-Za-z_]|[a-z0-9][A-Z]|\b(?i:true|false|on|off)\b", re.ASCII
)


@lru_cache(maxsize=512)
def levers_in(text: str) -> tuple[Lever, ...]:
    """Levers named in a text, in order of first mention; a name with a value wins over the bare name."""
    return _each_once(Lever(mention.name, mention.value) for mention in mentions_in(text))


# The facts of an experiment and its aim are read from the same texts, one after the other.
@lru_cache(maxsize=512)
def mentions_in(text: str) -> tuple[Mention, ...]:
    """Every mention of a lever in a text, in order."""
    if not _MAYBE.search(text):
        return ()
    taken = bytearray(len(text))
    mentions: list[Mention] = []
    for sign, m in _matches(text):
        start, end = m.span()
        # "lower the latency to 3 ms" says what is measured.
        measured = sign == "t" and "_" not in m["name"] and direction_of(m["name"])
        if taken.find(1, start, end) < 0 and not measured and not _NO_LEVER.search(m["name"]):
            taken[start:end] = b"\1" * (end - start)
            mentions.append(_mention(m))
    return tuple(sorted(mentions))


def _matches(text: str) -> Iterator[tuple[str, re.Match[str]]]:
    """What each pattern that may find something finds, with its sign."""
    # In lower case, because a pattern that heeds case is many times faster.
    lower = text.lower()
    digit = _DIGIT.search(text) is not None
    signs = {
        "-": "-" in text,
        "=": "=" in text or "#define" in text,
        "0": _LETTERED.search(text) is not None,
        "a_0": _VALUED.search(text) is not None,
        "n": digit,
        "_": _CODED.search(text) is not None,
        "X": "-XX:" in text,
        "q": '":' in text or "':" in text,
        "→": _CHANGED.search(lower) is not None,
        "t": " to" in lower or "\nto" in lower,
    }
    for sign, pattern in zip(_SIGNS, _PATTERNS, strict=True):
        spans = (_numbered if sign == "n" else _valued)(lower) if sign in "nt" else [()]
        for span in spans if signs[sign] else ():
            yield from ((sign, m) for m in pattern.finditer(text, *span))


def _numbered(lower: str) -> Iterator[tuple[int, int]]:
    """Where a setting stands before its number, with what is around."""
    for site in _NUMBERED.finditer(lower):
        at = site.start()
        if setting := _SETTING_BEFORE.search(lower, max(0, at - _LONGEST_SETTING), at):
            yield max(0, setting.start() - _AROUND), site.end() + _AROUND


def _valued(lower: str) -> Iterator[tuple[int, int]]:
    """Where a value stands behind "to"."""
    return ((max(0, s.start() - _AROUND), s.end() + _AROUND) for s in _TO.finditer(lower))


def _mention(m: re.Match[str]) -> Mention:
    groups = m.groupdict()
    then, value = groups.get("then"), groups.get("value") or _SWITCHES.get(groups.get("sign"), "")
    before = groups.get("before") or (value if then else "")
    cleaned = [v and v.strip("'\"`*").rstrip(".,:") for v in (then or value, before)]
    return Mention(*m.span(), m["name"], *cleaned)


def levers_of(title: str, slug: str, *statements: str) -> tuple[Lever, ...]:
    """Levers that an experiment's title, hypothesis and mechanism name, in that order."""
    return _each_once(v for t in (title, slug * (" " in slug), *statements) for v in levers_in(t))


def stated_levers(texts: Iterable[str]) -> tuple[Lever, ...]:
    """Levers as front matter states them: a name, or `name=value`."""
    pairs = (text.partition("=") for text in texts)
    return _each_once(Lever(one_line(name), one_line(value)) for name, _, value in pairs)


def _each_once(levers: Iterable[Lever]) -> tuple[Lever, ...]:
    """Levers in order of first mention; a name with a value wins over the bare name."""
    by_name: dict[str, Lever] = {}
    for lever in levers:
        if lever.name not in by_name or not by_name[lever.name].value:
            by_name[lever.name] = lever
    return tuple(by_name.values())


@lru_cache(maxsize=8192)
def key_of(name: str) -> str:
    """A lever's name without dashes, case and separators: `--batch-size`, `BATCH_SIZE` and `batchSize` are one."""
    return "".join(c for c in name.lower() if c.isalnum() and c.isascii())


# Words that switch what a name goes on to say: `-fno-x`, `--no-x`, `NO_X`, `disableX`, `--enable-x`, `use_x`, `A_DISABLE_B`, `x_enabled`.
_SWITCHING = regex(
    r"(?:^|(?<=^-)|(?<=^--)|(?<=^-[fWm]))(?i:(?P<no>no|without|disabled?)|enabled?|use)(?:[-_]|(?<=[a-z])(?=[A-Z]))(?=\w)|"
    r"(?<=[-_])(?i:(?P<off>disabled?)|enabled?)(?:[-_](?=\w)|$)"
)


@lru_cache(maxsize=4096)
def switch_of(name: str) -> tuple[str, bool]:
    """Key of the lever that a name switches and whether it switches it off: `-fno-x` and `-fx`, `--no-x` and `--x`, `DISABLE_X`
    and `ENABLE_X` are one lever each; `-DX` is the macro `X`.
    """
    bare = name[2:] if name.startswith("-D") and len(name) > 3 else name
    if len(bare) == 2 and bare[0] == "-":
        return bare, False  # A letter alone is told apart by its case and its dash.
    off = False

    def left_out(m: re.Match[str]) -> str:
        nonlocal off
        off = off or m["no"] is not None or m["off"] is not None
        return ""

    # `--no-use-x` says it twice.
    key = key_of(_SWITCHING.sub(left_out, _SWITCHING.sub(left_out, bare)))
    return (key, off) if key else (key_of(bare), False)


_QUANTITY = regex(
    r"(?P<number>[+-]?(?:\d[\d,_]*(?:\.\d+)?|\.\d+)(?:[eE][+-]?\d+)?)\s?(?P<unit>%|[A-Za-zµ]{0,14})"
)
_SIZES = ("", "k", "m", "g", "t")
# Longer numbers are no settings, and no number that code can hold.
_MADE = regex(r"(\d[\d_]{0,17})\s?(<<|\*\*?|\^)\s?(\d[\d_]{0,17})")


@lru_cache(maxsize=4096)
def is_common(name: str) -> bool:
    """Whether a name is one of the words that settings of any kind are called by (`block`, `size`), so that alone it names none."""
    return re.fullmatch(_SETTING, name, re.IGNORECASE) is not None


@lru_cache(maxsize=512)
def _factor_of(spelling: str) -> float | None:
    """What one of a unit is of its base unit, sizes in steps of 1024; None for a word that is no unit of a setting."""
    if spelling.lower() in _SIZES:
        return 1024.0 ** _SIZES.index(spelling.lower())
    unit = unit_of(spelling)
    if unit is None or unit.dimension not in ("size", "time", "share"):
        return None
    prefix = unit.name[:1].lower() if unit.dimension == "size" else ""
    return 1024.0 ** _SIZES.index(prefix.strip("b")) if prefix else unit.factor


@lru_cache(maxsize=8192)
def number_of(value: str) -> float | None:
    """Number of a lever's value; None for any other word.

    `8k`, `8 KiB` and `8kB` are 8192 as sizes of code are, `1,024`, `1_024`, `0x400`, `1 << 10` and `2**10` are 1024, `500ms` and
    `500 milliseconds` are 0.5, `90%` is 0.9.
    """
    text = value.strip()
    if m := _QUANTITY.fullmatch(text):
        factor = _factor_of(m["unit"])
        return factor and float(m["number"].replace(",", "").replace("_", "")) * factor
    if m := _MADE.fullmatch(text):
        a, b = int(m[1].replace("_", "")), int(m[3].replace("_", ""))
        if m[2] == "*":
            return float(a * b)
        base = 2 if m[2] == "<<" else a
        return float(base**b * (a if m[2] == "<<" else 1)) if b < 64 and base < 1000 else None
    return float(int(text, 16)) if re.fullmatch(r"0[xX][\da-fA-F]{1,16}", text) else None


_CUES = {
    "raise": r"increas\w*|rais(?:e|es|ed|ing)|bump\w*|bigger|larger|grow(?:s|ing)?|higher|doubl\w+|more of|deeper|longer|widen\w*|"
    r"maximi[sz]\w*",
    "lower": r"reduc(?:e|es|ed|ing)|decreas\w*|shrink\w*|smaller|lower(?:s|ed|ing)?|halv\w+|fewer|shorter|tighten\w*|minimi[sz]\w*|less",
    # "no gain, dropped" says what was done with the change.
    "disable": r"disabl\w*|(?:remov\w*|dropp?(?:ing|ed)?)(?:(?<!, removed)(?<!, dropped)|(?=\s\w))|without|turn(?:ing|ed)? off|skip\w*|eliminat\w*|no longer|unset",
    "enable": r"enabl\w*|add(?:s|ing)?|turn(?:ing|ed)? on|introduc\w*|adopt\w*|forc(?:e|ing)|integrat\w*|try|use|using",
    "replace": r"replac\w*|swap\w*|switch\w*|port(?:s|ing)?|migrat\w*|instead of",
}
# Looked for in lower case.
_CUE = regex(rf"\b(?:{'|'.join(f'(?P<{name}>{words})' for name, words in _CUES.items())})\b")
_ARROW = regex(
    r"(\d[\d.,]*[kKMG]?)\s*[`*]*\s*(?:→|->)\s*[`*]*(\d[\d.,]*[kKMG]?)|"
    r"from\s+[`*]*(\d[\d.,]*[kKMG]?)[\w\s`*]{0,12}?\s+to\s+[`*]*(\d[\d.,]*[kKMG]?)|=(\d[\d.,]*)[`*]*\s+to\s+[`*]*(\d[\d.,]*)"
)
OPPOSITE = {"raise": "lower", "lower": "raise", "enable": "disable", "disable": "enable"}


def _arrow_way(numbers: re.Match[str]) -> str:
    """Which way the numbers of an arrow go; empty where they are equal, or none."""
    values = [number_of(g.rstrip(".,")) for g in numbers.groups() if g]
    is_change = len(values) == 2 and None not in values and values[0] != values[1]
    return ("raise" if values[1] > values[0] else "lower") if is_change else ""


def _verb_way(text: str) -> str | None:
    """Which way the verbs of a text move a lever; empty where they say both ways, None where they say nothing. "Raises the token rate"
    says what a change does, not which way its lever goes.
    """
    lower = text.lower()
    objects = (
        (m.lastgroup, re.findall(r"[a-z/]+", lower[m.end() : m.end() + 40]))
        for m in _CUE.finditer(lower)
    )
    cues = {way for way, words in objects if direction_of(" ".join(words[:4])) is None}
    ways = (way for way in ("raise", "lower", "disable", "replace", "enable") if way in cues)
    return "" if {"raise", "lower"} <= cues else next(ways, None)


def direction_in(title: str, statement: str) -> str:
    """`raise`, `lower`, `enable`, `disable` or `replace`, as title and statement say a lever is moved; empty where they do
    not, or say both ways.
    """
    for text in (title, statement):
        moved = {way for way in map(_arrow_way, _ARROW.finditer(text)) if way}
        cued = moved.pop() if len(moved) == 1 else _verb_way(text)
        if cued is not None:
            return cued
    return ""


_BEFORE, _BEHIND = 40, 40
_SWITCHED = regex(
    r"[`*\s]*(?:(?:is|are|was|were|turned)\s+)?(?P<way>off|disabled|removed|dropped|unset|on|enabled)\b"
)


def way_of(clause: str, name: str) -> str:
    """Which way a clause moves the lever that it names: by the numbers or the word behind the name, else by the last verb
    before it; empty where it does not say.
    """
    at = clause.find(name)
    if at < 0:
        return ""
    end = at + len(name)
    behind = clause[end : end + _BEHIND].lower()
    moved = _ARROW.match(behind.lstrip("`* :=")) if behind else None
    if moved and (way := _arrow_way(moved)):
        return way
    if switched := _SWITCHED.match(behind):
        return "enable" if switched["way"] in ("on", "enabled") else "disable"
    cues = list(_CUE.finditer(clause[max(0, at - _BEFORE) : at].lower()))
    return cues[-1].lastgroup or "" if cues else ""
