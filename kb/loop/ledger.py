"""The log of a loop, which is also its memory: a line a step, with what the step cost. Refuses to forget what was spent when the loop is called again.

2026-05-01T10:00:00+00:00  begun: claude -p, for 10 experiments, 480 minutes, 0 tokens  [0.00 min, 0 tokens]
2026-05-01T10:02:11+00:00  refused: Tile by 64: repeats 2026-04-02-v003-tile  [1.10 min, 5200 tokens]
2026-05-01T10:03:09+00:00  proposed: 81c5ae70: Unroll by four  [0.97 min, 5100 tokens]
2026-05-01T10:04:10+00:00  changed: 3f2a9c1e: Unroll by four  [1.90 min, 5600 tokens]
2026-05-01T10:05:00+00:00  supported keep wiki/experiments/t/…md: time_ms is 50 …  [0.80 min, 0 tokens]
"""

import re
import time
from dataclasses import dataclass, field
from pathlib import Path

from kb import store
from kb.text import cut, one_line

_LINE = re.compile(r"(\S+)  (.*)  \[(\d+\.\d\d) min, (\d+) tokens\]")
_BEGUN = "begun: "
_LONGEST = 400


@dataclass(slots=True)
class LoopLog:
    """What was done since the loop was begun, as lines without their moment and cost, and what that has cost in all."""

    file: Path
    now: str
    lines: list[str] = field(default_factory=list)
    seconds: float = 0.0
    tokens: int = 0
    since: float = field(default_factory=time.monotonic)

    def last(self, step: str) -> str:
        """Commit that the last line names, where that is of this step, so that the next one is still to be taken; else empty."""
        line = self.lines[-1] if self.lines else ""
        return line.split(": ")[1] if line.startswith(f"{step}: ") else ""

    @property
    def results(self) -> list[str]:
        """The lines of measured experiments."""
        return [line for line in self.lines if not re.match(r"[a-z]+: ", line)]

    @property
    def minutes(self) -> float:
        return (self.seconds + time.monotonic() - self.since) / 60

    def note(self, text: str, *, tokens: int = 0) -> None:
        """Write one line with the time since the last one and the tokens of this step."""
        spent = time.monotonic() - self.since
        line = cut(one_line(text), _LONGEST)
        shown = f"{self.now}  {line}  [{spent / 60:.2f} min, {tokens} tokens]\n"
        earlier = (
            store.bytes_of(self.file).decode("utf-8", "replace") if self.file.is_file() else ""
        )
        store.write(self.file, earlier + shown)
        self.lines.append(line)
        self.seconds, self.tokens, self.since = (
            self.seconds + spent,
            self.tokens + tokens,
            time.monotonic(),
        )


def ledger_of(layout: store.Layout, target: str, *, now: str, begun: str, afresh: bool) -> LoopLog:
    """The ledger of a target's loop: what is on file since it was begun, or, `afresh` and where nothing is, a line that begins it."""
    name = re.sub(r"[^a-z0-9-]+", "-", target.lower())
    ledger = LoopLog(layout.state / "loops" / f"{name}.log", now)
    text = store.bytes_of(ledger.file).decode("utf-8", "replace") if ledger.file.is_file() else ""
    for line in text.splitlines() if not afresh else ():
        if match := _LINE.fullmatch(line):
            if match[2].startswith(_BEGUN):
                ledger.lines, ledger.seconds, ledger.tokens = [], 0.0, 0
            ledger.lines.append(match[2])
            ledger.seconds += 60 * float(match[3])
            ledger.tokens += int(match[4])
    if not ledger.lines:
        ledger.note(f"{_BEGUN}{begun}")
    return ledger
