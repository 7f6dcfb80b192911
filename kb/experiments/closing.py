"""Closes an experiment: the verdict by rule, the page filed and sealed, the log line. Refuses to judge what was not measured or was tampered with.

The page is written whole, so it is open or filed and never between; what follows from it is finished by closing again.
"""

import json
from dataclasses import dataclass, replace

from kb import KbError, store
from kb.experiments import rendering, writeback
from kb.experiments.attempt import Attempt, attempts_in, receipt_of, tampered
from kb.experiments.auditing import last_audit
from kb.experiments.judging import evidence_of
from kb.experiments.opening import one_line, quoted
from kb.experiments.stub import Stub, filled, stub_at, with_fields, without_markers
from kb.experiments.targets import Target
from kb.page.seal import sealed
from kb.run.record import Artifact, Check, Metric, Noise, Origin, Run, to_line
from kb.run.rules import Evidence, Ruling, ruling_of
from kb.schema import Verdict
from kb.trail import Facts

_UNMEASURED = Ruling(Verdict.INCONCLUSIVE, "unmeasured", "nothing was measured")


@dataclass(frozen=True, slots=True)
class Overrule:
    """A person's verdict against the rules', with the reason that stays on the page."""

    verdict: Verdict
    reason: str


@dataclass(frozen=True, slots=True)
class Closed:
    """What closing did. `again`: the page had been filed before, and only what follows from it was seen to."""

    path: str
    verdict: str
    rule: str
    reason: str
    gain: float | None
    decision: str
    overruled: bool
    again: bool
    written: tuple[str, ...]


def close(
    layout: store.Layout,
    path: str,
    target: Target,
    *,
    overrule: Overrule | None,
    decision: str,
    earlier: tuple[Facts, ...],
    today: str,
) -> Closed:
    """File the verdict of the experiment at `path`; `earlier` are the target's experiments before it. Raises KbError where there is nothing to judge."""
    _with_reason(path, overrule)
    with store.lock(layout, "pages"):
        stub = stub_at(layout, path)
        if stub.filed:
            return _again(layout, stub, today=today)
        attempt, evidence, ruling = _ruled(layout, stub, target, overrule=overrule, earlier=earlier)
        done = _closed(stub, ruling, overrule=overrule, decision=decision)
        data = _filed(stub, attempt, evidence, ruling, overrule=overrule, decision=done.decision, today=today)
        if attempt and attempt.measurement:
            _file_record(attempt, stub, evidence, ruling, verdict=Verdict(done.verdict), decision=done.decision, created=today)
        store.write(layout.root / path, data)
        return replace(done, written=(path, *writeback.log_missing(layout, target.name, today=today)))


def preview(
    layout: store.Layout, path: str, target: Target, *, overrule: Overrule | None, decision: str, earlier: tuple[Facts, ...]
) -> Closed:
    """What `close` would file and which files it would write, without writing any. Raises KbError where `close` would."""
    _with_reason(path, overrule)
    stub = stub_at(layout, path)
    if stub.filed:
        return _was_filed(stub, ())
    attempt, _, ruling = _ruled(layout, stub, target, overrule=overrule, earlier=earlier)
    written = [path, writeback.LOG]
    if attempt and attempt.measurement:
        written.append((attempt.folder / "run.json").relative_to(layout.root).as_posix())
    if writeback.followed(layout, target):
        written.append(target.path)
    return replace(_closed(stub, ruling, overrule=overrule, decision=decision), written=tuple(written))


def _with_reason(path: str, overrule: Overrule | None) -> None:
    if overrule and not one_line(overrule.reason):
        raise KbError(f"{path}: a verdict is overruled with a reason that stays on the page: --reason TEXT")


def _ruled(
    layout: store.Layout, stub: Stub, target: Target, *, overrule: Overrule | None, earlier: tuple[Facts, ...]
) -> tuple[Attempt | None, Evidence, Ruling]:
    """The attempt to judge, its evidence, and what the rules say."""
    attempt = _judged(layout, stub, overrule=overrule)
    if not attempt or not attempt.measurement:
        return attempt, Evidence(""), _UNMEASURED
    evidence = evidence_of(layout, stub, target, attempt, earlier=earlier)
    return attempt, evidence, ruling_of(evidence)


def _closed(stub: Stub, ruling: Ruling, *, overrule: Overrule | None, decision: str) -> Closed:
    verdict = overrule.verdict if overrule else ruling.verdict
    decided = decision or ("keep" if verdict in (Verdict.SUPPORTED, Verdict.BASELINE) else "revert")
    return Closed(stub.path, verdict, ruling.rule, ruling.reason, ruling.gain, decided, overrule is not None, False, ())


def _again(layout: store.Layout, stub: Stub, *, today: str) -> Closed:
    """See to what follows from a filed page."""
    return _was_filed(stub, writeback.log_missing(layout, stub.facts.target, today=today))


def _was_filed(stub: Stub, written: tuple[str, ...]) -> Closed:
    return Closed(
        stub.path,
        stub.facts.verdict.canonical or "",
        stub.page.field("rule"),
        "",
        None,
        stub.facts.decision,
        bool(stub.page.field("overruled")),
        True,
        written,
    )


