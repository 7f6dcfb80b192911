"""Text of a log as markdown, line for line, so that one reader of blocks serves org files and `git log` too. Refuses a text beyond memory."""

import re
from collections import Counter
from datetime import datetime
from pathlib import Path

from kb import KbError
from kb.formats.outline import DECIDED, closing
from kb.formats.reading import LogLine, text_lines
from kb.page import document_of
from kb.page.document import Document
from kb.run.status import outcome_of

# A page is held whole, with its blocks: several times its size.
_LARGEST = 64_000_000
_KEYWORDS = ("#+TODO", "#+SEQ_TODO", "#+TYP_TODO")
# A field of reStructuredText or org: `:Time: 18 s`.
_PROPERTY = re.compile(r"^\s*:([\w-]+):\s*(.*)$")
_ONE_LINE = re.compile(r"([0-9a-f]{7,12}) (?:\([^)]*\) )?")
_BEGUN = re.compile(
    r"(?:[\[(*]+(?=\d))?(?:\d{1,4}[-/.]\d{1,2}(?:[-/.]\d{1,4})?\.?[\])*]*[\s:–-]+)?(?:\d{1,2}:\d{2}(?::\d{2})?[\])*]*[\s:–-]+)?"
    r"(?:\[?#?(\d{1,4})[:)\]]\s+)?(?=\S)"
)
_MARK_OF = {"+": "✅", "-": "❌", "!": "💥"}


def pages_of(path: Path) -> tuple[Document, list[LogLine]]:
    """The blocks of a log, and its lines as they stand in the file."""
    if path.stat().st_size > _LARGEST:
        message = f"{path}: a page of more than {_LARGEST // 1_000_000} MB; split it, or write the runs as JSON lines or TSV"
        raise KbError(message)
    lines = list(text_lines(path))
    return document_of("\n".join(as_markdown([x.text for x in lines], path.suffix.lower()))), lines


def as_markdown(lines: list[str], suffix: str) -> list[str]:
    """The lines of a text, each as markdown says the same."""
    if suffix == ".org":
        return _of_org(lines)
    filled = [x for x in lines if x.strip()]
    # The command itself may stand above what it printed.
    if any(map(_commit_of, filled[:2])):
        return _of_git_log(lines)
    if filled and sum(bool(_ONE_LINE.match(x)) for x in filled) * 5 > 4 * len(filled):
        return [_ONE_LINE.sub(r"## \1 — ", x) for x in lines]
    lines = [_PROPERTY.sub(r"- \1: \2", x) for x in lines]
    return _of_bullets(lines)


def _of_bullets(lines: list[str]) -> list[str]:
    """Lines that begin with a day, a number or a sign of its own, where most lines do, as items of a list."""
    begun = [_bullet(x) for x in lines]
    answered = sum(map(bool, begun))
    if answered < 3 or 2 * answered < sum(bool(x.strip()) for x in lines):
        return lines
    # `+ pooled buffers`, `- custom allocator`: signs of verdicts, where both stand again and no line tells its own.
    signs = Counter(x[:2] for x in lines)
    own = (outcome_of(closing([x[2:]])) in DECIDED for x in lines if x[:2] in ("+ ", "- "))
    if min(signs["+ "], signs["- "]) > 1 and not any(own):
        begun = [
            b and f"- {_MARK_OF.get(x[0], '')}{b[1:]}" for b, x in zip(begun, lines, strict=True)
        ]
    return [b or x for b, x in zip(begun, lines, strict=True)]


def _bullet(line: str) -> str:
    signed = line[1:2] == " " and (line[0] in "xXo" or not line[0].isalnum())
    sign = line[0] if signed and line[0] not in "|#=_~`[]({<'\"" else ""
    rest = line[len(sign) :].lstrip()
    begun = _BEGUN.match(rest)
    if not sign and not (begun and begun.end()):
        return ""
    mark = f"{begun[1]}." if begun and begun[1] else "-"
    return f"{mark} {sign.strip('-*+xXo.')} {rest[begun.end() if begun else 0 :]}"


def _of_org(lines: list[str]) -> list[str]:
    """Stars are headings and what they begin with is a status, properties are fields."""
    keywords = {"TODO", "DONE"}
    rows: list[str] = []
    for line in lines:
        name, _, rest = line.partition(":")
        stars, _, title = line.partition(" ")
        field = _PROPERTY.match(line)
        if name.upper() in _KEYWORDS:
            keywords |= {w.partition("(")[0] for w in rest.replace("|", " ").split()}
        elif stars and not stars.strip("*"):
            word, _, after = title.strip().partition(" ")
            title = f"{after} — {word}" if word in keywords else title
            rows.append(f"{'#' * min(len(stars) + 1, 6)} {title}")
            continue
        elif field:
            rows.append(
                ""
                if field[1].upper() in ("PROPERTIES", "END", "LOGBOOK")
                else f"- {field[1]}: {field[2]}"
            )
            continue
        elif line.lstrip().lower().startswith(("#+begin_", "#+end_")):
            rows.append("```")
            continue
        elif not line.startswith("#+"):
            rows.append(line.replace("+", "|") if line.lstrip().startswith("|-") else line)
            continue
        rows.append("")
    return rows


def _commit_of(line: str) -> str:
    """The hash that a line of `git log` opens a commit with; empty where it does not."""
    word, _, rest = line.partition(" ")
    code = rest.split(" ")[0].strip()
    whole = 7 <= len(code) <= 40 and not code.strip("0123456789abcdef")
    return code if word == "commit" and whole else ""


def _of_git_log(lines: list[str]) -> list[str]:
    """A commit is a heading; its message is what stands below."""
    rows = []
    for line in lines:
        commit = _commit_of(line)
        name, _, value = line.partition(":")
        if commit:
            rows.append(f"## {commit}")
        elif name in ("Author", "Commit", "AuthorDate", "CommitDate", "Merge"):
            rows.append("")
        elif name == "Date":
            rows.append(f"Date: {_day(value.strip())}")
        else:
            rows.append(line.removeprefix("    "))
    return rows


def _day(text: str) -> str:
    for form in ("%a %b %d %H:%M:%S %Y %z", "%a %b %d %Y"):
        try:
            return datetime.strptime(text, form).isoformat()
        except ValueError:
            continue
    return text
