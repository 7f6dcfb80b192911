"""kb agents update [serve]: bring what was installed up to this version of kb."""

from kb.harness.report import ForHarnesses, report
from kb.verbs import Caller, Result


def run(request: ForHarnesses, caller: Caller) -> Result:
    return report(request.harness, caller, action="update", dry_run=request.dry_run)
