"""kb export [bring]: give runs back in a loop's own format."""

from dataclasses import dataclass

from kb import KbError, store
from kb.formats import export
from kb.verbs import Caller, Result, argument, option, text_result

FORMATS = ("text",)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportRuns:
    """Whose runs, in which form, where to."""

    log_format: str = argument(
        "jsonl holds everything; the others what their columns hold",
        choices=("jsonl", "tsv", "leaderboard", "log"),
        metavar="jsonl|tsv|leaderboard|log",
    )
    target: str = option("the target whose runs are given back")
    out: str = option("write a new file (default: print)", metavar="FILE")


def run(request: ExportRuns, caller: Caller) -> Result:
    if not request.target:
        raise KbError("whose runs? say --target NAME")
    runs = export.runs_of_target(caller.layout, request.target)
    text = export.exported(runs, request.log_format)
    if not request.out:
        return text_result(text)
    file = caller.file(request.out)
    if file.exists():
        raise KbError(f"{request.out}: is there already; name another file")
    store.write(file, text, declared=True)
    what = "what was kept" if request.log_format == "leaderboard" else f"{len(runs)} runs"
    return text_result(f"{request.out}: {what} of {request.target}")
