"""`kb build`."""

import argparse
import json
import sys
from dataclasses import asdict
from pathlib import Path

from kb import store


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--format", choices=("text", "json"), default="text")


def run(args: argparse.Namespace) -> int:
    from kb.build import build

    report = build(store.layout_at(Path.cwd()), note=lambda text: print(text, file=sys.stderr))
    if args.format == "json":
        print(json.dumps(asdict(report), ensure_ascii=False))
        return 0
    for finding in report.unread:
        print(f"{finding.path}: {finding.message}; {finding.hint}", file=sys.stderr)
    what = "nothing changed" if report.fresh else f"{report.added} added, {report.changed} changed, {report.removed} removed"
    print(f"{report.pages} pages ({what}), {report.experiments} experiments, {report.cards} refuted cards, {report.indexes} index files")
    return 0
