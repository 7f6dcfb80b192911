"""Markdown to HTML that is safe to show: the one place where the text of a page becomes markup.

Refuses raw HTML (see `raw_html`) and links that the caller's table does not know. CommonMark is read
by the parser that reads pages, so the site shows what kb sees.
"""

import re
from collections.abc import Iterable, Mapping
from functools import cache
from typing import NamedTuple

from kb.page.markdown import parser
from kb.site.raw_html import anchor_of, escaped, paired_tags, shown_html


class Destination(NamedTuple):
    """Where a link of a page leads in the site. kind: page, loose (page without that heading), web,
    file, broken; images: image, web, file, broken.
    """

    kind: str
    url: str = ""
    note: str = ""


class TocEntry(NamedTuple):
    """A heading of a page as its table of contents shows it; `title` is escaped text."""

    level: int
    anchor: str
    title: str


class Body(NamedTuple):
    """A rendered page: the level-1 heading that it starts with (HTML and anchor, "" where there is
    none), the rest, and all its headings.
    """

    title: str
    anchor: str
    html: str
    headings: tuple[TocEntry, ...]


# A page longer than this is shown with its sections folded.
LARGEST_OPEN = 150_000
# Longer runs are shown as they are: the inline parser is quadratic on hostile ones.
_LONGEST_INLINE = 100_000
# Longer code is shown plain: colouring it costs more than it tells.
_LONGEST_COLOURED = 20_000

# Stands before every heading outside of containers while a page is rendered: no text can hold it.
_MARK = "\0"
_HEADING = re.compile(
    r'<h([1-6]) id="([^"]*)">(.*?)(?:<a class="headerlink"[^>]*>¶</a>)?</h\1>\n', re.DOTALL
)
_TAGS = re.compile(r"<[^>]*>")
_CALLOUT = re.compile(r"\[!([A-Za-z-]{1,30})\][+-]?[ \t]*([^\n]*)(?:\n|\Z)")
_KINDS = {
    "important": "info",
    "caution": "danger",
    "contradiction": "failure",
    "todo": "question",
    "error": "failure",
}
# The kinds of callout that the theme draws; others are notes.
_ADMONITIONS = frozenset(
    "note abstract info tip success question warning failure danger bug example quote".split()
)
_WIKILINK = re.compile(r"!?\[\[([^\[\]\n]+)\]\](?![(\[])")
_TASK = re.compile(r"\[([ xX])\](?=\s)")
_EXPLICIT_ID = re.compile(r"\s*\{#([\w.:-]+)\}\s*$")
WEB_ADDRESS = re.compile(r"""https?://[^\s<>"'`]*[^\s<>"'`.,;:!?)\]}*]""")


def body_of(text: str, *, slugs: Iterable[str], links: Mapping[str, Destination]) -> Body:
    """A markdown body as safe HTML. `slugs` are its headings' anchors in order; `links` maps every
    href as written (images as `!href`).
    """
    env: dict = {"links": links, "closing": [], "slugs": iter(slugs), "fold": 0}
    lead, *parts = _PARSER.render(text, env).split(_MARK)
    heads = [_HEADING.match(part) for part in parts]
    headings = tuple(TocEntry(int(h[1]), h[2], _TAGS.sub("", h[3]).strip()) for h in heads)
    kept = [p if h[3].strip() else p[h.end() :] for p, h in zip(parts, heads, strict=True)]
    if lead.strip() or not heads or heads[0][1] != "1" or not heads[0][3].strip():
        return Body("", "", _fitted([lead, *kept]), headings)
    first = parts[0][heads[0].end() :]
    return Body(heads[0][3], heads[0][2], _fitted([first, *kept[1:]]), headings)


def _fitted(parts: list[str]) -> str:
    """The parts of a page, each from a heading to the next, in order. One too long to scroll has its
    sections closed; what has no headings scrolls in a window of its own.
    """
    if sum(map(len, parts)) <= LARGEST_OPEN:
        return "".join(parts)
    levels = [int(part[2]) if _HEADING.match(part) else 0 for part in parts]
    least = min((n for n in levels if n > 1), default=0)
    fold = next((n for n in (2, 3, 4) if levels.count(n) >= 3), least)
    shown, is_open = [], False
    for level, part in zip(levels, parts, strict=True):
        if 0 < level <= fold and is_open:
            shown.append("</details>\n")
            is_open = False
        cut = _HEADING.match(part).end() if level else 0
        heading, rest = part[:cut], part[cut:]
        if level and level == fold:
            heading, is_open = f'<details class="kb-fold"><summary>{heading}</summary>\n', True
        if len(rest) > LARGEST_OPEN // 3:
            rest = f'<div class="kb-window" tabindex="0">\n{rest}</div>\n'
        shown.append(heading + rest)
    return "".join([*shown, "</details>\n" if is_open else ""])


