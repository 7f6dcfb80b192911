"""What upstream has: its lines and names, to say what a fork has beside it. Judges no meaning: a
name or a statement is there or is not.
"""

import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from kb.research.diffs import FileDiff, LineGroup
from kb.research.symbols import (
    code_of,
    defined_in,
    flags_in,
    identifiers,
    parts_of,
    setting_of,
)

_LIKE = 0.6
# Lines that upstream put into one file since: beyond these the file is another one, and only equal
# lines count.
_MOST_SINCE = 2000
_TRAINING = frozenset("loss optimizer backward grad gradient epoch epochs logits train".split())
_MOST_NAMES = 300
_LEAST_STATEMENT = 8
_SPEED_WORDS = re.compile(
    r"\b(tok(?:en)?s?/s(?:ec)?|tokens per second|throughput|latency|fps|speedup|faster|milliseconds|TFLOPS|GFLOPS|benchmarks?)\b",
    re.IGNORECASE,
)
_LOSS_WORDS = re.compile(
    r"\b(val_\w+|loss|bpb|bits per byte|perplexity|accuracy|auc|bleu|f1|score)\b", re.IGNORECASE
)


@dataclass(frozen=True)
class Upstream:
    """The files of one commit as text, by path."""

    commit: str
    files: dict[str, str]

    @cached_property
    def names(self) -> frozenset[str]:
        return frozenset(name for text in self.files.values() for name in identifiers(text))

    @cached_property
    def plain(self) -> str:
        """All lines of code, blanks made one, in one text."""
        return "\n".join(
            " ".join(line.split())
            for text in self.files.values()
            for line in text.splitlines()
            if line.strip()
        )

    @cached_property
    def lines(self) -> frozenset[str]:
        return frozenset(
            code_of(line) for text in self.files.values() for line in text.splitlines()
        )

    @cached_property
    def measures_speed(self) -> bool:
        """Whether its readme speaks of rates and times more than of losses and scores; so is a
        changed setting meant.
        """
        readme = "\n".join(
            text for path, text in self.files.items() if path.lower().startswith("readme")
        )
        return len(_SPEED_WORDS.findall(readme)) >= len(_LOSS_WORDS.findall(readme))

    @cached_property
    def trains(self) -> bool:
        """Whether the program trains: its words of learning name what a change moves."""
        words = {part for name in self.names for part in parts_of(name)}
        return len(words & _TRAINING) >= 4

    def has_name(self, name: str) -> bool:
        return name in self.names if name.isidentifier() else name in self.plain

    def has_statement(self, line: str, text: str | None = None) -> bool:
        """Whether a line stands upstream, or is a part of one: of `text`, or of any file."""
        code = code_of(line)
        if not code or code in self.lines:
            return True
        # A part of a longer line; looked for only where every name of it is known, as the text may
        # be large.
        return (
            len(code) >= _LEAST_STATEMENT
            and self.names.issuperset(identifiers(code))
            and code in (self.plain if text is None else text)
        )


def novel_groups(
    change: FileDiff, upstream: Upstream, since: tuple[str, ...] = ()
) -> tuple[LineGroup, ...]:
    """The groups of a change with the lines that upstream lacks; `since` are lines that upstream
    put into this file after the base.

    A group is no news where upstream replaced the same lines by similar ones: it was made again
    there.
    """
    own = " ".join(upstream.files.get(change.before, "").split())
    others = [_words(line) for line in since[:_MOST_SINCE]]
    return tuple(kept for group in change.groups if (kept := _novel(group, upstream, own, others)))


def _novel(
    group: LineGroup, upstream: Upstream, own: str, others: list[frozenset[str]]
) -> LineGroup | None:
    added = tuple(line for line in group.added if not upstream.has_statement(line, own))
    before = (" ".join(line.split()) for line in group.removed)
    gone = bool(group.removed) and not any(code and code in own for code in before)
    if others and (gone or not group.removed):
        least = _LIKE if gone else 0.8
        added = tuple(line for line in added if not _made_again(line, others, least))
    removed = tuple(line for line in group.removed if code_of(line))
    if added or removed and not group.added and not gone:
        return LineGroup(removed, added, group.line, group.within)
    return None


def _words(line: str) -> frozenset[str]:
    return frozenset(re.findall(r"\w+", code_of(line)))


def _made_again(line: str, others: Iterable[frozenset[str]], least: float) -> bool:
    """Whether a line shares that part of its identifiers and numbers (Jaccard) with one of the
    others.
    """
    words = _words(line)
    return any(
        len(words & other) >= least * len(words | other) for other in others if other and words
    )


def news_of(changes: Iterable[FileDiff], upstream: Upstream) -> tuple[str, ...]:
    """Names and statements that stand in the fork and nowhere upstream: of the program before those
    of other files, definitions, settings, flags and files before statements.
    """
    ranked = defaultdict(dict)
    for change in changes:
        core = change.role in ("source", "build") and change.state != "added"
        if change.state == "added" and change.path not in upstream.files:
            ranked[False, False].setdefault(change.path)
        if change.role in ("docs", "log", "vendored", "picture"):
            continue
        for line in change.new_lines:
            for name in (defined_in(line), setting_of(line)[0], *flags_in(line)):
                if len(name) > 2 and not upstream.has_name(name):
                    ranked[not core, False].setdefault(name)
            if _tells(line):
                ranked[not core, True].setdefault(code_of(line))
    return tuple(dict.fromkeys(name for rank in sorted(ranked) for name in ranked[rank]))[
        :_MOST_NAMES
    ]


def _tells(line: str) -> bool:
    """Whether a line is a statement by which a change can be known again: not a bracket, a print or
    a bare word.
    """
    code = code_of(line)
    return (
        len(code) >= _LEAST_STATEMENT
        and len(identifiers(code)) >= 1
        and any(mark in code for mark in "=(.[<:")
        and not code.startswith(("print(", "import ", "from "))
    )
