"""Files written whole or not at all: beside, fsync, rename; a tree made equal to what is wanted; locks between writers.

Refuses to write or remove what a link leads out of its knowledge base, and what in a tree of its own kb did not write.
"""

import contextlib
import errno
import fcntl
import hashlib
import os
import stat
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import BinaryIO

from kb import KbError
from kb.store.layout import CONFIG_NAME, STATE_NAME, Config, Layout, is_inner, make_state
from kb.store.rows import Diff, diff, digest_of

BESIDE = ".kb-tmp"
# No page and no index has so many bytes: a sparse file of terabytes costs who ships it nothing.
LARGEST = 256 << 20
# Names and digests of the files of a tree that kb wrote, one a line: what a merge left in it beside them is passed over.
MANIFEST = "MANIFEST"


def _checked(path: Path, *, declared: bool = False) -> Path | None:
    """The knowledge base below whose `kb.toml` a path to write stands; it goes not through `..`, and inside of that.

    Below none it is written only where the command line named it (`declared`).
    """
    if ".." in path.parts or "\0" in os.fspath(path):
        raise KbError(f"{os.fspath(path)[:300]!r}: no plain path; nothing was written")
    home = _home_of(path)
    if not declared and (home is None or not Layout(home, Config()).holds(path)):
        raise KbError(
            f"{path}: leads out of the knowledge base, and no command named it; nothing was written"
        )
    if home is not None and path.is_relative_to(home / STATE_NAME):
        with contextlib.suppress(OSError):
            make_state(home / STATE_NAME)
    return home


def _home_of(path: Path) -> Path | None:
    """The nearest folder above a file that holds a `kb.toml`."""
    folders = path.absolute().parents
    return next((folder for folder in folders if (folder / CONFIG_NAME).is_file()), None)


@contextlib.contextmanager
def opened(
    file: Path, *, most: int = LARGEST, layout: Layout | None = None, declared: bool = False
) -> Iterator[BinaryIO]:
    """A plain file of at most `most` bytes, checked as it was opened: the one reader of files that others may have put there.

    Raises OSError for a pipe, a device or a folder, for one that is larger, and where a link leads out of its
    knowledge base, unless the command line `declared` it.
    """
    name = os.fspath(file)
    try:
        data = open(file, "rb", opener=lambda at, flags: os.open(at, flags | os.O_NONBLOCK))
    except ValueError as error:  # NUL, or half of a pair of surrogates.
        raise OSError(errno.EINVAL, "no name of a file", repr(name)) from error
    with data:
        about = os.fstat(data.fileno())
        if not stat.S_ISREG(about.st_mode):
            raise OSError(errno.EINVAL, "no plain file", name)
        if about.st_size > most:
            raise OSError(errno.EFBIG, f"too large; kb reads {most >> 20} MB at most", name)
        place = place_of(data.fileno()) or os.path.realpath(file)
        if place != name and not declared:
            home = _home_of(file)
            layout = layout or (Layout(home, Config()) if home else None)
            if layout and not layout.holds(Path(place)):
                raise OSError(errno.EXDEV, "a link leads out of this knowledge base", name)
        yield data


def bytes_of(file: Path, *, most: int = LARGEST, declared: bool = False) -> bytes:
    """What a file holds, as `opened` reads it."""
    with opened(file, most=most, declared=declared) as data:
        return data.read()


def file_digest(file: Path, *, most: int = LARGEST) -> str:
    """The digest of a file of any size up to `most`, which is never in memory as a whole."""
    with opened(file, most=most) as data:
        return hashlib.file_digest(data, "sha256").hexdigest()[:16]


@contextlib.contextmanager
def _folder_of(path: Path, *, declared: bool = False) -> Iterator[int]:
    """A handle of the folder of a file to write, checked as it was opened: a link that takes the folder's place meanwhile leads nowhere."""
    home = _checked(path, declared=declared)
    handle = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        place = place_of(handle)
        if (
            place
            and not declared
            and home
            and not Layout(home, Config()).holds(Path(place, path.name))
        ):
            raise KbError(f"{path}: its folder became a link that leads out; nothing was written")
        yield handle
    finally:
        os.close(handle)


def place_of(handle: int) -> str | None:
    """Where an open file or folder stands; None where the system does not say."""
    with contextlib.suppress(OSError):
        if hasattr(fcntl, "F_GETPATH"):
            name = fcntl.fcntl(handle, fcntl.F_GETPATH, bytes(1024))
            return os.fsdecode(name.rstrip(b"\0"))
        return os.readlink(f"/proc/self/fd/{handle}")
    return None


def write(path: Path, data: bytes | str, *, durable: bool = True, declared: bool = False) -> None:
    """Replace a file whole: write beside, fsync, rename. A reader sees the old bytes or the new ones, never half.

    `durable=False` leaves out the fsync, for trees that are rebuilt at will. Raises KbError where the disk refuses, and where the file's
    folder is not inside a knowledge base, unless the command line `declared` it. What a page or a setting names comes through `Layout.at`.
    """
    _put(path, data, durable=durable, declared=declared, fresh=False)


def create(path: Path, data: bytes | str, *, declared: bool = False) -> None:
    """Write a file that must not exist yet, whole and atomically. Raises FileExistsError if another writer was first."""
    _put(path, data, durable=True, declared=declared, fresh=True)


