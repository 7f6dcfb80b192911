"""`kb load`."""

import argparse
import glob
import json
import sys
from pathlib import Path

from kb import KbError, store
from kb.cli.built import built_state, note_new_target
from kb.cli.paths import page_in
from kb.schema import STEPS
from kb.slices.request import AUDIENCES, MODES, Request, request_from


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "step",
        nargs="?",
        default="",
        choices=(*STEPS, ""),
        metavar="STEP",
        help=f"the step of the loop that asks: {', '.join(STEPS)}; a batch may say it in its lines",
    )
    parser.add_argument("--query", help="what the step is about, in words")
    parser.add_argument("--profile", type=Path, metavar="FILE", help="profiler output, or text about it, as the query")
    parser.add_argument("--proposal", type=Path, metavar="FILE", help="a proposal or an experiment page as the query")
    parser.add_argument("--target", help="what is optimized; without it the whole wiki is asked")
    parser.add_argument("--variant", help="operating point of the target")
    parser.add_argument("--before", metavar="PAGE", help="the state just before this page")
    parser.add_argument("--as-of", metavar="DATE", help="the state at the end of this day (YYYY-MM-DD)")
    parser.add_argument(
        "--budget", type=int, metavar="N", help="tokens, default what kb.toml says or 8000, to resume 2000 at most"
    )
    parser.add_argument(
        "--exclude", action="append", default=[], metavar="GLOB", help="leave pages out (may be repeated; * crosses /)"
    )
    parser.add_argument("--mode", choices=MODES, default="auto", help="of the hypothesis step; auto finds it out")
    parser.add_argument("--audience", choices=AUDIENCES, default="loop", help="cold leaves out what gives away outcomes")
    parser.add_argument(
        "--batch", type=Path, metavar="FILE.jsonl", help="one request a line, one JSON answer a line; - reads stdin"
    )
    parser.add_argument("--explain", action="store_true", help="say what every item costs and all that was left out")
    parser.add_argument("--format", choices=("md", "json"), default="md")


def run(args: argparse.Namespace) -> int:
    from kb.slices import Loader
    from kb.slices.markdown import to_markdown

    if not args.step and not args.batch:
        raise KbError(f"which step asks? one of {', '.join(STEPS)}")
    layout = store.layout_at(Path.cwd())
    if args.batch:
        requests = _batch(args, usual=layout.config.budget)
        loader = Loader(built_state(layout))
        for request in requests:
            print(json.dumps(loader.slice(request).to_json(), ensure_ascii=False))
        return 0
    said = {
        "query": args.query,
        "target": args.target,
        "variant": args.variant,
        "before": args.before and page_in(layout, args.before),
        "as_of": args.as_of,
        "exclude": [*args.exclude, *_own_page(layout, args.proposal)],
        "mode": args.mode,
        "audience": args.audience,
        "profile": _profile(args.profile),
        "proposal": _text(args.proposal),
    }
    request = request_from(said, step=args.step, budget=args.budget, usual=layout.config.budget)
    db = built_state(layout)
    note_new_target(db, request.target)
    found = Loader(db).slice(request)
    print(
        json.dumps(found.to_json(), ensure_ascii=False) if args.format == "json" else to_markdown(found, explain=args.explain),
        end="\n" if args.format == "json" else "",
    )
    return 0


def _batch(args: argparse.Namespace, *, usual: int) -> list[Request]:
    """Every request of a batch, all read before the first is answered. Raises KbError with the line that is wrong."""
    file = args.batch
    text = sys.stdin.read() if str(file) == "-" else _text(file) or ""
    requests = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        try:
            requests.append(request_from(json.loads(line), step=args.step, budget=args.budget, usual=usual))
        except (json.JSONDecodeError, KbError) as error:
            raise KbError(f"{file}:{number}: {error}") from error
    return requests


def _text(file: Path | None) -> str | None:
    if file is None:
        return None
    try:
        text = file.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise KbError(f"{file}: cannot be read: {error.strerror or error}") from error
    if "\0" in text:
        raise KbError(f"{file}: is a binary file; give it as text")
    return text


def _own_page(layout: store.Layout, proposal: Path | None) -> list[str]:
    """The page that asks, where the proposal is one: its own outcome is no answer to it."""
    full = proposal.absolute() if proposal else layout.root
    return [glob.escape(full.relative_to(layout.root).as_posix())] if full.is_relative_to(layout.root / "wiki") else []


def _profile(file: Path | None) -> str | None:
    """What a profile says in words: its bucket table, or the text itself where it is no profiler's output."""
    if file is None:
        return None
    from kb import profiles

    found = profiles.profile_or_text(file)
    return found if isinstance(found, str) else profiles.query(found)
