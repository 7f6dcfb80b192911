"""kb profile buckets [experiment]: print the rules by which names of operations become buckets."""

from dataclasses import dataclass
from typing import ClassVar

from kb.verbs import Caller, Result


@dataclass(frozen=True, slots=True, kw_only=True)
class AskBuckets:
    """Nothing to choose."""


@dataclass(frozen=True, slots=True)
class BucketRules(Result):
    """Bucket, what it means, the pattern of names."""

    formats: ClassVar = ("md", "json")
    rules: tuple[tuple[str, str, str], ...]

    def to_json(self) -> object:
        return [
            {"bucket": name, "means": means, "pattern": pattern}
            for name, means, pattern in self.rules
        ]

    def to_text(self) -> str:
        return "\n".join(f"{name:<14} {means}" for name, means, _ in self.rules)


def run(request: AskBuckets, caller: Caller) -> BucketRules:
    from kb import profiles

    return BucketRules(tuple((r.bucket, r.means, r.pattern.pattern) for r in profiles.RULES))
