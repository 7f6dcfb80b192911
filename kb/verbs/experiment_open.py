"""kb experiment open [experiment]: file the stub of an experiment before anything runs."""

from collections.abc import Callable
from contextlib import closing
from dataclasses import fields, replace
from functools import partial

from kb import KbError, store
from kb.experiments.auditing import expectation_from, move_of, move_text, moves_in
from kb.experiments.opening import checked, opened, proposal_in
from kb.experiments.proposal import ExperimentProposal
from kb.experiments.targets import Target, target_named
from kb.refuted.gate import Answer, Gate
from kb.refuted.gate import Proposal as Question
from kb.run.criterion import GAIN, criteria_of, to_text
from kb.schema import Verdict
from kb.text import cut
from kb.verbs import Caller, Result
from kb.verbs.experiment import StatesProposal, trail_of

# Characters of a match's reason that are told on opening.
_REASON = 160


def run(
    request: StatesProposal,
    caller: Caller,
    look: Callable[[Target, ExperimentProposal, str], None] | None = None,
) -> Result[dict[str, str]]:
    """`look` may refuse before a page is filed; it is told target, proposal and the parent's commit."""
    layout, name = caller.layout, request.proposal
    proposal = proposal_in(caller.content(name), name=name) if name else ExperimentProposal()
    stated = {f.name: getattr(request, f.name) for f in fields(ExperimentProposal)}
    proposal = replace(proposal, **{key: value for key, value in stated.items() if value})
    if not proposal.target:
        raise KbError(
            "what is optimized? say --target NAME, or `target:` in the proposal's front matter"
        )
    target = target_named(layout, proposal.target)
    expectation_from(proposal.expect, proposal.forbid, proposal.predict)
    today = caller.day(request.date)
    caller.build()
    proposal, text, answer = _gate(request, caller, proposal, target)
    before = partial(look, target) if look else None
    path = opened(layout, proposal, target, answer=answer, today=today, text=text, look=before)
    if answer:
        _tell(caller, proposal, target)
    caller.build(again=True)
    if answer is None:
        return Result({"path": path, "outcome": "none", "receipt": "baseline"}, path)
    for match in answer.matches[:3] if answer.outcome != "clear" else ():
        because = cut(match.because, _REASON)
        caller.talk(f"near {match.path} ({match.kind}, {match.verdict}): {because}")
    return Result({"path": path, "outcome": answer.outcome, "receipt": answer.receipt}, path)


def _gate(
    request: StatesProposal,
    caller: Caller,
    proposal: ExperimentProposal,
    target: Target,
) -> tuple[ExperimentProposal, str, Answer | None]:
    """The proposal with its parent, what the cards were asked, and what they say to it; with --receipt, what was checked before.

    Raises KbError where the receipt is not of this proposal.
    """
    if not proposal.parent and not proposal.baseline:
        standing = (Verdict.SUPPORTED, Verdict.BASELINE)
        kept = [
            e.path
            for e in trail_of(caller.layout, target.name)
            if e.variant == proposal.variant and e.verdict.canonical in standing
        ]
        proposal = replace(proposal, parent=kept[-1] if kept else target.base)
    proposal = checked(proposal, target)
    if proposal.baseline:
        return proposal, "", None
    questions = [Question(proposal.text, target=target.name)]
    if request.receipt and request.proposal not in ("", "-"):
        # The file as `kb check` read it, with or without a target.
        text = caller.text(request.proposal)
        questions += [Question(text, request.proposal, target=t) for t in (target.name, "")]
    with closing(store.state(caller.layout)) as db:
        gate = Gate(db, caller.layout)
        for question in questions:
            answer = gate.check(question)
            if request.receipt in ("", answer.receipt):
                return proposal, question.text, answer
    raise KbError(
        f"--receipt {request.receipt} is not what `kb check` says of this proposal now; check it again, and open what was checked"
    )


def _tell(caller: Caller, proposal: ExperimentProposal, target: Target) -> None:
    """Say before anything is measured what will count as wrong, how the prediction is read, and that a win could not be audited; earlier runs tell what the benchmark prints."""
    criteria = criteria_of(proposal.falsification, metrics=target.metrics)
    caller.talk(f"counts as wrong if {' or '.join(map(to_text, criteria))}")
    printed = {m.name for e in trail_of(caller.layout, target.name) for m in e.metrics}
    strange = {c.metric for c in criteria} - {GAIN, *target.metrics, *printed}
    for name in sorted(strange) if target.metrics else ():
        caller.talk(
            f"'{name}' is no metric of {target.path or target.name}; if the benchmark does not print it, the experiment stays inconclusive"
        )
    known = (*target.metrics, *sorted(printed))
    moves = (*map(move_of, proposal.predict), *moves_in(proposal.predicted, known))
    if moves:
        caller.talk(f"predicted: {', '.join(dict.fromkeys(map(move_text, moves)))}")
    elif not proposal.expect and not proposal.forbid:
        caller.talk(
            "the predicted signal names no metric that falls or rises, and nothing is expected (--expect, --predict): "
            "a win will need that before it is closed"
        )
