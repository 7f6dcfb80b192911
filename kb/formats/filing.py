"""Runs of another loop into the wiki, once, and out again: one page a run, and one ledger an import under `sources/import-RECEIPT/`.

A run is known by its log, the digest of its line and how many identical lines stand above it; never by its number. `meta.json` is written
last: an import without one was cut off, and the next import takes it back before it begins.
"""

import hashlib
import json
import os
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import msgspec
from msgspec.structs import replace

from kb import KbError, store
from kb.formats.judging import Judged, judged
from kb.formats.pages import page_of, slug_of
from kb.formats.reading import Ask, Remark, Segment
from kb.formats.registry import located
from kb.formats.summary import summary
from kb.formats.table import UNTOLD
from kb.page import read
from kb.run.record import Run
from kb.store import Layout, digest_of, json_of

LOCK = "pages"
LEDGER = "runs.jsonl"
_TARGET = re.compile(r"(?!\.{1,2}(?:/|$))[\w.+-]+(?:/(?!\.{1,2}(?:/|$))[\w.+-]+)*")

# What makes a run the same run: target, log, digest of its line, how many identical lines stand above it.
Key = tuple[str, str, str, int]


class LedgerEntry(msgspec.Struct, frozen=True, omit_defaults=True):
    """One ledger line: the page, the digest of its bytes as filed, and the record."""

    run: Run
    page: str = ""
    digest: str = ""
    repeat: int = 0

    @property
    def key(self) -> Key:
        return self.run.target, self.run.origin.file, self.run.origin.digest, self.repeat


@dataclass(frozen=True, slots=True)
class Import:
    """What one import did: pages it filed, runs it knew already, imports that had been cut off and were taken back first, and what it did not read."""

    receipt: str
    file: str
    format: str
    pages: tuple[str, ...]
    known: int
    mended: tuple[str, ...]
    remarks: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Undo:
    """What taking one import back did: pages removed, and pages that were gone already."""

    receipt: str
    removed: tuple[str, ...]
    gone: tuple[str, ...]


def origin_of(layout: Layout, log: Path) -> str:
    """Name of a log in records: relative to the knowledge base if it stands there, else its last three parts, so that no page tells a home folder."""
    full = log.resolve()
    if full.is_relative_to(layout.root):
        return full.relative_to(layout.root).as_posix()
    return "/".join(full.parts[-3:]).lstrip("/")


def import_runs(
    layout: Layout,
    path: Path,
    *,
    name: str,
    target: str,
    variant: str,
    ask: Ask,
    date: str,
    today: str,
) -> Import:
    """File the runs of a log that the knowledge base does not know yet. `date` is the day of runs without one of their own."""
    if not _TARGET.fullmatch(target):
        message = "is no name for a folder; say `--target NAME` with letters, digits, '.', '_', '-' and '/' between them"
        raise KbError(f"target '{target}' {message}")
    log = located(path, name)
    events = list(log.events(ask))
    file = origin_of(layout, log.path)
    runs = [_addressed(e, target, variant, file, log.path) for e in events if isinstance(e, Run)]
    if not runs and any(isinstance(e, Remark) and e.kind == UNTOLD for e in events):
        raise KbError(f"{log.path}: {UNTOLD}; nothing was filed")
    rated = judged([e for e in events if isinstance(e, Segment)], runs)
    remarks = tuple(summary(log, events).warnings)
    files = sorted({r.origin.file for r in runs})
    with store.lock(layout, LOCK):
        mended = tuple(_take_back(layout, folder) for folder in _cut_off(layout))
        ledgers = [m.parent / LEDGER for m in _finished(layout) if _may_know(m, target, files)]
        known = {e.key: e.page for ledger in ledgers for e in entries_of(ledger)}
        days = _days(rated, date, carried=date == today)
        entries, pages = _entries(layout, rated, known, days, target)
        if not entries:
            return Import("", file, log.format.name, (), len(runs), mended, remarks)
        receipt = digest_of("\n".join(repr(e.key) for _, e in entries))[:12]
        folder = _folder(layout, receipt)
        meta = {
            **{
                "kind": "import",
                "origin": file,
                "files": files,
                "format": log.format.name,
                "target": target,
            },
            **{
                "retrieved": today,
                "sha256": _digest_of_log(log.path),
                "licence": "",
                "version": "",
            },
            **{"pages": len(entries), "receipt": receipt},
        }
        with _whole_or_none(layout, folder):
            filed = _file_all(layout, receipt, entries, pages, rated)
            store.write(folder / "meta.json", json.dumps(meta, ensure_ascii=False, indent=1) + "\n")
    pages, known = tuple(e.page for e in filed), len(runs) - len(filed)
    return Import(receipt, file, log.format.name, pages, known, mended, remarks)


