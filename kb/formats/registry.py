"""Every log format kb reads, found in one place, and which of them a file or folder is in. Refuses what is no log, saying why.

A format is one object in one file of `kb.formats.readers`, or of another package that names it under
the entry point `kb.formats`.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from kb import KbError, registered
from kb.formats.outline import part_of
from kb.formats.reading import Ask, Remark, Segment, head_of, is_binary
from kb.run.record import Outcome, Run
from kb.text import command_of, counted

Event = Segment | Run | Remark
# What more than this holds is read by the first reader that takes it: reading it by all would take minutes.
_READ_BY_ALL = 8_000_000
# Below the first order a mark is that of one tool, whose own reader goes before others where it reads a run;
# from the second on a format reads pages of text, which may tell no run at all and are prose then.
_TOOLS, _PAGES = 14, 30
# A loop's folder: the log that counts, the most complete record first; then any file of these kinds.
_LOGS = (
    *(
        ".auto/log.jsonl",
        "autoresearch.jsonl",
        "log.jsonl",
        "results.jsonl",
        "results.tsv",
        "RESULTS.tsv",
    ),
    *(
        "results.csv",
        "leaderboard.md",
        "log.md",
        "results.md",
        "LOG.md",
        "PROGRESS.md",
        "worklog.md",
    ),
    *("experiments/worklog.md", "*.jsonl", "*.tsv", "*.csv", "*.log", "*.md"),
)


@dataclass(frozen=True, slots=True)
class LogFormat:
    """One log format. `recognise` tells by the path and its first lines that say anything whether `read` is worth trying.

    Of formats that read equally many runs of a log the one of the lowest `order` is taken;
    `folders`: it reads folders; `aliases` are other names under which it may be asked for.
    """

    name: str
    recognise: Callable[[Path, Sequence[str]], bool]
    read: Callable[[Path, Ask], Iterator[Event]]
    order: int = 50
    folders: bool = False
    aliases: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Located:
    """A log and its format; `others` are formats that read runs of it too, with how many, `beside` further logs of its folder."""

    format: LogFormat
    path: Path
    others: tuple[tuple[str, int], ...] = ()
    beside: tuple[Path, ...] = ()

    def events(self, ask: Ask) -> Iterator[Event]:
        """Segments, runs and remarks of the log, streamed."""
        return self.format.read(self.path, ask)

    @property
    def remarks(self) -> list[str]:
        """What else reads runs here: other formats, and the further logs of its folder, which are imported one by one."""
        also = [f"also reads as {name}: {counted(n, 'runs')}" for name, n in self.others]
        if self.beside:
            names = ", ".join(f.name for f in self.beside)
            also.append(
                f"further logs here are not read: {names}; one each: `{command_of('import auto', str(self.beside[0]))}`"
            )
        return also


@cache
def formats() -> tuple[LogFormat, ...]:
    """All formats, in the order in which they are preferred."""
    listed = registered("kb.formats.readers", "FORMATS", kind=LogFormat, key="name")
    return tuple(sorted(listed, key=lambda f: (f.order, f.name)))


def format_names() -> list[str]:
    """What `kb import` takes as a format."""
    return ["auto", *(f.name for f in formats())]


def format_named(name: str) -> LogFormat | None:
    """The format of a name or alias; None of `auto`. Raises KbError where there is none."""
    if name == "tpu-wiki":
        raise KbError(
            "pages of a wiki are experiments already: `kb init --adopt` in its folder reads them in place"
        )
    if name == "auto":
        return None
    wanted = next((f for f in formats() if name in (f.name, *f.aliases)), None)
    if wanted is None:
        raise KbError(f"no such format '{name}'; one of {', '.join(format_names())}")
    return wanted


def located(path: Path, name: str) -> Located:
    """Format and log of a path: a file, or one loop's folder. Raises KbError where nothing there can be read as one."""
    if not path.exists():
        raise KbError(f"{path}: no such file or folder; name a loop's log or its folder")
    wanted = format_named(name)
    if path.is_dir():
        return _located_in(path, wanted)
    return Located(wanted, path) if wanted else detected(path)


def _located_in(folder: Path, wanted: LogFormat | None) -> Located:
    whole = [
        f
        for f in formats()
        if f.folders and (f is wanted or not wanted and f.recognise(folder, ()))
    ]
    if whole:
        return Located(whole[0], folder)
    logs = _logs_of(folder, wanted)
    if log := next(logs, None):
        return replace(log, beside=tuple(other.path for other in logs))
    trailers = format_named("pi-git")
    if trailers and (wanted is None or wanted.name == "pi") and (folder / ".git").exists():
        return Located(trailers, folder)
    message = f" as {wanted.name}" if wanted else ""
    raise KbError(f"{folder}: no log of a loop that can be read{message}; name the file itself")


def _logs_of(folder: Path, wanted: LogFormat | None) -> Iterator[Located]:
    """Files of a folder that are logs (of the format that is wanted), the most complete record first."""
    files = [f for pattern in _LOGS for f in sorted(folder.glob(pattern)) if f.is_file()]
    # pi's own rule: where any current artefact exists, the legacy files are not read.
    current = any(folder.glob(".auto/*"))
    for file in dict.fromkeys(f for f in files if not (current and f.name == "autoresearch.jsonl")):
        if not is_binary(head_of(file)):
            log = detected(file)
            if wanted and log.format.read is wanted.read:
                yield Located(wanted, file)
            elif not wanted and log.format.name != "prose":
                yield log


def detected(path: Path) -> Located:
    """Format of a file: of those that recognise it, the one that reads most runs."""
    head = head_of(path)
    if is_binary(head):
        raise KbError(f"{path}: a binary file, no log; name a text file")
    candidates = [f for f in formats() if f.recognise(path, head)]
    first = next(iter(candidates), format_named("prose"))
    if path.stat().st_size > _READ_BY_ALL:
        return Located(first, path)
    counts = {f.name: outcome_count(f, path) for f in candidates}
    own = [f for f in candidates if f.order < _TOOLS and counts[f.name]]
    best = max(own[:1] or candidates, key=lambda f: (counts[f.name], -f.order), default=first)
    if not counts.get(best.name) and best.order >= _PAGES:
        best = format_named("prose")
    others = tuple((name, n) for name, n in counts.items() if n and name != best.name)
    return Located(best, path, others)


def outcome_count(format_: LogFormat, path: Path) -> int:
    """How many runs of a log a format reads that say what came out of them, be it in words."""
    runs = [e for e in format_.read(path, Ask()) if isinstance(e, Run)]
    words = {"result", "reason"}
    spoken = [bool(r.reason) or any(part_of(n) in words for n, _ in r.notes) for r in runs]
    stated = (r.value is not None or r.outcome not in (None, Outcome.OTHER) for r in runs)
    return sum(map(max, stated, spoken))
