"""kb experiment audit [experiment]: say whether the mechanism fired, with the evidence lines."""

from dataclasses import dataclass

from kb import KbError
from kb.experiments.judging import show
from kb.experiments.stub import stub_in_flight
from kb.store import plain_of
from kb.text import command_of
from kb.verbs import FINDINGS, FINE, Caller, Result
from kb.verbs.experiment import NamesExperiment, StatesExpectation, named

_NOTHING = (
    "nothing to go by: say --expect, --forbid or --predict, or name `artifacts:` on the target page"
)
_SIGNS = {True: "yes", None: "?", False: "no "}


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditExperiment(StatesExpectation, NamesExperiment):
    """What is looked for, besides what the page says."""


def run(request: AuditExperiment, caller: Caller) -> Result:
    stub, target = named(request, caller)
    stub_in_flight(caller.layout, stub.path, filed=True)
    case = show(caller.layout, stub.path, target, stated=request.stated, today=caller.today)
    if not case:
        raise KbError(
            f"{stub.path}: nothing is measured yet; `{command_of('experiment run', stub.path)}` comes first"
        )
    caller.build()
    firing, findings = case.audit.firing, case.audit.findings
    lines = (f"  {_SIGNS[f.held]}  {f.text}" for f in findings)
    value = {"path": stub.path, **plain_of(case.audit)}
    fired = firing in ("confirmed", "not tested", "partial")
    text = "\n".join([firing or _NOTHING, *lines])
    return Result(value, text, FINE if fired else FINDINGS)
