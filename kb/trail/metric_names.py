"""What a figure of a page measures and whose run it is: the name that pages share for a metric, whether a unit fits it, how a text calls a run.

Refuses to guess a unit.
"""

import re
from functools import lru_cache
from typing import NamedTuple

from kb import regex
from kb.page import Page
from kb.run.direction import Direction, direction_of, is_resource, word_set, words_of
from kb.run.record import Metric
from kb.text import one_line, unit_of

# Words that say how a value was taken, not what was measured.
HOW = word_set("""steady state mean avg average averaged reported measured total aggregate aggregated global overall per median nominal
    trainer estimate est approx approximate typical best final value observed result actual raw our this run the of in worker summary
    profiled wall-clock""")
# A time, a cost or a rate in per cent is a change of it.
_NO_SHARE = word_set("""time latency lat runtime duration elapsed wall walltime clock step cost costs throughput tps qps speed speedup
    loss losses nll perplexity ppl bpb bpc energy""")
_SIZES = word_set("size bytes footprint traffic allocation allocations allocated spill spills")
_TIMES = word_set("ns us ms s sec secs second seconds min minutes h hours")
_BYTES = word_set("gb mb kb gib mib kib bytes size")
_ONE_OF = ("chip", "gpu", "device", "core")
_WORKER = regex(r"\b(?:worker|rank|host|node) ?\d+\b", re.IGNORECASE)
_BRACKETS = regex(r"[(\[]([^)\]]*)[)\]]")
# What is compared with, not measured: a baseline, a goal, a difference, a remark.
COMPARED = regex(
    r"(?<!\w)(?:Δ|delta|diff|change|vs\b|gain|speed-?up|ratio|notes?|comments?|remarks?|status|verdict|ref(?:erence)?|units?|target|goal|"
    r"expected|predicted|base(?:line)?|before|parent|prior|previous|old|control|master|main|upstream|published|stock)\b",
    re.IGNORECASE,
)
# How a text calls a run: `v021`, `v21`, `exp 40`, `#40`, `exp13b`.
_RUN_LABEL = regex(
    r"(?<![\w.])(v|exp|experiment|run|trial|iter(?:ation)?|#)\.?\s?[-_]?(\d++)([a-z]{0,2})(?![\w.]*\d)(?!\w)",
    re.IGNORECASE,
)


class RunLabel(NamedTuple):
    """How a page calls its own run: its number with a letter (`13b`), and whether it is a baseline."""

    label: str
    baseline: bool


def run_label_of(page: Page) -> RunLabel:
    own = (
        m for m in _RUN_LABEL.finditer(page.stem.replace("-", " ")) if int(m[2][:9]) == page.number
    )
    letter = next((m[3].lower() for m in own), "")
    return RunLabel(f"{page.number}{letter}" if page.number else "", "baseline" in page.stem)


def calls(text: str, run: RunLabel) -> bool | None:
    """Whether a text calls this run (or a part of it: `13b` of run 13) or another one; None where it calls none."""
    numbers = [(m[2].lstrip("0"), m[3].lower()) for m in _RUN_LABEL.finditer(text) if run.label]
    return any(run.label in (n, n + letter) for n, letter in numbers) if numbers else None


@lru_cache(4096)
def is_measured(name: str) -> bool:
    """Whether a name is that of a metric, and of nothing that metrics are compared with."""
    return bool(name) and not COMPARED.match(name) and direction_of(name) is not None


@lru_cache(1024)
def names_itself(unit: str) -> bool:
    """Whether a figure with this unit is a rate or a pace and needs no name: `tok/s`, `ms/step`."""
    known = unit_of(unit)
    return known is not None and (
        "time" in known.dimension.split("/")
        and "/" in known.dimension
        or known.dimension in ("compute", "tokens/time")
    )


@lru_cache(4096)
def is_quantity(word: str) -> bool:
    """Whether a word or identifier ends in what is measured, as `val_bpb` and `cache_hit_rate` do."""
    words = [w for w in words_of(word) if w not in _TIMES and w not in _BYTES][-2:]
    return bool(words) and direction_of("_".join(words)) is not None


