"""`kb search`."""

import argparse
import json
from pathlib import Path

from kb import store
from kb.cli.built import built_state


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("query", nargs="+", help="words to look for; identifiers are found whole and by their parts")
    parser.add_argument("--type", action="append", default=[], help="only pages of this type (may be repeated)")
    parser.add_argument("--target", help="only experiments of this target")
    parser.add_argument("--verdict", action="append", default=[], help="only experiments with this verdict (may be repeated)")
    parser.add_argument("--before", metavar="DATE", help="only pages dated before this day (YYYY-MM-DD)")
    parser.add_argument(
        "--semantic", action="store_true", help="by words and by meaning, with the model that kb.toml names (extra `semantic`)"
    )
    parser.add_argument("--local", action="store_true", help="with --semantic: leave the shared store of kb.toml alone")
    parser.add_argument("--limit", type=int, default=10)
    parser.add_argument("--format", choices=("text", "json"), default="text")


def run(args: argparse.Namespace) -> int:
    from kb.cli.vectors import opened
    from kb.search.asked import Asked, answers

    asked = Asked(" ".join(args.query), tuple(args.type), args.target or "", tuple(args.verdict), args.before or "", args.limit)
    layout = store.layout_at(Path.cwd())
    db = built_state(layout)
    found = answers(db, asked, by=opened(layout, db, local=args.local).find) if args.semantic else answers(db, asked)
    if args.format == "json":
        print(json.dumps([a.to_json() for a in found], ensure_ascii=False, indent=1))
        return 0
    for answer in found:
        place = f"{answer.path}#{answer.anchor}" if answer.anchor else answer.path
        print(f"{place}:{answer.line}  {answer.title}\n    {answer.snippet}")
    return 0
