"""kb loop [serve]: drive the loop on a target with a command as the agent, one step's slice a call."""

from dataclasses import dataclass

from kb import KbError
from kb.verbs import FINDINGS, FINE, Caller, Result, argument, flag, option


@dataclass(frozen=True, slots=True, kw_only=True)
class DriveLoop:
    """The target, the agent and its budgets. The agent reads a prompt on stdin and stands in the target's repository."""

    target: str = argument("what is optimized", metavar="TARGET")
    agent: str = option("the command, such as 'claude -p' or 'codex exec -'", metavar="COMMAND")
    runs: int = option("end after so many experiments", default=10, metavar="N")
    minutes: float = option("start none after so many minutes", default=480.0, metavar="N")
    tokens: int = option(
        "start none after so many tokens of prompts and replies, estimated (0: no limit)",
        default=0,
        metavar="N",
    )
    patience: float = option(
        "seconds that one call of the agent may take", default=1800.0, metavar="N"
    )
    anyway: bool = flag("go on where `kb stop-check` says that the loop may stop")


@dataclass(frozen=True, slots=True)
class LoopReport(Result):
    """A line an experiment, and why the loop ended."""

    lines: tuple[str, ...]
    end: str
    tokens: int

    @property
    def code(self) -> int:
        return FINE if self.lines else FINDINGS

    def to_text(self) -> str:
        return "\n".join([*self.lines, f"ended: {self.end}; about {self.tokens} tokens"])


def run(request: DriveLoop, caller: Caller) -> LoopReport:
    from kb.loop.driving import drive

    if (
        not request.agent
        or min(request.runs, request.minutes, request.tokens, request.patience) < 0
    ):
        raise KbError("say --agent COMMAND; budgets are positive numbers")
    return LoopReport(*drive(request, caller))
