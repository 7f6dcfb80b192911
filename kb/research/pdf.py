"""Text of a PDF from stdin to stdout, in a process that cannot outgrow its bounds: `python -m kb.research.pdf MEMORY SECONDS`."""

import io
import re
import sys

_MOST_PAGES = 600
_MOST_TEXT = 16 << 20
_LEAST_LINES = 6
# A hyphen that typesetting put at a line's end. Where the next line begins in a small letter the word goes on.
_HYPHENATED = re.compile(r"(?<=[a-zà-ÿ])[-\u2010\u00ad]\n(?=[a-zà-ÿ])")


def text_of_pdf(data: bytes) -> str:
    """Pages in order, columns one after the other, words at line ends joined; formulas and tables as the page draws them."""
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
    pieces: list[tuple[float, float, float, str]] = []

    def note(text: str, _cm, matrix, _font, size: float) -> None:
        if text.strip():
            pieces.append((matrix[4], matrix[5], abs(size * (matrix[0] or 1)), text.strip("\n")))

    plain = page.extract_text(visitor_text=note)
    return _by_columns(pieces, float(page.mediabox.width)) or plain


def _by_columns(pieces: list[tuple[float, float, float, str]], width: float) -> str:
    """The text of a page whose lines stand in two columns and were drawn across them; empty for any other page."""
    middle = width / 2
    right = [p for p in pieces if p[0] >= middle - 5]
    left = [p for p in pieces if p[0] < middle - 5]
    narrow = [p for p in left if p[0] + _width(p) <= middle + 15]
    starts = {round(p[0]) for p in right}
    drawn_across = sum(
        (a[0] < middle - 5) != (b[0] < middle - 5) for a, b in zip(pieces, pieces[1:], strict=False)
    )
    if (
        min(len(narrow), len(right)) < _LEAST_LINES
        or len(starts) > max(4, len(right) // 3)
        or drawn_across <= 3
    ):
        return ""
    out: list[str] = []
    wide = sorted((p for p in left if p not in narrow), key=lambda p: -p[1])
    for above, below in zip(
        [1e9, *(p[1] for p in wide)], [*(p[1] for p in wide), -1e9], strict=True
    ):
        for column in (narrow, right):
            rows: dict[int, list[tuple[float, str]]] = {}
            for x, y, _, text in column:
                if below < y < above:
                    rows.setdefault(-round(y), []).append((x, text))
            out += [" ".join(text for _, text in sorted(row)) for _, row in sorted(rows.items())]
        out += [p[3] for p in wide if p[1] == below]
    return "\n".join(out)


def _width(piece: tuple[float, float, float, str]) -> float:
    """An estimate: letters are half as wide as their size."""
    return len(piece[3]) * piece[2] * 0.5


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