@lru_cache(4096)
def fits(name: str, unit: str) -> bool:
    """Whether a quantity of this name may have this unit."""
    words = set(words_of(_BRACKETS.sub(" ", name)))
    if unit == "%":
        return not words & _NO_SHARE
    known = unit_of(unit)
    if known and known.dimension == "time":
        is_loss = any(w.startswith("loss") for w in words)
        return direction_of(name) == "lower" and not is_resource(name) and not is_loss
    sized = known and known.dimension == "size"
    return is_resource(name) or bool(words & _SIZES) if sized else direction_of(name) is not None


@lru_cache(4096)
def unit_in(name: str) -> str:
    """The unit that a name states: `latency (ms)`, `tokens/s [mean]`, `t/s master`, `step ms`."""
    words = _BRACKETS.sub(" ", name).replace("_", " ").split() or [""]
    for text in (*_BRACKETS.findall(name), words[-1], words[0]):
        known = unit_of(text)
        if known and (
            known.dimension in ("time", "size", "share", "compute") or "/" in known.dimension
        ):
            return text
    return ""


def renamed(metric: Metric, *, tokens: bool) -> Metric:
    """A metric under the name that pages of one wiki share: rates by their unit, shares by their word, times in ms and without how they
    were taken; `tokens` where its page has any.
    """
    name, unit, factor, direction = _naming(metric.name, metric.unit, tokens)
    value, spread = (
        None if v is None else round(v * factor, 9) for v in (metric.value, metric.stddev)
    )
    return Metric(one_line(name), value, unit, direction, stddev=spread)


@lru_cache(4096)
def _naming(name: str, unit: str, tokens: bool) -> tuple[str, str, float, Direction | None]:
    """Shared name, unit, what values are multiplied by, and direction of a metric named so."""
    bare = _WORKER.sub(" ", _BRACKETS.sub(" ", name)).replace("%", " ")
    words = [w for w in words_of(bare) if w not in HOW]
    per = next((w for w in _ONE_OF if w in words or unit.endswith(f"/{w}")), "")
    words = [w for w in words if w not in _ONE_OF] if unit == "%" else words
    if tokens and "tps" in (*words[-1:], unit.lower()):
        label = "tok/s/chip" if per in ("chip", "device") else "tok/s"
        return label, label, 1.0, "higher"
    known = unit_of(unit)
    pace = known is not None and known.dimension.startswith("time/")
    if pace and name == unit:
        words = [unit.partition("/")[2].strip(), "time"]
    rated = "" if pace else _own_rate(name, unit)
    if rated and direction_of(name) != "lower":
        label = _rate(rated, per)
        return label, label, 1.0, direction_of(label) or direction_of(name)
    label = " ".join(w for w in words if w not in _TIMES)
    if pace:
        unit = unit.partition("/")[0].strip()
    unit = unit or next((w for w in reversed(words) if w in _TIMES), "")
    timed = unit_of(unit)
    if timed is None or timed.dimension != "time":
        return label, unit, 1.0, direction_of(label)
    label = label if direction_of(label) else f"{label} time".strip()
    return label, "ms", 1e3 * timed.factor, direction_of(label)


def _own_rate(name: str, unit: str) -> str:
    """The rate that a metric is, by its unit, else by its name; empty for none, and for one of which nobody knows the direction."""
    rated = unit or unit_in(name) or (name if "/" in name and " " not in name else "")
    return rated if ("/" in rated or names_itself(rated)) and direction_of(rated) else ""


def _rate(rate: str, per: str) -> str:
    """One spelling of a rate: `7 Tokens/sec` of a row `Throughput per chip` is tok/s/chip."""
    above, *below = (part.strip() for part in rate.lower().replace(" per ", "/").split("/"))
    above = (
        "tok"
        if above in ("token", "tokens")
        else above[:-5] + "flop"
        if above.endswith("flops")
        else above
    )
    below = [
        "s" if b in ("sec", "second") else b
        for b in below or (["s"] if above.endswith("flop") else [])
    ]
    below += [per] if per and len(below) == 1 and below[0] != per else []
    return "/".join([above, *below])
