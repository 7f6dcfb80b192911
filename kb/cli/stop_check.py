"""`kb stop-check`: may this loop stop?"""

import argparse
import json
from pathlib import Path

from kb import KbError, store


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--target", default="", help="the target of the loop (may be left out where there is only one)")
    parser.add_argument("--format", choices=("text", "json"), default="text")


def run(args: argparse.Namespace) -> int:
    from kb import trail
    from kb.cli.built import built_state
    from kb.page import text_of
    from kb.trail.standing import reasons_to_go_on, standing_of

    layout = store.layout_at(Path.cwd())
    db = built_state(layout)
    known = trail.targets(db)
    if not args.target and len(known) != 1:
        raise KbError(f"say which loop with --target; known: {', '.join(known) or 'none'}")
    target = args.target or known[0]
    reasons = reasons_to_go_on(standing_of(db, target, text_of=lambda path: text_of(store.read_bytes(layout, path))))
    if args.format == "json":
        print(json.dumps({"target": target, "may_stop": not reasons, "reasons": reasons}, ensure_ascii=False, indent=1))
    else:
        print(
            f"{target}: "
            + ("plateau, no headroom and a fresh retrospective are on file; the loop may stop" if not reasons else "go on")
        )
        for reason in reasons:
            print(f"  {reason}")
    return 3 if reasons else 0
