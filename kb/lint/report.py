"""What a lint found: findings with their levels, what of them is a habit of the wiki, and what a baseline set aside."""

from dataclasses import dataclass

from kb.schema import Finding, Level


@dataclass(frozen=True, slots=True)
class Habit:
    """Findings of one code and wording that `count` of the `of` pages of `scope` have."""

    code: str
    scope: str
    count: int
    of: int
    message: str
    hint: str


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