def _shape_blocks(state) -> None:
    """Before inline text is read: callouts, task boxes, heading anchors, and runs too long to read."""
    tokens = state.tokens
    blocks = [t.content for t in tokens if t.type == "html_block" and not t.level]
    folds = paired_tags(blocks) & {"details"}
    for position, token in enumerate(tokens):
        if token.type == "html_block":
            token.meta["paired"] = paired_tags([token.content]) - {"details"} | (
                frozenset() if token.level else folds
            )
        elif token.type == "blockquote_open":
            _shape_callout(tokens, position)
        elif token.type == "heading_open":
            inline = tokens[position + 1]
            token.attrs["id"] = anchor_of(next(state.env["slugs"], ""))
            if named := _EXPLICIT_ID.search(inline.content):
                inline.content = inline.content[: named.start()]
                token.meta["also"] = anchor_of(named[1])
        elif token.type == "inline" and len(token.content) > _LONGEST_INLINE:
            token.type = "kb_unread"
        elif (
            token.type == "inline"
            and position > 1
            and tokens[position - 2].type == "list_item_open"
        ):
            task = _TASK.match(token.content)
            if task:
                token.content = ("☐" if task[1] == " " else "☑") + token.content[task.end() :]


def _shape_inline(state) -> None:
    """Behind inline text: which tags of each paragraph have a partner in it."""
    for token in state.tokens:
        tags = [t for t in token.children or () if t.type == "html_inline"]
        paired = paired_tags([t.content for t in tags]) - {"details", "summary"}
        for tag in tags:
            tag.meta["paired"] = paired


def _shape_callout(tokens: list, position: int) -> None:
    inline = tokens[position + 2] if position + 2 < len(tokens) else None
    named = (
        _CALLOUT.match(inline.content) if inline is not None and inline.type == "inline" else None
    )
    if not named:
        return
    name = named[1].lower()
    kind = _KINDS.get(name, name if name in _ADMONITIONS else "note")
    inline.content = inline.content[named.end() :]
    opening = tokens[position]
    closing = next(
        t
        for t in tokens[position + 1 :]
        if t.type == "blockquote_close" and t.level == opening.level
    )
    title = named[2].strip() or name.replace("-", " ").capitalize()
    opening.meta = {"kind": kind, "title": title}
    opening.type, closing.type = "kb_callout_open", "kb_callout_close"


def _wikilink(state, silent: bool) -> bool:
    """`[[page#heading|label]]` as a link, where the caller's table knows it."""
    written = _WIKILINK.match(state.src, state.pos)
    if not written or f"[[{written[1]}]]" not in state.env["links"]:
        return False
    if not silent:
        where, _, label = written[1].replace("\\|", "|").partition("|")
        state.push("link_open", "a", 1).attrs["href"] = f"[[{written[1]}]]"
        state.push("text", "", 0).content = (label.strip() or where).strip()
        state.push("link_close", "a", -1)
    state.pos = written.end()
    return True


def _html(self, tokens, index, options, env) -> str:
    return shown_html(tokens[index].content, tokens[index].meta["paired"])


def _html_block(self, tokens, index, options, env) -> str:
    text = _html(self, tokens, index, options, env).strip()
    env["fold"] += text.count("<details>") - text.count("</details>")
    return text if "details>" in text or not text else f"<p>{text}</p>\n"


def _link_open(self, tokens, index, options, env) -> str:
    href = str(tokens[index].attrs.get("href", ""))
    to = env["links"].get(href, Destination("broken", note="no such link"))
    # The page's own reader takes an index and a call within a formula (`$f[x](y)$`) for no link.
    formula = href.isalnum() and href not in env["links"]
    opening, closing = ("[", f"]({href})") if formula else link_tags(to)
    env["closing"].append(closing)
    return opening


def link_tags(to: Destination) -> tuple[str, str]:
    """Opening and closing tag of a link."""
    note = f' title="{escaped(to.note)}"' if to.note else ""
    kind = {"loose": ' class="kb-loose"'}.get(to.kind, "")
    rel = ' rel="noopener noreferrer nofollow"' if to.kind == "web" else ""
    if to.kind in ("page", "loose", "web"):
        return f'<a{kind} href="{escaped(to.url)}"{rel}{note}>', "</a>"
    return f'<span class="kb-{"file" if to.kind == "file" else "broken"}"{note}>', "</span>"


