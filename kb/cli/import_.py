"""kb import: another loop's records in. Parses, calls `kb.formats`, prints."""

import argparse
import sys
from pathlib import Path


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("format", nargs="?", metavar="FORMAT", help="auto, or pi tsv logmd leaderboard skypilot jsonl optuna interlab openevolve autocomp pi-git prose")
    parser.add_argument("path", nargs="?", type=Path, metavar="PATH", help="a loop's log, or its folder")
    parser.add_argument("--target", default="", help="the target that the runs belong to")
    parser.add_argument("--variant", default="", help="the operating point of the target (size, hardware, batch)")
    parser.add_argument("--direction", choices=("lower", "higher"), help="which way the primary metric is better, where the log leaves it open")
    parser.add_argument("--metric", default="", help="the primary metric, where the log leaves it open")
    parser.add_argument("--date", default="", metavar="YYYY-MM-DD", help="date of runs that have none of their own (default: today)")
    parser.add_argument("--dry-run", action="store_true", help="tell what the log holds; write nothing")
    parser.add_argument("--undo", metavar="RECEIPT", help="take one import back: remove exactly what it created")
    parser.add_argument("--format", dest="shape", choices=("text", "json"), default="text", help="how to print (default: text)")


def run(args: argparse.Namespace) -> int:
    from kb import KbError, formats

    if not args.format or not args.path:
        raise KbError("name a format and a log: `kb import auto PATH --target T`; `kb import --undo RECEIPT` takes one back")
    name, path = formats.located(args.path, args.format)
    ask = formats.Ask(args.direction, args.metric)
    if args.dry_run:
        told = formats.summary(path, name, ask=ask)
        if args.shape == "json":
            print(f"[{formats.to_json(told)}]")
        else:
            print(formats.to_text(told))
        return 0
    print("not yet", file=sys.stderr)
    return 2
