"""Runs a benchmark or a check under a deadline and reads its METRIC lines. Refuses NaN, and leaves no process behind.

The command runs by `/bin/sh -c` in its own process group; whatever it starts carries KB_RUN in its environment, so that even a
process that left the group is found (on Linux) and ended. Output of any size is read, but only its head and tail are kept.
"""

import math
import os
import platform
import re
import selectors
import signal
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from kb.store import digest_of

# pi-autoresearch's line; values are kept where they are finite, a later line of the same name wins, and that it did is told.
_METRIC = re.compile(rb"^METRIC[ \t]+([\w.\xc2\xb5/%-]+)=(\S+)[ \t]*\r?$", re.MULTILINE)
_KEEP = 256 * 1024
_CHUNK = 1 << 20
# A METRIC line is short: a line longer than this without an end is output, not a measurement.
_LONGEST_LINE = 4096
_GRACE_S = 2.0
# What a run depends on beside its code; other variables may hold secrets and are not recorded.
_RECORDED = re.compile(
    r"OMP_|MKL_|OPENBLAS_|CUDA_VISIBLE|HIP_VISIBLE|XLA_FLAGS$|LIBTPU_INIT_ARGS$|JAX_|TORCH_|PYTORCH_|NCCL_|LD_PRELOAD$|MALLOC_|GOMAXPROCS$|RUSTFLAGS$|CFLAGS$|CXXFLAGS$|CC$|CXX$"
)
_SECRET = re.compile(r"token|secret|key|passw|credential", re.IGNORECASE)


Repeated = tuple[tuple[str, tuple[float, ...]], ...]
# So many values of a metric that is printed again and again are told.
_TOLD = 8


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a command ended. `exit` is negative for a signal; `refused` are METRIC lines whose value is no finite number, as written.

    `repeated` are (metric, values as printed) of those that were printed with several values, of which the last one counts.
    """

    exit: int
    seconds: float
    timed_out: bool
    metrics: tuple[tuple[str, float], ...]
    refused: tuple[str, ...]
    output: bytes
    output_bytes: int
    repeated: Repeated = ()

    def problem(self, metric: str = "") -> str:
        """Why this is no measurement of `metric` (of anything, if that is empty); an empty text where it is one."""
        if self.timed_out:
            return f"it was ended after {self.seconds:.0f} s"
        if self.exit:
            return f"it exited with {self.exit}" if self.exit > 0 else f"it was ended by signal {-self.exit}"
        spoiled = [line for line in self.refused if not metric or line.startswith(f"{metric}=")]
        if spoiled:
            return f"{spoiled[-1]} is no finite number"
        if metric and metric not in dict(self.metrics):
            return f"it exited with 0 but printed no `METRIC {metric}=...` line"
        return "" if self.metrics else "it exited with 0 but printed no METRIC line"


class _Lines:
    """METRIC lines of a stream of chunks, in bounded memory."""

    def __init__(self) -> None:
        self.found: dict[str, float] = {}
        self.refused: dict[str, str] = {}
        self._printed: dict[str, list[float]] = {}
        self._carry = b""

    @property
    def repeated(self) -> Repeated:
        several = ((name, values) for name, values in sorted(self._printed.items()) if len(set(values)) > 1)
        return tuple(
            (name, (*values[: _TOLD - 1], values[-1]) if len(values) > _TOLD else tuple(values)) for name, values in several
        )

    def feed(self, chunk: bytes, *, last: bool = False) -> None:
        text = self._carry + chunk
        end = len(text) if last else text.rfind(b"\n") + 1
        if b"METRIC" in text[:end]:
            for name, value in _METRIC.findall(text[:end]):
                self._take(name.decode("utf-8", "replace"), value.decode("utf-8", "replace"))
        self._carry = text[end:]
        if len(self._carry) > _LONGEST_LINE:
            self._carry = b"\0"  # The middle of a line: what follows up to its end is no METRIC line.

    def _take(self, name: str, text: str) -> None:
        try:
            value = float(text.replace("_", "x"))
        except ValueError:
            value = math.nan
        if math.isfinite(value):
            self.found[name] = value
            self.refused.pop(name, None)
            printed = self._printed.setdefault(name, [])
            if len(printed) > _TOLD:
                printed[-1] = value
            else:
                printed.append(value)
        else:
            self.refused[name] = f"{name}={text[:80]}"
            self.found.pop(name, None)


def metrics_in(text: bytes) -> tuple[dict[str, float], tuple[str, ...], Repeated]:
    """Metrics that a captured output states, its METRIC lines without a finite value, and the metrics it states with several values."""
    lines = _Lines()
    lines.feed(text, last=True)
    return lines.found, tuple(lines.refused.values()), lines.repeated


def measured(command: str, *, folder: Path, mark: str, timeout_s: float, env: Mapping[str, str], keep: int = _KEEP) -> Outcome:
    """Run one command to its end, or end it at the deadline, and all that it started. `mark` becomes KB_RUN; `keep` bytes of head and of tail stay."""
    started = time.monotonic()
    process = subprocess.Popen(
        ["/bin/sh", "-c", command],
        cwd=folder,
        env={**os.environ, **env, "KB_RUN": mark},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    assert process.stdout
    lines, head, tail, total, timed_out = _Lines(), bytearray(), bytearray(), 0, False
    try:
        with selectors.DefaultSelector() as ready:
            ready.register(process.stdout, selectors.EVENT_READ)
            while True:
                left = started + timeout_s - time.monotonic()
                if left <= 0:
                    timed_out = process.poll() is None
                    break
                if not ready.select(min(left, 0.05)):
                    # Its own end counts: a child that holds the pipe open must not keep us waiting.
                    if process.poll() is not None:
                        break
                    continue
                chunk = os.read(process.stdout.fileno(), _CHUNK)
                if not chunk:
                    break
                total += len(chunk)
                lines.feed(chunk)
                room = max(0, keep - len(head))
                head += chunk[:room]
                tail += chunk[room:]
                del tail[: max(0, len(tail) - keep)]
        timed_out = timed_out or _outlived(process, started + timeout_s)
    finally:
        _end(process, mark)
        process.stdout.close()
    lines.feed(b"", last=True)
    dropped = total - len(head) - len(tail)
    middle = b"\n[... %d bytes not kept ...]\n" % dropped if dropped else b""
    return Outcome(
        process.returncode,
        round(time.monotonic() - started, 3),
        timed_out,
        tuple(sorted(lines.found.items())),
        tuple(sorted(lines.refused.values())),
        bytes(head) + middle + bytes(tail),
        total,
        lines.repeated,
    )


def _outlived(process: subprocess.Popen, deadline: float) -> bool:
    """Whether a command that closed its output is still there at the deadline."""
    try:
        process.wait(max(0.0, deadline - time.monotonic()))
    except subprocess.TimeoutExpired:
        return True
    return False


def _end(process: subprocess.Popen, mark: str) -> None:
    """End the command's group, and whatever else carries its mark."""
    _signal_group(process.pid, signal.SIGTERM if process.poll() is None else signal.SIGKILL)
    try:
        process.wait(_GRACE_S)
    except subprocess.TimeoutExpired:
        pass
    _signal_group(process.pid, signal.SIGKILL)
    end_marked(mark)
    process.wait()


