"""kb loop [serve]: drive the loop on a target with a command as the agent, or write its job for SkyPilot."""

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
    verify: bool = flag(
        "let the agent read each proposal beside all that failed, before the gate is asked"
    )
    anyway: bool = flag("go on where `kb stop-check` says that the loop may stop")
    afresh: bool = flag(
        "count runs, minutes and tokens from now, not from where the loop was begun"
    )
    on: str = option("write and check the job of one experiment for this service", choices=("sky",))


def run(request: DriveLoop, caller: Caller) -> Result:
    from kb.loop.driving import drive

    if request.on:
        return _job(request, caller)
    if (
        not request.agent
        or min(request.runs, request.minutes, request.tokens, request.patience) < 0
    ):
        raise KbError("say --agent COMMAND; budgets are positive numbers")
    lines, end, tokens = drive(request, caller)
    text = "\n".join([*lines, f"ended: {end}; about {tokens} tokens"])
    value = {"lines": lines, "end": end, "tokens": tokens}
    return Result(value, text, FINE if lines else FINDINGS)


def _job(request: DriveLoop, caller: Caller) -> Result:
    """The job of one experiment, written and checked; `kb import skypilot` files its logs."""
    from kb.experiments.stub import sealed_pages
    from kb.experiments.targets import repository_of, target_named
    from kb.loop.sky import launch_of, write_job

    target = target_named(caller.layout, request.target)
    file, checked = write_job(caller.layout, target, repository_of(caller.layout, target))
    number = len(sealed_pages(caller.layout, target.name)) + 1
    by = "valid by skypilot" if checked else "not checked, for skypilot is not installed here"
    launch = launch_of(file, number)
    value = {"file": str(file), "checked": checked, "launch": launch}
    return Result(value, f"{file}: {by}\n{launch}")
