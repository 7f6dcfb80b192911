"""What a lint found: findings with their levels, what of them a whole wiki lacks, said once, and what the baseline of an adopted wiki sets aside.

A finding is known by page, code and target, never by its line, so that edits above it do not bring it back; of several alike as many are known
as were recorded.
"""

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from kb import KbError, store
from kb.lint.matter import Matter, in_order
from kb.lint.registry import all_rules
from kb.schema import Finding, Level

BASELINE_NAME = "lint-baseline.json"
# How many findings of each (path, code, target) are known.
Known = Mapping[tuple[str, str, str], int]
# Fewer alike can be read one by one.
FEWEST = 5


@dataclass(frozen=True, slots=True)
class Habit:
    """Findings of one code and wording that `count` of the `of` pages of `scope` have."""

    code: str
    scope: str
    count: int
    of: int
    message: str


@dataclass(frozen=True, slots=True)
class Report:
    """Findings in order; `habits` are what most pages of a kind have alike, `own` the findings that are part of none; `known` counts what
    the baseline set aside; `notes` say which rules rested and why.
    """

    findings: tuple[Finding, ...]
    levels: dict[str, Level]
    habits: tuple[Habit, ...]
    own: tuple[Finding, ...]
    known: int
    notes: tuple[str, ...]

    @property
    def errors(self) -> int:
        return sum(self.levels[f.code] is Level.ERROR for f in self.findings)


def habits_of(matter: Matter, findings: Iterable[Finding]) -> tuple[list[Habit], list[Finding]]:
    """What the majority of the pages of a type or folder has alike, the most frequent first; and the findings that are part of none."""
    sizes, groups = Counter[str](), dict[tuple[str, ...], list[Finding]]()
    for page in matter.pages.values():
        sizes.update((page.type, f"{page.folder}/"))
    for f in findings:
        page, kind = matter.pages.get(f.path), all_rules()[f.code].habit
        # What has to have a finding mostly for it to be a habit; empty for what is a page's own.
        scopes = {"type": page.type, "folder": f"{page.folder}/"} if page else {}
        groups.setdefault((f.code, scopes.get(kind, ""), f.message, f.hint), []).append(f)
    habits, own = [], []
    for (code, scope, message, _), alike in groups.items():
        size = sizes.get(scope, len(alike))
        if scope and len(alike) >= FEWEST and len(alike) * 2 > size:
            habits.append(Habit(code, scope, len(alike), size, message))
        else:
            own += alike
    return sorted(habits, key=lambda h: (-h.count, h.code, h.scope)), in_order(own)


def unknown(findings: Iterable[Finding], known: Known) -> Iterable[Finding]:
    """Findings beyond the known ones, in their order; of findings alike the first ones are the known ones."""
    left = Counter(known)
    for f in findings:
        key = _key(f.path, f.code, f.target)
        left[key] -= 1
        if left[key] < 0:
            yield f


def _key(path: str, code: str, target: str) -> tuple[str, str, str]:
    """What a finding is known by. Which fields a page lacks depends on what its type asks for: that it lacks some is one finding."""
    return path, code, "" if code == "missing-field" else target


def known_of(layout: store.Layout) -> Known | None:
    """The recorded baseline, or None if there is none. Raises KbError if the file does not hold one."""
    file = layout.root / BASELINE_NAME
    if not file.is_file():
        return None
    try:
        pages = store.json_of(store.bytes_of(file))["findings"]
        return {
            _key(path, code, target): int(count)
            for path, codes in pages.items()
            for code, targets in codes.items()
            for target, count in targets.items()
        }
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise KbError(
            f"{BASELINE_NAME}: does not hold a baseline ({error}); delete it, or record it anew with kb lint --baseline"
        ) from error


def baseline_text(findings: Iterable[Finding]) -> str:
    """The baseline file that holds these findings: a page a block, sorted, so that a diff shows what was mended."""
    pages = dict[str, dict[str, dict[str, int]]]()
    counts = Counter(_key(f.path, f.code, f.target) for f in findings)
    for (path, code, target), count in sorted(counts.items()):
        pages.setdefault(path, {}).setdefault(code, {})[target] = count
    return json.dumps({"version": 1, "findings": pages}, indent=1, ensure_ascii=False) + "\n"
