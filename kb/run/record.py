"""The run record that every loop's log is normalised to. Refuses to guess: what was not said is empty, and raw spellings stay."""

import json
import re
from dataclasses import MISSING, asdict, dataclass, fields
from enum import StrEnum
from functools import lru_cache

from kb import KbError
from kb.run.direction import Direction, word_set
from kb.store import json_of


class Outcome(StrEnum):
    """What a loop did with a run, from its own status column; `OTHER` is a status that is none of the four."""

    KEPT = "kept"
    DISCARDED = "discarded"
    CRASHED = "crashed"
    CHECKS_FAILED = "checks_failed"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Metric:
    """One measured value. `value` is None where the log shows a sentinel or no number; `raw` is then what it shows."""

    name: str
    value: float | None
    unit: str = ""
    direction: Direction | None = None
    n: int | None = None
    stddev: float | None = None
    raw: str = ""


@dataclass(frozen=True, slots=True)
class Lever:
    """What the change pulled: a name and, where it was stated, the value it was set to."""

    name: str
    value: str = ""


@dataclass(frozen=True, slots=True)
class Falsification:
    """When the hypothesis counts as wrong: metric, one of < <= > >= ==, threshold."""

    metric: str
    comparison: str
    threshold: float


@dataclass(frozen=True, slots=True)
class Check:
    """A test that ran beside the measurement: passed, failed or skipped."""

    name: str
    outcome: str


@dataclass(frozen=True, slots=True)
class Artifact:
    """A file that a run left: profile, dump or log, with its digest where it was taken."""

    kind: str
    uri: str
    digest: str = ""


