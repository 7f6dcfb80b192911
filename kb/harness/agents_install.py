"""kb agents install [serve]: give this repository's harnesses kb's skills, sub-agents, hooks and MCP server."""

from kb.harness.report import ForHarnesses, report
from kb.verbs import Caller, Result


def run(request: ForHarnesses, caller: Caller) -> Result:
    return report(request.harness, caller, action="install", dry_run=request.dry_run)
