"""The HTML that people write into markdown: line breaks and places to link to pass, comments vanish, all
else of it is shown as text. Refuses attributes.
"""

import html
import re

_TAG = re.compile(
    r"(?P<unseen><!--.*?(?:-->|\Z)|</a\s*>)|(?P<br><br\s*/?>)|<a\s+(?:id|name)\s*=\s*[\"']?(?P<id>[^\"'\s>]+)[\"']?\s*/?>",
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


def shown_html(text: str) -> str:
    """HTML of a page as the site shows it."""
    shown, at = [], 0
    for tag in _TAG.finditer(text):
        mark = f'<span id="{escaped(anchor_of(tag["id"]))}"></span>' if tag["id"] else ""
        shown += (escaped(text[at : tag.start()]), "<br>" if tag["br"] else mark)
        at = tag.end()
    return "".join([*shown, escaped(text[at:])])
