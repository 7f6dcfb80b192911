"""The HTML that people write into markdown: a few harmless tags pass, bare and in pairs, so do line breaks
and places to link to; comments vanish, all else of it is shown as text. Refuses attributes.
"""

import html
import re
from collections import Counter
from collections.abc import Collection, Iterable

_TAG = re.compile(
    r"(?P<unseen><!--.*?(?:-->|\Z)|</a\s*>)|(?P<br><br\s*/?>)|<a\s+(?:id|name)\s*=\s*[\"']?(?P<id>[^\"'\s>]+)[\"']?\s*/?>"
    r"|<(?P<close>/?)(?P<name>sub|sup|kbd|b|i|em|strong|del|ins|mark|small|code|details|summary)\b[^>]*>",
    re.DOTALL | re.IGNORECASE,
)
_UNPRINTABLE = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")


def escaped(text: str) -> str:
    """Text as HTML, good in attributes too; control characters become visible."""
    return html.escape(_UNPRINTABLE.sub("\ufffd", text))


def anchor_of(raw: str) -> str:
    """Anchor of the site for an anchor of the wiki. Ids that start with `__` belong to the theme."""
    clean = re.sub(r"[^\w.:-]", "-", raw)
    return "h" + clean if clean.startswith("__") else clean


def paired_tags(texts: Iterable[str]) -> frozenset[str]:
    """Names of harmless tags of which the texts of one container close each that they open, and no other:
    one left open never reaches the site.
    """
    left_open: Counter[str] = Counter()
    stray = set()
    for tag in (tag for text in texts for tag in _TAG.finditer(text) if tag["name"]):
        name = tag["name"].lower()
        left_open[name] += -1 if tag["close"] else 1
        stray |= {name} if left_open[name] < 0 else set()
    return frozenset(name for name, number in left_open.items() if not number) - stray


def shown_html(text: str, paired: Collection[str] = ()) -> str:
    """HTML of a page as the site shows it, with tags of these names."""
    shown, at = [], 0
    for tag in _TAG.finditer(text):
        name = (tag["name"] or "").lower()
        if tag["id"]:
            mark = f'<span id="{escaped(anchor_of(tag["id"]))}"></span>'
        elif name in paired:
            mark = f"<{tag['close']}{name}>"
        else:
            mark = escaped(tag[0]) if name else "<br>" if tag["br"] else ""
        shown += (escaped(text[at : tag.start()]), mark)
        at = tag.end()
    return "".join([*shown, escaped(text[at:])])
