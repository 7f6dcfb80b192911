"""kb lint [keep]: list what is wrong with the pages, and fix what is mechanical."""

import datetime
import sqlite3
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import groupby
from typing import TYPE_CHECKING, ClassVar

from kb import KbError, store
from kb.text import cut, one_line
from kb.verbs import FINDINGS, FINE, Caller, Result, argument, flag, option, several

if TYPE_CHECKING:
    from kb.lint import Habit, Matter
    from kb.schema import Finding

# Of each kind of finding the short answer names so many places, the pages with most of it first.
_WORST = 3


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
    fix: bool = flag("mend what is mechanical and certain")
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


@dataclass(frozen=True, slots=True)
class Lints(Result):
    """Findings with their levels. Text sums up each kind in a line; what most pages of a kind share is told once, as a habit."""

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
        return writer(self.findings, self.levels)

    def to_text(self) -> str:
        listed = () if self.limit is None else self._lines()
        return "\n".join([*listed, *self._kinds(), self._sum()])

    def _lines(self) -> Iterator[str]:
        shown = self.findings[: self.limit] if self.limit else self.findings
        for path, group in groupby(shown, key=lambda f: f.path):
            yield one_line(path)
            for f in group:
                about = f" [{f.target}]" if f.target and f.target not in f.message else ""
                hint = f"; {f.hint}" if f.hint else ""
                yield f"  {f.line:>4}  {self.levels[f.code]:<5}  {f.code:<20}  {one_line(f.message + about + hint)}"
        if len(shown) < len(self.findings):
            yield f"… and {len(self.findings) - len(shown)} more: --limit 0 prints all of them"
        yield ""

    def _kinds(self) -> Iterator[str]:
        """A line a kind, errors first: how many, then (where findings are not listed) what is habit and the worst places."""
        counts = Counter(f.code for f in self.findings)
        fixable = Counter(f.code for f in self.findings if f.fixable)
        by_code = {code: [f for f in self.own if f.code == code] for code in counts}
        for code, count in sorted(
            counts.items(), key=lambda item: (self.levels[item[0]], -item[1], item[0])
        ):
            mends = [f"--fix mends {fixable[code]}"] if fixable[code] else []
            about = [] if self.limit is not None else self._habits(code) + _worst(by_code[code])
            yield f"{count:>6}  {self.levels[code]:<5}  {code:<20}  {'; '.join(about + mends)}".rstrip()

    def _habits(self, code: str) -> list[str]:
        scopes = {True: "of {}", False: "of type {}"}
        return [
            f"{h.count} of {h.of} pages {scopes[h.scope[-1:] in ('/', chr(39))].format(h.scope)}: {h.message}"
            for h in self.habits
            if h.code == code
        ]

    def _sum(self) -> str:
        known = f"{self.known} are known in the baseline" if self.known else ""
        if not self.findings:
            return "nothing found" + (f" that is new; {known}" if known else "")
        errors = sum(self.levels[f.code] == "error" for f in self.findings)
        pages = len({f.path for f in self.findings})
        more = "" if self.limit is not None else "; --all prints each, --code CODE one kind"
        warnings = len(self.findings) - errors
        known = known and f"; {known.replace(' are', ' more are')}"
        return f"{errors} errors, {warnings} warnings in {pages} pages{known}{more}"


def _worst(findings: "list[Finding]") -> list[str]:
    """The pages that have most of one kind, each with its first place; and on how many others there are some."""
    pages: dict[str, list[Finding]] = {}
    for finding in findings:
        pages.setdefault(finding.path, []).append(finding)
    ranked = sorted(pages.values(), key=lambda group: -len(group))
    places = []
    for first, *others in ranked[:_WORST]:
        about = f" [{cut(one_line(first.target), 60)}]" if first.target else ""
        more = f" and {len(others)} more there" if others else ""
        places.append(f"{one_line(first.path)}:{first.line}{about}{more}")
    rest = [f"… {len(ranked) - _WORST} more pages"] if len(ranked) > _WORST else []
    return [", ".join(places + rest)] if places else []


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
    _refuse_misuse(request, lint.all_rules())
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
    return Lints(
        *(answer.findings, answer.levels, answer.habits, answer.own, answer.known, _limit(request))
    )


def _limit(request: Lint) -> int | None:
    """How many findings are listed (0: all), None where their kinds are summed up: who asks for a kind or a place has each named."""
    listed = request.paths or request.code or request.all
    return 0 if listed and request.limit is None else request.limit


def _lints(request: Lint, caller: Caller, matter: "Matter", under: list[str], state: str) -> Lints:
    from kb import lint

    report = lint.lint(
        matter, under=under, known=None if request.all else lint.known_of(matter.layout)
    )
    for note in report.notes:
        caller.talk(f"note: {note}")
    findings = [f for f in report.findings if not request.code or f.code in request.code]
    limit = _limit(request)
    habits, own = ([], findings) if limit is not None else lint.habits_of(matter, findings)
    lints = Lints(findings, report.levels, habits, own, report.known, limit)
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
