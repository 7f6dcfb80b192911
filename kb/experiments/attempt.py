"""What was measured for one experiment, as files below sources/runs/: a plan, its samples, a last word. Refuses to rewrite any of them.

An attempt is a folder `1`, `2` ... with `plan.json` (written before anything runs), one `NNN-KIND-SIDE.json` and `.txt` a command, kept files,
and `measured.json` (written last, with the digest of every other file). Without the last, the attempt was cut off and can be resumed.
More repeats are added before the experiment is closed: `more-002.json` says how many there are to be, the last word is then `measured-002.json`.
"""

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Literal, TypeVar

from kb import KbError, store
from kb.run.measure import Repeated

Side = Literal["parent", "change"]
Pairs = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Plan:
    """What is going to be measured. `parent` is empty for a baseline; `set` holds variables that the change alone sees; `manifest` protected files."""

    number: int
    page: str
    target: str
    started: str
    metric: str = ""
    repository: str = ""
    change: str = ""
    parent: str = ""
    set: Pairs = ()
    build: str = ""
    benchmark: str = ""
    checks: str = ""
    profile: str = ""
    artifacts: tuple[str, ...] = ()
    protected: tuple[str, ...] = ()
    repeats: int = 5
    warmup: int = 0
    timeout_s: float = 600.0
    changed: tuple[str, ...] = ()
    touched: tuple[str, ...] = ()
    strayed: tuple[str, ...] = ()
    manifest: Pairs = ()
    host: Pairs = ()
    elsewhere: bool = False

    @property
    def hostname(self) -> str:
        return dict(self.host).get("host", "")


@dataclass(frozen=True, slots=True)
class Sample:
    """One command that ran. `kind`: build, warmup, bench, checks, profile. `problem` says why it measured nothing. `spreads` are (metric, stddev, n or 0).

    `repeated` are metrics that it printed with several values, of which the last one counts.
    """

    kind: str
    side: Side
    index: int
    exit: int = 0
    seconds: float = 0.0
    timed_out: bool = False
    metrics: tuple[tuple[str, float], ...] = ()
    refused: tuple[str, ...] = ()
    problem: str = ""
    output: str = ""
    output_bytes: int = 0
    spreads: tuple[tuple[str, float, int], ...] = ()
    repeated: Repeated = ()


@dataclass(frozen=True, slots=True)
class Kept:
    """A file that a run left. `role`: artifact (built, compared by digest), dump (left in KB_OUT), profile. `file` is its copy, empty where it was too large."""

    role: str
    side: Side
    path: str
    digest: str
    size: int
    file: str = ""


@dataclass(frozen=True, slots=True)
class Measurement:
    """The last word of an attempt. `checks`: passed, skipped, or how they failed; empty: the target has none. `files` are digests by name."""

    finished: str
    checks: str = ""
    touched: tuple[str, ...] = ()
    kept: tuple[Kept, ...] = ()
    files: Pairs = ()


@dataclass(frozen=True, slots=True)
class More:
    """That repeats were added to a measured attempt: how many of each side there are to be in all."""

    repeats: int
    started: str


@dataclass(frozen=True, slots=True)
class Attempt:
    """`plan` holds all repeats that are to be, `extended` says how often some were added; `earlier` is the last word before the newest of these."""

    folder: Path
    plan: Plan
    samples: tuple[Sample, ...] = ()
    measurement: Measurement | None = None
    extended: int = 0
    earlier: Measurement | None = None

    @property
    def last_word(self) -> str:
        """Name of the file that ends the attempt."""
        return _last_word(self.extended)

    def of(self, kind: str, side: Side) -> tuple[Sample, ...]:
        return tuple(s for s in self.samples if s.kind == kind and s.side == side)

    def values(self, metric: str, side: Side) -> tuple[float, ...]:
        """Measured values of a metric, repeats in order; warm-ups are none."""
        return tuple(v for s in self.of("bench", side) for name, v in s.metrics if name == metric)

    def problem(self, side: Side) -> str:
        """Why this side did not measure; empty where it did."""
        return next(
            (
                f"{s.kind} {s.index}: {s.problem}" if s.kind != "build" else f"the build: {s.problem}"
                for s in self.samples
                if s.side == side and s.kind in ("build", "warmup", "bench") and s.problem
            ),
            "",
        )

    @property
    def repeated(self) -> dict[str, tuple[float, ...]]:
        """Metrics that one run of the benchmark printed with several values, with those of the first such run."""
        found: dict[str, tuple[float, ...]] = {}
        for sample in self.samples:
            for name, values in sample.repeated if sample.kind == "bench" else ():
                found.setdefault(name, tuple(values))
        return found

    @property
    def metrics(self) -> tuple[str, ...]:
        """Names of all metrics that the benchmark printed, sorted."""
        return tuple(sorted({name for s in self.samples if s.kind == "bench" for name, _ in s.metrics}))


Record = TypeVar("Record", Plan, Sample, Measurement, More)


def _last_word(extended: int) -> str:
    return f"measured-{extended + 1:03d}.json" if extended else "measured.json"


def attempts_in(folder: Path) -> tuple[Attempt, ...]:
    """Attempts of one experiment, oldest first; a folder without a plan is none."""
    numbers = sorted(int(f.name) for f in folder.iterdir() if f.name.isdigit()) if folder.is_dir() else []
    return tuple(attempt_at(folder / str(n)) for n in numbers if (folder / str(n) / "plan.json").is_file())


