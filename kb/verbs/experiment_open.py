"""kb experiment open [experiment]: file the stub of an experiment before anything runs."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from kb import KbError, store
from kb.verbs import Caller, Result, argument, flag, option, several

if TYPE_CHECKING:
    from kb.experiments.opening import Proposal
    from kb.experiments.targets import Target
    from kb.refuted.gate import Answer

# Characters of a match's reason that are told on opening.
_REASON = 160


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenExperiment:
    """A proposal as a file, as options, or as both: options say more than the file."""

    proposal: str = argument(
        "markdown file with the four labels, or - for stdin; options say more than the file",
        default="",
        metavar="PROPOSAL",
    )
    target: str = option("what is optimized", metavar="TEXT")
    variant: str = option("operating point: size, hardware, batch", metavar="TEXT")
    title: str = option("title of the page", metavar="TEXT")
    hypothesis: str = option("what is claimed", metavar="TEXT")
    mechanism: str = option("why it should work", metavar="TEXT")
    predicted: str = option("what will be seen if it works", metavar="TEXT")
    falsification: str = option(
        "when it counts as wrong, such as 'time_ms >= 95' or 'gain < 2%'", metavar="TEXT"
    )
    parent: str = option(
        "page, label or git reference it is compared with (default: the newest supported one, else the target's base)",
        metavar="TEXT",
    )
    differs: str = option("what differs from the refuted match, naming it", metavar="TEXT")
    lever: tuple[str, ...] = several(
        "what the change pulls (again for more)", metavar="NAME[=VALUE]"
    )
    expect: tuple[str, ...] = several("what its audit will look for", metavar="PATTERN")
    forbid: tuple[str, ...] = several("what its audit must not find", metavar="PATTERN")
    predict: tuple[str, ...] = several(
        "cost bucket and its move, such as 'copy down'", metavar="MOVE"
    )
    baseline: bool = flag("the first measurement of a target: no parent, no levers")
    receipt: str = option("what `kb check` printed of this proposal", metavar="RECEIPT")
    date: str = option("day in the file name (default: today)", metavar="YYYY-MM-DD")


@dataclass(frozen=True, slots=True)
class Opening(Result):
    """The page that was filed, and what the gate answered."""

    path: str
    outcome: str
    receipt: str

    def to_text(self) -> str:
        return self.path


def run(request: OpenExperiment, caller: Caller) -> Opening:
    from kb.experiments.opening import opened
    from kb.experiments.targets import target_named

    layout = caller.layout()
    proposal = _proposal(request, caller)
    target = target_named(layout, proposal.target)
    _refuse_bad_patterns(proposal)
    today = caller.day(request.date)
    caller.build(layout)
    proposal, answer = _gate(layout, proposal, target)
    text = proposal.text
    if request.receipt and answer and request.receipt != answer.receipt:
        text, answer = _answer_checked(layout, request, caller, target)
    path = opened(layout, proposal, target, answer=answer, today=today, text=text)
    if not proposal.baseline:
        _tell_criteria(layout, caller, path, target)
        _doubt_signal(layout, caller, proposal, target)
    caller.build(layout)
    for match in answer.matches[:3] if answer and answer.outcome != "clear" else ():
        caller.talk(f"near {match.path} ({match.kind}, {match.verdict}): {match.because[:_REASON]}")
    return Opening(
        path, answer.outcome if answer else "none", answer.receipt if answer else "baseline"
    )


def _proposal(request: OpenExperiment, caller: Caller) -> "Proposal":
    from kb.experiments.opening import Proposal, lever_of, proposal_in

    name = request.proposal
    proposal = proposal_in(caller.content(name), name=name) if name else Proposal("")
    options = {
        "target": request.target,
        "variant": request.variant,
        "title": request.title,
        "hypothesis": request.hypothesis,
        "mechanism": request.mechanism,
        "predicted_signal": request.predicted,
        "falsification": request.falsification,
        "parent": request.parent,
        "differs": request.differs,
        "levers": tuple(lever_of(v) for v in request.lever),
        "expect": request.expect,
        "forbid": request.forbid,
        "predict": request.predict,
    }
    proposal = replace(
        proposal, **{k: v for k, v in options.items() if v}, baseline=request.baseline
    )
    if not proposal.target:
        raise KbError(
            "what is optimized? say --target NAME, or `target:` in the proposal's front matter"
        )
    return proposal


def _refuse_bad_patterns(proposal: "Proposal") -> None:
    from kb.experiments.auditing import move_of, pattern_of

    for text in (*proposal.expect, *proposal.forbid):
        pattern_of(text)
    for text in proposal.predict:
        move_of(text)


def _gate(
    layout: store.Layout, proposal: "Proposal", target: "Target"
) -> "tuple[Proposal, Answer | None]":
    """The proposal with its parent and levers, and what the cards say to it."""
    from kb import trail
    from kb.experiments.opening import checked
    from kb.refuted.gate import Gate
    from kb.refuted.gate import Proposal as Question
    from kb.schema import Verdict
    from kb.trail.levers import levers_in

    db = store.state(layout)
    try:
        if not proposal.parent and not proposal.baseline:
            kept = [
                e.path
                for e in trail.experiments(db, target=target.name)
                if e.variant == proposal.variant
                and e.verdict.canonical in (Verdict.SUPPORTED, Verdict.BASELINE)
            ]
            proposal = replace(proposal, parent=kept[-1] if kept else target.base)
        proposal = checked(proposal, target, found=levers_in(proposal.text))
        return proposal, None if proposal.baseline else Gate(db).check(
            Question(proposal.text, target=target.name)
        )
    finally:
        db.close()


def _answer_checked(
    layout: store.Layout, request: OpenExperiment, caller: Caller, target: "Target"
) -> "tuple[str, Answer]":
    """The file as `kb check` read it, with or without a target, and its answer. Raises KbError where the receipt is neither's."""
    from kb.refuted.gate import Gate
    from kb.refuted.gate import Proposal as Question

    text = caller.text(request.proposal) if request.proposal not in ("", "-") else ""
    db = store.state(layout)
    try:
        asked = (
            [Question(text, request.proposal, target=t) for t in (target.name, "")] if text else []
        )
        for answer in map(Gate(db).check, asked):
            if answer.receipt == request.receipt:
                return text, answer
    finally:
        db.close()
    raise KbError(
        f"--receipt {request.receipt} is not what `kb check` says of this proposal now; "
        "check it again, and open what was checked"
    )


