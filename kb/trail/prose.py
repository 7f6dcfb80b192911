"""What a page says in prose, and behind its labels: plain text without fences, tables and markup. Knows no vocabulary but the labels'."""

import re

from kb.page import Page, plain_text
from kb.schema import LABELS

BOLD_LABEL = re.compile(
    r"^\s*(?:[-*+]\s+|\d+\.\s+)?(?:\*\*|__)([^*_\n]{3,40}?)(?:\*\*|__)?(?:\s*\([^)\n]{0,60}\))?\s*(?:[:.—–]\s*(?:\*\*|__)|"
    r"(?:\*\*|__)\s*[:—–]|:)\s*(.*)$"
)
PLAIN_LABEL = re.compile(r"^\s*(?:[-*+]\s+)?([A-Z][A-Za-z ]{3,30}):\s+(\S.*)$")
_LABEL_OF = {spelling: name for name, spellings in LABELS.items() for spelling in spellings}


def labels(page: Page, lines: list[str]) -> dict[str, str]:
    """Texts of the four labels (and a labelled verdict) wherever they stand as bold or plain `Label:` runs outside code."""
    said: dict[str, list[str]] = {}
    current: str | None = None
    fenced = {line for a, b in page.fences for line in range(a, b)}
    headings = {h.line for h in page.headings}
    for at in range(page.body_line, len(lines) + 1):
        line = lines[at - 1]
        if at in headings or at in fenced:
            current = None
            continue
        bold = "**" in line or "__" in line
        label = bold and BOLD_LABEL.match(line) or ":" in line and PLAIN_LABEL.match(line)
        if label:
            name = _LABEL_OF.get(label[1].strip().rstrip(":").lower())
            current = name if name and name not in said else None
            if current:
                said[current] = [label[2]]
            continue
        if current:
            said[current].append(line)
            if not line.strip() and len(said[current]) > 40:
                current = None
    return {name: text for name, found in said.items() if (text := prose("\n".join(found)))}


_FENCE = re.compile(r"[ \t]*(`{3,}|~{3,})")


_QUOTED = re.compile(r"^(?:>\s?)+|^\[![\w-]+\]\s*")
_WRAPPED = re.compile(r"(?<=[^\n])\n(?=[^\n*+\-\d])")
_GAP = re.compile(r"\n{2,}")


def _unfenced(markdown: str) -> str:
    """A text without its fenced code; what stands behind a fence that nothing closes is kept."""
    if "```" not in markdown and "~~~" not in markdown:
        return markdown
    kept: list[str] = []
    mark, opened = "", 0
    for line in markdown.split("\n"):
        kept.append(line)
        fence = _FENCE.match(line)
        if fence and not mark:
            mark, opened = fence[1], len(kept) - 1
        elif fence and fence[1].startswith(mark) and not line[fence.end() :].strip(" \t"):
            kept[opened:] = [""]
            mark = ""
    return "\n".join(kept)


def prose(markdown: str, *, limit: int = 2400) -> str:
    """Plain text of a stretch of markdown: no fences, tables, headings or markup; paragraphs kept apart by newlines; cut
    at a word within `limit`.
    """
    if not markdown.strip():
        return ""
    rows: list[str] = []
    for line in _unfenced(markdown).split("\n"):
        bare = line.strip()
        if bare.startswith(("|", "<!--")):
            continue
        if bare.startswith("#"):
            bare = ""
        rows.append(_QUOTED.sub("", bare) if bare[:1] in (">", "[") else bare)
    text = _WRAPPED.sub(" ", _GAP.sub("\n\n", "\n".join(rows)).strip())[: 4 * limit]
    text = "\n".join(plain_text(row).strip() for row in text.split("\n") if row.strip())
    if len(text) > limit:
        text = text[:limit].rsplit(" ", 1)[0] + " …"
    return text


def items(markdown: str) -> list[str]:
    """Top-level list items of a stretch of markdown, as plain text; its sentences where it has no list."""
    items: list[str] = []
    for line in _unfenced(markdown).split("\n"):
        bullet = re.match(r"^(?:[-*+]|\d+[.)])\s+(.*)$", line)
        if bullet:
            items.append(bullet[1])
        elif items and line.startswith((" ", "\t")) and line.strip():
            items[-1] += " " + line.strip()
        elif line.startswith("|") and not re.match(r"^\|[\s:|-]+\|?$", line):
            items.append(" · ".join(c.strip() for c in line.strip().strip("|").split("|") if c.strip()))
    clean = [plain_text(item).strip()[:600] for item in items]
    return [c for c in clean if c and not re.match(r"none\b|n/?a\b", c, re.IGNORECASE)]
