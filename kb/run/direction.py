"""Which way a metric is better, by its name alone: the published table. Refuses to look at values."""

import re
from functools import lru_cache
from typing import Literal

from kb import languages, regex
from kb.text.units import Unit, unit_of

Direction = Literal["lower", "higher"]


def word_set(text: str) -> frozenset[str]:
    """The words of a text: how the tables of names and statuses are written down."""
    return frozenset(text.split())


# Words that name a quantity. A name that holds words of both rows says nothing and must be asked for.
_HIGHER = word_set("""throughput tps tokps toks qps rps fps ips iops goodput speed speedup tflops gflops pflops mfu hfu utilization utilisation util
    occupancy efficiency bandwidth gbps mbps hit hits accuracy acc acceptance accepted success passed passing win wins auc auroc auprc f1 f2 f05 fbeta ap map map50 pearson spearman
    correlation kappa ari nmi solved coverage pass return returns
    precision recall iou miou dice bleu rouge meteor ndcg mrr r2 mcc elo psnr ssim snr reward sharpe sortino calmar profit pnl revenue
    saved savings""")
_LOWER = word_set("""latency lat time ttft tpot itl rtt runtime elapsed duration wall walltime makespan overhead jitter p50 p90 p95 p99 p999
    loss losses nll bpb bpc bpd perplexity ppl kl kld rmse nrmse mse nmse mae mape smape mase crps rmsle logloss brier wer cer eer fid error errors err errs regret
    failure failures failed failing fails warnings crashes violations mismatches mismatch misses miss stalls spills conflicts retries timeouts
    allocations allocs cycles instructions cost costs price usd energy joules watts power drawdown dd diff lcp fcp tbt tti cls""")
# Units and resources: they decide only where no quantity word does ("total_ms", "memory_gb"), so "throughput_gb" stays higher.
_MEMORY = word_set("memory mem vram ram rss hbm heap footprint disk")
_MEMORY_UNITS = word_set("gb mb kb gib mib kib bytes")
_LOWER_UNITS = (
    word_set("ms us ns sec secs seconds s msec usec nsec millis minutes size")
    | _MEMORY_UNITS
    | _MEMORY
)
_TIMES = word_set(
    "s sec secs second seconds ms us ns min minute minutes h hr hour hours time latency duration"
)
_COSTS = word_set("watt watts joule joules usd dollar")
# Work whose count per second is written `tok_s` as often as `tok/s`.
_WORK = word_set("""t tok toks token tokens it its iter iters iterations img imgs image images sample samples req reqs request requests op ops step steps
    frame frames call calls query queries row rows record records doc docs seq seqs batch batches item items""")
# What a change sets rather than measures: "batch_size" has no better side.
_SETTINGS = word_set(
    "batch ubatch block tile chunk seed lr layers heads dim vocab context ctx window control limit budget"
)
# A change of a quantity: "error_reduction" and "latency_gain" turn the side of their word around or not, nobody knows.
_TURNS = word_set(
    "reduction reductions improvement gain gains saving change increase decrease delta gap"
)


@lru_cache(1 << 14)
def words_of(name: str) -> tuple[str, ...]:
    """Lower-case words of a metric name: `peakVRAM (GB)` and `peak_vram_gb` both give peak, vram, gb."""
    return tuple(word.lower() for word in _words(name))


def spoken(metric: str) -> tuple[tuple[str, ...], ...]:
    """How a text names a metric: by all words of its name, or by those before its unit, as `peak_gb` is the peak."""
    words = words_of(metric)
    return (words, words[:-1]) if len(words) > 1 and unit_in(metric) else (words,)


@lru_cache(4096)
def unit_in(metric: str) -> Unit | None:
    """The unit that is the last word of a metric's name, bytes in small letters too: `peak_gb`. Of other units `mw` may be two."""
    word = "".join(_words(metric)[-1:])
    size = unit_of(word.upper().replace("IB", "iB"))
    return unit_of(word) or (size if size and size.dimension == "size" else None)


