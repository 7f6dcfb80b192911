"""Text of a log as markdown, line for line, so that one reader of blocks serves org files and `git log` too. Refuses a text beyond memory."""

import re
from collections import Counter
from datetime import datetime
from itertools import chain, pairwise
from pathlib import Path

from kb import KbError
from kb.formats.outline import DECIDED, closing
from kb.formats.readers.jsonl import JsonRow, is_chat, is_message, rows_of, text_of
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
# Who writes and when, before a message or above it: `[10:42] ann: …`, `Ann Lee  9:14 AM`.
_CLOCK = (
    r"(?:\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4},?[ T]+)?\d{1,2}:\d{2}(?::\d{2})?(?:\s?[AaPp]\.?[Mm]\.?)?"
)
_MESSAGE = re.compile(
    rf"\W{{0,2}}{_CLOCK}[\])]?\s*[-–]?\s*<?([^\s:<>][^:<>]{{0,40}})(?:>|:)\s+(.*)"
)
_SENDER = re.compile(rf"(?:\S.{{0,40}}?\s+[\[(]?{_CLOCK}[\])]?|{_CLOCK}\s+\S+(?: \S+)?)\s*")


def pages_of(path: Path) -> tuple[Document, list[LogLine]]:
    """The blocks of a log, and its lines as they stand in the file."""
    if path.stat().st_size > _LARGEST:
        message = f"{path}: a page of more than {_LARGEST // 1_000_000} MB; split it, or write the runs as JSON lines or TSV"
        raise KbError(message)
    if is_chat(path):
        rows = (r for r in rows_of(path) if isinstance(r, JsonRow) and is_message(r.value))
        lines = [LogLine(r.line.number, text_of(r.value["text"])) for r in rows]
        return document_of("\n".join("- " + x.text.replace("\n", " ") for x in lines)), lines
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
    lines = _of_underlined([_PROPERTY.sub(r"- \1: \2", x) for x in _of_parted_tables(lines)])
    return _of_messages(lines) or _of_columns(lines) or _of_bullets(lines)


def _of_underlined(lines: list[str]) -> list[str]:
    """Headings over a line of one sign, as those of their level: the sign that comes first is the highest."""
    signs: list[str] = []
    for n, line in enumerate(lines):
        above = lines[n - 1].strip() if n else ""
        if (
            above
            and len(line.rstrip()) > 3
            and line[0] in "=-~^"
            and not line.rstrip().strip(line[0])
            and not above.startswith(("|", "#", "-", "="))
        ):
            signs = signs if line[0] in signs else [*signs, line[0]]
            lines[n - 1], lines[n] = (f"{'#' * min(signs.index(line[0]) + 1, 6)} {above}", "")
    return lines


def _of_messages(lines: list[str]) -> list[str]:
    """Messages of a chat as items of a list, who wrote them left out; empty where the text is no chat."""
    spoken = [_MESSAGE.match(x) for x in lines]
    sent = [len(x) < 100 and bool(_SENDER.fullmatch(x)) for x in lines]
    # Who writes in a chat writes again; `8:40 LTO: 13.0 fps` opens an entry.
    writers = [m[1] for m in spoken if m]
    if len(writers) > 2 and 2 * len({*writers}) <= len(writers) + 1:
        return [f"- {m[2]}" if m else f"  {x}" for m, x in zip(spoken, lines, strict=True)]
    if sum(sent) < 3:
        return []
    opened = [False, *sent[:-1]]
    return [
        "" if mine else f"- {x.strip()}" if first else f"  {x.strip()}"
        for x, mine, first in zip(lines, sent, opened, strict=True)
    ]


def _of_columns(lines: list[str]) -> list[str]:
    """Lines whose parts stand in columns, two blanks or more before each, as headings of parts between dashes; empty where most lines are other text."""
    starts = [
        [a for a in range(2, len(x)) if x[a - 2 : a] == "  " and x[a] != " "] if "  " in x else []
        for x in map(str.strip, lines)
    ]
    wide = sum(len(at) > 1 for at in starts)
    if wide < 3 or 2 * wide < sum(bool(x.strip()) for x in lines):
        return []
    common = [at for at, n in Counter(chain.from_iterable(starts)).items() if 3 * n > wide]
    rows = []
    for line in map(str.strip, lines):
        cuts = [0, *sorted(a for a in common if line[a - 1 : a] == " " and line[a:]), None]
        cells = [line[a:b].strip() for a, b in pairwise(cuts)]
        rows.append(f"## {' — '.join(c for c in cells if c != '-')}" if len(cells) > 2 else line)
    return rows


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


def _of_parted_tables(lines: list[str]) -> list[str]:
    """Tables whose rows blank lines part, as one: an empty row stands for a blank line between rows."""
    rows, before = list(lines), ""
    for n, line in enumerate(lines):
        after = [x.strip() for x in lines[n + 1 : n + 3]]
        if line.strip() or not before.startswith("|"):
            before = line.strip()
        elif after and after[0].startswith("|") and after[0].count("|") == before.count("|"):
            ruled = "-" in "".join(after[1:]) and not after[1].strip("|:- ")
            rows[n] = line if ruled else "| |"
    return rows


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
