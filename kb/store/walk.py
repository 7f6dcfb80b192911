"""The pages that stand below wiki/: their digests, what cannot be read, and whether anything looks changed."""

import errno
import os
import re
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Set
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import chain
from operator import attrgetter
from pathlib import Path
from signal import SIG_IGN, SIGINT, signal
from typing import TYPE_CHECKING

from kb import KbError
from kb.schema import Finding
from kb.store.files import BESIDE, opened
from kb.store.layout import Layout, is_inner
from kb.store.rows import digest_of

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

# `.PAGE.md.k3x_9a0b.kb-tmp`, as `write` names what it begins; a killed writer leaves it behind.
_LEFT_BESIDE = re.compile(r"\..+\.[a-z0-9_]{8}\.kb-tmp")
# Signs that break a line, steer a terminal or turn the direction of writing.
_UNSEEN = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\U000e0000-\U000e007f]"
)
# Folders of a knowledge base that hold no pages, where its wiki is the root itself.
_NO_PAGES = frozenset(("sources", "indexes", "site", "prompts", "raw", "node_modules"))
# Beyond so many files a look at each would cost more than the question that it is for.
_MOST_LOOKED_AT = 20_000
_MTIME = attrgetter("st_mtime_ns")
# So many bytes of what was read are handed on: all those of a large wiki are more than the memory of some hosts.
_MOST_HELD = 32 << 20


@dataclass(frozen=True, slots=True)
class Scan:
    """The markdown files of a knowledge base: path relative to root -> digest, what could not be read, what writers left beside them.

    `known` says of each file by what a later scan knows it again unread (empty where it was written too lately to tell), and its digest;
    `folders` when each folder was written, 0 where that was too lately to tell.
    """

    digests: Mapping[str, str]
    findings: tuple[Finding, ...]
    left: tuple[str, ...] = ()
    known: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    folders: Mapping[str, int] = field(default_factory=dict)


# The last look at each wiki, with the folders and pages that it met: a server takes many looks at the same.
_LOOKS: dict[str, tuple[str, list[str], list[str]]] = {}
# Ends of pipes to processes that look for this one, and wait for a question.
_LOOKERS: "list[Connection]" = []


def look_of(layout: Layout) -> str:
    """Count and times of the files and folders below wiki/: cheap to take, and different after most edits. Empty for very many."""
    wiki, root, count = os.fspath(layout.wiki), os.fspath(layout.root), 0
    look, *places = _LOOKS.get(wiki, ("", [], []))
    # A page that comes or goes is written into its folder, so that no folder need be listed again where all times are the same.
    if look and _times_of(*places) == look.partition(" ")[2]:
        return look
    folders, pages = [wiki], []
    for folder in folders:
        with suppress(OSError), os.scandir(folder) as entries:  # The rest is the build's matter.
            for entry in entries:
                count += 1
                if entry.name.endswith(".md") and not entry.is_dir(follow_symlinks=False):
                    pages.append(entry.path)
                elif entry.is_dir(follow_symlinks=False) and _may_hold(entry.name, folder == root):
                    folders.append(entry.path)
        if count > _MOST_LOOKED_AT:
            return ""
    _LOOKS[wiki] = f"{count} {_times_of(folders, pages)}", folders, pages
    return _LOOKS[wiki][0]


def _may_hold(name: str, at_root: bool) -> bool:
    """Whether a folder of this name is looked into for pages."""
    return name[0] != "." and not (at_root and name in _NO_PAGES)


def _times_of(folders: list[str], pages: list[str]) -> str:
    """The sum of the times at which folders and pages were written, which a further writing raises; empty where one is gone."""
    with suppress(OSError):
        return f"{sum(map(_MTIME, chain(map(os.stat, folders), map(os.lstat, pages)))):x}"
    return ""


def changed_since(layout: Layout, db: sqlite3.Connection) -> Callable[[], bool]:
    """Whether the wiki looks other than when the tables were built, for whoever asks for the answer; a process that looks aside begins at once."""
    row = db.execute("select value from meta where key = 'look'").fetchone()
    known = row[0] if row else ""
    looking: list[Connection] = []
    with suppress(IndexError, OSError):
        looker = _LOOKERS.pop()
        looker.send(layout)
        looking.append(looker)

    def changed() -> bool:
        with suppress(EOFError, OSError):
            for looker in looking:
                look = looker.recv()
                _LOOKERS.append(looker)
                return look != known
        return look_of(layout) != known

    return changed if known else lambda: False


