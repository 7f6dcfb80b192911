"""What came over the wire or from a disk as text for quoting: HTML, PDF, notebooks, Markdown, plain
text. Marks what a page hides; runs nothing.
"""

import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urljoin, urlsplit

import kb
from kb import KbError
from kb.source import Provenance, normal_text, varied
from kb.store import json_of

_HEADING = re.compile(r"^(#{1,6})\s+(.+?)\s*#*$", re.MULTILINE)
_FENCE = re.compile(r"^(`{3,}|~{3,}).*?^\1", re.MULTILINE | re.DOTALL)
# A section of a paper in plain text: its number and a title in capitals, or one of the names that
# stand without a number.
_PAPER_HEADING = re.compile(
    r"^(?:\d{1,2}(?:\.\d{1,2}){0,3}\.?\s+[A-Z][^\n.]{2,70}|[IVX]{1,5}\.\s+[A-Z][^\n.]{2,60}|Abstract|ABSTRACT|References|REFERENCES|Acknowledge?ments?|Appendix\b[^\n]{0,60})$",
    re.MULTILINE,
)
_UNSEEN_STYLE = re.compile(
    r"(?i)display\s*:\s*none|visibility\s*:\s*hidden|font-size\s*:\s*0(?!\.)|opacity\s*:\s*0(?!\.)|(?<!-)\bcolor\s*:\s*(?:#fff(?:fff)?\b|white\b)|(?:left|top|text-indent)\s*:\s*-\d{3,}"
)
_LEAST_HIDDEN = 12
_PDF_SECONDS = 120
_PDF_MEMORY = 2 << 30
_ARXIV_ID = re.compile(
    r"(?i)(?:arxiv[:\s./]*(?:org/(?:abs|pdf)/)?\s*)(\d{4}\.\d{4,5}|[a-z-]+(?:\.[A-Z]{2})?/\d{7})"
)


class CapturedDocument(Provenance, frozen=True, kw_only=True):
    """Text for quoting with what a page says of itself; `hidden` are ranges that a reader would not have seen."""

    text: str = ""
    hidden: tuple[tuple[int, int], ...] = ()
    links: tuple[str, ...] = ()


def document_of(
    data: bytes, media_type: str, *, name: str = "", address: str = ""
) -> CapturedDocument:
    """A document by what its bytes are, then by its type and name. Raises KbError for what is no
    text and no PDF.
    """
    end = name.lower().rpartition(".")[2]
    if data[:1024].lstrip().startswith(b"%PDF-"):
        text, *unseen = _pdf_text(data, name or address).split("\0")
        return _marked(_plain(text), unseen)
    head = data[:2048].lstrip().lower()
    if b"\0" in data[:8192] and not data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise KbError(
            f"{name or address}: is neither text nor PDF ({media_type or 'no type given'}); not captured"
        )
    if (
        media_type in ("text/html", "application/xhtml+xml")
        or end in ("html", "htm", "xhtml")
        or head.startswith((b"<!doctype html", b"<html"))
    ):
        return _html(data, address)
    text = _decoded(data)
    if end == "ipynb":
        return _markdown(_notebook_text(text, name))
    return (
        _markdown(text)
        if end in ("md", "markdown") or media_type == "text/markdown"
        else _plain(text)
    )


def _decoded(data: bytes) -> str:
    coding = "utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    try:
        return data.decode(coding)
    except UnicodeDecodeError:
        return data.decode("latin-1")


def _markdown(text: str) -> CapturedDocument:
    text = normal_text(text)
    fenced = [m.span() for m in _FENCE.finditer(text)]
    heads = (m for m in _HEADING.finditer(text) if not any(a <= m.start() < b for a, b in fenced))
    sections = tuple((m[2], m.start()) for m in heads)
    title = sections[0][0] if sections else ""
    return _document(text, title, sections)


def _plain(text: str) -> CapturedDocument:
    text = normal_text(text)
    sections = tuple((" ".join(m[0].split()), m.start()) for m in _PAPER_HEADING.finditer(text))
    first = next((line.strip() for line in text.splitlines() if line.strip()), "")
    return _document(text, first if len(first) <= 120 else "", sections)


def _document(text: str, title: str, sections: tuple[tuple[str, int], ...]) -> CapturedDocument:
    named = tuple(dict.fromkeys(_ARXIV_ID.findall(text)))
    return CapturedDocument(text=text, title=title, sections=sections, references=named)


