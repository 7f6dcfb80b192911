"""Markdown to HTML that is safe to show: the one place where the text of a page becomes markup.

Refuses raw HTML: a tag of the page is shown as text, but for a few that carry no attribute and stand in pairs; links go where the
caller's table says and nowhere else. CommonMark is read by the parser that reads pages, so the site shows what kb sees.
"""

import html
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import NamedTuple

from kb.page.markdown import parser


class Destination(NamedTuple):
    """Where a link of a page leads in the site. kind: page, loose (page without that heading), web, file, broken; images: image, web, file, broken."""

    kind: str
    url: str = ""
    note: str = ""


class Entry(NamedTuple):
    """A heading of a page as its table of contents shows it; `title` is escaped text."""

    level: int
    anchor: str
    title: str


class Part(NamedTuple):
    """A stretch of a rendered page: a heading of level 1 to 6 with its anchor, or (level 0) a block of HTML."""

    level: int
    anchor: str
    html: str


class Body(NamedTuple):
    """A rendered page: the level-1 heading that it starts with, apart from the rest, and all its headings."""

    title: Part | None
    html: str
    headings: tuple[Entry, ...]


# A page longer than this is shown with its sections folded.
LARGEST_OPEN = 300_000
# Longer runs are shown as they are: the inline parser is quadratic on hostile ones.
_LONGEST_INLINE = 100_000
# Longer code is shown plain: colouring it costs more than it tells.
_LONGEST_COLOURED = 20_000

_TAG = re.compile(r"<!--.*?(?:-->|\Z)|<(?P<close>/?)(?P<name>[a-zA-Z][a-zA-Z0-9]*)\b(?P<rest>[^>]*)>", re.DOTALL)
_NAMED = re.compile(r"""\s(?:id|name)\s*=\s*["']?([^"'\s>]+)""")
_PAIRED = frozenset(("details", "summary", "sub", "sup", "kbd", "b", "i", "em", "strong", "del", "ins", "mark", "small", "code"))
_CALLOUT = re.compile(r"\[!([A-Za-z-]{1,30})\][+-]?[ \t]*([^\n]*)(?:\n|\Z)")
_KINDS = {"important": "info", "caution": "danger", "contradiction": "failure", "todo": "question", "error": "failure"}
_ADMONITIONS = frozenset(
    ["note", "abstract", "info", "tip", "success", "question", "warning", "failure", "danger", "bug", "example", "quote"]
)
_WIKILINK = re.compile(r"!?\[\[([^\[\]\n]+)\]\](?![(\[])")
_TASK = re.compile(r"\[([ xX])\](?=\s)")
_EXPLICIT_ID = re.compile(r"\s*\{#([\w.:-]+)\}\s*$")
WEB_ADDRESS = re.compile(r"""https?://[^\s<>"'`]*[^\s<>"'`.,;:!?)\]}*]""")
_TAGS = re.compile(r"<[^>]*>")
_UNPRINTABLE = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")


def anchor_of(raw: str) -> str:
    """Anchor of the site for an anchor of the wiki. Ids that start with `__` belong to the theme."""
    clean = re.sub(r"[^\w.:-]", "-", raw)
    return "h" + clean if clean.startswith("__") else clean


def escaped(text: str) -> str:
    """Text as HTML, good in attributes too; control characters become visible."""
    return html.escape(_UNPRINTABLE.sub("\ufffd", text))


def body_of(text: str, *, slugs: Iterable[str], links: Mapping[str, Destination]) -> Body:
    """A markdown body as safe HTML. `slugs` are its headings' anchors in order; `links` maps every href as written (images as `!href`)."""
    env: dict = {"links": links, "closing": [], "linked": 0, "slugs": iter(slugs)}
    tokens = _PARSER.parse(text, env)
    parts = list(_parts(tokens, env))
    headings = tuple(Entry(p.level, p.anchor, _TAGS.sub("", p.html).strip()) for p in parts if p.level)
    title = parts.pop(0) if parts and parts[0].level == 1 else None
    markup = _folded(parts) if sum(len(p.html) for p in parts) > LARGEST_OPEN else "".join(map(_shown, parts))
    return Body(title if title and title.html.strip() else None, markup, headings)


