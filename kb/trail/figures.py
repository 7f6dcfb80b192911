"""A figure in a text: its number and unit, what it may measure, whose run it is, and the name that pages share for it.

Knows nothing of tables and sentences, and refuses to guess a unit.
"""

import math
import re
from functools import lru_cache
from typing import NamedTuple

from kb.page import Page
from kb.run.direction import Direction, direction_of, is_resource, word_set, words_of
from kb.run.record import Metric
from kb.text import one_line

NUMBER = r"[+\-−]?(?:\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?|\.\d+)(?:[eE][+\-]?\d+)?"
_PER = r"s|sec|second|min|step|iter|chip|gpu|device|core|token|tok|call|op|req|request"
_RATE = (
    rf"(?:[A-Za-zµμ][\w.]{{0,14}}(?:\s?/\s?|\sper\s)(?:{_PER})\b(?:\s?/\s?[A-Za-z]\w{{0,11}}|\sper\s(?:chip|gpu|device|core)\b)?"
    r"|[nuµμm]s/[a-z]+\b|(?:[TtQqRrFf][Pp][Ss]|IOPS|[GTP]FLOPS)\b)"
)
_SIZE = r"(?:[kKMGTP]i?B|G|bytes|GFLOPs?|TFLOPs?|[nµμmu]?s|secs?|seconds?|minutes?|min|hours?|h|cycles|pp|dB|[mk]?W|[mk]?J)\b"
UNIT = re.compile(rf"%|{_RATE}|{_SIZE}")
RATED = re.compile(_RATE)
# A number with what stands beside it: `7.4k`, `67.04 ± 0.19 t/s`. Never a part of a number or a word.
FIGURE = re.compile(
    rf"(?<![\w.,/\-–])(?P<value>{NUMBER})(?!,?\d)(?P<scale>[kKM]\b)?(?:\s*(?:±|\+/-)\s*(?P<spread>{NUMBER}))?"
    rf"(?:\s*(?P<unit>{UNIT.pattern}))?"
)
# What makes a number the first of two, or a piece of something else.
GOES_ON = re.compile(r"\s*(?:→|->|[–-]\s?\d|\.\.)|[\w×]|\.\w|/\w")
_SPACES = re.compile(r"\s+")
_WORKER = re.compile(r"\b(?:worker|rank|host|node) ?\d+\b", re.IGNORECASE)
_BRACKETS = re.compile(r"\([^)]*\)|\[[^\]]*\]")
_SCALES = {"k": 1e3, "K": 1e3, "M": 1e6}
_MS = {"ns": 1e-6, "us": 1e-3, "ms": 1.0, "s": 1e3, "sec": 1e3, "secs": 1e3, "second": 1e3, "seconds": 1e3}
_MS |= {"min": 6e4, "minute": 6e4, "minutes": 6e4, "h": 3.6e6, "hour": 3.6e6, "hours": 3.6e6}
_UNIT_WORDS = {*_MS, "gb", "mb", "kb", "gib", "mib", "kib", "bytes", "size"}
_SPEED = re.compile(r"(?:/|\bper)\s?(?:s|sec|second|min)\b|^\w?[a-z]*ps$|^.FLOPS$", re.IGNORECASE)

# Words that say how a value was taken, not what was measured.
HOW = word_set("""steady state mean avg average averaged reported measured total aggregate aggregated global overall per median
    nominal trainer estimate est approx approximate typical best final value observed result actual raw our this run the of in
    worker summary profiled wall-clock""")
# A time, a cost or a rate in per cent is a change of it.
_NO_SHARE = word_set("""time latency lat runtime duration elapsed wall walltime clock step cost costs throughput tps qps speed speedup loss losses
    nll perplexity ppl bpb bpc energy""")
_SPANS = word_set("size bytes footprint traffic allocation allocations allocated spill spills")