def _judged(layout: store.Layout, stub: Stub, *, overrule: Overrule | None) -> Attempt | None:
    """The attempt to judge. Raises KbError for a page without a receipt, nothing finished, or files that were changed."""
    if not stub.opened_by_kb:
        raise KbError(
            f"{stub.path}: was not opened by `kb experiment open`; pages written by hand carry their verdict themselves"
        )
    if not stub.page.field("receipt"):
        raise KbError(
            f"{stub.path}: has lost its receipt of `kb check`; restore the front matter that `kb experiment open` wrote"
        )
    attempts = attempts_in(layout.root / stub.page.field("run"))
    attempt = attempts[-1] if attempts else None
    if attempt and attempt.measurement:
        changed = tampered(attempt, stub.page.field("measured"))
        if changed:
            raise KbError(
                f"{attempt.folder}: {', '.join(changed[:4])} changed since the run was measured; restore the files, or measure --again"
            )
        return attempt
    if overrule:
        return attempt
    what = (
        f"attempt {attempt.plan.number} was cut off after {len(attempt.samples)} samples"
        if attempt
        else "nothing is measured yet"
    )
    raise KbError(
        f"{stub.path}: {what}; `kb experiment run {stub.path}` measures it, --overrule inconclusive --reason TEXT gives it up"
    )


def blocks_of(stub: Stub, attempt: Attempt, evidence: Evidence, ruling: Ruling) -> dict[str, str]:
    """What a finished attempt puts into the blocks of its page, verdict aside."""
    return {
        "setup": rendering.setup_of(attempt),
        "results": rendering.results_of(evidence, ruling),
        "profile": rendering.profile_text(attempt, ruling.verdict),
        "audit": rendering.audit_text(attempt),
        "sources": rendering.sources_text(stub.path, attempt, run=stub.page.field("run")),
    }


def _filed(
    stub: Stub,
    attempt: Attempt | None,
    evidence: Evidence,
    ruling: Ruling,
    *,
    overrule: Overrule | None,
    decision: str,
    today: str,
) -> bytes:
    blocks = (
        blocks_of(stub, attempt, evidence, ruling) if attempt and attempt.measurement else {"results": "Nothing was measured."}
    )
    blocks["verdict"] = rendering.verdict_text(
        ruling, overruled=overrule.verdict if overrule else None, reason=overrule.reason if overrule else ""
    )
    data = without_markers(stub.path, filled(stub.path, stub.data, blocks))
    audit = last_audit(attempt) if attempt else None
    fields = {
        "status": "filed",
        "verdict": str(overrule.verdict if overrule else ruling.verdict),
        "rule": ruling.rule,
        "decision": decision,
        "firing": evidence.firing or (audit.firing if audit else ""),
        "code": quoted(attempt.plan.change) if attempt and attempt.plan.change else "",
        "measured": quoted(receipt_of(attempt)) if attempt and attempt.measurement else "",
        "metrics": rendering.metrics_field(evidence, ruling),
        "overruled": quoted(one_line(overrule.reason)) if overrule else "",
        "updated": max(today, stub.page.field("created")),
    }
    return sealed(stub.path, with_fields(stub.path, data, {k: v for k, v in fields.items() if v}))


def _file_record(
    attempt: Attempt, stub: Stub, evidence: Evidence, ruling: Ruling, *, verdict: Verdict, decision: str, created: str
) -> None:
    """The normalised run record beside the attempt; one that is there already stands."""
    withheld = ruling.verdict in (Verdict.INVALID, Verdict.CRASH)
    facts, done = stub.facts, attempt.measurement
    metrics = (
        ()
        if withheld
        else tuple(Metric(m.name, m.change.mean, m.unit, m.direction, m.change.n, m.change.stddev) for m in evidence.measured)
    )
    band = evidence.least_band
    run = Run(
        Origin(stub.page.field("run"), attempt.plan.number),
        "kb",
        stub.page.stem,
        facts.target,
        facts.variant,
        status=str(verdict),
        description=stub.page.title,
        primary=evidence.primary,
        metrics=metrics,
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
        artifacts=tuple(Artifact(k.role, k.file or k.path, k.digest) for k in (done.kept if done else ()) if k.side == "change"),
        firing=evidence.firing,
        verdict=str(verdict),
        decision=decision,
        noise=Noise(band, "target page") if band else None,
        created=created,
        notes=(("rule", ruling.rule), ("host", json.dumps(dict(attempt.plan.host), ensure_ascii=False, sort_keys=True))),
    )
    if not (attempt.folder / "run.json").exists():
        store.write(attempt.folder / "run.json", to_line(run) + "\n")


def show(layout: store.Layout, path: str, target: Target) -> tuple[Evidence, Ruling] | None:
    """Fill the blocks of a stub with what its newest attempt measured, so that people see it before it is closed; None while nothing is finished."""
    with store.lock(layout, "pages"):
        stub = stub_at(layout, path)
        attempts = attempts_in(layout.root / stub.page.field("run"))
        if stub.filed or not attempts or not attempts[-1].measurement:
            return None
        evidence = evidence_of(layout, stub, target, attempts[-1])
        ruling = ruling_of(evidence)
        data = filled(path, stub.data, blocks_of(stub, attempts[-1], evidence, ruling))
        code = {"code": quoted(attempts[-1].plan.change)} if attempts[-1].plan.change else {}
        data = with_fields(path, data, {"measured": quoted(receipt_of(attempts[-1])), **code})
        if data != stub.data:
            store.write(layout.root / path, data)
    return evidence, ruling
