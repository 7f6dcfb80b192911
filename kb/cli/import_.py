"""kb import: another loop's records in. Parses, calls `kb.formats`, prints."""

import argparse
import datetime
import json
import re
import sys
from pathlib import Path


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "format",
        nargs="?",
        metavar="FORMAT",
        help="auto, or pi tsv logmd leaderboard worklog skypilot jsonl optuna interlab openevolve autocomp pi-git prose",
    )
    parser.add_argument("path", nargs="?", type=Path, metavar="PATH", help="a loop's log, or its folder")
    parser.add_argument("--target", default="", help="the target that the runs belong to")
    parser.add_argument("--variant", default="", help="the operating point of the target (size, hardware, batch)")
    parser.add_argument(
        "--direction", choices=("lower", "higher"), help="which way the primary metric is better, where the log leaves it open"
    )
    parser.add_argument("--metric", default="", help="the primary metric, where the log leaves it open")
    parser.add_argument(
        "--date", default="", metavar="YYYY-MM-DD", help="date of runs that have none of their own (default: today)"
    )
    parser.add_argument("--dry-run", action="store_true", help="tell what the log holds; write nothing")
    parser.add_argument("--undo", metavar="RECEIPT", help="take one import back: remove exactly what it created")
    parser.add_argument("--format", dest="shape", choices=("text", "json"), default="text", help="how to print (default: text)")


def run(args: argparse.Namespace) -> int:
    from kb import KbError
    from kb.formats.detection import located
    from kb.formats.reading import Ask
    from kb.formats.summary import summary, to_json, to_text

    if args.undo:
        return _undo(args)
    if not args.format or not args.path:
        raise KbError("name a format and a log: `kb import auto PATH --target T`; `kb import --undo RECEIPT` takes one back")
    if not args.dry_run:
        return _import(args)
    name, path = located(args.path, args.format)
    told = summary(path, name, ask=Ask(args.direction, args.metric))
    print(f"[{to_json(told)}]" if args.shape == "json" else to_text(told))
    return 0


def _import(args: argparse.Namespace) -> int:
    from kb import KbError, store
    from kb.formats import filing
    from kb.formats.reading import Ask

    today = datetime.date.today().isoformat()
    if not args.target:
        raise KbError("which target do the runs belong to? say `--target NAME`; `--dry-run` tells what the log holds first")
    if args.date and not re.fullmatch(r"\d{4}-\d{2}-\d{2}", args.date):
        raise KbError(f"--date {args.date}: write a day as YYYY-MM-DD")
    layout = store.layout_at(Path.cwd())
    done = filing.import_runs(
        layout,
        args.path,
        name=args.format,
        target=args.target,
        variant=args.variant,
        ask=Ask(args.direction, args.metric),
        date=args.date or today,
        today=today,
    )
    for receipt in done.mended:
        print(f"an import that had been cut off was taken back first: {receipt}", file=sys.stderr)
    if args.shape == "json":
        print(
            json.dumps(
                {
                    "receipt": done.receipt or None,
                    "file": done.file,
                    "format": done.format,
                    "added": len(done.pages),
                    "known": done.known,
                    "pages": list(done.pages),
                },
                ensure_ascii=False,
                indent=1,
            )
        )
    elif done.pages:
        print(f"{len(done.pages)} runs filed, {done.known} known already; receipt {done.receipt}")
        print(f"`kb import --undo {done.receipt}` takes them back; `kb build` compiles them", file=sys.stderr)
    else:
        print(f"nothing new: {done.known} runs, all known already" if done.known else "nothing to import: the log holds no runs")
    return 0


def _undo(args: argparse.Namespace) -> int:
    from kb import store
    from kb.formats import filing

    done = filing.undo(store.layout_at(Path.cwd()), args.undo)
    if args.shape == "json":
        print(
            json.dumps(
                {"receipt": done.receipt, "removed": list(done.removed), "gone": list(done.gone)}, ensure_ascii=False, indent=1
            )
        )
    else:
        print(
            f"import {done.receipt} taken back: {len(done.removed)} pages removed"
            + (f", {len(done.gone)} were gone already" if done.gone else "")
        )
    return 0
