"""One wiki page as a file of site/docs: its text, its badges, who cites it. Refuses to decide where anything stands: that is in the view."""

import json
import os
from dataclasses import dataclass

from kb.page import LARGEST, text_of
from kb.site.html import WEB_ADDRESS, Destination, anchor_of, block, escaped, heading, markdown_of, parts_of
from kb.store import digest_of


@dataclass(frozen=True, slots=True)
class Ref:
    """A link to another page of the site, ready to show."""

    url: str
    title: str
    type: str = ""


@dataclass(frozen=True, slots=True)
class View:
    """All that the rendering of one page depends on besides its own text. `body_line` and `slugs` are as the page was read."""

    path: str
    digest: str
    place: str
    title: str
    type: str
    body_line: int
    slugs: tuple[str, ...]
    links: tuple[tuple[str, Destination], ...]
    crumbs: tuple[Ref, ...] = ()
    badges: tuple[tuple[str, str], ...] = ()
    tags: tuple[Ref, ...] = ()
    fields: tuple[tuple[str, str], ...] = ()
    symbols: tuple[str, ...] = ()
    cited_by: tuple[Ref, ...] = ()
    box: str = ""
    source_url: str = ""
    searched: bool = True
    in_navigation: bool = True


def key_of(view: View, code: str) -> str:
    """Digest of everything the rendered file follows from; `code` is the digest of the renderer itself."""
    return digest_of(f"{code}\n{view!r}")


def front(title: str, *, searched: bool = True, hidden: tuple[str, ...] = ()) -> str:
    """Front matter of a rendered file; `hidden` names what of the theme's frame is left out (navigation, toc)."""
    lines = [f"title: {json.dumps(plain_title(title), ensure_ascii=False)}"]
    lines += [] if searched else ["search: {exclude: true}"]
    lines += [f"hide: [{', '.join(hidden)}]"] if hidden else []
    return "\n".join(["---", *lines, "---"])


def plain_title(text: str) -> str:
    """A title that no template can be broken out of: themes print titles unescaped, in text and in attributes."""
    text = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return text.translate(_TITLE_SIGNS)[:300] or "untitled"


_TITLE_SIGNS = str.maketrans({"<": "‹", ">": "›", "&": "&amp;", '"': "”", "'": "’", "`": "’", "{": "(", "}": ")"})


def rendered(root: str, view: View) -> str:
    """Text of the page's file in site/docs."""
    try:
        with open(os.path.join(root, view.path), "rb") as file:
            text = text_of(file.read(LARGEST + 1)[:LARGEST])
    except OSError as error:
        text = f"This page could not be read: {error.strerror or error}."
    body = text.split("\n", view.body_line - 1)[-1] if view.body_line > 1 else text
    if "\0" in text:
        body = "This file is no text and is not shown."
    parts = parts_of(body, slugs=view.slugs, links=dict(view.links))
    first_heading = next((n for n, p in enumerate(parts) if p.level == 1 and p.html.strip()), None)
    pieces = [front(view.title, searched=view.searched, hidden=() if view.in_navigation else ("navigation",))]
    if first_heading == 0:
        pieces.extend(markdown_of(parts[:1]))
        parts = parts[1:]
    elif first_heading is None:
        pieces.append(heading(1, view.title, "page-title"))
    pieces += [block(_crumbs(view.crumbs)), block(_head(view))]
    pieces.append(view.box)
    pieces.extend(markdown_of(parts))
    pieces.extend(_tail(view))
    return "\n\n".join(p for p in pieces if p) + "\n"


def _crumbs(crumbs: tuple[Ref, ...]) -> str:
    links = "".join(f'<li><a href="{escaped(c.url)}">{escaped(c.title)}</a></li>' for c in crumbs)
    return (
        f'<div class="kb-crumbs" data-search-exclude><nav aria-label="Where this page stands"><ol>{links}</ol></nav></div>'
        if links
        else ""
    )


def badge(kind: str, text: str) -> str:
    """A small label; `kind` is its css class, such as a verdict."""
    return f'<span class="kb-badge kb-{escaped(kind)}">{escaped(text)}</span>'


def _head(view: View) -> str:
    badges = "".join(badge(kind, text) for kind, text in view.badges)
    tags = "".join(f'<a class="kb-tag" href="{escaped(t.url)}">{escaped(t.title)}</a>' for t in view.tags)
    return f'<div class="kb-head" data-search-exclude>{badges}{tags}</div>' if badges or tags else ""


def _tail(view: View):
    if view.cited_by:
        yield heading(2, "Cited by", "kb-cited-by", searched=False)
        yield block(_cited_by(view.cited_by))
    rows = "".join(f"<tr><th>{escaped(name)}</th><td>{_value(value)}</td></tr>" for name, value in view.fields)
    symbols = "".join(f'<code id="{escaped(anchor_of(s))}">{escaped(s)}</code> ' for s in view.symbols)
    rows += f"<tr><th>symbols</th><td>{symbols}</td></tr>" if symbols else ""
    where = (
        f'<a href="{escaped(view.source_url)}"><code>{escaped(view.path)}</code></a>'
        if view.source_url
        else f"<code>{escaped(view.path)}</code>"
    )
    table = (
        f'<details><summary>Front matter</summary><table class="kb-fields"><tbody>{rows}</tbody></table></details>'
        if rows
        else ""
    )
    yield block(f'<div class="kb-source" data-search-exclude><p>Source: {where}</p>{table}</div>')


def _value(text: str) -> str:
    """A front-matter value: a link where it is a web address and nothing else, such as the origin of a source."""
    if not WEB_ADDRESS.fullmatch(text):
        return escaped(text)
    return f'<a href="{escaped(text)}" rel="noopener noreferrer nofollow">{escaped(text)}</a>'


def _cited_by(refs: tuple[Ref, ...]) -> str:
    groups: dict[str, list[Ref]] = {}
    for ref in refs:
        groups.setdefault(ref.type, []).append(ref)
    made = []
    for type_name, members in groups.items():
        items = "".join(f'<li><a href="{escaped(r.url)}">{escaped(r.title)}</a></li>' for r in members)
        opened = "" if len(members) > 12 else " open"
        made.append(
            f"<details{opened}><summary>{escaped(type_name)} <small>{len(members)}</small></summary><ul>{items}</ul></details>"
        )
    return f'<div class="kb-backlinks" data-search-exclude>{"".join(made)}</div>'
