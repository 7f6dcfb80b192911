"""The folder of the built site: what kb wrote there, what of it is written anew, what is removed.
Refuses to touch what others wrote, and names that lead out of the folder.
"""

import multiprocessing
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath

from kb import KbError, store

# A folder that kb may write holds this file: what kb wrote there, each with its key, size and time.
_MARK = ".kb-site"
# Fewer files than this are made in this process: starting others costs more.
_POOL_FROM = 100
# A file of the site: a key that changes with it, and its bytes when they are asked for.
SiteFile = tuple[str, Callable[[], bytes]]


@dataclass(frozen=True, slots=True)
class Built:
    """What kb wrote into a folder: digest of what it was made from, the files outside the wiki that it
    hangs on with their stamps, pages, and for each file its key, size and time.
    """

    inputs: str = ""
    stamps: Mapping[str, str] = field(default_factory=dict)
    pages: int = 0
    files: Mapping[str, tuple[str, int, int]] = field(default_factory=dict)

    def is_current(self, target: Path) -> bool:
        """Whether every file is still as kb wrote it."""
        return all(row[1:] == _stamp(target / name) for name, row in self.files.items())

    def is_stale(self, target: Path, name: str, key: str) -> bool:
        """Whether a file is to be written: it is new, has another key, or is not as kb wrote it."""
        row = self.files.get(name)
        return row is None or row != (key, *_stamp(target / name))


def built_in(layout: store.Layout, target: Path, *, declared: bool) -> Built:
    """What stands in a folder. Raises KbError for a folder with others' files, and for one that leads
    out of the knowledge base where the command line did not name it.
    """
    if not declared and not target.resolve().is_relative_to(layout.root.resolve()):
        raise KbError(f"{target}: leads out of the knowledge base; give a folder with --out")
    if not target.exists():
        return Built()
    mark = target / _MARK
    if not target.is_dir() or not mark.is_file() and any(target.iterdir()):
        raise KbError(
            f"{target}: holds files that kb did not write; give an empty folder with --out, or move them"
        )
    try:
        known = store.from_json(store.bytes_of(mark), Built)
    except (OSError, ValueError):
        return Built()
    # A name of the manifest, which may have come with a knowledge base of others, stays in the site.
    return replace(
        known,
        files={
            n: row
            for n, row in known.files.items()
            if store.is_inner(n) and "\\" not in n and n != _MARK
        },
    )


def bring(target: Path, wanted: Mapping[str, SiteFile], had: Built, now: Built) -> tuple[int, int]:
    """Make the folder hold `wanted`, and its manifest say `now`; how many files were written and
    removed. Raises KbError before it writes where a file is not kb's.
    """
    stale = [name for name, (key, _) in wanted.items() if had.is_stale(target, name, key)]
    _refuse_foreign(target, stale, had)
    if not (target / _MARK).exists():
        _write_mark(target, Built())
    for name, data in _contents(stale, wanted):
        store.write(target / name, data, durable=False, declared=True)
    removed = _sweep(target, set(had.files) - set(wanted), had)
    files = {name: (key, *_stamp(target / name)) for name, (key, _) in wanted.items()}
    _write_mark(target, replace(now, files=files))
    return len(stale), removed


def _contents(names: Sequence[str], wanted: Mapping[str, SiteFile]) -> Iterator[tuple[str, bytes]]:
    """Files with their bytes. Pages are made of values alone, and many are shared among processes."""
    pages = {name for name in names if name.endswith(".html")}
    shared = sorted(pages) if len(pages) >= _POOL_FROM else []
    yield from ((name, wanted[name][1]()) for name in names if not shared or name not in pages)
    if shared:
        context, workers = multiprocessing.get_context("fork"), min(4, os.cpu_count() or 1)
        with ProcessPoolExecutor(workers, context, _WANTED.update, (wanted,)) as pool:
            yield from zip(shared, pool.map(_page, shared, chunksize=32), strict=True)


# What a process that was forked has to make.
_WANTED: dict[str, SiteFile] = {}


def _page(name: str) -> bytes:
    return _WANTED[name][1]()


def _refuse_foreign(target: Path, stale: Iterable[str], had: Built) -> None:
    for folder in sorted(
        {p for n in stale for p in PurePosixPath(n).parents} - {PurePosixPath(".")}
    ):
        path = target / folder
        if path.is_symlink() or path.exists() and not path.is_dir():
            raise KbError(
                f"{path}: kb did not make this; move it, or give an empty folder with --out"
            )
    foreign = next((n for n in stale if n not in had.files and os.path.lexists(target / n)), None)
    if foreign and had.files:
        raise KbError(
            f"{target / foreign}: kb did not write this file; move it, or give an empty folder with --out"
        )


def _write_mark(target: Path, built: Built) -> None:
    store.write(target / _MARK, store.packed(built), durable=False, declared=True)


def _stamp(path: Path) -> tuple[int, int]:
    try:
        there = os.lstat(path)
    except OSError:
        return 0, 0
    return there.st_size, there.st_mtime_ns


def _sweep(target: Path, gone: Iterable[str], had: Built) -> int:
    """Remove files that kb wrote, as kb wrote them, and folders that this leaves empty."""
    removed = 0
    for name in sorted(gone):
        path = target / name
        is_inside = path.parent.resolve().is_relative_to(target.resolve())
        if not is_inside or had.files[name][1:] != _stamp(path):
            continue
        path.unlink()
        removed += 1
        for folder in path.parents:
            if folder == target or any(os.scandir(folder)):
                break
            os.rmdir(folder)
    return removed
