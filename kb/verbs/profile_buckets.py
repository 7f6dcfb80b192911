"""kb profile buckets [experiment]: print the rules by which names of operations become buckets."""

from dataclasses import dataclass

from kb import profiles
from kb.verbs import Caller, Result

FORMATS = ("md", "json")


@dataclass(frozen=True, slots=True, kw_only=True)
class AskBuckets:
    """Nothing to choose."""


def run(request: AskBuckets, caller: Caller) -> Result:
    rules = [
        {"bucket": r.bucket, "means": r.means, "pattern": r.pattern.pattern} for r in profiles.RULES
    ]
    return Result(rules, "\n".join(f"{r.bucket:<14} {r.means}" for r in profiles.RULES))