def attempt_at(folder: Path) -> Attempt:
    """The attempt in a folder. Raises KbError for a record that was changed by hand or cut off."""
    samples = tuple(_record(Sample, f) for f in sorted(folder.glob("*.json")) if f.name[:1].isdigit())
    plan = _record(Plan, folder / "plan.json")
    added = [_record(More, f) for f in sorted(folder.glob("more-*.json"))]
    if added:
        plan = replace(plan, repeats=added[-1].repeats)
    earlier = _measurement(folder / _last_word(len(added) - 1)) if added else None
    return Attempt(folder, plan, samples, _measurement(folder / _last_word(len(added))), len(added), earlier)


def _measurement(file: Path) -> Measurement | None:
    if not file.is_file():
        return None
    found = _record(Measurement, file)
    return replace(found, kept=tuple(Kept(**dict(k)) for k in found.kept))


def _record(kind: type[Record], file: Path) -> Record:
    try:
        return kind(**{k: _tuples(v) for k, v in json.loads(file.read_bytes()).items()})
    except (OSError, ValueError, TypeError, AttributeError) as error:
        raise KbError(f"{file}: not a record of a run: {error}; restore it, or start another attempt with --again") from error


def _tuples(value: object) -> object:
    if isinstance(value, list):
        return tuple(_tuples(v) for v in value)
    return tuple((k, _tuples(v)) for k, v in value.items()) if isinstance(value, dict) else value


def to_json(record: Plan | Sample | Measurement | More) -> str:
    return json.dumps(asdict(record), ensure_ascii=False, indent=1, sort_keys=True, allow_nan=False) + "\n"


def begin(folder: Path, plan: Plan) -> Attempt:
    """File the plan of a fresh attempt. Raises KbError if another process filed one of that number."""
    try:
        store.create(folder / str(plan.number) / "plan.json", to_json(plan))
    except FileExistsError as error:
        raise KbError(f"{folder / str(plan.number)}: another kb started this attempt") from error
    return Attempt(folder / str(plan.number), plan)


def extend(attempt: Attempt, repeats: int, *, started: str) -> Attempt:
    """Ask for so many more repeats of each side of a measured attempt, which is then unfinished again. What was filed of it stays as it is."""
    more = More(attempt.plan.repeats + repeats, started)
    try:
        store.create(attempt.folder / f"more-{attempt.extended + 2:03d}.json", to_json(more))
    except FileExistsError as error:
        raise KbError(f"{attempt.folder}: another kb adds repeats to this attempt") from error
    return attempt_at(attempt.folder)


def add(attempt: Attempt, sample: Sample, output: bytes) -> Attempt:
    """File one sample with its output, output first: a sample without its output is never read."""
    name = f"{len(attempt.samples) + 1:03d}-{sample.kind}-{sample.side}"
    store.write(attempt.folder / f"{name}.txt", output)
    filed = replace(sample, output=f"{name}.txt")
    try:
        store.create(attempt.folder / f"{name}.json", to_json(filed))
    except FileExistsError as error:
        raise KbError(f"{attempt.folder / name}.json: another kb writes to this attempt") from error
    return replace(attempt, samples=(*attempt.samples, filed), measurement=None)


def finish(attempt: Attempt, *, finished: str, checks: str, touched: Iterable[str], kept: tuple[Kept, ...]) -> Attempt:
    """File the last word, with the digest of everything else in the folder."""
    files = {
        f.relative_to(attempt.folder).as_posix(): store.digest_of(f.read_bytes())
        for f in sorted(attempt.folder.rglob("*"))
        if f.is_file() and f.suffix != ".kb-tmp"
    }
    measurement = Measurement(finished, checks, tuple(touched), kept, tuple(sorted(files.items())))
    try:
        store.create(attempt.folder / attempt.last_word, to_json(measurement))
    except FileExistsError as error:
        raise KbError(f"{attempt.folder}: another kb finished this attempt") from error
    return replace(attempt, measurement=measurement)


def receipt_of(attempt: Attempt) -> str:
    """Number of a finished attempt and digest of its last word, which holds the digests of all else: what the page keeps of it."""
    return _receipt(attempt, attempt.last_word)


def _receipt(attempt: Attempt, word: str) -> str:
    return f"{attempt.plan.number}:{store.digest_of((attempt.folder / word).read_bytes())}"


def tampered(attempt: Attempt, receipt: str) -> tuple[str, ...]:
    """Files of a finished attempt that are gone or no longer what was measured; `receipt` is the page's, of this attempt or of another."""
    if attempt.measurement is None:
        return ()
    changed = [
        f
        for f, digest in attempt.measurement.files
        if not (attempt.folder / f).is_file() or store.digest_of((attempt.folder / f).read_bytes()) != digest
    ]
    # Killed just after repeats were added, the page still names the word before; the newer one holds the digest of that.
    words = [_last_word(n) for n in range(attempt.extended + 1)]
    if receipt.startswith(f"{attempt.plan.number}:") and receipt not in [_receipt(attempt, w) for w in words if w not in changed]:
        changed.append(attempt.last_word)
    return tuple(sorted(changed))