def _parts(tokens: list, env: dict) -> Iterator[Part]:
    """The stretches of a page between its top headings, each heading a part of its own."""
    pending: list = []
    unfolded = position = 0
    while position < len(tokens):
        token = tokens[position]
        if token.type == "heading_open" and token.level == 0 and not unfolded:
            yield from _rendered(pending, env)
            pending = []
            inner = _PARSER.renderer.render([tokens[position + 1]], _PARSER.options, env)
            yield Part(int(token.tag[1]), anchor_of(str(token.attrs["id"])), _also(token) + inner)
            position += 3
            continue
        if token.type == "html_block":
            unfolded += token.meta.get("opens", 0)
        pending.append(token)
        position += 1
    yield from _rendered(pending, env)


def _rendered(tokens: list, env: dict) -> Iterator[Part]:
    markup = _PARSER.renderer.render(tokens, _PARSER.options, env)
    if markup.strip():
        yield Part(0, "", markup)


def _shown(part: Part) -> str:
    if not part.level:
        return part.html
    mark = f'<a class="headerlink" href="#{part.anchor}" aria-label="Link to this section">¶</a>'
    return f'<h{part.level} id="{escaped(part.anchor)}">{part.html}{mark}</h{part.level}>\n' if part.html.strip() else ""


def _folded(parts: list[Part]) -> str:
    """A page too long to scroll: its sections closed, each under its heading; what has no headings scrolls in a window of its own."""
    levels = sorted(p.level for p in parts if p.level > 1)
    fold = next((level for level in (2, 3, 4) if levels.count(level) >= 3), levels[0] if levels else 0)
    made, is_open = [], False
    for part in parts:
        if part.level and part.level <= fold and is_open:
            made.append("</details>\n")
            is_open = False
        if part.level == fold and fold:
            made.append(f'<details class="kb-fold"><summary>{_shown(part)}</summary>\n')
            is_open = True
        elif not part.level and len(part.html) > LARGEST_OPEN // 3:
            made.append(f'<div class="kb-window" tabindex="0">\n{part.html}</div>\n')
        else:
            made.append(_shown(part))
    return "".join([*made, "</details>\n" if is_open else ""])


def _shape_blocks(state) -> None:
    """Before inline text is read: callouts, task boxes, heading anchors, and runs too long to read."""
    tokens = state.tokens
    for position, token in enumerate(tokens):
        if token.type == "blockquote_open":
            _shape_callout(tokens, position)
        elif token.type == "heading_open":
            inline = tokens[position + 1]
            token.attrs["id"] = next(state.env["slugs"], "")
            named = _EXPLICIT_ID.search(inline.content)
            if named:
                inline.content = inline.content[: named.start()]
                token.meta["also"] = named[1]
        elif token.type == "inline":
            if len(token.content) > _LONGEST_INLINE:
                token.type = "kb_unread"
            elif position > 1 and tokens[position - 2].type == "list_item_open" and (task := _TASK.match(token.content)):
                token.content = ("☐" if task[1] == " " else "☑") + token.content[task.end() :]
    _shape_html(tokens)


def _shape_callout(tokens: list, position: int) -> None:
    inline = tokens[position + 2] if position + 2 < len(tokens) else None
    found = _CALLOUT.match(inline.content) if inline is not None and inline.type == "inline" else None
    if not found:
        return
    name = found[1].lower()
    kind = _KINDS.get(name, name if name in _ADMONITIONS else "note")
    inline.content = inline.content[found.end() :]
    opening = tokens[position]
    closing = next(t for t in tokens[position + 1 :] if t.type == "blockquote_close" and t.level == opening.level)
    opening.meta = {"kind": kind, "title": found[2].strip() or name.replace("-", " ").capitalize()}
    opening.type, closing.type = "kb_callout_open", "kb_callout_close"


