"""Where a link leads, by its letters alone: from a page's folder, or from the root that `/x` means."""

import posixpath
import re
from urllib.parse import unquote

_SCHEME = re.compile(r"^[a-zA-Z][a-zA-Z0-9+.\-]*:")


def target_of(href: str, *, folder: str, link_root: str = "") -> tuple[str, str] | None:
    """(path relative to the root, anchor) of a link as written in a page of `folder`; None for what leads out of the files.

    The path of a link that climbs out of the root starts with `..`. `?query` is dropped and %-escapes are decoded.
    """
    if href.startswith("//") or _SCHEME.match(href):
        return None
    rest, _, anchor = href.partition("#")
    rest = unquote(rest.partition("?")[0])
    if not rest:
        return "", unquote(anchor)
    path = (
        posixpath.join(link_root, rest.lstrip("/"))
        if rest.startswith("/")
        else posixpath.join(folder, rest)
    )
    return posixpath.normpath(path), unquote(anchor)


def indexes_of(path: str, link_root: str) -> tuple[str, ...]:
    """The pages that a path may stand for: itself, the index of a folder, and what a site made of pages calls `/x/`."""
    return (path, f"{path}/index.md", f"{path}/README.md", *([f"{path}.md"] if link_root else []))