# What is compared with, not measured: a baseline, a goal, a difference, a remark.
OTHERS = re.compile(
    r"^(?:Δ|delta|diff|change|vs\b|vs\.|gain|speed-?up|ratio|notes?|comment|comments|remarks?|status|verdict|reference|ref|"
    r"unit|units|target|goal|"
    r"expected|predicted|baseline|base|before|parent|prior|previous|old|control|master|main|upstream)\b",
    re.IGNORECASE,
)


class Run(NamedTuple):
    """How a page calls its own run: the number with the letter of `exp13b`, the word before it, its digits; is it a baseline."""

    label: str
    prefix: str
    digits: int
    baseline: bool


class Reading(NamedTuple):
    """A metric as read; `sure` where the page says that the figure is its own run's; the error that its last digit allows."""

    metric: Metric
    sure: bool = False
    error: float = 0.0


# How a text calls a run: `v021`, `v21`, `exp 40`, `#40`, `exp13b`.
_RUN_LABEL = re.compile(
    r"(?<![\w.])(v|exp|experiment|run|trial|iter(?:ation)?|#)\.?\s?[-_]?(\d++)([a-z]{0,2})(?![\w.]*\d)(?!\w)", re.IGNORECASE
)
_LETTERED = re.compile(r"(\d+)([a-z]{1,2})(?=[-_.]|$)")


def run_of(page: Page) -> Run:
    called = next((m for m in _RUN_LABEL.finditer(page.stem.replace("-", " ")) if int(m[2][:9]) == page.number), None)
    letter = next((m[2] for m in _LETTERED.finditer(page.stem) if m[1].lstrip("0") == str(page.number)), "")
    return Run(
        f"{page.number}{letter}" if page.number else "",
        called[1].lower() if called else "",
        len(called[2]) if called else 0,
        "baseline" in page.stem,
    )


def calls(text: str, run: Run) -> bool | None:
    """Whether a text calls this run (or a part of it: `13b` of run 13) or another one; None where it calls none.

    `v6e` is no run where runs are called `v012`.
    """
    called = None
    for m in _RUN_LABEL.finditer(text) if run.label else ():
        prefix, digits, letter = m[1].lower(), m[2], m[3].lower()
        if f"{digits.lstrip('0')}{letter}" == run.label or digits.lstrip("0") == run.label:
            return True
        if prefix != "v" or run.prefix == "v" and (len(digits) == run.digits or len(digits) > 1):
            called = False
    return called


def is_another(text: str, run: Run) -> bool:
    """Whether a text is the name of another run and no more."""
    return bool(_RUN_LABEL.fullmatch(text.strip())) and calls(text, run) is False


@lru_cache(1024)
def names_itself(unit: str) -> bool:
    """Whether a figure with this unit is a rate or a pace and needs no name: `tok/s`, `ms/step`."""
    if not RATED.fullmatch(unit) or direction_of(unit) is None:
        return False
    return bool(_SPEED.search(unit)) or words_of(unit)[0] in _MS


@lru_cache(4096)
def is_quantity(word: str) -> bool:
    """Whether a word or identifier ends in what is measured, as `val_bpb` and `cache_hit_rate` do."""
    words = [w for w in words_of(word) if w not in _UNIT_WORDS][-2:]
    return bool(words) and direction_of("_".join(words)) is not None


@lru_cache(4096)
def fits(name: str, unit: str) -> bool:
    """Whether a quantity of this name may have this unit."""
    words = set(words_of(_BRACKETS.sub(" ", name)))
    if unit == "%":
        return not words & _NO_SHARE
    if unit in _MS or unit[:1] in "µμ" and unit:
        return direction_of(name) == "lower" and not is_resource(name) and not any(w.startswith("loss") for w in words)
    if re.fullmatch(r"[kKMGTP]i?B|G|bytes", unit):
        return is_resource(name) or bool(words & _SPANS)
    return direction_of(name) is not None


