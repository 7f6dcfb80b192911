"""The run record that every loop's log is normalised to. Refuses to guess: what was not said is empty, and raw spellings stay."""

from enum import StrEnum

import msgspec

from kb import KbError
from kb.run.direction import Direction


class Outcome(StrEnum):
    """What a loop did with a run, from its own status column; `OTHER` is a status that is none of the four."""

    KEPT = "kept"
    DISCARDED = "discarded"
    CRASHED = "crashed"
    CHECKS_FAILED = "checks_failed"
    OTHER = "other"


class Metric(msgspec.Struct, frozen=True, omit_defaults=True):
    """One measured value. `value` is None where the log shows a sentinel or no number; `raw` is then what it shows."""

    name: str = ""
    value: float | None = None
    unit: str = ""
    direction: Direction | None = None
    n: int | None = None
    stddev: float | None = None
    raw: str = ""


class Lever(msgspec.Struct, frozen=True, omit_defaults=True):
    """What the change pulled: a name and, where it was stated, the value it was set to."""

    name: str = ""
    value: str = ""

    @property
    def text(self) -> str:
        """`name=value`, or the bare name."""
        return f"{self.name}={self.value}" if self.value else self.name


class Falsification(msgspec.Struct, frozen=True, omit_defaults=True):
    """When the hypothesis counts as wrong: metric, one of < <= > >= ==, threshold."""

    metric: str = ""
    comparison: str = ""
    threshold: float = 0.0


class Check(msgspec.Struct, frozen=True, omit_defaults=True):
    """A test that ran beside the measurement: passed, failed or skipped."""

    name: str = ""
    outcome: str = ""


class Origin(msgspec.Struct, frozen=True, omit_defaults=True):
    """Where a run is written down: its log, its line (1-based), and the digest of the line as written. Never its number."""

    file: str = ""
    line: int = 0
    digest: str = ""


class Run(msgspec.Struct, frozen=True, omit_defaults=True):
    """One attempt of a loop. `primary` names the metric it was judged by; `notes` hold what the reader did not recognise."""

    origin: Origin
    format: str = ""
    label: str = ""
    target: str = ""
    variant: str = ""
    segment: int = 0
    status: str = ""
    outcome: Outcome | None = None
    description: str = ""
    primary: str = ""
    metrics: tuple[Metric, ...] = ()
    levers: tuple[Lever, ...] = ()
    hypothesis: str = ""
    mechanism: str = ""
    predicted_signal: str = ""
    falsification: Falsification | None = None
    reason: str = ""
    next_step: str = ""
    parent: str = ""
    code: str = ""
    baseline: str = ""
    checks: tuple[Check, ...] = ()
    verdict: str = ""
    decision: str = ""
    models: tuple[str, ...] = ()
    tokens: int | None = None
    created: str = ""
    notes: tuple[tuple[str, str], ...] = ()

    def metric(self, name: str) -> Metric | None:
        """The metric of that name, if the run has one."""
        return next((m for m in self.metrics if m.name == name), None)

    @property
    def value(self) -> float | None:
        """Value of the primary metric; None where it was not measured."""
        figure = self.metric(self.primary)
        return figure.value if figure else None


_DECODER = msgspec.json.Decoder(Run)


def to_line(run: Run) -> str:
    """A run as one line of JSON without its empty fields; `from_line` gives the same run back."""
    return msgspec.json.encode(run, order="sorted").decode()


def from_line(text: str) -> Run:
    """The run that `to_line` wrote. Raises KbError where the line is none."""
    try:
        return _DECODER.decode(text)
    except msgspec.MsgspecError as error:
        message = f"not a run record: {error}; the line was changed by hand or cut off: {text[:80]}"
        raise KbError(message) from error
