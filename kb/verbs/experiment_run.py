"""kb experiment run [experiment]: measure change and parent by turns, or file a result measured elsewhere."""

from dataclasses import dataclass, fields
from typing import ClassVar

from kb import KbError
from kb.experiments.attempt import SAMPLES, Attempt
from kb.experiments.judging import hint_of, show
from kb.experiments.planning import RunChoice
from kb.experiments.recording import record
from kb.experiments.running import run as measure
from kb.experiments.stub import Stub
from kb.experiments.targets import Target
from kb.run.evidence import Measured
from kb.run.reasons import percent
from kb.text import command_of, number_text
from kb.verbs import FINDINGS, FINE, Caller, Result, flag, option, several
from kb.verbs.experiment import NamesExperiment, StatesCode, named


@dataclass(frozen=True, kw_only=True)
class RunExperiment(StatesCode, RunChoice, NamesExperiment):
    """What is measured, how often, or which files hold what was measured elsewhere."""

    HELPS: ClassVar = {
        "edited": flag("measure uncommitted edits of known files as a commit under refs/kb/"),
        "again": flag("measure another attempt; the earlier ones stay on file"),
        "more": option(
            "add N repeats of each side, by turns, to the attempt that is measured, filed or not; nothing else changes",
            metavar="N",
        ),
    }
    record: tuple[str, ...] = several(
        "a run of the change measured elsewhere: its log or JSON (again for more)", metavar="FILE"
    )
    record_parent: tuple[str, ...] = several(
        "a run of the parent measured elsewhere", metavar="FILE"
    )


def run(request: RunExperiment, caller: Caller) -> Result:
    stub, target = named(request, caller)
    attempt = _attempt(request, caller, stub, target)
    case = show(caller.layout, stub.path, target, stated={}, today=caller.today)
    caller.build()
    ruling = case.ruling if case else None
    failed = ruling is not None and ruling.verdict in ("invalid", "crash")
    hint = hint_of(ruling, stub.path) if ruling else ""
    if stub.filed and ruling:
        then = f"`{command_of('experiment close', stub.path)}` files this below the sealed text"
        hint = f"{hint}; {then}" if hint else then
    if failed:
        caller.talk("\n".join([f"kb experiment run: {ruling.reason}", *_printed(attempt)]))
    hint = f"{ruling.reason}; {hint}" if ruling and hint and not failed else hint
    measured = case.evidence.measured if case and not failed else ()
    value = {
        "path": stub.path,
        "attempt": attempt.plan.number,
        "folder": attempt.folder.relative_to(caller.layout.root).as_posix(),
        "problem": ruling.reason if failed else "",
        "metrics": {m.name: _figures(m) for m in measured},
        "checks": attempt.measurement.checks if attempt.measurement else "",
        "hint": hint,
    }
    lines = [stub.path, value["folder"], *map(_line, measured), *([hint] if hint else [])]
    return Result(value, "\n".join(lines), FINDINGS if failed else FINE)


def _figures(m: Measured) -> dict[str, object]:
    ends = [m.interval.low, m.interval.high] if m.interval else None
    return {"change": m.change, "parent": m.parent, "gain": m.gain, "interval": ends}


def _line(m: Measured) -> str:
    against = f" against {number_text(m.parent.middle)}" if m.parent else ""
    low, high = (m.interval.low, m.interval.high) if m.interval else (0, 0)
    span = f", {percent(low)} to {percent(high)}" if low != high else ""
    gain = f" ({percent(m.gain)}{span})" if m.gain is not None else ""
    return f"{m.name}: {number_text(m.change.middle)}{against}{gain}"


def _printed(attempt: Attempt) -> list[str]:
    """What the command that failed printed last, for it mostly says why, and the file with the whole of it."""
    failing = (s for s in attempt.samples if s.side == "change" and s.problem and s.output)
    sample = next(failing, None)
    if not sample:
        return []
    lines = [line for line in sample.output.splitlines() if line.strip()]
    file = attempt.folder / (sample.file or SAMPLES)
    return [*(f"  > {line[:300]}" for line in lines[-3:]), f"  all of it: {file}"]


def _attempt(
    request: RunExperiment,
    caller: Caller,
    stub: Stub,
    target: Target,
) -> Attempt:
    """What was measured, here or elsewhere."""
    same = ("page", "target", "more")
    others = (f.name for f in fields(request) if f.name not in same and getattr(request, f.name))
    beside = [f"--{name.replace('_', '-')}" for name in others]
    if request.more and beside:
        raise KbError(
            f"--more repeats the attempt as it was measured, so it goes without {', '.join(beside)}; another measurement is --again"
        )
    if request.record or request.record_parent:
        if not request.record:
            raise KbError("--record-parent comes with --record FILE, the run of the change")
        records = {"parent": request.record_parent, "change": request.record}
        return record(
            caller.layout,
            stub.path,
            target,
            files={side: tuple(map(caller.file, names)) for side, names in records.items()},
            again=request.again,
            now=caller.now,
        )
    return measure(
        caller.layout,
        stub.path,
        target,
        choice=request,
        now=caller.now,
        note=caller.talk,
        progress=caller.progress,
    )
