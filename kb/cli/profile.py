"""`kb profile`: a profiler's output as one bucket table, and the rules behind the buckets."""

import argparse
import json
from pathlib import Path


def arguments(parser: argparse.ArgumentParser) -> None:
    verbs = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    summarize = verbs.add_parser("summarize", help="print the bucket table of a trace, a stats export or sampled stacks")
    summarize.add_argument(
        "path", type=Path, metavar="PATH", help="a file (gzip or not), or a folder that holds one profile in several files"
    )
    summarize.add_argument(
        "--format",
        choices=("md", "json", "query"),
        default="md",
        help="md: a page's Profile section; query: what `kb load --profile` asks",
    )
    summarize.add_argument(
        "--kind",
        default="auto",
        metavar="KIND",
        help="the format, where content does not tell: "
        "chrome-trace, nsys, ncu, perf-report, perf-script, folded, speedscope, xprof",
    )
    buckets = verbs.add_parser("buckets", help="print the rules by which names of operations become buckets")
    buckets.add_argument("--format", choices=("md", "json"), default="md")


def run(args: argparse.Namespace) -> int:
    from kb import profiles

    if args.action == "buckets":
        rules = [{"bucket": r.bucket, "means": r.means, "pattern": r.pattern.pattern} for r in profiles.RULES]
        print(
            json.dumps(rules, indent=1) if args.format == "json" else "\n".join(f"{r['bucket']:<14} {r['means']}" for r in rules)
        )
        return 0
    profile = profiles.read(args.path, kind=args.kind)
    form = {"md": profiles.to_markdown, "json": profiles.to_json, "query": profiles.query}[args.format]
    print(form(profile).rstrip("\n"))
    return 0
