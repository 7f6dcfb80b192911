"""kb experiment audit [experiment]: say whether the mechanism fired, with the evidence lines."""

from dataclasses import dataclass

from kb.experiments.judging import audit_page, expecting
from kb.store import plain_of
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
    layout, stub, target = named(request, caller)
    more = expecting(layout, stub.path, stated=request.stated, keep=True)
    answer = audit_page(layout, stub.path, target, more=more)
    caller.build(layout)
    fired = answer.firing in ("confirmed", "not tested", "partial")
    lines = (f"  {_SIGNS[f.held]}  {f.text}" for f in answer.findings)
    text = "\n".join([answer.firing or _NOTHING, *lines])
    value = {"path": stub.path, **plain_of(answer)}
    return Result(value, text, FINE if fired else FINDINGS)
