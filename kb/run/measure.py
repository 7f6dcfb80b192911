"""What a benchmark prints and what machine it ran on: METRIC lines, host facts. Refuses NaN, and keeps no secret."""

import math
import os
import platform
import re
import sys
from collections import Counter

from kb.store import digest_of

# pi-autoresearch's line; a later line of the same name wins, and that there were several is known.
_METRIC = re.compile(rb"^METRIC[ \t]+([\w.\xc2\xb5/%-]{1,200})=(\S+)[ \t]*\r?$", re.MULTILINE)
# A METRIC line is short: a line longer than this without an end is output, not a measurement.
_LONGEST_LINE = 4096
# More names than this are a dump in the shape of metrics; the first so many count.
MOST_NAMES = 200
# What a run depends on beside its code.
_RECORDED = re.compile(
    r"(OMP|MKL|OPENBLAS|CUDA|HIP|ROCR|JAX|TORCH|PYTORCH|NCCL|TRITON|MALLOC)_|(XLA_FLAGS|LIBTPU_INIT_ARGS|LD_PRELOAD|"
    r"GOMAXPROCS|RUSTFLAGS|CFLAGS|CXXFLAGS|CPPFLAGS|LDFLAGS|CC|CXX)$"
)
_SECRET_NAME = re.compile(r"token|secret|key|passw|credential|auth", re.IGNORECASE)
# Credentials in an address, `token=…` and its kin, and runs of letters and digits such as keys are made of.
_SECRET = re.compile(
    r"(?<=://)[^/\s@]+(?=@)|(?<=[=:])(?:sk|hf|gh[pousr]|xox\w|AKIA)[-_]?\w{12,}|\b(?=\w*\d)(?=\w*[A-Za-z])\w{32,}\b|"
    r"(?:(?<=token=)|(?<=secret=)|(?<=key=)|(?<=password=)|(?<=passwd=)|(?<=sig=))[^\s&;,]+",
    re.IGNORECASE,
)


class MetricLines:
    """METRIC lines of a stream of chunks, in bounded memory: what each name was printed with last, and how often it was."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self._last: dict[str, str] = {}
        self._carry = b""

    def feed(self, chunk: bytes, *, last: bool = False) -> None:
        text = self._carry + chunk
        end = len(text) if last else text.rfind(b"\n") + 1
        if b"METRIC" in text[:end]:
            for pair in _METRIC.findall(text[:end]):
                name, value = (part.decode("utf-8", "replace") for part in pair)
                if name in self.counts or len(self.counts) < MOST_NAMES:
                    self.counts[name] += 1
                    self._last[name] = value
        # Of a line that is too long the middle: what follows up to its end is no METRIC line.
        self._carry = text[end:] if len(text) - end <= _LONGEST_LINE else b"\0"

    @property
    def values(self) -> dict[str, float]:
        """The last value of each name, where that is a finite number."""
        values = {name: _finite(text) for name, text in self._last.items()}
        return {name: value for name, value in values.items() if value is not None}

    @property
    def refused(self) -> dict[str, str]:
        """What stands in the place of a value."""
        values = self.values
        return {n: f"{n}={text[:80]}" for n, text in self._last.items() if n not in values}

    def problem(self, metric: str = "") -> str:
        """Why this is no measurement of `metric` (of anything, if that is empty); an empty text where it is one."""
        spoiled = [line for name, line in self.refused.items() if metric in ("", name)]
        if spoiled:
            return f"{spoiled[-1]} is no finite number"
        if metric and metric not in self.values:
            named = f"; it printed {', '.join(sorted(self.values)[:8])}" if self.values else ""
            return f"it exited with 0 but printed no `METRIC {metric}=...` line{named}"
        return "" if self.values else "it exited with 0 but printed no METRIC line"


def _finite(text: str) -> float | None:
    try:
        value = float(text.replace("_", "x"))
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def metrics_in(text: bytes) -> MetricLines:
    """The METRIC lines of a captured output."""
    lines = MetricLines()
    lines.feed(text, last=True)
    return lines


def without_secrets(text: str) -> str:
    """A text with everything masked that looks like a credential."""
    return _SECRET.sub("***", text)


def host_facts() -> tuple[tuple[str, str], ...]:
    """What a later reader must know of the machine a run was measured on; no variable that could hold a secret."""
    load = os.getloadavg()
    facts = {
        # A mark that tells two machines apart and names neither.
        "host": digest_of(platform.node())[:8],
        "system": f"{platform.system()} {platform.release()}",
        "machine": platform.machine(),
        "cpu": _cpu_name(),
        "cores": str(os.cpu_count() or 0),
        "usable cores": str(len(os.sched_getaffinity(0))) if sys.platform == "linux" else "",
        "load": f"{load[0]:.2f} {load[1]:.2f}",
        "python": platform.python_version(),
    }
    variables = {
        f"env {k}": without_secrets(v)[:400]
        for k, v in os.environ.items()
        if _RECORDED.match(k) and not _SECRET_NAME.search(k)
    }
    return tuple(sorted((k, v) for k, v in {**facts, **variables}.items() if v))


def _cpu_name() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            return next(
                (
                    line.partition(":")[2].strip()
                    for line in file
                    if line.startswith(("model name", "Model"))
                ),
                "",
            )
    except OSError:
        return platform.processor()
