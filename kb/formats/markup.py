"""Text of a log as markdown, line for line, so that one reader of blocks serves org files and `git log` too. Refuses a text beyond memory."""

import re
from collections import Counter
from datetime import datetime
from pathlib import Path

from kb import KbError
from kb.formats.reading import Line, text_lines
from kb.page import document_of
from kb.page.document import Document

# A page is held whole, with its blocks: several times its size.
_LARGEST = 64_000_000
_KEYWORDS = re.compile(r"#\+(?:TODO|SEQ_TODO|TYP_TODO):(.*)", re.IGNORECASE)
_STARS = re.compile(r"(\*+)\s+(.*)")
_PROPERTY = re.compile(r"\s*:([\w-]+):\s*(.*)$")
_ONE_LINE = re.compile(r"([0-9a-f]{7,12}) (?:\([^)]*\) )?")
_RULE = re.compile(r"={2,}(?:\s+={2,})+")
_UNDERLINE = re.compile(r"={4,}|-{4,}|~{4,}|\^{4,}")
_NUMBERED = re.compile(r"([^\W\d_]{2,15})\s*[:#]?\s*#?(\d+[a-z]?)(?![\w.,]*\d)(.*)")
_COMMIT = re.compile(r"commit ([0-9a-f]{7,40})\b.*")


def pages_of(path: Path) -> tuple[Document, list[Line]]:
    """The blocks of a log, and its lines as they stand in the file."""
    if path.stat().st_size > _LARGEST:
        told = f"{path}: a page of more than {_LARGEST // 1_000_000} MB; split it, or write the runs as JSON lines or TSV"
        raise KbError(told)
    lines = list(text_lines(path))
    return document_of("\n".join(as_markdown([x.text for x in lines], path.suffix.lower()))), lines


def as_markdown(lines: list[str], suffix: str) -> list[str]:
    """The lines of a text, each as markdown says the same."""
    if suffix == ".org":
        return _of_org(lines)
    first = next((x for x in lines if x.strip()), "")
    if _COMMIT.fullmatch(first):
        return _of_git_log(lines)
    filled = [x for x in lines if x.strip()]
    if filled and sum(bool(_ONE_LINE.match(x)) for x in filled) * 5 > 4 * len(filled):
        return [_ONE_LINE.sub(r"## \1 — ", x) for x in lines]
    lines = _of_ruled_tables(lines)
    headed = any(x.startswith("#") or _UNDERLINE.fullmatch(x.rstrip()) for x in lines)
    return lines if headed else _of_blocks(lines)


def _of_ruled_tables(lines: list[str]) -> list[str]:
    """Tables of reStructuredText, whose columns stand below rules of `====  =====`: the second rule parts the header from the rows."""
    told, spans, rules = [], [], 0
    for line in lines:
        if _RULE.fullmatch(line.rstrip()):
            spans = spans or [m.span() for m in re.finditer("=+", line)]
            rules += 1
            told.append("|---" * len(spans) + "|" if rules == 2 else "")
            if rules == 3:
                spans, rules = [], 0
        elif spans:
            starts = [a for a, _ in spans]
            cells = [
                line[a:b].strip().replace("|", "\\|")
                for a, b in zip(starts, [*starts[1:], None], strict=True)
            ]
            told.append(f"| {' | '.join(cells)} |")
        else:
            told.append(line)
    return told


def _of_blocks(lines: list[str]) -> list[str]:
    """Blocks of plain text that each begin with one word and a number of their own (`Try: 4`): that line is a heading."""
    before = ["", *lines[:-1]]
    begun = {
        n: m
        for n, line in enumerate(lines)
        if not before[n].strip(" -=*_") and (m := _NUMBERED.match(line))
    }
    words = Counter(m[1].lower() for m in begun.values())
    numbers = {w: len({m[2] for m in begun.values() if m[1].lower() == w}) for w in words}
    return [
        f"## {m[1]} {m[2]}{m[3]}" if (m := begun.get(n)) and numbers[m[1].lower()] > 2 else x
        for n, x in enumerate(lines)
    ]


def _of_org(lines: list[str]) -> list[str]:
    """Stars are headings and what they begin with is a status, properties are fields."""
    keywords = {"TODO", "DONE"}
    told: list[str] = []
    for line in lines:
        named, starred, field = _KEYWORDS.match(line), _STARS.match(line), _PROPERTY.match(line)
        if named:
            keywords |= {w.partition("(")[0] for w in named[1].replace("|", " ").split()}
        elif starred:
            word, _, rest = starred[2].partition(" ")
            title = f"{rest} — {word}" if word in keywords else starred[2]
            told.append(f"{'#' * min(len(starred[1]) + 1, 6)} {title}")
            continue
        elif field:
            told.append(
                ""
                if field[1].upper() in ("PROPERTIES", "END", "LOGBOOK")
                else f"- {field[1]}: {field[2]}"
            )
            continue
        elif line.lstrip().lower().startswith(("#+begin_", "#+end_")):
            told.append("```")
            continue
        elif not line.startswith("#+"):
            told.append(line.replace("+", "|") if line.lstrip().startswith("|-") else line)
            continue
        told.append("")
    return told


def _of_git_log(lines: list[str]) -> list[str]:
    """A commit is a heading; its message is what stands below."""
    told = []
    for line in lines:
        commit = _COMMIT.fullmatch(line)
        name, _, value = line.partition(":")
        if commit:
            told.append(f"## {commit[1]}")
        elif name in ("Author", "Commit", "AuthorDate", "CommitDate", "Merge"):
            told.append("")
        elif name == "Date":
            told.append(f"Date: {_day(value.strip())}")
        else:
            told.append(line.removeprefix("    "))
    return told


def _day(text: str) -> str:
    try:
        return datetime.strptime(text, "%a %b %d %H:%M:%S %Y %z").isoformat()
    except ValueError:
        return text
