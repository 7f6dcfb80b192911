"""What a whole wiki lacks, said once: findings that most pages of a type or folder have alike. Refuses to set any aside: it only groups them."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from kb.lint.matter import Matter
from kb.lint.rules import BY_CODE
from kb.schema import Finding

# Fewer alike can be read one by one.
_FEWEST = 5
_SHARE = 0.8


@dataclass(frozen=True, slots=True)
class Habit:
    """Findings of one code and wording that `count` of the `of` pages of `scope` have."""

    code: str
    scope: str
    count: int
    of: int
    message: str
    hint: str


def habits_of(matter: Matter, findings: Iterable[Finding]) -> tuple[list[Habit], list[Finding]]:
    """The habits among the findings, the most frequent first, and the findings that are part of none."""
    found = list(findings)
    scopes = {id(f): _scope(matter, f) for f in found}
    alike = Counter((f.code, f.message, f.hint, scope) for f in found if (scope := scopes[id(f)]))
    sizes = Counter(page.type for page in matter.pages.values()) + Counter(page.folder + "/" for page in matter.pages.values())
    habits = {
        (code, message, hint, scope): Habit(code, scope, count, sizes[scope], message, hint)
        for (code, message, hint, scope), count in alike.items()
        if count >= max(_FEWEST, _SHARE * sizes[scope])
    }
    left = [f for f in found if (f.code, f.message, f.hint, scopes[id(f)]) not in habits]
    return sorted(habits.values(), key=lambda h: (-h.count, h.code, h.scope)), left


def _scope(matter: Matter, finding: Finding) -> str:
    """What has to have a finding nearly everywhere for it to be a habit: pages of one type, or of one folder; empty for what is a page's own."""
    page = matter.pages.get(finding.path)
    per = BY_CODE[finding.code].habit
    return "" if page is None else page.type if per == "type" else page.folder + "/" if per == "folder" else ""
