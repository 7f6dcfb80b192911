"""`kb experiment run`: measures an experiment, or files what was measured elsewhere, and prints the figures beside the parent's."""

import argparse
import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from kb import KbError, store
from kb.cli.lifecycle import built, hint_of, note, page_typed, target_of

if TYPE_CHECKING:
    from kb.experiments.attempt import Attempt

# What makes another measurement of it.
_OTHERWISE = (
    "commit",
    "snapshot",
    "bench",
    "checks",
    "profile",
    "build",
    "metric",
    "repeats",
    "warmup",
    "timeout",
    "set",
    "record",
    "record_parent",
    "attach",
    "again",
)


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("page", metavar="PAGE", help="path, file name or label (v012) of the experiment")
    parser.add_argument("--target", default="", help="the target whose label is meant")
    parser.add_argument("--repo", default="", metavar="FOLDER", help="the repository (default: the target page's)")
    parser.add_argument("--commit", default="", metavar="REF", help="the change (default: HEAD of the repository)")
    parser.add_argument(
        "--snapshot",
        action="store_true",
        help="measure the working tree with its uncommitted changes, kept as a commit under refs/kb/",
    )
    for name in ("bench", "checks", "profile", "build"):
        parser.add_argument(f"--{name}", default="", metavar="COMMAND", help=f"the {name} command (default: the target page's)")
    parser.add_argument("--metric", default="", metavar="NAME", help="the metric that decides (default: the target page's)")
    parser.add_argument(
        "--repeats", type=int, default=0, metavar="N", help="measurements of each side (default: the target page's, else 5)"
    )
    parser.add_argument("--warmup", type=int, default=0, metavar="N", help="runs of each side that do not count (default: none)")
    parser.add_argument(
        "--timeout",
        type=float,
        default=0.0,
        metavar="SECONDS",
        help="limit of each command (default: the target page's, else 600)",
    )
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="environment variable that the change alone sees (again for more)",
    )
    parser.add_argument(
        "--record",
        action="append",
        default=[],
        type=Path,
        metavar="FILE",
        help="a run of the change measured elsewhere: its log or JSON (again for more)",
    )
    parser.add_argument(
        "--record-parent", action="append", default=[], type=Path, metavar="FILE", help="a run of the parent measured elsewhere"
    )
    parser.add_argument(
        "--attach",
        action="append",
        default=[],
        type=Path,
        metavar="FILE",
        help="with --record: a dump or a profile to keep with it",
    )
    parser.add_argument("--again", action="store_true", help="measure another attempt; the earlier ones stay on file")
    parser.add_argument(
        "--more",
        type=int,
        default=0,
        metavar="N",
        help="add N repeats of each side, by turns, to the attempt that is measured; nothing else changes",
    )
    parser.add_argument("--format", choices=("text", "json"), default="text")


def _now() -> str:
    import datetime

    return datetime.datetime.now().astimezone().isoformat(timespec="seconds")


def _printed(attempt: "Attempt") -> list[str]:
    """What the command that failed printed last, for it mostly says why, and the file with the whole of it."""
    sample = next((s for s in attempt.samples if s.side == "change" and s.problem and s.output), None)
    if not sample:
        return []
    file = attempt.folder / sample.output
    lines = [line for line in file.read_text(encoding="utf-8", errors="replace").splitlines() if line.strip()]
    # Captured text: a terminal must not obey it.
    quoted = ["".join(c if c.isprintable() else " " for c in line[:300]) for line in lines[-3:]]
    return [*(f"  > {line}" for line in quoted), f"  all of it: {file}"]


