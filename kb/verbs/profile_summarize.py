"""kb profile summarize [experiment]: print the bucket table of a trace, a stats export or sampled stacks."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from kb.profiles.registry import format_names
from kb.verbs import Caller, Result, argument, option

if TYPE_CHECKING:
    from kb.profiles import Profile


@dataclass(frozen=True, slots=True, kw_only=True)
class Summarize:
    """A profile, and its kind where content does not tell."""

    path: str = argument(
        "a file (gzip or not), or a folder that holds one profile in several files", metavar="PATH"
    )
    kind: str = option(
        f"the format, where content does not tell: {', '.join(format_names())}",
        default="auto",
        metavar="KIND",
    )


@dataclass(frozen=True, slots=True)
class Buckets(Result):
    """A bucket table: as a page's Profile section (md), or as what `kb load --profile` asks (query)."""

    formats: ClassVar = ("md", "json", "query")
    profile: "Profile"

    def to_format(self, name: str) -> str:
        from kb import profiles

        form = {"md": profiles.to_markdown, "json": profiles.to_json, "query": profiles.query}[name]
        return form(self.profile).rstrip("\n")


def run(request: Summarize, caller: Caller) -> Buckets:
    from kb import profiles

    return Buckets(profiles.read(caller.file(request.path), kind=request.kind))
