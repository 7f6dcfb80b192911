"""Files written whole or not at all: beside, fsync, rename; trees made equal to what is wanted; locks between writers."""

import contextlib
import fcntl
import os
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from kb import KbError
from kb.store.layout import Layout
from kb.store.rows import Diff, diff, digest_of

BESIDE = ".kb-tmp"


def write(path: Path, data: bytes | str, *, durable: bool = True) -> None:
    """Replace a file whole: write beside, fsync, rename. A reader sees the old bytes or the new ones, never half.

    `durable=False` leaves out the fsync, for trees that are rebuilt at will. Raises KbError where the disk refuses.
    """
    raw = data.encode("utf-8") if isinstance(data, str) else data
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        mode = path.stat().st_mode & 0o7777 if path.exists() else 0o666 & ~_umask()
        with _beside(path, raw, mode=mode, durable=durable) as beside:
            os.replace(beside, path)
        if durable:
            _sync_folder(path.parent)
    except OSError as error:
        raise KbError(f"{path}: cannot write: {error.strerror or error}; nothing was changed there") from error


@contextlib.contextmanager
def _beside(path: Path, raw: bytes, *, mode: int, durable: bool) -> Iterator[str]:
    """A file beside `path` that holds these bytes, locked for as long as its writer lives; gone afterwards, unless it was renamed."""
    handle, name = _taken(path)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(raw)
            file.flush()
            os.fchmod(file.fileno(), mode)
            if durable:
                os.fsync(file.fileno())
            yield name
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise


def _taken(path: Path) -> tuple[int, str]:
    """Handle and name of a fresh, locked file beside `path`."""
    while True:
        handle, name = tempfile.mkstemp(prefix=f".{path.name[:40]}.", suffix=BESIDE, dir=path.parent)
        with contextlib.suppress(OSError):  # Not every network disk has locks; there nothing is ever swept either.
            fcntl.flock(handle, fcntl.LOCK_EX)
        # Before it was locked, a sweep may have taken it for one that was left behind.
        if os.fstat(handle).st_nlink:
            return handle, name
        os.close(handle)


def sweep(layout: Layout, left: tuple[str, ...]) -> None:
    """Remove files that writers began beside a page and were killed over: those of a `Scan` that no living writer holds."""
    for path in left:
        try:
            handle = os.open(layout.root / path, os.O_RDWR | os.O_NOFOLLOW)
        except OSError:
            continue  # It was renamed, or is not ours to remove.
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.unlink(layout.root / path)
        except OSError:
            continue  # Its writer lives, or the disk is read-only or has no locks.
        finally:
            os.close(handle)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def create(path: Path, data: bytes | str) -> None:
    """Write a file that must not exist yet, whole and atomically. Raises FileExistsError if another writer was first."""
    raw = data.encode("utf-8") if isinstance(data, str) else data
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with _beside(path, raw, mode=0o666 & ~_umask(), durable=True) as beside:
            os.link(beside, path)
            os.unlink(beside)
        _sync_folder(path.parent)
    except FileExistsError:
        raise
    except OSError as error:
        raise KbError(f"{path}: cannot write: {error.strerror or error}; nothing was changed there") from error


def remove(path: Path) -> None:
    """Remove one file that kb wrote; a file already gone is fine."""
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise KbError(f"{path}: cannot remove: {error.strerror or error}") from error


def write_tree(folder: Path, wanted: Mapping[str, bytes], *, suffixes: tuple[str, ...]) -> Diff:
    """Make the files below `folder` that end in one of `suffixes` equal to `wanted` (relative path -> bytes).

    Writes only what differs, removes what is no longer wanted and what a killed writer left, leaves other files alone.
    The caller holds a lock that keeps other writers out of `folder`.
    """
    have = {}
    if folder.is_dir():
        for file in sorted(folder.rglob("*")):
            if file.name.endswith(BESIDE) and not file.is_dir():
                remove(file)
            elif file.name.endswith(suffixes) and file.is_file():
                have[file.relative_to(folder).as_posix()] = digest_of(file.read_bytes())
    change = diff({name: digest_of(data) for name, data in wanted.items()}, have)
    for name in (*change.added, *change.changed):
        write(folder / name, wanted[name])
    for name in change.removed:
        remove(folder / name)
    return change


@contextlib.contextmanager
def lock(layout: Layout, name: str, *, wait_s: float = 120) -> Iterator[None]:
    """Hold one named lock of the knowledge base; locks die with their process. Raises KbError after `wait_s` seconds."""
    import filelock

    held = filelock.FileLock(layout.state / f"{name}.lock", timeout=wait_s)
    try:
        layout.state.mkdir(exist_ok=True)
        held.acquire()
    except filelock.Timeout as error:
        raise KbError(f"{layout.state / name}.lock: another kb has held it for {wait_s:.0f} s; wait for it or end it") from error
    except OSError as error:
        raise KbError(f"{layout.state}: cannot take the lock '{name}': {error.strerror or error}") from error
    # What goes wrong while the lock is held is not the lock's fault, and is told by whoever meets it.
    try:
        yield
    finally:
        held.release()
