"""The state folder `.kb/`: made by kb on this disk, or set aside unread.

A clone, an archive or a copy may carry tables, captures and confirmations that somebody made up, so none of them counts.
"""

import contextlib
import fcntl
import os
from collections.abc import Iterator
from itertools import count
from pathlib import Path

from kb import KbError

_MARK = "made-here"
_DATED = ".gitignore"


def confirmed_in(state: Path) -> str | None:
    """What the mark of a state folder confirms (empty for nothing); None where kb did not make the folder on this disk.

    The mark says when the file beside it was changed last by the disk's own account (ctime), which no program can set and no copy keeps;
    in milliseconds, for not every disk keeps more.
    """
    moment, _, confirmed = _text(state / _MARK).partition("\n")
    return confirmed if moment and moment == _moment(state) else None


def _moment(state: Path) -> str:
    try:
        return str(os.lstat(state / _DATED).st_ctime_ns // 1_000_000)
    except OSError:
        return ""


def _text(file: Path) -> str:
    """The head of a small file, whatever stands there in its place."""
    flags = os.O_NOFOLLOW | os.O_NONBLOCK
    with contextlib.suppress(OSError):
        with open(file, "rb", 0, opener=lambda at, how: os.open(at, how | flags)) as data:
            return (data.read(8192) or b"").decode("utf-8", "surrogateescape")
    return ""


def make_state(state: Path, *, confirmed: str = "") -> None:
    """Make a state folder with its mark where there is none; `confirmed` is what the mark says beside that. Raises OSError."""
    if not confirmed and confirmed_in(state) is not None:
        return
    state.mkdir(exist_ok=True)
    with _alone(state.parent):
        if not os.path.lexists(state / _DATED):
            (state / _DATED).write_text("*\n")
        beside = state / f"{_MARK}.new"
        beside.unlink(missing_ok=True)
        beside.write_bytes(f"{_moment(state)}\n{confirmed}".encode("utf-8", "surrogateescape"))
        beside.replace(state / _MARK)


def set_aside(state: Path) -> Path | None:
    """Move a state folder that kb did not make on this disk out of the way, and say where to; None where it may stay.

    Raises KbError for a link, and where it can be neither trusted nor moved.
    """
    if state.is_symlink():
        raise KbError(
            f"{state}: is a link to elsewhere; kb keeps its state here only: remove the link and build again"
        )
    # What a disk holds that nobody can write to now was put there by whoever mounted it.
    if not _is_strange(state) or os.statvfs(state.parent).f_flag & os.ST_RDONLY:
        return None
    with _alone(state.parent):
        try:
            return moved_away(state) if _is_strange(state) else None
        except OSError as error:
            if state.stat().st_uid != os.geteuid():
                return None  # Nothing that this user unpacked belongs to another one.
            raise KbError(
                f"{state}: was not made here and cannot be set aside: {error.strerror}; remove it"
            ) from error


def _is_strange(state: Path) -> bool:
    if not state.is_dir():
        return os.path.lexists(state)
    return confirmed_in(state) is None and not {_DATED}.issuperset(os.listdir(state))


def moved_away(path: Path) -> Path:
    """Rename what stands where kb keeps something of its own, and say to what."""
    names = (f"{path.name}-foreign{n or ''}" for n in count())
    place = next(
        path.with_name(name) for name in names if not os.path.lexists(path.with_name(name))
    )
    path.rename(place)
    return place


@contextlib.contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """One process at a time, where the disk has locks: of two that start at once none moves what the other one made."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        with contextlib.suppress(OSError):
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
