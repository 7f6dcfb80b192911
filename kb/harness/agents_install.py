"""kb agents install [serve]: give this repository's harnesses kb's skills, sub-agents, hooks and MCP server."""

from dataclasses import dataclass

from kb.harness.report import HarnessReport, report
from kb.verbs import Caller, flag, several


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentsInstall:
    """For which harnesses."""

    harness: tuple[str, ...] = several(
        "claude, codex, gemini or pi, or several with commas (default: all)", metavar="NAME"
    )
    dry_run: bool = flag("print the diff and change nothing")


def run(request: AgentsInstall, caller: Caller) -> HarnessReport:
    return report(request.harness, caller, action="install", dry_run=request.dry_run)
