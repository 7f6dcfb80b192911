"""kb profile summarize [experiment]: print the bucket table of a trace, a stats export or sampled stacks."""

from dataclasses import dataclass
from functools import partial

from kb import profiles
from kb.profiles import Profile
from kb.profiles.registry import format_names
from kb.verbs import Caller, Result, argument, option

# As a page's Profile section, or as what `kb load --profile` asks.
FORMATS = ("md", "json", "query")


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


def run(request: Summarize, caller: Caller) -> Result[Profile]:
    profile = profiles.read(caller.file(request.path), kind=request.kind)
    text = profiles.to_markdown(profile).rstrip("\n")
    return Result(profile, text, forms={"query": partial(profiles.query, profile)})
