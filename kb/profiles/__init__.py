"""Profiler output in, one bucket table out: Chrome traces, nsys, ncu, perf, speedscope, folded stacks, xprof exports.

`read` tells the format by content, `to_markdown` writes a page's Profile section, `query` the text that finds what a profile
touches. Refuses binary reports (it says which export to make of them), runs nothing, and guesses no idle time where the
format has no timeline.
"""

from kb.profiles.buckets import RULES, bucket_of
from kb.profiles.reading import KINDS, profile_or_text, read
from kb.profiles.report import query, to_json, to_markdown
from kb.profiles.table import Bucket, Fact, Op, Profile

__all__ = [
    "KINDS",
    "RULES",
    "Bucket",
    "Fact",
    "Op",
    "Profile",
    "bucket_of",
    "profile_or_text",
    "query",
    "read",
    "to_json",
    "to_markdown",
]
