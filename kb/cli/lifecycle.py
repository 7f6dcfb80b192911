"""`kb experiment open|audit|close|rules`: parses, calls `kb.experiments`, prints, and builds so that what follows is there."""

import argparse
import json
import sys
from dataclasses import asdict, replace
from pathlib import Path

from kb import KbError, store


def opening_arguments(actions: argparse._SubParsersAction) -> None:
    _open_arguments(actions.add_parser("open", help="file the stub of an experiment before anything runs"))


def closing_arguments(actions: argparse._SubParsersAction) -> None:
    audit = actions.add_parser("audit", help="say whether the mechanism fired, with the evidence lines")
    audit.add_argument(
        "--expect",
        action="append",
        default=[],
        metavar="PATTERN",
        help="regular expression that dumps or outputs must show (again for more)",
    )
    audit.add_argument(
        "--forbid", action="append", default=[], metavar="PATTERN", help="regular expression that they must not show"
    )
    audit.add_argument(
        "--predict",
        action="append",
        default=[],
        metavar="MOVE",
        help="cost bucket and its move, such as 'copy down' or 'matmul -10%%'",
    )
    close = actions.add_parser("close", help="give the verdict by rule and file the page")
    close.add_argument(
        "--overrule",
        choices=("supported", "refuted", "inconclusive", "invalid", "crash", "baseline"),
        help="a person's verdict; needs --reason",
    )
    close.add_argument("--reason", default="", metavar="TEXT", help="why the rules are overruled; stays on the page")
    close.add_argument(
        "--decision",
        choices=("keep", "revert"),
        default="",
        help="what the loop does with the change (default: keep what is supported)",
    )
    close.add_argument("--date", default="", metavar="YYYY-MM-DD", help="day of the log entry (default: today)")
    close.add_argument("--dry-run", action="store_true", help="print verdict, rule and what would be written; write nothing")
    rules = actions.add_parser("rules", help="print the rules by which `close` judges, in their order")
    rules.add_argument("--format", choices=("text", "json"), default="text")
    for parser in (audit, close):
        parser.add_argument("page", metavar="PAGE", help="path, file name or label (v012) of the experiment")
        parser.add_argument("--target", default="", help="the target whose label is meant")
        parser.add_argument("--format", choices=("text", "json"), default="text")


def _open_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "proposal",
        nargs="?",
        metavar="PROPOSAL",
        help="markdown file with the four labels, or - for stdin; options say more than the file",
    )
    for name, text in (
        ("target", "what is optimized"),
        ("variant", "operating point: size, hardware, batch"),
        ("title", "title of the page"),
        ("hypothesis", "what is claimed"),
        ("mechanism", "why it should work"),
        ("predicted", "what will be seen if it works"),
        ("falsification", "when it counts as wrong, such as 'time_ms >= 95' or 'gain < 2%%'"),
        (
            "parent",
            "page, label or git reference it is compared with (default: the newest supported one, else the target's base)",
        ),
        ("differs", "what differs from the refuted match, naming it"),
    ):
        parser.add_argument(f"--{name}", default="", metavar="TEXT", help=text)
    parser.add_argument(
        "--lever", action="append", default=[], metavar="NAME[=VALUE]", help="what the change pulls (again for more)"
    )
    parser.add_argument("--expect", action="append", default=[], metavar="PATTERN", help="what its audit will look for")
    parser.add_argument("--forbid", action="append", default=[], metavar="PATTERN", help="what its audit must not find")
    parser.add_argument(
        "--predict", action="append", default=[], metavar="MOVE", help="cost bucket and its move, such as 'copy down'"
    )
    parser.add_argument("--baseline", action="store_true", help="the first measurement of a target: no parent, no levers")
    parser.add_argument("--date", default="", metavar="YYYY-MM-DD", help="day in the file name (default: today)")
    parser.add_argument("--format", choices=("text", "json"), default="text")


def run(args: argparse.Namespace) -> int:
    from kb.experiments import GateClosed

    if args.action == "rules":
        return _rules(args)
    layout = store.layout_at(Path.cwd())
    try:
        return {"open": _open, "audit": _audit, "close": _close}[args.action](args, layout)
    except GateClosed as closed:
        print(f"kb experiment {args.action}: {closed}", file=sys.stderr)
        return 3


def note(text: str) -> None:
    print(text, file=sys.stderr)


def built(layout: store.Layout) -> None:
    from kb.build import build

    build(layout, note=note)


def _day(text: str) -> str:
    import datetime

    if not text:
        return datetime.date.today().isoformat()
    try:
        return datetime.date.fromisoformat(text).isoformat()
    except ValueError as error:
        raise KbError(f"--date {text}: not a day; write YYYY-MM-DD") from error