@contextmanager
def _whole_or_none(layout: Layout, folder: Path) -> Iterator[None]:
    """Takes an import back that the disk refuses, as where it is full."""
    try:
        yield
    except KbError:
        if folder.is_dir():
            _take_back(layout, folder)
        raise


def _addressed(run: Run, target: str, variant: str, file: str, log: Path) -> Run:
    """A run under its target and origin: its log; in a folder of many files, the file below it. Restored records keep the log they came from."""
    stated = run.origin.file
    inner = log.is_dir() and not stated.startswith("git:")
    origin = replace(
        run.origin, file=file if stated == log.name else f"{file}/{stated}" if inner else stated
    )
    return replace(run, target=target, variant=run.variant or variant, origin=origin)


def _digest_of_log(log: Path) -> str:
    if log.is_dir():
        return ""
    with open(log, "rb") as file:  # A log of the command line may have any size.
        return hashlib.file_digest(file, "sha256").hexdigest()


def _folder(layout: Layout, receipt: str) -> Path:
    return layout.sources / f"import-{receipt}"


def _cut_off(layout: Layout) -> list[Path]:
    return [
        f
        for f in sorted(layout.sources.glob("import-*"))
        if f.is_dir() and not (f / "meta.json").is_file()
    ]


def _finished(layout: Layout) -> list[Path]:
    """`meta.json` of every import that was finished."""
    return sorted(layout.sources.glob("import-*/meta.json"))


def _may_know(meta: Path, target: str, files: Sequence[str]) -> bool:
    """Whether an import was of this target and one of these logs; one that does not say may have been."""
    try:
        fields = json_of(store.bytes_of(meta))
        return fields["target"] == target and not set(files).isdisjoint(fields["files"])
    except (ValueError, KeyError, TypeError):
        return True


def entries_of(ledger: Path) -> list[LedgerEntry]:
    """Entries of a ledger file. Raises KbError where a line was damaged."""
    entries = []
    for number, line in enumerate(store.bytes_of(ledger).removesuffix(b"\n").split(b"\n"), 1):
        try:
            entries.append(store.from_json(line, LedgerEntry))
        except ValueError as error:
            message = f"{ledger}:{number}: no ledger line ({error}); restore the file from version control"
            raise KbError(message) from error
    return entries


def _days(rated: Sequence[Judged], date: str, *, carried: bool) -> list[str]:
    """Day of every run: its own, else `date`; where no date was asked for (`carried`), the day of the dated run next to it in the log."""
    own = [
        x.run.created[:10] if re.match(r"\d{4}-\d{2}-\d{2}", x.run.created) else "" for x in rated
    ]
    day = next(filter(None, own), date) if carried else date
    days: list[str] = []
    for stated in own:
        day = stated or day if carried else day
        days.append(stated or day)
    return days


def _entries(
    layout: Layout, rated: Sequence[Judged], known: dict[Key, str], days: Sequence[str], target: str
) -> tuple[list[tuple[int, LedgerEntry]], dict[int, str]]:
    """Ledger entries of the runs that are not known, by their place in the log, and the page of every run. Numbers are given out in log order."""
    alike: Counter[tuple[str, str]] = Counter()
    pages: dict[int, str] = {}
    entries: list[tuple[int, LedgerEntry]] = []
    number = next_number(layout, target)
    for i, item in enumerate(rated):
        line = item.run.origin.file, item.run.origin.digest
        entry = LedgerEntry(item.run, repeat=alike[line])
        alike[line] += 1
        if entry.key in known:
            pages[i] = known[entry.key]
            continue
        pages[i] = layout.page(
            f"experiments/{target}/{days[i]}-v{number:03d}-{slug_of(item.run)}.md"
        )
        entries.append((i, replace(entry, page=pages[i])))
        number += 1
    return entries, pages


def next_number(layout: Layout, target: str) -> int:
    """The number of the next experiment of a target: above every page's and every measured run's. To be asked, and used, under the lock `LOCK`."""
    folder, runs = layout.wiki / "experiments" / target, layout.sources / "runs" / target
    names = [f.stem for f in folder.rglob("*.md")] + [f.name for f in runs.glob("*")]
    return 1 + max(
        (read(layout.page(f"experiments/{name}.md"), b"").number for name in names), default=0
    )


