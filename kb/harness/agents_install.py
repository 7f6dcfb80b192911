"""kb agents install [serve]: give this repository's harnesses kb's skills, sub-agents, hooks and MCP server."""

from kb.harness.report import ForHarnesses, HarnessReport, report
from kb.verbs import Caller


def run(request: ForHarnesses, caller: Caller) -> HarnessReport:
    return report(request.harness, caller, action="install", dry_run=request.dry_run)