def _doubt_signal(
    layout: store.Layout, caller: Caller, proposal: "Proposal", target: "Target"
) -> None:
    """Say before anything is measured that a win could not be audited; earlier runs tell what the benchmark prints."""
    from kb.experiments.auditing import moves_in
    from kb.verbs.experiment import trail_of

    seen = (*proposal.expect, *proposal.forbid, *proposal.predict)
    printed = (m.name for e in trail_of(layout, target.name) for m in e.metrics)
    names = tuple(dict.fromkeys((*target.metrics, *printed)))
    if not seen and not moves_in(proposal.predicted_signal, names):
        caller.talk(
            "the predicted signal names no metric that falls or rises, and nothing is expected (--expect, --predict): "
            "a win will need that before it is closed"
        )


def _tell_criteria(layout: store.Layout, caller: Caller, path: str, target: "Target") -> None:
    from kb.experiments.stub import stub_at
    from kb.run.criterion import GAIN, to_text

    criteria = stub_at(layout, path).falsification(target.metrics)
    caller.talk(f"counts as wrong if {' or '.join(map(to_text, criteria))}")
    for name in (
        sorted({c.metric for c in criteria} - {GAIN, *target.metrics}) if target.metrics else ()
    ):
        caller.talk(
            f"'{name}' is no metric of wiki/targets/{target.name}.md; "
            "if the benchmark does not print it, the experiment stays inconclusive"
        )
