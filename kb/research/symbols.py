"""Names in source lines of any language: what is defined, set, called for and merely used. Refuses
to parse: a diff holds no whole program.
"""

import re
from collections.abc import Iterable

_DEFINED = re.compile(
    r"^\s*(?:(?:pub(?:\([^)]*\))?|export|default|async|static|inline|extern|unsafe|virtual|public|private|protected|abstract|final|template\s*<[^>]*>|__\w+__)\s+)*"
    r"(?:def|class|fn|func|function|struct|enum|union|trait|interface|type|impl|namespace|macro_rules!|mod|#\s*define)\s+(?:\([^)]*\)\s*)?([A-Za-z_]\w*)"
)
# A function of the C family: a type, a name, its arguments, and neither an end of statement nor a
# keyword of control.
_C_FUNCTION = re.compile(
    r"^(?:template\s*<[^>]*>\s*)?(?!\s*(?:return|else|case|if|for|while|switch|new|delete|throw)\b)[A-Za-z_][\w:<>,\s*&]*?[\s*&]([A-Za-z_]\w*)\s*\([^;={}]*(?:\)\s*(?:const|noexcept|override)?\s*\{?\s*|,\s*)$"
)
_SET = re.compile(
    r"^\s*(?:(?:const|let|var|static|final|constexpr|export|pub|mut|val|auto|unsigned|int|float|double|bool|char|size_t|u?int\d+_t|String|self|this)[\s.*&]+)*"
    r"([A-Za-z_][\w-]*(?:\[[\"'][\w.-]+[\"']\])?)\s*(?::\s*[^=]{1,40})?\s*(?::=|=)\s*(?!=)(.+)$"
)
_DEFINE_VALUE = re.compile(r"^\s*#\s*define\s+([A-Za-z_]\w*)\s+(.+)$")
_FLAG = re.compile(r"[\"'`\s(](--?[a-z][\w-]{2,})\b")
_ENVIRONMENT = re.compile(
    r"(?:environ|getenv|env::var|Getenv|process\.env)\W{0,12}(?:get\W{1,3})?[\"']?([A-Z][A-Z0-9_]{3,})"
)
_QUOTED_NAME = re.compile(r"\[[\"']([A-Z][A-Z0-9_]{3,})[\"']\]")
_COMMENT = re.compile(
    r"\s*(?:#(?!\s*(?:define|if|ifdef|ifndef|else|elif|endif|pragma|include|undef|\[))|//|--\s|;;|/\*|\*\s|\*/|\"\"\").*$"
)
_IDENTIFIER = re.compile(r"\b[A-Za-z_]\w*")
_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")


def code_of(line: str) -> str:
    """A line without its comment and outer blanks, single blanks within: what the machine sees of
    it.
    """
    if not line.strip() or _COMMENT.match(line):
        return ""
    mark = -1
    quote = ""
    for at, char in enumerate(line):
        if quote:
            quote = "" if char == quote and line[at - 1] != "\\" else quote
        elif char in "\"'`":
            quote = char
        elif (
            at
            and line[at - 1] in " \t;,)"
            and (
                char == "#"
                and line[:at].strip()
                or line.startswith("//", at)
                and _is_comment(line, at)
            )
        ):
            mark = at
            break
    return " ".join((line[:mark] if mark > 0 else line).split())


def _is_comment(line: str, at: int) -> bool:
    """Whether `//` begins a comment here; behind an operand and before a single one it divides."""
    return (
        line[:at].rstrip()[-1:] in ";{},"
        or re.match(r"//+\s*[A-Za-z'\"]+\s+[A-Za-z]", line[at:]) is not None
    )


def identifiers(text: str) -> list[str]:
    return _IDENTIFIER.findall(text)


def parts_of(name: str) -> tuple[str, ...]:
    """The words of a name: `MaxSeqLen`, `max_seq_len` -> max, seq, len."""
    return tuple(part.lower() for part in _PARTS.findall(name))


def defined_in(line: str) -> str:
    """The function, type or macro that a line defines, else empty."""
    match = _DEFINED.match(line) or _C_FUNCTION.match(line)
    return match[1] if match else ""


def setting_of(line: str) -> tuple[str, str]:
    """Name and value of an assignment or a macro with a value; two empty strings for any other
    line.
    """
    match = _DEFINE_VALUE.match(line) or _SET.match(code_of(line))
    return (match[1], match[2].rstrip(" ;,")) if match else ("", "")


def flags_in(line: str) -> list[str]:
    """Options of a command line and variables of the environment that a line names."""
    return [*_FLAG.findall(line), *_ENVIRONMENT.findall(line), *_QUOTED_NAME.findall(line)]


def touched(lines: Iterable[str], within: str = "") -> list[str]:
    """Names that lines define, set or take from outside, in order; first the function around them."""
    names = dict.fromkeys(identifiers(within.partition("(")[0])[-1:])
    for line in lines:
        names.update(
            dict.fromkeys(filter(None, (defined_in(line), setting_of(line)[0], *flags_in(line))))
        )
    return [name for name in names if len(name) > 2]
