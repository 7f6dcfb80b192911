"""What `kb check` said when an experiment was opened, kept beside its attempts, and asked again when it is closed.

A page whose receipt is not the one of its opening is refused, and one that the cards as of its opening call a repeat.
"""

import sqlite3
from dataclasses import dataclass
from pathlib import Path

from kb import KbError, store
from kb.experiments.attempt import create, decoded, home_of
from kb.experiments.stub import Stub
from kb.refuted.gate import Answer, Gate
from kb.refuted.gate import Proposal as Question

_FILE = "opening.json"


@dataclass(frozen=True, slots=True)
class FiledQuestion:
    """The question as it was asked, and the receipt of its answer."""

    receipt: str
    target: str
    text: str


def keep_opening(home: Path, answer: Answer | None, *, target: str, text: str) -> None:
    """File the question and the receipt beside the attempts that are to come; a baseline has none."""
    if answer:
        create(home / _FILE, FiledQuestion(answer.receipt, target, text))


def refuse_forged(layout: store.Layout, stub: Stub, db: sqlite3.Connection) -> tuple[str, ...]:
    """Raises KbError where the receipt of a page is not its own; evidence pages of cards that were filed since, nearest first."""
    home, receipt = home_of(layout, stub), stub.page.field("receipt")
    if not receipt:
        raise KbError(
            f"{stub.path}: has lost its receipt of `kb check`; restore the front matter that `kb experiment open` wrote"
        )
    if stub.baseline:
        return ()
    try:
        opening = decoded(FiledQuestion, home / _FILE)
    except KbError as error:
        raise KbError(
            f"{stub.path}: {stub.run}/{_FILE}, which `kb experiment open` wrote, is gone or cannot be read; restore it"
        ) from error
    gate = Gate(db)
    then = gate.check(Question(opening.text, target=opening.target, before=stub.path))
    problem = (
        f"its receipt is not that of its opening ({opening.receipt}); restore the front matter"
        if receipt != opening.receipt
        else f"its receipt {receipt} let it pass, but the cards of that day call it a repeat of {then.matches[0].path}; "
        "a receipt is what `kb check` printed"
        if then.outcome == "repeat"
        else ""
    )
    if problem:
        raise KbError(f"{stub.path}: {problem}")
    known = {stub.path, *(m.path for m in then.matches)}
    now = gate.check(Question(opening.text, target=opening.target))
    return tuple(m.path for m in now.matches if m.path not in known)
