"""Closes an experiment: audits it, gives the verdict by rule, files and seals the page. Refuses to judge what was not measured, was
tampered with, or lacks what only its author can say; a step that was forgotten never makes a worse verdict.

The page is written whole, so it is open or filed and never between; what follows from it is finished by closing again. Evidence that
is completed later makes a dated note below the sealed text.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace

from kb import KbError, store
from kb.experiments import rendering, writeback
from kb.experiments.attempt import last_attempt, receipt_of, refuse_tampered
from kb.experiments.auditing import Expectation
from kb.experiments.judging import Case, blocks_of, expecting, judged, restate
from kb.experiments.stub import Stub, filled, stub_at, without_markers
from kb.experiments.targets import Target
from kb.page import text_of
from kb.page.seal import FIELD as SEAL
from kb.page.seal import sealed
from kb.page.superseding import Superseding, superseding, to_note
from kb.run.evidence import Evidence
from kb.run.reasons import percent
from kb.run.rules import Ruling
from kb.schema import Verdict
from kb.text import command_of, counted, one_line

_UNMEASURED = Ruling(Verdict.INCONCLUSIVE, "unmeasured", "nothing was measured")


@dataclass(frozen=True, kw_only=True)
class RunLesson:
    """What was learnt, and what would have to change to try it again."""

    because: str = ""
    reopen_if: str = ""


@dataclass(frozen=True, kw_only=True)
class Remarks(RunLesson):
    """What a person or an agent says on closing: a verdict against the rules' with its reason, and what to do with the change."""

    overrule: str = ""
    reason: str = ""
    decision: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Closed(Ruling):
    """The ruling of a page, and what closing did. `again`: it had been filed before; `superseded` is then the verdict that a later note
    took the place of. `hint` says what may still be done; of a trial `outcome` and `receipt` are what the gate answered."""

    path: str
    decision: str
    overruled: bool = False
    again: bool = False
    written: tuple[str, ...] = ()
    superseded: str = ""
    hint: str = ""
    outcome: str = ""
    receipt: str = ""


def close(
    layout: store.Layout,
    path: str,
    target: Target,
    *,
    remarks: Remarks,
    stated: Mapping[str, tuple[str, ...]],
    foreseen: bool,
    today: str,
    dry: bool = False,
) -> Closed:
    """File the verdict of the experiment at `path`; `dry` writes nothing. `stated` is what else shows its mechanism; `foreseen`: what was
    learnt was said before anything ran.

    Raises KbError where there is nothing to judge, and where the mechanism cannot be audited although all else speaks for support.
    """
    lines = {f.name: one_line(getattr(remarks, f.name)).rstrip(".") for f in fields(Remarks)}
    remarks = Remarks(**lines)
    if bool(remarks.overrule) != bool(remarks.reason):
        raise KbError(
            f"{path}: a verdict is overruled with a reason that stays on the page: --overrule VERDICT --reason TEXT; what was learnt is --because TEXT"
        )
    with store.lock(layout, "pages"):
        stub = stub_at(layout, path)
        today = max(today, stub.page.field("created"))
        stub, restated = expecting(layout, stub, stated, today=today)
        if stub.filed:
            if remarks.decision not in ("", stub.facts.decision):
                raise KbError(
                    f"{path}: is filed with its decision; what the loop did later stands in a note below it, under `## Note {today}`"
                )
            return _closed_again(
                layout, stub, target, remarks, restated=restated, today=today, dry=dry
            )
        case, done = _ruled(layout, stub, target, remarks)
        if dry:
            return done
        page = _page(case, remarks, done, foreseen=foreseen, today=today)
        store.write(layout.root / path, page)
        logged = writeback.log_missing(layout, target.name, today=today)
        return replace(done, written=(path, *logged))


def _ruled(
    layout: store.Layout, stub: Stub, target: Target, remarks: Remarks
) -> tuple[Case, Closed]:
    """The case of a page and what closing it says.

    Raises KbError for a page without a receipt, nothing finished, or a win that would be sealed as less for want of something to look for.
    """
    path = stub.path
    if not stub.run:
        raise KbError(
            f"{path}: was not opened by `kb experiment open`; pages written by hand carry their verdict themselves"
        )
    attempt = last_attempt(layout, stub)
    if attempt and attempt.measurement:
        refuse_tampered(attempt, stub)
        case = judged(stub, target, attempt)
    elif remarks.overrule:
        case = Case(stub, None, Evidence(""), _UNMEASURED)
    else:
        count = (
            f"an attempt was cut off after {counted(len(attempt.samples), 'samples')}"
            if attempt
            else ""
        )
        raise KbError(
            f"{path}: {count or 'nothing is measured yet'}; `{command_of('experiment run', path)}` measures it, --overrule inconclusive --reason TEXT gives it up"
        )
    ruling, audit = case.ruling, case.audit
    sought = case.sought != Expectation()
    halfway = ruling.rule == "not-fired" and audit.firing == "partial" and not sought
    if (ruling.rule == "no-audit" or halfway) and not remarks.overrule:
        unseen = next((f.text for f in audit.findings if f.held is None), "")
        raise KbError(
            f"{path}: {percent(ruling.gain or 0.0)} would be supported, but {unseen or 'nothing says how its mechanism shows'}. Say so and close again: "
            "--expect PATTERN (what dumps, outputs or built files show and the parent's do not), --predict 'METRIC down' (a metric or "
            "profile bucket that moves), --forbid PATTERN; or judge it yourself: --overrule VERDICT --reason TEXT"
        )
    verdict = Verdict(remarks.overrule) if remarks.overrule else ruling.verdict
    kept = "keep" if verdict in (Verdict.SUPPORTED, Verdict.BASELINE) else "revert"
    return case, Closed(
        **{f.name: getattr(ruling, f.name) for f in fields(Ruling)} | {"verdict": verdict},
        path=path,
        decision=remarks.decision or kept,
        overruled=bool(remarks.overrule),
    )


