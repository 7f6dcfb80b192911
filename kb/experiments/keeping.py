"""What a run left that is worth keeping: built files by digest, dumps and profiles as copies, within limits. Refuses to follow links."""

import os
from pathlib import Path

from kb import store
from kb.experiments.attempt import Attempt, keep
from kb.experiments.plan import KeptFile, Side
from kb.experiments.worktree import digest_within, globbed

# A copy of a file may have this many bytes, and all of one side together so many; what is larger is known by its digest alone.
_COPY, _COPIES = 16 << 20, 64 << 20
_MOST_FILES = 500


def files_below(home: Path, patterns: tuple[str, ...], inside: Path = Path(".")) -> list[Path]:
    """Plain files that the patterns name, from the folder of the target or from the top of the repository."""
    tops = {home / inside, home}
    matching = {f for p in patterns for top in tops for f in globbed(top, p)}
    real = home.resolve()
    plain = (f for f in matching if f.is_file() and not f.is_symlink())
    return sorted(f for f in plain if f.resolve().is_relative_to(real))


def described(home: Path, file: Path, role: str, side: Side) -> KeptFile:
    """A file by name, digest and size. A name that is no text is shown with its bytes escaped."""
    name = os.fsencode(file.relative_to(home)).decode("utf-8", "backslashreplace")
    name = "".join(c if c.isprintable() else "?" for c in name)
    kind = "profile" if role == "dump" and "profile" in file.name.lower() else role
    return KeptFile(kind, side, name, digest_within(file), file.stat().st_size)


def keep_all(
    attempt: Attempt, home: Path, files: list[Path], role: str, side: Side
) -> tuple[Attempt, tuple[KeptFile, ...], tuple[str, ...]]:
    """The attempt with the files of one folder: copies of those that are not too large. Also what was left out, in words."""
    kept: list[KeptFile] = []
    beyond = len(files) - _MOST_FILES
    left_out = [f"{beyond} more files of the {side}, beyond {_MOST_FILES}"] if beyond > 0 else []
    room = _COPIES
    for file in files[:_MOST_FILES]:
        item = described(home, file, role, side)
        if item.digest and item.size <= min(room, _COPY):
            room -= item.size
            attempt, item = keep(attempt, item, store.bytes_of(file), kept=kept)
        elif not item.digest:
            left_out.append(f"{item.path} of the {side}: {item.size >> 20} MB that cannot be read")
        kept.append(item)
    return attempt, tuple(kept), tuple(left_out)
