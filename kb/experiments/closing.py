"""Closes an experiment: audits it, gives the verdict by rule, files and seals the page. Refuses to judge what was not measured, was
tampered with, or lacks what only its author can say; a step that was forgotten never makes a worse verdict.

The page is written whole, so it is open or filed and never between; what follows from it is finished by closing again. Evidence that
is completed later makes a dated note below the sealed text.
"""

import json
from dataclasses import dataclass, replace

from kb import KbError, store
from kb.experiments import rendering, writeback
from kb.experiments.attempt import attempts_in, receipt_of
from kb.experiments.auditing import Expectation, file_audit, is_asked
from kb.experiments.case import Case, blocks_of, judged
from kb.experiments.opening import one_line, quoted
from kb.experiments.planning import untouched
from kb.experiments.stub import Stub, filled, stub_at, with_fields, without_markers
from kb.experiments.targets import Target
from kb.page import text_of
from kb.page.seal import FIELD as SEAL
from kb.page.seal import sealed
from kb.page.superseding import Superseding, superseding, to_note
from kb.run.evidence import Evidence
from kb.run.record import Artifact, Check, Metric, Noise, Origin, Run, to_line
from kb.run.rules import Ruling
from kb.schema import Verdict
from kb.trail import Facts

_UNMEASURED = Ruling(Verdict.INCONCLUSIVE, "unmeasured", "nothing was measured")


@dataclass(frozen=True, slots=True)
class Remarks:
    """What a person or an agent says on closing: a verdict against the rules' with its reason, what to do with the change, what was
    learnt, when to try again, and what else an audit shall look for."""

    overrule: Verdict | None = None
    reason: str = ""
    decision: str = ""
    because: str = ""
    reopen_if: str = ""
    expectation: Expectation | None = None


@dataclass(frozen=True, slots=True)
class Closed:
    """What closing did. `again`: the page had been filed before; `superseded` is then the verdict that a later note took the place of."""

    path: str
    verdict: str
    rule: str
    reason: str
    gain: float | None
    decision: str
    overruled: bool
    again: bool
    written: tuple[str, ...]
    superseded: str = ""
    more: int | None = None


def close(
    layout: store.Layout,
    path: str,
    target: Target,
    *,
    remarks: Remarks,
    earlier: tuple[Facts, ...],
    today: str,
    dry: bool = False,
) -> Closed:
    """File the verdict of the experiment at `path`; `earlier` are the target's experiments before it; `dry` writes nothing.

    Raises KbError where there is nothing to judge, and where the mechanism cannot be audited although all else speaks for support.
    """
    if remarks.overrule and not one_line(remarks.reason):
        raise KbError(
            f"{path}: a verdict is overruled with a reason that stays on the page: --reason TEXT"
        )
    with store.lock(layout, "pages"):
        stub = stub_at(layout, path)
        if stub.filed:
            return _closed_again(
                layout, stub, target, remarks, earlier=earlier, today=today, dry=dry
            )
        case = _case(layout, stub, target, remarks, earlier=earlier)
        _refuse_unaudited(case, remarks)
        done = _closed(case, remarks)
        if dry:
            return replace(done, written=_would_write(layout, case, target))
        if case.measured and case.audit and case.expectation and case.audit.findings:
            file_audit(case.measured, case.audit, case.expectation)
        if case.measured:
            _file_record(case, done, created=today)
        store.write(layout.root / path, _filed(case, remarks, done, today=today))
        return replace(
            done, written=(path, *writeback.log_missing(layout, target.name, today=today))
        )


def _would_write(layout: store.Layout, case: Case, target: Target) -> tuple[str, ...]:
    written = [case.stub.path, writeback.LOG]
    if case.measured:
        folder = case.measured.folder.relative_to(layout.root).as_posix()
        written.append(f"{folder}/run.json")
        if (
            case.audit
            and case.audit.findings
            and not list(case.measured.folder.glob("audit-*.json"))
        ):
            written.append(f"{folder}/audit-001.json")
    return (*written, *([target.path] if writeback.followed(layout, target) else []))


