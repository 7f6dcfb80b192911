"""An offline mirror of addresses in a folder, for networks that are closed. Refuses what leads out of the folder."""

from pathlib import Path
from urllib.parse import urlsplit

from kb.research.replies import HttpReply, Unavailable, shown
from kb.store import bytes_of

_TYPES = {
    ".pdf": "application/pdf",
    ".json": "application/json",
    ".xml": "application/atom+xml",
    ".md": "text/markdown",
    ".txt": "text/plain",
    ".gz": "application/gzip",
}


def mirrored(folder: Path, url: str) -> HttpReply:
    """A page of an offline mirror, as `wget --mirror` lays it out: `DIR/host/path`, with `?query`
    in the file's name.
    """
    parts = urlsplit(url)
    plain = f"{parts.hostname}{parts.path}".strip("/") + (f"?{parts.query}" if parts.query else "")
    for name in (plain, f"{plain}.html", f"{plain}/index.html"):
        file = folder / name
        if file.is_file() and file.resolve().is_relative_to(folder.resolve()):
            kind = _TYPES.get(file.suffix) or (
                "application/atom+xml" if "/api/query" in plain else "text/html"
            )
            return HttpReply(url, 200, {"content-type": kind}, bytes_of(file, declared=True))
    raise Unavailable(
        f"{shown(url)}: not in the mirror {folder}; `wget --mirror` brings it there", 404
    )