def _image(self, tokens, index, options, env) -> str:
    token = tokens[index]
    src = str(token.attrs.get("src", ""))
    to = env["links"].get("!" + src, Destination("broken", note="no such image"))
    alt = escaped(self.renderInlineAsText(token.children, options, env) or to.url)
    if to.kind == "image":
        return f'<img src="{escaped(to.url)}" alt="{alt}" loading="lazy">'
    # A picture on another host would tell that host who reads the page: it is shown as a link.
    opening, closing = ("<span>", "</span>") if env["closing"] else link_tags(to)
    return f"{opening}{alt or 'image'}{closing}"


def _text(self, tokens, index, options, env) -> str:
    content = tokens[index].content
    if "://" not in content or env["closing"]:
        return escaped(content)
    shown, at = [], 0
    for address in WEB_ADDRESS.finditer(content):
        opening, closing = link_tags(Destination("web", address[0]))
        shown += (escaped(content[at : address.start()]), opening, escaped(address[0]), closing)
        at = address.end()
    return "".join(shown) + escaped(content[at:])


def _code(self, tokens, index, options, env) -> str:
    return code_block(tokens[index].content, (tokens[index].info.split() or [""])[0])


def code_block(code: str, language: str) -> str:
    """Code as HTML, coloured where its language is known."""
    lexer = _lexer(language.lower()) if language and len(code) <= _LONGEST_COLOURED else None
    shown = escaped(code)
    if lexer is not None and "\ufffd" not in shown:
        from pygments import highlight

        shown = highlight(code, lexer, _formatter())
    return f'<div class="highlight"><pre tabindex="0"><code>{shown}</code></pre></div>\n'


@cache
def _lexer(language: str):
    from pygments.lexers import get_lexer_by_name
    from pygments.util import ClassNotFound

    try:
        return get_lexer_by_name(language, stripnl=False, ensurenl=False)
    except ClassNotFound:
        return None


@cache
def _formatter():
    from pygments.formatters import HtmlFormatter

    return HtmlFormatter(nowrap=True)


def _cell_open(self, tokens, index, options, env) -> str:
    # An alignment is a class: an inline style would need a hole in the content security policy.
    token = tokens[index]
    right = "right" in str(token.attrs.get("style", ""))
    return f"<{token.tag}{' class=kb-right' if right else ''}>"


def _callout_open(self, tokens, index, options, env) -> str:
    meta = tokens[index].meta
    title = _PARSER.renderInline(meta["title"], env)
    return f'<div class="admonition {meta["kind"]}"><p class="admonition-title">{title}</p>\n'


def _heading_open(self, tokens, index, options, env) -> str:
    token = tokens[index]
    mark = "" if token.level or env["fold"] else _MARK
    also = f'<span id="{escaped(token.meta["also"])}"></span>' if "also" in token.meta else ""
    return f'{mark}<{token.tag} id="{escaped(str(token.attrs["id"]))}">{also}'


def _heading_close(self, tokens, index, options, env) -> str:
    token, anchor = tokens[index], escaped(str(tokens[index - 2].attrs["id"]))
    link = f'<a class="headerlink" href="#{anchor}" aria-label="Link to this section">¶</a>'
    return f"{'' if token.level or env['fold'] else link}</{token.tag}>\n"


def _fixed(markup: str):
    return lambda self, tokens, index, options, env: markup


_RULES = {
    "html_inline": _html,
    "html_block": _html_block,
    "link_open": _link_open,
    "link_close": lambda self, tokens, index, options, env: env["closing"].pop(),
    "image": _image,
    "text": _text,
    "fence": _code,
    "code_block": _code,
    "heading_open": _heading_open,
    "heading_close": _heading_close,
    "kb_callout_open": _callout_open,
    "kb_callout_close": _fixed("</div>\n"),
    "th_open": _cell_open,
    "td_open": _cell_open,
    "table_open": _fixed('<div class="kb-scroll" tabindex="0"><table class="kb-grid">\n'),
    "table_close": _fixed("</table></div>\n"),
    "kb_unread": lambda self, tokens, index, options, env: escaped(tokens[index].content),
}


def _site_parser():
    md = parser().enable("strikethrough")
    md.core.ruler.after("block", "kb_blocks", _shape_blocks)
    md.core.ruler.after("inline", "kb_inline", _shape_inline)
    md.inline.ruler.before("link", "kb_wikilink", _wikilink)
    for name, rule in _RULES.items():
        md.add_render_rule(name, rule)
    return md


_PARSER = _site_parser()