def _closed_again(
    layout: store.Layout,
    stub: Stub,
    target: Target,
    remarks: Remarks,
    *,
    restated: str,
    today: str,
    dry: bool,
) -> Closed:
    """A filed page: a dated note where its evidence is another now and says something else, where it is audited by something else
    (`restated`) or a person overrules it, and what follows from it. Raises KbError for what no note can say."""
    seal, page = stub.page.field(SEAL), stub.page
    notes = superseding(text_of(stub.data), seal=seal)
    stands = notes[-1].verdict if notes else stub.facts.verdict.canonical or Verdict.OTHER
    attempt = last_attempt(layout, stub)
    measured = receipt_of(attempt) if attempt and attempt.measurement else ""
    is_known = measured in {page.field("measured"), *(n.evidence for n in notes)}
    known = page.field("because"), _lesson_of(page.field("because"), page.field("reopen_if"))
    lesson = _lesson(stub, remarks, {*known, *(n.because for n in notes)})
    # Closing that was killed between page and log is made good, whatever this call says.
    logged = () if dry else writeback.log_missing(layout, target.name, today=today)
    decided = bool(page.field("overruled"))
    as_before = Closed(
        Verdict(stands),
        page.field("rule"),
        "",
        path=stub.path,
        decision=stub.facts.decision,
        overruled=decided,
        again=True,
        written=logged,
    )
    if not remarks.overrule and (decided or not measured or is_known and not restated):
        if restated:
            raise KbError(
                f"{stub.path}: its verdict is a person's, so no audit turns it; --overrule VERDICT --reason TEXT does"
            )
        done, because = replace(as_before, reason=lesson), lesson
    else:
        case, done = _ruled(layout, stub, target, remarks)
        done = replace(done, again=True, written=logged)
        stays = done.verdict == stands
        because = _because(case, remarks, lesson, restated, stays=stays, is_known=is_known)
    note = Superseding(today, str(done.verdict), because, measured or "none")
    if not because or note in notes:
        return done
    done = replace(done, superseded=stands)
    if dry:
        return replace(done, written=(stub.path, layout.page(writeback.LOG)))
    line = to_note(note, seal=seal)
    store.write(layout.root / stub.path, stub.data.rstrip() + f"\n\n{line}\n".encode())
    if restated:
        restate(layout, stub, len(notes) + 1)
    log = writeback.log_superseded(layout, stub, note, today=today)
    return replace(done, written=(stub.path, log))


def _lesson_of(because: str, reopen_if: str) -> str:
    return "; ".join(filter(None, (because, reopen_if and f"reopen if {reopen_if}")))


def _lesson(stub: Stub, remarks: Remarks, known: set[str]) -> str:
    """What is said of a filed page besides its evidence, unless that is known. Raises KbError for a page that kb did not seal."""
    lesson = _lesson_of(remarks.because, remarks.reopen_if)
    if lesson and not stub.page.field(SEAL):
        raise KbError(
            f"{stub.path}: was filed by hand, and what is learnt is noted below a seal of kb's own; write it on the page"
        )
    return "" if lesson in known else lesson


def _because(
    case: Case, remarks: Remarks, lesson: str, restated: str, *, stays: bool, is_known: bool
) -> str:
    """Why a note takes the place of a verdict, and by what else it was audited; where the verdict stays, how many runs its newer figures
    are of, or what was learnt alone."""
    overruled = remarks.reason not in ("", case.stub.page.field("overruled"))
    if stays and is_known and not (restated or overruled):
        return lesson
    reason = remarks.reason if remarks.overrule else case.ruling.reason
    parts = [one_line(remarks.because or reason).rstrip("."), one_line(restated)]
    if stays and not is_known and case.attempt:
        more = case.ruling.more
        parts.append(f"{len(case.attempt.of('bench', 'change'))} runs of each side")
        parts += [f"about {more} more samples of each side would decide"] if more else []
    return _lesson_of("; ".join(filter(None, parts)), remarks.reopen_if)


def _page(case: Case, remarks: Remarks, done: Closed, *, foreseen: bool, today: str) -> bytes:
    """The bytes of the filed page."""
    stub, ruling, attempt = case.stub, case.ruling, case.attempt
    # Who says why before it ran explains a win; of any other end it is no lesson.
    expected = foreseen and done.verdict not in (Verdict.SUPPORTED, Verdict.BASELINE)
    because = "" if expected else remarks.because
    verdict = rendering.verdict_text(
        ruling,
        overruled=done.verdict if done.overruled else None,
        reason=remarks.reason,
        because=because,
        reopen_if=remarks.reopen_if,
        expected=remarks.because if expected else "",
    )
    stated = {
        "status": "filed",
        "verdict": done.verdict,
        "rule": ruling.rule,
        "decision": done.decision,
        "firing": case.evidence.firing,
        "because": because,
        "reopen_if": remarks.reopen_if,
        "code": attempt.plan.change if attempt else "",
        "measured": receipt_of(attempt) if attempt else "",
        "metrics": rendering.metrics_field(case.evidence, ruling),
        "gain": rendering.gain_field(ruling, case.evidence),
        "overruled": remarks.reason if remarks.overrule else "",
        "updated": today,
    }
    data = filled(stub.path, stub.data, blocks_of(case) | {"verdict": verdict}, {})
    return sealed(stub.path, filled(stub.path, without_markers(stub.path, data), {}, stated))
