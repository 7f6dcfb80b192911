"""kb experiment try [experiment]: check, open, run, audit and close one experiment, from one file."""

from dataclasses import dataclass, replace

from kb import KbError
from kb.verbs import Caller
from kb.verbs.experiment import StatesLesson, StatesMeasurement, StatesProposal, shared
from kb.verbs.experiment_close import Closing


@dataclass(frozen=True, slots=True, kw_only=True)
class TryExperiment(StatesLesson, StatesMeasurement, StatesProposal):
    """A proposal, and what the later steps would ask. Edits of known files that are not committed are measured as they stand."""


def run(request: TryExperiment, caller: Caller) -> Closing:
    from kb.experiments import InFlight
    from kb.experiments.attempt import last_attempt
    from kb.experiments.stub import stub_at
    from kb.verbs import experiment_close, experiment_open, experiment_run

    if not (request.proposal or request.hypothesis or request.baseline):
        raise KbError("give a PROPOSAL: a markdown file with the four labels; or --baseline")
    outcome, receipt = "in flight", ""
    try:
        opening = experiment_open.run(request, caller)
        path, outcome, receipt = opening.path, opening.outcome, opening.receipt
    except InFlight as standing:
        path = standing.path
        caller.talk(f"going on with {path}, which is the same experiment")
    layout = caller.layout()
    attempt = last_attempt(layout, stub_at(layout, path))
    if not attempt or not attempt.measurement:
        options = {"page": path, "edited": True}
        experiment_run.run(shared(experiment_run.RunExperiment, request, options), caller)
    close = shared(experiment_close.CloseExperiment, request, {"page": path})
    return replace(experiment_close.run(close, caller), outcome=outcome, receipt=receipt)
