"""The folder of the built site: what kb wrote there, what of it is written anew, what is removed.
Refuses to touch what others wrote, and names that lead out of the folder.
"""

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath

from kb import KbError, store

# A folder that kb may write holds this file: what kb wrote there, each with its key, size and time.
_MARK = ".kb-site"
# The key of a file that stands already and whose bytes were not read again.
KEPT = "kept"


@dataclass(frozen=True, slots=True)
class Built:
    """What kb wrote into a folder: digest of what it was made from, pages, and for each file its key,
    size and time.
    """

    inputs: str = ""
    pages: int = 0
    files: Mapping[str, tuple[str, int, int]] = field(default_factory=dict)

    def is_current(self, target: Path) -> bool:
        """Whether every file is still as kb wrote it."""
        return all(row[1:] == _stamp(target / name) for name, row in self.files.items())


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
    return replace(known, files={n: row for n, row in known.files.items() if _is_place(n)})


def bring(
    target: Path,
    wanted: Mapping[str, tuple[str, Callable[[], bytes]]],
    had: Built,
    *,
    inputs: str,
    pages: int,
) -> tuple[int, int]:
    """Make the folder hold `wanted` (by place: key and bytes when asked for); how many files were
    written and removed. Raises KbError before it writes where a file is not kb's.
    """
    stale = [name for name, (key, _) in wanted.items() if _is_stale(target, name, key, had)]
    _refuse_foreign(target, stale, had)
    if not (target / _MARK).exists():
        _write_mark(target, Built())
    for name in stale:
        store.write(target / name, wanted[name][1](), durable=False, declared=True)
    keys = {
        n: had.files[n][0] if key == KEPT and n in had.files else key
        for n, (key, _) in wanted.items()
    }
    removed = _sweep(target, set(had.files) - set(wanted), had)
    _write_mark(target, Built(inputs, pages, {n: (keys[n], *_stamp(target / n)) for n in wanted}))
    return len(stale), removed


def _is_stale(target: Path, name: str, key: str, had: Built) -> bool:
    row = had.files.get(name)
    return row is None or key not in (KEPT, row[0]) or row[1:] != _stamp(target / name)


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


def _is_place(name: str) -> bool:
    """Whether a name of the manifest, which may have come with a knowledge base of others, stays in
    the site.
    """
    return store.is_inner(name) and "\\" not in name and name != _MARK


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
