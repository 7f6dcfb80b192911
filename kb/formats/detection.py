"""Which format a file or folder is in, by what it holds, and the one entry to all readers. Refuses what is no log, saying why."""

import importlib
from collections.abc import Iterator
from pathlib import Path

from kb import KbError
from kb.formats import autocomp, markdown, openevolve, pi, skypilot, tsv, worklog
from kb.formats.objects import objects_of
from kb.formats.reading import Ask, Remark, Segment, head_of
from kb.run.record import Outcome, Run

# Format -> module that reads it. One object a loop: pi and interlab differ in spelling only, optuna is one kind of jsonl.
READERS = {
    "pi": "pi",
    "interlab": "pi",
    "pi-git": "git_trailers",
    "tsv": "tsv",
    "skypilot": "skypilot",
    "logmd": "markdown",
    "leaderboard": "markdown",
    "worklog": "worklog",
    "autocomp": "autocomp",
    "openevolve": "openevolve",
    "optuna": "jsonl",
    "jsonl": "jsonl",
    "prose": "prose",
}
ALIASES = {
    "autoresearch": "tsv",
    "autoresearch-tsv": "tsv",
    "karpathy": "tsv",
    "csv": "tsv",
    "table": "tsv",
    "results": "tsv",
    "pi-autoresearch": "pi",
    "markdown": "logmd",
    "markdown-table": "logmd",
    "log": "logmd",
    "simple-loop": "logmd",
    "journal": "worklog",
    "heygen": "leaderboard",
    "auto-model-optim": "leaderboard",
    "autocomp-run": "autocomp",
    "optuna-jsonl": "optuna",
    "interlab-jsonl": "interlab",
    "prose-log": "prose",
    "text": "prose",
}
# A loop's folder: the log that counts, the most complete record first.
_LOGS = (
    ".auto/log.jsonl",
    "autoresearch.jsonl",
    "log.jsonl",
    "results.jsonl",
    "results.tsv",
    "RESULTS.tsv",
    "results.csv",
    "leaderboard.md",
    "log.md",
    "results.md",
    "LOG.md",
    "PROGRESS.md",
    "worklog.md",
    "experiments/worklog.md",
)


def located(path: Path, name: str) -> tuple[str, Path]:
    """Format and log of a path: a file, or one loop's folder. Raises KbError where nothing there can be read as one."""
    if not path.exists():
        raise KbError(f"{path}: no such file or folder; name a loop's log or its folder")
    name = ALIASES.get(name, name)
    if name == "tpu-wiki":
        raise KbError("pages of a wiki are experiments already: `kb init --adopt` in its folder reads them in place")
    if name != "auto" and name not in READERS:
        raise KbError(f"no such format '{name}'; one of auto, {', '.join(READERS)}")
    if path.is_dir():
        return _located_in(path, name)
    return (detected(path) if name == "auto" else name), path


def _located_in(folder: Path, name: str) -> tuple[str, Path]:
    if name in ("pi-git", "autocomp", "openevolve"):
        return name, folder
    if name == "auto" and autocomp.holds(folder):
        return "autocomp", folder
    if name == "auto" and openevolve.holds(folder):
        return "openevolve", folder
    files = [folder / log for log in _LOGS if (folder / log).is_file()]
    if (folder / ".auto").is_dir() and any((folder / ".auto").iterdir()):
        # pi's own rule: where any current artefact exists, the legacy files are not read.
        files = [f for f in files if f.name != "autoresearch.jsonl"]
    for pattern in ("*.jsonl", "*.tsv", "*.log", "*.md"):
        files += [f for f in sorted(folder.glob(pattern)) if f not in files]
    for file in files:
        found = detected(file)
        if found != "prose" and name in ("auto", found) or READERS[found] == READERS.get(name):
            return (found if name == "auto" else name), file
    if name in ("auto", "pi") and (folder / ".git").exists():
        return "pi-git", folder
    raise KbError(f"{folder}: no log of a loop that can be read{'' if name == 'auto' else f' as {name}'}; name the file itself")


def detected(path: Path) -> str:
    """Format of a file, by what it holds; by its name only where it is empty."""
    head = head_of(path)
    said = [h for h in head if h.strip()]
    if not said:
        return {".jsonl": "pi", ".tsv": "tsv", ".csv": "tsv"}.get(path.suffix.lower(), "prose")
    if any("\0" in h for h in said[:5]):
        raise KbError(f"{path}: a binary file, no log; name a text file")
    objects = [o for h in said if h.lstrip().startswith("{") for o in objects_of(h.strip()) or () if isinstance(o, dict)]
    if objects or said[0].lstrip().startswith(("{", "[")):
        return _detected_json(path, objects)
    if any(skypilot.is_mark(h) for h in said):
        return "skypilot"
    if (
        path.suffix.lower() not in (".tsv", ".csv")
        and any(h.lstrip().startswith("|") for h in said)
        or path.suffix.lower() in (".md", ".markdown")
    ):
        rows, headings = markdown.holds_runs(path), worklog.holds_runs(path)
        if headings > rows:
            return "worklog"
        if rows:
            return "leaderboard" if _ranked(path) else "logmd"
        if path.suffix.lower() in (".md", ".markdown") and tsv.delimiter_of(said) != "|":
            return "prose"
    return "tsv" if _tabular(path, said) else "prose"


def _detected_json(path: Path, objects: list[dict[str, object]]) -> str:
    if not objects:
        return "openevolve" if path.name.endswith(("program_info.json", "best_program.json")) else "jsonl"
    if any(pi.is_config(o) and "metric_name" in o for o in objects):
        return "interlab"
    if any(pi.is_config(o) or pi.is_run(o) for o in objects):
        return "pi"
    if sum(openevolve.is_program(o) for o in objects) * 2 > len(objects):
        return "openevolve"
    trials = sum(isinstance(o.get("params"), dict) or any(k.startswith("params_") for k in o) for o in objects)
    return "optuna" if trials * 2 > len(objects) else "jsonl"


def _ranked(path: Path) -> bool:
    return any(isinstance(event, Segment) and event.judged for event in markdown.read(path, Ask())) and any(
        isinstance(event, Run) and not event.status and event.outcome is Outcome.KEPT for event in markdown.read(path, Ask())
    )


def _tabular(path: Path, said: list[str]) -> bool:
    if path.suffix.lower() in (".tsv", ".csv"):
        return True
    delimiter = tsv.delimiter_of(said)
    wide = sum(h.count(delimiter) >= 2 for h in said)
    return wide * 2 > len(said) and wide > 1


def events(path: Path, name: str, *, ask: Ask) -> Iterator[Segment | Run | Remark]:
    """Segments, runs and remarks of one log, streamed. `name` is a format of READERS."""
    yield from importlib.import_module(f"kb.formats.{READERS[name]}").read(path, ask)
