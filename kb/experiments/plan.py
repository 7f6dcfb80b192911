"""What the files of an attempt hold: its plan, a sample a command, what was kept, its last word."""

from dataclasses import dataclass
from typing import Literal

from kb.experiments.targets import Method

Side = Literal["parent", "change"]
Pairs = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan(Method):
    """What is going to be measured. `parent` is empty for a baseline; `set` holds variables that the change alone sees;
    `manifest` are digests of protected files, `keep` the folder for what is too large for sources/."""

    number: int
    page: str
    target: str
    started: str
    repository: str = ""
    change: str = ""
    parent: str = ""
    set: Pairs = ()
    changed: tuple[str, ...] = ()
    touched: tuple[str, ...] = ()
    strayed: tuple[str, ...] = ()
    manifest: Pairs = ()
    host: Pairs = ()
    walls: str = ""
    keep: str = "artifacts"
    elsewhere: bool = False

    @property
    def sides(self) -> tuple[Side, ...]:
        return ("parent", "change") if self.parent else ("change",)


@dataclass(frozen=True, slots=True)
class Sample:
    """One command that ran. `kind`: build, warmup, bench, checks, profile. `problem` says why it measured nothing.

    `counts` are METRIC lines by name where there were several, of which the last one counts; `spreads` are (metric,
    stddev, n or 0) that a record states. `output` is what it printed, or its beginning and end; `file` holds more of it.
    """

    kind: str
    side: Side
    index: int
    exit: int = 0
    seconds: float = 0.0
    metrics: tuple[tuple[str, float], ...] = ()
    problem: str = ""
    output: str = ""
    file: str = ""
    counts: tuple[tuple[str, int], ...] = ()
    spreads: tuple[tuple[str, float, int], ...] = ()
    before: str = ""


@dataclass(frozen=True, slots=True)
class KeptFile:
    """A file that a run left. `role`: artifact (built, compared by digest), dump (left in KB_OUT), profile. `copy` is where it is kept:
    below the attempt, or (`large`) below the folder for large files; empty where it is not."""

    role: str
    side: Side
    path: str
    digest: str
    size: int
    copy: str = ""
    large: bool = False


@dataclass(frozen=True, slots=True)
class Measurement:
    """The last word of an attempt. `checks`: passed, skipped, or how they failed; empty: the target has none. `touched` are protected
    files and files of the parent that were written to, `forged` METRIC lines that are not the benchmark's; `files` are digests by name."""

    finished: str
    checks: str = ""
    touched: tuple[str, ...] = ()
    forged: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    kept: tuple[KeptFile, ...] = ()
    files: Pairs = ()


@dataclass(frozen=True, slots=True)
class More:
    """That repeats were added to a measured attempt: how many of each side there are to be in all, and how many there were."""

    repeats: int
    started: str
    before: int = 0
