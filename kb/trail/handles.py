"""Short names of pages that stay good while the page stays where it is: `v035~k3`. Refuses to keep a list: the path alone gives the name."""

import re
from collections.abc import Iterable
from functools import lru_cache

from kb import KbError, regex
from kb.schema import records_run, type_of_folder
from kb.store import digest_of

_RUN = regex(r"(?:^|[-_])((?:v|exp|run|e|trial|iter)[-_]?\d{1,4}[a-z]?)(?=[-_.+]|$)", re.IGNORECASE)
# The numbers of runs as pages name them, alone or from one to another, in small letters: the first of them is found fast.
_NAMED = regex(
    r"[ver](?<![\w.].)(?:(?<=v)|(?<=e)xps?\.? ?|(?<=e)xperiments? |(?<=r)uns? )0*(\d{1,4})[a-z]?(?:\s?(?:[-–—]|to)\s?(?:v|exp ?)?0*(\d{1,4}))?(?![\d.]*\w)"
)
_DAY = regex(r"^\d{4}-\d{2}-\d{2}[-_]?")
_LONGEST, _CHECK = 16, 2
_HANDLE = regex(r"(?:[0-9a-f]{4,64}:)?(\S+)~([0-9a-z]{2,})$")
_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"


def stem_of(path: str) -> str:
    """Name of a page: of its file, of the folder of which it is the record, of its heading where a page holds many."""
    stem = path.rsplit("/", 1)[-1].rpartition("#")[2].removesuffix(".md")
    *_, folder, _ = ["", *path.split("/")]
    # Results may lie beside much else, and then their folder says what kind of pages it holds.
    named = folder and records_run(folder, stem, reports=type_of_folder(folder) is None)
    return folder if named and folder not in ("wiki", "docs") else stem


def label_of(path: str) -> str:
    """What people call a page: a run by its number (`v035`, `exp28b`), any other by the head of its name: words, dots and dashes."""
    # A name of a file may hold what a shell would run.
    words = "".join(c if c.isalnum() or c in "_.-" else " " for c in stem_of(path)).split()
    stem = "-".join(words).strip("-") or "page"
    run = _RUN.search(stem)
    if run:
        return run[1].lower()
    stem = _DAY.sub("", stem) or stem
    if len(stem) <= _LONGEST:
        return stem
    head = stem[:_LONGEST]
    end = max(head.rfind("-"), head.rfind("_"))
    return head[:end] if end > 0 else head


@lru_cache(maxsize=4096)
def numbers_named(text: str) -> frozenset[int]:
    """Numbers of the runs that a text names."""
    return frozenset(int(g) for m in _NAMED.finditer(text.lower()) for g in m.groups() if g)


@lru_cache(maxsize=1 << 14)
def handle(path: str) -> str:
    """Handle of a page: its label and two characters of its path's digest, by which `kb open` knows it among its namesakes."""
    return f"{label_of(path)}~{_check(path)[:_CHECK]}"


def _check(path: str) -> str:
    number = int(digest_of(path)[:12], 16)
    digits = []
    while number:
        number, digit = divmod(number, 36)
        digits.append(_DIGITS[digit])
    return "".join(digits)


def is_handle(text: str) -> bool:
    return _HANDLE.fullmatch(text) is not None


def path_of(name: str, paths: Iterable[str]) -> str:
    """The page that a handle (`v035~k3`, or `DIGEST:v035~k3` with the digest of its slice) names. Raises KbError for none or several."""
    named = _HANDLE.fullmatch(name)
    own = [p for p in paths if named and label_of(p) == named[1] and _check(p).startswith(named[2])]
    if len(own) == 1:
        return own[0]
    if own:
        raise KbError(
            f"'{name}' names {len(own)} pages: {', '.join(sorted(own)[:5])}; open one by its path"
        )
    raise KbError(
        f"no page has the handle '{name}': it moved since the slice was made; `kb search` finds it by its title"
    )
