"""A page with all that it is judged by: its newest attempt, the audit of it, the evidence, and what the rules say.

Refuses to fill a gap: what was not measured is not there.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from kb import KbError, store
from kb.experiments import rendering
from kb.experiments.attempt import (
    Attempt,
    create,
    decoded,
    home_of,
    last_attempt,
    receipt_of,
)
from kb.experiments.auditing import Audit, Expectation, audit, expectation_from, expectation_of
from kb.experiments.plan import Side
from kb.experiments.stub import Stub, filled, stub_at, stub_of
from kb.experiments.targets import Target
from kb.run.evidence import Evidence, Measured, measured_of
from kb.run.noise import Spread
from kb.run.rules import OPEN_RULES, Ruling, ruling_of
from kb.text import command_of, one_line, shell_word

# What was stated of a page after it was filed: its front matter stays as it is.
_RESTATED = "restated-*.json"


@dataclass(frozen=True, slots=True)
class Case:
    """All that a page is judged by; without an attempt nothing was measured."""

    stub: Stub
    attempt: Attempt | None
    evidence: Evidence
    ruling: Ruling
    audit: Audit = Audit("", ())
    sought: Expectation = Expectation()


def judged(stub: Stub, target: Target, attempt: Attempt) -> Case:
    """What the rules say of a finished attempt, audited by what its page expects."""
    sought = expectation_of(stub, attempt.metrics)
    signs = audit(attempt, sought, _primary(target, attempt))
    unseen = next((f.text for f in signs.findings if not (f.held and f.shows)), "")
    evidence = evidence_of(stub, target, attempt, firing=signs.firing, unseen=unseen)
    return Case(stub, attempt, evidence, ruling_of(evidence), signs, sought)


def _primary(target: Target, attempt: Attempt) -> str:
    """The metric that decides: the run's, else the target's, else the first that was printed."""
    return attempt.plan.metric or target.metric or next(iter(attempt.metrics), "")


def evidence_of(
    stub: Stub,
    target: Target,
    attempt: Attempt,
    *,
    firing: str = "",
    unseen: str = "",
) -> Evidence:
    """Evidence of one attempt. Raises KbError where several metrics were printed and none is named."""
    plan, done = attempt.plan, attempt.measurement
    primary = _primary(target, attempt)
    if not (plan.metric or target.metric) and len(attempt.metrics) > 1:
        raise KbError(
            f"{attempt.folder}: which of {', '.join(attempt.metrics[:6])} decides? say `metric:` in {target.path or 'the page of the target'}"
        )
    timed = [name for name in attempt.metrics if attempt.values(name, "change")]
    measured = tuple(_measured(target, attempt, name) for name in timed)
    return Evidence(
        primary,
        measured,
        has_parent=not stub.baseline,
        crash=attempt.problem("change"),
        parent_crash=attempt.problem("parent"),
        touched=(*plan.touched, *(done.touched if done else ())),
        strayed=plan.strayed,
        forged=done.forged if done else (),
        checks=done.checks if done else "",
        bounds=target.bounds,
        falsification=stub.falsification((*target.metrics, primary)),
        firing=firing,
        unseen=unseen,
        tracked=target.tracked,
        noise_limit=target.noise_limit[0],
        look=attempt.looks,
    )


def _measured(target: Target, attempt: Attempt, name: str) -> Measured:
    sides: tuple[Side, Side] = ("change", "parent")
    reading = measured_of(
        name,
        *(attempt.values(name, side) for side in sides),
        stated=[_record_spread(attempt, name, side) for side in sides],
        look=attempt.looks,
        unit=target.unit if name == target.metric else "",
        direction=target.direction_for(name),
    )
    parent = reading.parent.middle if reading.parent else 0.0
    return replace(reading, least=target.least_effect(name, parent))


def _record_spread(attempt: Attempt, name: str, side: Side) -> Spread | None:
    """The spread that a single record states of its own repeats."""
    values, samples = attempt.values(name, side), attempt.of("bench", side)
    spreads = [(dev, n) for s in samples for metric, dev, n in s.spreads if metric == name]
    return (
        Spread(values[0], spreads[0][0], spreads[0][1] or None)
        if len(values) == 1 and spreads
        else None
    )


def blocks_of(case: Case) -> dict[str, str]:
    """What a finished attempt puts into the blocks of its page, verdict aside."""
    if not case.attempt:
        return {"results": "Nothing was measured."}
    return {
        "setup": rendering.setup_of(case.attempt),
        "results": rendering.results_of(case.evidence, case.ruling, case.attempt),
        "profile": rendering.profile_text(case.attempt, case.ruling.verdict),
        "audit": rendering.audit_text(case.audit, case.stub.page.words("withdrawn")),
        "sources": rendering.sources_text(case.stub.path, case.attempt, run=case.stub.run),
    }


def expecting(
    layout: store.Layout, stub: Stub, stated: Mapping[str, tuple[str, ...]], *, today: str
) -> tuple[Stub, str]:
    """A page with what somebody states of it (`expect`, `forbid`, `predict`) in place of what was stated before, and that in words; an
    empty pattern states none. The bytes of a filed page stay. Raises KbError for a pattern or a move that is none."""
    now = {k: tuple(dict.fromkeys(filter(None, words))) for k, words in stated.items() if words}
    expectation_from(**now)
    page = stub.page
    before = {key: page.words(key) for key in ("expect", "forbid", "predict")}
    if later := sorted(home_of(layout, stub).glob(_RESTATED)) if stub.filed and stub.run else ():
        before = decoded(dict[str, tuple[str, ...]], later[-1])
    now = before | now
    new, gone = _without(now, before), _without(before, now)
    fields: dict[str, object] = {k: words for k, words in now.items() if words != page.words(k)}
    if gone:
        fields["withdrawn"] = (*page.words("withdrawn"), f"{today}: {gone}")
    more = stub_of(layout, stub.path, filled(stub.path, stub.data, {}, fields))
    change = f"audited by {new or 'nothing new'}{gone and ' in place of '}{gone}"
    return replace(more, data=stub.data) if stub.filed else more, change if new or gone else ""


def _without(these: Mapping[str, tuple[str, ...]], others: Mapping[str, tuple[str, ...]]) -> str:
    return ", ".join(f"{k} `{one_line(w)}`" for k in these for w in these[k] if w not in others[k])


def restate(layout: store.Layout, stub: Stub, number: int) -> None:
    """File what a filed page is audited by from its note of this number on, beside its attempts."""
    words = {key: stub.page.words(key) for key in ("expect", "forbid", "predict")}
    create(home_of(layout, stub) / _RESTATED.replace("*", f"{number:03d}"), words)


def show(
    layout: store.Layout,
    path: str,
    target: Target,
    *,
    stated: Mapping[str, tuple[str, ...]],
    today: str,
) -> Case | None:
    """Judge the newest attempt of a page, and fill the blocks of one that is not filed, so that people see it before it is closed; None
    while nothing is finished."""
    with store.lock(layout, "pages"):
        before = stub_at(layout, path)
        stub, _ = expecting(layout, before, stated, today=today)
        attempt = last_attempt(layout, stub)
        if not attempt or not attempt.measurement:
            return None
        case = judged(stub, target, attempt)
        stated_now = {"measured": receipt_of(attempt), "code": attempt.plan.change}
        data = stub.data if stub.filed else filled(path, stub.data, blocks_of(case), stated_now)
        if data != before.data:
            store.write(layout.root / path, data)
    return case


_HINTS = {
    "not-fired": "a pattern that was wrong is taken back by a right one: `kb experiment close {path} --expect PATTERN` stands in its place, with "
    "the day; `kb experiment audit` with the same options shows first what comes of it",
    "no-audit": "`kb experiment close {path} --expect PATTERN` (or --predict 'METRIC down') says how its mechanism shows",
    "parent-unmeasured": "mend the benchmark, or `metric:` of the target page, and measure anew (`run --again`, once it is filed a new experiment); a record is "
    "judged beside the parent's of the same day: `--again --record FILE --record-parent FILE`",
    "protected-file": "a build file that the change is meant to edit is named in the proposal's text, and its lines that build the benchmark "
    "stay; what stands under `allowed:` of the target is free; a benchmark changed on purpose is another `base:`",
}


def hint_of(ruling: Ruling, path: str) -> str:
    """What may still be done about a ruling before the page is closed; empty where measuring more of the same tells nothing new."""
    if ruling.rule in OPEN_RULES and ruling.more:
        return f"about {ruling.more} more samples of each side would decide: `{command_of('experiment run', path, '--more', str(ruling.more))}`"
    if ruling.rule in OPEN_RULES and ruling.rule != "noise-unknown":
        return (
            "no number of samples decides: the gain lies on the line itself, or readings are too coarse (let the benchmark print more "
            "digits, or time more work)"
        )
    return _HINTS.get(ruling.rule, "").format(path=shell_word(path))
