"""kb lint [keep]: list what is wrong with the pages, and fix what is mechanical."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial

from kb import KbError, lint, store
from kb.lint import Matter, Mend, Rule, outputs
from kb.text import counted
from kb.verbs import FINDINGS, FINE, Caller, Result, argument, flag, option, several, text_result

FORMATS = ("text", "json", "github", "sarif")


@dataclass(frozen=True, slots=True, kw_only=True)
class Lint:
    """Which findings, and what is done about them."""

    paths: tuple[str, ...] = argument(
        "pages or folders to report on (default: all; links are always resolved in the whole wiki)",
        default=(),
        metavar="PATH",
    )
    code: tuple[str, ...] = several("report these codes only (repeatable)", metavar="CODE")
    limit: int | None = option(
        "print the first N findings one by one (0: all); other formats than text print all of them always",
        default=None,
        metavar="N",
    )
    fix: bool = flag(
        "mend what is mechanical and certain; `--fix wikilink` also writes wikilinks as paths"
    )
    dry_run: bool = flag("with --fix: print the diff and change nothing")
    baseline: bool = flag(
        "record today's findings; from then on only new ones are reported and fail"
    )
    all: bool = flag(
        "print every finding one by one, those that the baseline knows included (text sums up each kind "
        "in a line with its worst three places, unless PATH, --code, --limit or this is given)"
    )
    rules: bool = flag("print the reference page of all rules")
    today: str = option("date for the rules on stale pages (default: today)", metavar="DATE")


def run(request: Lint, caller: Caller) -> Result:
    if request.rules:
        return text_result(lint.rule_table())
    request = _checked(request, lint.all_rules())
    layout = caller.layout
    under = _under(caller, request.paths)
    today = caller.day(request.today, "--today")
    state = "" if request.baseline or request.fix else lint.state_of(layout, today=today)
    report = lint.kept(layout, repr(request), state=state) if state else None
    if report is None:
        matter = lint.matter_of(layout, rows=lint.rows_of(layout, talk=caller.talk), today=today)
        if request.baseline:
            return _baseline(matter, caller)
        if request.fix:
            findings = lint.lint(matter, under=under, codes=request.code).findings
            mends = lint.mends_of(matter, findings, wanted=request.code)
            return _mended(mends, caller, request)
        known = None if request.all else lint.known_of(layout)
        report = lint.lint(matter, under=under, codes=request.code, known=known)
        if state:
            lint.keep(layout, repr(request), state=state, files=matter.files, report=report)
    for note in report.notes:
        caller.talk(f"note: {note}")
    # Who asks for a kind or a place has each finding named.
    listed = request.paths or request.code or request.all
    limit = 0 if listed and request.limit is None else request.limit
    forms = {name: partial(write, report) for name, write in outputs.WRITERS.items()}
    forms["text"] = partial(outputs.text, report, limit=limit)
    return Result(report, "", FINDINGS if report.errors else FINE, forms)


def _baseline(matter: Matter, caller: Caller) -> Result:
    report = lint.lint(matter)
    store.write(matter.layout.root / lint.BASELINE_NAME, lint.baseline_text(report.findings))
    what = (
        f"recorded {counted(len(report.findings), 'findings')} in {lint.BASELINE_NAME}; commit it"
    )
    caller.talk(f"{what}: from now on only new ones are reported")
    return text_result()


def _mended(mends: list[Mend], caller: Caller, request: Lint) -> Result:
    """The diff of a dry run; else the pages are written, and what is left is told."""
    done = mends if request.dry_run else lint.write(caller.layout, mends)
    verb = "would mend" if request.dry_run else "mended"
    caller.talk(
        f"{verb} {counted(sum(len(m.done) for m in done), 'findings')} in {counted(len(done), 'pages')}"
    )
    if request.dry_run:
        return text_result("".join(mend.diff() for mend in mends))
    return run(replace(request, fix=False), caller)


def _checked(request: Lint, rules: Mapping[str, Rule]) -> Lint:
    """The request, with the names of rules behind --fix as codes. Raises KbError where it asks for what does not go together."""
    if request.fix:
        named = tuple(path for path in request.paths if path in rules)
        paths = tuple(path for path in request.paths if path not in rules)
        request = replace(request, paths=paths, code=(*request.code, *named))
    unknown = [code for code in request.code if code not in rules]
    if unknown:
        raise KbError(f"no such rule '{unknown[0]}'; `kb lint --rules` lists them")
    if request.dry_run and not request.fix:
        raise KbError("--dry-run shows what --fix would do; give both")
    if request.baseline and (request.paths or request.code or request.fix):
        raise KbError("--baseline records the findings of the whole wiki; give it alone")
    return request


def _under(caller: Caller, typed: tuple[str, ...]) -> list[str]:
    paths = [caller.path(path) for path in typed]
    for path in paths:
        if not (caller.layout.root / path).exists():
            raise KbError(f"{path}: no such page or folder")
    return paths
