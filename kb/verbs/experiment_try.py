"""kb experiment try [experiment]: check, open, run, audit and close one experiment, from one file."""

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from kb import KbError
from kb.verbs import FINDINGS, FINE, Caller, Result, argument, flag, option, several

if TYPE_CHECKING:
    from kb.experiments.closing import Closed


@dataclass(frozen=True, slots=True, kw_only=True)
class TryExperiment:
    """A proposal, and what the later steps would ask. Edits of known files that are not committed are measured as they stand."""

    proposal: str = argument(
        "markdown file with the four labels and `levers:`, or - for stdin",
        default="",
        metavar="PROPOSAL",
    )
    target: str = option("what is optimized (default: the proposal's)", metavar="TEXT")
    variant: str = option("operating point: size, hardware, batch", metavar="TEXT")
    lever: tuple[str, ...] = several(
        "what the change pulls (again for more)", metavar="NAME[=VALUE]"
    )
    parent: str = option("page, label or git reference it is compared with", metavar="TEXT")
    differs: str = option("what differs from the refuted match, naming it", metavar="TEXT")
    baseline: bool = flag("the first measurement of a target: no proposal, no parent, no levers")
    repo: str = option("the repository (default: the target page's)", metavar="FOLDER")
    commit: str = option("the change (default: the working tree's edits, else HEAD)", metavar="REF")
    snapshot: bool = flag("measure the working tree with its untracked files too")
    set: tuple[str, ...] = several(
        "environment variable that the change alone sees (again for more)", metavar="NAME=VALUE"
    )
    repeats: int = option("measurements of each side", default=0, metavar="N")
    most: int = option(
        "repeats of each side at most while the verdict is open", default=0, metavar="N"
    )
    expect: tuple[str, ...] = several("what its audit will look for", metavar="PATTERN")
    forbid: tuple[str, ...] = several("what its audit must not find", metavar="PATTERN")
    predict: tuple[str, ...] = several(
        "metric or cost bucket and its move, such as 'copy down'", metavar="MOVE"
    )
    because: str = option("what was learnt", metavar="TEXT")
    reopen_if: str = option("what would have to change to try it again", metavar="TEXT")
    date: str = option("day of the page (default: today)", metavar="YYYY-MM-DD")


@dataclass(frozen=True, slots=True)
class Trial(Result):
    """The page, what the gate answered, and the verdict."""

    path: str
    outcome: str
    receipt: str
    ruling: "Closed"
    hint: str

    @property
    def code(self) -> int:
        return FINDINGS if self.ruling.verdict in ("invalid", "crash") else FINE

    def to_json(self) -> object:
        return {
            **asdict(self.ruling),
            "outcome": self.outcome,
            "receipt": self.receipt,
            "hint": self.hint,
        }

    def to_text(self) -> str:
        r = self.ruling
        lines = [f"{r.verdict}, {r.decision}", f"rule {r.rule}: {r.reason}", self.path]
        return "\n".join([*lines, *([self.hint] if self.hint else [])])


def run(request: TryExperiment, caller: Caller) -> Trial:
    from kb.experiments import InFlight
    from kb.verbs import experiment_close, experiment_open, experiment_run

    if not request.proposal and not request.baseline:
        raise KbError("give a PROPOSAL: a markdown file with the four labels; or --baseline")
    outcome, receipt = "in flight", ""
    try:
        opening = experiment_open.run(_of(experiment_open.OpenExperiment, request, {}), caller)
        path, outcome, receipt = opening.path, opening.outcome, opening.receipt
    except InFlight as standing:
        path = standing.path
        caller.talk(f"going on with {path}, which is the same experiment")
    if not _is_measured(caller, path):
        experiment_run.run(
            _of(experiment_run.RunExperiment, request, {"page": path, "edited": True}), caller
        )
    close = _of(experiment_close.CloseExperiment, request, {"page": path})
    closing = experiment_close.run(close, caller)
    return Trial(path, outcome, receipt, closing.ruling, closing.hint)


def _of(kind: type, request: TryExperiment, more: dict[str, object]):
    """The request of one step: what it shares with this one, by the names of fields."""
    from dataclasses import fields

    shared = {f.name for f in fields(kind)} & {f.name for f in fields(request)}
    return kind(**({name: getattr(request, name) for name in shared} | more))


def _is_measured(caller: Caller, path: str) -> bool:
    from kb.experiments.attempt import attempts_in
    from kb.experiments.stub import stub_at

    layout = caller.layout()
    attempts = attempts_in(layout, stub_at(layout, path).run)
    return bool(attempts) and attempts[-1].measurement is not None
