"""What was measured for one experiment, as files below sources/runs/: a plan, its samples, a last word. Refuses to rewrite any of them.

An attempt is a folder `1`, `2` ... with `plan.json` (written before anything runs), `samples.jsonl` (a line a command, each with
the digest of the line before it), small texts that were left, and `measured.json` (written last, with the digest of every file).
Without the last, the attempt was cut off and can be resumed. More repeats are added before the experiment is closed:
`more-002.json` says how many there are to be, the last word is then `measured-002.json`. What is large or no text lies in a folder
that git ignores, `artifacts/`; its digests stand in the last word, and it may be absent. Links are not followed.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar

from kb import KbError, store
from kb.experiments.plan import KeptFile, Measurement, More, Plan, Sample, Side
from kb.experiments.stub import Stub
from kb.experiments.worktree import digest_within, globbed
from kb.page import read

SAMPLES = "samples.jsonl"
# What an output may weigh to stand in its sample; a longer one is a file beside it, where one is kept.
_INLINE = 4000
# What is kept in sources/: texts of at most this size, and of one side together.
_SMALL, _SMALL_SIDE = 64 << 10, 256 << 10
# Signals by which a program falls over (of instructions, aborts, buses, arithmetic, memory): where checks end so, nothing was found wrong.
_FAULTS = (4, 6, 7, 8, 11)
# A copy of a file may have this many bytes, and all of one side together so many; what is larger is known by its digest alone.
_COPY, _COPIES = 16 << 20, 64 << 20
_MOST_FILES = 500
_Record = TypeVar("_Record")


@dataclass(frozen=True, slots=True)
class Attempt:
    """`added` says how often repeats were added, `words` are the last words before and after each time. `digests` are of the files as
    they were written, not as somebody may have left them."""

    folder: Path
    large: Path
    plan: Plan
    samples: tuple[Sample, ...] = ()
    added: tuple[More, ...] = ()
    words: tuple[Measurement, ...] = ()
    digests: Mapping[str, str] = field(default_factory=dict)

    @property
    def measurement(self) -> Measurement | None:
        """The last word; None while something is still to be measured."""
        return self.words[-1] if len(self.words) > len(self.added) else None

    @property
    def last_word(self) -> str:
        """Name of the file that ends the attempt."""
        return _last_word(len(self.added))

    @property
    def kept(self) -> tuple[KeptFile, ...]:
        return self.measurement.kept if self.measurement else ()

    @property
    def looks(self) -> int:
        """How often its samples were judged: at each doubling up to the most that were planned, then once for each time that more were asked for."""
        count = self.added[0].before if self.added else 0
        count = min(count or len(self.of("bench", "change")), self.plan.most or self.plan.repeats)
        doublings = (n for n in range(64) if self.plan.repeats << n >= count)
        return 1 + next(doublings) + len(self.added)

    def of(self, kind: str, side: Side) -> tuple[Sample, ...]:
        return tuple(s for s in self.samples if s.kind == kind and s.side == side)

    def values(self, metric: str, side: Side) -> tuple[float, ...]:
        """Measured values of a metric, repeats in order; warm-ups are none."""
        return tuple(v for s in self.of("bench", side) for name, v in s.metrics if name == metric)

    def problem(self, *sides: Side) -> str:
        """Why one of these sides did not measure; empty where all did."""
        for s in self.samples:
            fault = s.kind == "checks" and max(-s.exit, s.exit - 128) in _FAULTS
            if s.side in sides and s.problem and (fault or s.kind in ("build", "warmup", "bench")):
                return f"{f'{s.kind} {s.index}' if s.index else f'the {s.kind}'}: {s.problem}"
        return ""

    @property
    def metrics(self) -> tuple[str, ...]:
        """Names of all metrics that the benchmark printed, sorted."""
        timed = (s for s in self.samples if s.kind == "bench")
        return tuple(sorted({name for s in timed for name, _ in s.metrics}))

    def copy_of(self, kept: KeptFile) -> Path | None:
        """The copy of a file that was kept, if it is still here."""
        place = (self.large if kept.large else self.folder) / kept.copy
        return place if kept.copy and place.is_file() else None

    def output_of(self, sample: Sample) -> bytes:
        file = self.folder / sample.file
        if sample.file and file.is_file():
            return store.bytes_of(file)
        return sample.output.encode("utf-8", "surrogateescape")


def _last_word(added: int) -> str:
    return f"measured-{added + 1:03d}.json" if added else "measured.json"


def home_of(layout: store.Layout, stub: Stub) -> Path:
    """Folder of an experiment's attempts. Raises KbError where its page names one that is not its own: outside of sources/, or another page's."""
    home = layout.root / stub.run
    inside = stub.run.startswith("sources/") and store.is_inner(stub.run)
    own = inside and layout.holds(home / "plan.json")
    plans = sorted(home.glob("[0-9]*/plan.json")) if own else []
    if plans:
        owner = decoded(Plan, plans[0]).page
        other = layout.root / owner
        # A page that was moved has left its old place.
        if owner != stub.path and store.is_inner(owner) and other.is_file():
            own = read(owner, store.bytes_of(other)).field("run") != stub.run
    if not own:
        raise KbError(
            f"{stub.path}: run: {stub.run[:200]!r}: attempts stand below sources/ of this knowledge base, in a folder of this page alone; "
            "restore the line that `kb experiment open` wrote"
        )
    return home


def attempts_of(layout: store.Layout, stub: Stub) -> tuple[Attempt, ...]:
    """Attempts of one experiment, oldest first; none of a page that kb did not open. A folder without a plan is none.

    Raises KbError for a record that was changed by hand or cut off.
    """
    if not stub.run:
        return ()
    home = home_of(layout, stub)
    names = (p.parent.name for p in home.glob("*/plan.json"))
    numbers = sorted(int(n) for n in names if n.isdecimal() and n.isascii())
    return tuple(_attempt(layout, stub.run, home / str(n)) for n in numbers)


def last_attempt(layout: store.Layout, stub: Stub) -> Attempt | None:
    return next(reversed(attempts_of(layout, stub)), None)


def _attempt(layout: store.Layout, run: str, folder: Path) -> Attempt:
    plan = decoded(Plan, folder / "plan.json")
    file = folder / SAMPLES
    lines = store.bytes_of(file).splitlines() if file.is_file() else []
    samples = tuple(decoded(Sample, file, line) for line in lines)
    before = store.file_digest(folder / "plan.json")
    for number, (sample, line) in enumerate(zip(samples, lines, strict=True), 1):
        if sample.before != before:
            raise KbError(
                f"{file}:{number}: what stands before this line changed since it was measured; restore it, or measure --again"
            )
        before = store.digest_of(line)
    added = tuple(decoded(More, f) for f in sorted(folder.glob("more-*.json")))
    ends = (folder / _last_word(n) for n in range(len(added) + 1))
    words = tuple(decoded(Measurement, file) for file in ends if file.is_file())
    return Attempt(folder, _large(layout, run, plan), plan, samples, added, words, _digests(folder))


def _large(layout: store.Layout, run: str, plan: Plan) -> Path:
    return layout.at(
        f"{plan.keep}/{run.removeprefix('sources/runs/')}/{plan.number}/plan.json"
    ).parent


def _digests(folder: Path) -> dict[str, str]:
    files = (f for f in sorted(folder.rglob("*")) if f.is_file() and not f.name.endswith(".kb-tmp"))
    return {f.relative_to(folder).as_posix(): store.file_digest(f) for f in files}


def decoded(kind: type[_Record], file: Path, data: bytes | None = None) -> _Record:
    """A record of a file, or of one of its lines. Raises KbError where it is none."""
    try:
        return store.from_json(store.bytes_of(file) if data is None else data, kind)
    except (OSError, ValueError) as error:
        raise KbError(
            f"{file}: not a record of a run: {error}; restore it, or start another attempt with --again"
        ) from error


def create(file: Path, record: object) -> bytes:
    """File a record that nobody else has filed; its bytes. Raises KbError if another process did."""
    data = store.to_json(record, order=None)
    try:
        store.create(file, data)
    except FileExistsError as error:
        raise KbError(f"{file}: another kb filed this; run the same again") from error
    return data


def begin(layout: store.Layout, stub: Stub, plan: Plan) -> Attempt:
    """File the plan of a fresh attempt."""
    folder = home_of(layout, stub) / str(plan.number)
    ignored = layout.at(f"{plan.keep}/.gitignore")
    if not ignored.exists():
        store.write(ignored, "*\n")
    digest = store.digest_of(create(folder / "plan.json", plan))
    return Attempt(folder, _large(layout, stub.run, plan), plan, digests={"plan.json": digest})


def extend(attempt: Attempt, repeats: int, *, started: str) -> Attempt:
    """Ask for so many more repeats of each side of a measured attempt, which is then unfinished again. What was filed of it stays as it is."""
    count = len(attempt.of("bench", "change"))
    more = More(count + repeats, started, count)
    create(attempt.folder / f"more-{len(attempt.added) + 2:03d}.json", more)
    return replace(attempt, added=(*attempt.added, more), digests=_digests(attempt.folder))


def add(attempt: Attempt, sample: Sample, output: bytes) -> Attempt:
    """File one sample, and its output: in the sample where it is short, else as a file where it tells something by itself."""
    telling = sample.problem or sample.kind in ("build", "checks", "profile") or sample.index == 1
    name, shown = "", output
    if len(output) > _INLINE:
        shown = output[: _INLINE // 2] + b"\n[...]\n" + output[-_INLINE // 2 :]
        if telling:
            name = f"{len(attempt.samples) + 1:03d}-{sample.kind}-{sample.side}.txt"
            attempt = with_file(attempt, name, output, most=len(output))
    lines = [store.packed(s).encode() for s in attempt.samples]
    before = store.digest_of(lines[-1]) if lines else attempt.digests["plan.json"]
    filed = replace(sample, output=shown.decode("utf-8", "replace"), file=name, before=before)
    # Written anew from memory each time: what somebody made of the file meanwhile is gone.
    data = b"\n".join([*lines, store.packed(filed).encode(), b""])
    attempt = with_file(attempt, SAMPLES, data, most=len(data))
    return replace(attempt, samples=(*attempt.samples, filed))


def with_file(attempt: Attempt, name: str, data: bytes, *, most: int = _SMALL) -> Attempt:
    """Keep a file of at most so many bytes beside the samples; one that is larger goes to the folder for large files."""
    if len(data) > most:
        store.write(attempt.large / name, data, durable=False)
        return attempt
    store.write(attempt.folder / name, data)
    return replace(attempt, digests={**attempt.digests, name: store.digest_of(data)})


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
    room, small = _COPIES, _SMALL_SIDE
    for file in files[:_MOST_FILES]:
        item = described(home, file, role, side)
        if item.digest and item.size <= min(room, _COPY):
            room -= item.size
            data, name = store.bytes_of(file), f"{item.role}-{side}/{item.path}"
            large = b"\0" in data or item.size > min(_SMALL, small)
            small -= 0 if large else item.size
            attempt = with_file(attempt, name, data, most=-1 if large else _SMALL)
            item = replace(item, copy=name, large=large)
        elif not item.digest:
            left_out.append(f"{item.path} of the {side}: {item.size >> 20} MB that cannot be read")
        kept.append(item)
    return attempt, tuple(kept), tuple(left_out)


def finish(attempt: Attempt, measurement: Measurement) -> Attempt:
    """File the last word, with the digest of everything else as it was written. Raises KbError where a file is no longer that."""
    here = _digests(attempt.folder)
    changed = sorted(n for n, digest in attempt.digests.items() if here.get(n) != digest)
    if changed:
        raise KbError(
            f"{attempt.folder}: {', '.join(changed[:4])} changed while it was measured: something wrote to the records; measure --again"
        )
    filed = replace(measurement, files=tuple(sorted(attempt.digests.items())))
    create(attempt.folder / attempt.last_word, filed)
    return replace(attempt, words=(*attempt.words, filed))


def receipt_of(attempt: Attempt, word: str = "") -> str:
    """Number of a finished attempt and digest of its last word, which holds the digests of all else: what the page keeps of it."""
    file = attempt.folder / (word or attempt.last_word)
    return f"{attempt.plan.number}:{store.file_digest(file)}"


def refuse_tampered(attempt: Attempt, stub: Stub) -> None:
    """Raises KbError where files of a finished attempt are gone or no longer what was measured."""
    if attempt.measurement is None:
        return
    here, receipt = _digests(attempt.folder), stub.page.field("measured")
    changed = [f for f, digest in attempt.measurement.files if here.get(f) != digest]
    for item in attempt.kept:
        place = attempt.copy_of(item) if item.large else None
        if place and store.file_digest(place) != item.digest:
            changed.append(item.copy)
    # Killed just after repeats were added, the page still names the word before; the newer one holds the digest of that.
    words = {_last_word(n) for n in range(len(attempt.added) + 1)} - set(changed)
    ours = receipt.startswith(f"{attempt.plan.number}:")
    if ours and receipt not in [receipt_of(attempt, word) for word in words]:
        changed.append(attempt.last_word)
    if changed:
        raise KbError(
            f"{attempt.folder}: {', '.join(sorted(changed)[:4])} changed since the run was measured; restore the files, or measure --again"
        )
