"""The HTML that people write into markdown: a few harmless tags, bare and in pairs, pass; all else of
it is shown as text. Refuses attributes.
"""

import html
import re

_TAG = re.compile(
    r"<!--.*?(?:-->|\Z)|<(?P<close>/?)(?P<name>[a-zA-Z][a-zA-Z0-9]*)\b(?P<rest>[^>]*)>", re.DOTALL
)
_NAMED = re.compile(r"""\s(?:id|name)\s*=\s*["']?([^"'\s>]+)""")
# What passes inside a paragraph; a block may hold these two as well.
_PHRASES = frozenset("sub sup kbd b i em strong del ins mark small code".split())
_FOLDS = frozenset(("details", "summary"))
_UNPRINTABLE = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")


def escaped(text: str) -> str:
    """Text as HTML, good in attributes too; control characters become visible."""
    return html.escape(_UNPRINTABLE.sub("\ufffd", text))


def anchor_of(raw: str) -> str:
    """Anchor of the site for an anchor of the wiki. Ids that start with `__` belong to the theme."""
    clean = re.sub(r"[^\w.:-]", "-", raw)
    return "h" + clean if clean.startswith("__") else clean


def pair_tags(tokens: list) -> None:
    """Note in every token of HTML which of its tags have a partner in the same container: only those
    pass, so that one left open never reaches the site. Across blocks only `<details>` has partners.
    """
    containers: list[list] = [[]]
    for token in tokens:
        if token.nesting == 1:
            containers.append([])
        elif token.nesting == -1 and len(containers) > 1:
            containers.pop()
        elif token.type in ("html_block", "html_inline"):
            token.meta = {"paired": set(), "opens": 0}
            for tag in _TAG.finditer(token.content):
                _pair(containers[-1], token, tag)


def _pair(open_tags: list, token, tag: re.Match) -> None:
    name = (tag["name"] or "").lower()
    in_block = token.type == "html_block"
    is_mark = (
        name == "a" and "href" not in tag["rest"].lower()
    )  # `<a id="x"></a>`: a place to link to
    if (
        name not in _PHRASES
        and not (name in _FOLDS and in_block)
        and not (is_mark and not in_block)
    ):
        return
    if not tag["close"]:
        open_tags.append((name, token, tag.start()))
        return
    across = name == "details" or not in_block
    fitting = [n for n, o in enumerate(open_tags) if o[0] == name and (across or o[1] is token)]
    if fitting:
        _, partner, start = open_tags[fitting[-1]]
        del open_tags[fitting[-1] :]
        partner.meta["paired"].add(start)
        token.meta["paired"].add(tag.start())
        if name == "details":
            partner.meta["opens"] += 1
            token.meta["opens"] -= 1


def shown_html(token) -> str:
    """A token of HTML with its paired tags as tags and everything else as text."""
    text, paired = token.content, token.meta.get("paired", ())
    shown, at = [], 0
    for tag in _TAG.finditer(text):
        shown += (escaped(text[at : tag.start()]), _shown_tag(tag, paired=tag.start() in paired))
        at = tag.end()
    return "".join([*shown, escaped(text[at:])])


def _shown_tag(tag: re.Match, *, paired: bool) -> str:
    name = (tag["name"] or "").lower()
    if not name:
        return ""  # A comment.
    if name == "br":
        return "<br>"
    if not paired:
        return escaped(tag[0])
    if name == "a":
        named = _NAMED.search(tag["rest"])
        return f'<span id="{escaped(anchor_of(named[1]))}"></span>' if named else ""
    return f"<{tag['close']}{name}>"
