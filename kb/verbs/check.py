"""kb check [ask]: say whether a proposal repeats what was refuted, and what differs."""

import os
from dataclasses import dataclass

from kb import KbError
from kb.refuted.gate import Answer, Gate, Proposal
from kb.refuted.groups import answer_text
from kb.trail import experiment
from kb.verbs import CLOSED, FINE, Caller, Result, argument, flag, option, several
from kb.verbs.result import json_lines

_KEYS = ("id", "proposal", "target", "before", "as_of")


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckProposal:
    """A proposal or a batch of them, and the moment."""

    proposal: tuple[str, ...] = argument(
        "file with the proposal, or - for stdin, or its words", default=(), metavar="PROPOSAL"
    )
    target: str = option("what is to be optimized")
    before: str = option("as of just before this page", metavar="PAGE")
    as_of: str = option("as of the end of this day", metavar="DATE")
    batch: str = option(
        "a JSON line per proposal (id, proposal, target, before, as_of); prints a JSON line each",
        metavar="FILE",
    )
    lever: tuple[str, ...] = several(
        "a lever that the proposal declares, NAME=VALUE (repeatable)", metavar="LEVER"
    )
    all: bool = flag("print all of every match")


def run(request: CheckProposal, caller: Caller) -> Result[Answer | tuple[Answer, ...]]:
    if bool(request.proposal) == bool(request.batch):
        raise KbError("give one PROPOSAL (a file, or - for stdin) or --batch FILE")
    before = request.before and caller.page(request.before)
    gate = Gate(caller.tables(), caller.layout)
    if request.batch:
        answers = tuple(gate.check(proposal) for proposal in _batch(request.batch, caller))
        lines = json_lines(answers)
        return Result(answers, lines, forms={"json": lambda: lines})
    text = proposal_text(typed := " ".join(request.proposal), caller)
    caller.doubt_target(gate.db, request.target, cutoff=0.0)
    name = "" if typed in ("-", text) else typed
    if name and not before and not request.as_of:
        # A page on file is asked about as of just before it: it would match itself.
        page = (
            caller.path(name)
            if (caller.folder / name).resolve().is_relative_to(caller.layout.root)
            else ""
        )
        before = page if experiment(gate.db, page) else None
    question = Proposal(text, name, request.target, before, request.as_of, request.lever)
    answer = gate.check(question)
    code = FINE if answer.outcome == "clear" else CLOSED
    return Result(answer, answer_text(answer, every=request.all), code)


def proposal_text(name: str, caller: Caller) -> str:
    """The proposal in a file, or the words themselves. Raises KbError where it is empty."""
    # Words that name no file are the proposal itself; what ends as a file does, and a word with a slash, is a path that was mistyped.
    is_path = (
        name.endswith((".md", ".markdown", ".txt"))
        or "/" in name
        and {*name}.isdisjoint(" \n=")
        or name == "-"
        or caller.confined
        or os.path.isfile(caller.file(name))
    )
    text = caller.text(name) if is_path else name
    if not text.strip():
        raise KbError(
            f"{name}: the proposal is empty; say what is to be changed and why it should help"
        )
    return text


def _batch(name: str, caller: Caller):
    """The proposals of a batch file. Raises KbError at a line that is none."""
    for place, values in caller.rows(name):
        unknown = sorted(set(values) - set(_KEYS)) if isinstance(values, dict) else []
        if unknown or not isinstance(values, dict):
            raise KbError(
                f"{place}: takes an object with {', '.join(_KEYS)}"
                + (f"; not {', '.join(unknown)}" if unknown else "")
            )
        text = values.pop("proposal", None)
        if not isinstance(text, str) or not text.strip():
            raise KbError(f"{place}: no text under 'proposal'")
        yield Proposal(
            text, **{key: str(value) for key, value in values.items() if value is not None}
        )
