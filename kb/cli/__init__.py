"""The command line: parsers made from the requests of the verbs, text or JSON printed. Refuses logic: that is a verb's.

Exit codes: 0 fine, 1 findings, 2 misuse, 3 gate closed.
"""

import argparse
import atexit
import errno
import gc
import io
import os
import sys
from collections.abc import Iterable
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from typing import NoReturn

from kb import KbError, __version__
from kb.text import printable
from kb.verbs import FINE, MISUSE, Caller
from kb.verbs.registry import GROUPS, Verb, verbs
from kb.verbs.request import Option

# Packages whose files are verbs too: those of the other doors.
DOORS = ("kb.server", "kb.harness", "kb.loop")


class _Parser(argparse.ArgumentParser):
    """Says in one line what is wrong and what was meant; the words that it repeats may be captured ones."""

    def error(self, message: str) -> NoReturn:
        kind, _, words = message.partition("unrecognized arguments: ")
        if words and not kind:
            word = words.split()[0]
            known = [o for action in self._actions for o in action.option_strings]
            what = "no such option" if word.startswith("-") else "one word too many:"
            message = f"{what} '{word}'{_meant(word.partition('=')[0], known)}"
            if os.path.isdir(word) and not os.path.samefile(word, "."):
                message += f"; kb works on the folder that it is called in: `cd {word}` first"
        self.exit(
            MISUSE, printable(f"{self.prog}: {message}; `{self.prog} --help` says more") + "\n"
        )


def _meant(word: str, known: Iterable[str]) -> str:
    plain = {name.lstrip("-"): name for name in known}
    near = get_close_matches(word.lstrip("-"), plain, n=1)
    return f"; did you mean '{plain[near[0]]}'?" if near else ""


def parser_of(verb: Verb) -> argparse.ArgumentParser:
    sentence = f"{verb.summary[:1].upper()}{verb.summary[1:]}."
    parser = _Parser(prog=f"kb {verb.words}", description=_plain(sentence))
    for option in verb.options:
        _add(parser, option)
    formats = verb.formats
    if len(formats) > 1:
        parser.add_argument(
            "--format",
            choices=formats,
            default=formats[0],
            dest="_format",
            help=f"how to print (default: {formats[0]})",
        )
    return parser


def _plain(text: str) -> str:
    return text.replace("%", "%%")


def _add(parser: argparse.ArgumentParser, option: Option) -> None:
    add = partial(parser.add_argument, _typed(option), help=_plain(option.help))
    if option.kind is bool:
        add(dest=option.name, action="store_true")
        return
    add = partial(add, type=option.kind, metavar=option.metavar or None)
    choices = option.choices or None
    if option.required:
        add(nargs="+" if option.many else None, choices=choices)
    elif option.positional:
        # argparse holds the default of a word that may be left out against the choices.
        choices = choices and (*choices, option.default)
        nargs, default = ("*", []) if option.many else ("?", option.default)
        add(nargs=nargs, default=default, choices=choices)
    elif option.many:
        add(dest=option.name, action="append", default=[], choices=choices)
    else:
        add(dest=option.name, default=option.default, choices=choices)


def _typed(option: Option) -> str:
    """A field that is also a word of Python ends in `_`; what is typed does not."""
    return option.name if option.positional else f"--{option.name.rstrip('_').replace('_', '-')}"


def usage(known: dict[str, Verb], *, under: str = "") -> str:
    """The verbs by their groups, or those that begin with the word `under`."""
    if under:
        lines = [f"usage: kb {under} ACTION [options]   (kb {under} ACTION --help)"]
    else:
        about = "the knowledge-base compiler for loops in which an agent optimizes code"
        lines = [f"kb {__version__}: {about}", "", "usage: kb VERB [options]   (kb VERB --help)"]
    group = None
    for verb in known.values():
        if under and not verb.words.startswith(f"{under} "):
            continue
        if verb.group != group:
            group = verb.group
            lines += ["", *([f"{GROUPS.get(group, group)}:"] if not under else [])]
        lines.append(f"  {verb.words:<20} {verb.summary}")
    return "\n".join(lines)


def caller_here() -> Caller:
    """This terminal, this folder, this moment."""
    import datetime

    now = datetime.datetime.now().astimezone().isoformat(timespec="seconds")
    return Caller(
        Path.cwd(),
        now,
        talk=_talk,
        progress=_progress,
        data=_data,
        stdin=lambda: sys.stdin.buffer.read(),
    )


