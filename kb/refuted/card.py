"""The refuted card: one thing that was tried and failed, with its evidence and its scope."""

from dataclasses import dataclass, replace

from kb.refuted.intent import Aim
from kb.run.record import Lever

# Cards that a page tells without a run behind them: they warn, and alone they make nothing a repeat.
_STATED_KINDS = frozenset(("hypothesis", "bullet", "row", "principle", "attempt", "declined"))


@dataclass(frozen=True, slots=True)
class Card:
    """One refuted pattern. `evidence` is the page that shows it; `told_by` are pages that repeat it.

    kind: experiment, hypothesis, bullet, row, principle, attempt (a section that sets and measures something). status: standing, reopened
    (`by` is a later supported run in its scope), superseded (`by` is a later failed run of the same lever and value), unread (nobody can
    tell how the run came out), tried (no failure is told: met by the same value of its lever alone). `order` is the evidence's place in the trail.
    """

    id: str
    kind: str
    evidence: str
    anchor: str
    target: str
    variant: str
    date: str
    number: int
    title: str
    claim: str
    because: str
    delta: str
    verdict: str
    levers: tuple[Lever, ...]
    direction: str
    point: tuple[Lever, ...]
    reopen_if: str
    aim: Aim
    status: str = "standing"
    by: str = ""
    told_by: tuple[str, ...] = ()
    experiments: tuple[str, ...] = ()

    @property
    def order(self) -> tuple[str, int, str]:
        return self.date, self.number, self.evidence

    @property
    def is_failure(self) -> bool:
        return self.status not in ("unread", "tried")

    @property
    def is_statement(self) -> bool:
        """Whether it is read from a statement and not from an experiment."""
        return self.kind in _STATED_KINDS


def as_of(card: Card, *, by_then: bool) -> Card:
    """A card as it stood at a moment: what reopened or superseded it may not have happened `by_then`."""
    return card if by_then or not card.by else replace(card, status="standing", by="")
