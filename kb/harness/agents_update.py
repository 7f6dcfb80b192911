"""kb agents update [serve]: bring what was installed up to this version of kb."""

from dataclasses import dataclass

from kb.harness.report import HarnessReport, report
from kb.verbs import Caller, flag, several


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentsUpdate:
    """For which harnesses."""

    harness: tuple[str, ...] = several(
        "claude, codex, gemini or pi, or several with commas (default: all)", metavar="NAME"
    )
    dry_run: bool = flag("print the diff and change nothing")


def run(request: AgentsUpdate, caller: Caller) -> HarnessReport:
    return report(request.harness, caller, action="update", dry_run=request.dry_run)