def _put(path: Path, data: bytes | str, *, durable: bool, declared: bool, fresh: bool) -> None:
    raw = data.encode("utf-8") if isinstance(data, str) else data
    _checked(path, declared=declared)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        kept = not fresh and path.exists()
        mode = path.stat().st_mode & 0o7777 if kept else 0o666 & ~_umask()
        with (
            _folder_of(path, declared=declared) as folder,
            _beside(folder, path.name, raw, mode=mode, durable=durable) as beside,
        ):
            if fresh:
                os.link(beside, path.name, src_dir_fd=folder, dst_dir_fd=folder)
                os.unlink(beside, dir_fd=folder)
            else:
                os.replace(beside, path.name, src_dir_fd=folder, dst_dir_fd=folder)
            if durable:
                os.fsync(folder)
    except OSError as error:
        if fresh and isinstance(error, FileExistsError):
            raise
        raise KbError(
            f"{path}: cannot write: {error.strerror or error}; nothing was changed there"
        ) from error


def remove(path: Path) -> None:
    """Remove one file that kb wrote; a file already gone is fine."""
    try:
        with _folder_of(path) as folder:
            os.unlink(path.name, dir_fd=folder)
    except FileNotFoundError:
        return
    except OSError as error:
        raise KbError(f"{path}: cannot remove: {error.strerror or error}") from error


@contextlib.contextmanager
def _beside(folder: int, name: str, raw: bytes, *, mode: int, durable: bool) -> Iterator[str]:
    """A file beside one of this name that holds these bytes, locked for as long as its writer lives; gone afterwards, unless it was renamed."""
    handle, name = _fresh_file(folder, name)
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
            os.unlink(name, dir_fd=folder)
        raise


def _fresh_file(folder: int, beside: str) -> tuple[int, str]:
    """Handle and name of a fresh, locked file beside another."""
    while True:
        name = f".{beside[:40]}.{os.urandom(4).hex()}{BESIDE}"
        handle = os.open(name, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600, dir_fd=folder)
        with contextlib.suppress(
            OSError
        ):  # Not every network disk has locks; there nothing is ever swept either.
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


def manifest_of(folder: Path) -> dict[str, str]:
    """What kb wrote below a folder by its manifest: name -> digest. Lines that are none (a merge's marks) are passed over."""
    try:
        text = bytes_of(folder / MANIFEST).decode("utf-8", "replace")
    except OSError:
        return {}
    rows = (line.partition("  ") for line in text.splitlines())
    return {name: digest for digest, _, name in rows if len(digest) == 16 and is_inner(name)}


def write_tree(folder: Path, wanted: Mapping[str, bytes]) -> Diff:
    """Make what kb wrote below `folder` equal to `wanted` (relative path -> bytes), by the manifest that it keeps there.

    Writes only what differs. Of files that are no longer wanted it removes those that are as kb wrote them; of other people's files none.
    Raises KbError, before anything is written, where one of those has a wanted name. The caller holds a lock that keeps other writers out.
    """
    if strange := next((name for name in wanted if not is_inner(name)), None):
        raise KbError(f"{folder}: {strange[:200]!r} is no name of a file in it")
    noted = manifest_of(folder)
    have = tree_digests(folder, {*noted, *wanted})
    digests = {name: digest_of(data) for name, data in wanted.items()}
    change = diff(
        digests,
        {
            name: digest
            for name, digest in have.items()
            if name in wanted or digest == noted.get(name)
        },
    )
    for name in change.changed:
        if name not in noted:
            raise KbError(
                f"{folder / name}: kb did not write this file; move it away, and `kb build` makes its own"
            )
    for left in sorted(folder.rglob(f".*{BESIDE}")):
        if left.is_file() and not left.is_symlink():
            remove(left)
    for name in (*change.added, *change.changed):
        write(folder / name, wanted[name])
    for name in change.removed:
        remove(folder / name)
    text = "".join(f"{digest}  {name}\n" for name, digest in sorted(digests.items()))
    if _digest_at(folder / MANIFEST) != digest_of(text):
        write(folder / MANIFEST, text)
    return change


def tree_digests(folder: Path, names: set[str]) -> dict[str, str]:
    """Digests of those of these files below a folder that are there; a link is as good as another's file."""
    files = ((name, folder / name) for name in sorted(names))
    return {name: _digest_at(f) for name, f in files if f.is_file() or f.is_symlink()}


def _digest_at(file: Path) -> str:
    with contextlib.suppress(OSError):
        return "" if file.is_symlink() else file_digest(file)
    return ""


@contextlib.contextmanager
def lock(layout: Layout, name: str, *, wait_s: float = 120) -> Iterator[None]:
    """Hold one named lock of the knowledge base; locks die with their process. Raises KbError after `wait_s` seconds."""
    file, until = own_state(layout, f"{name}.lock"), time.monotonic() + wait_s
    try:
        held = os.open(file, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o644)
    except OSError as error:
        raise KbError(
            f"{layout.state}: cannot take the lock '{name}': {error.strerror or error}"
        ) from error
    # What goes wrong while the lock is held is not the lock's fault, and is told by whoever meets it.
    try:
        while not _locked(held):
            if time.monotonic() > until:
                raise KbError(
                    f"{file}: another kb has held it for {wait_s:.0f} s; wait for it or end it"
                )
            time.sleep(0.02)
        yield
    finally:
        # A process that was forked meanwhile holds the file open as well.
        fcntl.flock(held, fcntl.LOCK_UN)
        os.close(held)


def _locked(held: int) -> bool:
    """Whether the lock of an open file is this process's own, which asks for it."""
    with contextlib.suppress(BlockingIOError):
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return True
    return False


def own_state(layout: Layout, name: str) -> Path:
    """A file or folder of the state folder, which is made where there is none and the disk lets it.

    Raises KbError where either is a link: what stands behind one is not kb's to drop.
    """
    path = layout.state / name
    for place in (layout.state, path):
        if place.is_symlink():
            raise KbError(
                f"{place}: is a link to elsewhere; kb keeps its state here only: remove the link and build again"
            )
    with contextlib.suppress(OSError):
        make_state(layout.state)
    return path
