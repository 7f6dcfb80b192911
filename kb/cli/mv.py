"""`kb mv`."""

import argparse
import json
import sys
from pathlib import Path

from kb import store


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("old", help="page to move, such as wiki/concepts/old.md")
    parser.add_argument("new", help="where to, such as wiki/concepts/new.md")
    parser.add_argument("--dry-run", action="store_true", help="say what would change and change nothing")
    parser.add_argument("--format", choices=("text", "json"), default="text")


def run(args: argparse.Namespace) -> int:
    from kb.cli.paths import path_in
    from kb.move import move

    layout = store.layout_at(Path.cwd())
    plan = move(layout, path_in(layout, args.old), new=path_in(layout, args.new), dry_run=args.dry_run)
    if args.format == "json":
        print(
            json.dumps(
                {"old": plan.old, "new": plan.new, "mended": dict(plan.mended), "left": [list(row) for row in plan.left]},
                ensure_ascii=False,
            )
        )
    else:
        verb = "would move" if args.dry_run else "moved"
        print(f"{verb} {plan.old} to {plan.new}; {sum(plan.mended.values())} links mended in {len(plan.mended)} pages")
    for path, line, href in plan.left:
        print(f"{path}:{line}: mend the link '{href}' by hand", file=sys.stderr)
    return 1 if plan.left else 0
