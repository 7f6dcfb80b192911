"""kb agents uninstall [serve]: take out exactly what was installed."""

from kb.harness.report import ForHarnesses, HarnessReport, report
from kb.verbs import Caller


def run(request: ForHarnesses, caller: Caller) -> HarnessReport:
    return report(request.harness, caller, action="uninstall", dry_run=request.dry_run)
