"""kb agents status [serve]: say what is installed, and what is missing, changed or not kb's."""

from dataclasses import dataclass

from kb.harness.report import WHICH, report
from kb.verbs import Caller, Result, several


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentsStatus:
    """For which harnesses."""

    harness: tuple[str, ...] = several(WHICH, metavar="NAME")


def run(request: AgentsStatus, caller: Caller) -> Result:
    return report(request.harness, caller, action="status", dry_run=True)
