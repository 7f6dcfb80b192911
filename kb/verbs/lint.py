"""kb lint [keep]: list what is wrong with the pages, and fix what is mechanical."""

import datetime
import sqlite3
from collections import Counter
from dataclasses import asdict, dataclass
from itertools import groupby
from typing import TYPE_CHECKING, ClassVar

from kb import KbError, store
from kb.verbs import FINDINGS, FINE, Caller, Result, argument, flag, option, several

if TYPE_CHECKING:
    from kb.lint import Habit, Matter
    from kb.schema import Finding

# Findings that text shows unless told otherwise.
_SHOWN = 200


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
        "show the first N findings (text: 200 unless told; 0 shows all); the summary counts all",
        default=None,
        metavar="N",
    )
    fix: bool = flag("mend what is mechanical and certain")
    dry_run: bool = flag("with --fix: print the diff and change nothing")
    baseline: bool = flag(
        "record today's findings; from then on only new ones are reported and fail"
    )
    all: bool = flag("report what the baseline knows, too")
    rules: bool = flag("print the reference page of all rules")
    today: str = option("date for the rules on stale pages (default: today)", metavar="DATE")


@dataclass(frozen=True, slots=True)
class Lints(Result):
    """Findings with their levels; in text, what most pages of a kind share is told once, as a habit."""

    formats: ClassVar = ("text", "json", "github", "sarif")
    findings: "list[Finding]"
    levels: dict[str, str]
    habits: "list[Habit]"
    own: "list[Finding]"
    known: int
    limit: int | None

    @property
    def code(self) -> int:
        return FINDINGS if any(self.levels[f.code] == "error" for f in self.findings) else FINE

    def to_json(self) -> object:
        return [asdict(f) for f in self.findings]

    def to_format(self, name: str) -> str:
        if name == "text":
            return self.to_text()
        from kb.lint import outputs

        writer = {
            "json": outputs.json_text,
            "github": outputs.github_text,
            "sarif": outputs.sarif_text,
        }[name]
        return writer(self.findings[: self.limit] if self.limit else self.findings, self.levels)

    def to_text(self) -> str:
        limit = _SHOWN if self.limit is None else self.limit
        return "\n".join([*self._lines(self.own[:limit] if limit > 0 else self.own), *self._sums()])

    def _lines(self, shown: "list[Finding]"):
        for path, group in groupby(shown, key=lambda f: f.path):
            yield path
            for f in group:
                about = f" [{f.target}]" if f.target and f.target not in f.message else ""
                hint = f"; {f.hint}" if f.hint else ""
                yield f"  {f.line:>4}  {self.levels[f.code]:<5}  {f.code:<20}  {f.message}{about}{hint}"
        if len(shown) < len(self.own):
            more = len(self.own) - len(shown)
            yield f"… and {more} more: --limit 0 shows all, --code CODE one kind, PATH one page or folder"
        if self.habits:
            yield "by habit (--limit 0 names the pages)"
        for h in self.habits:
            where = f"of {h.scope}" if h.scope.endswith("/") else f"of type {h.scope}"
            yield f"        {self.levels[h.code]:<5}  {h.code:<20}  {h.count} of {h.of} pages {where}: {h.message}; {h.hint}"

    def _sums(self):
        counts = Counter(f.code for f in self.findings)
        fixable = Counter(f.code for f in self.findings if f.fixable)
        if counts:
            yield ""
        for code, count in sorted(
            counts.items(), key=lambda item: (self.levels[item[0]], -item[1], item[0])
        ):
            mends = f" ({fixable[code]} that --fix mends)" if fixable[code] else ""
            yield f"{count:>6}  {self.levels[code]:<5}  {code}{mends}"
        if not counts:
            yield "nothing found" + (
                f" that is new; {self.known} are known in the baseline" if self.known else ""
            )
            return
        errors = sum(self.levels[f.code] == "error" for f in self.findings)
        known = f"; {self.known} more are known in the baseline" if self.known else ""
        pages = len({f.path for f in self.findings})
        yield f"{errors} errors, {len(self.findings) - errors} warnings in {pages} pages{known}"


@dataclass(frozen=True, slots=True)
class LintPage(Result):
    """Text that is no list of findings: the page of rules, or a diff."""

    text: str

    def to_format(self, name: str) -> str:
        return self.text