def _closed(case: Case, remarks: Remarks) -> Closed:
    ruling, verdict = case.ruling, remarks.overrule or case.ruling.verdict
    decision = remarks.decision or (
        "keep" if verdict in (Verdict.SUPPORTED, Verdict.BASELINE) else "revert"
    )
    overruled = remarks.overrule is not None
    return Closed(
        case.stub.path,
        verdict,
        ruling.rule,
        ruling.reason,
        ruling.gain,
        decision,
        overruled,
        False,
        (),
        "",
        ruling.more,
    )


def _case(
    layout: store.Layout,
    stub: Stub,
    target: Target,
    remarks: Remarks,
    *,
    earlier: tuple[Facts, ...] = (),
) -> Case:
    """The attempt to judge, its audit, and what the rules say. Raises KbError for a page without a receipt or nothing finished."""
    if not stub.opened_by_kb:
        raise KbError(
            f"{stub.path}: was not opened by `kb experiment open`; pages written by hand carry their verdict themselves"
        )
    attempt = next(reversed(attempts_in(layout, stub.run)), None)
    if not attempt or not attempt.measurement:
        if remarks.overrule:
            return Case(stub, attempt, Evidence(""), _UNMEASURED)
        what = (
            f"attempt {attempt.plan.number} was cut off after {len(attempt.samples)} samples"
            if attempt
            else "nothing is measured yet"
        )
        raise KbError(
            f"{stub.path}: {what}; `kb experiment run {stub.path}` measures it, --overrule inconclusive --reason TEXT gives it up"
        )
    untouched(attempt, stub)
    return judged(layout, stub, target, attempt, more=remarks.expectation, earlier=earlier)


def _refuse_unaudited(case: Case, remarks: Remarks) -> None:
    """Raises KbError where a win would be sealed as less for want of something to look for."""
    asked = (
        case.expectation is not None
        and is_asked(case.expectation)
        and any(f.held is not None for f in case.audit.findings)
    )
    wanting = (
        case.ruling.rule == "no-audit"
        or case.ruling.rule == "not-fired"
        and case.evidence.firing == "partial"
        and not asked
    )
    if wanting and not remarks.overrule:
        raise KbError(
            f"{case.stub.path}: {case.ruling.gain:+.1%} would be supported, but nothing says how its mechanism shows. Say so and close again: "
            "--expect PATTERN (what dumps, outputs or built files show and the parent's do not), --predict 'METRIC down' (a metric or "
            "profile bucket that moves), --forbid PATTERN; or judge it yourself: --overrule VERDICT --reason TEXT"
        )


def _closed_again(
    layout: store.Layout,
    stub: Stub,
    target: Target,
    remarks: Remarks,
    *,
    earlier: tuple[Facts, ...],
    today: str,
    dry: bool,
) -> Closed:
    """A filed page: a dated note where its evidence is another now and says something else, and what follows from it."""
    notes = superseding(text_of(stub.data), seal=stub.page.field(SEAL))
    stands = notes[-1].verdict if notes else stub.facts.verdict.canonical or ""
    again = Closed(
        stub.path,
        stands,
        stub.page.field("rule"),
        "",
        None,
        stub.facts.decision,
        bool(stub.page.field("overruled")),
        True,
        (),
    )
    known = {stub.page.field("measured"), *(n.evidence for n in notes)}
    attempt = next(reversed(attempts_in(layout, stub.run)), None) if stub.opened_by_kb else None
    fresh = (
        attempt
        and attempt.measurement
        and (receipt_of(attempt) not in known or remarks.expectation or remarks.overrule)
    )
    if not fresh or stub.page.field("overruled") and not remarks.overrule:
        return (
            again
            if dry
            else replace(again, written=writeback.log_missing(layout, target.name, today=today))
        )
    case = _case(layout, stub, target, remarks, earlier=earlier)
    _refuse_unaudited(case, remarks)
    done = replace(_closed(case, remarks), again=True)
    if done.verdict == stands:
        return replace(done, written=())
    because = one_line(
        remarks.because or (remarks.reason if remarks.overrule else case.ruling.reason)
    ).rstrip(".")
    note = Superseding(
        max(today, stub.page.field("created")), str(done.verdict), because, receipt_of(attempt)
    )
    line = to_note(note, seal=stub.page.field(SEAL))
    written = (stub.path, writeback.LOG)
    if not dry:
        if case.audit and case.expectation and case.audit.findings:
            file_audit(attempt, case.audit, case.expectation)
        store.write(layout.root / stub.path, stub.data.rstrip() + f"\n\n{line}\n".encode())
        writeback.log_superseded(layout, stub, note, today=note.date)
    return replace(done, superseded=stands, written=written)


