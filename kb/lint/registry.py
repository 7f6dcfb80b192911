"""Every rule of lint, found in one place: those of `kb.lint.rules`, and what other packages name under the entry point `kb.lint`."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache

from kb import registered
from kb.lint.matter import Matter
from kb.page import Page
from kb.schema import Finding, Level

E, W = Level.ERROR, Level.WARN


@dataclass(frozen=True, slots=True)
class Mending:
    """How a finding is mended: `new` gives what takes its place (empty where that is not certain), `edit` the page with it; `asked`: only
    where the rule is named.
    """

    new: Callable[[Matter, Finding], str]
    edit: Callable[[Page, bytes, Finding, str], bytes]
    only_named: bool = False


@dataclass(frozen=True, slots=True)
class Rule:
    """One code. `check` is None where another room states the finding while it reads or links; a check may serve several codes.

    `habit` says of what a majority with the same finding makes a habit, which is told once: the pages of a `type` or of a `folder`; of
    `word`s that the findings are about each is named with its count.
    """

    code: str
    level: Level
    reason: str
    room: str = "lint"
    check: Callable[[Matter], Iterable[Finding]] | None = None
    mending: Mending | None = None
    habit: str = ""


@cache
def all_rules() -> Mapping[str, Rule]:
    """All rules by code. Raises KbError where a rule of another package takes a code that is taken."""
    listed = registered("kb.lint.rules", "RULES", kind=Rule, key="code")
    return {rule.code: rule for rule in sorted(listed, key=lambda r: r.code)}


def rule_table() -> str:
    """The reference page of all rules, as markdown."""
    head = (
        "# Lint rules\n\n"
        "Made from the rules in `kb/lint/rules/` by `kb lint --rules`. Only errors fail `kb lint`. In `kb.toml`:\n"
        '`[lint] rules = { orphan = "off", wikilink = "error" }`; on a page, `<!-- kb:allow CODE -->` allows one line\n'
        "(alone on a line it speaks of the next one; findings about a whole page are allowed by one anywhere on it).\n"
        "What most pages of a type or a folder have alike is the habit of a wiki: text output says it once. Another package adds a\n"
        "rule by an entry point of the group `kb.lint` that names a `kb.lint.Rule`.\n\n"
        "| code | default | `--fix` | stated by | why |\n|---|---|---|---|---|\n"
    )
    rows = (
        f"| `{r.code}` | {r.level} | {'yes' if r.mending else ''} | {r.room} | {r.reason} |\n"
        for r in all_rules().values()
    )
    return head + "".join(rows)
