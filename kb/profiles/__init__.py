"""Profiler output in, one bucket table out: what profilers write and export.

`read` tells the format by content, `to_markdown` writes a page's Profile section, `query` the text that finds what a profile
touches. Refuses binary reports (it says which export to make of them), runs nothing, and guesses no idle time where the
format has no timeline.
"""

from kb.profiles.buckets import bucket_of
from kb.profiles.reading import profile_or_text, read
from kb.profiles.registry import Format, format_names, formats
from kb.profiles.report import query, rows, to_markdown
from kb.profiles.table import Bucket, Cost, Fact, Op, Profile, Reading

__all__ = [
    "Bucket",
    "Cost",
    "Fact",
    "Format",
    "Op",
    "Profile",
    "Reading",
    "bucket_of",
    "format_names",
    "formats",
    "profile_or_text",
    "query",
    "read",
    "rows",
    "to_markdown",
]
