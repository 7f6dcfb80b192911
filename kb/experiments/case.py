"""A page with all that it is judged by: its newest attempt, the audit of it, the evidence, and what the rules say."""

from dataclasses import dataclass

from kb import KbError, store
from kb.experiments import rendering
from kb.experiments.attempt import Attempt, attempts_in, receipt_of
from kb.experiments.auditing import (
    Audit,
    Expectation,
    audit,
    expectation_of,
    file_audit,
    last_audit,
)
from kb.experiments.judging import evidence_of
from kb.experiments.opening import quoted
from kb.experiments.planning import stub_in_flight
from kb.experiments.stub import Stub, filled, stub_at, with_fields
from kb.experiments.targets import Target
from kb.run.evidence import Evidence
from kb.run.rules import Ruling, ruling_of
from kb.trail import Facts


@dataclass(frozen=True, slots=True)
class Case:
    """All that a page is judged by."""

    stub: Stub
    attempt: Attempt | None
    evidence: Evidence
    ruling: Ruling
    audit: Audit | None = None
    expectation: Expectation | None = None

    @property
    def measured(self) -> Attempt | None:
        return self.attempt if self.attempt and self.attempt.measurement else None


def judged(
    layout: store.Layout,
    stub: Stub,
    target: Target,
    attempt: Attempt,
    *,
    more: Expectation | None = None,
    earlier: tuple[Facts, ...] = (),
) -> Case:
    """What the rules say of a finished attempt, audited by what its page expects, by what was asked before, and by `more`."""
    before = last_audit(attempt)
    asked = _joined(before[1] if before else None, more)
    expectation = expectation_of(stub, attempt, more=asked)
    found = audit(attempt, expectation)
    evidence = evidence_of(layout, stub, target, attempt, firing=found.firing, earlier=earlier)
    return Case(stub, attempt, evidence, ruling_of(evidence), found, expectation)


def _joined(one: Expectation | None, other: Expectation | None) -> Expectation:
    parts = [e for e in (one, other) if e]
    return Expectation(
        *(
            tuple(dict.fromkeys(v for p in parts for v in getattr(p, f)))
            for f in ("expect", "forbid", "moves")
        )
    )


def blocks_of(case: Case) -> dict[str, str]:
    """What a finished attempt puts into the blocks of its page, verdict aside."""
    attempt = case.measured
    if not attempt:
        return {"results": "Nothing was measured."}
    return {
        "setup": rendering.setup_of(attempt),
        "results": rendering.results_of(case.evidence, case.ruling, attempt),
        "profile": rendering.profile_text(attempt, case.ruling.verdict),
        "audit": rendering.audit_text(case.audit),
        "sources": rendering.sources_text(case.stub.path, attempt, run=case.stub.run),
    }


def show(layout: store.Layout, path: str, target: Target) -> tuple[Evidence, Ruling] | None:
    """Fill the blocks of a stub with what its newest attempt measured, so that people see it before it is closed; None while nothing is finished."""
    with store.lock(layout, "pages"):
        stub = stub_at(layout, path)
        attempt = next(reversed(attempts_in(layout, stub.run)), None)
        if not attempt or not attempt.measurement:
            return None
        case = judged(layout, stub, target, attempt)
        if not stub.filed:
            data = filled(path, stub.data, blocks_of(case))
            code = {"code": quoted(attempt.plan.change)} if attempt.plan.change else {}
            data = with_fields(path, data, {"measured": quoted(receipt_of(attempt)), **code})
            if data != stub.data:
                store.write(layout.root / path, data)
    return case.evidence, case.ruling


def audit_page(layout: store.Layout, path: str, target: Target, *, more: Expectation) -> Audit:
    """Audit the newest attempt of a page by what it expects and by `more`, and keep the audit. Raises KbError where nothing is measured."""
    stub = stub_in_flight(layout, path, filed=True)
    attempt = next(reversed(attempts_in(layout, stub.run)), None)
    if not attempt or not attempt.measurement:
        raise KbError(f"{path}: nothing is measured yet; `kb experiment run {path}` comes first")
    case = judged(layout, stub, target, attempt, more=more)
    assert case.audit and case.expectation
    file_audit(attempt, case.audit, case.expectation)
    show(layout, path, target)
    return case.audit


def hint_of(rule: str, more: int | None, path: str) -> str:
    """What may still be done about a ruling before the page is closed; empty where measuring more of the same tells nothing new."""
    if rule == "no-audit":
        return f"`kb experiment close {path} --expect PATTERN` (or --predict 'METRIC down') says how its mechanism shows"
    if rule == "protected-file":
        return (
            "a build file that the change is meant to edit is named in the proposal's text; others stand under `allowed:` of the "
            "target; a benchmark changed on purpose is another `base:`"
        )
    if rule in ("tie", "undecided", "criterion-open", "noise-unknown") and more:
        return f"about {more} more samples of each side would decide: `kb experiment run {path} --more {more}`"
    return (
        "the gain lies on the line itself: no number of samples decides"
        if rule in ("undecided", "criterion-open")
        else ""
    )
