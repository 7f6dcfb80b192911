"""kb stop-check [ask]: say whether a loop may stop, and why not yet."""

from dataclasses import dataclass

from kb.trail.standing import reasons_to_go_on
from kb.verbs import CLOSED, Caller, Result, option
from kb.verbs.status import only_target, standing_at


@dataclass(frozen=True, slots=True, kw_only=True)
class StopCheck:
    """The loop that would stop."""

    target: str = option("the target of the loop (may be left out where there is only one)")


def run(request: StopCheck, caller: Caller) -> Result:
    db = caller.tables()
    target = only_target(db, request.target, ask="say which loop with --target")
    reasons = tuple(reasons_to_go_on(standing_at(caller, db, target)))
    value = {"target": target, "may_stop": not reasons, "reasons": reasons}
    if reasons:
        return Result(value, "\n  ".join([f"{target}: go on", *reasons]), CLOSED)
    may = "plateau, no headroom and a fresh retrospective are on file; the loop may stop"
    return Result(value, f"{target}: {may}")
