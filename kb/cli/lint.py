"""`kb lint`."""

import argparse
import datetime
import sqlite3
import sys
from collections import Counter
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from kb import KbError, store

if TYPE_CHECKING:
    from kb.lint import Habit, Matter, Report
    from kb.schema import Finding


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "paths",
        nargs="*",
        metavar="PATH",
        help="pages or folders to report on (default: all; links are always resolved in the whole wiki)",
    )
    parser.add_argument("--format", choices=("text", "json", "github", "sarif"), default="text")
    parser.add_argument("--code", action="append", default=[], metavar="CODE", help="report these codes only (repeatable)")
    parser.add_argument(
        "--limit",
        type=int,
        metavar="N",
        help="show the first N findings (text: 200 unless told; 0 shows all); the summary counts all",
    )
    parser.add_argument("--fix", action="store_true", help="mend what is mechanical and certain")
    parser.add_argument("--dry-run", action="store_true", help="with --fix: print the diff and change nothing")
    parser.add_argument(
        "--baseline", action="store_true", help="record today's findings; from then on only new ones are reported and fail"
    )
    parser.add_argument("--all", action="store_true", help="report what the baseline knows, too")
    parser.add_argument("--rules", action="store_true", help="print the reference page of all rules")
    parser.add_argument(
        "--today", metavar="DATE", type=datetime.date.fromisoformat, help="date for the rules on stale pages (default: today)"
    )


def run(args: argparse.Namespace) -> int:
    from kb import lint

    if args.rules:
        print(lint.rule_table(), end="")
        return 0
    unknown = [code for code in args.code if code not in lint.BY_CODE]
    if unknown:
        raise KbError(f"no such rule '{unknown[0]}'; `kb lint --rules` lists them")
    if args.dry_run and not args.fix:
        raise KbError("--dry-run shows what --fix would do; give both")
    if args.baseline and (args.paths or args.code or args.fix):
        raise KbError("--baseline records the findings of the whole wiki; give it alone")
    layout = store.layout_at(Path.cwd())
    under = _under(layout, args.paths)
    today = (args.today or datetime.date.today()).isoformat()
    rows = _rows(layout)
    matter = lint.matter_of(layout, rows=rows, today=today)
    if args.baseline:
        return _record(layout, lint.lint(matter))
    if args.fix:
        found = [f for f in lint.lint(matter, under=under).findings if not args.code or f.code in args.code]
        mends = lint.mends_of(matter, found)
        if args.dry_run:
            sys.stdout.writelines(mend.diff() for mend in mends)
            print(f"would mend {sum(len(m.done) for m in mends)} findings in {len(mends)} pages", file=sys.stderr)
            return 0
        written = lint.write(layout, mends)
        print(f"mended {sum(len(m.done) for m in written)} findings in {len(written)} pages", file=sys.stderr)
        if written:
            matter = lint.matter_of(layout, rows=rows, today=today)
    known = None if args.all else lint.known_of(layout)
    return _show(args, matter, lint.lint(matter, under=under, known=known))


def _under(layout: store.Layout, typed: list[str]) -> list[str]:
    from kb.cli.paths import path_in

    found = [path_in(layout, path) for path in typed]
    for path in found:
        if not (layout.root / path).exists():
            raise KbError(f"{path}: no such page or folder")
    return found


def _rows(layout: store.Layout) -> dict[str, tuple[str, str, str | None]]:
    """What the last build read; nothing if there was none, or if another version of kb made it."""
    if not (layout.state / "kb.db").is_file():
        print("nothing is built here; reading all pages (`kb build` keeps them read)", file=sys.stderr)
        return {}
    try:
        db = store.state(layout)
        try:
            return (
                {
                    path: (digest, row, facts)
                    for path, digest, row, facts in db.execute("select path, digest, row, facts from page")
                }
                if store.is_current(db)
                else {}
            )
        finally:
            db.close()
    except sqlite3.Error as error:
        print(f"{layout.state / 'kb.db'}: {error}; reading all pages", file=sys.stderr)
        return {}


def _record(layout: store.Layout, report: "Report") -> int:
    from kb import lint

    store.write(layout.root / lint.BASELINE_NAME, lint.baseline_text(report.findings))
    print(
        f"recorded {len(report.findings)} findings in {lint.BASELINE_NAME}; commit it: from now on only new ones are reported",
        file=sys.stderr,
    )
    return 0


def _show(args: argparse.Namespace, matter: "Matter", report: "Report") -> int:
    from kb.lint import habits_of, outputs

    for note in report.notes:
        print(f"note: {note}", file=sys.stderr)
    found = [f for f in report.findings if not args.code or f.code in args.code]
    limit = args.limit if args.limit is not None else 200 if args.format == "text" else 0
    if args.format != "text":
        writer = {"json": outputs.json_text, "github": outputs.github_text, "sarif": outputs.sarif_text}[args.format]
        print(writer(found[:limit] if limit > 0 else found, report.levels), end="")
    else:
        # Who asks for one kind, one place or all has every page named.
        named = bool(args.paths or args.code or args.limit == 0)
        habits, own = ([], found) if named else habits_of(matter, found)
        _print_text(own[:limit] if limit > 0 else own, own, habits, report)
        _print_sums(found, report)
    return 1 if any(report.levels[f.code] == "error" for f in found) else 0


def _print_text(shown: "list[Finding]", own: "list[Finding]", habits: "list[Habit]", report: "Report") -> None:
    for path, group in groupby(shown, key=lambda f: f.path):
        print(path)
        for f in group:
            about = f" [{f.target}]" if f.target and f.target not in f.message else ""
            print(
                f"  {f.line:>4}  {report.levels[f.code]:<5}  {f.code:<20}  {f.message}{about}" + (f"; {f.hint}" if f.hint else "")
            )
    if len(shown) < len(own):
        print(f"… and {len(own) - len(shown)} more: --limit 0 shows all, --code CODE one kind, PATH one page or folder")
    if habits:
        print("by habit (--limit 0 names the pages)")
    for h in habits:
        where = f"of {h.scope}" if h.scope.endswith("/") else f"of type {h.scope}"
        print(f"        {report.levels[h.code]:<5}  {h.code:<20}  {h.count} of {h.of} pages {where}: {h.message}; {h.hint}")


def _print_sums(found: "list[Finding]", report: "Report") -> None:
    counts = Counter(f.code for f in found)
    fixable = Counter(f.code for f in found if f.fixable)
    if counts:
        print()
    for code, count in sorted(counts.items(), key=lambda item: (report.levels[item[0]], -item[1], item[0])):
        print(f"{count:>6}  {report.levels[code]:<5}  {code}" + (f" ({fixable[code]} that --fix mends)" if fixable[code] else ""))
    errors = sum(report.levels[f.code] == "error" for f in found)
    known = f"; {report.known} more are known in the baseline" if report.known else ""
    print(
        f"{errors} errors, {len(found) - errors} warnings in {len({f.path for f in found})} pages{known}"
        if found
        else "nothing found" + (f" that is new; {report.known} are known in the baseline" if report.known else "")
    )
