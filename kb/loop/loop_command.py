"""kb loop [serve]: drive the loop on a target with a command as the agent, or write its job for SkyPilot and file the logs."""

from dataclasses import dataclass

from kb import KbError
from kb.verbs import FINDINGS, FINE, Caller, Result, argument, flag, option, several


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
    afresh: bool = flag(
        "count runs, minutes and tokens from now, not from where the loop was begun"
    )
    on: str = option("write and check the job of one experiment for this service", choices=("sky",))
    log: tuple[str, ...] = several("with --on: the log of a job, to be filed", metavar="FILE")


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


@dataclass(frozen=True, slots=True)
class JobReport(Result):
    """The job of one experiment, whether skypilot has checked it, and the pages that its logs became."""

    file: str
    checked: bool
    launch: str
    pages: tuple[str, ...]

    def to_text(self) -> str:
        by = (
            "valid by skypilot"
            if self.checked
            else "not checked, for skypilot is not installed here"
        )
        return "\n".join([*([f"{self.file}: {by}", self.launch] if self.file else []), *self.pages])


def run(request: DriveLoop, caller: Caller) -> LoopReport | JobReport:
    from kb.loop.driving import drive

    if request.on:
        return _job(request, caller)
    if (
        not request.agent
        or min(request.runs, request.minutes, request.tokens, request.patience) < 0
    ):
        raise KbError("say --agent COMMAND; budgets are positive numbers")
    return LoopReport(*drive(request, caller))


def _job(request: DriveLoop, caller: Caller) -> JobReport:
    """Job logs filed as experiments, else the job written and checked."""
    from kb.experiments.stub import sealed_pages
    from kb.experiments.targets import repository_of, target_named
    from kb.loop.sky import launch_of, write_job
    from kb.verbs.import_ import ImportRuns
    from kb.verbs.import_ import run as import_runs

    layout = caller.layout()
    target = target_named(layout, request.target)
    pages: list[str] = []
    for log in request.log:
        imported = import_runs(
            ImportRuns(log_format="skypilot", path=log, target=target.name, metric=target.metric),
            caller,
        )
        pages += imported.report.pages
    if pages or request.log:
        return JobReport("", False, "", tuple(pages))
    file, checked = write_job(layout, target, repository_of(layout, target))
    number = len(sealed_pages(layout, target.name)) + 1
    return JobReport(str(file), checked, launch_of(file, number), ())
