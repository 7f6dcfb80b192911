"""Text of a log as markdown, line for line, so that one reader of blocks serves org files and `git log` too. Refuses a text beyond memory."""

import re
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
    return _of_git_log(lines) if _COMMIT.fullmatch(first) else lines


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