_LEADING = re.compile(r"[^\w\s+\-−.]{0,3}\s?")


def figure_at_start(text: str) -> re.Match[str] | None:
    """The figure that a text starts with, after signs such as `~` and `🏆`."""
    return FIGURE.match(text, _LEADING.match(text).end())  # type: ignore[union-attr]


def value_of(figure: re.Match[str]) -> float:
    return to_number(figure["value"]) * _SCALES.get(figure["scale"] or "", 1.0)


def metric(name: str, figure: re.Match[str], unit: str) -> Metric:
    """The figure as a metric; a number too large for a float is none."""
    value, spread = value_of(figure), to_number(figure["spread"] or "0")
    told = bool(figure["spread"]) and math.isfinite(spread)
    return Metric(one_line(name), value if math.isfinite(value) else None, unit, stddev=spread if told else None)


def renamed(metric: Metric, *, tokens: bool) -> Metric:
    """A metric under the name that pages of one wiki share: rates by their unit, shares by their word, times in ms and
    without how they were taken.
    """
    name, unit, factor, direction = _naming(metric.name, metric.unit, tokens)
    value, spread = metric.value, metric.stddev
    if factor is not None:
        value = None if value is None else round(value * factor, 9)
        spread = None if spread is None else round(spread * factor, 9)
    return Metric(one_line(name), value, unit, direction, stddev=spread)


@lru_cache(4096)
def _naming(name: str, unit: str, tokens: bool) -> tuple[str, str, float | None, Direction | None]:
    """Shared name, unit, what values are multiplied by, and direction of a metric named so; `tokens` where its page has any."""
    said, written = name, unit
    unit = re.sub(r"\b(?:sec|second)\b", "s", _SPACES.sub("", re.sub(r"\sper\s", "/", unit))).replace("μ", "u").replace("µ", "u")
    name = _WORKER.sub(" ", _BRACKETS.sub(" ", name))
    if unit == "%":
        name = re.sub(r"\bper[- ](?:chip|gpu|device|core)\b", " ", name, flags=re.IGNORECASE)
    words = [w for w in words_of(name.replace("%", " ")) if w not in HOW]
    pace = re.fullmatch(r"(\w+)/(\w+)", unit) if "/" in unit else None
    if pace and pace[1] in _MS:
        unit, words = pace[1], [pace[2], "time"] if said == written else words
    rate = RATED.search(f"{unit} {said}")
    factor = None
    if tokens and "tps" in (words[-1:] + [unit.lower()]):
        label = unit = "tok/s/chip" if {"chip", "device"} & set(words) else "tok/s"
    elif rate and (RATED.fullmatch(unit) or not unit) and direction_of(name) != "lower":
        label = unit = _rate_label(unit or rate[0], said)
    else:
        label = " ".join(w for w in words if w not in _MS)
        unit = unit or next((w for w in reversed(words) if w in _MS), "")
        if unit in _MS:
            factor, unit = _MS[unit], "ms"
            label = label if direction_of(label) else f"{label} time".strip()
    return label, unit, factor, direction_of(unit if "/" in unit else label) or direction_of(label)


def _rate_label(rate: str, name: str) -> str:
    """One spelling of a rate: `7 Tokens/sec` of a row `Throughput per chip` is tok/s/chip."""
    rate = re.sub(r"\b(?:sec|second)\b", "s", _SPACES.sub("", re.sub(r"\sper\s", "/", rate)).lower())
    rate = re.sub(r"^([gtp])flops$", r"\1flop/s", re.sub(r"^tokens?/", "tok/", rate))
    per = re.search(r"(?:/|\bper)[ -]?(chip|gpu|device|core)\b", name, re.IGNORECASE)
    return f"{rate}/{per[1].lower()}" if per and rate.count("/") == 1 and not rate.endswith(per[1].lower()) else rate


def to_number(text: str) -> float:
    return float(text.replace(",", "").replace("−", "-"))
