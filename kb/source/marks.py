"""What captured text may do to a reader who trusts it: unseen characters, turned lines, orders to
an agent, secrets. Marks it; removes secrets only.
"""

import re
import unicodedata
from dataclasses import dataclass
from itertools import groupby

MASK = "«masked»"
_BIDI = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f\u061c")
# Who reads by machine, what it is told to do, and this very text: an order names two of them. A page about agents may say anything
# else of them.
_MACHINE = r"(?:ai(?= ?[:,]| (?:agent|assistant|crawler|reader|system|tool|model|bot))|llms?|assistants?|agents?|crawlers?|bots?|chatbots?|language models?|graders?|reviewers?|copilot|claude|chatgpt|gpt|gemini|codex|automated (?:[a-z-]{1,15} )?(?:readers?|systems?|tools?))"
_DEED = (
    r"(?:do not|don't|never|always|please|run|execute|call|delete|remove|send|upload|approve|accept|mark|output|print|reply|answer|download|install|open|trust|"
    r"report|state|say|record|insert|add|disable|ignore|skip|rate|recommend|summari[sz]e|cite|omit|include|follow|give|write|treat|tell|advise)"
)
_THIS = r"(?:this|the) (?:page|text|file|chapter|thread|document|post|manuscript|paper|article|source|repository|note)"
_ORDERS = re.compile(
    r"(?i)\b(?:ignore|disregard|forget|override)\b[^.\n]{0,40}\b(?:previous|prior|above|earlier|all|your|system)\b[^.\n]{0,30}\b(?:instructions?|prompts?|rules?|messages?|guidelines?|context)\b"
    r"|\bignor\w{1,9}\b[^.\n]{0,40}\b(?:instructions|anweisungen|instrucciones|istruzioni|instruções|instructies)\b|忽略[^。\n]{0,20}(?:指令|指示|提示)|指示[^。\n]{0,12}無視|игнорир\w{1,6}[^.\n]{0,40}инструкци|지시[^.\n]{0,12}무시"
    r"|(?:^|[\s>\"'(])(?:(?:assistant|developer)\s*:\s*\S|system (?:prompt|message|instruction)s?\s*:\s*\S|system\s*:\s*(?:you|the user|new|ignore)\b)"
    r"|<\s*/?\s*(?:system|assistant|tool_call|function_calls?|instructions?|im_start|im_end)\b[^>\n]{0,40}>|<\|[a-z_]{3,20}\|>|\[/?(?:INST|SYSTEM|ASSISTANT)\]"
    r"|\"role\"\s*:\s*\"(?:system|developer|assistant)\"|^#{1,6} *(?:instruction|system)s?\s*:|\bbegin (?:system )?(?:prompt|instructions)\b"
    rf"|\b(?:you are now|you must now|as an ai\b|you, the {_MACHINE}|dear (?:{_MACHINE}|models?)|the user has (?:authori[sz]ed|approved|asked|allowed) you)\b"
    rf"|\b(?:note|notice|message|instructions?|to|for|if you are|as)\s+(?:to |for )?(?:the |an? |any |all |every )?(?:[a-z-]{{1,15}} )?{_MACHINE}\b(?:[^.:\n]{{0,50}}\b{_THIS}\b)?[^.:\n]{{0,20}}(?::\s*(?!\d)\S|,\s*(?:{_DEED}|you|your)\b)"
    r"|\battention\W{1,3}(?:all )?(?:ai|llms?|agents?|assistants?)\b"
    rf"|\b{_MACHINE}\b[^.:\n]{{0,20}}\b(?:read|index|pars|process|summari[sz]|appl|ingest|review)(?:s|es|ies|y|e|ing)? {_THIS}\b"
    rf"|\b(?:ai|llm) [a-z]{{1,15}} (?:must|should|shall)\b|\b(?:ai|llm|copilot|claude|chatgpt|gpt|gemini|codex|reviewing assistant)s?\b(?:,|[^.:\n]{{0,30}}:)\s*{_DEED}\b"
    rf"|\b{_MACHINE}\b[^.:\n]{{0,50}}:\s*{_DEED}\b"
    rf"|\bwhen (?:you (?:process|read|summari[sz]e|parse|index)|summari[sz]ing|processing|parsing|indexing)\b[^.\n]{{0,60}}[,:]\s*{_DEED}\b"
    rf"|\bplease tell (?:the|any) (?:{_MACHINE}|models?)\b|\b(?:reveal|exfiltrate|leak)\b[^.\n]{{0,30}}\b(?:instructions?|prompt|keys?|credentials|variables|secrets?)\b"
    r"|\b(?:do not|don't|never) (?:tell|inform|mention|reveal)[^.\n]{0,30}\b(?:user|human|operator|owner)\b"
    r"|\b(?:run|execute|paste|type)\b[^.\n]{0,30}\b(?:curl|wget|rm -rf|bash -c)\b",
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
        at = m.end() - len(m[0].lstrip())
        marks.append(Mark("order", at, m.end(), " ".join(m[0].split())[:80]))
    runs = groupby(enumerate(text), lambda place: unseen(place[1]))
    for kind, run in runs:
        if kind:
            (start, char), *rest = run
            marks.append(Mark(kind, start, start + 1 + len(rest), f"U+{ord(char):04X}"))
    return tuple(sorted(marks, key=lambda mark: (mark.start, mark.end, mark.kind)))


def unseen(char: str) -> str:
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

    def without(match: re.Match[str]) -> str:
        group = match.lastgroup or "token"
        start, end = (place - match.start() for place in match.span(group))
        return match[0][:start] + MASK + match[0][end:]

    return _SECRETS.sub(without, text)
