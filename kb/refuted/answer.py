"""What the gate is asked, and what it answers."""

from dataclasses import dataclass

from kb.refuted.groups import LeverGroup


@dataclass(frozen=True, slots=True)
class Proposal:
    """What is to be tried, in words, and the levers that it declares (`name=value`); `before` (a page) or `as_of` (a day) put
    the question into the past.
    """

    text: str
    id: str = ""
    target: str = ""
    before: str = ""
    as_of: str = ""
    levers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Match:
    """One card that a proposal meets. kind: same-value, same-lever, similar. `source`: experiment, or statement where no run
    stands behind it. `acknowledged` is the proposal's own sentence on what differs, `reader` why who read both calls them near.
    """

    path: str
    anchor: str
    kind: str
    lever: str
    value: str
    scope_diff: tuple[str, ...]
    verdict: str
    because: str
    delta: str
    date: str
    score: float
    target: str
    claim: str
    status: str
    by: str
    reopen_if: str
    acknowledged: str = ""
    source: str = "experiment"
    reader: str = ""


@dataclass(frozen=True, slots=True)
class Answer:
    """Outcome clear, distinguish or repeat, with the matches that led to it, best first, and what is known of each lever; `read` is how
    many cards somebody read beside the proposal. Where it is clear, `further` is how many failures of its target share too little with
    it to be matches, `newest` the titles of the newest of them.
    """

    id: str
    outcome: str
    receipt: str
    matches: tuple[Match, ...]
    levers: tuple[LeverGroup, ...] = ()
    read: int = 0
    further: int = 0
    newest: tuple[str, ...] = ()
