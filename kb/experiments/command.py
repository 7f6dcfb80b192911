"""Runs one command of an experiment under a deadline, in a sandbox where the system gives one. Leaves no process behind.

A supervisor (`supervisor.py`) stands between kb and the command: it ends with kb, however kb ends, and everything below ends with it.
Output of any size is read for its METRIC lines, but only head and tail are kept.
"""

import contextlib
import json
import os
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from kb import KbError
from kb.run.measure import MetricLines
from kb.store import json_of

_KEEP = 16 * 1024
_CHUNK = 1 << 20
_SUPERVISOR = Path(__file__).with_name("supervisor.py")
# So long a supervisor may take to end what it started before it is ended itself.
_GRACE_S = 5.0


@dataclass(frozen=True, slots=True)
class Walls:
    """What a command sees of the disk, beyond which it is read-only: `mounts` in order, as (how, where, source) with how one of
    over (changes go elsewhere), hide (an empty folder), read and write. Without `sandbox` nothing of this holds."""

    sandbox: bool = False
    network: bool = False
    mounts: tuple[tuple[str, str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Ended:
    """How a command ended. `exit` is negative for a signal; `metrics` as printed, with `counts` of lines by metric and `refused` ones."""

    exit: int
    seconds: float
    timed_out: bool
    lines: MetricLines
    output: bytes
    output_bytes: int

    @property
    def problem(self) -> str:
        """Why it did not end well; empty where it did."""
        if self.timed_out:
            return f"it was ended after {self.seconds:.0f} s"
        return (
            ""
            if not self.exit
            else f"it exited with {self.exit}"
            if self.exit > 0
            else f"it was ended by signal {-self.exit}"
        )


def run_command(
    command: str,
    *,
    folder: Path,
    timeout_s: float,
    env: Mapping[str, str],
    walls: Walls,
    keep: int = _KEEP,
) -> Ended:
    """Run one command to its end, or end it at the deadline, and all that it started. `keep` bytes of head and of tail stay."""
    started = time.monotonic()
    reading, report = os.pipe()
    spec = {
        "report": report,
        "parent": os.getpid(),
        "command": command,
        "folder": os.fspath(folder),
        "sandbox": walls.sandbox,
        "network": walls.network,
        "mounts": walls.mounts,
    }
    process = subprocess.Popen(
        [sys.executable, "-I", "-S", os.fspath(_SUPERVISOR)],
        env=dict(env),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
        pass_fds=[report],
    )
    os.close(report)
    lines, kept = MetricLines(), _Kept(keep)
    try:
        assert process.stdin and process.stdout
        with contextlib.suppress(BrokenPipeError):
            process.stdin.write(json.dumps(spec).encode())
            process.stdin.close()
        timed_out = not _read(process, started + timeout_s, lines, kept)
    finally:
        _end(process)
    lines.feed(b"", last=True)
    with open(reading, "rb") as told:
        said = json_of(told.read() or b"{}")
    if "refused" in said:
        raise KbError(f"the sandbox could not be set up: {said['refused']}")
    code = said.get("exit", -signal.SIGKILL)
    return Ended(
        code, round(time.monotonic() - started, 3), timed_out, lines, kept.text, kept.total
    )


class _Kept:
    """Head and tail of a stream."""

    def __init__(self, keep: int):
        self._keep, self._head, self._tail, self.total = keep, bytearray(), bytearray(), 0

    def feed(self, chunk: bytes) -> None:
        self.total += len(chunk)
        room = max(0, self._keep - len(self._head))
        self._head += chunk[:room]
        self._tail += chunk[room:]
        del self._tail[: max(0, len(self._tail) - self._keep)]

    @property
    def text(self) -> bytes:
        dropped = self.total - len(self._head) - len(self._tail)
        return (
            bytes(self._head)
            + (b"\n[... %d bytes not kept ...]\n" % dropped if dropped else b"")
            + bytes(self._tail)
        )


def _read(
    process: subprocess.Popen[bytes], deadline: float, lines: MetricLines, kept: _Kept
) -> bool:
    """Read the output until the supervisor ends; False where the deadline came first."""
    assert process.stdout
    with selectors.DefaultSelector() as ready:
        ready.register(process.stdout, selectors.EVENT_READ)
        while (left := deadline - time.monotonic()) > 0:
            if not ready.select(min(left, 0.05)):
                if process.poll() is not None:
                    return True
                continue
            chunk = os.read(process.stdout.fileno(), _CHUNK)
            if not chunk:
                break
            lines.feed(chunk)
            kept.feed(chunk)
    try:
        process.wait(max(0.0, deadline - time.monotonic()))
    except subprocess.TimeoutExpired:
        return False
    return True


def _end(process: subprocess.Popen[bytes]) -> None:
    for number in (signal.SIGTERM, signal.SIGKILL):
        if process.poll() is None:
            process.send_signal(number)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(_GRACE_S)
    if process.stdout:
        process.stdout.close()


@lru_cache(1)
def sandbox_problem() -> str:
    """Why this system gives no sandbox; empty where it does."""
    if sys.platform != "linux":
        return f"{sys.platform} has no user namespaces"
    try:
        ended = run_command(
            "true", folder=Path("/"), timeout_s=20, env={}, walls=Walls(sandbox=True)
        )
    except KbError as error:
        return str(error)
    return ended.problem
