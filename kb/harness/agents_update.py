"""kb agents update [serve]: bring what was installed up to this version of kb."""

from kb.harness.report import ForHarnesses, HarnessReport, report
from kb.verbs import Caller


def run(request: ForHarnesses, caller: Caller) -> HarnessReport:
    return report(request.harness, caller, action="update", dry_run=request.dry_run)
