"""What captured text may do to a reader who trusts it: unseen characters, turned lines, orders to
an agent, secrets. Marks it; removes secrets only.
"""

import re
import unicodedata
from dataclasses import dataclass

MASK = "«masked»"
_BIDI = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f\u061c")
# An order to whoever reads by machine: a verb of override beside what is overridden, a role that
# speaks, or a tool that is called.
_ORDERS = re.compile(
    r"(?i)\b(?:ignore|disregard|forget|override)\b[^.\n]{0,40}\b(?:previous|prior|above|earlier|all|your|system)\b[^.\n]{0,30}\b(?:instructions?|prompts?|rules?|messages?|guidelines?|context)\b"
    r"|(?:^|[\s>\"'(])(?:system|assistant|developer)\s*(?:prompt|message|instruction)?s?\s*:\s*\S"
    r"|<\s*/?\s*(?:system|assistant|tool_call|function_calls?|instructions?|im_start|im_end)\b[^>\n]{0,40}>|<\|[a-z_]{3,20}\|>|\[/?INST\]"
    r"|\b(?:you are now|you must now|as an ai|dear (?:ai|llm|agent|assistant)|(?:note|message|instructions?) (?:to|for) (?:the |any |all )?(?:ai|llm|agents?|assistants?|models?|crawlers?))\b"
    r"|\b(?:do not|don't|never) (?:tell|inform|mention|reveal)[^.\n]{0,30}\b(?:user|human|operator|owner)\b"
    r"|\b(?:run|execute|paste|type)\b[^.\n]{0,30}\b(?:curl|wget|rm -rf|sudo|bash -c|eval)\b",
    re.MULTILINE,
)
# Shapes that issuers of secrets document for their own, then an assignment to a name that promises
# one.
_SECRETS = re.compile(
    r"(?P<key>-----BEGIN (?:[A-Z]+ )*PRIVATE KEY-----[\s\S]{1,8000}?(?:-----END (?:[A-Z]+ )*PRIVATE KEY-----|\Z))"
    r"|(?P<token>\b(?:gh[pousr]_[A-Za-z0-9]{30,}|github_pat_[A-Za-z0-9_]{40,}|glpat-[\w-]{20,}|hf_[A-Za-z0-9]{30,}|sk-(?:ant-|proj-)?[A-Za-z0-9_-]{20,}|xox[abposr]-[\w-]{10,}"
    r"|A(?:KIA|SIA)[A-Z0-9]{16}|AIza[\w-]{35}|ya29\.[\w-]{20,}|npm_[A-Za-z0-9]{36}|pypi-[\w-]{40,}|eyJ[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]{10,})(?![A-Za-z0-9]))"
    r"|(?i:\b(?:[a-z0-9]{1,20}[_-]){0,4}(?:api[_-]?key|secret|token|passw(?:or)?d|access[_-]?key)\b[\"']?\s{0,3}[:=]\s{0,3}[\"'])(?P<value>[^\s\"'$<{\\]{12,})(?=\\?[\"'])"
    r"|://[^\s/:@]{1,60}:(?P<password>[^\s/:@$<{]{6,})@"
)


@dataclass(frozen=True, slots=True)
class Mark:
    """A stretch of captured text to beware of: zero-width, bidi, control, order, hidden, or secret;
    offsets count characters.
    """

    kind: str
    start: int
    end: int
    note: str


def marks_of(text: str) -> tuple[Mark, ...]:
    """Unseen and turning characters (runs of one kind are one mark), orders to an agent and masked
    secrets, in their order. The text stays as it is.
    """
    marks = [Mark("secret", m.start(), m.end(), "masked") for m in re.finditer(MASK, text)]
    for m in _ORDERS.finditer(text):
        start = m.end() - len(m[0].lstrip())
        marks.append(Mark("order", start, m.end(), " ".join(m[0].split())[:80]))
    if not text.isascii() or not text.isprintable():
        last: Mark | None = None
        for at, char in enumerate(text):
            kind = _unseen(char)
            if not kind:
                continue
            if last and last.kind == kind and last.end == at:
                marks.remove(last)
                last = Mark(kind, last.start, at + 1, last.note)
            else:
                last = Mark(kind, at, at + 1, f"U+{ord(char):04X}")
            marks.append(last)
    return tuple(sorted(marks, key=lambda mark: (mark.start, mark.end, mark.kind)))


def _unseen(char: str) -> str:
    if " " <= char <= "~" or char in "\n\t":
        return ""
    if char in _BIDI:
        return "bidi"
    kind = unicodedata.category(char)
    if kind == "Cf" or 0xE0100 <= ord(char) <= 0xE01EF or char in "\u115f\u1160\u3164\uffa0\u2800":
        return "zero-width"
    return "control" if kind == "Cc" else ""


def masked(text: str) -> str:
    """A text in which every secret is replaced by `«masked»`; its value is kept nowhere, its place
    is marked by `marks_of`.
    """

    def without(found: re.Match[str]) -> str:
        group = found.lastgroup or "token"
        start, end = (place - found.start() for place in found.span(group))
        return found[0][:start] + MASK + found[0][end:]

    return _SECRETS.sub(without, text)
