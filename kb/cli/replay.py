"""`kb replay`."""

import argparse
import json
import sys
from pathlib import Path

from kb import KbError, store
from kb.cli.built import built_state


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--target", help="only the trail of this target")
    parser.add_argument("--sample", type=int, default=0, metavar="N", help="ask about N questions, evenly spread (default: all)")
    parser.add_argument(
        "--budget",
        type=int,
        action="append",
        metavar="TOKENS",
        help="budgets to measure (may be repeated; default 2000, 4000, 8000)",
    )
    parser.add_argument("--no-gate", action="store_true", help="leave out the gate")
    parser.add_argument(
        "--save", action="store_true", help="keep the picture and the table under .kb/, where `kb site build` finds them"
    )
    parser.add_argument("--format", choices=("text", "json", "svg"), default="text")


def run(args: argparse.Namespace) -> int:
    from kb.replay import BUDGETS, replay
    from kb.replay.picture import to_svg, to_text
    from kb.trail import targets

    layout = store.layout_at(Path.cwd())
    db = built_state(layout)
    if args.target and args.target not in targets(db):
        raise KbError(f"no target '{args.target}' has experiments; known: {', '.join(targets(db)) or 'none'}")
    if args.sample < 0 or any(b < 200 for b in args.budget or ()):
        raise KbError("--sample takes 0 or more, --budget 200 or more")
    report = replay(
        db,
        target=args.target or "",
        sample=args.sample,
        budgets=tuple(sorted(set(args.budget or BUDGETS))),
        gate=not args.no_gate,
        note=_progress,
    )
    if sys.stderr.isatty():
        print("\r\033[K", end="", file=sys.stderr)
    if args.save:
        store.write(layout.state / "replay.svg", to_svg(report))
        store.write(layout.state / "replay.txt", to_text(report))
    print(
        json.dumps(report.to_json(), ensure_ascii=False, indent=1) + "\n"
        if args.format == "json"
        else to_svg(report)
        if args.format == "svg"
        else to_text(report),
        end="",
    )
    return 0


def _progress(done: int, total: int) -> None:
    if sys.stderr.isatty():
        print(f"\rreplaying {done + 1} of {total}", end="", file=sys.stderr, flush=True)
