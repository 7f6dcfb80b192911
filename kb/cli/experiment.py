"""`kb experiment list|show`, and the door to open, run, audit and close."""

import argparse
import json
from pathlib import Path

from kb import KbError, store
from kb.cli import experiment_run, lifecycle


def arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    listed = actions.add_parser("list", help="list experiments in trail order")
    listed.add_argument("--target", help="of this target only")
    listed.add_argument("--verdict", help="with this canonical verdict only")
    listed.add_argument("--before", metavar="PAGE", help="strictly earlier than this page")
    listed.add_argument("--as-of", metavar="DATE", help="up to this day")
    listed.add_argument("--format", choices=("text", "json"), default="text")
    shown = actions.add_parser("show", help="print what one experiment page says")
    shown.add_argument("page", metavar="PAGE", help="path, file name or label (v012) of the experiment")
    shown.add_argument("--target", default="", help="the target whose label is meant")
    shown.add_argument("--format", choices=("text", "json"), default="text")
    lifecycle.opening_arguments(actions)
    experiment_run.arguments(
        actions.add_parser("run", help="measure change and parent by turns, or file a result measured elsewhere")
    )
    lifecycle.closing_arguments(actions)


def run(args: argparse.Namespace) -> int:
    return {"list": _list, "show": _show, "run": experiment_run.run}.get(args.action, lifecycle.run)(args)


def _list(args: argparse.Namespace) -> int:
    from kb import trail
    from kb.cli.built import built_state
    from kb.cli.paths import page_in
    from kb.run.quantity import number_text, unit_beside

    layout = store.layout_at(Path.cwd())
    db = built_state(layout)
    before = args.before and page_in(layout, args.before)
    found = trail.experiments(db, target=args.target, before=trail.moment(db, before=before, as_of=args.as_of))
    if args.verdict:
        found = tuple(e for e in found if (e.verdict.canonical or "") == args.verdict)
    if args.format == "json":
        print(json.dumps([_record(e) for e in found], ensure_ascii=False, indent=1))
        return 0
    for e in found:
        shown = " ".join(
            f"{m.name}={number_text(m.value)}{unit_beside(m.name, m.unit)}" for m in e.metrics[:2] if m.value is not None
        )
        print(f"{e.date or '----------'}  {e.verdict.canonical or '-':<12} {e.path}  {shown}")
    return 0


def _show(args: argparse.Namespace) -> int:
    from dataclasses import asdict

    from kb import trail
    from kb.cli.built import built_state
    from kb.run.quantity import number_text, unit_beside

    layout = store.layout_at(Path.cwd())
    path = lifecycle.page_typed(layout, args)
    found = trail.experiment(built_state(layout), path)
    if not found:
        raise KbError(
            f"no experiment '{path}' is built; `kb build` reads pages that were added, `kb experiment list` prints them all"
        )
    if args.format == "json":
        print(json.dumps(asdict(found), ensure_ascii=False, indent=1))
        return 0
    print(f"{found.path}\n{found.title}\n")
    verdict = f"{found.verdict.canonical or '-'} ('{found.verdict.raw}', read from {found.verdict.source or 'nowhere'})"
    for name, value in (
        ("target", found.target),
        ("variant", found.variant),
        ("date", found.date),
        ("verdict", verdict),
        ("decision", found.decision),
        ("levers", ", ".join(f"{v.name}={v.value}" if v.value else v.name for v in found.levers)),
        (
            "metrics",
            ", ".join(
                f"{m.name} {number_text(m.value)} {unit_beside(m.name, m.unit)}".strip()
                for m in found.metrics
                if m.value is not None
            ),
        ),
        ("hypothesis", found.hypothesis),
        ("mechanism", found.mechanism),
        ("predicted", found.predicted_signal),
        ("falsified if", found.falsification),
        ("because", found.because),
    ):
        if value:
            print(f"{name + ':':<14}{value}")
    for line in experiment_run.attempts_shown(layout, path):
        print(line)
    return 0


def _record(e) -> dict[str, object]:
    """One experiment as `kb experiment list --format json` prints it (DESIGN §7)."""
    return {
        "path": e.path,
        "target": e.target,
        "variant": e.variant,
        "date": e.date,
        "title": e.title,
        "verdict": {"canonical": e.verdict.canonical, "raw": e.verdict.raw, "source": e.verdict.source},
        "decision": e.decision,
        "levers": [{"name": v.name, "value": v.value} for v in e.levers],
        "metrics": {m.name: {"value": m.value, "unit": m.unit, "direction": m.direction} for m in e.metrics},
        "parent": e.parent,
    }