def look_aside() -> None:
    """From now on another process looks while this one answers, and ends with it. For a server, before it has threads."""
    from multiprocessing import Pipe, get_context

    mine, theirs = Pipe()
    get_context("fork").Process(target=_look_for, args=(mine, theirs), daemon=True).start()
    theirs.close()
    _LOOKERS.append(mine)


def _look_for(asking: "Connection", own: "Connection") -> None:
    """Look for the process that this one was forked from, until it ends."""
    asking.close()
    signal(SIGINT, SIG_IGN)
    with suppress(EOFError, OSError):
        for layout in iter(own.recv, None):
            own.send(look_of(layout))


# A disk tells two writings of a file apart that lie further apart than this: two seconds on the coarsest.
_TICK_NS = 2_000_000_000


def scan(
    layout: Layout,
    *,
    known: Mapping[str, tuple[str, str]] | None = None,
    since: Scan | None = None,
    contents: dict[str, bytes] | None = None,
) -> Scan:
    """Digest of every `.md` file of the wiki. Links out of the tree, folder links and unreadable files become findings.

    A file that is `known`, path -> (stat, digest) of an earlier scan, is not read again; the caller holds the lock of builds. Of a scan
    `since` which moments went by only folders that were written are looked at: what was written into a page in its place waits for the next.
    `contents` takes up what was read of the first files.

    Raises KbError where the wiki's folder is missing or an unconfirmed link: an empty answer would empty every table.
    """
    homes = _homes(layout)
    kept = _untouched(layout, since) if since else Scan({}, ())
    starts = since.folders.keys() - kept.folders.keys() if since else {layout.page("")}
    before, fresh, times = known or {}, {**kept.known}, {**kept.folders}
    findings, left = [*kept.findings], list[str]()
    settled, room = _moment(layout) - _TICK_NS if known is not None else 0, _MOST_HELD
    for start in sorted(starts):
        others = {*starts, *times} - {start}
        for place in _walk(layout, start, homes, before, times, others):
            match place:
                case Finding():
                    findings.append(place)
                case str():
                    left.append(place)
                case path, entry:
                    try:
                        stat = _stat_of(entry, settled) if known is not None else ""
                        row = before.get(path)
                        if row is None or row[0] != stat or not stat:
                            data = _content(layout, path)
                            row = stat, digest_of(data)
                            room -= len(data)
                            if contents is not None and room >= 0:
                                contents[path] = data
                        fresh[path] = row
                    except (KbError, OSError) as error:
                        findings.append(_unreadable(path, error))
    return Scan(
        {path: fresh[path][1] for path in sorted(fresh)},
        tuple(sorted(findings, key=lambda f: f.path)),
        tuple(sorted(left)),
        fresh,
        {at: time if time < settled else 0 for at, time in times.items()},
    )


def _homes(layout: Layout) -> tuple[str, str]:
    """Where the root and the wiki really stand. Raises KbError where the wiki may not be read."""
    wiki, name = layout.wiki, layout.config.wiki
    if not wiki.is_dir():
        raise KbError(
            f"{name}/: the folder of the pages is not here; bring it back, or make an empty one to start anew"
        )
    homes = os.path.realpath(layout.root), os.path.realpath(wiki)
    if wiki.is_symlink() and not layout.links_wiki() and not layout.holds(Path(homes[1], "x")):
        raise KbError(
            f"{name}/: a link out of this knowledge base; `kb init --adopt` confirms that it is meant"
        )
    return homes


def _untouched(layout: Layout, since: Scan) -> Scan:
    """What a scan knows of the folders that were not written since."""
    late = {_home(path) for path, (stat, _) in since.known.items() if not stat}
    still = {
        at: time
        for at, time in since.folders.items()
        if at not in late and _written(layout, at) == time
    }
    known = {path: row for path, row in since.known.items() if _home(path) in still}
    return Scan({}, tuple(f for f in since.findings if _home(f.path) in still), (), known, still)


def _unreadable(path: str, error: Exception) -> Finding:
    if isinstance(error, FileNotFoundError):
        return _finding(
            path, "vanished", "the file went away while it was read", "run kb build again"
        )
    if cause := getattr(error, "strerror", None):
        return _finding(path, "unreadable", f"cannot be read: {cause}", "check its permissions")
    return _finding(path, "unreadable", str(error).removeprefix(f"{path}: "), "")