def _shape_html(tokens: list) -> None:
    """Mark which `<details>` of HTML blocks have a partner among their siblings; only those are let through."""
    parents: list[int] = []
    open_tags: list[tuple[int, int, int]] = []
    for position, token in enumerate(tokens):
        if token.nesting == 1:
            parents.append(position)
        elif token.nesting == -1 and parents:
            parents.pop()
        elif token.type == "html_block":
            parent = parents[-1] if parents else -1
            token.meta = {"paired": set(), "opens": 0}
            for m in _TAG.finditer(token.content):
                if (m["name"] or "").lower() != "details":
                    continue
                if not m["close"]:
                    open_tags.append((parent, position, m.start()))
                elif partner := next((o for o in reversed(open_tags) if o[0] == parent), None):
                    del open_tags[open_tags.index(partner) :]
                    tokens[partner[1]].meta["paired"].add(partner[2])
                    tokens[partner[1]].meta["opens"] += 1
                    token.meta["paired"].add(m.start())
                    token.meta["opens"] -= 1


def _shape_inline(state) -> None:
    """After inline text is read: pair the harmless tags, so that one left open never reaches the site."""
    for token in state.tokens:
        if token.type != "inline" or "<" not in token.content:
            continue
        open_tags: list = []
        for child in token.children or ():
            if child.type != "html_inline":
                continue
            m = _TAG.match(child.content)
            name = m["name"].lower() if m and m["name"] else ""
            mark = name == "a" and "href" not in m["rest"].lower()  # `<a id="x"></a>` is a place to link to
            if (name not in _PAIRED or name in ("details", "summary")) and not mark:
                continue
            if not m["close"]:
                open_tags.append((name, child))
            elif open_tags and open_tags[-1][0] == name and open_tags[-1][1].level == child.level:
                open_tags.pop()[1].meta["safe"] = child.meta["safe"] = True


def _wikilink(state, silent: bool) -> bool:
    """`[[page#heading|label]]` as a link, where the caller's table knows it."""
    m = _WIKILINK.match(state.src, state.pos)
    if not m or f"[[{m[1]}]]" not in state.env["links"]:
        return False
    if not silent:
        where, bar, label = m[1].replace("\\|", "|").partition("|")
        state.push("link_open", "a", 1).attrs["href"] = f"[[{m[1]}]]"
        state.push("text", "", 0).content = (label if bar and label.strip() else where).strip()
        state.push("link_close", "a", -1)
    state.pos = m.end()
    return True


def _safe_tag(m: re.Match, *, paired: bool) -> str:
    name = (m["name"] or "").lower()
    if not name:
        return ""
    if name == "br":
        return "<br>"
    if not paired:
        return escaped(m[0])
    if name == "a":
        named = _NAMED.search(m["rest"])
        return f'<span id="{escaped(anchor_of(named[1]))}"></span>' if named else ""
    return f"<{m['close']}{name}>"


def _html_inline(self, tokens, index, options, env) -> str:
    content = tokens[index].content
    m = _TAG.fullmatch(content)
    return _safe_tag(m, paired=tokens[index].meta.get("safe", False)) if m else escaped(content)


def _html_block(self, tokens, index, options, env) -> str:
    content = tokens[index].content
    matches = list(_TAG.finditer(content))
    paired = set(tokens[index].meta.get("paired", ()))
    open_tags: list[re.Match] = []
    for m in matches:
        name = (m["name"] or "").lower()
        if name not in _PAIRED or name == "details":
            continue
        if not m["close"]:
            open_tags.append(m)
        elif open_tags and open_tags[-1]["name"].lower() == name:
            paired |= {open_tags.pop().start(), m.start()}
    made, at = [], 0
    for m in matches:
        made += (escaped(content[at : m.start()]), _safe_tag(m, paired=m.start() in paired))
        at = m.end()
    made.append(escaped(content[at:]))
    text = "".join(made)
    return text if "<details>" in text or "</details>" in text else f"<p>{text.strip()}</p>\n" if text.strip() else ""


def _link_open(self, tokens, index, options, env) -> str:
    to = env["links"].get(str(tokens[index].attrs.get("href", "")), Destination("broken", note="no such link"))
    opening, closing = link_tags(to)
    env["closing"].append(closing)
    env["linked"] += 1
    return opening


def link_tags(to: Destination) -> tuple[str, str]:
    """Opening and closing tag of a link."""
    note = f' title="{escaped(to.note)}"' if to.note else ""
    if to.kind == "page":
        return f'<a href="{escaped(to.url)}"{note}>', "</a>"
    if to.kind == "loose":
        return f'<a class="kb-loose" href="{escaped(to.url)}"{note}>', "</a>"
    if to.kind == "web":
        return f'<a href="{escaped(to.url)}" rel="noopener noreferrer nofollow"{note}>', "</a>"
    return f'<span class="kb-{"file" if to.kind == "file" else "broken"}"{note}>', "</span>"