def _signal_group(group: int, number: signal.Signals) -> None:
    try:
        os.killpg(group, number)
    except (ProcessLookupError, PermissionError):
        pass  # The group is gone, or its last members are zombies of another parent.


def end_marked(mark: str) -> int:
    """End every process of this user whose environment says KB_RUN=`mark`: what a run, or a run that was killed, left behind. Linux only."""
    wanted = f"KB_RUN={mark}".encode()
    ended: set[int] = set()
    quiet = 0
    # A process may fork, or be between fork and exec and show no environment, while it is being looked for.
    for _ in range(50):
        found = [pid for pid in _processes() if pid != os.getpid() and wanted in _environment(pid)]
        for pid in found:
            try:
                os.kill(pid, signal.SIGKILL)
            except (ProcessLookupError, PermissionError):
                continue
            ended.add(pid)
        quiet = 0 if found else quiet + 1
        if quiet == 2:
            break
        time.sleep(0.005)
    return len(ended)


def _processes() -> list[int]:
    try:
        return [int(name) for name in os.listdir("/proc") if name.isdigit()]
    except OSError:
        return []


def _environment(pid: int) -> list[bytes]:
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            return file.read().split(b"\0")
    except OSError:
        return []


def host_facts() -> tuple[tuple[str, str], ...]:
    """What a later reader must know of the machine a run was measured on; no variable that could hold a secret."""
    load = os.getloadavg()
    facts = {
        "host": platform.node(),
        "system": f"{platform.system()} {platform.release()}",
        "machine": platform.machine(),
        "cpu": _cpu_name(),
        "cores": str(os.cpu_count() or 0),
        "usable cores": str(len(os.sched_getaffinity(0))) if hasattr(os, "sched_getaffinity") else "",
        "load": f"{load[0]:.2f} {load[1]:.2f}",
        "python": platform.python_version(),
    }
    variables = {f"env {k}": v[:400] for k, v in os.environ.items() if _RECORDED.match(k) and not _SECRET.search(k)}
    return tuple(sorted((k, v) for k, v in {**facts, **variables}.items() if v))


def _cpu_name() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            return next((line.partition(":")[2].strip() for line in file if line.startswith(("model name", "Model"))), "")
    except OSError:
        return platform.processor()


def manifest_of(folder: Path, patterns: tuple[str, ...]) -> dict[str, str]:
    """Digest of every file below `folder` that one of the glob patterns names (a folder names all below it); links are not followed."""
    found: dict[str, str] = {}
    for pattern in patterns:
        for match in sorted(folder.glob(pattern.rstrip("/"))):
            for file in sorted(match.rglob("*")) if match.is_dir() and not match.is_symlink() else [match]:
                name = file.relative_to(folder).as_posix()
                if file.is_symlink():
                    found[name] = f"link to {os.readlink(file)}"
                elif file.is_file():
                    found[name] = digest_of(file.read_bytes())
    return dict(sorted(found.items()))
