"""The command line: parses, calls one room, prints. Refuses logic: what a command computes, its room computes.

Each verb is a module `kb.cli.<name>` with `arguments(parser)` and `run(args) -> int`; only the verb that was asked for is imported.
Exit codes: 0 fine, 1 findings, 2 misuse, 3 gate closed.
"""

import argparse
import errno
import importlib
import io
import os
import sys

from kb import KbError, __version__

FINE, FINDINGS, MISUSE, CLOSED = 0, 1, 2, 3

VERBS = {
    "init": ("init", "start a knowledge base here, or adopt the wiki that is here"),
    "build": ("build", "compile wiki/ into indexes/ and the search tables"),
    "lint": ("lint", "list what is wrong with the pages, and fix what is mechanical"),
    "search": ("search", "find sections by words"),
    "open": ("open", "print a page or one of its sections"),
    "mv": ("mv", "move a page and mend every link to it"),
    "load": ("load", "print the slice that one step of a loop needs"),
    "profile": ("profile", "turn a profiler's output into one bucket table"),
    "experiment": ("experiment", "list and show experiments, and open, run, audit and close them"),
    "import": ("import_", "bring another loop's runs in as experiment pages, once"),
    "export": ("export", "give runs back in a loop's own format"),
    "check": ("check", "say whether a proposal repeats what was refuted, and what differs"),
    "stop-check": ("stop_check", "say whether a loop may stop, and why not yet"),
    "retro": ("retro", "compute the skeleton of a retrospective"),
    "status": ("status", "say where the knowledge base and its trails stand"),
    "trail": ("status", "the same as status: frontier, plateau, nibbling, thrash, leads and what is in flight"),
    "replay": ("replay", "measure loader and gate on the knowledge base's own past"),
    "site": ("site", "render the knowledge base as a site to browse, and serve it here"),
}


def parser_of(verb: str) -> argparse.ArgumentParser:
    module_name, summary = VERBS[verb]
    parser = argparse.ArgumentParser(prog=f"kb {verb}", description=summary[0].upper() + summary[1:] + ".")
    importlib.import_module(f"kb.cli.{module_name}").arguments(parser)
    return parser


def usage() -> str:
    lines = [
        f"kb {__version__}: the knowledge-base compiler for loops in which an agent optimizes code",
        "",
        "usage: kb VERB [options]   (kb VERB --help)",
        "",
    ]
    return "\n".join(lines + [f"  {verb:<12} {summary}" for verb, (_, summary) in VERBS.items()])


def _answer(words: list[str]) -> int:
    """Exit code of one command."""
    if not words or words[0] in ("-h", "--help", "help"):
        print(usage())
        return FINE if words else MISUSE
    if words[0] in ("-V", "--version"):
        print(f"kb {__version__}")
        return FINE
    if words[0] not in VERBS:
        print(f"kb: no such verb '{words[0]}'; `kb --help` lists them", file=sys.stderr)
        return MISUSE
    args = parser_of(words[0]).parse_args(words[1:])
    return importlib.import_module(f"kb.cli.{VERBS[words[0]][0]}").run(args)


def _flush() -> None:
    if sys.stdout is not None:
        sys.stdout.flush()


def main(argv: list[str] | None = None) -> int:
    words = sys.argv[1:] if argv is None else argv
    name = f"kb {words[0]}" if words else "kb"
    try:
        # A terminal that cannot show a character shows a mark for it; what it cannot show must not end a command.
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):
                stream.reconfigure(errors="replace")
        try:
            code = _answer(words)
        except SystemExit:
            # Help goes to stdout too, where nobody may read it any more.
            _flush()
            raise
        _flush()
        return code
    except KbError as error:
        print(f"{name}: {error}", file=sys.stderr)
        return MISUSE
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FINE
    except OSError as error:
        if error.errno == errno.ENOSPC:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        print(
            f"{name}: {error.filename or 'the disk'}: {error.strerror or error}; what was filed before stays filed",
            file=sys.stderr,
        )
        return MISUSE
    except KeyboardInterrupt:
        print(f"{name}: interrupted; what was filed before stays filed", file=sys.stderr)
        return 130
