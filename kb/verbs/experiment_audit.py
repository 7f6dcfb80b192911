"""kb experiment audit [experiment]: say whether the mechanism fired, with the evidence lines."""

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from kb.verbs import FINDINGS, FINE, Caller, Result, argument, option, several
from kb.verbs.experiment import PAGE_HELP, TARGET_HELP, page_of, target_of

if TYPE_CHECKING:
    from kb.experiments.auditing import Audit

_SIGNS = {True: "yes", None: "?", False: "no "}


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditExperiment:
    """What is looked for, besides what the page says."""

    page: str = argument(PAGE_HELP, metavar="PAGE")
    expect: tuple[str, ...] = several(
        "regular expression that dumps or outputs must show (again for more)", metavar="PATTERN"
    )
    forbid: tuple[str, ...] = several(
        "regular expression that they must not show", metavar="PATTERN"
    )
    predict: tuple[str, ...] = several(
        "metric or cost bucket and its move, such as 'copy down' or 'matmul -10%'", metavar="MOVE"
    )
    target: str = option(TARGET_HELP)


@dataclass(frozen=True, slots=True)
class AuditAnswer(Result):
    """Whether it fired, and what speaks for it and against."""

    path: str
    audit: "Audit"

    @property
    def code(self) -> int:
        return FINE if self.audit.firing in ("confirmed", "partial") else FINDINGS

    def to_json(self) -> object:
        return {"path": self.path, **asdict(self.audit)}

    def to_text(self) -> str:
        nothing = "nothing to go by: say --expect, --forbid or --predict, or name `artifacts:` on the target page"
        return "\n".join(
            [
                self.audit.firing or nothing,
                *(f"  {_SIGNS[f.held]}  {f.text}" for f in self.audit.findings),
            ]
        )


def run(request: AuditExperiment, caller: Caller) -> AuditAnswer:
    from kb.experiments.auditing import expectation_from
    from kb.experiments.case import audit_page

    layout = caller.layout()
    path = page_of(layout, caller, request.page, target=request.target)
    _, target = target_of(layout, path)
    more = expectation_from(request.expect, request.forbid, request.predict)
    answer = audit_page(layout, path, target, more=more)
    caller.build(layout)
    return AuditAnswer(path, answer)
