"""What pages gained since a moment, by the git history of the wiki. Silent where there is none: then dates in the text must tell."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from kb import KbError, store
from kb.trail import is_day

# A shorter line (a rule, a closing fence) stands on many pages and tells nothing.
_SHORTEST = 12
# A commit of more new pages is an import: what it tells is when they came, not in which order they were written.
_AT_ONCE = 6
# Nobody waits longer for a slice of the past.
_SECONDS = 60


@dataclass(frozen=True, slots=True)
class History:
    """`born` is the second at which a page was first committed, `gained` the lines that later commits put into it with theirs."""

    root: Path
    born: Mapping[str, int] = field(default_factory=dict)
    gained: Mapping[str, Sequence[tuple[int, str]]] = field(default_factory=dict)

    def since(self, path: str, moment: int) -> frozenset[str]:
        """Lines that a page which was there at a moment gained after it."""
        path = path.partition("#")[0]
        lines = self.gained.get(path, ()) if self.born.get(path, moment + 1) <= moment else ()
        return frozenset(line for second, line in lines if second > moment)

    def moment(self, before: str, day: str) -> int:
        """The second at which a page was filed, else that at which its day ended; 0 for no day, and where it was filed with so many that the order is lost."""
        second = self.born.get(before)
        if second is None and is_day(day):
            ended = datetime.fromisoformat(day).replace(tzinfo=UTC) + timedelta(days=1)
            return int(ended.timestamp())
        return second if second and list(self.born.values()).count(second) <= _AT_ONCE else 0


def history_of(layout: store.Layout) -> History:
    """The history of a wiki that is a repository of its own; empty for any other, and where git cannot tell it."""
    born: dict[str, int] = {}
    gained: dict[str, list[tuple[int, str]]] = defaultdict(list)
    if not (layout.root / ".git").exists():
        return History(layout.root)
    # Late: a slice of the present asks for no history.
    from kb.research.git import Repository

    repository = Repository(layout.root / ".git", str(layout.root), seconds=_SECONDS)
    log = ("log", "--format=%x00%at", "--no-renames", "--no-ext-diff", "--no-textconv")
    with suppress(KbError):
        for second, lines in _commits(
            repository.run(*log, "--diff-filter=A", "--name-only", "--", "wiki")
        ):
            # Newest first, so that the first of several births is told last.
            born.update((line, second) for line in lines if line)
        for second, lines in _commits(
            repository.run(*log, "--diff-filter=M", "-p", "-U0", "--", "wiki")
        ):
            path = ""
            for line in lines:
                if line.startswith("+++ b/"):
                    path = line.removeprefix("+++ b/")
                elif line.startswith("+") and len(text := line[1:].strip()) >= _SHORTEST:
                    gained[path].append((second, text))
    return History(layout.root, born, gained)


def _commits(log: str) -> list[tuple[int, list[str]]]:
    """(second, lines) of every commit of a log."""
    heads = (commit.partition("\n") for commit in log.split("\0") if commit)
    return [(int(head), rest.split("\n")) for head, _, rest in heads]
