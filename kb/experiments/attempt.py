"""What was measured for one experiment, as files below sources/runs/: a plan, its samples, a last word. Refuses to rewrite any of them.

An attempt is a folder `1`, `2` ... with `plan.json` (written before anything runs), `samples.jsonl` (a line a command, each with
the digest of the line before it), small texts that were left, and `measured.json` (written last, with the digest of every file).
Without the last, the attempt was cut off and can be resumed. More repeats are added before the experiment is closed:
`more-002.json` says how many there are to be, the last word is then `measured-002.json`. What is large or no text lies in a folder
that git ignores, `artifacts/`; its digests stand in the last word, and it may be absent.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar

import msgspec

from kb import KbError, store
from kb.experiments.plan import Kept, Measurement, More, Plan, Sample, Side

SAMPLES = "samples.jsonl"
# What an output may weigh to stand in its sample; a longer one is a file beside it, where one is kept.
_INLINE = 4000
# What is kept in sources/: texts of at most this size, and of one side together.
_SMALL, _SMALL_SIDE = 64 << 10, 256 << 10


@dataclass(frozen=True, slots=True)
class Attempt:
    """`wanted` is how many repeats of each side there are to be, `first` how many there were before any were added, `extended` how
    often some were; `earlier` is the last word before the newest of these. `digests` are of the files as they were written, not as somebody may have left them."""

    folder: Path
    large: Path
    plan: Plan
    samples: tuple[Sample, ...] = ()
    measurement: Measurement | None = None
    wanted: int = 0
    first: int = 0
    extended: int = 0
    earlier: Measurement | None = None
    digests: Mapping[str, str] = field(default_factory=dict)

    @property
    def last_word(self) -> str:
        """Name of the file that ends the attempt."""
        return _last_word(self.extended)

    @property
    def looks(self) -> int:
        """How often its samples were judged: at each doubling up to the most that were planned, then once for each time that more were asked for."""
        count, at, found = self.first or len(self.of("bench", "change")), self.plan.repeats, 1
        while at < min(count, self.plan.most or at):
            at, found = 2 * at, found + 1
        return found + self.extended

    def of(self, kind: str, side: Side) -> tuple[Sample, ...]:
        return tuple(s for s in self.samples if s.kind == kind and s.side == side)

    def values(self, metric: str, side: Side) -> tuple[float, ...]:
        """Measured values of a metric, repeats in order; warm-ups are none."""
        return tuple(v for s in self.of("bench", side) for name, v in s.metrics if name == metric)

    def problem(self, side: Side) -> str:
        """Why this side did not measure; empty where it did."""
        kinds = ("build", "warmup", "bench")
        found = next(
            (s for s in self.samples if s.side == side and s.kind in kinds and s.problem), None
        )
        return (
            f"{'the build' if found.kind == 'build' else f'{found.kind} {found.index}'}: {found.problem}"
            if found
            else ""
        )

    @property
    def repeated(self) -> dict[str, tuple[float, ...]]:
        """Metrics that one run of the benchmark printed with several values, with those of the first such run."""
        found: dict[str, tuple[float, ...]] = {}
        for sample in self.samples:
            for name, values in sample.repeated if sample.kind == "bench" else ():
                found.setdefault(name, values)
        return found

    @property
    def metrics(self) -> tuple[str, ...]:
        """Names of all metrics that the benchmark printed, sorted."""
        return tuple(
            sorted({name for s in self.samples if s.kind == "bench" for name, _ in s.metrics})
        )

    def copy_of(self, kept: Kept) -> Path | None:
        """The copy of a file that was kept, if it is still here."""
        place = (self.large if kept.large else self.folder) / kept.copy
        return place if kept.copy and place.is_file() else None

    def output_of(self, sample: Sample) -> bytes:
        file = self.folder / sample.file
        return (
            file.read_bytes()
            if sample.file and file.is_file()
            else sample.output.encode("utf-8", "surrogateescape")
        )


Record = TypeVar("Record", Plan, Sample, Measurement, More)


def _last_word(extended: int) -> str:
    return f"measured-{extended + 1:03d}.json" if extended else "measured.json"


def attempts_in(layout: store.Layout, run: str) -> tuple[Attempt, ...]:
    """Attempts of one experiment, oldest first; `run` is what its page says. A folder without a plan is none, nor is one elsewhere."""
    if not _is_home(layout, run):
        return ()
    folder = layout.root / run
    numbers = (
        sorted(int(f.name) for f in folder.iterdir() if f.name.isdecimal() and f.name.isascii())
        if folder.is_dir()
        else []
    )
    return tuple(
        _attempt_at(layout, folder / str(n))
        for n in numbers
        if (folder / str(n) / "plan.json").is_file()
    )


def _is_home(layout: store.Layout, run: str) -> bool:
    """Whether attempts may stand in the folder that a page names: below `sources/`, and no link leads out of there."""
    home = run.startswith("sources/") and store.is_inner(run)
    return home and layout.holds(layout.root / run / "plan.json")


def runs_home(layout: store.Layout, run: str) -> Path:
    """Folder of an experiment's attempts. Raises KbError where a page names one that is not kb's to write to."""
    if not _is_home(layout, run):
        raise KbError(
            f"run: {run[:200]!r}: attempts stand below sources/ of this knowledge base; restore the line that `kb experiment open` wrote"
        )
    return layout.root / run


def _attempt_at(layout: store.Layout, folder: Path) -> Attempt:
    """The attempt in a folder. Raises KbError for a record that was changed by hand or cut off."""
    plan = _record(Plan, folder / "plan.json")
    samples = _samples(folder)
    added = [_record(More, f) for f in sorted(folder.glob("more-*.json"))]
    words = [folder / _last_word(n) for n in (len(added) - 1, len(added))]
    earlier, last = (
        _record(Measurement, w) if w.is_file() and (added or w == words[1]) else None for w in words
    )
    wanted = added[-1].repeats if added else plan.repeats
    first = added[0].before if added else 0
    return Attempt(
        folder,
        _large(layout, folder, plan),
        plan,
        samples,
        last,
        wanted,
        first,
        len(added),
        earlier,
        _digests(folder),
    )


def _large(layout: store.Layout, folder: Path, plan: Plan) -> Path:
    runs = (layout.sources / "runs").resolve()
    inside = (
        folder.resolve().relative_to(runs)
        if folder.resolve().is_relative_to(runs)
        else Path(folder.name)
    )
    return layout.at(f"{plan.keep}/{inside}/plan.json").parent


def _digests(folder: Path) -> dict[str, str]:
    files = (f for f in sorted(folder.rglob("*")) if f.is_file() and not f.name.endswith(".kb-tmp"))
    return {f.relative_to(folder).as_posix(): store.digest_of(f.read_bytes()) for f in files}


def _samples(folder: Path) -> tuple[Sample, ...]:
    file = folder / SAMPLES
    lines = file.read_bytes().splitlines() if file.is_file() else []
    samples = tuple(_decoded(Sample, line, file) for line in lines)
    before = store.digest_of((folder / "plan.json").read_bytes())
    for number, (sample, line) in enumerate(zip(samples, lines, strict=True), 1):
        if sample.before != before:
            raise KbError(
                f"{file}:{number}: what stands before this line changed since it was measured; restore it, or measure --again"
            )
        before = store.digest_of(line)
    return samples


def _record(kind: type[Record], file: Path) -> Record:
    try:
        return _decoded(kind, file.read_bytes(), file)
    except OSError as error:
        raise KbError(f"{file}: cannot read it: {error.strerror or error}") from error


def _decoded(kind: type[Record], data: bytes, file: Path) -> Record:
    try:
        return msgspec.json.decode(data, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise KbError(
            f"{file}: not a record of a run: {error}; restore it, or start another attempt with --again"
        ) from error


def _encoded(record: Plan | Sample | Measurement | More) -> bytes:
    return msgspec.json.format(msgspec.json.encode(record), indent=1) + b"\n"


def begin(layout: store.Layout, run: str, plan: Plan) -> Attempt:
    """File the plan of a fresh attempt. Raises KbError if another process filed one of that number."""
    folder = runs_home(layout, run) / str(plan.number)
    data = _encoded(plan)
    ignored = layout.at(f"{plan.keep}/.gitignore")
    if not ignored.exists():
        store.write(ignored, "*\n")
    _create(folder / "plan.json", data, "started this attempt")
    return Attempt(
        folder,
        _large(layout, folder, plan),
        plan,
        wanted=plan.repeats,
        digests={"plan.json": store.digest_of(data)},
    )


def _create(file: Path, data: bytes, did: str) -> None:
    try:
        store.create(file, data)
    except FileExistsError as error:
        raise KbError(f"{file}: another kb {did}") from error


def extend(layout: store.Layout, attempt: Attempt, repeats: int, *, started: str) -> Attempt:
    """Ask for so many more repeats of each side of a measured attempt, which is then unfinished again. What was filed of it stays as it is."""
    count = len(attempt.of("bench", "change"))
    more = More(count + repeats, started, count)
    _create(
        attempt.folder / f"more-{attempt.extended + 2:03d}.json",
        _encoded(more),
        "adds repeats to this attempt",
    )
    return _attempt_at(layout, attempt.folder)


def add(attempt: Attempt, sample: Sample, output: bytes) -> Attempt:
    """File one sample, and its output: in the sample where it is short, else as a file where it tells something by itself."""
    files = dict(attempt.digests)
    number = len(attempt.samples) + 1
    whole = len(output) > _INLINE and (
        sample.problem or sample.kind in ("build", "checks", "profile") or sample.index == 1
    )
    name = f"{number:03d}-{sample.kind}-{sample.side}.txt" if whole else ""
    if name:
        store.write(attempt.folder / name, output)
        files[name] = store.digest_of(output)
    shown = (
        output
        if len(output) <= _INLINE
        else output[: _INLINE // 2] + b"\n[...]\n" + output[-_INLINE // 2 :]
    )
    lines = _lines(attempt)
    before = store.digest_of(lines[-1]) if lines else files["plan.json"]
    filed = replace(sample, output=shown.decode("utf-8", "replace"), file=name, before=before)
    data = b"\n".join([*lines, msgspec.json.encode(filed), b""])
    # Written anew from memory each time: what somebody made of the file meanwhile is gone.
    store.write(attempt.folder / SAMPLES, data)
    files[SAMPLES] = store.digest_of(data)
    return replace(attempt, samples=(*attempt.samples, filed), measurement=None, digests=files)


def _lines(attempt: Attempt) -> list[bytes]:
    return [msgspec.json.encode(s) for s in attempt.samples]


def with_file(attempt: Attempt, name: str, data: bytes) -> Attempt:
    """Keep a small file beside the samples; one that is large goes to the folder for large files."""
    if len(data) > _SMALL:
        store.write(attempt.large / name, data, durable=False)
        return attempt
    store.write(attempt.folder / name, data)
    return replace(attempt, digests={**attempt.digests, name: store.digest_of(data)})


def keep(attempt: Attempt, item: Kept, data: bytes, *, room: int) -> tuple[Attempt, Kept]:
    """A file with its copy: beside the samples where it is a small text and `room` bytes are left there, else with the large ones."""
    name = f"{item.role}-{item.side}/{item.path}"
    if len(data) <= min(_SMALL, room) and b"\0" not in data:
        store.write(attempt.folder / name, data)
        return replace(attempt, digests={**attempt.digests, name: store.digest_of(data)}), replace(
            item, copy=name
        )
    store.write(attempt.large / name, data, durable=False)
    return attempt, replace(item, copy=name, large=True)


def room_of(kept: Iterable[Kept], side: Side) -> int:
    """Bytes that copies of one side may still take in sources/."""
    return _SMALL_SIDE - sum(k.size for k in kept if k.side == side and k.copy and not k.large)


def finish(attempt: Attempt, measurement: Measurement) -> Attempt:
    """File the last word, with the digest of everything else as it was written. Raises KbError where a file is no longer that."""
    here = _digests(attempt.folder)
    changed = sorted(n for n, digest in attempt.digests.items() if here.get(n) != digest)
    if changed:
        raise KbError(
            f"{attempt.folder}: {', '.join(changed[:4])} changed while it was measured: something wrote to the records; measure --again"
        )
    filed = replace(measurement, files=tuple(sorted(attempt.digests.items())))
    _create(attempt.folder / attempt.last_word, _encoded(filed), "finished this attempt")
    return replace(attempt, measurement=filed)


def receipt_of(attempt: Attempt) -> str:
    """Number of a finished attempt and digest of its last word, which holds the digests of all else: what the page keeps of it."""
    return _receipt(attempt, attempt.last_word)


def _receipt(attempt: Attempt, word: str) -> str:
    return f"{attempt.plan.number}:{store.digest_of((attempt.folder / word).read_bytes())}"


def tampered(attempt: Attempt, receipt: str) -> tuple[str, ...]:
    """Files of a finished attempt that are gone or no longer what was measured; `receipt` is the page's, of this attempt or of another."""
    if attempt.measurement is None:
        return ()
    here = _digests(attempt.folder)
    changed = [f for f, digest in attempt.measurement.files if here.get(f) != digest]
    for item in attempt.measurement.kept:
        place = attempt.copy_of(item) if item.large else None
        if place and store.digest_of(place.read_bytes()) != item.digest:
            changed.append(item.copy)
    # Killed just after repeats were added, the page still names the word before; the newer one holds the digest of that.
    words = [_last_word(n) for n in range(attempt.extended + 1)]
    if receipt.startswith(f"{attempt.plan.number}:") and receipt not in [
        _receipt(attempt, w) for w in words if w not in changed
    ]:
        changed.append(attempt.last_word)
    return tuple(sorted(changed))