def _link_close(self, tokens, index, options, env) -> str:
    env["linked"] -= 1
    return env["closing"].pop() if env["closing"] else ""


def _image(self, tokens, index, options, env) -> str:
    token = tokens[index]
    to = env["links"].get("!" + str(token.attrs.get("src", "")), Destination("broken", note="no such image"))
    alt = escaped(self.renderInlineAsText(token.children, options, env) or to.url)
    if to.kind == "image":
        return f'<img src="{escaped(to.url)}" alt="{alt}" loading="lazy">'
    # A picture on another host would tell that host who reads the page: it is shown as a link.
    opening, closing = ("<span>", "</span>") if env["linked"] else link_tags(to)
    return f"{opening}{alt or 'image'}{closing}"


def _text(self, tokens, index, options, env) -> str:
    content = tokens[index].content
    if "://" not in content or env["linked"]:
        return escaped(content)
    made, at = [], 0
    for m in WEB_ADDRESS.finditer(content):
        made += (
            escaped(content[at : m.start()]),
            f'<a href="{escaped(m[0])}" rel="noopener noreferrer nofollow">{escaped(m[0])}</a>',
        )
        at = m.end()
    return "".join(made) + escaped(content[at:])


def _code(self, tokens, index, options, env) -> str:
    token = tokens[index]
    language = (token.info.split() or [""])[0]
    coloured = _coloured(token.content, language) if language and len(token.content) <= _LONGEST_COLOURED else ""
    return f'<div class="highlight"><pre tabindex="0"><code>{coloured or escaped(token.content)}</code></pre></div>\n'


def _cell_open(self, tokens, index, options, env) -> str:
    # An alignment is a class: an inline style would need a hole in the content security policy.
    token = tokens[index]
    right = "right" in str(token.attrs.get("style", ""))
    return f'<{token.tag}{" class=kb-right" if right else ""}>'


def _coloured(code: str, language: str) -> str:
    lexer = _lexer(language.lower())
    if lexer is None or _UNPRINTABLE.search(code):
        return ""
    from pygments import highlight

    return highlight(code, lexer, _formatter())


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


def _callout_open(self, tokens, index, options, env) -> str:
    meta = tokens[index].meta
    title = _PARSER.renderInline(meta["title"], env)
    return f'<div class="admonition {meta["kind"]}"><p class="admonition-title">{title}</p>\n'


def _inner_heading_open(self, tokens, index, options, env) -> str:
    return f'<{tokens[index].tag} id="{escaped(anchor_of(str(tokens[index].attrs["id"])))}">{_also(tokens[index])}'


def _also(heading_open) -> str:
    named = heading_open.meta.get("also")
    return f'<span id="{escaped(anchor_of(named))}"></span>' if named else ""


def _made_parser():
    md = parser().enable("strikethrough")
    md.core.ruler.after("block", "kb_blocks", _shape_blocks)
    md.core.ruler.after("inline", "kb_inline", _shape_inline)
    md.inline.ruler.before("link", "kb_wikilink", _wikilink)
    rules = {
        "html_inline": _html_inline,
        "html_block": _html_block,
        "link_open": _link_open,
        "link_close": _link_close,
        "image": _image,
        "text": _text,
        "fence": _code,
        "code_block": _code,
        "heading_open": _inner_heading_open,
        "kb_callout_open": _callout_open,
        "kb_callout_close": lambda self, tokens, index, options, env: "</div>\n",
        "th_open": _cell_open,
        "td_open": _cell_open,
        "table_open": lambda self, tokens, index, options, env: '<div class="kb-scroll" tabindex="0"><table>\n',
        "table_close": lambda self, tokens, index, options, env: "</table></div>\n",
        "kb_unread": lambda self, tokens, index, options, env: escaped(tokens[index].content),
    }
    for name, rule in rules.items():
        md.add_render_rule(name, rule)
    return md


_PARSER = _made_parser()