def _html(data: bytes, address: str) -> CapturedDocument:
    import lxml.html
    import trafilatura

    try:
        tree = lxml.html.document_fromstring(
            data,
            parser=lxml.html.HTMLParser(huge_tree=False, recover=True, encoding=_charset(data)),
        )
    except (lxml.etree.ParserError, lxml.etree.XMLSyntaxError, ValueError) as error:
        raise KbError(f"{address}: its HTML does not read: {error}") from error
    links = tuple(
        dict.fromkeys(urljoin(address, href).partition("#")[0] for href in tree.xpath("//a/@href"))
    )
    licence = next(iter(tree.xpath("//*[contains(concat(' ', @rel, ' '), ' license ')]/@href")), "")
    unseen = _hidden_texts(tree)
    title = " ".join(" ".join(tree.xpath("//title//text()")[:1]).split())
    for math in tree.xpath("//math[@alttext]"):
        mark = "$$" if math.get("display") == "block" else "$"
        math.tail = f"{mark}{math.get('alttext')}{mark}{math.tail or ''}"
        math.getparent().text = math.getparent().text or ""
        math.drop_tree()
    about = trafilatura.bare_extraction(
        tree, url=address or None, with_metadata=True, favor_recall=True, include_comments=False
    )
    text = trafilatura.extract(
        lxml.html.tostring(tree, encoding="unicode"),
        output_format="markdown",
        include_tables=True,
        include_formatting=True,
        favor_recall=True,
        include_comments=False,
    )
    plain = _marked(_markdown(text or " ".join(tree.text_content().split())), unseen)
    return varied(
        plain,
        title=str(getattr(about, "title", "") or title),
        authors=str(getattr(about, "author", "") or ""),
        version=str(getattr(about, "date", "") or ""),
        licence=str(licence or getattr(about, "license", "") or ""),
        links=links,
    )


def _marked(document: CapturedDocument, unseen: Sequence[str]) -> CapturedDocument:
    """A document with what it shows to nobody marked in it, or kept below it."""
    text = document.text
    missing = [stretch for stretch in unseen if stretch not in text]
    if missing:
        text = "\n\n".join([text.rstrip("\n"), "## Hidden in the page", *missing]) + "\n"
    hidden = ((text.find(stretch), len(stretch)) for stretch in unseen)
    return varied(document, text=text, hidden=tuple((at, at + n) for at, n in hidden if at >= 0))


def _charset(data: bytes) -> str | None:
    match = re.search(rb"charset=[\"']?([\w-]+)", data[:2048])
    return match[1].decode("ascii", "ignore") if match else "utf-8"


def _hidden_texts(tree) -> tuple[str, ...]:
    """What a page holds and shows to nobody: unseen elements and comments. A machine reads both."""
    nodes = [
        n
        for n in tree.xpath("//*[@style or @hidden]")
        if n.get("hidden") is not None or _UNSEEN_STYLE.search(n.get("style") or "")
    ]
    texts = [" ".join(n.text_content().split()) for n in nodes] + [
        " ".join((c.text or "").split()) for c in tree.xpath("//comment()")
    ]
    return tuple(
        dict.fromkeys(
            text[:2000]
            for text in texts
            if len(text) >= _LEAST_HIDDEN and not text.startswith(("[if ", "<![endif"))
        )
    )


def _notebook_text(text: str, name: str) -> str:
    """A notebook as Markdown: its cells in order, code in fences, what they printed below them."""
    try:
        book = json_of(text)
        cells = book["cells"]
        language = book.get("metadata", {}).get("kernelspec", {}).get("language", "python")
        parts = []
        for cell in cells:
            body = "".join(cell["source"])
            parts.append(body if cell["cell_type"] == "markdown" else f"```{language}\n{body}\n```")
            for output in cell.get("outputs", ())[:20]:
                shown = output.get("text") or output.get("data", {}).get("text/plain") or ()
                if shown:
                    parts.append("```text\n" + "".join(shown)[:20_000].rstrip("\n") + "\n```")
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise KbError(f"{name}: no notebook that reads: {error}") from error
    return "\n\n".join(parts)


def _pdf_text(data: bytes, name: str) -> str:
    """Text of a PDF, read in a process of its own with bounds of memory and time: a PDF may be a
    bomb.
    """
    command = [sys.executable, "-P", "-m", "kb.research.pdf", str(_PDF_MEMORY), str(_PDF_SECONDS)]
    # The folder it is started in holds a stranger's files: none of them is a module of ours.
    env = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    env["PYTHONPATH"] = str(Path(kb.__file__).parent.parent)
    try:
        done = subprocess.run(
            command, input=data, capture_output=True, timeout=_PDF_SECONDS, env=env
        )
    except subprocess.TimeoutExpired as error:
        raise KbError(
            f"{name}: its PDF takes more than {_PDF_SECONDS} s to read; not captured"
        ) from error
    if done.returncode:
        reason = done.stderr.decode(errors="replace").strip().splitlines()
        raise KbError(
            f"{name}: its PDF does not read: {reason[-1][:200] if reason else 'out of its bounds of memory or time'}"
        )
    return done.stdout.decode("utf-8", "replace")


def same_tree(address: str, links: Sequence[str]) -> tuple[str, ...]:
    """Links to pages below the folder of an address: the tree that a documentation stands in."""
    parts = urlsplit(address)
    folder = parts.path if parts.path.endswith("/") else parts.path.rpartition("/")[0] + "/"
    prefix = f"{parts.scheme}://{parts.netloc}{folder}"
    return tuple(link for link in links if link.startswith(prefix) and not urlsplit(link).query)