def run(args: argparse.Namespace) -> int:
    from kb.experiments.closing import show
    from kb.experiments.rendering import shown_values
    from kb.run.quantity import number_text

    layout = store.layout_at(Path.cwd())
    path = page_typed(layout, args)
    _, target = target_of(layout, path)
    attempt = _attempt(args, layout, path, target)
    shown = show(layout, path, target)
    built(layout)
    evidence, ruling = shown if shown else (None, None)
    failed = ruling is not None and ruling.verdict in ("invalid", "crash")
    figures = (
        {}
        if failed or not evidence
        else {
            m.name: {"change": asdict(m.change), "parent": asdict(m.parent) if m.parent else None, "gain": m.gain}
            for m in evidence.measured
        }
    )
    for name, values in attempt.repeated.items():
        note(
            f"one run printed METRIC {name} several times ({shown_values(values)}): the last one counts; let the benchmark print what it means once"
        )
    hint = hint_of(ruling.rule, path) if ruling else ""
    folder = attempt.folder.relative_to(layout.root).as_posix()
    if args.format == "json":
        told = {
            "path": path,
            "attempt": attempt.plan.number,
            "folder": folder,
            "problem": ruling.reason if ruling and failed else "",
            "metrics": figures,
            "checks": attempt.measurement.checks if attempt.measurement else "",
            "repeated": attempt.repeated,
            "hint": hint,
        }
        print(json.dumps(told, ensure_ascii=False))
    else:
        print(f"{path}\n{folder}")
        for m in evidence.measured if evidence and not failed else ():
            against = f" against {number_text(m.parent.mean)}" if m.parent else ""
            print(
                f"{m.name}: {number_text(m.change.mean)}{against}" + (f" ({100 * m.gain:+.2f} %)" if m.gain is not None else "")
            )
    if ruling and failed:
        note("\n".join([f"kb experiment run: {ruling.reason}", *_printed(attempt)]))
    elif ruling and hint:
        note(f"{ruling.reason}; {hint}")
    return 1 if failed else 0


def _attempt(args: argparse.Namespace, layout: store.Layout, path: str, target):
    """What was measured, here or elsewhere."""
    from kb.experiments.recording import record
    from kb.experiments.running import Ask
    from kb.experiments.running import run as measure

    if args.repeats < 0 or args.warmup < 0 or args.timeout < 0 or args.more < 0:
        raise KbError("--repeats, --warmup, --timeout and --more take positive numbers")
    _only_more(args)
    if args.record or args.record_parent or args.attach:
        if not args.record:
            raise KbError("--record-parent and --attach come with --record FILE, the run of the change")
        return record(
            layout,
            path,
            target,
            change=tuple(args.record),
            parent=tuple(args.record_parent),
            attached=tuple(args.attach),
            metric=args.metric,
            again=args.again,
            now=_now(),
        )
    ask = Ask(
        args.repo,
        args.commit,
        args.snapshot,
        args.bench,
        args.checks,
        args.profile,
        args.build,
        args.metric,
        args.repeats,
        args.warmup,
        args.timeout,
        tuple(_variable(v) for v in args.set),
        args.again,
        args.more,
    )
    progress = note if sys.stderr.isatty() else lambda text: None
    return measure(layout, path, target, ask=ask, now=_now(), note=note, progress=progress)


def _only_more(args: argparse.Namespace) -> None:
    """Raises KbError where --more stands beside what would make it another measurement."""
    said = [f"--{name.replace('_', '-')}" for name in _OTHERWISE if getattr(args, name)]
    if args.more and said:
        raise KbError(
            f"--more repeats the attempt as it was measured, so it goes without {', '.join(said)}; another measurement is --again"
        )


def _variable(text: str) -> tuple[str, str]:
    name, sign, value = text.partition("=")
    if not sign or not name.isidentifier():
        raise KbError(f"--set {text}: write NAME=VALUE")
    return name, value


def attempts_shown(layout: store.Layout, path: str) -> list[str]:
    """One line for each attempt of an experiment that kb opened."""
    from kb.experiments.attempt import attempts_in
    from kb.experiments.stub import stub_at

    lines = []
    stub = stub_at(layout, path)
    for attempt in attempts_in(layout.root / stub.page.field("run")) if stub.opened_by_kb else ():
        problem = attempt.problem("change") or attempt.problem("parent")
        stands = (
            f"measured{', checks ' + attempt.measurement.checks if attempt.measurement.checks else ''}"
            if attempt.measurement
            else "cut off; `kb experiment run` goes on"
        )
        lines.append(f"attempt {attempt.plan.number}: {len(attempt.samples)} samples, {problem or stands}")
    return lines
