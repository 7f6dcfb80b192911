"""A file's bytes read into a Page: front matter, outline, managed blocks, allowances, and everything that is wrong with them."""

import re
from collections.abc import Iterator
from dataclasses import replace

from kb.page import LARGEST, Detail, Heading, Page, text_of
from kb.page.document import Document, document_of, skimmed
from kb.page.front import front_of
from kb.page.text import slug_of
from kb.store import digest_of, packed

_ALLOW = re.compile(r"<!--\s*kb:allow\s+([\w, -]+?)\s*-->")
_AUTO = re.compile(r"^[ \t]*<!--\s*(/?)kb:auto(?:\s+([\w.:-]+))?\s*-->[ \t]*$", re.MULTILINE)


def page_of(path: str, data: bytes, *, skim: bool = False) -> Page:
    """Page of a file's bytes. Never raises for content: what is wrong is in `findings`.

    With `skim` a plain catalog of code is not read whole: its `detail` holds the texts of its headings and its symbols, and no row is kept of it.
    """
    problems: list[tuple[int, str, str, str, str]] = []
    digest = digest_of(data)
    if b"\0" in data[:65536]:
        problems.append((1, "binary", "holds NUL bytes: this is no text", "", "move it to sources/ or raw/"))
        return _page(path, digest, {}, 1, 0, Detail({}, (), (), (), (), (), (), (), tuple(problems)))
    if len(data) > LARGEST:
        problems.append(
            (
                1,
                "too-large",
                f"{len(data) / 1e6:.0f} MB: only the first {LARGEST / 1e6:.0f} MB are compiled",
                "",
                "split the page",
            )
        )
        data = data[: data.rfind(b"\n", 0, LARGEST) + 1 or LARGEST]
    text = text_of(data)
    if "\ufffd" in text and b"\xef\xbf\xbd" not in data:
        line = text.count("\n", 0, text.index("\ufffd")) + 1
        problems.append((line, "encoding", "bytes that are not UTF-8 were replaced", "", "save the page as UTF-8"))
    if not text.strip():
        problems.append((1, "empty", "the page is empty", "", "write it or remove it"))
    front = front_of(text, path)
    problems.extend((f.line, f.code, f.message, f.target, f.hint) for f in front.findings)
    body = text[front.body_offset :]
    symbols = front.fields.pop("symbols", None)
    if not isinstance(symbols, dict):
        if symbols is not None:
            front.fields["symbols"] = symbols
        symbols = {}
    lines = text.count("\n") + (not text.endswith("\n") and text != "")
    bare = Page(path, digest, front.fields, front.body_line, lines, "", (), "")
    # A page that calls itself a catalog may be an experiment by its place, and then all of it counts.
    if skim and symbols and bare.type == "catalog" and "[[" not in body:
        return _skim(bare, symbols, *skimmed(body))
    document = document_of(text)
    ids = list(document.ids)
    headings = tuple(_headings(document, ids))
    fences = tuple((b.line, b.stop) for b in document.of("fence"))
    if document.open_fence:
        problems.append(
            (
                document.open_fence,
                "open-fence",
                "a code fence is never closed; all that follows reads as code",
                "",
                "close it with the same marker",
            )
        )
    problems.extend(
        (
            line,
            "list-blank-line",
            "a list right below a paragraph, which some renderers read as more of it",
            "",
            "put a blank line before it",
        )
        for line in document.glued
    )
    blocks = _blocks(body, front.body_line, fences, problems)
    allowed = tuple(_allowed(text)) if "kb:allow" in text else ()
    detail = Detail(
        front.lines,
        headings,
        document.links,
        tuple(ids),
        tuple(symbols),
        fences,
        blocks,
        allowed,
        tuple(problems),
    )
    return _page(path, digest, front.fields, front.body_line, lines, detail)


def _page(path: str, digest: str, front: dict[str, object], body_line: int, lines: int, detail: Detail) -> Page:
    first = next((h.text for h in detail.headings if h.level == 1 and h.text), "")
    cited = dict.fromkeys(link.href.partition("#")[0] for link in detail.links if link.kind not in ("wikilink", "unresolved"))
    page = Page(path, digest, front, body_line, lines, first, tuple(cited), packed(detail))
    page.__dict__["detail"] = detail
    return page


_EXPLICIT_ID = re.compile(r"\{#([\w.:-]+)\}\s*$")


def _headings(document: Document, ids: list[str]) -> Iterator[Heading]:
    """Headings with the anchors that GitHub gives them; an explicit id (`{#name}`) goes to `ids`."""
    taken: dict[str, int] = {}
    for block in document.of("heading"):
        text = block.plain.strip()
        if text.endswith("}") and (named := _EXPLICIT_ID.search(text)):
            ids.append(named[1])
            text = text[: named.start()].rstrip()
        slug = base = slug_of(text)
        while slug in taken:
            taken[base] += 1
            slug = f"{base}-{taken[base]}"
        taken.setdefault(slug, 0)
        yield Heading(block.level, text, slug, block.line, not block.depth)


def _skim(page: Page, symbols: dict[str, object], headings: list[tuple[int, str]], hrefs: list[str]) -> Page:
    """`page`, of which only the front matter was read, with what a catalog is found by."""
    named = tuple(Heading(level, text.strip(), "", 0, True) for level, text in headings)
    first = next((h.text for h in named if h.level == 1 and h.text), "")
    catalog = replace(page, first_heading=first, cited=tuple(dict.fromkeys(h.partition("#")[0] for h in hrefs)))
    catalog.__dict__["detail"] = Detail({}, named, (), (), tuple(symbols), (), (), (), ())
    return catalog


def _allowed(text: str):
    for m in _ALLOW.finditer(text):
        line = text.count("\n", 0, m.start()) + 1
        whole = text[text.rfind("\n", 0, m.start()) + 1 : (text.find("\n", m.end()) + 1 or len(text) + 1) - 1]
        for code in re.split(r"[,\s]+", m[1]):
            # A comment alone on its line speaks of the next one.
            yield line + (whole.strip() == m[0]), code


def _blocks(body: str, first: int, fences, problems: list) -> tuple[tuple[str, int, int], ...]:
    if "kb:auto" not in body:
        return ()
    found, name, start = [], "", 0
    for m in _AUTO.finditer(body):
        line = first + body.count("\n", 0, m.start())
        if any(a <= line < b for a, b in fences):
            continue
        if not m[1] and not name and m[2]:
            name, start = m[2], line
        elif m[1] and name:
            found.append((name, start, line))
            name = ""
        else:
            problems.append(
                (
                    line,
                    "managed-block",
                    "a kb:auto marker without its partner",
                    m[2] or "",
                    "write <!-- kb:auto NAME --> ... <!-- /kb:auto -->",
                )
            )
    if name:
        problems.append((start, "managed-block", f"the managed block '{name}' is never closed", name, "add <!-- /kb:auto -->"))
    return tuple(found)
