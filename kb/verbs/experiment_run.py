"""kb experiment run [experiment]: measure change and parent by turns, or file a result measured elsewhere."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from kb import KbError, store
from kb.verbs import FINDINGS, FINE, Caller, Result, argument, flag, option, several
from kb.verbs.experiment import PAGE_HELP, TARGET_HELP, page_of, target_of

if TYPE_CHECKING:
    from kb.experiments.attempt import Attempt
    from kb.experiments.targets import Target


def _command(name: str):
    return option(f"the {name} command (default: the target page's)", metavar="COMMAND")


@dataclass(frozen=True, slots=True, kw_only=True)
class RunExperiment:
    """What is measured, how often, or which files hold what was measured elsewhere."""

    page: str = argument(PAGE_HELP, metavar="PAGE")
    target: str = option(TARGET_HELP)
    repo: str = option("the repository (default: the target page's)", metavar="FOLDER")
    commit: str = option("the change (default: HEAD of the repository)", metavar="REF")
    snapshot: bool = flag(
        "measure the working tree with its uncommitted changes, kept as a commit under refs/kb/"
    )
    bench: str = _command("bench")
    checks: str = _command("checks")
    profile: str = _command("profile")
    build: str = _command("build")
    metric: str = option("the metric that decides (default: the target page's)", metavar="NAME")
    repeats: int = option(
        "measurements of each side (default: the target page's, else 5)", default=0, metavar="N"
    )
    most: int = option(
        "repeats of each side at most while the verdict is open (default: four times --repeats)",
        default=0,
        metavar="N",
    )
    warmup: int | None = option(
        "runs of each side that do not count (default: the target page's, else 1)",
        default=None,
        metavar="N",
    )
    timeout: float = option(
        "limit of each command (default: the target page's, else 600)",
        default=0.0,
        metavar="SECONDS",
    )
    set: tuple[str, ...] = several(
        "environment variable that the change alone sees (again for more)", metavar="NAME=VALUE"
    )
    record: tuple[str, ...] = several(
        "a run of the change measured elsewhere: its log or JSON (again for more)", metavar="FILE"
    )
    record_parent: tuple[str, ...] = several(
        "a run of the parent measured elsewhere", metavar="FILE"
    )
    attach: tuple[str, ...] = several(
        "with --record: a dump or a profile to keep with it", metavar="FILE"
    )
    edited: bool = flag("measure uncommitted edits of known files as a commit under refs/kb/")
    again: bool = flag("measure another attempt; the earlier ones stay on file")
    more: int = option(
        "add N repeats of each side, by turns, to the attempt that is measured, filed or not; nothing else changes",
        default=0,
        metavar="N",
    )


@dataclass(frozen=True, slots=True)
class RunFigures(Result):
    """Figures of change and parent, or the problem that ended the run."""

    path: str
    attempt: int
    folder: str
    problem: str
    metrics: dict[str, dict[str, object]]
    checks: str
    repeated: dict[str, list[float]]
    hint: str

    @property
    def code(self) -> int:
        return FINDINGS if self.problem else FINE

    def to_text(self) -> str:
        return "\n".join(
            [
                self.path,
                self.folder,
                *(_line(name, figure) for name, figure in self.metrics.items()),
                *([self.hint] if self.hint else []),
            ]
        )


def _line(name: str, figure: dict) -> str:
    from kb.run.quantity import number_text

    against = f" against {number_text(figure['parent']['mean'])}" if figure["parent"] else ""
    gain = (
        ""
        if figure["gain"] is None
        else f" ({100 * figure['gain']:+.2f} %{_span(figure['interval'])})"
    )
    return f"{name}: {number_text(figure['change']['mean'])}{against}{gain}"


def _span(interval: list[float] | None) -> str:
    if not interval or interval[0] == interval[1]:
        return ""
    return f", {100 * interval[0]:+.2f} to {100 * interval[1]:+.2f}"


def run(request: RunExperiment, caller: Caller) -> RunFigures:
    from kb.experiments.case import hint_of, show
    from kb.run.measure import values_text

    layout = caller.layout()
    path = page_of(layout, caller, request.page, target=request.target)
    _, target = target_of(layout, path)
    attempt = _attempt(request, caller, layout, path, target)
    evidence, ruling = show(layout, path, target) or (None, None)
    caller.build(layout)
    failed = ruling is not None and ruling.verdict in ("invalid", "crash")
    for name, values in attempt.repeated.items():
        caller.talk(
            f"one run printed METRIC {name} several times ({values_text(values)}): the last one counts; "
            "let the benchmark print what it means once"
        )
    hint = hint_of(ruling.rule, ruling.more, path) if ruling else ""
    hint = f"{ruling.reason}; {hint}" if ruling and hint and not failed else hint
    if failed:
        caller.talk("\n".join([f"kb experiment run: {ruling.reason}", *_printed(attempt)]))
    return RunFigures(
        path=path,
        attempt=attempt.plan.number,
        folder=attempt.folder.relative_to(layout.root).as_posix(),
        problem=ruling.reason if failed else "",
        metrics={
            m.name: {
                "change": asdict(m.change),
                "parent": asdict(m.parent) if m.parent else None,
                "gain": m.gain,
                "interval": [m.interval.low, m.interval.high] if m.interval else None,
            }
            for m in (evidence.measured if evidence and not failed else ())
        },
        checks=attempt.measurement.checks if attempt.measurement else "",
        repeated=attempt.repeated,
        hint=hint,
    )


def _printed(attempt: "Attempt") -> list[str]:
    """What the command that failed printed last, for it mostly says why, and the file with the whole of it."""
    from kb.experiments.attempt import SAMPLES

    sample = next(
        (s for s in attempt.samples if s.side == "change" and s.problem and s.output), None
    )
    if not sample:
        return []
    lines = [line for line in sample.output.splitlines() if line.strip()]
    file = attempt.folder / (sample.file or SAMPLES)
    return [*(f"  > {line[:300]}" for line in lines[-3:]), f"  all of it: {file}"]


def _attempt(
    request: RunExperiment, caller: Caller, layout: store.Layout, path: str, target: "Target"
) -> "Attempt":
    """What was measured, here or elsewhere."""
    from kb.experiments.recording import record
    from kb.experiments.running import run as measure

    if min(request.repeats, request.most, request.warmup or 0, request.timeout, request.more) < 0:
        raise KbError("--repeats, --most, --warmup, --timeout and --more take positive numbers")
    _refuse_more(request)
    if not (request.record or request.record_parent or request.attach):
        return measure(
            layout,
            path,
            target,
            ask=_ask(request),
            now=caller.now,
            note=caller.talk,
            progress=caller.progress,
        )
    if not request.record:
        raise KbError("--record-parent and --attach come with --record FILE, the run of the change")
    return record(
        layout,
        path,
        target,
        change=_files(caller, request.record),
        parent=_files(caller, request.record_parent),
        attached=_files(caller, request.attach),
        metric=request.metric,
        again=request.again,
        now=caller.now,
    )


def _files(caller: Caller, names: tuple[str, ...]) -> tuple[Path, ...]:
    return tuple(caller.file(name) for name in names)


def _ask(request: RunExperiment):
    from kb.experiments.planning import Ask

    return Ask(
        request.repo,
        request.commit,
        request.snapshot,
        request.edited,
        request.bench,
        request.checks,
        request.profile,
        request.build,
        request.metric,
        request.repeats,
        request.warmup,
        request.timeout,
        tuple(_variable(v) for v in request.set),
        request.again,
        request.more,
        request.most,
    )


def _refuse_more(request: RunExperiment) -> None:
    """Raises KbError where --more stands beside what would make it another measurement."""
    from dataclasses import fields

    same = ("page", "target", "repo", "more")
    beside = [
        f"--{f.name.replace('_', '-')}"
        for f in fields(request)
        if f.name not in same and getattr(request, f.name)
    ]
    if request.more and beside:
        raise KbError(
            f"--more repeats the attempt as it was measured, so it goes without {', '.join(beside)}; another measurement is --again"
        )


def _variable(text: str) -> tuple[str, str]:
    name, sign, value = text.partition("=")
    if not sign or not name.isidentifier():
        raise KbError(f"--set {text}: write NAME=VALUE")
    return name, value
