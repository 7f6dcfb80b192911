"""Lint: collects the findings that each room states about its own matter, weighs them by rule, and sets aside what is allowed or known.

Needs no build; pages that one has read are not parsed again, and what was found is kept in `.kb/lint.db` for as long as nothing that it looked
at has changed. Mends on demand what is mechanical and certain, byte by byte; refuses all else: a page that changed since it was read, a filed
experiment, what cannot be told from code that reads the same.
"""

import contextlib
import difflib
import os
import sqlite3
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from importlib.metadata import entry_points

from kb import KbError, store
from kb.claims.filed import FOLDER as claims_folder
from kb.graph import Files, attachments, link_findings
from kb.lint.matter import Matter, Rows, in_order, matter_of, rows_of
from kb.lint.registry import Mending, Rule, all_rules, rule_table
from kb.lint.report import (
    BASELINE_NAME,
    Habit,
    Known,
    Report,
    baseline_text,
    habits_of,
    known_of,
    unknown,
)
from kb.lint.rules.wiki import index_pages
from kb.page import Page, text_of
from kb.schema import Finding, Level
from kb.source.record_files import FOLDERS, kept_files
from kb.store import CONFIG_NAME, Config

_FILE = "lint.db"
_TABLE = "create table if not exists answer (name text primary key, row blob not null)"


@dataclass(frozen=True, slots=True)
class KeptReport:
    """What one request of lint found, and what it rests on: `state` of all pages and settings, `looked` at beside them."""

    state: str
    looked: dict[str, str]
    report: Report


def state_of(layout: store.Layout, *, today: str) -> str:
    """Digest of the pages, the settings and files that every lint reads, the day, and this code."""
    pages = store.scan(layout)
    claims = sorted((layout.sources / claims_folder).glob("*.json"))
    kept_ones = (file for folder in FOLDERS for _, file in kept_files(layout, folder))
    files = [*map(os.fspath, (*claims, *kept_ones)), ".gitmodules", BASELINE_NAME]
    foreign = [(p.name, p.value, p.dist and p.dist.version) for p in entry_points(group="kb.lint")]
    looks = [(file, _look(layout, file)) for file in files]
    code = store.code_state(everything=True)
    whole = (sorted(pages.digests.items()), pages.findings, layout.config, today, looks, foreign)
    return store.digest_of(repr((*whole, code)))


def kept(layout: store.Layout, name: str, *, state: str) -> Report | None:
    """What a request found, if it still holds."""
    if not (layout.state / _FILE).is_file():
        return None
    with (
        contextlib.suppress(sqlite3.Error),
        contextlib.closing(store.state(layout, name=_FILE)) as db,
    ):
        row = db.execute("select row from answer where name = ?", (name,)).fetchone()
        answer = store.value_of(row[0], KeptReport) if row else None
        if answer and answer.state == state:
            same = all(_look(layout, path) == look for path, look in answer.looked.items())
            return answer.report if same else None
    return None


def keep(layout: store.Layout, name: str, *, state: str, files: Files, report: Report) -> None:
    """Keep what a request found beside the compiled tables; where there are none, or the disk refuses, nothing is kept."""
    if not (layout.state / "kb.db").is_file():
        return
    paths = {*files.exists, *files.read, *([""] if "names" in files.__dict__ else [])}
    looked = {path: _look(layout, path) for path in sorted(paths - files.pages.keys())}
    row = store.row_of(KeptReport(state, looked, report))
    with (
        contextlib.suppress(sqlite3.Error, OSError, store.Unwritable),
        contextlib.closing(store.state(layout, writable=True, name=_FILE)) as db,
    ):
        db.execute(_TABLE)
        db.execute("delete from answer where name = ? or length(row) > 50000000", (name,))
        db.execute("insert into answer values (?, ?)", (name, row))


def _look(layout: store.Layout, path: str) -> str:
    """Size and time of what is at a path of the disk, empty where nothing is; of no path, all files of the wiki that are no pages."""
    if not path:
        return store.digest_of("\n".join(attachments(layout.root, layout.config.wiki)))
    with contextlib.suppress(OSError, ValueError):
        stat = os.stat(os.path.join(layout.root, path))
        return f"{stat.st_size} {stat.st_mtime_ns}"
    return ""


@dataclass(frozen=True, slots=True)
class Mend:
    """One page before and after, and the findings that are gone with it."""

    path: str
    before: bytes
    after: bytes
    done: tuple[Finding, ...]

    def diff(self) -> str:
        """The change as a unified diff."""
        before, after = (
            text_of(data).splitlines(keepends=True) for data in (self.before, self.after)
        )
        lines = difflib.unified_diff(before, after, f"a/{self.path}", f"b/{self.path}", n=2)
        return "".join(
            line if line.endswith("\n") else line + "\n\\ No newline at end of file\n"
            for line in lines
        )


def fixable(finding: Finding, matter: Matter) -> Finding:
    """The finding, marked fixable only if its rule mends it and the page may be touched: a filed experiment is left as it is (Law 3)."""
    if not finding.fixable:
        return finding
    mending, facts = all_rules()[finding.code].mending, matter.facts.get(finding.path)
    open_ = finding.path in matter.pages and (facts is None or facts.running)
    return (
        finding
        if mending and open_ and mending.new(matter, finding)
        else replace(finding, fixable=False)
    )