def page_typed(layout: store.Layout, args: argparse.Namespace) -> str:
    """Path of the experiment that a user names by path, file name or label."""
    from kb.cli.paths import page_in
    from kb.experiments.stub import located

    return located(layout, page_in(layout, args.page), target=args.target)


def target_of(layout: store.Layout, path: str):
    from kb.experiments.stub import stub_at
    from kb.experiments.targets import target_named

    stub = stub_at(layout, path)
    return stub, target_named(layout, stub.facts.target)


def _tried(layout: store.Layout, target: str, *, before=None):
    """Experiments of a target as built, in trail order."""
    from kb import trail

    db = store.state(layout)
    try:
        return trail.experiments(db, target=target, before=before)
    finally:
        db.close()


def _proposal(args: argparse.Namespace):
    from kb.experiments.opening import Proposal, lever_of, proposal_in

    if args.proposal:
        try:
            data = sys.stdin.buffer.read() if args.proposal == "-" else Path(args.proposal).read_bytes()
        except OSError as error:
            raise KbError(f"{args.proposal}: cannot be read: {error.strerror or error}") from error
        proposal = proposal_in(data, name=args.proposal)
    else:
        proposal = Proposal("")
    said = {
        "target": args.target,
        "variant": args.variant,
        "title": args.title,
        "hypothesis": args.hypothesis,
        "mechanism": args.mechanism,
        "predicted_signal": args.predicted,
        "falsification": args.falsification,
        "parent": args.parent,
        "differs": args.differs,
        "levers": tuple(lever_of(v) for v in args.lever),
        "expect": tuple(args.expect),
        "forbid": tuple(args.forbid),
        "predict": tuple(args.predict),
    }
    proposal = replace(proposal, **{k: v for k, v in said.items() if v}, baseline=args.baseline)
    if not proposal.target:
        raise KbError("what is optimized? say --target NAME, or `target:` in the proposal's front matter")
    return proposal


def _open(args: argparse.Namespace, layout: store.Layout) -> int:
    from kb import trail
    from kb.experiments.auditing import move_of, pattern_of
    from kb.experiments.opening import checked, opened
    from kb.experiments.stub import stub_at
    from kb.experiments.targets import target_named
    from kb.refuted.gate import Gate
    from kb.refuted.gate import Proposal as Question
    from kb.run.criterion import GAIN, to_text
    from kb.schema import Verdict
    from kb.trail.levers import levers_in

    proposal = _proposal(args)
    target = target_named(layout, proposal.target)
    for text in (*proposal.expect, *proposal.forbid):
        pattern_of(text)
    for text in proposal.predict:
        move_of(text)
    today = _day(args.date)
    built(layout)
    db = store.state(layout)
    try:
        if not proposal.parent and not proposal.baseline:
            kept = [
                e
                for e in trail.experiments(db, target=target.name)
                if e.variant == proposal.variant and e.verdict.canonical in (Verdict.SUPPORTED, Verdict.BASELINE)
            ]
            proposal = replace(proposal, parent=kept[-1].path if kept else target.base)
        proposal = checked(proposal, target, found=levers_in(proposal.text))
        answer = None if proposal.baseline else Gate(db).check(Question(proposal.text, target=target.name))
    finally:
        db.close()
    path = opened(layout, proposal, target, answer=answer, today=today)
    if not proposal.baseline:
        criteria = stub_at(layout, path).falsification(target.metrics)
        note(f"counts as wrong if {' or '.join(map(to_text, criteria))}")
        for name in sorted({c.metric for c in criteria} - {GAIN, *target.metrics}) if target.metrics else ():
            note(
                f"'{name}' is no metric of wiki/targets/{target.name}.md; if the benchmark does not print it, the experiment stays inconclusive"
            )
    built(layout)
    for match in answer.matches[:3] if answer and answer.outcome != "clear" else ():
        note(f"near {match.path} ({match.kind}, {match.verdict}): {match.because[:160]}")
    if args.format == "json":
        print(
            json.dumps(
                {
                    "path": path,
                    "outcome": answer.outcome if answer else "none",
                    "receipt": answer.receipt if answer else "baseline",
                },
                ensure_ascii=False,
            )
        )
    else:
        print(path)
    return 0


def _rules(args: argparse.Namespace) -> int:
    from kb.run.rules import RULES

    if args.format == "json":
        print(json.dumps([{"name": r.name, "verdict": r.verdict, "when": r.when} for r in RULES], indent=1))
        return 0
    for rule in RULES:
        print(f"{rule.name:<22} {rule.verdict:<13} {rule.when}")
    return 0


