"""Text of a PDF from stdin to stdout, in a process that cannot outgrow its bounds: `python -m
kb.research.pdf MEMORY SECONDS`.
"""

import io
import re
import sys

_MOST_PAGES = 600
_MOST_TEXT = 16 << 20
_LEAST_LINES = 5
_PROSE_WORDS = 3
# A hyphen that typesetting put at a line's end. Where the next line begins in a small letter the
# word goes on.
_HYPHENATED = re.compile(r"(?<=[a-zà-ÿ])[-\u2010\u00ad]\n(?=[a-zà-ÿ])")


def text_of_pdf(data: bytes) -> str:
    """Pages in order, columns one after the other, words at line ends joined; formulas and tables
    as the page draws them.
    """
    import pypdf
    from pypdf.errors import PyPdfError

    try:
        reader = pypdf.PdfReader(io.BytesIO(data), strict=False)
        if reader.is_encrypted and not reader.decrypt(""):
            raise ValueError("it is encrypted")
        if len(reader.pages) > _MOST_PAGES:
            raise ValueError(f"it has {len(reader.pages)} pages, more than {_MOST_PAGES}")
        parts, size = [], 0
        for page in reader.pages:
            parts.append(_HYPHENATED.sub("", _page_text(page)))
            size += len(parts[-1])
            if size > _MOST_TEXT:
                raise ValueError(f"it holds more than {_MOST_TEXT >> 20} MB of text")
    except PyPdfError as error:
        raise ValueError(str(error)) from error
    return "\n\n".join(parts)


def _page_text(page) -> str:
    plain = page.extract_text()
    # A page that draws its columns one after the other has many more lines than rows; one that
    # draws across both has not.
    rows = [row for row in page.extract_text(extraction_mode="layout").split("\n") if row.strip()]
    if sum(bool(line.strip()) for line in plain.split("\n")) > 1.3 * len(rows):
        return plain
    return _by_columns(rows) or plain


def _by_columns(rows: list[str]) -> str:
    """Rows of a page in two columns of prose, one column after the other between rows that run over
    both; empty for any other page.
    """
    gutter = _gutter(rows)
    if not gutter:
        return ""
    out: list[str] = []
    left: list[str] = []
    right: list[str] = []
    for row in [*rows, "x" * (gutter + 2)]:
        if row[gutter - 1 : gutter + 1].strip():
            out += [*left, *right, row.strip()]
            left, right = [], []
        else:
            left += [row[:gutter].strip()] if row[:gutter].strip() else []
            right += [row[gutter:].strip()] if row[gutter:].strip() else []
    return "\n".join(out[:-1])


def _gutter(rows: list[str]) -> int:
    """Where two columns part: two blanks in most rows, with words enough on both sides that it is
    no table; 0 where there is none.
    """
    width = max(map(len, rows), default=0)
    best, most = 0, 0
    for at in range(width // 3, 2 * width // 3 + 1):
        parted = [
            r
            for r in rows
            if len(r) > at and not r[at - 2 : at].strip() and r[:at].strip() and r[at:].strip()
        ]
        prose = [r for r in parted if min(len(r[:at].split()), len(r[at:].split())) >= _PROSE_WORDS]
        if len(prose) > most:
            best, most = at, len(prose)
    return best if most >= max(_LEAST_LINES, len(rows) // 2) else 0


def main() -> int:
    import resource

    memory, seconds = int(sys.argv[1]), int(sys.argv[2])
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    try:
        text = text_of_pdf(sys.stdin.buffer.read())
    except (
        ValueError,
        MemoryError,
        RecursionError,
        KeyError,
        TypeError,
        IndexError,
        AttributeError,
        OverflowError,
    ) as error:
        print(f"{error or type(error).__name__}", file=sys.stderr)
        return 1
    sys.stdout.buffer.write(text.encode("utf-8", "replace"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
