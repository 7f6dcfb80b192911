"""kb stop-check [ask]: say whether a loop may stop, and why not yet."""

from dataclasses import dataclass

from kb.verbs import CLOSED, FINE, Caller, Result, option
from kb.verbs.status import only_target, standing_at


@dataclass(frozen=True, slots=True, kw_only=True)
class StopCheck:
    """The loop that would stop."""

    target: str = option("the target of the loop (may be left out where there is only one)")


@dataclass(frozen=True, slots=True)
class StopAnswer(Result):
    """Whether it may, and the reasons to go on."""

    target: str
    may_stop: bool
    reasons: tuple[str, ...]

    @property
    def code(self) -> int:
        return FINE if self.may_stop else CLOSED

    def to_text(self) -> str:
        may = "plateau, no headroom and a fresh retrospective are on file; the loop may stop"
        return "\n".join(
            [
                f"{self.target}: {may if self.may_stop else 'go on'}",
                *(f"  {reason}" for reason in self.reasons),
            ]
        )


def run(request: StopCheck, caller: Caller) -> StopAnswer:
    from kb.trail.standing import reasons_to_go_on

    layout = caller.layout()
    db = caller.tables(layout)
    target = only_target(db, request.target, ask="say which loop with --target")
    reasons = tuple(reasons_to_go_on(standing_at(layout, db, target)))
    return StopAnswer(target, not reasons, reasons)
