"""Text of a log as markdown, line for line, so that one reader of blocks serves org files and `git log` too. Refuses a text beyond memory."""

import re
from pathlib import Path

from kb import KbError
from kb.formats.outline import MONTH, NAMED
from kb.formats.reading import LogLine, text_lines
from kb.page import document_of
from kb.page.document import Document
from kb.run.status import is_status

# A page is held whole, with its blocks: several times its size.
_LARGEST = 64_000_000
# A field of reStructuredText or org: `:Time: 18 s`; one that says nothing opens or ends a list of them.
_PROPERTY = re.compile(r"^\s*:([\w-]+):\s+(\S.*)$|^\s*:[\w-]+:\s*$")
_ONE_LINE = re.compile(r"([0-9a-f]{7,12}) (?:\([^)]*\) )?")
_COMMIT = re.compile(r"commit ([0-9a-f]{7,40})\b")
_PERSONS = re.compile(r"(?:Author|Commit|CommitDate|Merge):")
# What a line of a diary begins with: a day, a weekday, an hour, a number.
_BEGUN = re.compile(
    rf"[\[(*]*(?:(?:\d{{1,4}}[-/.]\d{{1,2}}(?:[-/.]\d{{1,4}})?|\d{{1,2}}\.? {MONTH}\.?(?: \d{{4}})?|{MONTH}\.? \d{{1,2}}(?:,? \d{{4}})?)\.?[\])*]*(?:[\s:–—-]+|$))?"
    r"(?:(?:[^\W\d_]{2,10}[.,]? )?\d{1,2}:\d{2}(?::\d{2})?[\])*]*[\s:–—-]+)?(?:\[?#?(\d{1,4})[:)\]]\s+)?(?=\S)",
    re.IGNORECASE,
)


def pages_of(path: Path) -> tuple[Document, list[LogLine]]:
    """The blocks of a log, and its lines as they stand in the file."""
    if path.stat().st_size > _LARGEST:
        message = f"{path}: a page of more than {_LARGEST // 1_000_000} MB; split it, or write the runs as JSON lines or TSV"
        raise KbError(message)
    lines = list(text_lines(path))
    return document_of("\n".join(as_markdown([x.text for x in lines], path.suffix.lower()))), lines


def as_markdown(lines: list[str], suffix: str) -> list[str]:
    """The lines of a text, each as markdown says the same."""
    filled = [x for x in lines if x.strip()]
    if suffix == ".org":
        lines = [_of_org(x) for x in lines]
    # The command itself may stand above what it printed.
    elif any(map(_COMMIT.match, filled[:2])):
        return [_of_git_log(x) for x in lines]
    elif filled and sum(bool(_ONE_LINE.match(x)) for x in filled) * 5 > 4 * len(filled):
        return [_ONE_LINE.sub(r"## \1 — ", x) for x in lines]
    return _of_bullets(
        [_PROPERTY.sub(lambda m: f"- {m[1]}: {m[2]}" if m[1] else "", x) for x in lines]
    )


def _of_bullets(lines: list[str]) -> list[str]:
    """Lines that begin with a day, a number, a run's name or a sign of its own, where most lines do that continue none, as items of a list."""
    begun = [_bullet(x) for x in lines]
    answered = sum(map(bool, begun))
    first = (
        b or x.strip() and not (y.strip() or x.startswith("#"))
        for b, x, y in zip(begun, lines, ["", *lines], strict=False)
    )
    if answered < 3 or 2 * answered < sum(map(bool, first)):
        return lines
    return [b or x for b, x in zip(begun, lines, strict=True)]


def _bullet(line: str) -> str:
    signed = line[1:2] == " " and (line[0] in "xXo" or not line[0].isalnum())
    sign = line[0] if signed and line[0] not in " |#=_~`[]({<'\"" else ""
    rest = line[len(sign) :].lstrip()
    begun = _BEGUN.match(rest)
    start = begun.end() if begun and any(map(str.isdigit, begun[0])) else 0
    if not (sign or start or NAMED.match(rest.lstrip("*[("))):
        return ""
    mark = f"{begun[1]}." if start and begun[1] else "-"
    return f"{mark} {sign.strip('-*+xXo.')} {rest[start:]}"


def _of_org(line: str) -> str:
    """Stars are a heading, and a status that it begins with stands behind it; blocks are fences, other keywords say nothing."""
    stars, _, title = line.partition(" ")
    word, _, rest = title.partition(" ")
    if stars and not stars.strip("*"):
        return f"{'#' * len(stars)}# {f'{rest} — {word}' if is_status(word) else title}"
    if line.startswith("#+"):
        return "```" * line.lower().startswith(("#+begin_", "#+end_"))
    return line.replace("+", "|") if line.startswith("|-") else line


def _of_git_log(line: str) -> str:
    """A commit is a heading; its day and its message stand below."""
    if commit := _COMMIT.match(line):
        return f"## {commit[1]}"
    return "" if _PERSONS.match(line) else line.removeprefix("    ")
