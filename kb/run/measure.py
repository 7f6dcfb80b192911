"""What a benchmark prints and what machine it ran on: METRIC lines, host facts. Refuses NaN, and keeps no secret."""

import math
import os
import platform
import re
import sys
from collections import Counter

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
    """METRIC lines of a stream of chunks, in bounded memory: what each name was printed with, and how often."""

    def __init__(self) -> None:
        self.printed: dict[str, list[str]] = {}
        self.counts: Counter[str] = Counter()
        self._carry = b""

    def feed(self, chunk: bytes, *, last: bool = False) -> None:
        text = self._carry + chunk
        end = len(text) if last else text.rfind(b"\n") + 1
        if b"METRIC" in text[:end]:
            for pair in _METRIC.findall(text[:end]):
                self._take(*(part.decode("utf-8", "replace") for part in pair))
        self._carry = text[end:]
        if len(self._carry) > _LONGEST_LINE:
            self._carry = (
                b"\0"  # The middle of a line: what follows up to its end is no METRIC line.
            )

    def _take(self, name: str, text: str) -> None:
        if name in self.counts or len(self.counts) < MOST_NAMES:
            self.counts[name] += 1
            texts = self.printed.setdefault(name, [])
            texts[_SHOWN - 1 :] = [text]

    @property
    def values(self) -> dict[str, float]:
        """The last value of each name, where that is a finite number."""
        lasts = {name: _finite(texts[-1]) for name, texts in self.printed.items()}
        return {name: value for name, value in lasts.items() if value is not None}

    @property
    def refused(self) -> dict[str, str]:
        """What stands in the place of a value."""
        lasts = {name: texts[-1] for name, texts in self.printed.items()}
        return {n: f"{n}={text[:80]}" for n, text in lasts.items() if _finite(text) is None}

    @property
    def repeated(self) -> dict[str, tuple[float, ...]]:
        """Metrics that were printed with several values, of which the last one counts."""
        finite = {
            name: tuple(v for v in map(_finite, texts) if v is not None)
            for name, texts in sorted(self.printed.items())
        }
        return {name: values for name, values in finite.items() if len({*values}) > 1}

    def problem(self, metric: str = "") -> str:
        """Why this is no measurement of `metric` (of anything, if that is empty); an empty text where it is one."""
        spoiled = [line for name, line in self.refused.items() if metric in ("", name)]
        if spoiled:
            return f"{spoiled[-1]} is no finite number"
        if metric and metric not in self.values:
            return f"it exited with 0 but printed no `METRIC {metric}=...` line"
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