@dataclass(frozen=True, slots=True)
class Noise:
    """Width within which two measurements are equal, in the metric's unit, and where the width came from."""

    band: float
    source: str


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a run is written down: its log, its line (1-based), and the digest of the line as written. Never its number."""

    file: str
    line: int
    digest: str = ""


@dataclass(frozen=True, slots=True)
class Run:
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
    artifacts: tuple[Artifact, ...] = ()
    firing: str = ""
    verdict: str = ""
    decision: str = ""
    noise: Noise | None = None
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
        found = self.metric(self.primary)
        return found.value if found else None


_OUTCOMES = {
    Outcome.KEPT: """keep kept keeper accept accepted adopt adopted merge merged promote promoted
        retain retained ship shipped land landed 保留 采纳 接受""",
    Outcome.DISCARDED: """discard discarded revert reverted reject rejected kill killed drop dropped
        rollback rolled_back abandon abandoned undo undone backed_out 回滚 丢弃 放弃 拒绝""",
    Outcome.CRASHED: """crash crashed oom out_of_memory fail failed failure timeout timed_out no_json
        error errored exception segfault compile_error build_failed 崩溃 失败 超时""",
    Outcome.CHECKS_FAILED: "incorrect wrong_output wrong_result",
}
_OUTCOME_OF = {word: outcome for outcome, words in _OUTCOMES.items() for word in words.split()}
_MARKS = {"✅": Outcome.KEPT, "✔": Outcome.KEPT, "❌": Outcome.DISCARDED, "✗": Outcome.DISCARDED}
_MARKS |= {"✘": Outcome.DISCARDED, "💥": Outcome.CRASHED}
# Statuses that are known and say neither; unknown words are OTHER too but mark no status column.
_SAYS_NEITHER = word_set("""ok pass passed success succeeded done complete completed finished baseline
    base parked park inconclusive invalid tentative partial wip info usable theoretical blocked deferred
    pending running queued skip skipped neutral tie flat support supported repair investigated refuted
    provisional open filed pruned noop no_op reference warmup tbd duplicate improved regressed confirmed
    regression worse mixed marginal unchanged in_progress started measured within_noise 基线""")
# What the machines did, not the change: such a run tells nothing of it.
_INFRA = word_set("infra infrastructure preempted rate network ssh quota cancelled canceled interrupted")
_DENIALS = word_set("not no non un never")
# A failure that names what failed: a gate, or else the run itself.
_GATES = word_set("""check checks test tests correctness parity accuracy validation verification verify
    numerics gate guard quality lint typecheck""")
_FAILURES = word_set("crash crashed oom fail fails failed failure error mismatch timeout")
# Words that say what was done wherever they stand in a name: `screen_discard`, `reverted_worse`.
_DONE = word_set("discard discarded revert reverted reject rejected keep kept crashed oom")
# What is longer is a sentence, of which the beginning says what was done.
_LONGEST_STATUS = 200
_LONGEST_NAME = 40


@lru_cache(4096)
def status_words(raw: str) -> str:
    """A status without case, emphasis and separators: `**Checks-Failed**` gives `checks_failed`."""
    return re.sub(r"[\W_]+", "_", raw.lower()).strip("_")


@lru_cache(4096)
def outcome_of(raw: str) -> Outcome:
    """Outcome of a status as written; `keep (new best)` and `discard - OOM` by their first word."""
    raw = raw[:_LONGEST_STATUS].strip()
    words = status_words(raw)
    if words in _OUTCOME_OF:
        return _OUTCOME_OF[words]
    first, *rest = words.split("_")
    if first in _DENIALS:
        denied = any(_OUTCOME_OF.get(w) is Outcome.KEPT for w in rest[:1])
        return Outcome.DISCARDED if denied else Outcome.OTHER
    if first in _INFRA:
        return Outcome.OTHER
    if len(rest) < 4 and _FAILURES.intersection((first, *rest)) and _GATES.intersection((first, *rest)):
        return Outcome.CHECKS_FAILED
    # `drop_path` is a setting; `drop it` and `kept_best` say what was done.
    named = "_" in raw and " " not in raw
    if first in _OUTCOME_OF and (first in _DONE or not named):
        return _OUTCOME_OF[first]
    if named and rest and len(words) <= _LONGEST_NAME and rest[-1] in _DONE | _FAILURES:
        return _OUTCOME_OF.get(rest[-1], Outcome.CRASHED)
    foreign = (o for w, o in _OUTCOME_OF.items() if not w.isascii() and first.startswith(w))
    return next(foreign, None) or _MARKS.get(raw[:1], Outcome.OTHER)


def is_status(raw: str) -> bool:
    """Whether a cell is a word of the status vocabulary, decided or not."""
    if len(raw) > _LONGEST_NAME:
        return False
    begun = status_words(re.split(r"[(\[:;,–—]| - ", raw, maxsplit=1)[0])
    known = begun in _SAYS_NEITHER or begun.startswith("基线") or begun.split("_")[0] in _INFRA
    return known or outcome_of(raw) is not Outcome.OTHER


_NINES = frozenset(float("9" * n) for n in range(3, 13))


def is_sentinel(value: float, *, outcome: Outcome | None, direction: Direction | None, counted: bool) -> bool:
    """Whether a number stands for "not measured".

    On a crashed row 0 and ±999… are; on any row that was not kept −999… is, and 0 is unless the metric counts something
    (`counted`), because no time, loss or rate of a finished run is exactly 0. On a kept row only an impossible 0 is.
    """
    nines = abs(value) in _NINES
    if outcome is Outcome.CRASHED:
        return value == 0 or nines
    if outcome is not Outcome.KEPT and nines and value < 0:
        return True
    return value == 0 and direction is not None and not counted


def to_line(run: Run) -> str:
    """A run as one line of JSON without its empty fields; `from_line` gives the same run back."""
    return json.dumps(_without_empty(asdict(run)), ensure_ascii=False, sort_keys=True, allow_nan=False)


def _without_empty(value: object) -> object:
    if isinstance(value, dict):
        return {k: _without_empty(v) for k, v in value.items() if v is not None and v != "" and v != ()}
    if isinstance(value, (list, tuple)):
        return [_without_empty(v) for v in value]
    return value


def _made(kind: type, said: dict[str, object]) -> object:
    """A part of a record; empty texts, which `to_line` leaves out, are empty again."""
    blank = {f.name: None if f.name == "value" and kind is Metric else "" for f in fields(kind) if f.default is MISSING}
    return kind(**{**blank, **said})


def from_line(text: str) -> Run:
    """The run that `to_line` wrote. Raises KbError where the line is none."""
    try:
        said = json_of(text)
        said["origin"] = _made(Origin, said["origin"])
        if "outcome" in said:
            said["outcome"] = Outcome(said["outcome"])
        for name, kind in (("falsification", Falsification), ("noise", Noise)):
            if name in said:
                said[name] = _made(kind, said[name])
        for name, kind in (("metrics", Metric), ("levers", Lever), ("checks", Check), ("artifacts", Artifact)):
            said[name] = tuple(_made(kind, item) for item in said.get(name, ()))
        said["models"] = tuple(said.get("models", ()))
        said["notes"] = tuple((str(k), str(v)) for k, v in said.get("notes", ()))
        return Run(**said)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise KbError(f"not a run record: {error}; the line was changed by hand or cut off: {text[:80]}") from error
