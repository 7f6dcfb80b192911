"""`kb retro`: the computed part of a retrospective, as a page to be finished by a writer."""

import argparse
import datetime
import json
from dataclasses import asdict
from pathlib import Path

from kb import KbError, store


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--target", default="", help="the target (may be left out where there is only one)")
    parser.add_argument("--date", default="", metavar="YYYY-MM-DD", help="date of the page (default: today)")
    parser.add_argument(
        "--write", action="store_true", help="file it as wiki/analyses/DATE-TARGET-retrospective.md instead of printing it"
    )
    parser.add_argument("--format", choices=("md", "json"), default="md")


def run(args: argparse.Namespace) -> int:
    from kb import trail
    from kb.cli.built import built_state
    from kb.page import slug_of, text_of
    from kb.trail.retro import markdown_of, retro_of
    from kb.trail.standing import standing_of

    layout = store.layout_at(Path.cwd())
    db = built_state(layout)
    known = trail.targets(db)
    if not args.target and len(known) != 1:
        raise KbError(f"say which target with --target; known: {', '.join(known) or 'none'}")
    target = args.target or known[0]
    standing = standing_of(db, target, text_of=lambda path: text_of(store.read_bytes(layout, path)))
    everything = trail.experiments(db)
    own = [e for e in everything if e.target == target]
    retro = retro_of(standing, own, [e for e in everything if e.target != target])
    if args.format == "json":
        print(json.dumps(asdict(retro), ensure_ascii=False, indent=1))
        return 0
    date = args.date or datetime.date.today().isoformat()
    page = markdown_of(retro, standing, own, date=date)
    if not args.write:
        print(page, end="")
        return 0
    path = f"wiki/analyses/{date}-{slug_of(target.replace('/', '-'))}-retrospective.md"
    try:
        store.create(layout.root / path, page)
    except FileExistsError:
        raise KbError(f"{path} is there already; a correction is a new page or a dated note below it") from None
    print(path)
    return 0