def _finding(path: str, code: str, message: str, hint: str) -> Finding:
    return Finding(path.encode("utf-8", "replace").decode(), 1, code, message, hint=hint)


def _home(path: str) -> str:
    """The folder of a page, with its slash."""
    return path[: path.rfind("/") + 1]


def _written(layout: Layout, folder: str) -> int:
    """When a folder was written, -1 where there is none."""
    try:
        return os.stat(layout.root / folder).st_mtime_ns
    except OSError:
        return -1


def _stat_of(entry: os.DirEntry, settled: int) -> str:
    """What the disk says of a file, other after every writing; empty where it was written after `settled`."""
    stat = entry.stat()
    late = max(stat.st_mtime_ns, stat.st_ctime_ns) >= settled
    return "" if late else f"{stat.st_size} {stat.st_mtime_ns} {stat.st_ctime_ns} {stat.st_ino}"


def _moment(layout: Layout) -> int:
    """The time by the clock of the disk that the pages stand on."""
    mark = layout.state / "build.lock"
    mark.touch()
    return mark.stat().st_mtime_ns


def _content(layout: Layout, path: str) -> bytes:
    try:
        with opened(layout.root / path, layout=layout) as file:
            return file.read()
    except OSError as error:
        if error.errno in (errno.EFBIG, errno.EXDEV):
            raise KbError(f"{path}: {error.strerror}") from error
        raise


def read_bytes(layout: Layout, path: str) -> bytes:
    """Bytes of a file of the knowledge base, by its path relative to the root. Raises KbError for a path that leads out."""
    layout.at(path)
    return _content(layout, path)


def _walk(
    layout: Layout,
    prefix: str,
    homes: tuple[str, ...],
    known: Mapping[str, object],
    times: dict[str, int],
    others: Set[str],
) -> "Iterator[tuple[str, os.DirEntry] | Finding | str]":
    """Pages below a folder with their entries, what is wrong with others, and paths that writers left; the names of those that are `known`
    were looked at before.

    Not those below `others`, whose turn is another; `times` takes up when each folder was written.
    """
    written = _written(layout, prefix)
    try:
        entries = list(os.scandir(layout.root / prefix))
    except FileNotFoundError:
        return
    except OSError as error:
        message = f"folder cannot be read: {error.strerror or error}"
        yield _finding(prefix.rstrip("/"), "unreadable", message, "check its permissions")
        return
    times[prefix] = written
    for entry in entries:
        path = prefix + entry.name
        plain, linked = entry.is_file(follow_symlinks=False), entry.is_symlink()
        if plain and path in known:
            yield path, entry
        elif linked and (problem := _link_problem(path, entry, homes)):
            yield problem
        elif entry.name.endswith(".md") and (plain or linked):
            yield _name_problem(path) or (path, entry)
        elif plain and entry.name.endswith(BESIDE) and _LEFT_BESIDE.fullmatch(entry.name):
            yield path
        elif entry.is_dir(follow_symlinks=False) and _may_hold(entry.name, not prefix):
            if f"{path}/" not in others:
                yield from _walk(layout, f"{path}/", homes, known, times, others)


def _name_problem(path: str) -> Finding | None:
    if path.encode("utf-8", "surrogateescape").decode("utf-8", "replace") != path:
        return _finding(path, "file-name", "the file name is not valid UTF-8", "rename the file")
    if _UNSEEN.search(path):
        message = "the file name holds a line break or another sign that no reader sees"
        return _finding(path, "file-name", message, "rename the file")
    if not is_inner(path):
        message = "the name of the file, or of a folder above it, is too long to write beside"
        return _finding(path, "file-name", message, "shorten it below 250 bytes")
    return None


def _link_problem(path: str, entry: os.DirEntry, homes: tuple[str, ...]) -> Finding | None:
    real = os.path.realpath(entry.path)
    if os.path.isdir(entry.path):  # entry.is_dir() raises for a link to itself
        why = "a link to a folder is not followed", "move the pages here, or link to them"
    elif not entry.name.endswith(".md"):
        return None
    elif not any(real.startswith(home + os.sep) for home in homes):
        why = (
            "links out of the knowledge base and is not read",
            "copy it below sources/ or raw/, and link to that",
        )
    elif not os.path.exists(real):
        why = "the link leads nowhere", "remove it or mend it"
    else:
        return None
    return _finding(path, "symlink", *why)