def _audit(args: argparse.Namespace, layout: store.Layout) -> int:
    from kb.experiments.attempt import attempts_in
    from kb.experiments.auditing import Expectation, audit, file_audit, move_of
    from kb.experiments.closing import show
    from kb.experiments.running import in_flight_at

    path = page_typed(layout, args)
    stub, target = target_of(layout, path)
    stub = in_flight_at(layout, path)
    attempts = attempts_in(layout.root / stub.page.field("run"))
    if not attempts or not attempts[-1].measurement:
        raise KbError(f"{path}: nothing is measured yet; `kb experiment run {path}` comes first")
    words = stub.page.words
    expectation = Expectation(
        (*words("expect"), *args.expect),
        (*words("forbid"), *args.forbid),
        tuple(move_of(v) for v in (*words("predict"), *args.predict)),
    )
    found = audit(attempts[-1], expectation)
    file_audit(attempts[-1], found, expectation)
    show(layout, path, target)
    built(layout)
    if args.format == "json":
        print(json.dumps({"path": path, **asdict(found)}, ensure_ascii=False))
    else:
        print(found.firing or "nothing to go by: say --expect, --forbid or --predict, or name `artifacts:` on the target page")
        for finding in found.findings:
            print(f"  {'yes' if finding.held else '?' if finding.held is None else 'no '}  {finding.text}")
    return 0 if found.firing in ("confirmed", "partial") else 1


# Rules that speak for want of repeats or of a quiet machine.
_NOISE = ("noise-wide", "noise-unknown", "falsified-in-doubt")
# Rules that speak for want of evidence, and how to come by it.
_WANTING = {
    "no-profile": (
        "before it is closed, name a profile command (`profile:` of the target page, or --profile; a file in $KB_OUT with "
        "'profile' in its name counts as well) and `kb experiment run {path} --again`"
    ),
    "no-audit": "before it is closed, `kb experiment audit {path}` looks for the mechanism (--expect PATTERN where the page names none)",
}


def hint_of(rule: str, path: str) -> str:
    """What may still be done about a ruling before the page is closed; empty where measuring more of the same tells nothing new."""
    if rule not in _NOISE:
        return _WANTING.get(rule, "").format(path=path)
    return f"before it is closed, `kb experiment run {path} --more 5` adds repeats of both sides (better on a quiet host)"


def _close(args: argparse.Namespace, layout: store.Layout) -> int:
    from kb.cli.built import built_state
    from kb.experiments.closing import Overrule, close, preview
    from kb.experiments.writeback import followed, target_page
    from kb.schema import Verdict

    path = page_typed(layout, args)
    stub, target = target_of(layout, path)
    today = _day(args.date)
    overrule = Overrule(Verdict(args.overrule), args.reason) if args.overrule else None
    if args.dry_run:
        built_state(layout).close()
        earlier = _tried(layout, target.name, before=stub.facts.order)
        done = preview(layout, path, target, overrule=overrule, decision=args.decision, earlier=earlier)
        _print_closed(done, path, as_json=args.format == "json", dry=True)
        return 0
    built(layout)
    done = close(
        layout,
        path,
        target,
        overrule=overrule,
        decision=args.decision,
        earlier=_tried(layout, target.name, before=stub.facts.order),
        today=today,
    )
    built(layout)
    if target_page(layout, target, _tried(layout, target.name)):
        built(layout)
    if not target.path:
        note(f"there is no page wiki/targets/{target.name}.md whose frontier could follow")
    elif not followed(layout, target):
        note(
            f"{target.path} has no markers, so no table of it follows; add `<!-- kb:auto frontier -->` and `<!-- /kb:auto -->` on two lines where it shall stand "
            "(likewise `variants`, `leaderboard`, `experiments`), then `kb experiment close` once more"
        )
    _print_closed(done, path, as_json=args.format == "json", dry=False)
    return 0


def _print_closed(done, path: str, *, as_json: bool, dry: bool) -> None:
    hint = hint_of(done.rule, path) if dry and not done.again else ""
    if as_json:
        print(json.dumps({**asdict(done), **({"dry_run": True, "hint": hint} if dry else {})}, ensure_ascii=False))
    elif done.again:
        print(f"{path} was filed before: {done.verdict}")
    else:
        print(
            f"{done.verdict}{' (overruled by hand)' if done.overruled else ''}, {done.decision}\nrule {done.rule}: {done.reason}\n{path}"
        )
        if dry:
            print(f"would write: {', '.join(done.written)}; nothing was written")
            if hint:
                note(hint)
