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

_CHUNK = 1 << 20
_SUPERVISOR = Path(__file__).with_name("supervisor.py")
# So long a supervisor may take to end what it started before it is ended itself; on a busy machine it needs seconds.
_GRACE_S = 20.0


@dataclass(frozen=True, slots=True)
class Walls:
    """What a command sees of the disk, beyond which it is read-only: `mounts` in order, as (how, where, source) with how one of
    over (changes go elsewhere), hide (an empty folder), read and write."""

    network: bool = False
    mounts: tuple[tuple[str, str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Ended:
    """How a command ended. `problem` says why it did not end well; `lines` are METRIC lines as printed; `output` is head and tail."""

    exit: int
    seconds: float
    timed_out: bool
    lines: MetricLines
    output: bytes

    @property
    def problem(self) -> str:
        if self.timed_out:
            return f"it was ended after {self.seconds:.0f} s"
        how = "exited with" if self.exit > 0 else "was ended by signal"
        return f"it {how} {abs(self.exit)}" if self.exit else ""


def run_command(
    command: str,
    *,
    folder: Path,
    timeout_s: float,
    env: Mapping[str, str],
    walls: Walls | None,
    keep: int = 16 << 10,
) -> Ended:
    """Run one command to its end, or end it at the deadline, and all that it started. `keep` bytes of head and of tail stay."""
    started = time.monotonic()
    reading, report = os.pipe()
    spec = {
        "report": report,
        "parent": os.getpid(),
        "command": command,
        "folder": os.fspath(folder),
        "sandbox": walls is not None,
        "network": not walls or walls.network,
        "mounts": walls.mounts if walls else (),
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
    lines, head, tail, total = MetricLines(), bytearray(), bytearray(), 0
    try:
        assert process.stdin and process.stdout
        with contextlib.suppress(BrokenPipeError):
            process.stdin.write(json.dumps(spec).encode())
            process.stdin.close()
        for chunk in _chunks(process, started + timeout_s):
            total += len(chunk)
            lines.feed(chunk)
            room = max(0, keep - len(head))
            head += chunk[:room]
            tail += chunk[room:]
            del tail[: max(0, len(tail) - keep)]
        timed_out = process.poll() is None
    finally:
        _end(process)
    lines.feed(b"", last=True)
    with open(reading, "rb") as reported:
        outcome = json_of(reported.read() or b"{}")
    if "refused" in outcome:
        raise KbError(f"the sandbox could not be set up: {outcome['refused']}")
    dropped = total - len(head) - len(tail)
    gap = b"\n[... %d bytes not kept ...]\n" % dropped if dropped else b""
    seconds = round(time.monotonic() - started, 3)
    code = outcome.get("exit", -signal.SIGKILL)
    return Ended(code, seconds, timed_out, lines, bytes(head) + gap + bytes(tail))


def _chunks(process: subprocess.Popen[bytes], deadline: float):
    """What the command prints until its supervisor ends, or the deadline comes."""
    with selectors.DefaultSelector() as ready:
        ready.register(process.stdout, selectors.EVENT_READ)
        while (left := deadline - time.monotonic()) > 0:
            # Asked before the look: what was printed between a look in vain and the end would be lost.
            has_ended = process.poll() is not None
            if ready.select(0 if has_ended else min(left, 0.05)):
                chunk = os.read(process.stdout.fileno(), _CHUNK)
                if not chunk:
                    break
                yield chunk
            elif has_ended:
                return
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(max(0.0, deadline - time.monotonic()))


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
        return _problem_in_sandbox("true")
    except KbError as error:
        return str(error)


@lru_cache(1)
def sandbox_weakness() -> str:
    """What a sandbox of this system leaves open: where no fresh /proc may be mounted (in many containers), the outer one leads a
    process that looks for it to the disk of others of its user."""
    script = 'read name < /proc/$$/comm && test "$name" = sh'
    return ", the processes outside in sight" if _problem_in_sandbox(script) else ""


def _problem_in_sandbox(script: str) -> str:
    return run_command(script, folder=Path("/"), timeout_s=60, env={}, walls=Walls()).problem
