"""`kb export`: a target's runs in a loop's own format, or appended to the loop's own file."""

import argparse
import sys
from pathlib import Path


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "format",
        nargs="?",
        choices=("jsonl", "tsv", "leaderboard", "log"),
        help="jsonl holds everything; the others what their columns hold",
    )
    parser.add_argument("--target", required=True, help="the target whose runs are given back")
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--out", type=Path, metavar="FILE", help="write a new file (default: print)")
    where.add_argument(
        "--append",
        type=Path,
        metavar="FILE",
        help="add the runs that a loop's own file lacks, in that file's own format and columns",
    )


def run(args: argparse.Namespace) -> int:
    from kb import KbError, store
    from kb.formats import export

    runs = export.runs_of_target(store.layout_at(Path.cwd()), args.target)
    if args.append:
        added = export.append(args.append, runs)
        print(f"{args.append}: {added} runs appended, {len(runs) - added} there already")
        return 0
    if not args.format:
        raise KbError("which format? jsonl, tsv, leaderboard or log; `--append FILE` takes the file's own")
    text = export.exported(runs, args.format)
    if not args.out:
        sys.stdout.write(text)
        return 0
    if args.out.exists():
        raise KbError(f"{args.out}: is there already; `--append` adds to it, or name another file")
    store.write(args.out, text)
    print(
        f"{args.out}: {len(runs)} runs of {args.target}"
        if args.format != "leaderboard"
        else f"{args.out}: what was kept of {args.target}"
    )
    return 0
