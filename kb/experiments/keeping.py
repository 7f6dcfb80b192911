"""What a run left that is worth keeping: built files by digest, dumps and profiles as copies, within limits. Refuses to follow links."""

import hashlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path

from kb.experiments.attempt import Attempt, keep, room_of
from kb.experiments.plan import Kept, Side

# A copy of a file may have this many bytes, and all of one side together so many; what is larger is known by its digest alone,
# and beyond the last figure not even that: reading a sparse file of terabytes takes days.
_COPY, _COPIES, _READ = 16 << 20, 64 << 20, 4 << 30
_MOST_FILES = 500


def files_below(home: Path, patterns: tuple[str, ...], inside: Path = Path(".")) -> list[Path]:
    """Plain files that the patterns name, from the folder of the target or from the top of the repository."""
    found = {f for p in patterns for top in (home / inside, home) for f in top.glob(p.lstrip("/"))}
    return sorted(
        f
        for f in found
        if f.is_file() and not f.is_symlink() and f.resolve().is_relative_to(home.resolve())
    )


def described(home: Path, file: Path, role: str, side: Side) -> Kept:
    """A file by name, digest and size. A name that is no text is shown with its bytes escaped."""
    name = os.fsencode(file.relative_to(home)).decode("utf-8", "backslashreplace")
    name = "".join(c if c.isprintable() else "?" for c in name)
    size = file.stat().st_size
    kind = "profile" if role == "dump" and "profile" in file.name.lower() else role
    return Kept(kind, side, name, _digest(file) if size <= _READ else "", size)


def _digest(file: Path) -> str:
    with open(file, "rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()[:16]


def keep_all(
    attempt: Attempt, home: Path, files: list[Path], role: str, side: Side
) -> tuple[Attempt, tuple[Kept, ...], tuple[str, ...]]:
    """The attempt with the files of one folder: copies of those that are not too large. Also what was left out, in words."""
    kept: list[Kept] = []
    left_out = (
        [f"{len(files) - _MOST_FILES} more files of the {side}, beyond {_MOST_FILES}"]
        if len(files) > _MOST_FILES
        else []
    )
    room = _COPIES
    for file in files[:_MOST_FILES]:
        item = described(home, file, role, side)
        if item.size <= min(room, _COPY):
            room -= item.size
            attempt, item = keep(attempt, item, file.read_bytes(), room=room_of(kept, side))
        elif not item.digest:
            left_out.append(f"{item.path} of the {side}: {item.size >> 30} GB are too much to read")
        kept.append(item)
    return attempt, tuple(kept), tuple(left_out)


def dumps_below(out: Path) -> list[Path]:
    """Plain files of the folder for dumps, sorted, found without following links."""
    return sorted(_walk(out))


def _walk(folder: Path) -> Iterator[Path]:
    for place, _, names in os.walk(folder):
        for name in names:
            file = Path(place, name)
            if stat.S_ISREG(file.lstat().st_mode):
                yield file
