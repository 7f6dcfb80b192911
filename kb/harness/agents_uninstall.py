"""kb agents uninstall [serve]: take out exactly what was installed."""

from kb.harness.report import ForHarnesses, report
from kb.verbs import Caller, Result


def run(request: ForHarnesses, caller: Caller) -> Result:
    return report(request.harness, caller, action="uninstall", dry_run=request.dry_run)
