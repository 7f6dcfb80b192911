"""Text of a PDF from stdin to stdout, then behind a NUL each what it holds and shows to nobody, in a
process that cannot outgrow its bounds: `python -m kb.research.pdf MEMORY SECONDS`.
"""

import io
import re
import sys

_MOST_PAGES = 600
_MOST_TEXT = 16 << 20
_MOST_UNSEEN = 200
_LEAST_UNSEEN = 12
# Points beyond a page's edge that a margin note may stand.
_EDGE = 72
_STARTED = ("/JavaScript", "/Launch", "/SubmitForm", "/ImportData")
# A hyphen that typesetting put at a line's end. Where the next line begins in a small letter the
# word goes on.
_HYPHENATED = re.compile(r"(?<=[a-zà-ÿ])[-\u2010\u00ad]\n(?=[a-zà-ÿ])")


def texts_of_pdf(data: bytes) -> list[str]:
    """Pages in order, each as it is drawn, words at line ends joined; then what no reader sees: text drawn unseen, and actions, never run."""
    import pypdf
    from pypdf.errors import PyPdfError

    try:
        reader = pypdf.PdfReader(io.BytesIO(data), strict=False)
        if reader.is_encrypted and not reader.decrypt(""):
            raise ValueError("it is encrypted")
        if len(reader.pages) > _MOST_PAGES:
            raise ValueError(f"it has {len(reader.pages)} pages, more than {_MOST_PAGES}")
        parts, size = [], 0
        root = reader.root_object
        scripts = root.get("/Names", {}).get("/JavaScript", {}).get("/Names", ())
        unseen = _actions_of([root.get("/OpenAction"), *scripts[1::2]])
        for page in reader.pages:
            parts.append(_HYPHENATED.sub("", _page_text(page, unseen)))
            unseen += _actions_of(mark.get_object().get("/A") for mark in page.get("/Annots") or ())
            size += len(parts[-1])
            if size > _MOST_TEXT:
                raise ValueError(f"it holds more than {_MOST_TEXT >> 20} MB of text")
    except PyPdfError as error:
        raise ValueError(str(error)) from error
    if not "".join(parts).strip():
        raise ValueError("it holds no text, only pictures or nothing")
    return ["\n\n".join(parts), *unseen[:_MOST_UNSEEN]]


def _actions_of(nodes) -> list[str]:
    """What actions start by themselves or when they are touched, as it is written."""
    actions = (node.get_object() for node in nodes if node is not None)
    return [
        " ".join(f"{action['/S'][1:]} action: {action.get('/JS') or action.get('/F')}".split())
        for action in actions
        if hasattr(action, "keys") and action.get("/S") in _STARTED
    ]


class _Ink:
    """Which text of a page is drawn so that nobody sees it: in the paper's white, in no mode that
    paints, too small, or off the page. A page is taken for white.
    """

    def __init__(self, page) -> None:
        self.box = [float(edge) for edge in page.mediabox]
        self.white, self.mode = False, False
        self.kept: list[tuple[bool, bool]] = []
        self.drawn: set[bool] = set()
        self.unseen: list[str] = []

    def operand(self, operator: bytes, operands, _cm, matrix) -> None:
        if operator == b"q":
            self.kept.append((self.white, self.mode))
        elif operator == b"Q" and self.kept:
            self.white, self.mode = self.kept.pop()
        elif operator in (b"g", b"rg", b"sc", b"scn"):
            self.white = bool(operands) and all(value == 1 for value in operands)
        elif operator == b"k":
            self.white = not any(operands)
        elif operator == b"Tr":
            self.mode = operands[:1] == [3]
        elif operator in (b"Tj", b"TJ", b"'", b'"'):
            self.drawn.add(self.white or self.mode)

    def text(self, text: str, cm, matrix, _font, size) -> None:
        x, y = (matrix[4] * cm[0] + cm[4], matrix[5] * cm[3] + cm[5])
        left, low, right, high = self.box
        apart = not (left - _EDGE < x < right + _EDGE and low - _EDGE < y < high + _EDGE)
        tiny = abs((size or 0) * (matrix[3] or matrix[1]) * (cm[3] or cm[1])) < 1
        if (apart or tiny or self.drawn == {True}) and len(text.strip()) >= _LEAST_UNSEEN:
            self.unseen.append(" ".join(text.split()))
        self.drawn.clear()


def _page_text(page, unseen: list[str]) -> str:
    ink = _Ink(page)
    text = page.extract_text(visitor_operand_before=ink.operand, visitor_text=ink.text)
    unseen += ink.unseen
    return text


# What reading a file that means harm may end in.
_BROKEN = (ValueError, RecursionError, LookupError, TypeError, AttributeError, OverflowError)


def main() -> int:
    import resource

    memory, seconds = int(sys.argv[1]), int(sys.argv[2])
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    try:
        texts = texts_of_pdf(sys.stdin.buffer.read())
    except (*_BROKEN, MemoryError) as error:
        print(f"{error or type(error).__name__}", file=sys.stderr)
        return 1
    shown = "\0".join(text.replace("\0", "") for text in texts)
    sys.stdout.buffer.write(shown.encode("utf-8", "replace"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
