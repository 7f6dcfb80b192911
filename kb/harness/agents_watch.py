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


@dataclass(frozen=True, slots=True)
class Watching(Result):
    """What is watched, and the text by which `/loop` or `/goal` brings the agent back to it."""

    target: str
    again: str

    def to_text(self) -> str:
        return (
            f"watching {self.target}; for /loop or /goal:\n{self.again}"
            if self.target
            else "watching nothing"
        )


def run(request: WatchLoop, caller: Caller) -> Watching:
    if bool(request.target) == request.off:
        raise KbError("say --target NAME, or --off")
    file = store.own_state(caller.layout(), WATCH_NAME)
    if request.off:
        file.unlink(missing_ok=True)
        return Watching("", "")
    caller.doubt_target(caller.tables(caller.layout()), request.target)
    store.write(file, request.target + "\n")
    return Watching(request.target, again_text(request.target))