def _file_all(
    layout: Layout,
    receipt: str,
    entries: list[tuple[int, LedgerEntry]],
    pages: dict[int, str],
    rated: Sequence[Judged],
) -> list[LedgerEntry]:
    """Write the ledger, then the pages; the ledger comes first so that an import that is cut off can be taken back."""
    ledger = _folder(layout, receipt) / LEDGER
    place = ledger.relative_to(layout.root).as_posix()
    filed: list[LedgerEntry] = []
    bodies: list[bytes] = []
    for line, (i, entry) in enumerate(entries, 1):
        parent, day = pages.get(rated[i].parent, ""), Path(entry.page).name[:10]
        bodies.append(page_of(rated[i], record=f"{place}#L{line}", parent=parent, date=day))
        filed.append(replace(entry, digest=digest_of(bodies[-1])))
    store.write(
        ledger, "".join(msgspec.json.encode(e, order="sorted").decode() + "\n" for e in filed)
    )
    for entry, body in zip(filed, bodies, strict=True):
        store.write(layout.at(entry.page), body, durable=False)
    # One barrier for all pages instead of one a page: thousands are on the disk before meta.json says that the import is whole.
    os.sync()
    return filed


def undo(layout: Layout, receipt: str) -> Undo:
    """Remove exactly what one import created. Raises KbError where one of its pages was changed since."""
    folder = _folder(layout, receipt)
    with store.lock(layout, LOCK):
        for cut in _cut_off(layout):
            if cut != folder:
                _take_back(layout, cut)
        if not re.fullmatch(r"[0-9a-f]{6,16}", receipt) or not folder.is_dir():
            known = ", ".join(f.parent.name.removeprefix("import-") for f in _finished(layout)[-8:])
            message = f"known receipts: {known}" if known else "nothing was imported yet"
            raise KbError(f"no import '{receipt}' here; {message}")
        entries = [e for e in entries_of(folder / LEDGER) if _is_place(layout, e.page)]
        here = {e.page: (layout.root / e.page).is_file() for e in entries}
        changed = [
            e.page
            for e in entries
            if here[e.page] and digest_of(store.read_bytes(layout, e.page)) != e.digest
        ]
        _refuse(receipt, "changed", changed, "Move or restore these pages first")
        moved = [] if all(here.values()) else _pages_elsewhere(layout, folder, set(here))
        _refuse(receipt, "moved", moved, "Remove or move back these pages first")
        _take_back(layout, folder)
        return Undo(
            receipt,
            tuple(p for p, there in here.items() if there),
            tuple(p for p, there in here.items() if not there),
        )


def _refuse(receipt: str, what: str, pages: Sequence[str], remedy: str) -> None:
    if pages:
        more = f" and {len(pages) - 5} more" if len(pages) > 5 else ""
        message = f"{what} since: {', '.join(pages[:5])}{more}; nothing was removed. {remedy}"
        raise KbError(f"import {receipt} cannot be taken back: {message}")


def _pages_elsewhere(layout: Layout, folder: Path, filed: set[str]) -> list[str]:
    """Pages that name this import's ledger and stand where it filed none."""
    named = f"{folder.relative_to(layout.root).as_posix()}/".encode()
    pages = {p.relative_to(layout.root).as_posix(): p for p in sorted(layout.wiki.rglob("*.md"))}
    return [
        name for name, p in pages.items() if name not in filed and named in store.bytes_of(p)[:8000]
    ]


def _is_place(layout: Layout, page: str) -> bool:
    """Whether an import may have filed a page there: a ledger that came from elsewhere may name any file."""
    inner = store.is_inner(page) and layout.holds(layout.root / page)
    return inner and (layout.root / page).is_relative_to(layout.wiki / "experiments")


def _is_own(page: Path, entry: LedgerEntry, folder: Path) -> bool:
    """Whether a page is what its import filed: its bytes are, and it names that ledger; or a power cut left it without bytes."""
    if not page.is_file() or page.is_symlink():
        return False
    data = store.bytes_of(page)
    named = f'"sources/{folder.name}/{LEDGER}#L'.encode()
    return not data or digest_of(data) == entry.digest and named in data


def _take_back(layout: Layout, folder: Path) -> str:
    """Remove what an import filed, its ledger last; a page that reads otherwise than it was filed stays."""
    store.remove(folder / "meta.json")
    for place in _begun(layout, folder):
        store.remove(place)
    store.remove(folder / LEDGER)
    for left in sorted(folder.glob(".*.kb-tmp")):
        store.remove(left)
    if not any(folder.iterdir()):
        folder.rmdir()
    return folder.name.removeprefix("import-")


def _begun(layout: Layout, folder: Path) -> Iterator[Path]:
    """The pages that an import filed, and what it had begun to write of them."""
    ledger = folder / LEDGER
    entries = (
        [e for e in entries_of(ledger) if _is_place(layout, e.page)] if ledger.is_file() else []
    )
    begun = {
        f
        for place in {(layout.root / e.page).parent for e in entries}
        for f in place.glob(".*.kb-tmp")
    }
    names = tuple(f".{Path(e.page).name[:40]}." for e in entries)
    yield from sorted(f for f in begun if f.name.startswith(names))
    yield from (layout.root / e.page for e in entries if _is_own(layout.root / e.page, e, folder))
