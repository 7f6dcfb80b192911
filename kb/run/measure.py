"""What a benchmark prints and what machine it ran on: METRIC lines, host facts. Refuses NaN, and keeps no secret."""

import math
import os
import platform
import re
import sys

from kb.run.quantity import number_text
from kb.store import digest_of

# pi-autoresearch's line; a later line of the same name wins, and that there were several is known.
_METRIC = re.compile(rb"^METRIC[ \t]+([\w.\xc2\xb5/%-]{1,200})=(\S+)[ \t]*\r?$", re.MULTILINE)
# A METRIC line is short: a line longer than this without an end is output, not a measurement.
_LONGEST_LINE = 4096
# More names than this are a dump in the shape of metrics; the first so many count.
MOST_NAMES = 200
# So many values of a metric that is printed again and again are kept to be shown.
_SHOWN = 8
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
    """METRIC lines of a stream of chunks, in bounded memory: `values`, how often each name was printed, and what was refused."""

    def __init__(self) -> None:
        self.values: dict[str, float] = {}
        self.refused: dict[str, str] = {}
        self.counts: dict[str, int] = {}
        self.printed: dict[str, list[float]] = {}
        self._carry = b""

    def feed(self, chunk: bytes, *, last: bool = False) -> None:
        text = self._carry + chunk
        end = len(text) if last else text.rfind(b"\n") + 1
        if b"METRIC" in text[:end]:
            for name, value in _METRIC.findall(text[:end]):
                self._take(name.decode("utf-8", "replace"), value.decode("utf-8", "replace"))
        self._carry = text[end:]
        if len(self._carry) > _LONGEST_LINE:
            self._carry = (
                b"\0"  # The middle of a line: what follows up to its end is no METRIC line.
            )

    def _take(self, name: str, text: str) -> None:
        if name not in self.counts and len(self.counts) >= MOST_NAMES:
            return
        self.counts[name] = self.counts.get(name, 0) + 1
        try:
            value = float(text.replace("_", "x"))
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            self.refused[name] = f"{name}={text[:80]}"
            self.values.pop(name, None)
            return
        self.values[name] = value
        self.refused.pop(name, None)
        printed = self.printed.setdefault(name, [])
        if len(printed) >= _SHOWN:
            printed[-1] = value
        else:
            printed.append(value)

    @property
    def repeated(self) -> dict[str, tuple[float, ...]]:
        """Metrics that were printed with several values, of which the last one counts."""
        return {
            name: tuple(values)
            for name, values in sorted(self.printed.items())
            if len(set(values)) > 1
        }

    def problem(self, metric: str = "") -> str:
        """Why this is no measurement of `metric` (of anything, if that is empty); an empty text where it is one."""
        spoiled = [line for name, line in self.refused.items() if metric in ("", name)]
        if spoiled:
            return f"{spoiled[-1]} is no finite number"
        if metric and metric not in self.values:
            return f"it exited with 0 but printed no `METRIC {metric}=...` line"
        return "" if self.values else "it exited with 0 but printed no METRIC line"


def metrics_in(text: bytes) -> MetricLines:
    """The METRIC lines of a captured output."""
    lines = MetricLines()
    lines.feed(text, last=True)
    return lines


def values_text(values: tuple[float, ...]) -> str:
    """`as 100, then 1`."""
    return "as " + ", then ".join(number_text(v) for v in values)


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
