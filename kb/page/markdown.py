"""Headings and links of a markdown body, exactly as markdown-it-py reads them, without building its inline tokens where none are needed.

Blocks always come from markdown-it-py. An inline run is handed to its inline parser only if it holds something that the patterns here
do not cover; `reference_links` is the slow, plain reading that a differential test holds this one to.
"""

import re
from typing import NamedTuple

from markdown_it import MarkdownIt
from markdown_it.common.html_re import HTML_TAG_RE
from markdown_it.token import Token

from kb.page.blocks import blocks_of
from kb.page.text import Heading, Link, plain_text, slug_of


class Outline(NamedTuple):
    headings: list[Heading]
    links: list[Link]
    ids: list[str]
    fences: list[tuple[int, int]]
    open_fence: int
    glued: list[int]


# Longer inline runs are read by the patterns alone: markdown-it-py's inline parser is quadratic on hostile ones.
_LONGEST_INLINE = 100_000
_MANY = 20

# Alternatives in the order of markdown-it's inline rules; leftmost wins, as there. A run of backticks is taken whole, as code or loose.
_CODE = r"(?P<ticks>`+)(?!`)(?s:.+?)(?<!`)(?P=ticks)(?!`)|`+"
# What repeats stops at characters that it cannot hold itself, so it never needs to give back.
_LABEL = r"(?P<label>[^\[\]\\`<]*+(?:(?<!`)`(?!`)[^`]+`(?!`)[^\[\]\\`<]*+)*+)"
_PLAIN_DEST = r"[^\s()<>\\&`\x00-\x1f\x7f]*+"
_DEST = rf"(?P<dest>{_PLAIN_DEST}(?:&(?![#\w]+;){_PLAIN_DEST})*+)"
_TITLE = r"""(?:[ \t]*\n?[ \t]+"[^"\\`&]*")?"""
_INLINE = re.compile(
    # One look at the first character spares most positions all the alternatives.
    r"(?=[\\`<!\[])(?:\\[!-/:-@\[-`{-~]"
    + rf"|{_CODE}"
    + r"|<(?P<uri>[a-zA-Z][a-zA-Z0-9+.\-]{1,31}:[^<>\x00-\x20]*)>"
    + r"|<(?P<mail>[a-zA-Z0-9.!#$%&'*+/=?^_`{|}~\-]+@[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?)>"
    + f"|{HTML_TAG_RE.pattern}"
    + rf"|(?P<open>!?\[){_LABEL}\]\([ \t]*{_DEST}{_TITLE}[ \t]*\))"
)
_WIKILINK = re.compile(r"\[\[([^\[\]\n]+)\]\](?![(\[])")
# Stands for code, HTML, an escape or a picture while references are looked for: the text of one may hold it, its label not.
_HELD = "\x01"
# Not behind a word, which makes it an index (`a[i][j]`); an underscore that opens emphasis is none.
_UNRESOLVED = re.compile(r"(?<![^\W_])(?<![^\W_]_)(?<![\])])\[([^\[\]\x00]+)\]\[([^\[\]\x00\x01]+)?\]")
_ID = re.compile(r"""<[a-zA-Z][^<>]*?\s(?:id|name)\s*=\s*["']?([^"'\s>]+)""")
_HTML_HEADING = re.compile(r"<h([1-6])\b[^>]*>(.*?)</h\1>", re.DOTALL | re.IGNORECASE)
_ATTR_ID = re.compile(r"\{#([\w.:-]+)\}\s*$")


def parser() -> MarkdownIt:
    """A CommonMark parser with tables that keeps every link as it is written: the one reading of markdown in kb."""
    md = MarkdownIt("commonmark").enable("table")
    # `file:` and the like must be seen, and links reported as they are written.
    md.validateLink = lambda url: True
    md.normalizeLink = lambda url: url
    return md


_FULL = parser()
_BLOCKS = parser().disable(["inline", "text_join"])


def outline_of(body: str, *, line: int = 1) -> Outline:
    """Headings, links, explicit ids and fences of a markdown body whose first line is line `line` of its page."""
    env: dict = {}
    found = blocks_of(body, _BLOCKS, env)
    references = env.get("references", {})
    headings: list[Heading] = []
    links: list[Link] = []
    ids: list[str] = []
    fences: list[tuple[int, int]] = []
    glued: list[int] = []
    open_fence = 0
    slugs: dict[str, int] = {}
    for kind, start, end, text, level, top in found:
        at = line + start
        if kind in ("inline", "heading"):
            if kind == "heading":
                headings.append(_heading(text, level, at, slugs, ids, top=top, env=env))
            if "[" in text or "<" in text:
                links.extend(_links(text, at, env, references))
                if "<" in text:
                    ids.extend(_ID.findall(text))
        elif kind == "list":
            # Renderers of the older rule (Python-Markdown) see no list there.
            glued.append(at)
        elif kind == "html":
            ids.extend(_ID.findall(text))
            ids.extend(slug_of(re.sub(r"<[^>]*>", "", m[2])) for m in _HTML_HEADING.finditer(text))
        elif kind == "fence":
            fences.append((at, line + end))
            if text:
                open_fence = at
    return Outline(headings, links, ids, fences, open_fence, glued)


def _heading(raw: str, level: int, at: int, slugs: dict[str, int], ids: list[str], *, top: bool, env: dict) -> Heading:
    named = _ATTR_ID.search(raw)
    if named:
        ids.append(named[1])
        raw = raw[: named.start()].rstrip()
    text = seen_text(raw, env) if "[" in raw and "references" in env else plain_text(raw)
    slug = base = slug_of(text)
    while slug in slugs:
        slugs[base] += 1
        slug = f"{base}-{slugs[base]}"
    slugs.setdefault(slug, 0)
    return Heading(level, text, slug, at, top)


