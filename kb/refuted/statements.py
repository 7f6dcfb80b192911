"""What pages say did not work: dead-end bullets and table rows, retired hypotheses.

Read page by page; refuses to guess at prose without a mark.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import chain, islice

from kb.graph import target_of
from kb.page import Page, Section, plain_text
from kb.page.text import cells_of
from kb.refuted.aim import Aim, aim_of, aim_of_text
from kb.refuted.card import aim_from_json, aim_to_json
from kb.schema import FAILED, canonical_verdict
from kb.trail.facts import from_row
from kb.trail.prose import prose


@dataclass(frozen=True, slots=True)
class Statement:
    """One refuted statement as written: `kind` is hypothesis, principle, bullet or row; `cites` are pages its links lead to."""

    kind: str
    line: int
    anchor: str
    text: str
    because: str
    delta: str
    cites: tuple[str, ...]
    aim: Aim


def _to_json(s: Statement) -> list[object]:
    return [s.kind, s.line, s.anchor, s.text, s.because, s.delta, s.cites, aim_to_json(s.aim)]


def statement_from_json(said: list) -> Statement:
    """The statement that a row of `statements_of` holds."""
    kind, line, anchor, text, because, delta, cites, aim = said
    return Statement(kind, line, anchor, text, because, delta, tuple(cites), aim_from_json(aim))


_DEAD = re.compile(
    r"refuted|(?:did|do|does|has|have)(?:n['’]t| not) (?:work|help|pay|matter)|dead[- ]?ends?|anti-?(?:recommend|pattern|"
    r"playbook)|retired|what failed|"
    r"rejected|invalidated|don['’]?t (?:pursue|retry|try|do)|do not (?:pursue|retry|try)|not worth|why .{3,40} (?:don['’]t|"
    r"doesn['’]t|did not|do not) help|"
    r"negative results|ruled out|abandoned",
    re.IGNORECASE,
)
# Headings that only tell where to look or what is still open.
_NOT_DEAD = re.compile(
    r"\bopen\b|refuted when|refute honestly|how to|next|falsif|when to|\bcheck\b|\bgate\b|\brule", re.IGNORECASE
)
# A page's own title opens a list of dead ends only where it is nothing else.
_DEAD_PAGE = re.compile(
    r"\W*(?:dead[- ]ends?|what (?:did not|didn['’]t|does not|doesn['’]t) work|anti-?recommendations|negative results|"
    r"(?:refuted|rejected|retired|failed) \w+)\W*",
    re.IGNORECASE,
)
_FURNITURE = re.compile(r"(?:see also|related\b.*|sources?|references|notes?|why|summary|background|context)\W*", re.IGNORECASE)
_FAILED_CELL = re.compile(
    r"^\W*(?:❌|✗|✘|🚫)|\b(?:refuted|rejected|regress\w*|invalid|discard\w*|OOM\w*|crash\w*|harmful|deprecated|no[- ]op|"
    r"silently (?:ignored|rejected))\b",
    re.IGNORECASE,
)
_WON_CELL = re.compile(r"✅|\b(?:supported|accepted|kept|keep|best|frontier)\b", re.IGNORECASE)
_CROSS = re.compile(r"^\W{0,6}(?:❌|✗|✘|🚫|~~)")
# A cell that is a verdict, with or without its reason: "Rejected (OOM)", not "Invalid handler", which names an error.
_VERDICT_CELL = re.compile(
    r"\W*(?:(?:refuted|rejected)\b|(?:invalid|discard(?:ed)?)\b(?=\W*$|\s*[^\w\s]|\s+(?:or|and|by|because|as|since|at|in|on|due|after|with)\b))",
    re.IGNORECASE,
)
# "❌ No" answers the question of its column, and "❌ Bad:" shows how not to write a thing.
_NO_TRY = re.compile(r"\W*(?:no\W*$|(?:incorrect|wrong|bad)\s*:)", re.IGNORECASE)
# A call in a heading, such as `.then(fulfilled, rejected)`: the names of its arguments say nothing of how it went.
_CALL = re.compile(r"(?<=\w)\([^()]*\)")
_DELTA = re.compile(r"[−\-+]\s?\d+(?:\.\d+)?\s?(?:%|pp\b)|~\s?0\s?%")
_RULER = re.compile(r"^\s*\|?[\s:|\-]*-[\s:|\-]*\|?\s*$")
_BECAUSE = re.compile(r"\s(?:—|–|--|-|because|since|as)\s|[:;]\s|\.\s")


def statements_of(page: Page, text: str, *, facts: str | None) -> str | None:
    """Refuted statements of one page as JSON text; for an experiment page, the terms and direction of its levers.

    None if it has neither.
    """
    if facts is not None:
        return json.dumps(aim_to_json(aim_of(from_row(facts), outcome=True)), ensure_ascii=False, separators=(",", ":"))
    if page.type == "catalog" and page.symbols:
        return None  # Made by a machine from code.
    if page.type in ("catalog", "program", "source", "codebase") and page.path.count("/") > 2:
        return None
    found = _hypothesis(page, text) if page.type == "hypothesis" else []
    lines = text.split("\n")
    listed = _listed(page, lines) if _marked(text) or any(map(_opens_dead_ends, page.sections)) else ()
    found = [*found, *islice(chain(listed, _logged(page, lines)), _MOST)]
    return json.dumps([_to_json(s) for s in found], ensure_ascii=False, separators=(",", ":")) if found else None


def _hypothesis(page: Page, text: str) -> list[Statement]:
    """A hypothesis page whose status says that it was refuted or retired."""
    status = page.field("status").lower()
    if not (status.startswith("retired") or canonical_verdict(status) in FAILED):
        return []
    lines = text.split("\n")
    said = {s.title.lower(): prose("\n".join(lines[s.start : s.end - 1]), limit=500) for s in page.sections if s.level > 1}
    claim = next((t for name, t in said.items() if name.startswith(("statement", "hypothesis", "claim")) and t), "")
    because = next(
        (t for name, t in said.items() if re.match(r"verdict|outcome|result|why|retired|refuted|status|measurement", name) and t),
        "",
    )
    said_so = f"{page.title}. {claim}".strip()
    return [
        Statement("hypothesis", page.body_line, "", said_so, because, "", _cites(page, 1, page.lines + 1), aim_of_text(said_so))
    ]


# A statement that is longer than this many characters holds data, not words.
_LONGEST = 700
# A page with more dead ends than this is a dump of data.
_MOST = 500


# Without one of these (an entity may stand for a cross) no row or bullet outside dead-end headings is a statement.
_MARKS = ("❌", "✗", "✘", "🚫", "~~", "&#", "&cross", "refuted", "rejected", "invalid", "discard")
_BULLET = re.compile(r"(?:\s{0,3}(?:[-*+]|\d+[.)])\s+)(.*)")


def _marked(text: str) -> bool:
    lower = text.lower()
    return any(mark in lower for mark in _MARKS)


def _marked_lines(lines: list[str]) -> set[int]:
    lower = "\n".join(lines).lower()
    found: set[int] = set()
    for mark in _MARKS:
        at, line, counted = lower.find(mark), 1, 0
        while at >= 0:
            line += lower.count("\n", counted, at)
            found.add(line)
            counted = at
            end = lower.find("\n", at)
            at = lower.find(mark, end) if end >= 0 else -1
    return found


def _listed(page: Page, lines: list[str]) -> Iterator[Statement]:
    """Bullets, rows and sub-headings below dead-end headings, and bullets and rows marked with a cross anywhere."""
    fenced = {line for a, b in page.fences for line in range(a, b)}
    marked = _marked_lines(lines)
    dead_level = 0
    for section in page.sections:
        if dead_level and section.level <= dead_level:
            dead_level = 0
        if dead_level and section.level == dead_level + 1 and not _FURNITURE.fullmatch(section.title):
            said = f"{section.title}. {prose(chr(10).join(lines[section.start : section.end - 1]), limit=400)}"
            yield _statement(page, "principle", section.start, section.end - 1, section.anchor, said)
        if not dead_level and _opens_dead_ends(section):
            dead_level = section.level
        header = ""
        for at in range(section.start, min(section.end, len(lines) + 1)):
            line = lines[at - 1]
            if at in fenced:
                continue
            if line.lstrip().startswith("|"):
                if at < len(lines) and _RULER.match(lines[at]) and not _RULER.match(line):
                    header = line
                elif header and (dead_level or at in marked) and not _RULER.match(line):
                    yield from _row(page, section.anchor, at, cells_of(line), cells_of(header), dead=bool(dead_level))
                continue
            header = ""
            bullet = _BULLET.match(line) if dead_level or at in marked else None
            if bullet and (dead_level or _CROSS.match(bullet[1])):
                yield from _bullet(page, section.anchor, at, bullet[1], lines[at : _item_end(lines, at, section.end)])


def _opens_dead_ends(section: Section) -> bool:
    if section.level < 2:
        return section.level == 1 and bool(_DEAD_PAGE.fullmatch(section.title)) and not _NOT_DEAD.search(section.title)
    title = _CALL.sub("()", section.title)
    return bool(_DEAD.search(title)) and not _NOT_DEAD.search(title)


def _bullet(page: Page, anchor: str, at: int, first: str, rest: list[str]) -> list[Statement]:
    said = plain_text(" ".join(x.strip() for x in [first, *rest])).strip("~ ")
    if len(said) < 12 or _NO_TRY.match(said) or re.match(r"none\b|n/?a\b|\(none", said, re.IGNORECASE):
        return []
    crossed = re.match(r"\W{0,4}(?:❌|✗|✘|🚫)", first) and page.type not in ("experiment", "target", "log")
    return [_statement(page, "principle" if crossed else "bullet", at, at + len(rest), anchor, said.lstrip("❌✗✘🚫 "))]


def _item_end(lines: list[str], at: int, limit: int) -> int:
    """Line after the last of a list item that starts on line `at`."""
    end = at
    while (
        end + 1 < limit
        and end < len(lines)
        and lines[end].startswith((" ", "\t"))
        and lines[end].strip()
        and not re.match(r"\s*(?:[-*+]|\d+[.)])\s", lines[end])
    ):
        end += 1
    return end


# A cell behind the verdict's that is this long says why.
_SENTENCE_LIKE = 20


def _row(page: Page, anchor: str, at: int, cells: list[str], header: list[str], *, dead: bool) -> list[Statement]:
    texts = [plain_text(c) for c in cells]
    marks = [
        t for t, h in zip(texts, header, strict=False) if len(t) < 80 and (_FAILED_CELL.search(t) and not _WON_CELL.search(t))
    ]
    if not dead and not any(_CROSS.match(t) and not _NO_TRY.match(t) or _VERDICT_CELL.match(t) for t in marks):
        return []
    said = " · ".join(t for t in texts if t and not re.fullmatch(r"[\d#.]{1,4}", t))
    if len(said) < 12 or dead and any(_WON_CELL.search(t) for t in texts[1:] if len(t) < 30):
        return []
    reason = next(
        (
            t
            for t, h in zip(texts[::-1], header[::-1], strict=False)
            if re.match(r"notes?|reason|why|because|comment|lesson|mechanism|status", plain_text(h), re.IGNORECASE)
        ),
        "",
    )
    if not reason and (behind := [t for t in texts[texts.index(marks[0]) + 1 :] if len(t) >= _SENTENCE_LIKE] if marks else []):
        reason = behind[-1]
    made = _statement(page, "row", at, at, anchor, said)
    return [replace(made, because=reason) if reason else made]


_NOTE_HEAD = re.compile(r"notes?|reason|why|comment|lesson", re.IGNORECASE)
_NAME_HEAD = re.compile(r"desc|change|experiment|what|lever|tried|idea|optimi", re.IGNORECASE)
_NUMBER_HEAD = re.compile(r"#|no\.?$|exp|id$|run|iter", re.IGNORECASE)
_DELTA_HEAD = re.compile(r"^(?:vs\b|Δ|delta|change|gain|diff|speed-?up)|vs base", re.IGNORECASE)


def _columns(header: list[str]) -> tuple[int, int, int] | None:
    """Columns of delta, note and description where a header is that of an experiment table."""
    delta_at = next((i for i, h in enumerate(header) if i and _DELTA_HEAD.search(h)), 0)
    note_at = next((i for i, h in enumerate(header) if _NOTE_HEAD.match(h)), 0)
    name_at = next((i for i, h in enumerate(header) if _NAME_HEAD.match(h)), 0)
    return (delta_at, note_at, name_at) if delta_at and note_at and name_at and _NUMBER_HEAD.match(header[0]) else None


def _logged(page: Page, lines: list[str]) -> Iterator[Statement]:
    """Rows of an experiment table (number, description, delta, notes) that moved nothing by more than 1 %, or the wrong way."""
    columns: tuple[int, int, int] | None = None
    for at, line in enumerate(lines, start=1):
        if not line.lstrip().startswith("|"):
            columns = None
            continue
        if at < len(lines) and _RULER.match(lines[at]) and not _RULER.match(line):
            columns = _columns([plain_text(c) for c in cells_of(line)])
            continue
        if columns is None or _RULER.match(line):
            continue
        delta_at, note_at, name_at = columns
        cells = [plain_text(c) for c in cells_of(line)]
        moved = (
            re.match(r"\W*?([+−\-]?)\s*~?\s*(\d+(?:\.\d+)?)\s*%", cells[delta_at])
            if len(cells) > max(delta_at, note_at, name_at)
            else None
        )
        if moved and (moved[1] in ("−", "-") or float(moved[2]) <= 1.0):
            anchor = next((s.anchor for s in page.sections if s.start <= at < s.end), "")
            yield Statement(
                "row",
                at,
                anchor,
                cells[name_at][:_LONGEST],
                cells[note_at][:_LONGEST],
                cells[delta_at][:_LONGEST],
                _cites(page, at, at + 1),
                aim_of_text(cells[name_at][:_LONGEST]),
            )


def _statement(page: Page, kind: str, start: int, end: int, anchor: str, said: str) -> Statement:
    # Not inside a bracket: the reason would lose its beginning.
    cuts = _BECAUSE.finditer(said, min(20, len(said)))
    cut = next((m for m in cuts if said.count("(", 0, m.start()) <= said.count(")", 0, m.start())), None)
    delta = _DELTA.search(said)
    return Statement(
        kind,
        start,
        anchor,
        said[:_LONGEST],
        said[cut.end() :][:500].strip() if cut else "",
        delta[0] if delta else "",
        _cites(page, start, max(start, end) + 1),
        aim_of_text(said[:_LONGEST]),
    )


def _cites(page: Page, start: int, end: int) -> tuple[str, ...]:
    """Paths that links on lines `start` to `end` (excluded) lead to, in order."""
    found: dict[str, None] = {}
    for link in page.links:
        if start <= link.line < end and link.kind in ("inline", "auto"):
            where = target_of(link.href, folder=page.folder)
            if where and where[0].endswith(".md"):
                found[where[0]] = None
    return tuple(found)
