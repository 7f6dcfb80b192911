"""Verbs: every command as one typed request and one typed result. What the doors (command line, MCP, loop) have in common.

A verb is one file of this folder, and adding one edits nothing else:

    \"\"\"kb greet [ask]: say hello to a target.\"\"\"                 the words, [the group in `kb --help`]: the summary

    @dataclass(frozen=True, slots=True, kw_only=True)
    class Greet:                                                  the request: what may be asked, with its help
        target: str = argument("whom to greet")                   positional; without a default it is required
        times: int = option("how often", default=1)               --times N; a field typed X | None may be left out
        tag: tuple[str, ...] = several("a tag")                   --tag A --tag B
        loud: bool = flag("in capitals")                          --loud

    def run(request: Greet, caller: Caller) -> Result[Room]:      the function; its file is imported when it is asked for
        return Result(value, text, code)                          what JSON holds, how it reads, the exit code (FINE)

    FORMATS = ("md", "json")                                      how it is printed, the usual way first (default: text, json)

Words are found in the first line of a file's docstring (`kb a b, kb c [group]: summary` has the alias `kb c`), so a list of
verbs imports none of them; the request is found in the annotations of `run`. A file whose docstring does not begin
with `kb ` holds what verbs share. From these, `kb/cli` makes its parsers, `scripts/reference.py` docs/cli.md, and the MCP
server its tools. A verb prints nothing: data is its result, talk and progress go to the caller. It raises KbError for misuse;
the error's `code` is the exit code. Refuses clocks and environments: the day comes with the caller.
"""

from kb.verbs.caller import Caller
from kb.verbs.request import argument, flag, option, several
from kb.verbs.result import CLOSED, FINDINGS, FINE, MISUSE, Result, text_result

__all__ = [
    "CLOSED",
    "FINDINGS",
    "FINE",
    "MISUSE",
    "Caller",
    "Result",
    "argument",
    "flag",
    "option",
    "several",
    "text_result",
]