def _words(name: str) -> list[str]:
    return _WORD.findall(_spelt(name))


def _spelt(name: str) -> str:
    """A name in plain signs, with words of camelCase apart; `MiB` is one."""
    return _HUMP.sub("_", name.translate(_PLAIN))


_PLAIN = str.maketrans("µμ²", "uu2")
_WORD, _HUMP = regex(r"[A-Za-z0-9]+"), regex(r"(?=[A-Z])(?<=[a-z0-9])(?<![KMGTP]i)")


@lru_cache(1 << 14)
def direction_of(name: str) -> Direction | None:
    """`lower` or `higher`, whichever is better for a metric of this name; None where the name does not say."""
    words = words_of(name)
    rate = (
        "higher"
        if len(words) > 1 and words[-1] in ("s", "sec") and words[-2] in _WORK
        else _rate_direction(name)
    )
    if rate:
        return rate
    if not (_SETTINGS.isdisjoint(words) and _TURNS.isdisjoint(words)):
        return None
    higher, lower = _HIGHER.intersection(words), _LOWER.intersection(words)
    if higher and lower:
        return None
    if higher or lower:
        return "higher" if higher else "lower"
    foreign = _foreign(name)
    if foreign:
        return (
            None if len(foreign) > 1 else "lower" if foreign & {"lower", "resource"} else "higher"
        )
    units = _LOWER_UNITS.intersection(words)
    return "lower" if units - {"s"} or words[-1:] == ("s",) and len(words) > 1 else None


@lru_cache(1 << 14)
def _foreign(name: str) -> set[str]:
    """What the words of other languages in a name measure: lower, higher, resource."""
    lower = name.lower()
    known = set() if lower.isascii() else {k for s, k in _FOREIGN_SIGNS.items() if s in lower}
    words = re.findall(r"[^\W\d_]+", lower)
    heads = (word[:length] for word in words for length in range(1, len(word) + 1))
    return known.union(kind for head in heads if (kind := _FOREIGN_STEMS.get(head)))


_FOREIGN = {stem: kind for kind, stems in languages.METRICS.items() for stem in stems.split()}
# Scripts that set no blanks: a word of theirs may stand anywhere in a name.
_FOREIGN_SIGNS = {stem: kind for stem, kind in _FOREIGN.items() if stem[0] > "\u2e7f"}
_FOREIGN_STEMS = {stem: kind for stem, kind in _FOREIGN.items() if stem not in _FOREIGN_SIGNS}


def _rate_direction(name: str) -> Direction | None:
    """Of `x/s` and `x_per_s`: work per time or per cost is better higher, time or cost per work better lower."""
    match = ("/" in name or "per" in name.lower()) and re.match(
        r"(.*?[a-z0-9)])\s*(?:/|[_\s-]per[_\s-])\s*([a-z]+)", _spelt(name).lower()
    )
    if not match:
        return None
    above, below = words_of(match[1]), match[2]
    if below in _TIMES | _COSTS:
        return "lower" if (_LOWER | _TIMES).intersection(above) else "higher"
    return "lower" if above and above[-1] in _TIMES | _COSTS else None


@lru_cache(1 << 14)
def is_resource(name: str) -> bool:
    """Whether a metric measures what a run consumes beside its aim (memory, disk), so that it is never the aim by default."""
    words = words_of(name)
    # `peak_gb`; the peak of anything else may be the aim: `peak_tflops`.
    peak = words == ("peak",) or "peak" in words and words[-1] in _MEMORY_UNITS
    return "resource" in _foreign(name) or peak or bool(_MEMORY.intersection(words))


def direction_from(word: object) -> Direction | None:
    """Direction of a log's own spelling: lower, lower_is_better, minimize, min, asc ... or the opposites."""
    text = str(word).strip().lower().replace("-", "_") if isinstance(word, str) else ""
    if text.startswith(("lower", "min", "down", "decreas", "smaller", "less")):
        return "lower"
    if text.startswith(("higher", "max", "up", "increas", "bigger", "larger", "more")):
        return "higher"
    return None
