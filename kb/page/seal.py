"""The seal of a filed page: a digest of all that stands outside its managed blocks, so that a later change is seen.

Refuses nothing itself: it says whether a seal holds. A dated note below the filed text (`## Note 2026-05-01`) breaks no seal.
"""

import re

from kb.page import read, text_of
from kb.page.edit import with_field
from kb.page.superseding import unreceipted
from kb.schema import Finding
from kb.store import digest_of

FIELD = "sealed"
_NOTE = re.compile(rb"^##[ \t]+Note[ \t]+\d{4}-\d{2}-\d{2}\b", re.MULTILINE)
_SUPERSEDES = b" supersedes verdict:"
_FIELD_LINE = re.compile(rb"^" + FIELD.encode() + rb"[ \t]*:[^\r\n]*(?:\r\n|\n|\r)?", re.MULTILINE)


def digest_of_filed(path: str, data: bytes) -> str:
    """Digest of a page without its managed blocks, its seal, lines that supersede its verdict (they have receipts of their own) and the
    dated notes below it; blank lines at the end do not count."""
    page = read(path, data)
    hidden = {n for _, start, end in page.blocks for n in range(start, end + 1)}
    lines = data.splitlines(keepends=True)
    front = _FIELD_LINE.sub(b"", b"".join(lines[: page.body_line - 1]), count=1)
    body = b"".join(
        line
        for n, line in enumerate(lines, 1)
        if n >= page.body_line
        and n not in hidden
        and not (line.startswith(b"> ") and line.startswith(_SUPERSEDES, len("> YYYY-MM-DD")))
    )
    note = _NOTE.search(body)
    return digest_of(front + body[: note.start() if note else len(body)].rstrip())


def sealed(path: str, data: bytes) -> bytes:
    """The page with its seal written into the front matter, or renewed."""
    return with_field(path, data, key=FIELD, value=digest_of_filed(path, data))


def holds(path: str, data: bytes) -> bool:
    """Whether a page carries no seal, or one that fits its text."""
    seal = read(path, data).field(FIELD)
    return not seal or seal == digest_of_filed(path, data)


def findings(path: str, data: bytes) -> tuple[Finding, ...]:
    """What is wrong with a page's seal: the filed text was changed, or a verdict stands below it that `kb experiment close` did not write."""
    page = read(path, data)
    changed = (
        page.front_lines.get(FIELD, 1),
        "the page was changed after it was filed, outside its managed blocks",
        "restore the filed text; a correction is a new page, or a note below it under `## Note YYYY-MM-DD`",
    )
    forged = (
        (
            line,
            "a line that takes the verdict's place without a receipt of its own, so no reader of kb believes it",
            "take it away; once more is measured or stated `kb experiment close` writes such a line, with --overrule V --reason TEXT a person's",
        )
        for line in unreceipted(text_of(data), seal=page.field(FIELD))
    )
    return tuple(
        Finding(path, line, "filed-changed", message, target=FIELD, hint=hint)
        for line, message, hint in (*([] if holds(path, data) else [changed]), *forged)
    )


def renewed(path: str, before: bytes, *, after: bytes) -> bytes:
    """A page whose links kb mended, sealed anew if it was sealed and whole before; a broken seal stays broken."""
    return (
        sealed(path, after)
        if after != before and read(path, before).field(FIELD) and holds(path, before)
        else after
    )
