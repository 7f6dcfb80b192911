"""Where records of experiments stand, and what is on file that pages and indexes are read with. Reads none of it: that is `kb.source.records` and `kb.source.notes`."""

from collections.abc import Iterator
from contextlib import suppress
from itertools import islice, product
from operator import add
from pathlib import Path

from kb.store import Layout, file_digest

# Of records, of notes, of readings.
FOLDERS = FOLDER, NOTES, READINGS = "records", "notes", "readings"


def path_of_record(page: str) -> str:
    """Path of a page's record, relative to the root."""
    return f"sources/{FOLDER}/{page.removesuffix('.md')}.json"


def kept_files(layout: Layout, folder: str) -> Iterator[tuple[str, Path]]:
    """What stands on file in a folder of `sources/`: names of the files below it, without their ending, and the files."""
    home = layout.sources / folder
    for file in sorted(home.rglob("*.json")):
        yield file.relative_to(home).as_posix().removesuffix(".json"), file


def digests_of_kept(layout: Layout) -> dict[str, str]:
    """Digest of everything on file that pages and indexes are read with: records by their page, notes by their path. What cannot be read
    is passed over.
    """
    digests = {}
    for folder, named in ((FOLDER, "{}.md"), (NOTES, "notes/{}")):
        for name, file in kept_files(layout, folder):
            with suppress(OSError, ValueError):
                name.encode()
                digests[named.format(name)] = file_digest(file)
    return digests


def missing_sources(layout: Layout) -> list[str]:
    """Names of the files of claims whose source, a folder or a page, is not there. Reads none of them."""
    return [
        name
        for name in sorted(file.stem for file in (layout.sources / "claims").glob("*.json"))
        if not (layout.sources / name).exists()
        and not any(layout.is_page(p) and (layout.root / p).exists() for p in _pages_of(name))
    ]


def _pages_of(name: str) -> Iterator[str]:
    """Paths of the pages that a name may stand for, in which dashes stand for what parts folders or for themselves."""
    first, *rest = name.split("--")
    for marks in islice(product(("/", "--"), repeat=len(rest)), 1 << 8):
        yield f"{first}{''.join(map(add, marks, rest))}.md"
