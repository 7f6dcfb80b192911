"""Slices that were printed, so that a further one may leave out what they told. Refuses to keep many: each can be loaded again."""

import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from kb import KbError, store
from kb.slices.request import Request
from kb.slices.slice import Slice

# A session loads some dozens; older ones are forgotten, many at once.
_MOST, _LEFT = 48, 32


@dataclass(frozen=True, slots=True)
class Printed:
    """What was asked, and what the slice told, that which it went beyond included."""

    request: Request
    texts: tuple[str, ...]


def keep(layout: store.Layout, slice: Slice, request: Request) -> None:
    """Note what a slice told, and what the slice told that it goes beyond. Where nothing can be written (a disk that is read-only or full,
    another user's base) the slice is as good; only `--beyond` will not find it.
    """
    folder = store.own_state(layout, "slices")
    known = printed_at(layout, request.beyond).texts if request.beyond else ()
    texts = (*known, *(item.text for part in slice.parts for item in part.items))
    row = store.row_of(Printed(request, texts))
    # Of several that note at once, each may find that another one removed what it wanted to.
    with suppress(KbError, FileNotFoundError):
        store.write(folder / slice.digest, row, durable=False)
        names = os.listdir(folder)
        kept = (f for n in names if (f := folder / n).is_file() and not f.is_symlink())
        for file in sorted(kept, key=_age)[:-_LEFT] if len(names) > _MOST else ():
            store.remove(file)


def _age(file: Path) -> tuple[int, str]:
    return file.stat().st_mtime_ns, file.name


def newest_target(layout: store.Layout) -> str:
    """What the digest of the slice printed last begins with, which tells its target; empty where none is on file."""
    files = (f for f in store.own_state(layout, "slices").glob("*") if f.is_file())
    return max(files, key=_age, default=Path()).name[:4]


def printed_at(layout: store.Layout, digest: str) -> Printed:
    """The slice of a digest, or of the head of one. Raises KbError for none or several."""
    folder = store.own_state(layout, "slices")
    files = (f for f in folder.glob("*") if f.is_file() and not f.is_symlink())
    same = sorted(f for f in files if f.name.startswith(digest))
    if len(same) != 1:
        raise KbError(
            f"--beyond {digest}: {'no slice' if not same else f'{len(same)} slices'} of this digest on file; "
            "take the one that the head of an earlier slice prints, or load without it"
        )
    try:
        return store.value_of(store.bytes_of(same[0]), Printed)
    except (OSError, ValueError) as error:
        raise KbError(f"{same[0]}: is no slice that kb noted; remove it and load again") from error
