"""kb experiment try [experiment]: check, open, run, audit and close one experiment, from one file."""

from dataclasses import dataclass, replace
from functools import partial

from kb import KbError
from kb.experiments import InFlight
from kb.experiments.attempt import last_attempt
from kb.experiments.closing import Closed
from kb.experiments.planning import refuse_unchanged
from kb.experiments.proposal import ExperimentProposal
from kb.experiments.stub import stub_at
from kb.experiments.targets import Target
from kb.schema import Verdict
from kb.text import command_of
from kb.verbs import (
    FINDINGS,
    FINE,
    Caller,
    Result,
    experiment_close,
    experiment_open,
    experiment_run,
)
from kb.verbs.experiment import StatesCode, StatesLesson, StatesProposal, shared
from kb.verbs.experiment_run import RunExperiment


@dataclass(frozen=True, kw_only=True)
class TryExperiment(StatesLesson, StatesCode, StatesProposal):
    """A proposal, and what the later steps would ask. Edits of known files that are not committed are measured as they stand."""


def run(request: TryExperiment, caller: Caller) -> Result[Closed]:
    if not (request.proposal or request.hypothesis or request.baseline):
        raise KbError("give a PROPOSAL: a markdown file with the four labels; or --baseline")
    opening = {"outcome": "in flight", "receipt": ""}
    try:
        opening = experiment_open.run(request, caller, partial(_look, request, caller)).value
        path = opening["path"]
    except InFlight as standing:
        path = standing.path
        caller.talk(
            f"going on with {path}, which is the same experiment and stays as it was filed; to state it anew, "
            f"`{command_of('experiment close', path)} --overrule inconclusive --reason TEXT` gives that page up"
        )
    attempt = last_attempt(caller.layout, stub_at(caller.layout, path))
    foreseen = not attempt or not attempt.measurement
    # A benchmark that measured nothing was mended since, or says so again.
    anew = not foreseen and request.baseline and not attempt.metrics
    if foreseen or anew:
        measured = experiment_run.run(_measuring(request, path, again=anew), caller)
        if request.baseline and (problem := measured.value["problem"]):
            line = ". A benchmark prints a line such as `METRIC time_ms=12.5`, named as `metric:` of the target page says"
            mend = line if "METRIC" in problem else ". Mend that, and commit it"
            raise KbError(
                f"{path} stays open, for nothing was measured: {problem}{mend}; the same command then measures it anew"
            )
    close = shared(experiment_close.CloseExperiment, request, {"page": path})
    done = experiment_close.run(close, caller, foreseen=foreseen)
    failed = done.value.verdict in (Verdict.INVALID, Verdict.CRASH)
    closed = replace(done.value, outcome=opening["outcome"], receipt=opening["receipt"])
    return Result(closed, done.text, FINDINGS if failed else FINE)


def _measuring(request: TryExperiment, path: str, *, again: bool = False) -> RunExperiment:
    return shared(RunExperiment, request, {"page": path, "edited": True, "again": again})


def _look(
    request: TryExperiment,
    caller: Caller,
    target: Target,
    proposal: ExperimentProposal,
    code: str,
) -> None:
    """Refuse code that is the parent's, or that of a run that is decided, before a page is filed."""
    choice = _measuring(request, "")
    refuse_unchanged(caller.layout, target, choice, proposal=proposal, code=code)
