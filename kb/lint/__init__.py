"""Lint: collects the findings that each room states about its own matter, weighs them by rule, and sets aside what is allowed or known.

Refuses to change a page: what is mechanical is mended by `kb.lint.fix`. Needs no build; pages that one has read are not parsed again.
"""

import difflib
from collections.abc import Iterable, Mapping

from kb import KbError
from kb.graph import link_findings
from kb.lint.fix import Mend, fixable, mends_of, write
from kb.lint.kept import keep, kept, state_of
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
from kb.page import Page
from kb.schema import Finding, Level
from kb.store import CONFIG_NAME, Config

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
