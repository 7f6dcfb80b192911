"""kb agents sessions [serve]: read session logs of a harness: which steps ran, which were skipped, tokens a step, compactions."""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from kb import KbError
from kb.store import json_of
from kb.text import one_line
from kb.verbs import Caller, Result, argument

# The steps of one experiment, in order, by the command that is each step's mark.
STEPS = (
    "load hypothesis",
    "check",
    "experiment open",
    "experiment run",
    "experiment audit",
    "experiment close",
)
_COMMAND = re.compile(
    r"(?:^|[\s;&|(\"'])kb ((?:experiment|agents|packet|research|site|profile) [a-z-]+|load [a-z]+|[a-z-]+)"
)
_LARGEST = 200_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadSessions:
    """Transcripts of Claude Code, Codex or Gemini CLI."""

    path: str = argument("a transcript (.jsonl or .json), or a folder of them", metavar="PATH")


@dataclass(frozen=True, slots=True)
class SessionReport(Result):
    """Commands of kb by their number, tokens spent up to each, steps skipped, proposals checked again, compactions."""

    sessions: int
    commands: dict[str, int]
    tokens: dict[str, int]
    skipped: dict[str, int]
    repeated: int
    compactions: int

    def to_text(self) -> str:
        rows = [
            f"{n:>6}  {words:<20} {self.tokens.get(words, 0):>9} tokens before it"
            for words, n in self.commands.items()
        ]
        skipped = [
            f"{n:>6}  experiments without `kb {step}`" for step, n in self.skipped.items() if n
        ]
        return "\n".join(
            [
                f"{self.sessions} sessions, {self.compactions} compactions, {self.repeated} proposals refused",
                *rows,
                *skipped,
            ]
        )


def run(request: ReadSessions, caller: Caller) -> SessionReport:
    path = caller.file(request.path)
    files = sorted(f for f in path.rglob("*.json*") if f.is_file()) if path.is_dir() else [path]
    commands: Counter[str] = Counter()
    tokens: Counter[str] = Counter()
    compactions = spent = repeated = 0
    for file in files:
        if not file.is_file() or file.stat().st_size > _LARGEST:
            raise KbError(f"{file}: no transcript, or larger than {_LARGEST} bytes")
        for kind, value in _events(file.read_text(encoding="utf-8", errors="replace")):
            if kind == "tokens":
                spent += int(value)
            elif kind == "compaction":
                compactions += 1
            elif kind == "output":
                repeated += bool(re.match(r"(repeat|distinguish)  ", value))
            else:
                for words in _COMMAND.findall(value):
                    commands[one_line(words)] += 1
                    tokens[one_line(words)] += spent
                    spent = 0
    closed = commands["experiment close"]
    skipped = (
        {step: max(0, closed - commands[step]) for step in STEPS[:-1]}
        if not commands["experiment try"]
        else {}
    )
    return SessionReport(
        len(files), dict(commands.most_common()), dict(tokens), skipped, repeated, compactions
    )


def _events(text: str) -> Iterator[tuple[str, str]]:
    """What a transcript holds, in its order: commands, what they printed, tokens, compactions. Lines that are no JSON are passed over."""
    try:
        records = [json_of(text)]
    except ValueError:
        records = []
        for line in text.splitlines():
            try:
                records.append(json_of(line))
            except ValueError:
                continue
    for record in records:
        yield from _within(record)


def _within(value: object) -> Iterator[tuple[str, str]]:
    """By the names of keys, which the three harnesses nearly share."""
    if isinstance(value, list):
        for item in value:
            yield from _within(item)
    if not isinstance(value, dict):
        return
    kind = f"{value.get('type', '')} {value.get('subtype', '')}"
    if "compact" in kind or value.get("isCompactSummary"):
        yield "compaction", ""
    for key, item in value.items():
        if key in ("usage", "last_token_usage", "tokens") and isinstance(item, dict):
            counts = [item.get(k, 0) for k in ("input_tokens", "output_tokens", "input", "output")]
            yield "tokens", str(sum(c for c in counts if isinstance(c, int)))
        elif key in ("command", "cmd", "arguments"):
            yield (
                "command",
                item
                if isinstance(item, str)
                else " ".join(map(str, item))
                if isinstance(item, list)
                else "",
            )
        elif key in ("output", "stdout") and isinstance(item, str):
            yield "output", item
        else:
            yield from _within(item)
