"""What a whole wiki lacks, said once: findings that most pages of a type or folder have alike. Refuses to set any aside: it only groups them."""

from collections import Counter
from collections.abc import Iterable

from kb.lint.matter import Matter, in_order
from kb.lint.registry import all_rules
from kb.lint.report import Habit
from kb.schema import Finding

# Fewer alike can be read one by one.
FEWEST = 5


def habits_of(matter: Matter, findings: Iterable[Finding]) -> tuple[list[Habit], list[Finding]]:
    """What the majority of the pages of a type or folder has alike, the most frequent first; and the findings that are part of none."""
    pages = matter.pages.values()
    sizes = Counter(page.type for page in pages) + Counter(page.folder + "/" for page in pages)
    groups: dict[tuple[str, ...], list[Finding]] = {}
    for finding in findings:
        groups.setdefault(
            (finding.code, finding.message, finding.hint, _scope(matter, finding)), []
        ).append(finding)
    habits, left = [], []
    for (code, message, hint, scope), alike in groups.items():
        size = sizes.get(scope, len(alike))
        if scope and len(alike) >= FEWEST and len(alike) * 2 > size:
            habits.append(Habit(code, scope, len(alike), size, message, hint))
        else:
            left += alike
    return sorted(habits, key=lambda h: (-h.count, h.code, h.scope)), in_order(left)


def _scope(matter: Matter, finding: Finding) -> str:
    """What has to have a finding mostly for it to be a habit: pages of one type, of one folder, or that have one word; empty for what is a page's own."""
    page, per = matter.pages.get(finding.path), all_rules()[finding.code].habit
    if page is None or not per:
        return ""
    return (
        page.type
        if per == "type"
        else page.folder + "/"
        if per == "folder"
        else f"'{finding.target}'"
    )
