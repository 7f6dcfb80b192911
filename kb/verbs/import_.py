"""kb import [bring]: bring another loop's runs in as experiment pages, once."""

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from kb import KbError
from kb.verbs import Caller, Result, argument, flag, option

if TYPE_CHECKING:
    from kb.formats.filing import Import, Undo
    from kb.formats.summary import Summary


def _formats() -> str:
    from kb.formats.registry import formats

    return f"auto, or {' '.join(sorted(f.name for f in formats()))}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportRuns:
    """A log, what it leaves open, or the receipt of an import to take back."""

    log_format: str = argument(
        _formats,
        default="",
        metavar="FORMAT",
    )
    path: str = argument("a loop's log, or its folder", default="", metavar="PATH")
    target: str = option("the target that the runs belong to")
    variant: str = option("the operating point of the target (size, hardware, batch)")
    direction: str = option(
        "which way the primary metric is better, where the log leaves it open",
        choices=("lower", "higher"),
    )
    metric: str = option("the primary metric, where the log leaves it open")
    date: str = option(
        "date of runs that have none of their own (default: today)", metavar="YYYY-MM-DD"
    )
    dry_run: bool = flag("tell what the log holds; write nothing")
    undo: str = option("take one import back: remove exactly what it created", metavar="RECEIPT")


@dataclass(frozen=True, slots=True)
class LogSummary(Result):
    """What a log holds (`--dry-run`)."""

    summary: "Summary"

    def to_text(self) -> str:
        from kb.formats.summary import to_text

        return to_text(self.summary)

    def to_format(self, name: str) -> str:
        from kb.formats.summary import to_json

        return f"[{to_json(self.summary)}]" if name == "json" else self.to_text()


@dataclass(frozen=True, slots=True)
class ImportReport(Result):
    """The pages that were filed, under the receipt that takes them back."""

    report: "Import"

    def to_json(self) -> object:
        r = self.report
        added = {
            "receipt": r.receipt or None,
            "file": r.file,
            "format": r.format,
            "added": len(r.pages),
        }
        return {**added, "known": r.known, "pages": list(r.pages)}

    def to_text(self) -> str:
        r = self.report
        if r.pages:
            return f"{len(r.pages)} runs filed, {r.known} known already; receipt {r.receipt}"
        return (
            f"nothing new: {r.known} runs, all known already"
            if r.known
            else "nothing to import: the log holds no runs"
        )


@dataclass(frozen=True, slots=True)
class UndoReport(Result):
    """The pages that were taken back."""

    report: "Undo"

    def to_json(self) -> object:
        return asdict(self.report)

    def to_text(self) -> str:
        gone = f", {len(self.report.gone)} were gone already" if self.report.gone else ""
        return f"import {self.report.receipt} taken back: {len(self.report.removed)} pages removed{gone}"


def run(request: ImportRuns, caller: Caller) -> LogSummary | ImportReport | UndoReport:
    from kb.formats import filing
    from kb.formats.reading import Ask
    from kb.formats.registry import located
    from kb.formats.summary import summary

    if request.undo:
        return UndoReport(filing.undo(caller.layout(), request.undo))
    if not request.log_format or not request.path:
        raise KbError(
            "name a format and a log: `kb import auto PATH --target T`; `kb import --undo RECEIPT` takes one back"
        )
    ask = Ask(request.direction or None, request.metric)
    if request.dry_run:
        return LogSummary(summary(located(caller.file(request.path), request.log_format), ask=ask))
    if not request.target:
        raise KbError(
            "which target do the runs belong to? say `--target NAME`; `--dry-run` tells what the log holds first"
        )
    report = filing.import_runs(
        caller.layout(),
        caller.file(request.path),
        name=request.log_format,
        target=request.target,
        variant=request.variant,
        ask=ask,
        date=caller.day(request.date),
        today=caller.today,
    )
    for receipt in report.mended:
        caller.talk(f"an import that had been cut off was taken back first: {receipt}")
    for remark in report.remarks:
        caller.talk(remark)
    if report.pages:
        caller.talk(
            f"`kb import --undo {report.receipt}` takes them back; `kb build` compiles them"
        )
    return ImportReport(report)
