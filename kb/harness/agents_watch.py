"""kb agents watch [serve]: hold the agent to a loop on a target: from now on the stop hook refuses until the loop may stop."""

from dataclasses import dataclass

from kb import KbError, store
from kb.harness.templates import again_text
from kb.verbs import Caller, Result, flag, option

WATCH_NAME = "watched-target"


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchLoop:
    """Which loop, or none any more."""

    target: str = option("the target of the loop")
    off: bool = flag("let the agent stop again")


def run(request: WatchLoop, caller: Caller) -> Result:
    if bool(request.target) == request.off:
        raise KbError("say --target NAME, or --off")
    file = store.own_state(caller.layout, WATCH_NAME)
    if request.off:
        file.unlink(missing_ok=True)
        return Result({"target": "", "again": ""}, "watching nothing")
    caller.doubt_target(caller.tables(), request.target)
    store.write(file, request.target + "\n")
    again = again_text(request.target)
    value = {"target": request.target, "again": again}
    return Result(value, f"watching {request.target}; for /loop or /goal:\n{again}")
