"""`kb check`: does a proposal repeat what was refuted?"""

import argparse
import json
import sys
from dataclasses import asdict
from pathlib import Path

from kb import KbError, store

_KEYS = ("id", "proposal", "target", "before", "as_of")


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("proposal", nargs="?", metavar="PROPOSAL", help="file with the proposal, or - for stdin")
    parser.add_argument("--target", default="", help="what is to be optimized")
    parser.add_argument("--before", default="", metavar="PAGE", help="as of just before this page")
    parser.add_argument("--as-of", default="", metavar="DATE", help="as of the end of this day")
    parser.add_argument(
        "--batch", metavar="FILE", help="a JSON line per proposal (id, proposal, target, before, as_of); prints a JSON line each"
    )
    parser.add_argument("--format", choices=("text", "json"), default="text")


def run(args: argparse.Namespace) -> int:
    from kb.cli.built import built_state, note_new_target
    from kb.cli.paths import page_in, path_in
    from kb.refuted.gate import Gate, Proposal
    from kb.trail import experiment

    if bool(args.proposal) == bool(args.batch):
        raise KbError("give one PROPOSAL (a file, or - for stdin) or --batch FILE")
    layout = store.layout_at(Path.cwd())
    args.before = page_in(layout, args.before) if args.before else args.before
    gate = Gate(built_state(layout))
    if args.batch:
        for line, said in _lines(args.batch):
            text = said.pop("proposal", None)
            if not isinstance(text, str) or not text.strip():
                raise KbError(f"{args.batch}:{line}: no text under 'proposal'")
            print(json.dumps(asdict(gate.check(Proposal(text, **said))), ensure_ascii=False))
        return 0
    text = _text(args.proposal)
    note_new_target(gate.db, args.target)
    if args.proposal != "-" and not args.before and not args.as_of:
        # A page on file is asked about as of just before it: it would match itself.
        page = path_in(layout, args.proposal) if Path(args.proposal).resolve().is_relative_to(layout.root) else ""
        args.before = page if experiment(gate.db, page) else None
    answer = gate.check(Proposal(text, "" if args.proposal == "-" else args.proposal, args.target, args.before, args.as_of))
    print(json.dumps(asdict(answer), ensure_ascii=False, indent=1) if args.format == "json" else _shown(answer))
    return 0 if answer.outcome == "clear" else 3


def _text(name: str) -> str:
    from kb.page import text_of

    try:
        text = text_of(sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes())
    except OSError as error:
        raise KbError(f"{name}: cannot be read: {error.strerror or error}") from error
    if "\0" in text:
        raise KbError(f"{name}: is a binary file, no proposal; give one as text")
    if not text.strip():
        raise KbError(f"{name}: the proposal is empty; say what is to be changed and why it should help")
    return text


def _lines(name: str):
    """(line number, request) of a batch file. Raises KbError at a line that is none."""
    for number, raw in enumerate(_text(name).split("\n"), start=1):
        if not raw.strip():
            continue
        try:
            said = json.loads(raw)
        except ValueError as error:
            raise KbError(f"{name}:{number}: not JSON: {error}") from error
        unknown = set(said) - set(_KEYS) if isinstance(said, dict) else {"?"}
        if unknown:
            raise KbError(
                f"{name}:{number}: takes an object with {', '.join(_KEYS)}"
                + (f"; not {', '.join(sorted(unknown))}" if isinstance(said, dict) else "")
            )
        yield number, {k: str(v) if k != "proposal" else v for k, v in said.items() if v is not None}


def _shown(answer) -> str:
    lines = [f"{answer.outcome}  {answer.receipt}"]
    for m in answer.matches:
        lines.append(
            f"\n{m.score:.2f}  {m.kind}  {m.path}  ({m.verdict}{', ' + m.status if m.status != 'standing' else ''}, {m.date or 'no date'})"
        )
        lines.append(f"      {m.claim}")
        for name, value in (
            ("lever", f"{m.lever} {m.value}".strip()),
            ("delta", m.delta),
            ("because", m.because),
            ("differs", "; ".join(m.scope_diff)),
            ("reopen if", m.reopen_if),
            ("you say", m.acknowledged),
        ):
            if value:
                lines.append(f"      {name}: {value}")
    if answer.outcome != "clear":
        lines.append("\nName the page and say what differs (or drop the proposal); then check again.")
    return "\n".join(lines)
