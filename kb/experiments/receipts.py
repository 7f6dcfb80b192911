"""What `kb check` said when an experiment was opened, kept beside its attempts, and asked again when it is closed.

A page whose receipt is not the one of its opening is refused, and one that the cards as of its opening call a repeat.
"""

import sqlite3
from dataclasses import dataclass

import msgspec

from kb import KbError, store
from kb.experiments.attempt import runs_home
from kb.experiments.stub import Stub
from kb.refuted.gate import Answer, Gate
from kb.refuted.gate import Proposal as Question

_FILE = "opening.json"


@dataclass(frozen=True, slots=True)
class Opening:
    """The question as it was asked, and the receipt of its answer."""

    receipt: str
    outcome: str
    target: str
    text: str


def keep_opening(
    layout: store.Layout, run: str, answer: Answer | None, *, target: str, text: str
) -> None:
    """File the question and the receipt beside the attempts that are to come; a baseline has none."""
    if answer:
        opening = Opening(answer.receipt, answer.outcome, target, text)
        data = msgspec.json.format(msgspec.json.encode(opening), indent=1) + b"\n"
        store.write(runs_home(layout, run) / _FILE, data)


def refuse_forged(layout: store.Layout, stub: Stub, db: sqlite3.Connection) -> tuple[str, ...]:
    """Raises KbError where the receipt of a page is not its own; evidence pages of cards that were filed since, nearest first."""
    receipt = stub.page.field("receipt")
    if not receipt:
        raise KbError(
            f"{stub.path}: has lost its receipt of `kb check`; restore the front matter that `kb experiment open` wrote"
        )
    if stub.baseline:
        return ()
    file = runs_home(layout, stub.run) / _FILE
    try:
        opening = msgspec.json.decode(file.read_bytes(), type=Opening)
    except (OSError, RecursionError, msgspec.DecodeError) as error:
        raise KbError(
            f"{stub.path}: {stub.run}/{_FILE}, which `kb experiment open` wrote, is gone or cannot be read; restore it"
        ) from error
    if receipt != opening.receipt:
        raise KbError(
            f"{stub.path}: its receipt is not that of its opening ({opening.receipt}); restore the front matter"
        )
    gate = Gate(db)
    then = gate.check(Question(opening.text, target=opening.target, before=stub.path))
    if then.outcome == "repeat":
        raise KbError(
            f"{stub.path}: its receipt says '{opening.outcome}', but the cards of that day call it a repeat of "
            f"{then.matches[0].path}; a receipt is what `kb check` printed"
        )
    known = {m.path for m in then.matches}
    now = gate.check(Question(opening.text, target=opening.target))
    return tuple(m.path for m in now.matches if m.path not in known and m.path != stub.path)