def run(request: Lint, caller: Caller) -> Lints | LintPage:
    from kb import lint

    if request.rules:
        return LintPage(lint.rule_table())
    _refuse_misuse(request, lint.BY_CODE)
    layout = caller.layout()
    under = _under(layout, caller, request.paths)
    today = request.today or caller.today
    state = "" if request.baseline or request.fix else lint.state_of(layout, today=today)
    if state and (lints := _kept(request, caller, layout, state)):
        return lints
    rows = _rows(layout, caller)
    matter = lint.matter_of(layout, rows=rows, today=today)
    if request.baseline:
        report = lint.lint(matter)
        store.write(layout.root / lint.BASELINE_NAME, lint.baseline_text(report.findings))
        name, count = lint.BASELINE_NAME, len(report.findings)
        caller.talk(
            f"recorded {count} findings in {name}; commit it: from now on only new ones are reported"
        )
        return LintPage("")
    if request.fix:
        found = [
            f
            for f in lint.lint(matter, under=under).findings
            if not request.code or f.code in request.code
        ]
        mends = lint.mends_of(matter, found)
        if request.dry_run:
            caller.talk(
                f"would mend {sum(len(m.done) for m in mends)} findings in {len(mends)} pages"
            )
            return LintPage("".join(mend.diff() for mend in mends))
        written = lint.write(layout, mends)
        caller.talk(f"mended {sum(len(m.done) for m in written)} findings in {len(written)} pages")
        if written:
            matter = lint.matter_of(layout, rows=rows, today=today)
    return _lints(request, caller, matter, under, state)


def _kept(request: Lint, caller: Caller, layout: store.Layout, state: str) -> Lints | None:
    """What the same request was answered, if nothing that the answer rests on has changed."""
    from kb import lint

    answer = lint.kept(layout, repr(request), state=state)
    if answer is None:
        return None
    for note in answer.notes:
        caller.talk(f"note: {note}")
    return Lints(answer.findings, answer.levels, answer.habits, answer.own, answer.known, request.limit)


def _lints(
    request: Lint, caller: Caller, matter: "Matter", under: list[str], state: str
) -> Lints:
    from kb import lint

    report = lint.lint(
        matter, under=under, known=None if request.all else lint.known_of(matter.layout)
    )
    for note in report.notes:
        caller.talk(f"note: {note}")
    findings = [f for f in report.findings if not request.code or f.code in request.code]
    # Who asks for one kind, one place or all has every page named.
    named = bool(request.paths or request.code or request.limit == 0)
    habits, own = ([], findings) if named else lint.habits_of(matter, findings)
    lints = Lints(findings, report.levels, habits, own, report.known, request.limit)
    if state:
        looked = lint.looked_at(matter.layout, matter.files)
        levels, notes = dict(report.levels), list(report.notes)
        answer = lint.Answer(state, looked, findings, levels, habits, own, report.known, notes)
        lint.keep(matter.layout, repr(request), answer)
    return lints


def _refuse_misuse(request: Lint, codes: object) -> None:
    unknown = [code for code in request.code if code not in codes]
    if unknown:
        raise KbError(f"no such rule '{unknown[0]}'; `kb lint --rules` lists them")
    if request.dry_run and not request.fix:
        raise KbError("--dry-run shows what --fix would do; give both")
    if request.baseline and (request.paths or request.code or request.fix):
        raise KbError("--baseline records the findings of the whole wiki; give it alone")
    if request.today:
        try:
            datetime.date.fromisoformat(request.today)
        except ValueError as error:
            raise KbError(f"--today {request.today}: not a day; write YYYY-MM-DD") from error


def _under(layout: store.Layout, caller: Caller, typed: tuple[str, ...]) -> list[str]:
    paths = [caller.path(layout, path) for path in typed]
    for path in paths:
        if not (layout.root / path).exists():
            raise KbError(f"{path}: no such page or folder")
    return paths


def _rows(layout: store.Layout, caller: Caller) -> dict[str, tuple[str, str, str | None]]:
    """What the last build read; nothing if there was none, or if another version of kb made it."""
    if not (layout.state / "kb.db").is_file():
        caller.talk("nothing is built here; reading all pages (`kb build` keeps them read)")
        return {}
    try:
        db = store.state(layout)
        try:
            if not store.is_current(db):
                return {}
            return {
                path: (digest, row, facts)
                for path, digest, row, facts in db.execute(
                    "select path, digest, row, facts from page"
                )
            }
        finally:
            db.close()
    except sqlite3.Error as error:
        caller.talk(f"{layout.state / 'kb.db'}: {error}; reading all pages")
        return {}