def mends_of(
    matter: Matter, findings: Iterable[Finding], *, wanted: Iterable[str] = ()
) -> list[Mend]:
    """Mends of the fixable findings, a page each: of the rules that are `wanted` by name, else of those that need not be. Nothing is written."""
    rules, named = all_rules(), {*wanted}
    by_page = dict[str, list[tuple[Finding, Mending]]]()
    for finding in findings:
        mending = rules[finding.code].mending if finding.fixable else None
        if mending and (finding.code in named if named else not mending.only_named):
            by_page.setdefault(finding.path, []).append((finding, mending))
    mends = []
    for path, todo in sorted(by_page.items()):
        page, before, done = matter.pages[path], matter.data(path), []
        after = before
        for finding, mending in todo if store.digest_of(before) == page.digest else ():
            new = mending.new(matter, finding)
            edited = mending.edit(page, after, finding, new) if new else after
            done += [finding] if edited != after else []
            after = edited
        mends += [Mend(path, before, after, tuple(done))] if done else []
    return mends


def write(layout: store.Layout, mends: list[Mend]) -> list[Mend]:
    """Write the mends; those whose page changed meanwhile are left out. Returns what was written."""
    if not mends:
        return []
    with store.lock(layout, "pages"):
        files = {mend: layout.root / mend.path for mend in mends}
        written = [
            mend
            for mend, file in files.items()
            if file.is_file()
            and not file.is_symlink()
            and store.read_bytes(layout, mend.path) == mend.before
        ]
        for mend in written:
            store.write(files[mend], mend.after)
    return written


__all__ = [
    "BASELINE_NAME",
    "Habit",
    "Known",
    "Matter",
    "Mend",
    "Mending",
    "Report",
    "Rows",
    "Rule",
    "baseline_text",
    "habits_of",
    "keep",
    "kept",
    "known_of",
    "levels_of",
    "lint",
    "rows_of",
    "matter_of",
    "mends_of",
    "rule_table",
    "all_rules",
    "state_of",
    "write",
]


def levels_of(config: Config) -> dict[str, Level]:
    """Level of every rule, `[lint] rules` of kb.toml applied. Raises KbError at a code or level that is not known."""
    levels = {rule.code: rule.level for rule in all_rules().values()}
    for code, level in config.rules.items():
        if code not in levels:
            near = difflib.get_close_matches(code, levels, n=1)
            meant = f"did you mean '{near[0]}'?" if near else "`kb lint --rules` lists them"
            raise KbError(f"{CONFIG_NAME}: [lint] rules: no such rule '{code}'; {meant}")
        if level not in tuple(Level):
            raise KbError(
                f"{CONFIG_NAME}: [lint] rules: {code} = '{level}' is no level; write error, warn or off"
            )
        levels[code] = Level(level)
    return levels


def lint(
    matter: Matter,
    *,
    under: Iterable[str] = (),
    codes: Iterable[str] = (),
    known: Known | None = None,
) -> Report:
    """Everything wrong with a knowledge base, or with its files at or below the paths `under`, of these `codes`; findings that `known` holds
    are set aside.
    """
    levels, wanted = levels_of(matter.layout.config), {*codes}
    places = tuple(p.rstrip("/") for p in under)
    below = tuple(p + "/" for p in places)
    everywhere = not places or "." in places
    findings = in_order(
        fixable(f, matter)
        for f in _room_findings(matter, levels, strict="wikilink" in wanted)
        if levels[f.code] is not Level.OFF
        and not _is_allowed(f, matter.pages.get(f.path))
        and (everywhere or f.path in places or f.path.startswith(below))
    )
    left = findings if known is None else list(unknown(findings, known))
    listed = [f for f in left if not wanted or f.code in wanted]
    habits, own = habits_of(matter, listed)
    notes = []
    if not index_pages(matter) and levels["unreachable"] is not Level.OFF and matter.pages:
        home = matter.layout.page("index.md")
        notes = [f"the wiki has no index page ({home}): unreachable pages are not looked for"]
    count = len(findings) - len(left)
    return Report(tuple(listed), levels, tuple(habits), tuple(own), count, tuple(notes))


def _room_findings(
    matter: Matter, levels: Mapping[str, Level], *, strict: bool
) -> Iterable[Finding]:
    """Findings of all rooms; `strict`: of a wiki that writes wikilinks by habit these too."""
    yield from matter.scanned
    for page in matter.pages.values():
        yield from page.findings
    yield from link_findings(matter.graph, matter.files, strict=strict)
    rules = [rule for rule in all_rules().values() if levels[rule.code] is not Level.OFF]
    for check in dict.fromkeys(rule.check for rule in rules if rule.check):
        yield from check(matter)


def _is_allowed(finding: Finding, page: Page | None) -> bool:
    """Whether a comment allows the finding: on its line, or anywhere on the page if it is about the whole page or its front matter."""
    return page is not None and any(
        code == finding.code
        and (line == finding.line or finding.line == 1 or finding.line < page.body_line)
        for line, code in page.allowed
    )
