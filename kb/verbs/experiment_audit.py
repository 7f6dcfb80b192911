"""kb experiment audit [experiment]: say whether the mechanism fired, with the evidence lines."""

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from kb.verbs import FINDINGS, FINE, Caller, Result
from kb.verbs.experiment import NamesExperiment, StatesExpectation, named

if TYPE_CHECKING:
    from kb.experiments.auditing import Audit

_SIGNS = {True: "yes", None: "?", False: "no "}


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditExperiment(StatesExpectation, NamesExperiment):
    """What is looked for, besides what the page says."""


@dataclass(frozen=True, slots=True)
class AuditAnswer(Result):
    """Whether it fired, and what speaks for it and against."""

    path: str
    audit: "Audit"

    @property
    def code(self) -> int:
        return FINE if self.audit.firing in ("confirmed", "not tested", "partial") else FINDINGS

    def to_json(self) -> object:
        return {"path": self.path, **asdict(self.audit)}

    def to_text(self) -> str:
        nothing = "nothing to go by: say --expect, --forbid or --predict, or name `artifacts:` on the target page"
        lines = (f"  {_SIGNS[f.held]}  {f.text}" for f in self.audit.findings)
        return "\n".join([self.audit.firing or nothing, *lines])


def run(request: AuditExperiment, caller: Caller) -> AuditAnswer:
    from kb.experiments.judging import audit_page, expecting

    layout, stub, target = named(request, caller)
    more = expecting(layout, stub.path, stated=request.stated, keep=True)
    answer = audit_page(layout, stub.path, target, more=more)
    caller.build(layout)
    return AuditAnswer(stub.path, answer)
