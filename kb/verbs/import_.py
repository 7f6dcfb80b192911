"""kb import [bring]: bring another loop's runs in as experiment pages, once."""

from dataclasses import dataclass

from kb import KbError
from kb.formats import filing
from kb.formats.reading import Ask
from kb.formats.registry import formats, located
from kb.formats.summary import summary, to_json, to_text
from kb.text import command_of, counted
from kb.verbs import Caller, Result, argument, flag, option

_NOTHING = "nothing to import: the log holds no runs"


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportRuns:
    """A log, what it leaves open, or the receipt of an import to take back."""

    log_format: str = argument(
        lambda: f"auto, or {' '.join(sorted(f.name for f in formats()))}",
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


def run(request: ImportRuns, caller: Caller) -> Result:
    if request.undo:
        back = filing.undo(caller.layout, request.undo)
        gone = f", {len(back.gone)} were gone already" if back.gone else ""
        removed = f"{counted(len(back.removed), 'pages')} removed{gone}"
        return Result(back, f"import {back.receipt} taken back: {removed}")
    if not request.log_format or not request.path:
        raise KbError(
            "name a format and a log: `kb import auto PATH --target T`; `kb import --undo RECEIPT` takes one back"
        )
    ask = Ask(request.direction or None, request.metric)
    if request.dry_run:
        log = located(caller.file(request.path), request.log_format)
        whole = summary(log, log.events(ask))
        return Result(None, to_text(whole), forms={"json": lambda: f"[{to_json(whole)}]"})
    if not request.target:
        raise KbError(
            "which target do the runs belong to? say `--target NAME`; `--dry-run` tells what the log holds first"
        )
    report = filing.import_runs(
        caller.layout,
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
            f"`{command_of('import --undo', report.receipt)}` takes them back; `kb build` compiles them"
        )
    value = {
        "receipt": report.receipt or None,
        "file": report.file,
        "format": report.format,
        "added": len(report.pages),
        "known": report.known,
        "pages": report.pages,
    }
    filed = f"{counted(len(report.pages), 'runs')} filed, {report.known} known already; receipt {report.receipt}"
    same = f"nothing new: {counted(report.known, 'runs')}, all known already"
    text = filed if report.pages else same if report.known else _NOTHING
    return Result(value, text)