def _filed(case: Case, remarks: Remarks, done: Closed, *, today: str) -> bytes:
    stub, ruling, attempt = case.stub, case.ruling, case.measured
    blocks = blocks_of(case)
    because, reopen_if = one_line(remarks.because), one_line(remarks.reopen_if)
    blocks["verdict"] = rendering.verdict_text(
        ruling,
        overruled=remarks.overrule,
        reason=remarks.reason,
        because=because,
        reopen_if=reopen_if,
    )
    data = without_markers(stub.path, filled(stub.path, stub.data, blocks))
    fields = {
        "status": "filed",
        "verdict": str(done.verdict),
        "rule": ruling.rule,
        "decision": done.decision,
        "firing": case.evidence.firing,
        "because": quoted(because) if because else "",
        "reopen_if": quoted(reopen_if) if reopen_if else "",
        "code": quoted(attempt.plan.change) if attempt and attempt.plan.change else "",
        "measured": quoted(receipt_of(attempt)) if attempt else "",
        "metrics": rendering.metrics_field(case.evidence, ruling),
        "gain": quoted(rendering.gain_field(ruling, case.evidence)),
        "overruled": quoted(one_line(remarks.reason)) if remarks.overrule else "",
        "updated": max(today, stub.page.field("created")),
    }
    return sealed(
        stub.path,
        with_fields(stub.path, data, {k: v for k, v in fields.items() if v not in ("", '""')}),
    )


def _file_record(case: Case, done: Closed, *, created: str) -> None:
    """The normalised run record beside the attempt; one that is there already stands."""
    attempt, stub, evidence, ruling = case.attempt, case.stub, case.evidence, case.ruling
    assert attempt and attempt.measurement
    file = attempt.folder / "run.json"
    if file.exists():
        return
    facts, withheld = stub.facts, ruling.verdict in (Verdict.INVALID, Verdict.CRASH)
    metrics = (
        Metric(m.name, m.change.mean, m.unit, m.direction, m.change.n, m.change.stddev)
        for m in evidence.measured
    )
    arm = evidence.main and evidence.main.interval and evidence.main.parent
    noise = (
        Noise(
            (evidence.main.interval.high - evidence.main.interval.low)
            / 2
            * abs(evidence.main.parent.mean),
            "half of the 95 % interval",
        )
        if arm and evidence.main
        else None
    )
    run = Run(
        Origin(stub.run, attempt.plan.number),
        "kb",
        stub.page.stem,
        facts.target,
        facts.variant,
        status=str(done.verdict),
        description=stub.page.title,
        primary=evidence.primary,
        metrics=() if withheld else tuple(metrics),
        levers=facts.levers,
        hypothesis=facts.hypothesis,
        mechanism=facts.mechanism,
        predicted_signal=facts.predicted_signal,
        falsification=evidence.falsification[0] if evidence.falsification else None,
        reason=ruling.reason,
        parent=stub.page.field("parent"),
        code=attempt.plan.change,
        baseline=attempt.plan.parent,
        checks=(Check("checks", evidence.checks),) if evidence.checks else (),
        artifacts=tuple(
            Artifact(k.role, k.copy or k.path, k.digest)
            for k in attempt.measurement.kept
            if k.side == "change"
        ),
        firing=evidence.firing,
        verdict=str(done.verdict),
        decision=done.decision,
        noise=noise,
        created=created,
        notes=(
            ("rule", ruling.rule),
            ("host", json.dumps(dict(attempt.plan.host), ensure_ascii=False, sort_keys=True)),
        ),
    )
    store.write(file, to_line(run) + "\n")