def _talk(text: str) -> None:
    print(printable(text), file=sys.stderr)


def _progress(text: str) -> None:
    if sys.stderr.isatty():
        print(f"\r\033[K{printable(text)}", end="", file=sys.stderr, flush=True)


def _data(text: str) -> None:
    text = printable(text)
    if text:
        print(text, end="" if text.endswith("\n") else "\n", flush=True)


def _answer(words: list[str]) -> int:
    """Exit code of one command."""
    known = verbs(*DOORS)
    head, pair = (words or [""])[0], " ".join(words[:2])
    verb = known.get(pair) or known.get(head)
    if verb is None:
        return _list(words, known)
    typed = _joined(words[len(verb.words.split()) :], verb)
    values = vars(parser_of(verb).parse_args(typed))
    form = values.pop("_format", verb.formats[0])
    request = verb.request(
        **{name: tuple(v) if isinstance(v, list) else v for name, v in values.items()}
    )
    try:
        result = verb.run(request, caller_here())
    except KbError as error:
        _talk(f"kb {verb.words}: {error}")
        return error.code
    _data(result.to_format(form))
    return result.code


def _joined(words: list[str], verb: Verb) -> list[str]:
    """Words with the value of an option joined to it where the value begins with a dash: `--lever -fomit-frame-pointer`."""
    names = {_typed(o) for o in verb.options if not o.positional}
    valued = {_typed(o) for o in verb.options if o.kind is str and not o.positional}
    joined: list[str] = []
    for word in words:
        dashed = word.startswith("-") and len(word) > 1 and word.partition("=")[0] not in names
        known = word in ("-h", "--help", "--") or word.startswith("--format")
        if joined and joined[-1] in valued and dashed and not known:
            joined[-1] += f"={word}"
        else:
            joined.append(word)
    return joined


def _list(words: list[str], known: dict[str, Verb]) -> int:
    """What `kb`, `kb --help`, `kb --version`, a group of actions or an unknown word print."""
    asks = ("-h", "--help", "help")
    head, rest = (words or [""])[0], words[1:]
    if head in ("-V", "--version"):
        print(f"kb {__version__}")
    elif not head or head in asks:
        print(usage(known))
    elif not any(name.startswith(f"{head} ") for name in known):
        heads = {name.partition(" ")[0] for name in known}
        _talk(f"kb: no such verb '{head}'{_meant(head, heads)}; `kb --help` lists them")
        return MISUSE
    elif rest and rest[0] in asks:
        print(usage(known, under=head))
        return FINE
    else:
        actions = [name.removeprefix(f"{head} ") for name in known if name.startswith(f"{head} ")]
        why = (
            f"no such action '{rest[0]}'{_meant(rest[0], actions)}"
            if rest
            else f"which action? one of {', '.join(actions)}"
        )
        _talk(f"kb {head}: {why}; `kb {head} --help` lists them")
        return MISUSE
    return FINE if head else MISUSE


def main(argv: list[str] | None = None) -> int:
    # All memory goes with the process: to look for garbage in it once more takes a tenth of a short command.
    atexit.register(gc.freeze)
    # What is loaded and kept is much and holds no cycles: to look through all of it every few loads takes a tenth of a second each time.
    gc.set_threshold(50_000, 20, 100)
    words = sys.argv[1:] if argv is None else argv
    name = f"kb {words[0]}" if words else "kb"
    try:
        # A terminal that cannot show a character shows a mark for it; what it cannot show must not end a command.
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):
                stream.reconfigure(errors="replace")
        try:
            return _answer(words)
        finally:
            # Help goes to stdout too, where nobody may read it any more.
            if sys.stdout is not None:
                sys.stdout.flush()
    except KbError as error:
        _talk(f"{name}: {error}")
        return error.code
    except UnicodeEncodeError as error:
        _talk(f"{name}: {error.object[:200]!r} is no text: these bytes are no UTF-8")
        return MISUSE
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FINE
    except OSError as error:
        if error.errno == errno.ENOSPC:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        where, why = error.filename or "the disk", error.strerror or error
        _talk(f"{name}: {where}: {why}; what was filed before stays filed")
        return MISUSE
    except KeyboardInterrupt:
        print(f"{name}: interrupted; what was filed before stays filed", file=sys.stderr)
        return 130