def seen_text(inline: str, env: dict | None = None) -> str:
    """What a reader sees of an inline run, by markdown-it-py's own inline parser: markup gone, code and link text kept, pictures left out.

    `env` holds the link definitions of the page, by which `[text][label]` is a link and not its own text.
    """
    children: list[Token] = []
    _FULL.inline.parse(inline, _FULL, env or {}, children)
    return "".join(
        t.content if t.type in ("text", "code_inline", "text_special") else " " if t.type in ("softbreak", "hardbreak") else ""
        for t in children
    )


def _links(content: str, at: int, env: dict, references: dict) -> list[Link]:
    found, rest, held = _pattern_links(content, at)
    if len(content) <= _LONGEST_INLINE and ("](" in rest or references and "[" in rest):
        found, rest, held = _parsed_links(content, at, env)
    for kind, pattern, mark in (("unresolved", _UNRESOLVED, "]["), ("wikilink", _WIKILINK, "[[")):
        if mark in rest:
            for m in pattern.finditer(rest):
                label, text = (_written(rest, held, *m.span(group)) for group in (m.lastindex or 1, 1))
                found.append(Link(label, text, at + rest.count("\n", 0, m.start()), kind))
    return found


def _written(rest: str, held: list[str], start: int, end: int) -> str:
    """A stretch of a run as it was written, what is held out of it put back."""
    pieces = iter(held[rest.count(_HELD, 0, start) :])
    return "".join(next(pieces) if char == _HELD else char for char in rest[start:end])


def _pattern_links(content: str, at: int) -> tuple[list[Link], str, list[str]]:
    """Links that the patterns can tell for certain; the run with them as NUL and with everything else recognised, which the text of a link may
    hold, as `_HELD` (newlines kept); and what is held so.
    """
    found: list[Link] = []
    shown = 0
    if content.count("<!--") > _MANY:
        # Behind the last end no comment closes, and to look for one from every start takes the square of their number.
        closed = content.rfind("-->") + 1
        content = content[:closed] + content[closed:].replace("<!--", "\x02!--")
    if "\n" not in content:
        for _, uri, mail, opening, label, dest in _INLINE.findall(content):
            if opening:
                found.append(Link(dest, label, at, "image" if opening == "![" else "inline"))
                shown += 1
            elif uri or mail:
                found.append(Link(uri or "mailto:" + mail, uri or mail, at, "auto"))
    else:
        for m in _INLINE.finditer(content):
            line = at + content.count("\n", 0, m.start())
            if m["open"]:
                found.append(Link(m["dest"], m["label"], line, "image" if m["open"] == "![" else "inline"))
                shown += 1
            elif m["uri"] or m["mail"]:
                found.append(Link(m["uri"] or "mailto:" + m["mail"], m["uri"] or m["mail"], line, "auto"))
    if content.count("](") == shown and "][" not in content and "[[" not in content:
        return found, content.replace("](", ""), []
    held: list[str] = []

    def blank(m: re.Match[str]) -> str:
        if m["open"] != "[" and not m["uri"] and not m["mail"]:
            held.append(m[0])
            return _HELD + "\n" * m[0].count("\n")
        return "\x00" + "\n" * m[0].count("\n")

    return found, _INLINE.sub(blank, content.replace(_HELD, "\x00")), held


def _parsed_links(content: str, at: int, env: dict) -> tuple[list[Link], str, list[str]]:
    """The same by markdown-it-py's own inline parser."""
    children: list[Token] = []
    _FULL.inline.parse(content.replace(_HELD, "\x00"), _FULL, env, children)
    found: list[Link] = []
    rest: list[str] = []
    held: list[str] = []
    line, href, text, depth, searched = at, "", [], 0, 0
    for token in children:
        if token.type in ("softbreak", "hardbreak"):
            rest.append("\n")
            line += 1
        elif token.type == "link_open":
            href, text, depth = str(token.attrs["href"]), [], depth + 1
            where = content.find(href, searched) if href else -1
            searched = where + len(href) if where >= 0 else searched
            found.append(
                Link(
                    href,
                    "",
                    at + content.count("\n", 0, where) if where >= 0 else line,
                    "auto" if token.markup == "autolink" else "inline",
                )
            )
            rest.append("\x00")
        elif token.type == "link_close":
            depth -= 1
            last = max(i for i, link in enumerate(found) if link.kind != "image" and link.href == href)
            found[last] = found[last]._replace(text="".join(text))
        elif token.type == "image":
            found.append(Link(str(token.attrs["src"]), token.content, line, "image"))
            rest.append(_HELD)
            held.append(f"![{token.content}]({token.attrs['src']})")
        elif depth:
            text.append(token.content)
        elif token.type in ("code_inline", "html_inline", "text_special"):
            rest.append(_HELD)
            held.append(token.markup if token.type == "text_special" else f"{token.markup}{token.content}{token.markup}")
        else:
            rest.append(token.content if token.type == "text" else token.markup)
    return found, "".join(rest), held


def reference_links(body: str) -> tuple[list[tuple[int, str]], list[tuple[str, str]]]:
    """(level, text) of headings and (kind, href) of links by a whole markdown-it-py parse: the yardstick of the differential test."""
    tokens = _FULL.parse(body)
    headings, links = [], []
    for position, token in enumerate(tokens):
        if token.type != "inline":
            continue
        if tokens[position - 1].type == "heading_open":
            headings.append((int(tokens[position - 1].tag[1]), token.content))
        for child in token.children or []:
            if child.type == "link_open":
                links.append(("auto" if child.markup == "autolink" else "inline", str(child.attrs["href"])))
            elif child.type == "image":
                links.append(("image", str(child.attrs["src"])))
    return headings, links
