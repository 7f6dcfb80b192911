"""`kb build`."""

import argparse
import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from kb import store

if TYPE_CHECKING:
    from kb.search.vectors import Synced


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--vectors",
        action="store_true",
        help="give every section its vectors too, by the model that kb.toml names (extra `semantic`)",
    )
    parser.add_argument("--local", action="store_true", help="with --vectors: leave the shared store of kb.toml alone")
    parser.add_argument("--format", choices=("text", "json"), default="text")


def run(args: argparse.Namespace) -> int:
    from kb.build import build

    layout = store.layout_at(Path.cwd())
    report = build(layout, note=lambda text: print(text, file=sys.stderr))
    if args.format == "json":
        vectors = {"vectors": asdict(_vectors(layout, local=args.local))} if args.vectors else {}
        print(json.dumps({**asdict(report), **vectors}, ensure_ascii=False))
        return 0
    for finding in report.unread:
        print(f"{finding.path}: {finding.message}; {finding.hint}", file=sys.stderr)
    what = "nothing changed" if report.fresh else f"{report.added} added, {report.changed} changed, {report.removed} removed"
    print(
        f"{report.pages} pages ({what}), {report.experiments} experiments, {report.cards} refuted cards, {report.indexes} index files"
    )
    if args.vectors:
        done = _vectors(layout, local=args.local)
        shared = f", {done.fetched} brought from the shared store" if layout.config.chroma and not args.local else ""
        print(f"vectors of {done.sections} sections ({done.encoded} texts encoded{shared}, {done.removed} dropped)")
    return 0


def _vectors(layout: store.Layout, *, local: bool) -> "Synced":
    from kb.cli.vectors import synced

    return synced(layout, store.state(layout), local=local)
